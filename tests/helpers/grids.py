"""Quads of regular tables, and what every grid keeps to."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from postprocess.cell import Cell
from postprocess.geometry.boxes import boxes_to_quads, rotate_points
from postprocess.grid.build import Grid
from postprocess.grid.layout import grid_to_layout
from postprocess.table import Table


def grid_quads(xs: Sequence[float], ys: Sequence[float], degrees: float = 0.0) -> np.ndarray:
    """Return the ``(N, 4, 2)`` float32 cells between lines at xs and at ys, turned around the middle."""
    boxes = [[x0, y0, x1, y1] for y0, y1 in pairwise(ys) for x0, x1 in pairwise(xs)]
    middle = ((xs[0] + xs[-1]) / 2, (ys[0] + ys[-1]) / 2)
    return rotate_points(boxes_to_quads(boxes), degrees, middle).astype(np.float32)


class Drawn(NamedTuple):
    """What a source returns."""

    image: np.ndarray
    quads: np.ndarray


def draw_ruled(index: int) -> Drawn:
    """Draw a small ruled table with a bar of text in each cell."""
    import cv2

    rng = np.random.default_rng(index)
    n_cols, n_rows = rng.integers(2, 4), rng.integers(2, 5)
    xs = 6 + np.concatenate([[0], np.cumsum(rng.integers(22, 34, n_cols))])
    ys = 6 + np.concatenate([[0], np.cumsum(rng.integers(14, 22, n_rows))])
    image = np.full((ys[-1] + 8, xs[-1] + 8, 3), 250, np.uint8)
    quads = grid_quads(xs.tolist(), ys.tolist())
    for corners in quads.astype(int):
        cv2.rectangle(image, corners[0].tolist(), corners[2].tolist(), (0, 0, 0), 1)
        x, y = corners.mean(0).astype(int).tolist()
        cv2.line(image, (x - 6, y), (x + 6, y), (90, 90, 90), 3)
    return Drawn(image, quads)


def check_sound(grid: Grid, n: int) -> None:
    """Each cell is kept or dropped once, with a reason, and the kept ones make a table."""
    assert sorted([*grid.kept.tolist(), *(index for index, _ in grid.dropped)]) == list(range(n))
    assert all(reason for _, reason in grid.dropped)
    assert len(grid.kept) == len(grid.spans) == len(grid.alignment)
    cells = [Cell(row, col, end_row - row, end_col - col) for row, col, end_row, end_col in grid.spans.tolist()]
    table = Table([*cells, *grid.empty_cells()])
    if cells:
        assert table.shape == (len(grid.row_lines) - 1, len(grid.col_lines) - 1)
        assert np.isfinite(np.array(grid_to_layout(grid).outline)).all()
    assert (np.diff(grid.row_lines) > 0).all() and (np.diff(grid.col_lines) > 0).all()
    assert ((grid.alignment >= 0) & (grid.alignment <= 1)).all()
