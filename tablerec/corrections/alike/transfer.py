"""A step on one table as a step on another that looks like it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from postprocess.editing.axes import Axis
from postprocess.editing.placing import table_lines
from postprocess.table import Table
from tablerec.corrections.alike.likeness import agreement, plain, relative_lines

_SAME_ROWS = 0.7
"""Rows are the same where their lines agree so well: a form that is filled in anew."""

ANYWHERE = ("replace_all",)
"""Steps that do not ask how a table looks."""


def transfer(step: dict[str, Any], before: Table, other: Table) -> list[dict[str, Any]]:
    """Return the steps that do to another table what a step did; none where it is about the first table alone.

    Args:
        step: As it was done.
        before: The table on which it was done.
        other: A table with as many columns, with a place for each cell.

    >>> from postprocess.editing.placing import complete
    >>> small, large = (complete(Table.from_texts([["a", "b"]] * 2), (w, 40)) for w in (100, 200))
    >>> transfer({"do": "move_line", "axis": "col", "line": 1, "offset": 5.0}, small, large)
    [{'do': 'move_line', 'axis': 'col', 'line': 1, 'offset': 10.0}]
    """
    return list(_transfer(step, before, other))


def _transfer(step: dict[str, Any], before: Table, other: Table) -> Iterator[dict[str, Any]]:
    name = step["do"]
    if name in ANYWHERE:
        if other.n_rows and any(_holds(cell.text, step) for cell in other.cells):
            yield step
    elif name == "set_headers":
        if step["n_rows"] <= other.n_rows:
            yield step
    elif name == "set_header":
        yield from _roles(step, before, other)
    elif name in ("move_line", "divide", "remove_line", "remove", "extend", "insert"):
        axis, at = step["axis"], step.get("at")
        is_about_a_row = axis == "row" or (at is not None and not _is_head(at, before, other))
        if is_about_a_row and not _same_rows(before, other):
            return
        yield {**step, "offset": step["offset"] * _scale(before, other, axis)} if name == "move_line" else step
    elif name in ("merge", "split"):
        last = step.get("end_row", step["row"] + 1) - 1
        if _is_head(last, before, other) or _same_rows(before, other):
            yield step
    elif name == "set_text":
        row, col = step["row"], step["col"]
        # The text of a head that was read wrong in the same way; other texts are each table's own.
        if _is_head(row, before, other) and other[row, col].text == before[row, col].text:
            yield step


def _holds(text: str, step: dict[str, Any]) -> bool:
    find = step["find"]
    return find in text if step.get("match_case", False) else find.casefold() in text.casefold()


def _roles(step: dict[str, Any], before: Table, other: Table) -> Iterator[dict[str, Any]]:
    """A role goes to the cells of the column with the same text: sections do not stand at the same rows."""
    cell = before[step["row"], step["col"]]
    if _is_head(cell.row, before, other) or not cell.text.strip():
        if cell.row < other.n_rows:
            yield step
        return
    for each in other.cells:
        if each.col == cell.col and plain(each.text) == plain(cell.text):
            yield {**step, "row": each.row, "col": each.col}


def _is_head(row: int, before: Table, other: Table) -> bool:
    n_rows = max(1, min(before.n_header_rows, other.n_header_rows))
    return row < n_rows


def _same_rows(before: Table, other: Table) -> bool:
    return agreement(relative_lines(before, "row"), relative_lines(other, "row")) >= _SAME_ROWS


def _scale(before: Table, other: Table, axis: Axis) -> float:
    old, new = (table_lines(table, axis) for table in (before, other))
    return float((new[-1] - new[0]) / max(float(old[-1] - old[0]), 1e-9))
