"""Rows and columns of a table treated alike: an axis says which are meant.

What is said of left and right holds for tables that run from left to right. One that runs from right to left is
corrected as a mirror shows it: there its columns go on to the right too.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import wraps
from typing import Concatenate, Literal, ParamSpec

import numpy as np

from postprocess.arrays import Floats
from postprocess.cell import Cell, Quad, put, rewrite
from postprocess.errors import TableError
from postprocess.geometry.boxes import array_to_quad
from postprocess.table import Table, move_inside

P = ParamSpec("P")

Axis = Literal["row", "col"]

SIDES: dict[Axis, tuple[list[int], list[int]]] = {"row": ([0, 1], [3, 2]), "col": ([0, 3], [1, 2])}
"""Corners of the first and the last side of a cell, in the same order along the side."""
ACROSS: dict[Axis, Axis] = {"row": "col", "col": "row"}
WORD: dict[Axis, str] = {"row": "row", "col": "column"}


def in_mirror(change: Callable[Concatenate[Table, P], Table]) -> Callable[Concatenate[Table, P], Table]:
    """A change of tables from left to right, made to change those from right to left as well."""

    @wraps(change)
    def changed(table: Table, /, *args: P.args, **kwargs: P.kwargs) -> Table:
        if table.direction == "ltr":
            return change(table, *args, **kwargs)
        return reflect(change(reflect(table), *args, **kwargs))

    return changed


def reflect(table: Table) -> Table:
    """The table as a mirror shows it: each place on the other side of x = 0, and the other direction; its own inverse.

    >>> table = reflect(Table([Cell(0, 0, quad=((20, 0), (40, 0), (40, 9), (20, 9)))], direction="rtl"))
    >>> table[0, 0].quad, table.direction
    (((-40.0, 0), (-20.0, 0), (-20.0, 9), (-40.0, 9)), 'ltr')
    """
    return replace(
        table,
        cells=[
            move_inside(cell, lambda points: points * (-1, 1))
            for cell in rewrite(table.cells, quad=[_reflect(cell.quad) for cell in table.cells])
        ],
        quad=_reflect(table.quad),
        direction="ltr" if table.direction == "rtl" else "rtl",
    )


def _reflect(quad: Quad | None) -> Quad | None:
    if quad is None:
        return None
    first, second, third, fourth = ((0.0 - x, y) for x, y in quad)
    return second, first, fourth, third


def reading_quads(table: Table) -> Floats:
    """``(K, 4, 2)`` corners of the cells with a place, beginning where reading does: TR, TL, BL, BR from right to left.

    >>> reading_quads(Table([Cell(0, 0, quad=((0, 0), (2, 0), (2, 1), (0, 1)))], direction="rtl"))[0].tolist()
    [[2.0, 0.0], [0.0, 0.0], [0.0, 1.0], [2.0, 1.0]]
    """
    return table.quads if table.direction == "ltr" else table.quads[:, [1, 0, 3, 2]]


def directions(table: Table) -> dict[Axis, Floats]:
    """Where rows and columns go on in the picture: ``(2,)`` unit vectors down the rows and along the columns.

    >>> directions(Table([Cell(0, 0, quad=((0, 0), (40, 0), (40, 20), (0, 20)))]))["col"].tolist()
    [1.0, 0.0]
    """
    quads = reading_quads(table)
    if not len(quads):
        return {"row": np.array([0.0, 1.0]), "col": np.array([1.0 if table.direction == "ltr" else -1.0, 0.0])}
    steps = {axis: (quads[:, last] - quads[:, first]).mean(axis=(0, 1)) for axis, (first, last) in SIDES.items()}
    return {axis: step / max(float(np.hypot(*step)), 1e-9) for axis, step in steps.items()}


def cell_sides(cell: Cell, axis: Axis) -> tuple[Floats, Floats]:
    """``(2, 2)`` corners of the first and the last side.

    Raises:
        TableError: The cell has no place.
    """
    message = f"the cell at row {cell.row}, column {cell.col} has no place: complete() gives it one"
    check(cell.quad is not None, message, "no_place", cell.row, cell.col)
    corners = np.asarray(cell.quad, np.float64)
    first, last = SIDES[axis]
    return corners[first], corners[last]


def sides_to_quad(axis: Axis, first_side: Floats, last_side: Floats) -> Quad:
    """The corners of a cell with these sides, each ``(2, 2)``; the inverse of `cell_sides`."""
    corners = np.empty((4, 2))
    first, last = SIDES[axis]
    corners[first], corners[last] = first_side, last_side
    return array_to_quad(corners)


def cell_span(cell: Cell, axis: Axis) -> tuple[int, int]:
    """First row of a cell and first row below it, or the same of columns.

    >>> cell_span(Cell(0, 1, colspan=2), "col")
    (1, 3)
    """
    return (cell.row, cell.end_row) if axis == "row" else (cell.col, cell.end_col)


def with_span(cell: Cell, axis: Axis, start: int, end: int) -> Cell:
    """The cell in other rows, or columns."""
    size = end - start
    if axis == "row":
        is_there = cell.row == start and cell.rowspan == size
        return cell if is_there else put(cell, start, cell.col, size, cell.colspan)
    is_there = cell.col == start and cell.colspan == size
    return cell if is_there else put(cell, cell.row, start, cell.rowspan, size)


def line_count(table: Table, axis: Axis) -> int:
    """Number of rows, or columns: the last line has this number."""
    return table.n_rows if axis == "row" else table.n_cols


def check(is_right: bool, message: str, reason: str = "", *values: object) -> None:
    """Refuse what a table does not allow.

    Raises:
        TableError: It is not right; named so, and with these values.
    """
    if not is_right:
        raise TableError(message).named(reason, *values)
