"""Copies the notebooks and the files that they read, and never writes over what a person changed.

::

    FOLDER/
      notebooks/            the course
      data/                 what it reads, as ../data
      .tablerec-lab.json    SHA-256 of each file as it was delivered
"""

from __future__ import annotations

import hashlib
import itertools
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tablerec.errors import OutputError
from tablerec.inputs.images import display_name
from tablerec.outputs.files import atomic_file

_PARTS = ("notebooks", "data/samples", "data/training", "data/migration")
"""As in pyproject.toml, which puts them into the wheel."""

_SOURCES = Path("notebooks/source")
"""What the notebooks are made from: for those who write them, not for those who take the course."""

_DELIVERED = ".tablerec-lab.json"


@dataclass(frozen=True, slots=True)
class Copied:
    """What a copy of the course has done; paths are relative to its folder.

    Args:
        new: Files that were not there.
        renewed: Files of an older version that nobody had changed.
        beside: Files of a newer version, under a name of their own, since the older one was changed.
    """

    new: tuple[Path, ...] = ()
    renewed: tuple[Path, ...] = ()
    beside: tuple[Path, ...] = ()


def course_root() -> Path:
    """Return the folder that holds ``notebooks`` and ``data``: in the package, or of a checkout.

    >>> (course_root() / "notebooks" / "00_tour.ipynb").is_file()
    True
    """
    packaged = Path(__file__).with_name("course")
    return packaged if packaged.is_dir() else Path(__file__).resolve().parents[2]


def course_files() -> list[Path]:
    """Return the files of the course, relative to its root, sorted."""
    root = course_root()
    found = [path.relative_to(root) for part in _PARTS for path in (root / part).rglob("*") if path.is_file()]
    hidden = (".", "__")
    return sorted(
        path
        for path in found
        if not any(name.startswith(hidden) for name in path.parts) and not path.is_relative_to(_SOURCES)
    )


def copy_course(folder: Path) -> Copied:
    """Copy the course to a folder, or bring the copy there up to date.

    A file that was changed there stays as it is; where the course has a newer version of it, that is written beside.

    Args:
        folder: Where; made if it is missing. In a checkout's own folder nothing is done.

    Raises:
        OutputError: A file cannot be read or written there; the message names it.

    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> first, again = copy_course(folder), copy_course(folder)
    >>> Path("notebooks/00_tour.ipynb") in first.new, again == Copied()
    (True, True)
    """
    root = course_root()
    if Path(os.path.realpath(folder)) == Path(os.path.realpath(root)):
        return Copied()
    delivered = _read_delivered(folder)
    done: dict[str, list[Path]] = {"new": [], "renewed": [], "beside": []}
    for name in course_files():
        content = (root / name).read_bytes()
        target, how = _choose(folder, name, content, delivered)
        if how:
            with atomic_file(folder / target) as file:
                file.write(content)
            done[how].append(target)
        delivered[name.as_posix()] = _digest(content)
    with atomic_file(folder / _DELIVERED) as file:
        file.write(json.dumps(delivered, indent=1).encode())
    return Copied(**{how: tuple(paths) for how, paths in done.items()})


def _choose(folder: Path, name: Path, content: bytes, delivered: Mapping[str, str]) -> tuple[Path, str]:
    """Return where a file goes and how that is called; empty where nothing is to be done."""
    there, before = _read(folder / name), delivered.get(name.as_posix())
    if there is None:
        return name, "new"
    if there == content or before == _digest(content):
        return name, ""
    if before == _digest(there):
        return name, "renewed"
    for number in itertools.count(2):
        other = name.with_stem(f"{name.stem}-{number}")
        known = _read(folder / other)
        if known is None or known == content:
            return other, "beside" if known is None else ""
    raise AssertionError("counts without end")


def _read(path: Path) -> bytes | None:
    try:
        return path.read_bytes() if path.exists() else None
    except OSError as error:
        name = display_name(str(path))
        raise OutputError(f"{name}: cannot be read ({error.strerror}); move it away, or name another folder") from error


def _read_delivered(folder: Path) -> dict[str, str]:
    """What earlier copies wrote; without it, whatever differs counts as changed."""
    try:
        data = json.loads((folder / _DELIVERED).read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    return {str(name): str(digest) for name, digest in data.items()} if isinstance(data, dict) else {}


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
