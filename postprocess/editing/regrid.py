"""Another grid over the same picture."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import shapely

from postprocess.cell import Cell
from postprocess.editing.axes import check
from postprocess.editing.placing import rebuild
from postprocess.geometry.boxes import quads_to_array, quads_to_polygons
from postprocess.table import Table


def set_grid(table: Table, grid: Table) -> Table:
    """Put other cells in the place of those of a table.

    A text that a person typed goes to the cell in which the middle of its former one lies, two such texts into one
    cell one after the other; other texts are to be dealt by the words. A cell in the very place of a former one is
    that one.

    Args:
        table: With a place for each cell.
        grid: The cells, with their places and headers; their texts are left out.

    Raises:
        TableError: A cell has no place, or a typed text would be in no cell.

    >>> from postprocess.editing.placing import complete
    >>> table, grid = (complete(Table.from_texts(texts), (80, 20)) for texts in ([["a"]], [["", ""]]))
    >>> set_grid(table, grid).to_grid()
    [['', '']]
    >>> set_grid(replace(table, cells=[replace(cell, typed=True) for cell in table.cells]), grid).to_grid()
    [['', 'a']]
    """
    for cell in (*table.cells, *grid.cells):
        where = cell.row, cell.col
        check(cell.quad is not None, f"the cell at row {cell.row}, column {cell.col} has no place", "no_place", *where)
    known = {cell.quad: cell for cell in table.cells}
    cells = [_on(known.get(cell.quad), cell) for cell in grid.cells]
    there = {cell.quad for cell in cells}
    moved = [cell for cell in table.cells if cell.typed and cell.text and cell.quad not in there]
    for cell, index in zip(moved, _homes(moved, cells), strict=True):
        where = cell.row, cell.col
        lost = f"the typed text of row {cell.row}, column {cell.col} lies outside of that grid"
        check(index >= 0, lost, "text_outside_grid", *where)
        home = cells[index]
        text = " ".join(filter(None, [home.text if home.typed else "", cell.text]))
        words = (*(home.words if home.typed else ()), *cell.words)
        cells[index] = replace(home, text=text, typed=True, words=words)
    return replace(rebuild(table, cells), direction=grid.direction)


def _on(known: Cell | None, cell: Cell) -> Cell:
    """A cell of a grid without a text, or what is known of that very place."""
    bare = Cell(cell.row, cell.col, cell.rowspan, cell.colspan, quad=cell.quad, header=cell.header)
    if known is None:
        return bare
    return replace(known, row=cell.row, col=cell.col, rowspan=cell.rowspan, colspan=cell.colspan, header=cell.header)


def _homes(moved: Sequence[Cell], cells: Sequence[Cell]) -> list[int]:
    """In which cell the middle of each lies; -1 in none. On a border it is the last one."""
    middles = quads_to_array([cell.quad for cell in moved if cell.quad]).mean(axis=1)
    areas = quads_to_polygons(quads_to_array([cell.quad for cell in cells if cell.quad]))
    inside = shapely.intersects_xy(areas[:, None], middles[:, 0], middles[:, 1])
    last = len(cells) - 1 - np.argmax(inside[::-1], axis=0)
    return [int(at) if found else -1 for at, found in zip(last, inside.any(axis=0), strict=True)]
