"""Label files and the pictures that they name: nothing outside the folder is read, whatever a label says."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from tablerec import fields
from tablerec.errors import InputError
from tablerec.inputs.images import display_name

MOST_BYTES = 512 << 20
"""Of a label file: some 2 million cells as COCO."""


def read_text(path: Path) -> str:
    """Read a label file.

    Raises:
        InputError: It cannot be read, is no text in UTF-8, or is too large.
    """
    name = display_name(str(path))
    try:
        if not path.is_file():
            raise InputError(f"{name} is no file: name a label file, or the folder that holds it")
        size = path.stat().st_size
        if size > MOST_BYTES:
            raise InputError(f"{name} has {size:,} bytes, more than {MOST_BYTES:,}: split it into several")
        return path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise InputError(f"{name} cannot be read ({error.strerror or error}): check its permissions") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{name} is no label (no text in UTF-8): save it in UTF-8, or remove it") from error


def parse_json(text: str, where: str) -> Any:
    """Parse JSON.

    Raises:
        InputError: It is none, or is nested too deeply.
    """
    try:
        return fields.parse_json(text)
    except ValueError as error:
        raise InputError(f"{where} is no label (no JSON: {error}): remove it or repair it") from error


def find_picture(name: Any, folders: Sequence[Path], root: Path) -> Path:
    """Return where a picture lies that a label names.

    Args:
        name: What the label says. Of a path of another machine, its last part counts.
        folders: Where to look, in this order.
        root: Folder beyond which nothing is read, by way of ``..`` and of links neither.

    Raises:
        InputError: There is no such picture; the message goes on from the name of the label.
    """
    if not isinstance(name, str) or not name.strip() or "\0" in name or len(name) > 1000 or not _is_encodable(name):
        raise InputError("names no picture: give the name of its file")
    slashed = name.replace("\\", "/")
    last = slashed.rpartition("/")[2]
    top = Path(os.path.realpath(root))  # unlike ``resolve``, it bears a link to itself
    outside = ""
    for candidate in _candidates(slashed, last, folders):
        try:
            resolved = Path(os.path.realpath(candidate))
            if resolved.is_relative_to(top) and resolved.is_file():
                return candidate
            if not resolved.is_relative_to(top) and (candidate.is_symlink() or ".." in slashed.split("/")):
                outside = f", which leads out of {display_name(str(root))}"
        except OSError as error:
            outside = f", which cannot be looked up ({error.strerror or error})"
    raise InputError(f"its picture {display_name(name)} is not there{outside}: put it beside its label")


def _is_encodable(name: str) -> bool:
    """Whether a file can be called so: half of a surrogate pair is no character."""
    try:
        os.fsencode(name)
    except UnicodeEncodeError:
        return False
    return True


def _candidates(slashed: str, last: str, folders: Sequence[Path]) -> Iterable[Path]:
    if not slashed.startswith("/") and ":" not in slashed:
        yield from (folder / slashed for folder in folders)
    if last not in ("", ".", ".."):
        yield from (folder / last for folder in folders)


def split_of(path: Path) -> str | None:
    """Return the split that a label file's name or its folder's name says, or None.

    >>> split_of(Path("tables/val.txt")), split_of(Path("tables/train/a.json")), split_of(Path("tables/a.json"))
    ('val', 'train', None)
    """
    return next((name for name in (path.stem, path.parent.name) if name in ("train", "val", "test")), None)


def cell_names(names: Iterable[str]) -> tuple[set[str], str]:
    """Say which categories of a label are cells.

    Args:
        names: Of the categories.

    Returns:
        The names of cells: those that are called so, or all where none is; and a note, empty where all is clear.

    >>> cell_names(["cell"]), cell_names(["table", "table_cell"])
    (({'cell'}, ''), ({'table_cell'}, "'table' is left out: only cells are trained on"))
    """
    known = set(names)
    cells = {name for name in known if name.lower().replace("_", " ").replace("-", " ") in _CELLS}
    others = ", ".join(sorted(repr(display_name(name[:40])) for name in known - cells)[:5])
    if not others:
        return cells, ""
    if cells:
        return cells, f"{others} is left out: only cells are trained on"
    return known, f"{others} is taken for cells: call it cell if it is, and remove it if not"


_CELLS = {"cell", "cells", "table cell", "table cells"}
