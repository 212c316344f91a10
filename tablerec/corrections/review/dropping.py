"""Pictures and documents that a person drops into the page: checked, kept in the corrections folder, read."""

from __future__ import annotations

import re
import shutil
import threading
from pathlib import Path, PurePosixPath

from tablerec.corrections.review.body import Readable
from tablerec.corrections.review.desk import INPUTS, Desk
from tablerec.errors import InputError
from tablerec.inputs.images import SUFFIXES, display_name, load_pages
from tablerec.outputs.files import atomic_file

_FORBIDDEN = re.compile(r'[\x00-\x1f\x7f<>:"/\\|?*]+')
_RESERVED = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)$", re.IGNORECASE)
_LONGEST = 160
"""Bytes of a name; file systems have 255."""
_CHUNK = 1 << 20
_one_at_a_time = threading.Lock()
"""Two files of one name may come together."""


def take_input(desk: Desk, name: str, stream: Readable) -> Path:
    """Keep a file that can be read, and let the desk read it.

    Args:
        desk: The tables.
        name: What the person's machine calls it.
        stream: Its content.

    Returns:
        Where it is; of several files of one name each has its own.

    Raises:
        InputError: It is no picture or document that can be read.
        OutputError: It cannot be kept.
    """
    folder, clean = desk.corrections.inside(INPUTS), clean_name(name)
    with _one_at_a_time:
        path = _free(folder / clean)
        with atomic_file(path) as file:
            shutil.copyfileobj(stream, file, _CHUNK)
            file.flush()
            try:
                next(load_pages(file.name, desk.settings), None)
            except InputError as error:
                raise InputError(str(error).replace(display_name(file.name), display_name(clean))) from error
    desk.add_input(path)
    return path


def clean_name(name: str) -> str:
    r"""Return a name that any file system takes, without folders.

    Raises:
        InputError: It has not the suffix of a picture or document.

    >>> clean_name("C:\\scans\\a?.PNG"), clean_name("../../.png.png"), clean_name("con.pdf")
    ('a_.PNG', 'png.png', '_con.pdf')
    """
    last = PurePosixPath(name.replace("\\", "/")).name
    clean = _FORBIDDEN.sub("_", last).encode("utf-8", "replace").decode().strip(" .")
    stem, dot, suffix = clean.rpartition(".")
    if not stem or f".{suffix.lower()}" not in SUFFIXES:
        known = " ".join(sorted(SUFFIXES))
        shown = display_name(last[:100])
        message = f"{shown!r}: not a picture or document, by its name; supported: {known}"
        raise InputError(message).named("no_input", shown, known)
    stem = stem.encode()[:_LONGEST].decode(errors="ignore").rstrip(" .")
    return f"{'_' if _RESERVED.match(stem) else ''}{stem}{dot}{suffix}"


def _free(path: Path) -> Path:
    number, free = 1, path
    while free.exists() or free.is_symlink():
        number += 1
        free = path.with_name(f"{path.stem}-{number}{path.suffix}")
    return free
