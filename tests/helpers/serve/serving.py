"""A server in a thread, whose engine is a stand-in, and requests to it over real sockets."""

from __future__ import annotations

import http.client
import io
import json
import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from postprocess.table import Table
from tablerec.config import Settings
from tablerec.inputs.images import load_pages
from tablerec.result import Page, PageImage

NEEDED = ("fastapi", "uvicorn", "python_multipart", "prometheus_client")
needs_serve = pytest.mark.skipif(not all(find_spec(name) for name in NEEDED), reason="needs the serve extra")
resolve = socket.getaddrinfo
"""As it was before a test forbids it."""


class StandIn:
    """An engine of threads: it opens a page as the real one does, and says that a small table is on it.

    Args:
        jobs: Pages at the same time.
    """

    def __init__(self, jobs: int = 2) -> None:
        self.jobs = jobs
        self.pool = ThreadPoolExecutor(jobs)
        self.free = threading.Event()
        self.free.set()
        self.asked: list[tuple[str | None, int, Settings | None]] = []
        self.n_read = 0
        self.n_rows = 1
        self.error: Callable[[str, int], Exception | None] = lambda name, number: None

    def __len__(self) -> int:
        return self.jobs

    def submit(
        self, source: Any, number: int = 1, name: str | None = None, settings: Settings | None = None
    ) -> Future[Page]:
        if name != "blank":
            self.asked.append((name, number, settings))
        return self.pool.submit(self._read, source, number, name or "", settings or Settings())

    def _read(self, source: Any, number: int, name: str, settings: Settings) -> Page:
        if name != "blank":
            assert self.free.wait(60)
            if (error := self.error(name, number)) is not None:
                raise error
        if isinstance(source, bytes):
            file: Any = io.BytesIO(source)
            file.name = name
        else:
            file = source
        (picture,) = load_pages(file, replace(settings, pages=str(number)))
        self.n_read += name != "blank"
        tables = (Table.from_texts([["a", f"p{number}"], *([["=1+1", "3.5"]] * self.n_rows)]),)
        shown = PageImage(picture.source, number, np.broadcast_to(np.uint8(255), picture.image.shape))
        return Page(shown, tables, detector="stand-in", seconds={"load": 0.001, "read": 0.002})

    def hold(self) -> None:
        """Let no page come back until ``free`` is set."""
        self.free.clear()


@dataclass
class Reply:
    """An answer."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass
class Running:
    """A server that runs, and requests to it."""

    port: int
    engine: Any
    parts: Any
    server: Any
    thread: threading.Thread
    token: str | None = None
    folder: Path = field(default_factory=Path)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def connect(self) -> socket.socket:
        connection = socket.socket()
        try:
            connection.settimeout(60)
            connection.connect(("127.0.0.1", self.port))
        except OSError:
            connection.close()
            raise
        return connection

    def ask(self, method: str, path: str, body: bytes | None = None, **headers: str) -> Reply:
        """Ask once; names of headers have ``_`` for ``-``."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port)
        with self.connect() as connection.sock:
            sent = {name.replace("_", "-"): value for name, value in headers.items()}
            if self.token is not None:
                sent.setdefault("Authorization", f"Bearer {self.token}")
            connection.request(method, path, body, sent)
            answer = connection.getresponse()
            return Reply(answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read())

    def post(self, body: bytes, path: str = "/v1/tables", **headers: str) -> Reply:
        return self.ask("POST", path, body, **headers)

    def post_files(self, *files: tuple[str, bytes], path: str = "/v1/tables", **fields: str) -> Reply:
        """Send files as parts; ``headers`` cannot be given."""
        body, kind = to_parts(files, fields)
        return self.ask("POST", path, body, Content_Type=kind)


def to_parts(files: Any, fields: Mapping[str, str] | None = None, boundary: str = "frontier") -> tuple[bytes, str]:
    """Return a body of parts, and its content type."""
    parts = [
        f'--{boundary}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'.encode()
        for name, value in (fields or {}).items()
    ] + [
        f'--{boundary}\r\nContent-Disposition: form-data; name="file"; filename="{name}"\r\n'
        f"Content-Type: application/octet-stream\r\n\r\n".encode()
        + content
        + b"\r\n"
        for name, content in files
    ]
    return b"".join(parts) + f"--{boundary}--\r\n".encode(), f"multipart/form-data; boundary={boundary}"


@contextmanager
def serving(
    engine: Any = None, token: str | None = None, settings: Settings | None = None, folder: Path | None = None,
    hosts: Any = (), origins: Any = (), tokens: Any = (), **limits: Any,
) -> Iterator[Running]:  # fmt: skip
    """Run a server in a thread until the block ends."""
    from tablerec.serve.app import TableServer
    from tablerec.serve.guards import Access, Tokens
    from tablerec.serve.limits import ServerLimits
    from tablerec.serve.server import Server

    engine = engine or StandIn()
    bounds = ServerLimits(**{"grace_seconds": 20, **limits})
    known = Tokens([*([token] if token else []), *tokens])
    parts = TableServer(engine, settings, Access(known, hosts, origins), bounds, folder)
    listening = socket.socket()
    listening.bind(("127.0.0.1", 0))
    server = Server(parts.app, parts.guard, bounds)
    thread = threading.Thread(target=lambda: server.run(sockets=[listening]), daemon=True)
    thread.start()
    running = Running(listening.getsockname()[1], engine, parts, server, thread, token, parts.folder)
    try:
        wait_until(lambda: server.started and parts.is_ready, thread)
        yield running
    finally:
        if isinstance(engine, StandIn):
            engine.free.set()
        server.end()
        server.end()
        thread.join(60)
        assert not thread.is_alive()
        assert not parts.folder.exists()
        if isinstance(engine, StandIn):
            engine.pool.shutdown()


def wait_until(is_so: Callable[[], Any], thread: threading.Thread | None = None, seconds: float = 60) -> None:
    """Wait for something that comes by itself."""
    pause = threading.Event()
    for _ in range(int(seconds / 0.02)):
        if is_so():
            return
        assert thread is None or thread.is_alive(), "the server ended"
        pause.wait(0.02)
    raise AssertionError("it did not come about")


def png(width: int = 60, height: int = 40) -> bytes:
    """A white picture."""
    return encode([(width, height)], "PNG")


def tiff(n_pages: int, width: int = 60, height: int = 40) -> bytes:
    """A document of white pages."""
    return encode([(width, height)] * n_pages, "TIFF")


def encode(sizes: list[tuple[int, int]], format: str) -> bytes:
    first, *others = [Image.new("L", size, 255) for size in sizes]
    content = io.BytesIO()
    first.save(content, format, **({"save_all": True, "append_images": others} if format == "TIFF" else {}))
    return content.getvalue()
