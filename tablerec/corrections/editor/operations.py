"""Steps of a correction as JSON: checked, then done."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from postprocess.editing import steps as editing
from postprocess.editing.axes import Axis
from postprocess.export.json import HEADERS
from postprocess.table import Table
from tablerec.corrections.history import History
from tablerec.errors import InputError
from tablerec.fields import Check, flag, number, one_of, optional, short, text, whole

MAX_TEXT = 10_000
"""Characters of a cell."""
_NUDGE = 10.0
"""Pixels by which a key moves a line at most: such moves of a line that follow each other are one step to a person."""
_MOST_CELLS = 100_000
_MAX_NUMBER = 1_000_000


_whole = whole(0, _MAX_NUMBER)
_count = whole(1, _MAX_NUMBER)
_pixels = number(-_MAX_NUMBER, _MAX_NUMBER)
_axis: Check[Axis] = one_of("row", "col")


def _share(value: Any) -> float:
    share = number()(value)
    if not 0 < share < 1:
        raise ValueError("a number between 0 and 1")
    return share


def _text(value: Any) -> str:
    if len(text(value)) > MAX_TEXT:
        raise ValueError(f"a text of at most {MAX_TEXT:,} characters")
    # Half a surrogate pair is no character; no file could hold it.
    return str(value).replace("\r\n", "\n").encode("utf-8", "replace").decode("utf-8")


def _texts(value: Any) -> list[list[str]]:
    if not isinstance(value, list) or not all(isinstance(line, list) for line in value):
        raise ValueError("a list of rows of texts")
    if sum(map(len, value)) > _MOST_CELLS:
        raise ValueError(f"a block of at most {_MOST_CELLS:,} texts")
    return [[_text(each) for each in line] for line in value]


OPERATIONS: dict[str, tuple[Callable[..., Table], dict[str, Check[Any]]]] = {
    "move_line": (editing.move_line, {"axis": _axis, "line": _whole, "offset": _pixels, "at": optional(_whole)}),
    "divide": (editing.divide, {"axis": _axis, "index": _whole, "fraction": _share, "at": optional(_whole)}),
    "extend": (editing.extend, {"axis": _axis, "at_end": flag}),
    "remove_line": (editing.remove_line, {"axis": _axis, "line": _whole, "count": _count}),
    "remove": (editing.remove, {"axis": _axis, "index": _whole, "count": _count}),
    "merge": (editing.merge, {"row": _whole, "col": _whole, "end_row": _whole, "end_col": _whole}),
    "split": (editing.split, {"row": _whole, "col": _whole}),
    "set_text": (editing.set_text, {"row": _whole, "col": _whole, "text": _text}),
    "set_texts": (editing.set_texts, {"row": _whole, "col": _whole, "texts": _texts}),
    "set_headers": (editing.set_headers, {"n_rows": _whole, "n_cols": _whole}),
    "set_header": (editing.set_header, {"row": _whole, "col": _whole, "kind": one_of(*HEADERS)}),
}
"""Name -> the function of ``postprocess.editing.steps``, and a check of each argument."""


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
        raise InputError(f"a step is {short(operation)}, not an object: reload the page")
    name = operation.get("do")
    if name == "undo":
        return history.undo()
    if name == "redo":
        return history.redo()
    if not isinstance(name, str) or name not in OPERATIONS:
        raise InputError(f"there is no step {short(name)}: reload the page")
    function, checks = OPERATIONS[name]
    values = {}
    for key, value in operation.items():
        if key == "do":
            continue
        try:
            values[key] = checks[key](value)
        except KeyError:
            raise InputError(f"{name}: {short(key)} is unknown: reload the page") from None
        except ValueError as error:
            raise InputError(f"{name}: {key} is {short(value)}; {error} is needed: reload the page") from None
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
