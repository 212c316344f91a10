"""Who may ask, from where, and how a body may come: what is checked before anything else is done.

A request reaches the application only if the server is not ending, its Host is one of the server's, its Origin is no
other site, and it has a token where there are some. Its body is counted and timed as it comes.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import ipaddress
import logging
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, MutableMapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from tablerec.errors import SettingsError
from tablerec.inputs.images import display_name
from tablerec.serve.limits import ServerLimits
from tablerec.serve.problems import CLIENT_GONE, MEDIA_TYPE, RefusedError, to_problem

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]

OPEN_PATHS = ("/", "/docs", "/openapi.json", "/healthz", "/readyz")
"""What needs no token, and ``/static/``: it says nothing of anybody's documents."""
_SHORTEST_TOKEN = 16
_AT_FIRST = 10.0
"""Seconds of waiting for a body before its rate counts."""
_LOOPBACK = {"localhost", "127.0.0.1", "::1"}

_HEADERS = [
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cache-control", b"no-store"),
    (
        b"content-security-policy",
        b"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
        b"base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    ),
]

_logger = logging.getLogger(__name__)
_access = logging.getLogger("tablerec.serve.access")


class Tokens:
    """The tokens that clients may have; only their digests are kept.

    Args:
        tokens: At least 16 characters each; none lets everybody in.

    Raises:
        SettingsError: One is too short, or has characters that a header cannot carry.

    >>> tokens = Tokens(["0123456789abcdef"])
    >>> tokens.find("Bearer 0123456789abcdef"), tokens.find("Bearer 0123456789abcdeg"), tokens.find(None)
    (0, None, None)
    """

    def __init__(self, tokens: Iterable[str] = ()) -> None:
        given = list(dict.fromkeys(tokens))
        for token in given:
            if len(token) < _SHORTEST_TOKEN or not (token.isascii() and token.isprintable()) or " " in token:
                raise SettingsError(
                    f"a token has fewer than {_SHORTEST_TOKEN} characters, or others than letters, digits and signs: "
                    "make one with python -c 'import secrets; print(secrets.token_urlsafe(32))'"
                )
        self._digests = [hashlib.sha256(token.encode()).digest() for token in given]

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self._digests)

    def find(self, authorization: str | None) -> int | None:
        """Return the number of the token in a header, in a time that says nothing of the others."""
        scheme, _, token = (authorization or "").partition(" ")
        digest = hashlib.sha256(token.strip().encode("utf-8", "replace")).digest()
        matches = [hmac.compare_digest(digest, each) for each in self._digests]
        return matches.index(True) if scheme.lower() == "bearer" and any(matches) else None


@dataclass(frozen=True, slots=True)
class Access:
    """Who may ask.

    Args:
        tokens: One of which a request needs, if there are any.
        hosts: Names by which the server is known besides numbers and ``localhost``; ``*`` is any.
        origins: Sites whose pages may ask.
    """

    tokens: Tokens
    hosts: Sequence[str] = ()
    origins: Sequence[str] = ()

    def check(self, headers: Mapping[str, Sequence[str]], *, is_open: bool) -> int | None:
        """Return the number of the client's token; None without one.

        Args:
            headers: Of the request, by name.
            is_open: Whether it needs no token.

        Raises:
            RefusedError: With 401, 403 or 421.
        """
        hosts = headers.get("host", [])
        if len(hosts) != 1 or not self.knows_host(hosts[0]):
            raise RefusedError(421, "host", "this server has another name: its options say which names it has")
        for origin in headers.get("origin", []):
            if not self.knows_origin(origin, hosts[0]):
                raise RefusedError(
                    403, "origin", "pages of other sites may not ask: the server's options say which may"
                )
        if not self.tokens:
            return None
        given = headers.get("authorization", [])
        client = self.tokens.find(given[0] if len(given) == 1 else None)
        if client is None and not is_open:
            detail = "a token is needed: send the header Authorization: Bearer TOKEN"
            raise RefusedError(401, "token", detail, {"WWW-Authenticate": "Bearer"})
        return client

    def knows_host(self, host: str | None) -> bool:
        """Whether a Host header is one of ours: a site that points its name here does not know our names.

        >>> access = Access(Tokens(), hosts=["tables.example"])
        >>> [access.knows_host(host) for host in ("Tables.example:80", "127.0.0.1:8600", "[::1]", "evil.example", None)]
        [True, True, True, False, False]
        """
        name = host_name(host or "")
        return bool(name) and ("*" in self.hosts or name in _LOOPBACK or name in self.hosts or _is_address(name))

    def knows_origin(self, origin: str | None, host: str) -> bool:
        """Whether a page of this origin may ask: our own, or one that was allowed; programs have none."""
        if origin is None or origin in self.origins or "*" in self.origins:
            return True
        return origin.partition("://")[2].lower() == host.lower()


def to_headers(scope: Scope) -> dict[str, list[str]]:
    """Return the headers of a request by name, in small letters.

    >>> to_headers({"headers": [(b"Host", b"a"), (b"host", b"b")]})
    {'host': ['a', 'b']}
    """
    headers: dict[str, list[str]] = {}
    for name, value in scope["headers"]:
        headers.setdefault(name.decode("latin-1").lower(), []).append(value.decode("latin-1"))
    return headers


def host_name(host: str) -> str:
    """Return the name in a Host header, in small letters; empty where it is none.

    >>> host_name("A.example:80"), host_name("[::1]:80"), host_name("a b"), host_name("a@b")
    ('a.example', '::1', '', '')
    """
    try:
        parts = urlsplit(f"//{host}")
        _ = parts.port
    except ValueError:
        return ""
    plain = parts.netloc == host and not parts.path and "@" not in host and host.isprintable() and " " not in host
    return (parts.hostname or "") if plain else ""


def is_loopback(host: str) -> bool:
    """Whether a server that binds to this name can be reached from this machine only.

    >>> is_loopback("127.0.0.1"), is_loopback("localhost"), is_loopback("0.0.0.0"), is_loopback("scanner")
    (True, True, False, False)
    """
    return host == "localhost" or (_is_address(host) and ipaddress.ip_address(host).is_loopback)


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


class Guard:
    """The outermost layer of the application.

    Args:
        app: What is guarded.
        access: Who may ask.
        limits: Of bodies.
        metrics: What is told of each request; see ``tablerec.serve.metrics.Metrics``.
    """

    def __init__(self, app: Application, access: Access, limits: ServerLimits, metrics: Any) -> None:
        self.app = app
        self.access = access
        self.limits = limits
        self.metrics = metrics
        self.n_active = 0
        """Requests at hand."""
        self.is_ending = False
        """Whether new requests are refused, as the server is about to end."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request, as ASGI has it."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        self.n_active += 1
        started = time.monotonic()
        body, answer = TimedBody(receive, self.limits), _Answer(send, self.is_ending)
        try:
            self._check(scope, body)
            await self.app(scope, body.receive, answer.send)
        except RefusedError as error:
            await refuse(error)(scope, receive, answer.send)
        except Exception as error:
            _logger.exception("a fault of the server")
            if not answer.status:
                await refuse(to_refused(error))(scope, receive, answer.send)
        finally:
            self.n_active -= 1
            self._note(scope, answer, body.size, time.monotonic() - started)

    def _check(self, scope: Scope, body: TimedBody) -> None:
        path = scope["path"]
        if self.is_ending and path != "/healthz":
            raise RefusedError(503, "ending", "the server is about to end: ask another, or later", {"Retry-After": "5"})
        headers = to_headers(scope)
        is_open = path in OPEN_PATHS or path.startswith("/static/")
        scope.setdefault("state", {})["client"] = self.access.check(headers, is_open=is_open)
        body.check_length(headers.get("content-length", []))

    def _note(self, scope: Scope, answer: _Answer, n_bytes: int, seconds: float) -> None:
        route = getattr(scope.get("route"), "path", None)  # without the ids of jobs
        method = scope["method"] if scope["method"] in ("GET", "HEAD", "POST", "DELETE", "OPTIONS") else "other"
        status = answer.status or CLIENT_GONE
        self.metrics.requests.labels(method, route or "other", status).inc()
        self.metrics.request_seconds.labels(route or "other").observe(seconds)
        self.metrics.body_bytes.inc(n_bytes)
        if answer.code:
            self.metrics.rejections.labels(answer.code).inc()
        client = (scope.get("client") or ("-",))[0]
        shown = route or display_name(scope["path"])[:100]
        reason = f" {answer.code}" if answer.code else ""
        _access.info("%s %s %s %d%s %.0f ms %d bytes", client, method, shown, status, reason, 1000 * seconds, n_bytes)


def to_refused(error: Exception) -> RefusedError:
    """Return the error as one that is answered."""
    problem = to_problem(error)
    return RefusedError(problem.status, problem.code, problem.detail, more=problem.more)


def refuse(error: RefusedError) -> Application:
    """Return what answers a request with a problem."""

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        content = error.problem.to_json()
        headers = {"content-type": MEDIA_TYPE, "content-length": str(len(content)), **error.headers}
        pairs = [(name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in headers.items()]
        start = {"type": "http.response.start", "status": error.problem.status, "headers": pairs}
        await send(start | {"code": error.problem.code})
        await send({"type": "http.response.body", "body": content if scope["method"] != "HEAD" else b""})

    return answer


class TimedBody:
    """A body as it comes: not more than may be, and not slower.

    Args:
        receive: Where it comes from, as ASGI has it.
        limits: ``body_*`` count.
    """

    def __init__(self, receive: Receive, limits: ServerLimits) -> None:
        self._receive = receive
        self._limits = limits
        self._most = int(limits.body_megabytes * 1e6)
        self._waited = 0.0
        self.is_whole = False
        self.size = 0
        """Bytes that have come."""

    def check_length(self, lengths: list[str]) -> None:
        """Refuse a body that says itself that it is too large.

        Args:
            lengths: Headers ``Content-Length``.

        Raises:
            RefusedError: With 413.
        """
        if any(each.isascii() and each.isdigit() and (len(each) > 15 or int(each) > self._most) for each in lengths):
            raise self._too_large()

    def _too_large(self) -> RefusedError:
        most = self._limits.body_megabytes
        return RefusedError(413, "too-large", f"the body has more than {most:g} MB: send fewer files, or smaller ones")

    async def receive(self) -> Message:
        """Wait for the next part of the body; when it is whole, for the end of the connection.

        Raises:
            RefusedError: With 408 or 413.
        """
        if self.is_whole:
            return await self._receive()
        # Only waiting counts: what we do with a part is not the client's fault.
        allowed = min(self._limits.body_seconds, _AT_FIRST + self.size / self._limits.body_rate)
        started = time.monotonic()
        try:
            message = await asyncio.wait_for(self._receive(), max(0.0, allowed - self._waited))
        except asyncio.TimeoutError:
            detail = f"the body came too slowly: {self.size} bytes in {self._waited + time.monotonic() - started:.0f} s"
            raise RefusedError(408, "slow", detail, {"Connection": "close"}) from None
        self._waited += time.monotonic() - started
        self.size += len(message.get("body", b""))
        self.is_whole = not message.get("more_body", False)
        if self.size > self._most:
            raise self._too_large()
        return message


class _Answer:
    """An answer as it goes: with the headers of all answers; its status is kept for the log."""

    def __init__(self, send: Send, is_ending: bool) -> None:
        self._send = send
        self._is_ending = is_ending
        self.status = 0
        self.code = ""

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            self.code = message.pop("code", "")
            own = {name for name, _ in message["headers"]}
            added = [*_HEADERS, *([(b"connection", b"close")] if self._is_ending else [])]
            message["headers"] = [*message["headers"], *(pair for pair in added if pair[0] not in own)]
        await self._send(message)
