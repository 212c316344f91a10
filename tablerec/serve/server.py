"""uvicorn with what it has not: silent and slow clients are cut, connections are few, SIGTERM lets requests finish."""

from __future__ import annotations

import asyncio
import logging
import socket
import time
from typing import Any, ClassVar

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from tablerec.errors import SettingsError
from tablerec.serve.guards import Guard
from tablerec.serve.limits import ServerLimits
from tablerec.serve.problems import MEDIA_TYPE, Problem

_LARGEST_HEAD = 16_384
"""Bytes of a request's first line and headers."""
_BACKLOG = 256
"""Connections that wait to be taken."""
_KEEP_ALIVE = 5
"""Seconds for which a connection stays open after an answer."""
_LAST_SECONDS = 2
"""For cutting what is left at the end."""

_logger = logging.getLogger(__name__)


class GuardedProtocol(H11Protocol):
    """One connection: closed by force if the head of a request, or the taking of an answer, lasts too long."""

    limits: ClassVar[ServerLimits]

    _silent: asyncio.TimerHandle | None = None
    _unread: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        """Begin; where there are too many, with the end."""
        super().connection_made(transport)
        self._expect_request()
        if len(self.connections) > self.limits.connections:
            problem = Problem(503, "connections", "too many connections: try again in 2 s")
            self._say(problem, "Retry-After: 2\r\n")

    def data_received(self, data: bytes) -> None:
        """Take bytes; the head of a request that is whole need not be waited for."""
        before = self.cycle
        if not self.transport.is_closing():
            super().data_received(data)
        if self.cycle is not before:
            _cancel(self._silent)

    def on_response_complete(self) -> None:
        """Wait for the next request; what the client takes no more of ends then too."""
        super().on_response_complete()
        if self.cycle.response_complete:
            self._expect_request()

    def pause_writing(self) -> None:
        """Wait for the client to take some of the answer."""
        super().pause_writing()
        self._unread = self.loop.call_later(self.limits.write_seconds, self._cut, "an answer was not taken")

    def resume_writing(self) -> None:
        """Go on."""
        _cancel(self._unread)
        super().resume_writing()

    def connection_lost(self, exc: Exception | None) -> None:
        """End."""
        _cancel(self._silent)
        _cancel(self._unread)
        super().connection_lost(exc)

    def send_400_response(self, msg: str) -> None:
        """Refuse what is no HTTP."""
        self._say(Problem(400, "http", "this is no request of HTTP/1.1, or its head is too large"))

    def _say(self, problem: Problem, headers: str = "") -> None:
        content = problem.to_json()
        title = problem.to_dict()["title"]
        head = (
            f"HTTP/1.1 {problem.status} {title}\r\nContent-Type: {MEDIA_TYPE}\r\nContent-Length: {len(content)}\r\n"
            f"{headers}Connection: close\r\n\r\n"
        )
        self.transport.write(head.encode("latin-1") + content)
        self.transport.close()

    def _expect_request(self) -> None:
        _cancel(self._silent)
        self._silent = self.loop.call_later(self.limits.header_seconds, self._cut, "no request came")

    def _cut(self, reason: str) -> None:
        _logger.debug("cut %s: %s", self.client, reason)
        self.transport.abort()


def _cancel(timer: asyncio.TimerHandle | None) -> None:
    if timer is not None:
        timer.cancel()


class Server(uvicorn.Server):
    """A server that, told to end, answers what it has begun and refuses what is new.

    Args:
        app: Its application; ``guard`` may be inside it.
        guard: What counts requests and refuses new ones.
        limits: Of connections and times.
    """

    def __init__(self, app: Any, guard: Guard, limits: ServerLimits) -> None:
        protocol = type("Protocol", (GuardedProtocol,), {"limits": limits})
        super().__init__(
            uvicorn.Config(
                app,
                http=protocol,
                ws="none",
                lifespan="on",
                log_config=None,
                access_log=False,
                server_header=False,
                proxy_headers=False,
                backlog=_BACKLOG,
                timeout_keep_alive=_KEEP_ALIVE,
                timeout_graceful_shutdown=_LAST_SECONDS,
                h11_max_incomplete_event_size=_LARGEST_HEAD,
            )
        )
        self.guard = guard
        self.limits = limits
        self._end: float | None = None
        self._says_so = False

    def handle_exit(self, sig: int, frame: Any) -> None:
        """End in a while; at once if told so twice."""
        self.end()

    def end(self) -> None:
        """Refuse new requests, and end when those at hand are answered, or their time is over."""
        if self._end is not None:
            self._end = 0.0
            return
        self._end = time.monotonic() + self.limits.grace_seconds
        self.guard.is_ending = True

    async def on_tick(self, counter: int) -> bool:
        """Whether the time to end has come."""
        # Not where a signal is handled: that may be in the midst of another line.
        if self._end is not None and not self._says_so:
            self._says_so = True
            _logger.info("ending: %d requests at hand", self.guard.n_active)
        if self._end is not None and (not self.guard.n_active or time.monotonic() > self._end):
            self.should_exit = True
        return await super().on_tick(counter)


def bind(host: str, port: int) -> socket.socket:
    """Take a port; who asks before the server runs waits for it.

    Raises:
        SettingsError: It is taken, or there is no such address.
    """
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        taken = socket.socket(family, kind, protocol)
    except OSError as error:
        raise SettingsError(f"--host {host}: no address ({error.strerror}); give a name or number") from error
    try:
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        taken.bind(address)
        taken.listen(_BACKLOG)
    except OSError as error:
        taken.close()
        raise SettingsError(f"--port {port}: cannot be used ({error.strerror}); choose another") from error
    return taken
