"""Where the cells and lines of a table are in its picture, also those that nobody saw."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from postprocess.arrays import Floats
from postprocess.cell import Cell, Quad
from postprocess.editing.axes import (
    ACROSS,
    SIDES,
    Axis,
    cell_sides,
    cell_span,
    directions,
    in_mirror,
    line_count,
    reflect,
    sides_to_quad,
)
from postprocess.geometry.boxes import array_to_quad, as_quads, boxes_to_quads, cells_to_quads
from postprocess.geometry.frame import UPRIGHT, Frame, quads_to_frame, straighten
from postprocess.table import Table, alter


def complete(table: Table, size_wh: tuple[int, int]) -> Table:
    """Give each cell a place in the picture.

    A cell that was not seen lies between the lines of those that were; a line that nobody saw, between its neighbours.

    Args:
        table: Any table.
        size_wh: Width and height of the picture, px; a table without a place fills it.

    >>> seen = Cell(0, 0, quad=((0, 0), (40, 0), (40, 10), (0, 10)))
    >>> complete(Table([seen, Cell(0, 1)]), (90, 30))[0, 1].quad
    ((40.0, 0.0), (80.0, 0.0), (80.0, 10.0), (40.0, 10.0))
    """
    seen = [cell for cell in table.cells if cell.quad is not None and np.isfinite(cell.quad).all()]
    if len(seen) == len(table) or not len(table):
        return rebuild(table, table.cells)
    if table.direction == "rtl":
        [whole_quad] = boxes_to_quads([_bounds(table, size_wh)])
        return reflect(complete(reflect(replace(table, quad=array_to_quad(whole_quad))), size_wh))
    quads = cells_to_quads(seen)
    frame = quads_to_frame(quads) if seen else UPRIGHT
    boxes = straighten(quads, frame) if seen else np.zeros((0, 4))
    whole = _bounds(table, size_wh)
    rows, cols = (_lines(seen, boxes, axis, table, whole) for axis in SIDES)
    kept = {(cell.row, cell.col) for cell in seen}
    cells = []
    for cell in table.cells:
        box = cols[cell.col], rows[cell.row], cols[cell.end_col], rows[cell.end_row]
        quad = array_to_quad(frame.to_picture(boxes_to_quads([box]))[0])
        cells.append(cell if (cell.row, cell.col) in kept else replace(cell, quad=quad))
    return rebuild(table, cells)


@in_mirror
def join(table: Table) -> Table:
    """Put the sides of neighbours that are one border in one place, in the middle of where they were.

    A detector sees each cell alone: a gap or an overlap between two of them is no part of the table, and no border that
    a person could move.

    Args:
        table: With a place for each cell.

    >>> left, right = ((0, 0), (18, 0), (18, 9), (0, 9)), ((20, 0), (40, 0), (40, 9), (20, 9))
    >>> [cell.quad[0][0] for cell in join(Table([Cell(0, 0, quad=left), Cell(0, 1, quad=right)])).cells]
    [0.0, 19.0]
    """
    frame = quads_to_frame(table.quads)
    along = directions(table)
    cells = list(table.cells)
    for axis in SIDES:
        for line in range(1, line_count(table, axis)):
            for border in _borders(cells, axis, line):
                moved = _meet([cells[index] for index, _ in border], [side for _, side in border], axis, frame, along)
                for (index, _), cell in zip(border, moved, strict=True):
                    cells[index] = cell
    return rebuild(table, cells)


def _meet(
    cells: Sequence[Cell], sides: Sequence[int], axis: Axis, frame: Frame, along: Mapping[Axis, Floats]
) -> Sequence[Cell]:
    """Cells with one side of each, 0 or 1, moved to their mean; as they are where one of them would be turned over."""
    corners = [cell_sides(cell, axis) for cell in cells]
    at = [frame.to_upright(pair[side])[:, int(axis == "row")].mean() for pair, side in zip(corners, sides, strict=True)]
    moved = []
    for cell, pair, side, position in zip(cells, corners, sides, at, strict=True):
        ends = list(pair)
        ends[side] = ends[side] + (np.mean(at) - position) * along[axis]
        if ((ends[1] - ends[0]) @ along[axis]).min() <= 0:
            return cells
        moved.append(replace(cell, quad=sides_to_quad(axis, *ends)))
    return moved


def _borders(cells: Sequence[Cell], axis: Axis, line: int) -> list[list[tuple[int, int]]]:
    """Sides on a line, as index of the cell and 0 for its first or 1 for its last, by the border that they share."""
    sides = [
        (*cell_span(cell, ACROSS[axis]), index) for index, cell in enumerate(cells) if line in cell_span(cell, axis)
    ]
    borders: list[list[tuple[int, int]]] = []
    reach = -1
    for start, end, index in sorted(sides):
        if start >= reach:
            borders.append([])
        borders[-1].append((index, cell_span(cells[index], axis).index(line)))
        reach = max(reach, end)
    return borders


def tidy(table: Table) -> Table:
    """Leave out lines on which no cell ends: after all their cells were merged they divide nothing.

    >>> tidy(Table([Cell(0, 0, colspan=2, text="a"), Cell(1, 0, colspan=2)])).shape
    (2, 1)
    """
    rows, cols = (sorted({start for start, _ in (cell_span(cell, axis) for cell in table.cells)}) for axis in SIDES)
    cells = []
    for cell in table.cells:
        row, end_row = np.searchsorted(rows, cell_span(cell, "row")).tolist()
        col, end_col = np.searchsorted(cols, cell_span(cell, "col")).tolist()
        cells.append(replace(cell, row=row, col=col, rowspan=end_row - row, colspan=end_col - col))
    return replace(table, cells=cells)


def _lines(
    cells: Sequence[Cell], boxes_xyxy: Floats, axis: Axis, table: Table, whole: tuple[float, float, float, float]
) -> Floats:
    """``(n + 1,)`` increasing positions of the lines in the straight frame.

    Args:
        cells: Those that were seen.
        boxes_xyxy: ``(N, 4)`` their boxes in that frame.
        axis: Of the lines.
        table: Says how many there are.
        whole: Where all of it is if nothing was seen.
    """
    count, first = line_count(table, axis), 1 if axis == "row" else 0
    sides: list[list[float]] = [[] for _ in range(count + 1)]
    for cell, box in zip(cells, boxes_xyxy.tolist(), strict=True):
        for line, position in zip(cell_span(cell, axis), (box[first], box[first + 2]), strict=True):
            sides[line].append(position)
    known = [line for line in range(count + 1) if sides[line]]
    if not known:
        return np.linspace(whole[first], whole[first + 2], count + 1)
    at = np.array([np.median(sides[line]) for line in known])
    lines = np.interp(np.arange(count + 1), known, at)
    size = (at[-1] - at[0]) / (known[-1] - known[0])
    lines[: known[0]] = at[0] - size * np.arange(known[0], 0, -1)
    lines[known[-1] :] = at[-1] + size * np.arange(count + 1 - known[-1])
    return np.maximum.accumulate(lines)


def table_lines(table: Table, axis: Axis, frame: Frame | None = None) -> Floats:
    """``(n + 1,)`` increasing positions of the lines of a table whose cells have a place, in its straight frame.

    Another frame serves to compare them with the lines of another table.
    """
    quads = table.quads
    return _lines(table.cells, straighten(quads, frame or quads_to_frame(quads)), axis, table, (0.0, 0.0, 1.0, 1.0))


def _bounds(table: Table, size_wh: tuple[int, int]) -> tuple[float, float, float, float]:
    if table.quad is None or not np.isfinite(table.quad).all():
        return 0.0, 0.0, float(size_wh[0]), float(size_wh[1])
    corners = as_quads([table.quad])[0]
    (x0, y0), (x1, y1) = corners.min(axis=0).tolist(), corners.max(axis=0).tolist()
    return x0, y0, x1, y1


def outline(table: Table, row: int, col: int, end_row: int, end_col: int) -> Quad | None:
    """The corners of a rectangle of whole cells; None where one of them has no place."""
    left, right = (col, end_col - 1) if table.direction == "ltr" else (end_col - 1, col)
    corners = [table[row, left], table[row, right], table[end_row - 1, right], table[end_row - 1, left]]
    if any(cell.quad is None for cell in corners):
        return None
    a, b, c, d = (cell.quad[index] for index, cell in enumerate(corners) if cell.quad)
    return a, b, c, d


def rebuild(table: Table, cells: Iterable[Cell]) -> Table:
    """The table with other cells, and its outline around them."""
    changed = table.with_cells(cells)
    around = outline(changed, 0, 0, *changed.shape) if len(changed) else None
    return changed if around in (None, changed.quad) else alter(changed, quad=around)
