"""A web server for one person on this machine.

It binds to 127.0.0.1 and answers only requests with the token from its URL, or with the cookie that the first such
request gets. A page of another site can reach it neither by name (the host header must be its own, against DNS
rebinding), nor send steps to it (origin and content type are checked, and the cookie is ``SameSite=Strict``). Names in
addresses are looked up in the list of tables and never become paths.
"""

from __future__ import annotations

import hmac
import json
import logging
import os
import shutil
from collections.abc import Callable
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socketserver import TCPServer
from typing import Any, ClassVar
from urllib.parse import SplitResult, parse_qs, unquote, urlsplit

from tablerec.corrections.alike.joined import Joined
from tablerec.corrections.alike.offers import Offers
from tablerec.corrections.learning.learner import Learner
from tablerec.corrections.refusals import to_chinese
from tablerec.corrections.review import routes
from tablerec.corrections.review.body import Body
from tablerec.corrections.review.desk import Desk
from tablerec.corrections.review.replies import RefusedError, Reply, to_refusal
from tablerec.corrections.review.routes import Review
from tablerec.corrections.review.session import Session, read_session, write_session
from tablerec.errors import TablerecError

MAX_BODY = 1 << 20
"""Bytes of a request."""
MAX_FILE = 256 << 20
"""Bytes of a picture or document."""

_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
_SECONDS = 30
"""A connection that says nothing for so long is closed."""

_logger = logging.getLogger(__name__)


class ReviewServer(ThreadingHTTPServer):
    """Serves a desk, at the port and with the token that its corrections folder was served with before.

    Args:
        desk: The tables.
        port: 0 takes the former one, or any where that is not free.
        learner: Of the desk; by default one that learns only when it is asked to.

    Raises:
        OSError: The port is taken.
    """

    daemon_threads = True
    allow_reuse_address = os.name != "nt"
    """On Windows that would let two servers have one port; elsewhere the former port is free at once."""

    def __init__(self, desk: Desk, port: int = 0, learner: Learner | None = None) -> None:
        folder = desk.corrections.folder
        session = read_session(folder)
        self.desk, self.token = desk, session.token
        self.review = Review(desk, learner or Learner(desk, after=0), Offers(desk), Joined(desk))
        try:
            super().__init__(("127.0.0.1", port or session.port), _Handler)
        except OSError:
            if port or not session.port:
                raise
            super().__init__(("127.0.0.1", 0), _Handler)  # another review of the same folder, most likely
        else:
            write_session(folder, Session(self.server_port, self.token))
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

    def _answer(self, work: Callable[[list[str], SplitResult], Reply]) -> None:
        try:
            self._check_host()
            address = self._address()
            if self.command == "GET" and address.path == "/" and "token" in parse_qs(address.query):
                self._log_in(parse_qs(address.query)["token"][0])
                return
            self._check_cookie()
            reply = work(unquote(address.path).strip("/").split("/"), address)
        except RefusedError as error:
            self.close_connection = True  # a body may be left unread
            reply = self._refusal(error.status, str(error), error.chinese)
        except TablerecError as error:
            reply = self._refusal(HTTPStatus.CONFLICT, str(error), to_chinese(error))
        except (ConnectionError, TimeoutError):
            raise  # who asked has gone, or says nothing; the base class and ``handle_error`` note it
        except Exception as error:
            _logger.exception("%s", self.path.partition("?")[0])  # without the token
            self.close_connection = True
            fault = TablerecError(f"a fault of tablerec ({error!r}): report it").named("fault", repr(error))
            reply = self._refusal(HTTPStatus.INTERNAL_SERVER_ERROR, str(fault), to_chinese(fault))
        self._send(reply)

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Refuse what is no request, or has another method than these two."""
        self.close_connection = True
        self._send(self._refusal(HTTPStatus(code), message or HTTPStatus(code).phrase))

    def _refusal(self, status: HTTPStatus, message: str, chinese: str | None = None) -> Reply:
        # There are no headers where the request was none.
        headers = getattr(self, "headers", None) or {}
        return to_refusal(status, message, chinese, as_page="text/html" in headers.get("Accept", ""))

    def _send(self, reply: Reply) -> None:
        body = reply.body
        length = len(body) if isinstance(body, bytes) else body.seek(0, 2)
        self.send_response(reply.status)
        fixed = {"Content-Type": reply.kind, "Content-Length": str(length), **_HEADERS}
        if self.close_connection:
            fixed["Connection"] = "close"
        for name, value in (fixed | reply.headers).items():
            self.send_header(name, value)
        self.end_headers()
        if isinstance(body, bytes):
            self.wfile.write(body)
            return
        with body:
            body.seek(0)
            shutil.copyfileobj(body, self.wfile)

    def _check_host(self) -> None:
        if self.headers.get_all("Host", []) not in [[host] for host in self.server.hosts]:
            raise RefusedError(
                HTTPStatus.FORBIDDEN, "this address is not the one of the review", "这不是本次校对的地址"
            )

    def _address(self) -> SplitResult:
        try:
            return urlsplit(self.path)
        except ValueError:
            raise RefusedError(HTTPStatus.BAD_REQUEST, "this is no address", "这不是地址") from None

    def _log_in(self, token: str) -> None:
        self._check_token(token)
        cookie = f"{self.server.cookie}={self.server.token}; HttpOnly; SameSite=Strict; Path=/"
        headers = {"Location": "/", "Set-Cookie": cookie}
        self._send(Reply("text/plain", b"", HTTPStatus.SEE_OTHER, headers))

    def _check_cookie(self) -> None:
        # Not by ``http.cookies``: it gives up at the first cookie that it cannot read, and all servers of this
        # machine share their cookies.
        pairs = (pair.partition("=") for each in self.headers.get_all("Cookie", []) for pair in each.split(";"))
        cookies = {name.strip(): value.strip() for name, _, value in pairs}
        self._check_token(cookies.get(self.server.cookie, ""))

    def _check_token(self, token: str) -> None:
        if not hmac.compare_digest(token.encode("utf-8", "replace"), self.server.token.encode()):
            message = "open the address that `tablerec review` printed: it has the token of this review"
            chinese = "请打开 `tablerec review` 打印的地址：其中有本次校对的令牌"
            raise RefusedError(HTTPStatus.FORBIDDEN, message, chinese)

    def _get(self, parts: list[str], address: SplitResult) -> Reply:
        query = {name: values[-1] for name, values in parse_qs(address.query).items()}
        return routes.get(self.server.review, parts, query)

    def _post(self, parts: list[str], _: SplitResult) -> Reply:
        self._check_origin()
        if self.headers.get_content_type() != "application/octet-stream":
            return routes.post(self.server.review, parts, self._body())
        stream = Body(self.rfile, self._length(MAX_FILE))
        try:
            return routes.post_file(self.server.desk, parts, unquote(self.headers.get("X-Name", "")), stream)
        finally:
            stream.skip()  # who still sends would not see the answer

    def _check_origin(self) -> None:
        origin = self.headers.get("Origin")
        if origin is None or origin.removeprefix("http://") not in self.server.hosts:
            raise RefusedError(HTTPStatus.FORBIDDEN, "another site may not change tables", "其他网站不能修改表格")

    def _body(self) -> dict[str, Any]:
        if self.headers.get_content_type() != "application/json":
            message = "a step is application/json"
            raise RefusedError(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, message, "修改步骤应为 application/json")
        try:
            data = json.loads(self.rfile.read(self._length(MAX_BODY)))
        except (ValueError, RecursionError):
            data = None
        if not isinstance(data, dict):
            raise RefusedError(HTTPStatus.BAD_REQUEST, "a step is a JSON object", "修改步骤应为 JSON 对象")
        return data

    def _length(self, most: int) -> int:
        """Bytes of the body."""
        length = self.headers.get("Content-Length", "")
        if not length.isascii() or not length.isdigit():
            raise RefusedError(HTTPStatus.LENGTH_REQUIRED, "a body has a length", "请求应说明长度")
        if len(length) > 12 or int(length) > most:
            message, chinese = f"a body has {most:,} bytes at most", f"内容最多 {most:,} 字节"
            raise RefusedError(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, message, chinese)
        return int(length)
