"""A web server for one person on this machine.

It binds to 127.0.0.1 and answers only requests with the token from its URL, or with the cookie that the first such
request gets. A page of another site can reach it neither by name (the host header must be its own, against DNS
rebinding), nor send steps to it (origin and content type are checked, and the cookie is ``SameSite=Strict``). Names in
addresses are looked up in the list of tables and never become paths.
"""

from __future__ import annotations

import hmac
import io
import json
import logging
import secrets
from collections.abc import Callable, Sequence
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import resources
from socketserver import TCPServer
from typing import Any, ClassVar
from urllib.parse import SplitResult, parse_qs, unquote, urlsplit

from postprocess.editing.placing import tidy
from postprocess.export import tables_to_html, write_excel
from tablerec.corrections.editor import Correction
from tablerec.corrections.editor.answers import answer, show
from tablerec.corrections.editor.folder import image_to_png
from tablerec.corrections.editor.scripts import MODULES
from tablerec.corrections.review.desk import Desk
from tablerec.errors import InputError, TablerecError
from tablerec.fields import list_of, number, whole

MAX_BODY = 1 << 20
"""Bytes of a request."""

_SCRIPT, _STYLE = "text/javascript; charset=utf-8", "text/css; charset=utf-8"
_STATIC = {
    **dict.fromkeys(MODULES, ("tablerec.corrections.editor", _SCRIPT)),
    "editor.css": ("tablerec.corrections.editor", _STYLE),
    "review.js": ("tablerec.corrections.review", _SCRIPT),
    "frame.js": ("tablerec.corrections.review", _SCRIPT),
    "review.css": ("tablerec.corrections.review", _STYLE),
    "icon.svg": ("tablerec.corrections.review", "image/svg+xml"),
}
_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
_EXCEL = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
_FARTHEST = 1_000_000
"""Pixels of a page's side."""
_MOST_LINES = 200
"""Rows, or columns, of a grid that is asked for."""
_SECONDS = 30
"""A connection that says nothing for so long is closed."""

_logger = logging.getLogger(__name__)

Reply = tuple[HTTPStatus, str, bytes]
"""Status, content type, body."""


class ReviewServer(ThreadingHTTPServer):
    """Serves a desk.

    Args:
        desk: The tables.
        port: 0 takes a free one.

    Raises:
        OSError: The port is taken.
    """

    daemon_threads = True

    def __init__(self, desk: Desk, port: int = 0) -> None:
        self.desk = desk
        self.token = secrets.token_urlsafe(24)
        super().__init__(("127.0.0.1", port), _Handler)
        self.hosts = {f"{name}:{self.server_port}" for name in ("127.0.0.1", "localhost")}
        self.cookie = f"tablerec-{self.server_port}"
        """Its name: cookies do not tell ports apart."""

    def server_bind(self) -> None:
        """Take the port, without the look-up of a name that the base class makes."""
        TCPServer.server_bind(self)
        self.server_name, self.server_port = "127.0.0.1", self.socket.getsockname()[1]

    @property
    def address(self) -> str:
        """The address to open, with the token."""
        return f"http://127.0.0.1:{self.server_port}/?token={self.token}"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Keep a connection that broke off out of the terminal."""
        _logger.debug("connection of %s", client_address, exc_info=True)


class _RefusedError(Exception):
    """A request that is not answered.

    Args:
        status: Of the reply.
        message: For a person.
    """

    def __init__(self, status: HTTPStatus, message: str) -> None:
        super().__init__(message)
        self.status = status


class _Handler(BaseHTTPRequestHandler):
    server: ReviewServer
    protocol_version = "HTTP/1.1"
    server_version = "tablerec"
    sys_version = ""
    timeout: ClassVar[float] = _SECONDS

    def do_GET(self) -> None:
        self._answer(self._get)

    def do_POST(self) -> None:
        self._answer(self._post)

    def log_message(self, format: str, *args: Any) -> None:
        _logger.debug(format, *args)

    def _answer(self, work: Callable[[str], Reply]) -> None:
        try:
            self._check_host()
            address = self._address()
            if self.command == "GET" and address.path == "/" and "token" in parse_qs(address.query):
                self._log_in(parse_qs(address.query)["token"][0])
                return
            self._check_cookie()
            status, kind, body = work(unquote(address.path))
        except _RefusedError as error:
            self.close_connection = True  # a body may be left unread
            status, kind, body = _json({"error": str(error)}, error.status)
        except TablerecError as error:
            status, kind, body = _json({"error": str(error)}, HTTPStatus.CONFLICT)
        except (ConnectionError, TimeoutError):
            raise  # who asked has gone, or says nothing; the base class and ``handle_error`` note it
        except Exception as error:
            _logger.exception("%s", self.path.partition("?")[0])  # without the token
            self.close_connection = True
            status, kind, body = _json({"error": f"a fault of tablerec ({error!r}): report it"}, HTTPStatus(500))
        self._send(status, kind, body)

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Refuse what is no request, or has another method than these two."""
        self.close_connection = True
        self._send(*_json({"error": message or HTTPStatus(code).phrase}, HTTPStatus(code)))

    def _send(self, status: HTTPStatus, kind: str, body: bytes, **headers: str) -> None:
        self.send_response(status)
        fixed = {"Content-Type": kind, "Content-Length": str(len(body)), **_HEADERS}
        if self.close_connection:
            fixed["Connection"] = "close"
        for name, value in (fixed | headers).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def _check_host(self) -> None:
        if self.headers.get_all("Host", []) not in [[host] for host in self.server.hosts]:
            raise _RefusedError(HTTPStatus.FORBIDDEN, "this address is not the one of the review")

    def _address(self) -> SplitResult:
        try:
            return urlsplit(self.path)
        except ValueError:
            raise _RefusedError(HTTPStatus.BAD_REQUEST, "this is no address") from None

    def _log_in(self, token: str) -> None:
        self._check_token(token)
        cookie = f"{self.server.cookie}={self.server.token}; HttpOnly; SameSite=Strict; Path=/"
        self._send(HTTPStatus.SEE_OTHER, "text/plain", b"", Location="/", **{"Set-Cookie": cookie})

    def _check_cookie(self) -> None:
        # Not by ``http.cookies``: it gives up at the first cookie that it cannot read, and all servers of this
        # machine share their cookies.
        pairs = (pair.partition("=") for each in self.headers.get_all("Cookie", []) for pair in each.split(";"))
        cookies = {name.strip(): value.strip() for name, _, value in pairs}
        self._check_token(cookies.get(self.server.cookie, ""))

    def _check_token(self, token: str) -> None:
        if not hmac.compare_digest(token.encode("utf-8", "replace"), self.server.token.encode()):
            message = "open the address that `tablerec review` printed: it has the token of this review"
            raise _RefusedError(HTTPStatus.FORBIDDEN, message)

    def _get(self, path: str) -> Reply:
        desk = self.server.desk
        match path.strip("/").split("/"):
            case [""]:
                return HTTPStatus.OK, "text/html; charset=utf-8", _file("tablerec.corrections.review", "review.html")
            case ["static", name] if name in _STATIC:
                package, kind = _STATIC[name]
                return HTTPStatus.OK, kind, _file(package, name)
            case ["tables"]:
                return _json(desk.listing())
            case ["tables", name]:
                return _json(show(desk.correction(name), desk.reader))
            case ["tables", name, "picture"]:
                return HTTPStatus.OK, "image/png", desk.corrections.read_picture(desk.correction(name))
            case ["tables", name, "whole"]:
                return HTTPStatus.OK, "image/png", image_to_png(desk.page(name).image)
            case ["tables", name, "workbook"]:
                return HTTPStatus.OK, _EXCEL, _workbook(desk.correction(name))
            case ["tables", name, "page"]:
                return HTTPStatus.OK, "text/plain; charset=utf-8", _page(desk.correction(name))
        raise _RefusedError(HTTPStatus.NOT_FOUND, "there is nothing at this address")

    def _post(self, path: str) -> Reply:
        self._check_origin()
        desk, step = self.server.desk, self._body()
        match path.strip("/").split("/"):
            case ["tables", name, "do"]:
                return _answer_step(desk, name, step)
            case ["tables", name, "read"]:
                return _answer_step(desk, name, {**step, "do": "read"})
            case ["tables", name, "add"]:
                box, shape = _to_frame(step)
                return _json({"name": desk.add(name, box, shape).head.name})
        raise _RefusedError(HTTPStatus.NOT_FOUND, "there is nothing at this address")

    def _check_origin(self) -> None:
        origin = self.headers.get("Origin")
        if origin is None or origin.removeprefix("http://") not in self.server.hosts:
            raise _RefusedError(HTTPStatus.FORBIDDEN, "another site may not change tables")

    def _body(self) -> dict[str, Any]:
        if self.headers.get_content_type() != "application/json":
            raise _RefusedError(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "a step is application/json")
        length = self.headers.get("Content-Length", "")
        if not length.isascii() or not length.isdigit():
            raise _RefusedError(HTTPStatus.LENGTH_REQUIRED, "a step has a length")
        if len(length) > 9 or int(length) > MAX_BODY:
            raise _RefusedError(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"a step has {MAX_BODY:,} bytes at most")
        try:
            data = json.loads(self.rfile.read(int(length)))
        except (ValueError, RecursionError):
            data = None
        if not isinstance(data, dict):
            raise _RefusedError(HTTPStatus.BAD_REQUEST, "a step is a JSON object")
        return data


def _to_frame(data: dict[str, Any]) -> tuple[Sequence[float], tuple[int, int] | None]:
    """The box of a frame and the even rows and columns that are asked for in it."""
    rows, cols = data.get("rows"), data.get("cols")
    try:
        box = list_of(number(-_FARTHEST, _FARTHEST), 4)(data.get("box"))
    except ValueError:
        raise InputError("a frame has four numbers, in pixels: draw it again") from None
    if rows is None and cols is None:
        return box, None
    try:
        return box, (whole(1, _MOST_LINES)(rows), whole(1, _MOST_LINES)(cols))
    except ValueError as error:
        raise InputError(f"rows and columns: {error} is needed for each: give both or none") from None


def _answer_step(desk: Desk, name: str, step: dict[str, Any]) -> Reply:
    is_done, reply = answer(desk.corrections, desk.correction(name), step, desk.reader)
    return _json(reply, HTTPStatus.OK if is_done else HTTPStatus.CONFLICT)


def _json(data: Any, status: HTTPStatus = HTTPStatus.OK) -> Reply:
    text = json.dumps(data, ensure_ascii=False, allow_nan=False)
    return status, "application/json", text.encode("utf-8", "backslashreplace")


def _file(package: str, name: str) -> bytes:
    return resources.files(package).joinpath("static").joinpath(name).read_bytes()


def _workbook(correction: Correction) -> bytes:
    content = io.BytesIO()
    write_excel([tidy(correction.table)], content)
    return content.getvalue()


def _page(correction: Correction) -> bytes:
    return tables_to_html([tidy(correction.table)], correction.head.name).encode("utf-8", "replace")
