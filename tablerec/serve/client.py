"""A client of ``tablerec serve``; the standard library is all it needs.

::

    from tablerec.serve.client import Client

    client = Client("http://127.0.0.1:8600", token="...")
    answer = client.recognize("scan.pdf", pages="1-3")
    print(answer.tables[0].to_grid())
    client.save("scan.pdf", "scan.xlsx")
"""

from __future__ import annotations

import http.client
import json
import os
import secrets
import ssl
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

from postprocess.export import table_from_dict
from postprocess.table import Table
from tablerec.errors import InputError, TablerecError

_SUFFIXES = {f".{name}": name for name in ("json", "html", "xlsx", "csv", "md", "tex", "zip")}
_TRY_AGAIN = (429, 503)
_CHUNK = 1 << 16


class ServerError(TablerecError):
    """A request that the server did not do.

    Args:
        problem: Its answer, see RFC 9457; ``status``, ``detail`` and ``code`` are always there.
    """

    def __init__(self, problem: Mapping[str, Any]) -> None:
        super().__init__(str(problem.get("detail", "")))
        self.problem = dict(problem)
        self.status = int(problem.get("status", 0))
        self.code = str(problem.get("code", ""))


@dataclass(frozen=True, slots=True)
class Answer:
    """What the server says of one file.

    Args:
        source: Its name.
        pages: As ``tablerec --json`` writes them.
        failed: Problems of pages that were not read.
    """

    source: str
    pages: Sequence[Mapping[str, Any]] = ()
    failed: Sequence[Mapping[str, Any]] = ()

    @property
    def tables(self) -> tuple[Table, ...]:
        """All tables, page by page."""
        return tuple(table_from_dict(table) for page in self.pages for table in page["tables"])


def to_answer(data: Mapping[str, Any]) -> Answer:
    """Read what the server says of one file.

    >>> to_answer({"source": "a.png", "pages": []}).tables
    ()
    """
    return Answer(data["source"], data["pages"], data.get("failed", ()))


@dataclass(slots=True)
class Client:
    """A client; each call opens a connection of its own, so threads may share it.

    Args:
        url: Of the server, such as ``http://127.0.0.1:8600``.
        token: One of the server's, where it asks for one.
        seconds: For which an answer is waited for.
        tries: How often a request is made where the server is busy, or does not answer yet.
    """

    url: str
    token: str | None = field(default=None, repr=False)
    seconds: float = 600.0
    tries: int = 10

    def recognize(self, path: str | os.PathLike[str], *, password: str | None = None, **options: Any) -> Answer:
        """Read the tables of a file.

        Args:
            path: Of a picture or document.
            password: Of a PDF that asks for one.
            **options: As the server's ``/docs`` names them, such as ``layout="table"``.

        Raises:
            InputError: The file cannot be opened.
            ServerError: The server refuses it, or stays busy.
        """
        return to_answer(json.loads(self._send_file(path, "json", password, options)))

    def recognize_many(self, paths: Sequence[str | os.PathLike[str]], **options: Any) -> list[Answer]:
        """Read the tables of several files in one request.

        Raises:
            InputError: A file cannot be opened.
            ServerError: The server refuses all of them, or stays busy.
        """
        data = json.loads(self._send_parts("/v1/tables", paths, "json", options)[1])
        return [to_answer(each) for each in data.get("results", [data])]

    def save(
        self,
        path: str | os.PathLike[str],
        target: str | os.PathLike[str],
        *,
        password: str | None = None,
        **options: Any,
    ) -> Path:
        """Read a file, and write what the suffix of ``target`` asks for: HTML, XLSX, CSV, Markdown, LaTeX, JSON, ZIP.

        Raises:
            InputError: The suffix belongs to no format, or the file cannot be opened.
            ServerError: The server refuses it, or stays busy.
            OutputError: ``target`` cannot be written.
        """
        content = self._send_file(path, _to_format(target), password, options)
        return _write(target, content)

    def stream(
        self, path: str | os.PathLike[str], *, password: str | None = None, **options: Any
    ) -> Iterator[Mapping[str, Any]]:
        """Yield the pages of a file as the server has read them, whatever their order.

        Yields:
            ``{"type": "page", "page": ...}`` or ``{"type": "failed", "page": number, "problem": ...}``.

        Raises:
            ServerError: The server refuses the file, or its answer ends too soon.
        """
        with _open(path) as file:
            headers = self._headers("ndjson", password) | {"Content-Length": str(os.fstat(file.fileno()).st_size)}
            address = self._address("/v1/tables", {"name": Path(path).name, **options})
            with self._ask("POST", address, headers, lambda: _pieces(file)) as answer:
                for line in answer:
                    data = json.loads(line)
                    if data["type"] == "end":
                        return
                    yield data
        raise _cut(f"{path}: the answer ends too soon")

    def submit(self, *paths: str | os.PathLike[str], **options: Any) -> str:
        """Hand in long documents, and return the id of the job.

        Raises:
            InputError: A file cannot be opened.
            ServerError: The server refuses them, or stays busy.
        """
        return str(json.loads(self._send_parts("/v1/jobs", paths, "json", options)[1])["id"])

    def job(self, id: str) -> Mapping[str, Any]:
        """Return how far a job is.

        Raises:
            ServerError: There is no such job.
        """
        data: Mapping[str, Any] = json.loads(self._call("GET", f"/v1/jobs/{quote(id, safe='')}"))
        return data

    def wait(self, id: str, seconds: float | None = None) -> Mapping[str, Any]:
        """Wait until a job is done or has failed, and return how it is.

        Raises:
            ServerError: There is no such job, or it is not done within ``seconds``.
        """
        end, pause = time.monotonic() + (self.seconds if seconds is None else seconds), 0.1
        while (state := self.job(id))["state"] in ("queued", "running"):
            if time.monotonic() > end:
                raise ServerError({"status": 504, "code": "timeout", "detail": f"job {id}: not done yet: wait longer"})
            time.sleep(pause)
            pause = min(2.0, 1.5 * pause)
        return state

    def result(self, id: str) -> list[Answer]:
        """Return the answers of a job that is done, in the order of its files.

        Raises:
            ServerError: It is not done, or failed.
        """
        data = json.loads(self._call("GET", f"/v1/jobs/{quote(id, safe='')}/result", "json"))
        return [to_answer(each) for each in data.get("results", [data])]

    def save_result(self, id: str, target: str | os.PathLike[str]) -> Path:
        """Write the result of a job as the suffix of ``target`` asks for.

        Raises:
            ServerError: It is not done, or failed.
            OutputError: ``target`` cannot be written.
        """
        return _write(target, self._call("GET", f"/v1/jobs/{quote(id, safe='')}/result", _to_format(target)))

    def delete(self, id: str) -> None:
        """Stop a job, and remove all of it.

        Raises:
            ServerError: There is no such job.
        """
        self._call("DELETE", f"/v1/jobs/{quote(id, safe='')}")

    def _send_file(
        self, path: str | os.PathLike[str], format: str, password: str | None, options: Mapping[str, Any]
    ) -> bytes:
        with _open(path) as file:
            headers = self._headers(format, password) | {"Content-Length": str(os.fstat(file.fileno()).st_size)}
            address = self._address("/v1/tables", {"name": Path(path).name, **options})
            with self._ask("POST", address, headers, lambda: _pieces(file)) as answer:
                return answer.read()

    def _send_parts(
        self, path: str, files: Sequence[str | os.PathLike[str]], format: str, options: Mapping[str, Any]
    ) -> tuple[int, bytes]:
        boundary = secrets.token_hex(16)
        for each in files:
            _open(each).close()
        heads = [_head(boundary, Path(each).name) for each in files]
        length = sum(len(head) + os.path.getsize(each) + 2 for head, each in zip(heads, files, strict=True))
        ending = f"--{boundary}--\r\n".encode()

        def body() -> Iterator[bytes]:
            for head, each in zip(heads, files, strict=True):
                yield head
                with _open(each) as file:
                    yield from _pieces(file)
                yield b"\r\n"
            yield ending

        headers = self._headers(format, None) | {
            "Content-Type": f"multipart/form-data; boundary={boundary}",
            "Content-Length": str(length + len(ending)),
        }
        with self._ask("POST", self._address(path, options), headers, body) as answer:
            return answer.status, answer.read()

    def _call(self, method: str, path: str, format: str = "json") -> bytes:
        with self._ask(method, self._address(path, {}), self._headers(format, None), None) as answer:
            return answer.read()

    def _headers(self, format: str, password: str | None) -> dict[str, str]:
        headers = {"Accept": _ACCEPT[format]}
        if self.token is not None:
            headers["Authorization"] = f"Bearer {self.token}"
        if password is not None:
            headers["Document-Password"] = password.encode().decode("latin-1")
        return headers

    def _address(self, path: str, options: Mapping[str, Any]) -> str:
        given = {name: str(value).lower() if isinstance(value, bool) else value for name, value in options.items()}
        query = urlencode(given, errors="replace")
        return f"{urlsplit(self.url).path.rstrip('/')}{path}" + (f"?{query}" if query else "")

    @contextmanager
    def _ask(
        self, method: str, address: str, headers: Mapping[str, str], body: Any
    ) -> Iterator[http.client.HTTPResponse]:
        """Make a request, and again where the server says so, and yield the answer."""
        for left in range(self.tries - 1, -1, -1):
            connection, has_begun = self._connect(), False
            try:
                answer = _exchange(connection, method, address, headers, body)
                if answer.status < 400:
                    has_begun = True
                    yield answer
                    return
                problem = _to_problem(answer)
                if answer.status not in _TRY_AGAIN or not left:
                    raise ServerError(problem)
                seconds = _to_seconds(answer.getheader("Retry-After"))
            except (OSError, http.client.HTTPException) as error:
                if has_begun:
                    raise _cut(f"{self.url}: the answer ends too soon ({error})") from error
                detail = f"{self.url}: no answer ({error}): is the server there?"
                raise ServerError({"status": 0, "code": "unreachable", "detail": detail}) from error
            finally:
                connection.close()
            time.sleep(seconds)

    def _connect(self) -> http.client.HTTPConnection:
        parts = urlsplit(self.url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise InputError(f"{self.url}: no address of a server: write http://HOST:PORT")
        if parts.scheme == "https":
            context = ssl.create_default_context()
            return http.client.HTTPSConnection(parts.hostname, parts.port, timeout=self.seconds, context=context)
        return http.client.HTTPConnection(parts.hostname, parts.port, timeout=self.seconds)


_ACCEPT = {
    "json": "application/json",
    "html": "text/html",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    "csv": "text/csv",
    "md": "text/markdown",
    "tex": "application/x-tex",
    "ndjson": "application/x-ndjson",
    "zip": "application/zip",
}


def _exchange(
    connection: http.client.HTTPConnection, method: str, address: str, headers: Mapping[str, str], body: Any
) -> http.client.HTTPResponse:
    try:
        connection.request(method, address, None if body is None else body(), dict(headers))
    except (BrokenPipeError, ConnectionResetError):
        # A server that refuses a body may close before it has all of it: what it said first is read all the same.
        if connection.sock is None:
            raise
    return connection.getresponse()


def _to_problem(answer: http.client.HTTPResponse) -> Mapping[str, Any]:
    try:
        problem = json.loads(answer.read())
    except ValueError:
        problem = None
    if isinstance(problem, dict):
        return {"status": answer.status, **problem}
    return {"status": answer.status, "code": "", "detail": f"the server answered {answer.status} {answer.reason}"}


def _cut(detail: str) -> ServerError:
    return ServerError({"status": 502, "code": "cut", "detail": f"{detail}: try again"})


def _to_seconds(text: str | None) -> float:
    return min(60.0, float(text)) if text and text.isascii() and text.isdigit() else 1.0


def _pieces(file: Any) -> Iterator[bytes]:
    file.seek(0)
    while piece := file.read(_CHUNK):
        yield piece


def _head(boundary: str, name: str) -> bytes:
    """The head of a part, with the name of its file as browsers write it."""
    quoted = name.replace("\\", "_").replace('"', "%22").replace("\r", "%0D").replace("\n", "%0A")
    head = f'--{boundary}\r\nContent-Disposition: form-data; name="file"; filename="{quoted}"\r\n\r\n'
    return head.encode("utf-8", "replace")


def _open(path: str | os.PathLike[str]) -> Any:
    try:
        return open(path, "rb")
    except OSError as error:
        raise InputError(f"{os.fsdecode(path)}: cannot be opened ({error.strerror}); check the name") from error


def _to_format(target: str | os.PathLike[str]) -> str:
    format = _SUFFIXES.get(Path(target).suffix.lower())
    if format is None:
        raise InputError(f"{os.fsdecode(target)}: no format has this suffix; use one of {' '.join(_SUFFIXES)}")
    return format


def _write(target: str | os.PathLike[str], content: bytes) -> Path:
    from tablerec.outputs.files import atomic_file

    path = Path(target)
    with atomic_file(path) as file:
        file.write(content)
    return path
