"""Bodies become files: small ones stay in memory, others go to the disk as they come.

No name that a client sends becomes a path.
"""

from __future__ import annotations

import asyncio
import os
import secrets
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tablerec.inputs.images import display_name
from tablerec.serve.limits import ServerLimits
from tablerec.serve.problems import RefusedError

IN_MEMORY = 1_000_000
"""Bytes of a request's files that stay in memory."""
_LONGEST_NAME = 200
_LARGEST_FIELD = 4096
"""Bytes of a field that is no file, and of the head of a part."""
_MOST_FIELDS = 40


class Storage:
    """A private folder for bodies, with a bound for all of them together.

    Args:
        folder: Where files are kept; it is there.
        most_bytes: Of all files together.
    """

    def __init__(self, folder: Path, most_bytes: float) -> None:
        self.folder = folder
        self.most_bytes = most_bytes
        self.used = 0

    def take(self, size: int) -> None:
        """Count bytes that are about to be written.

        Raises:
            RefusedError: There is no room for them.
        """
        if self.used + size > self.most_bytes:
            detail = "the server's disk space for requests is used up: try again later"
            raise RefusedError(503, "no-room", detail, {"Retry-After": "10"})
        self.used += size

    def new_path(self) -> Path:
        """Return a path that nobody can guess."""
        return self.folder / secrets.token_hex(16)

    @staticmethod
    def write(path: Path, data: bytes | bytearray) -> None:
        """Add bytes to a file that nobody else can read."""
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600), "wb") as file:
            file.write(data)


@dataclass(slots=True)
class Upload:
    """One file of a request.

    Args:
        name: What the client calls it, on one line and without folders.
        storage: Where it goes if it is large.
        size: In bytes.
        held: Those of them that are in memory.
        path: Where the others lie; None where there are none.
    """

    name: str
    storage: Storage = field(repr=False)
    size: int = 0
    held: bytearray = field(default_factory=bytearray, repr=False)
    path: Path | None = None

    @property
    def source(self) -> bytes | str:
        """What is read: its bytes, or the path."""
        return bytes(self.held) if self.path is None else str(self.path)

    @property
    def own_name(self) -> str:
        """How messages about ``source`` name it."""
        return "bytes" if self.path is None else str(self.path)

    def add(self, data: bytes) -> None:
        """Take bytes."""
        self.held += data
        self.size += len(data)

    async def flush(self) -> None:
        """Write what is in memory to the disk."""
        if self.held:
            self.storage.take(len(self.held))
            data, self.held = self.held, bytearray()
            self.path = self.path or self.storage.new_path()
            await asyncio.to_thread(self.storage.write, self.path, data)

    def discard(self) -> None:
        """Remove it."""
        if self.path is not None:
            self.storage.used -= self.size - len(self.held)
            self.path.unlink(missing_ok=True)
            self.path = None
        self.held = bytearray()


class Body:
    """The files and fields of one request, which are gone when the block ends.

    Args:
        storage: Where large files go.
        limits: How many files there may be.
    """

    def __init__(self, storage: Storage, limits: ServerLimits) -> None:
        self.storage = storage
        self.limits = limits
        self.uploads: list[Upload] = []
        self.fields: dict[str, str] = {}

    def __enter__(self) -> Body:
        return self

    def __exit__(self, *error: object) -> None:
        for upload in self.uploads:
            upload.discard()

    async def read(self, headers: Mapping[str, str], stream: AsyncIterator[bytes], name: str | None) -> None:
        """Read a body: the file itself, or ``multipart/form-data`` with any number of them.

        Args:
            headers: Of the request.
            stream: Its bytes as they come.
            name: Of the file, where the body is the file.

        Raises:
            RefusedError: It is empty, broken, packed, or has too many files.
        """
        if headers.get("content-encoding", "identity").strip().lower() not in ("", "identity"):
            raise RefusedError(415, "encoding", "Content-Encoding is not taken: send the file as it is")
        if headers.get("content-type", "").partition(";")[0].strip().lower() == "multipart/form-data":
            await self._read_parts(headers["content-type"], stream)
        else:
            upload = self.start(name)
            async for data in stream:
                upload.add(data)
                await self._make_room()
        for upload in self.uploads:
            if upload.path is not None:
                await upload.flush()
        if not any(upload.size for upload in self.uploads):
            detail = "the request holds no file: send a picture or PDF as the body, or as a part"
            raise RefusedError(422, "empty", detail)

    async def _make_room(self) -> None:
        if sum(len(upload.held) for upload in self.uploads) > IN_MEMORY:
            for upload in self.uploads:
                await upload.flush()

    def start(self, name: str | None) -> Upload:
        """Begin another file.

        Raises:
            RefusedError: There are too many.
        """
        if len(self.uploads) >= self.limits.files:
            most = self.limits.files
            raise RefusedError(413, "too-many-files", f"more than {most} files in a request: send them in parts")
        self.uploads.append(Upload(clean_name(name, f"file-{len(self.uploads) + 1}"), self.storage))
        return self.uploads[-1]

    async def _read_parts(self, content_type: str, stream: AsyncIterator[bytes]) -> None:
        from python_multipart.exceptions import FormParserError
        from python_multipart.multipart import MultipartParser, parse_options_header

        boundary = parse_options_header(content_type)[1].get(b"boundary")
        if not boundary:
            raise RefusedError(400, "multipart", "multipart/form-data without a boundary: let your client set it")
        parts = _Parts(self)
        try:
            parser = MultipartParser(boundary, parts.callbacks())
            async for data in stream:
                parser.write(data)
                await self._make_room()
            parser.finalize()
        except FormParserError as error:
            detail = f"this is no multipart/form-data ({display_name(str(error))}): let your client make it"
            raise RefusedError(400, "multipart", detail) from error
        if not parts.is_complete:
            raise RefusedError(400, "multipart", "the body ends before its last part does: send it again")


class _Parts:
    """What the parser of parts calls."""

    def __init__(self, body: Body) -> None:
        self.body = body
        self.is_complete = False
        self._head = {b"name": bytearray(), b"value": bytearray()}
        self._disposition = b""
        self._field: str | None = None
        self._values: dict[str, bytearray] = {}
        self._n_bytes = 0

    def callbacks(self) -> Any:
        return {
            "on_part_begin": self._begin,
            "on_header_field": lambda data, start, end: self._take(b"name", data[start:end]),
            "on_header_value": lambda data, start, end: self._take(b"value", data[start:end]),
            "on_header_end": self._end_header,
            "on_headers_finished": self._open,
            "on_part_data": self._add,
            "on_part_end": self._close,
            "on_end": self._end,
        }

    def _count(self, n_bytes: int) -> None:
        self._n_bytes += n_bytes
        if self._n_bytes > _LARGEST_FIELD:
            detail = f"a field that is no file, or the head of a part, has more than {_LARGEST_FIELD} bytes: shorten it"
            raise RefusedError(413, "too-large", detail)

    def _begin(self) -> None:
        self._disposition, self._field, self._n_bytes = b"", None, 0

    def _take(self, which: bytes, data: bytes) -> None:
        self._count(len(data))
        self._head[which] += data

    def _end_header(self) -> None:
        if self._head[b"name"].lower() == b"content-disposition":
            self._disposition = bytes(self._head[b"value"])
        for each in self._head.values():
            each.clear()

    def _open(self) -> None:
        from python_multipart.multipart import parse_options_header

        options = parse_options_header(self._disposition)[1]
        self._n_bytes = 0
        if b"filename" in options:
            self.body.start(_decode(options[b"filename"]))
        elif b"name" in options and len(self._values) < _MOST_FIELDS:
            self._field = _decode(options[b"name"])
            self._values[self._field] = bytearray()
        else:
            raise RefusedError(400, "multipart", "a part has no name, or there are too many of them")

    def _add(self, data: bytes, start: int, end: int) -> None:
        if self._field is None:
            self.body.uploads[-1].add(data[start:end])
        else:
            self._count(end - start)
            self._values[self._field] += data[start:end]

    def _close(self) -> None:
        if self._field is not None:
            self.body.fields[self._field] = _decode(bytes(self._values[self._field]))

    def _end(self) -> None:
        self.is_complete = True


def _decode(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError:
        return data.decode("latin-1")


def clean_name(name: str | None, fallback: str) -> str:
    r"""Return a client's name for a file, on one line and without its folders.

    >>> clean_name("C:\\scans\\a\n.png", "file-1"), clean_name("../", "file-1")
    ('a\\n.png', 'file-1')
    """
    last = (name or "").replace("\\", "/").rpartition("/")[2].strip()
    return display_name(last)[:_LONGEST_NAME] if last.strip(".") else fallback
