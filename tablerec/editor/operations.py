"""Steps of a correction as JSON: checked, then done."""

from __future__ import annotations

import reprlib
from collections.abc import Callable, Mapping
from typing import Any

from postprocess import editing
from postprocess.axes import Axis
from postprocess.export.json import HEADERS
from postprocess.history import History
from postprocess.table import Table
from tablerec.errors import InputError

MAX_TEXT = 10_000
"""Characters of a cell."""
_NUDGE = 10.0
"""Pixels by which a key moves a line at most: such moves of a line that follow each other are one step to a person."""
_MOST_CELLS = 100_000
_MAX_NUMBER = 1_000_000


def _whole(value: Any) -> int:
    if type(value) is not int or not 0 <= value <= _MAX_NUMBER:
        raise ValueError("not a whole number from 0")
    return value


def _pixels(value: Any) -> float:
    if type(value) not in (int, float) or not abs(value) <= _MAX_NUMBER:
        raise ValueError("not a finite number")
    return float(value)


def _share(value: Any) -> float:
    share = _pixels(value)
    if not 0 < share < 1:
        raise ValueError("not between 0 and 1")
    return share


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError("not a text")
    if len(value) > MAX_TEXT:
        raise ValueError(f"longer than {MAX_TEXT} characters")
    # Half a surrogate pair is no character; no file could hold it.
    return value.replace("\r\n", "\n").encode("utf-8", "replace").decode("utf-8")


def _texts(value: Any) -> list[list[str]]:
    if not isinstance(value, list) or not all(isinstance(line, list) for line in value):
        raise ValueError("not rows of texts")
    if sum(map(len, value)) > _MOST_CELLS:
        raise ValueError(f"more than {_MOST_CELLS:,} texts")
    return [[_text(text) for text in line] for line in value]


def _count(value: Any) -> int:
    if _whole(value) < 1:
        raise ValueError("not a number from 1")
    return int(value)


def _axis(value: Any) -> Axis:
    if value not in ("row", "col"):
        raise ValueError("neither 'row' nor 'col'")
    axis: Axis = value
    return axis


def _kind(value: Any) -> Any:
    if value not in HEADERS:
        raise ValueError(f"not one of {HEADERS}")
    return value


def _flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError("neither true nor false")
    return value


def _perhaps(value: Any) -> int | None:
    return None if value is None else _whole(value)


Check = Callable[[Any], Any]

OPERATIONS: dict[str, tuple[Callable[..., Table], dict[str, Check]]] = {
    "move_line": (editing.move_line, {"axis": _axis, "line": _whole, "offset": _pixels, "at": _perhaps}),
    "divide": (editing.divide, {"axis": _axis, "index": _whole, "fraction": _share, "at": _perhaps}),
    "extend": (editing.extend, {"axis": _axis, "at_end": _flag}),
    "remove_line": (editing.remove_line, {"axis": _axis, "line": _whole, "count": _count}),
    "remove": (editing.remove, {"axis": _axis, "index": _whole, "count": _count}),
    "merge": (editing.merge, {"row": _whole, "col": _whole, "end_row": _whole, "end_col": _whole}),
    "split": (editing.split, {"row": _whole, "col": _whole}),
    "set_text": (editing.set_text, {"row": _whole, "col": _whole, "text": _text}),
    "set_texts": (editing.set_texts, {"row": _whole, "col": _whole, "texts": _texts}),
    "set_headers": (editing.set_headers, {"n_rows": _whole, "n_cols": _whole}),
    "set_header": (editing.set_header, {"row": _whole, "col": _whole, "kind": _kind}),
}
"""Name -> the function of ``postprocess.editing``, and a check of each argument."""


def apply(history: History, operation: Any) -> History:
    """Do one step; nothing in it is trusted.

    Args:
        history: Of the table.
        operation: ``{"do": NAME, ...}`` with a name of ``OPERATIONS`` and its arguments, or ``undo`` or ``redo``.
            An argument that is left out has the function's default.

    Returns:
        The history with the new state; the same one where nothing changed.

    Raises:
        InputError: It is no such step.
        TableError: The table does not allow it; the message says why.

    >>> history = History((Table.from_texts([["a"]]),))
    >>> apply(history, {"do": "set_text", "row": 0, "col": 0, "text": "b"}).now.to_grid()
    [['b']]
    """
    if not isinstance(operation, Mapping):
        raise InputError(f"a step is {reprlib.repr(operation)}, not an object: reload the page")
    name = operation.get("do")
    if name == "undo":
        return history.undo()
    if name == "redo":
        return history.redo()
    if not isinstance(name, str) or name not in OPERATIONS:
        raise InputError(f"there is no step {reprlib.repr(name)}: reload the page")
    function, checks = OPERATIONS[name]
    values = {}
    for key, value in operation.items():
        if key == "do":
            continue
        try:
            values[key] = checks[key](value)
        except (KeyError, ValueError) as error:
            reason = "unknown" if isinstance(error, KeyError) else error
            raise InputError(
                f"{name}: {reprlib.repr(key)} is {reprlib.repr(value)}, {reason}: reload the page"
            ) from None
    try:
        table = function(history.now, **values)
    except TypeError:
        raise InputError(f"{name}: an argument is missing: reload the page") from None
    return history if table == history.now else history.add(table, _run_of(operation))


def _run_of(operation: Mapping[str, Any]) -> tuple[Any, ...] | None:
    """What a step goes on with: pressing a key again and again is one step to a person."""
    if operation["do"] != "move_line" or abs(operation["offset"]) > _NUDGE:
        return None
    return "move_line", operation["axis"], operation["line"], operation.get("at")
