"""Processes that exchange short words: each says one, each hears all.

Sockets in the form of a star. Who dies closes its own, so that nobody waits for the dead; waiting for the living may
take as long as a validation does. Words are JSON, and who does not know the token is not listened to.
"""

from __future__ import annotations

import json
import secrets
import socket
from collections.abc import Callable
from typing import Any

from tablerec.errors import TrainingError

_PATIENCE = 1800.0
"""Seconds: longer than a validation, in case a machine vanishes without closing anything."""
_LONGEST = 1 << 20
"""Bytes of a word."""
FAILED = (
    "another process of this training has failed, see its message above or in the folder of logs; the same command "
    "goes on from the last checkpoint"
)


class Meeting:
    """One process among those that meet.

    Args:
        number: From 0; the first one is the middle of the star.
        lines: Sockets to all others, in their order, or to the first one.
    """

    def __init__(self, number: int, lines: list[socket.socket]) -> None:
        self.number = number
        self._sockets = lines
        for each in lines:
            each.settimeout(_PATIENCE)
            each.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # or a word takes 40 ms

    def exchange(self, value: Any = None) -> list[Any]:
        """Wait for all; return what each one said, in the order of their numbers.

        Args:
            value: For JSON.

        Raises:
            TrainingError: Another one has failed or vanished.
        """
        try:
            if self.number:
                _send(self._sockets[0], value)
                return list(_receive(self._sockets[0]))
            said = [value, *map(_receive, self._sockets)]
            for each in self._sockets:
                _send(each, said)
        except (OSError, ValueError) as error:
            raise TrainingError(FAILED) from error
        return said

    def close(self) -> None:
        """Go; the others will not wait."""
        for each in self._sockets:
            each.close()


def open_meeting(
    number: int, count: int, host: str, publish: Callable[[str], object], look_up: Callable[[], str]
) -> Meeting:
    """Connect the processes.

    Args:
        number: Of this one, from 0.
        count: How many there are.
        host: Where the first one is found.
        publish: Called by the first one with its address and the token, for the others.
        look_up: Returns it to the others, once it is there.

    Raises:
        TrainingError: They do not find each other.
    """
    try:
        if number == 0:
            return Meeting(0, _welcome(count, host, publish))
        return Meeting(number, [_introduce(number, host, *look_up().split())])
    except (OSError, ValueError) as error:
        raise TrainingError(f"the processes of this training do not find each other at {host} ({error})") from error


def _introduce(number: int, host: str, port: str = "", token: str = "") -> socket.socket:
    line = socket.socket()
    try:
        line.settimeout(300)
        line.connect((host, int(port)))
        _send(line, [token, number])
        _receive(line)
    except (OSError, ValueError):
        line.close()
        raise
    return line


def _welcome(count: int, host: str, publish: Callable[[str], object]) -> list[socket.socket]:
    token = secrets.token_hex(16)
    found: dict[int, socket.socket] = {}
    with socket.create_server((host, 0)) as server:
        server.settimeout(300)
        publish(f"{server.getsockname()[1]} {token}")
        while len(found) < count - 1:
            line, _ = server.accept()
            line.settimeout(60)
            try:
                said, number = _receive(line)
                if not secrets.compare_digest(said, token) or number not in range(1, count):
                    raise ValueError("a stranger")
                _send(line, "welcome")
            except (OSError, ValueError, TypeError):
                line.close()
                continue
            found[number] = line
    return [found[number] for number in range(1, count)]


def _send(line: socket.socket, value: Any) -> None:
    line.sendall(json.dumps(value).encode() + b"\n")


def _receive(line: socket.socket) -> Any:
    """Read up to the end of the line; nobody sends more before he has heard an answer."""
    parts = bytearray()
    while not parts.endswith(b"\n"):
        part = line.recv(65536)
        if not part or len(parts) > _LONGEST:
            raise OSError("the line was closed")
        parts += part
    return json.loads(parts)
