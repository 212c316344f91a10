"""The port and the token of a review, kept in its corrections folder: a page that is open goes on after a restart."""

from __future__ import annotations

import json
import logging
import os
import re
import secrets
import stat
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

NAME = "session.json"
_LARGEST = 1000
"""Bytes of the file that are read."""
_TOKEN = re.compile(r"[\w-]{32}", re.ASCII)

_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Session:
    """How a review is reached.

    Args:
        port: Of 127.0.0.1; 0 where none is known.
        token: Who has it may correct.
    """

    port: int
    token: str


def read_session(folder: Path) -> Session:
    """Return the session of a corrections folder, or a new one.

    What others can read, or have written, is no secret: then the token is a new one.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     new = read_session(Path(folder))
    ...     write_session(Path(folder), Session(8123, new.token))
    ...     new.port, read_session(Path(folder)) == Session(8123, new.token)
    (0, True)
    """
    with suppress(OSError, ValueError, TypeError, KeyError, RecursionError):
        file = os.open(folder / NAME, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
        with os.fdopen(file, "rb") as opened:
            if _is_ours(os.fstat(opened.fileno())):
                data = json.loads(opened.read(_LARGEST))
                port, token = data["port"], data["token"]
                if type(port) is int and 0 < port < 1 << 16 and _TOKEN.fullmatch(token):
                    return Session(port, token)
    return Session(0, secrets.token_urlsafe(24))


def write_session(folder: Path, session: Session) -> None:
    """Keep a session; where that cannot be done, a page that is open will not go on after a restart."""
    path, hidden = folder / NAME, folder / f".{NAME}-{secrets.token_hex(6)}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        # Nobody else may read it, not even for a moment.
        file = os.open(hidden, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            with os.fdopen(file, "wb") as opened:
                opened.write(json.dumps(asdict(session)).encode())
            os.replace(hidden, path)
        finally:
            hidden.unlink(missing_ok=True)
    except OSError as error:
        _logger.warning("%s: cannot be written (%s); after a restart the page has another address", NAME, error)


def _is_ours(status: os.stat_result) -> bool:
    if not stat.S_ISREG(status.st_mode):
        return False
    # Windows has other permissions, which the folder of a user passes on.
    return os.name == "nt" or (status.st_uid == os.getuid() and not status.st_mode & 0o077)
