"""How well a finished grid explains what a picture shows: its words, its lines, and nothing besides."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple, dataclass

import numpy as np
import shapely
from numpy.typing import NDArray

from postprocess.boxes import Floats, as_quads, boxes_to_quads, quads_to_boxes, quads_to_polygons
from postprocess.evidence import cut_share, explained_share
from postprocess.grid import Grid
from postprocess.layout import grid_to_layout
from postprocess.rulings import Rulings
from postprocess.words import Word

# Printed by tests/benchmarks/fit_explanation.py.
_WEIGHTS = (0.09, 0.00, 0.02, 0.00, 0.35, 0.09, 0.11, 0.19, 0.15)
"""Sum 1; fitted so that of two grids of one table the better one has the higher score."""
_SAME_LINE = 0.5
"""Words whose middles are closer than this, in heights of the tallest, are side by side."""
_NEAR = 0.35
"""A border follows a ruling closer than this, in text heights."""


@dataclass(frozen=True, slots=True)
class Explanation:
    """Shares from 0 to 1, the larger the better.

    Args:
        separated: Text that lies in a cell, with no wide gap and no second number of a column beside it.
        uncut: Words that no border cuts.
        followed: Length of the rulings that borders follow.
        filled: Cells that hold words.
        used: Rows and columns in which a cell of their own holds words.
        single: Cells with words that hold one line of text.
        shared: Rows with words that hold them in more than one cell.
        rows: Agreement of the rows with those of other grids of the same words, see ``agreement``.
        columns: The same of the columns.
    """

    separated: float
    uncut: float
    followed: float
    filled: float
    used: float
    single: float
    shared: float
    rows: float = 1.0
    columns: float = 1.0

    @property
    def score(self) -> float:
        """Weighted mean of the shares, 0 to 1, to compare grids of the same words by.

        >>> round(Explanation(1, 1, 1, 1, 1, 1, 1).score, 9)
        1.0
        """
        return float(sum(weight * share for weight, share in zip(_WEIGHTS, astuple(self), strict=True)))


def explain(
    grid: Grid, words: Sequence[Word], rulings: Rulings, agreed: tuple[float, float] = (1.0, 1.0)
) -> Explanation:
    """Compare a grid with the words and rulings of its part of the picture.

    Args:
        grid: Rows, columns and spans.
        words: Words that a table here should hold.
        rulings: Lines of the picture, and its upright frame.
        agreed: Shares ``rows`` and ``columns``, where there are other grids.

    Returns:
        All shares; 0 for an empty grid.

    >>> from postprocess.boxes import as_boxes
    >>> from postprocess.grid import quads_to_grid
    >>> frame = Rulings(as_boxes([]), as_boxes([]), 0.0, (0.0, 0.0), 10.0)
    >>> words = [Word("5", ((5, 5), (15, 5), (15, 15), (5, 15))), Word("7", ((5, 25), (15, 25), (15, 35), (5, 35)))]
    >>> one, two = [[0, 0, 20, 40]], [[0, 0, 20, 20], [0, 20, 20, 40]]
    >>> [explain(quads_to_grid(boxes_to_quads(boxes)), words, frame).separated for boxes in (one, two)]
    [0.0, 1.0]
    """
    quads = _grid_quads(grid)
    if not len(quads):
        return Explanation(*[0.0] * 9)
    cells = quads_to_polygons(quads)
    holds = np.zeros(len(quads), bool)
    single = 0.0
    if len(words):
        middles = as_quads([word.quad for word in words]).mean(axis=1)
        word, cell = shapely.STRtree(cells).query(shapely.points(middles), "intersects")
        holds[cell] = True
        single = _single_share(as_quads([words[i].quad for i in word]), cell, rulings)
    return Explanation(
        separated=explained_share(quads, words, rulings),
        uncut=1 - cut_share(quads, words),
        followed=_followed_share(quads, rulings),
        filled=float(holds.mean()),
        used=_used_share(grid, holds),
        single=single,
        shared=_shared_share(grid, holds),
        rows=agreed[0],
        columns=agreed[1],
    )


def agreement(ours: Sequence[Grid], theirs: Sequence[Grid], words: Sequence[Word]) -> tuple[float, float]:
    """How far the tables of two detectors have the same rows and the same columns, 0 to 1.

    The mean of two shares: words that follow one another downwards (to the right) between which both begin a
    new row (column), and the ratio of the numbers of rows (columns).

    Args:
        ours: Grids of one detector, one a table.
        theirs: Grids of another one at the same place.
        words: Words there.

    >>> from postprocess.grid import quads_to_grid
    >>> one, two = [[0, 0, 20, 40]], [[0, 0, 20, 20], [0, 20, 20, 40]]
    >>> one, two = ([quads_to_grid(boxes_to_quads(boxes))] for boxes in (one, two))
    >>> agreement(two, two, []), agreement(one, two, [])
    ((1.0, 1.0), (0.75, 1.0))
    """
    middles = as_quads([word.quad for word in words]).mean(axis=1)
    a, b = bands_at(ours, middles), bands_at(theirs, middles)
    shares = []
    for axis in (0, 1):
        order = np.argsort(middles[:, 1 - axis], kind="stable")
        steps = [np.diff(bands[order, axis]) != 0 for bands in (a, b)]
        both, each = int((steps[0] & steps[1]).sum()), int(steps[0].sum() + steps[1].sum())
        counts = [sum(_count_lines(grid, axis) for grid in grids) for grids in (ours, theirs)]
        ratio = min(counts) / max(counts) if max(counts) else 1.0
        shares.append(((2 * both / each if each else 1.0) + ratio) / 2)
    return shares[0], shares[1]


def _count_lines(grid: Grid, axis: int) -> int:
    return max(len((grid.row_lines, grid.col_lines)[axis]) - 1, 0)


def bands_at(grids: Sequence[Grid], points: Floats) -> NDArray[np.int64]:
    """``(P, 2)`` where the cell at each of ``(P, 2)`` points begins, counted on over the tables, -1 outside.

    Args:
        grids: One a table.
        points: In pixels of the picture.
    """
    bands = np.full((len(points), 2), -1, np.int64)
    before = np.zeros(2, np.int64)
    for grid in grids:
        layout = grid_to_layout(grid)
        cells = layout.cells_at(points)
        bands[cells >= 0] = layout.spans()[cells[cells >= 0], :2] + before
        before += [_count_lines(grid, 0), _count_lines(grid, 1)]
    return bands


def _grid_quads(grid: Grid) -> Floats:
    """``(K + holes, 4, 2)`` cells as the grid draws them, those found first."""
    rows, cols = grid.row_lines, grid.col_lines
    spans = grid.spans
    quads = grid.frame.to_picture(
        boxes_to_quads(np.column_stack([cols[spans[:, 1]], rows[spans[:, 0]], cols[spans[:, 3]], rows[spans[:, 2]]]))
        if len(spans)
        else boxes_to_quads([])
    )
    empty = as_quads([cell.quad for cell in grid.empty_cells() if cell.quad])
    return np.concatenate([quads, empty])


def _used_share(grid: Grid, holds: NDArray[np.bool_]) -> float:
    """Share of the rows and columns in which a cell with words lies that spans no other row or column."""
    filled = grid.spans[holds[: len(grid.spans)]]
    empty = [(cell.row, cell.col) for cell in grid.empty_cells()]
    more = np.array(empty, np.int64).reshape(-1, 2)[holds[len(grid.spans) :]]
    rows = np.concatenate([filled[filled[:, 2] - filled[:, 0] == 1, 0], more[:, 0]])
    cols = np.concatenate([filled[filled[:, 3] - filled[:, 1] == 1, 1], more[:, 1]])
    lines = len(grid.row_lines) + len(grid.col_lines) - 2
    return (len(np.unique(rows)) + len(np.unique(cols))) / lines


def _single_share(word_quads: Floats, cell: NDArray[np.int64], rulings: Rulings) -> float:
    """Share of the cells with words in which all words are side by side."""
    if not len(cell):
        return 0.0
    boxes = quads_to_boxes(rulings.to_upright(word_quads))
    middle, height = (boxes[:, 1] + boxes[:, 3]) / 2, boxes[:, 3] - boxes[:, 1]
    _, owner = np.unique(cell, return_inverse=True)
    n = int(owner.max()) + 1
    low, high, size = np.full(n, np.inf), np.full(n, -np.inf), np.zeros(n)
    np.minimum.at(low, owner, middle)
    np.maximum.at(high, owner, middle)
    np.maximum.at(size, owner, height)
    return float((high - low < _SAME_LINE * size).mean())


def _shared_share(grid: Grid, holds: NDArray[np.bool_]) -> float:
    """Share of the rows with words in which several cells hold some."""
    starts = np.concatenate([grid.spans[:, 0], np.array([cell.row for cell in grid.empty_cells()], np.int64)])
    counts = np.bincount(starts[holds])
    return float((counts[counts > 0] > 1).mean()) if holds.any() else 0.0


def _followed_share(quads: Floats, rulings: Rulings) -> float:
    """Share of the rulings inside the grid along which a border runs; 1 where there are none."""
    step = rulings.text_height
    segments = np.vstack([_middle_lines(rulings.horizontal, 1), _middle_lines(rulings.vertical, 0)])
    points = shapely.points(_points_along(rulings.to_picture(segments.reshape(-1, 2, 2)), step))
    hull = shapely.buffer(shapely.convex_hull(shapely.multipoints(quads.reshape(-1, 2))), _NEAR * step)
    points = points[shapely.intersects(hull, points)]
    if not len(points):
        return 1.0
    borders = shapely.STRtree(shapely.linestrings(np.stack([quads, np.roll(quads, -1, axis=1)], 2).reshape(-1, 2, 2)))
    near, _ = borders.query(points, "dwithin", distance=_NEAR * step)
    return len(np.unique(near)) / len(points)


def _middle_lines(boxes: Floats, axis: int) -> Floats:
    """``(N, 4)`` ends x0, y0, x1, y1 of the lines in the middle of thin boxes."""
    lines: Floats = boxes.copy()
    lines[:, axis] = lines[:, axis + 2] = (boxes[:, axis] + boxes[:, axis + 2]) / 2
    return lines


def _points_along(lines: Floats, step: float) -> Floats:
    """``(P, 2)`` points on ``(N, 2, 2)`` lines, one for each step of length, in the middle of the steps."""
    count = np.maximum(np.ceil(np.linalg.norm(lines[:, 1] - lines[:, 0], axis=1) / step), 1).astype(np.int64)
    line = np.repeat(np.arange(len(lines)), count)
    place = np.arange(len(line)) - np.repeat(np.cumsum(count) - count, count)
    share = ((place + 0.5) / count[line])[:, None]
    points: Floats = lines[line, 0] * (1 - share) + lines[line, 1] * share
    return points
