"""Steps of a correction as JSON: checked, then done."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from postprocess.cell import Cell
from postprocess.editing import living, texts
from postprocess.editing import steps as editing
from postprocess.editing.axes import Axis, cell_span
from postprocess.editing.living import deal
from postprocess.editing.regrid import set_grid
from postprocess.editing.state import State, with_words
from postprocess.export.json import HEADERS, table_from_dict
from postprocess.table import Table
from postprocess.word import Word
from tablerec.corrections.editor.dealt import patch, word_from_dict
from tablerec.corrections.history import History
from tablerec.errors import InputError, TablerecError
from tablerec.fields import Check, Fields, flag, list_of, number, one_of, optional, short, text, whole

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


def _words(value: Any) -> tuple[Word, ...]:
    try:
        return list_of(word_from_dict, name="words")(value)
    except InputError as error:
        raise ValueError(f"a list of words ({error})") from None


def _readings(value: Any) -> tuple[tuple[int, int, tuple[Word, ...] | str], ...]:
    def reading(entry: Any) -> tuple[int, int, tuple[Word, ...] | str]:
        try:
            fields = Fields("a reading", entry)
            said = fields.get("text", _text) if "text" in entry else fields.get("words", _words)
            return fields.get("row", _whole), fields.get("col", _whole), said
        except InputError as error:
            raise ValueError(f"a list of readings ({error})") from None

    return list_of(reading, name="readings")(value)


_Checks = dict[str, Check[Any]]
_GRID: dict[str, Callable[..., Table]] = {
    "move_line": editing.move_line,
    "divide": editing.divide,
    "extend": editing.extend,
    "remove_line": editing.remove_line,
    "remove": editing.remove,
    "merge": editing.merge,
    "split": editing.split,
}
"""Steps that move cells: after them words are dealt anew."""


def _on_grid(name: str) -> Callable[..., State]:
    return lambda state, **values: deal(state, _GRID[name](state.table, **values))


def _set_grid(state: State, grid: Table) -> State:
    """Where words are not known, the texts are dealt."""
    known = state if state.words else with_words(state.table, ())
    return deal(known, set_grid(known.table, grid))


def _on_table(change: Callable[..., Table]) -> Callable[..., State]:
    """A step that leaves the cells where they are, or brings empty ones."""
    return lambda state, **values: replace(state, table=change(state.table, **values))


def _remove(state: State, axis: Axis, index: int, count: int = 1) -> State:
    """Words of a row that is taken out are in no cell, not in the next one."""
    spans = [(cell, cell_span(cell, axis)) for cell in state.table.cells]
    gone = {(cell.row, cell.col) for cell, (start, end) in spans if index <= start and end <= index + count}
    return deal(state, editing.remove(state.table, axis, index, count), gone)


def _set_table(state: State, table: Table) -> State:
    """Another reading of the same picture takes the place of this one; its texts are its words."""
    return with_words(table, ())


def _table(value: Any) -> Table:
    try:
        table = table_from_dict(value, name="the table")
    except TablerecError as error:
        raise ValueError(f"a table ({error})") from None
    if not len(table) or not all(map(has_place, table.cells)):
        raise ValueError("a table whose cells have places")
    return table


def has_place(cell: Cell) -> bool:
    """Whether a cell has corners, none of them far outside of every picture."""
    return cell.quad is not None and all(abs(value) <= _MAX_NUMBER for point in cell.quad for value in point)


_BLOCK: _Checks = {"row": _whole, "col": _whole, "end_row": _whole, "end_col": _whole}

OPERATIONS: dict[str, tuple[Callable[..., State], _Checks]] = {
    "move_line": (_on_grid("move_line"), {"axis": _axis, "line": _whole, "offset": _pixels, "at": optional(_whole)}),
    "divide": (_on_grid("divide"), {"axis": _axis, "index": _whole, "fraction": _share, "at": optional(_whole)}),
    "extend": (_on_grid("extend"), {"axis": _axis, "at_end": flag}),
    "insert": (_on_table(editing.insert), {"axis": _axis, "index": _whole}),
    "remove_line": (_on_grid("remove_line"), {"axis": _axis, "line": _whole, "count": _count}),
    "remove": (_remove, {"axis": _axis, "index": _whole, "count": _count}),
    "merge": (_on_grid("merge"), _BLOCK),
    "split": (
        _on_grid("split"),
        {"row": _whole, "col": _whole, "end_row": optional(_whole), "end_col": optional(_whole)},
    ),
    "set_text": (_on_table(editing.set_text), {"row": _whole, "col": _whole, "text": _text}),
    "set_texts": (_on_table(editing.set_texts), {"row": _whole, "col": _whole, "texts": _texts}),
    "fill": (_on_table(texts.fill), {**_BLOCK, "text": _text}),
    "replace_all": (_on_table(texts.replace_all), {"find": _text, "text": _text, "match_case": flag}),
    "confirm": (_on_table(texts.confirm), {**_BLOCK, "is_right": flag}),
    "set_title": (_on_table(texts.set_title), {"text": _text}),
    "set_notes": (_on_table(texts.set_notes), {"texts": list_of(_text)}),
    "set_headers": (_on_table(editing.set_headers), {"n_rows": _whole, "n_cols": _whole}),
    "set_header": (_on_table(editing.set_header), {"row": _whole, "col": _whole, "kind": one_of(*HEADERS)}),
    "set_grid": (_set_grid, {"grid": _table}),
    "set_table": (_set_table, {"table": _table}),
    "set_words": (living.set_words, {**_BLOCK, "words": _words}),
    "set_readings": (living.set_readings, {"readings": _readings}),
    "place_word": (living.place_word, {"word": _whole, "row": _whole, "col": _whole}),
    "reset_text": (living.reset_texts, _BLOCK),
}
"""Name -> what it does to the state of a table, and a check of each argument."""

LIVING = (*_GRID, "set_grid", "set_words", "set_readings", "place_word", "reset_text")
"""Steps after which cells have other words."""


def apply(history: History[State], operation: Any) -> History[State]:
    """Do one step; nothing in it is trusted.

    Args:
        history: Of the table and its words.
        operation: ``{"do": NAME, ...}`` with a name of ``OPERATIONS`` and its arguments, or ``undo`` or ``redo``.
            An argument that is left out has the function's default.

    Returns:
        The history with the new state; the same one where nothing changed.

    Raises:
        InputError: It is no such step.
        TableError: The table does not allow it; the message says why.

    >>> history = History((State(Table.from_texts([["a"]])),))
    >>> apply(history, {"do": "set_text", "row": 0, "col": 0, "text": "b"}).now.table.to_grid()
    [['b']]
    """
    if not isinstance(operation, Mapping):
        raise InputError(f"a step is {short(operation)}, not an object: reload the page").named("bad_step")
    name = operation.get("do")
    if name == "undo":
        return history.undo()
    if name == "redo":
        return history.redo()
    values = _check(operation)
    try:
        state = OPERATIONS[operation["do"]][0](history.now, **values)
    except TypeError:
        raise InputError(f"{name}: an argument is missing: reload the page").named("bad_step") from None
    return _add(history, state, operation)


def replay(history: History[State], operation: Any) -> History[State]:
    """Do a step of a journal: as ``apply``, with the texts that were dealt then.

    Args:
        history: Of the table and its words.
        operation: As the page asked for it, and ``dealt``, see ``to_dealt``; without it words are dealt now.
    """
    if not isinstance(operation, Mapping) or "dealt" not in operation:
        return apply(history, operation)
    plain = {key: value for key, value in operation.items() if key != "dealt"}
    if plain.get("do") not in _GRID:
        state = apply(history, plain).now
    else:
        values = _check(plain)
        try:
            state = replace(history.now, table=_GRID[plain["do"]](history.now.table, **values))
        except TypeError:
            raise InputError(f"{plain['do']}: an argument is missing") from None
    return _add(history, patch(state, operation["dealt"]), plain)


def _add(history: History[State], state: State, operation: Mapping[str, Any]) -> History[State]:
    return history if state == history.now else history.add(state, _run_of(operation))


def _check(operation: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of a step.

    Raises:
        InputError: It is none.
    """
    name = operation.get("do")
    if not isinstance(name, str) or name not in OPERATIONS:
        raise InputError(f"there is no step {short(name)}: reload the page").named("bad_step")
    _, checks = OPERATIONS[name]
    values = {}
    for key, value in operation.items():
        if key == "do":
            continue
        try:
            values[key] = checks[key](value)
        except KeyError:
            raise InputError(f"{name}: {short(key)} is unknown: reload the page").named("bad_step") from None
        except ValueError as error:
            message = f"{name}: {key} is {short(value)}; {error} is needed: reload the page"
            raise InputError(message).named("bad_value", name) from None
    return values


def _run_of(operation: Mapping[str, Any]) -> tuple[Any, ...] | None:
    """What a step goes on with: pressing a key again and again is one step to a person."""
    if operation["do"] != "move_line" or abs(operation["offset"]) > _NUDGE:
        return None
    return "move_line", operation["axis"], operation["line"], operation.get("at")


def commutes(operation: Mapping[str, Any], seen: Table, now: Table) -> bool:
    """Whether a step says the same of a table as it was seen and as it is now: its cells are as they were.

    >>> seen, now = Table.from_texts([["a", "b"]]), Table.from_texts([["a", "c"]])
    >>> [commutes({"do": "set_text", "row": 0, "col": col, "text": "x"}, seen, now) for col in (0, 1)]
    [True, False]
    """
    if operation.get("do") not in _COMMUTE or not np.array_equal(seen.owner, now.owner):
        return False
    values = _check(operation)
    try:
        row, col = values["row"], values["col"]
        if "texts" in values:
            end_row, end_col = row + len(values["texts"]), col + max(map(len, values["texts"]), default=0)
        else:
            end_row, end_col = values.get("end_row", row + 1), values.get("end_col", col + 1)
    except KeyError:
        return False
    touched = set(now.owner[row:end_row, col:end_col].ravel().tolist())
    return all(seen.cells[index] == now.cells[index] for index in touched)


_COMMUTE = ("set_text", "set_texts", "fill", "confirm")
