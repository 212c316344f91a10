"""A grid as a drawing: lines, and the cell that each slot between them belongs to."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from postprocess.boxes import Floats, as_quads, boxes_to_quads
from postprocess.frame import Frame
from postprocess.grid import Grid

Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Layout:
    """Lines of a grid and the cell of each slot.

    Args:
        row_lines: ``(R + 1,)`` positions in the straightened ``frame``.
        col_lines: ``(C + 1,)`` positions in the straightened ``frame``.
        frame: See ``Grid``.
        owner: ``(R, C)`` number of the cell that a slot belongs to; each cell is a rectangle of slots,
            and cells are numbered from 0 in the order in which they start.
    """

    row_lines: Floats
    col_lines: Floats
    frame: Frame
    owner: Ints

    def spans(self) -> Ints:
        """``(N, 4)`` row, column, end row, end column of each cell, in the order of the numbers.

        >>> from postprocess.frame import UPRIGHT
        >>> Layout(np.arange(2.0), np.arange(3.0), UPRIGHT, np.array([[0, 0]])).spans().tolist()
        [[0, 0, 1, 2]]
        """
        rows, cols = np.indices(self.owner.shape).reshape(2, -1)
        flat = self.owner.ravel()
        n = int(flat.max(initial=-1)) + 1
        spans = np.tile(np.array([*self.owner.shape, 0, 0], np.int64), (n, 1))
        for axis, places in enumerate((rows, cols)):
            np.minimum.at(spans[:, axis], flat, places)
            np.maximum.at(spans[:, axis + 2], flat, places + 1)
        return spans

    def quads(self) -> Floats:
        """``(N, 4, 2)`` cells in pixels, in the order of ``spans``."""
        spans = self.spans()
        if not len(spans):
            return as_quads([])
        x, y = self.col_lines, self.row_lines
        boxes = np.column_stack([x[spans[:, 1]], y[spans[:, 0]], x[spans[:, 3]], y[spans[:, 2]]])
        return self.frame.to_picture(boxes_to_quads(boxes))

    def cells_at(self, points: Floats) -> Ints:
        """``(P,)`` number of the cell at each of ``(P, 2)`` points in pixels, -1 outside.

        >>> from postprocess.frame import UPRIGHT
        >>> layout = Layout(np.arange(2.0), np.arange(3.0), UPRIGHT, np.array([[0, 1]]))
        >>> layout.cells_at(np.array([[0.5, 0.5], [1.5, 0.5], [0.5, 1.5]])).tolist()
        [0, 1, -1]
        """
        x, y = self.frame.to_upright(points).T
        row, col = (np.searchsorted(at, place) - 1 for at, place in ((self.row_lines, y), (self.col_lines, x)))
        rows, cols = self.owner.shape
        inside = (row >= 0) & (row < rows) & (col >= 0) & (col < cols)
        cells = np.full(len(points), -1, np.int64)
        cells[inside] = self.owner[row[inside], col[inside]]
        return cells

    def joined(self, row: int, col: int, end_row: int, end_col: int) -> Layout:
        """The slots as one cell, grown until it cuts no other cell.

        >>> from postprocess.frame import UPRIGHT
        >>> layout = Layout(np.arange(3.0), np.arange(3.0), UPRIGHT, np.array([[0, 0], [1, 2]]))
        >>> layout.joined(0, 0, 2, 1).owner.tolist()
        [[0, 0], [0, 0]]
        """
        box = [row, col, end_row, end_col]
        while True:
            inside = np.isin(self.owner, self.owner[box[0] : box[2], box[1] : box[3]])
            rows, cols = np.flatnonzero(inside.any(axis=1)), np.flatnonzero(inside.any(axis=0))
            grown = [int(rows[0]), int(cols[0]), int(rows[-1]) + 1, int(cols[-1]) + 1]
            if grown == box:
                return replace(self, owner=_numbered(np.where(inside, self.owner.size, self.owner)))
            box = grown

    def parted(self, cells: Ints) -> Layout:
        """The slots of some cells as cells of their own.

        >>> from postprocess.frame import UPRIGHT
        >>> layout = Layout(np.arange(2.0), np.arange(4.0), UPRIGHT, np.array([[0, 0, 1]]))
        >>> layout.parted(np.array([0])).owner.tolist()
        [[0, 1, 2]]
        """
        alone = self.owner.size + np.arange(self.owner.size).reshape(self.owner.shape)
        return replace(self, owner=_numbered(np.where(np.isin(self.owner, cells), alone, self.owner)))

    def rows_joined(self, first: int, end: int) -> Layout:
        """The rows from ``first`` to ``end``, exclusive, as one row.

        >>> from postprocess.frame import UPRIGHT
        >>> layout = Layout(np.arange(4.0), np.arange(3.0), UPRIGHT, np.array([[0, 1], [2, 3], [4, 5]]))
        >>> layout.rows_joined(0, 2).owner.tolist(), layout.rows_joined(0, 2).row_lines.tolist()
        ([[0, 1], [2, 3]], [0.0, 2.0, 3.0])
        """
        joined = self
        for col in range(self.owner.shape[1]):
            joined = joined.joined(first, col, end, col + 1)
        inner = np.arange(first + 1, end)
        owner = _numbered(np.delete(joined.owner, inner, axis=0))
        return replace(joined, owner=owner, row_lines=np.delete(self.row_lines, inner))

    def row_parted(self, row: int, y: float) -> Layout:
        """A row as two, parted at the height ``y``; cells that reach beyond the row stay whole.

        >>> from postprocess.frame import UPRIGHT
        >>> layout = Layout(np.arange(3.0), np.arange(3.0), UPRIGHT, np.array([[0, 1], [2, 1]]))
        >>> layout.row_parted(0, 0.5).owner.tolist()
        [[0, 1], [2, 1], [3, 1]]
        """
        owner = np.insert(self.owner, row + 1, self.owner[row], axis=0)
        spans = self.spans()[self.owner[row]]
        owner[row + 1, spans[:, 2] - spans[:, 0] == 1] += self.owner.size
        return replace(self, owner=_numbered(owner), row_lines=np.insert(self.row_lines, row + 1, y))


def grid_to_layout(grid: Grid) -> Layout:
    """The drawing of a grid; a slot that no cell covers is a cell of its own.

    >>> from postprocess.grid import quads_to_grid
    >>> grid_to_layout(quads_to_grid(boxes_to_quads([[0, 0, 10, 10], [10, 10, 20, 20]]))).owner.tolist()
    [[0, 1], [2, 3]]
    """
    shape = max(len(grid.row_lines) - 1, 0), max(len(grid.col_lines) - 1, 0)
    owner = np.arange(shape[0] * shape[1]).reshape(shape)
    for row, col, end_row, end_col in grid.spans:
        owner[row:end_row, col:end_col] = owner[row, col]
    return Layout(grid.row_lines, grid.col_lines, grid.frame, _numbered(owner))


def redraw(quads: Floats, scores: Floats, grid: Grid, layout: Layout) -> tuple[Floats, Floats]:
    """Cells and scores of a layout that was made of a grid: those that stay as they were, the others as it draws them.

    Args:
        quads: ``(N, 4, 2)`` cells that the grid was built from, in pixels.
        scores: ``(N,)`` how sure the detector is of each, 0 to 1.
        grid: Of these cells.
        layout: What became of the grid; its columns are those of the grid, its rows may be joined or parted ones.

    Returns:
        ``(M, 4, 2)`` and ``(M,)``; a new cell has the mean score. Slots where nothing was detected stay empty.

    >>> from postprocess.grid import quads_to_grid
    >>> quads = boxes_to_quads([[0, 0, 10, 10], [0, 10, 10, 20], [0, 20, 10, 30]])
    >>> grid = quads_to_grid(quads)
    >>> redraw(quads, np.array([1.0, 0.5, 0.9]), grid, grid_to_layout(grid).rows_joined(0, 2))[1].round(3).tolist()
    [0.8, 0.9]
    """
    index = {_place(grid, span): int(kept) for span, kept in zip(grid.spans, grid.kept, strict=True)}
    detected = np.zeros((len(grid.row_lines) - 1, len(grid.col_lines) - 1), bool)
    for row, col, end_row, end_col in grid.spans:
        detected[row:end_row, col:end_col] = True
    top = np.searchsorted(grid.row_lines, layout.row_lines, "right") - 1
    bottom = np.searchsorted(grid.row_lines, layout.row_lines)
    cells = [
        (index.get(_place(layout, span)), drawn)
        for span, drawn in zip(layout.spans(), layout.quads(), strict=True)
        if detected[top[span[0]] : bottom[span[2]], span[1] : span[3]].any()
    ]
    mean = float(scores[grid.kept].mean())
    return (
        np.stack([drawn if old is None else quads[old] for old, drawn in cells]),
        np.array([mean if old is None else scores[old] for old, _ in cells]),
    )


def _place(lines: Grid | Layout, span: Ints) -> tuple[float, int, float, int]:
    """Where a cell is, whatever the numbers of the rows."""
    row, col, end_row, end_col = span.tolist()
    return float(lines.row_lines[row]), col, float(lines.row_lines[end_row]), end_col


def _numbered(owner: Ints) -> Ints:
    _, first, inverse = np.unique(owner.ravel(), return_index=True, return_inverse=True)
    order = np.empty(len(first), np.int64)
    order[np.argsort(first)] = np.arange(len(first))
    return np.asarray(order[inverse].reshape(owner.shape), np.int64)
