"""A name becomes content on this machine, and a digest by which equal content is recognized."""

from __future__ import annotations

import hashlib
import os
import random
import re
import stat
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

from tablerec.errors import InputError, MissingDependencyError
from tablerec.inputs.images import display_name

DELAYS = (0.5, 2.0, 8.0)
"""Seconds before what failed on the network is tried again, each up to doubled by chance."""

_BLOCK = 1 << 20
_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")
_CHANGES = ("ETag", "etag", "md5Hash", "content_md5", "checksum", "LastModified", "last_modified", "mtime", "updated")
"""What tells that an object has changed, in what fsspec knows of it."""

_FINAL = (
    *(FileNotFoundError, FileExistsError, PermissionError, IsADirectoryError, NotADirectoryError),
    *(NotImplementedError, TypeError, ValueError, MissingDependencyError),
)
"""Errors that stay when the same is tried again."""

_Got = TypeVar("_Got")


@dataclass(frozen=True, slots=True)
class Fetched:
    """Content on this machine.

    Args:
        path: The file that holds it.
        content: Its SHA-256, as hex.
        size: In bytes.
        is_copy: Whether the file was made for this and may go when its pages are read.
        changes: What ``stamp`` says of the file, where it is no copy.
    """

    path: Path
    content: str
    size: int
    is_copy: bool
    changes: str | None = None


def is_url(name: str) -> bool:
    """Tell URLs from paths.

    >>> is_url("s3://bucket/a.png"), is_url("scans/a.png"), is_url("C:/a.png")
    (True, False, False)
    """
    return _URL.match(name) is not None


def filesystem(url: str) -> tuple[Any, str]:
    """Return the file system of fsspec for a URL, and the path in it.

    Raises:
        MissingDependencyError: fsspec, or the package that it needs for this URL, is not installed.
        InputError: There is no such file system, or it cannot be used as it is set up.
    """
    try:
        from fsspec.core import url_to_fs

        # Listings of many objects would stay in memory.
        files, path = url_to_fs(url, use_listings_cache=False)
    except ImportError as error:
        reason = "" if error.name == "fsspec" else f" ({display_name(str(error))})"
        raise MissingDependencyError(
            f'{display_name(url)}: a URL needs fsspec{reason}; run: pip install "tablerec[batch]"'
        ) from error
    except Exception as error:
        raise InputError(f"{display_name(url)}: cannot be used ({display_name(str(error))}); check the URL") from error
    return files, path.rstrip("/")


def full_url(files: Any, path: str) -> str:
    """Return the URL of a path in a file system."""
    return str(files.unstrip_protocol(path))


def stamp(name: str, info: Mapping[str, Any] | None = None) -> str | None:
    """Return what changes when a file or object changes: its size and when, or how, it was changed.

    Args:
        name: Path or URL.
        info: What a listing said of the object.

    Returns:
        A text, or None where nothing is known but the size.

    Raises:
        InputError: It is not there, is no file, or cannot be asked for.
    """
    if not is_url(name):
        status = _status(name)
        return f"{status.st_size} {status.st_mtime_ns}"
    if info is None:
        files, path = filesystem(name)
        info = _ask(name, lambda: files.info(path))
    changed = [f"{info[key]}" for key in _CHANGES if info.get(key)]
    return f"{info.get('size')} {changed[0]}" if changed else None


def fetch(name: str, folder: Path, max_bytes: int) -> Fetched:
    """Have the content of an input on this machine: a file stays where it is, of an object a copy is made.

    Args:
        name: Path or URL.
        folder: Where to put a copy.
        max_bytes: Of an object; a larger one is refused.

    Raises:
        InputError: It cannot be read; after some tries, where the network may be to blame.
    """
    if is_url(name):
        return _ask(name, lambda: _copy(name, folder, max_bytes))
    path = Path(name)
    before = stamp(name)
    try:
        with path.open("rb") as file:
            content, size = _digest(file, lambda block: None)
    except OSError as error:
        raise _unreadable(name, error) from error
    if stamp(name) != before:
        raise InputError(f"{display_name(name)}: changes while it is read; wait until it is complete")
    return Fetched(path, content, size, is_copy=False, changes=before)


def _copy(name: str, folder: Path, max_bytes: int) -> Fetched:
    files, path = filesystem(name)
    target = folder / f"{os.getpid()}-{random.getrandbits(64):016x}"  # without a suffix it is no input of ours
    try:
        with files.open(path, "rb") as file, target.open("xb") as copy:

            def keep(block: bytes) -> None:
                if copy.tell() + len(block) > max_bytes:
                    limit = f"{max_bytes / 1e6:g} MB"
                    raise InputError(f"{display_name(name)}: more than {limit}; raise --max-megabytes, or split it")
                copy.write(block)

            content, size = _digest(file, keep)
    except BaseException:
        target.unlink(missing_ok=True)
        raise
    return Fetched(target, content, size, is_copy=True)


def _digest(file: BinaryIO, keep: Callable[[bytes], object]) -> tuple[str, int]:
    digest, size = hashlib.sha256(), 0
    while block := file.read(_BLOCK):
        keep(block)
        digest.update(block)
        size += len(block)
    return digest.hexdigest(), size


def _status(name: str) -> os.stat_result:
    try:
        status = os.stat(name)
    except (OSError, ValueError) as error:
        raise _unreadable(name, error) from error
    if not stat.S_ISREG(status.st_mode):
        kind = "a folder" if stat.S_ISDIR(status.st_mode) else "a pipe or device"
        raise InputError(f"{display_name(name)}: {kind}, not a file; name the files")
    return status


def _unreadable(name: str, error: Exception) -> InputError:
    shown = display_name(name)
    if isinstance(error, FileNotFoundError):
        return InputError(f"{shown}: no such file; check the name and the folder")
    if isinstance(error, PermissionError):
        return InputError(f"{shown}: no permission to read it; change its permissions or copy it")
    reason = (error.strerror if isinstance(error, OSError) else None) or str(error) or type(error).__name__
    return InputError(f"{shown}: cannot be read ({display_name(reason)[:200]}); check it")


def _ask(name: str, ask: Callable[[], _Got]) -> _Got:
    """Ask the network for an input."""
    try:
        return patiently(ask)
    except (MissingDependencyError, InputError):
        raise
    except Exception as error:  # each file system has its own
        raise _unreadable(name, error) from error


def patiently(ask: Callable[[], _Got]) -> _Got:
    """Ask the network, and again where it may answer the next time; raises what it raises in the end."""
    for delay in DELAYS:
        try:
            return ask()
        except Exception as error:  # each file system has its own
            if isinstance(error, _FINAL):
                raise
            time.sleep(delay * (1 + random.random()))  # noqa: S311
    return ask()
