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


def _numbered(owner: Ints) -> Ints:
    _, first, inverse = np.unique(owner.ravel(), return_index=True, return_inverse=True)
    order = np.empty(len(first), np.int64)
    order[np.argsort(first)] = np.arange(len(first))
    return np.asarray(order[inverse].reshape(owner.shape), np.int64)
