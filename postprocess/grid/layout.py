"""A grid as a drawing: lines, and the cell that each slot between them belongs to."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from postprocess.arrays import Flags, Floats, Ints
from postprocess.cell import Quad
from postprocess.geometry.boxes import array_to_quad, as_quads, boxes_to_quads, spans_to_boxes
from postprocess.geometry.frame import StraightFrame
from postprocess.grid.build import Grid


@dataclass(frozen=True, slots=True)
class _ShiftedFrame:
    """The frame of a picture that is part of a larger one."""

    frame: StraightFrame
    by: tuple[float, float]

    def to_upright(self, points: Floats) -> Floats:
        return self.frame.to_upright(points - np.array(self.by))

    def to_picture(self, points: Floats) -> Floats:
        return np.asarray(self.frame.to_picture(points) + np.array(self.by))


@dataclass(frozen=True, eq=False)
class Layout:
    """Lines of a grid and the cell of each slot.

    Args:
        row_lines: ``(R + 1,)`` positions in the straightened ``frame``.
        col_lines: ``(C + 1,)`` positions in the straightened ``frame``.
        frame: Takes points of the picture into the frame of the lines, and back.
        owner: ``(R, C)`` number of the cell that a slot belongs to; each cell is a rectangle of slots,
            and cells are numbered from 0 in the order in which they start.
    """

    row_lines: Floats
    col_lines: Floats
    frame: StraightFrame
    owner: Ints

    @cached_property
    def spans(self) -> Ints:
        """``(N, 4)`` row, column, end row, end column of each cell, in the order of the numbers.

        >>> from postprocess.geometry.frame import UPRIGHT
        >>> Layout(np.arange(2.0), np.arange(3.0), UPRIGHT, np.array([[0, 0]])).spans.tolist()
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

    @cached_property
    def quads(self) -> Floats:
        """``(N, 4, 2)`` cells in pixels, in the order of ``spans``."""
        if not self.owner.size:
            return as_quads([])
        return self.frame.to_picture(boxes_to_quads(spans_to_boxes(self.spans, self.col_lines, self.row_lines)))

    @property
    def outline(self) -> Quad | None:
        """Outer border of the grid in the picture, None where it is empty."""
        if not self.owner.size:
            return None
        box = [self.col_lines[0], self.row_lines[0], self.col_lines[-1], self.row_lines[-1]]
        return array_to_quad(self.frame.to_picture(boxes_to_quads([box]))[0])

    def shifted(self, by: tuple[float, float]) -> Layout:
        """The same grid in a larger picture, of which its own picture is the part that begins at a point."""
        return replace(self, frame=_ShiftedFrame(self.frame, by))

    def cells_at(self, points: Floats) -> Ints:
        """``(P,)`` number of the cell at each of ``(P, 2)`` points in pixels, -1 outside.

        >>> from postprocess.geometry.frame import UPRIGHT
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

        >>> from postprocess.geometry.frame import UPRIGHT
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

        >>> from postprocess.geometry.frame import UPRIGHT
        >>> layout = Layout(np.arange(2.0), np.arange(4.0), UPRIGHT, np.array([[0, 0, 1]]))
        >>> layout.parted(np.array([0])).owner.tolist()
        [[0, 1, 2]]
        """
        alone = self.owner.size + np.arange(self.owner.size).reshape(self.owner.shape)
        return replace(self, owner=_numbered(np.where(np.isin(self.owner, cells), alone, self.owner)))

    def rows_joined(self, first: int, end: int) -> Layout:
        """The rows from ``first`` to ``end``, exclusive, as one row.

        >>> from postprocess.geometry.frame import UPRIGHT
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

    def rows_kept(self, first: int, end: int) -> Layout:
        """The rows from ``first`` to ``end``, exclusive, alone; cells that reach beyond them are cut.

        >>> from postprocess.geometry.frame import UPRIGHT
        >>> layout = Layout(np.arange(4.0), np.arange(3.0), UPRIGHT, np.array([[0, 1], [2, 1], [3, 4]]))
        >>> layout.rows_kept(1, 3).owner.tolist(), layout.rows_kept(1, 3).row_lines.tolist()
        ([[0, 1], [2, 3]], [1.0, 2.0, 3.0])
        """
        return replace(self, owner=_numbered(self.owner[first:end]), row_lines=self.row_lines[first : end + 1])

    def row_parted(self, row: int, y: float) -> Layout:
        """A row as two, parted at the height ``y``; cells that reach beyond the row stay whole.

        >>> from postprocess.geometry.frame import UPRIGHT
        >>> layout = Layout(np.arange(3.0), np.arange(3.0), UPRIGHT, np.array([[0, 1], [2, 1]]))
        >>> layout.row_parted(0, 0.5).owner.tolist()
        [[0, 1], [2, 1], [3, 1]]
        """
        owner = np.insert(self.owner, row + 1, self.owner[row], axis=0)
        spans = self.spans[self.owner[row]]
        owner[row + 1, spans[:, 2] - spans[:, 0] == 1] += self.owner.size
        return replace(self, owner=_numbered(owner), row_lines=np.insert(self.row_lines, row + 1, y))

    def col_parted(self, col: int, x: float, rows: Flags) -> Layout:
        """A column as two, parted at ``x`` in ``(R,)`` some rows; cells that reach beyond the column or the rows stay.

        >>> from postprocess.geometry.frame import UPRIGHT
        >>> layout = Layout(np.arange(3.0), np.arange(3.0), UPRIGHT, np.array([[0, 0], [1, 2]]))
        >>> layout.col_parted(0, 0.5, np.array([True, True])).owner.tolist()
        [[0, 0, 0], [1, 2, 3]]
        """
        owner = np.insert(self.owner, col + 1, self.owner[:, col], axis=1)
        top, first, bottom, end = self.spans[self.owner[:, col]].T
        alone = rows & (bottom - top == 1) & (end - first == 1)
        owner[alone, col + 1] += self.owner.size
        return replace(self, owner=_numbered(owner), col_lines=np.insert(self.col_lines, col + 1, x))

    def col_dropped(self, col: int, *, to_left: bool) -> Layout:
        """The grid without a column, whose width goes to one of its neighbours; cells that lie in it alone are gone.

        >>> from postprocess.geometry.frame import UPRIGHT
        >>> layout = Layout(np.arange(3.0), np.arange(4.0), UPRIGHT, np.array([[0, 1, 1], [2, 3, 4]]))
        >>> less = layout.col_dropped(1, to_left=False)
        >>> less.owner.tolist(), less.col_lines.tolist()
        ([[0, 1], [2, 3]], [0.0, 1.0, 3.0])
        """
        lines = np.delete(self.col_lines, col if to_left else col + 1)
        return replace(self, owner=_numbered(np.delete(self.owner, col, axis=1)), col_lines=lines)


def spans_to_layout(row_lines: Floats, col_lines: Floats, frame: StraightFrame, spans: Ints) -> Layout:
    """The drawing of cells between lines; a slot that no cell covers is a cell of its own.

    Args:
        row_lines: ``(R + 1,)`` positions in the frame.
        col_lines: ``(C + 1,)`` positions in the frame.
        frame: Of the lines.
        spans: ``(N, 4)`` row, column, end row, end column of cells that share no slot.

    >>> from postprocess.geometry.frame import UPRIGHT
    >>> spans_to_layout(np.arange(3.0), np.arange(3.0), UPRIGHT, np.array([[0, 0, 1, 2]])).owner.tolist()
    [[0, 0], [1, 2]]
    """
    shape = max(len(row_lines) - 1, 0), max(len(col_lines) - 1, 0)
    owner = np.arange(shape[0] * shape[1]).reshape(shape)
    for row, col, end_row, end_col in spans[(spans[:, 2:] - spans[:, :2]).max(axis=1, initial=1) > 1].tolist():
        owner[row:end_row, col:end_col] = owner[row, col]
    return Layout(row_lines, col_lines, frame, _numbered(owner))


def grid_to_layout(grid: Grid) -> Layout:
    """The drawing of a grid.

    >>> from postprocess.grid.build import quads_to_grid
    >>> grid_to_layout(quads_to_grid(boxes_to_quads([[0, 0, 10, 10], [10, 10, 20, 20]]))).owner.tolist()
    [[0, 1], [2, 3]]
    """
    return spans_to_layout(grid.row_lines, grid.col_lines, grid.frame, grid.spans)


def _numbered(owner: Ints) -> Ints:
    _, first, inverse = np.unique(owner.ravel(), return_index=True, return_inverse=True)
    order = np.empty(len(first), np.int64)
    order[np.argsort(first)] = np.arange(len(first))
    return np.asarray(order[inverse].reshape(owner.shape), np.int64)
