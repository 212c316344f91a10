"""Quads of cells -> rows and columns -> spans.

The stages, each a function::

    quads -> frame -> straight boxes -> lines per axis -> spans -> spans without overlap

What is sought is the grid that describes the boxes in the fewest words. ``lines`` finds the lines of each axis,
exactly; ``settle`` decides where the noise of single edges would make cells overlap or leave holes, and says how far
that is from each edge on its nearest line. No tolerance is a pixel count: all are shares of the cells around.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from postprocess.arrays import Floats, Ints
from postprocess.cell import Cell
from postprocess.geometry.boxes import array_to_quad, as_quads, boxes_to_quads, drop_unused_lines, spans_to_boxes
from postprocess.geometry.frame import LARGEST, StraightFrame, quads_to_frame, straighten
from postprocess.grid.edges import settle_edges
from postprocess.grid.line_fit import Lines, intervals_to_lines
from postprocess.grid.neighbours import following_pairs, meeting_pairs, usual_gap

_LEAST = float(np.finfo(np.float64).tiny) ** 0.25
"""Sides, pixels, below which squares of distances vanish."""
_INSIDE = 0.75
"""A cell is dropped at once when more than this share of it lies in a better cell. Cells that overlap less are dropped
only where no choice of lines parts them."""
_FILLED = 0.4
"""Better cells that cover this share of a cell take its place; fewer are a detection inside it."""
_DUST = 1e-9
"""Sides below this share of a coordinate are what is left of rounding."""


@dataclass(frozen=True, slots=True)
class Grid:
    """Where each cell lies in the grid, with every stage kept for drawing.

    Args:
        kept: ``(K,)`` indices of the cells in the grid.
        spans: ``(K, 4)`` row, column, end row, end column.
        dropped: Index and reason of each cell that is not in the grid.
        boxes_xyxy: ``(N, 4)`` all cells in the straightened frame.
        row_lines: ``(R + 1,)`` positions in the straightened frame.
        col_lines: ``(C + 1,)`` positions in the straightened frame.
        alignment: ``(K,)`` how well each cell agrees with its lines, 0 to 1.
        frame: Takes points of the picture into the straightened frame, and back.
    """

    kept: Ints
    spans: Ints
    dropped: tuple[tuple[int, str], ...]
    boxes_xyxy: Floats
    row_lines: Floats
    col_lines: Floats
    alignment: Floats
    frame: StraightFrame

    def empty_cells(self) -> list[Cell]:
        """A cell without text for each slot that no detected cell covers.

        >>> from postprocess.geometry.boxes import boxes_to_quads
        >>> grid = quads_to_grid(boxes_to_quads([[0, 0, 10, 10], [10, 10, 20, 20]]))
        >>> [(cell.row, cell.col, cell.quad[0]) for cell in grid.empty_cells()]
        [(0, 1, (10.0, 0.0)), (1, 0, (0.0, 10.0))]
        """
        taken = np.zeros((max(len(self.row_lines) - 1, 0), max(len(self.col_lines) - 1, 0)), bool)
        for row, col, end_row, end_col in self.spans:
            taken[row:end_row, col:end_col] = True
        holes = np.argwhere(~taken)
        boxes = spans_to_boxes(np.hstack([holes, holes + 1]), self.col_lines, self.row_lines)
        quads = self.frame.to_picture(boxes_to_quads(boxes))
        return [Cell(int(r), int(c), quad=array_to_quad(quad)) for (r, c), quad in zip(holes, quads, strict=True)]


def quads_to_grid(quads: ArrayLike, scores: ArrayLike | None = None) -> Grid:
    """Find rows, columns and spans of detected cells.

    Args:
        quads: ``(N, 4, 2)`` cells in pixels.
        scores: ``(N,)`` how sure the detector is, 0 to 1; 1 where None.

    Returns:
        The grid. Each cell is in ``kept`` or in ``dropped``.

    >>> from postprocess.geometry.boxes import boxes_to_quads
    >>> grid = quads_to_grid(boxes_to_quads([[0, 0, 50, 10], [56, 0, 99, 10], [0, 12, 99, 20]]))
    >>> grid.spans.tolist()
    [[0, 0, 1, 1], [0, 1, 1, 2], [1, 0, 2, 2]]
    >>> quads_to_grid([]).spans.shape
    (0, 4)
    """
    corners = as_quads(quads)
    # NaN passes through the arithmetic without a warning, infinity does not.
    corners = np.where((np.abs(corners) < LARGEST).all(axis=(1, 2), keepdims=True), corners, np.nan)
    weights = np.ones(len(corners)) if scores is None else np.asarray(scores, np.float64)
    frame = quads_to_frame(corners)
    return boxes_to_grid(straighten(corners, frame), weights, frame)


def boxes_to_grid(boxes: Floats, weights: Floats, frame: StraightFrame) -> Grid:
    """Find rows, columns and spans of cells in a frame in which they are straight.

    Args:
        boxes: ``(N, 4)`` cells in the frame; those with NaN are dropped.
        weights: ``(N,)`` how sure the detector is, 0 to 1.
        frame: Takes points of the picture into it, and back.
    """
    usable, dropped = _usable(boxes)
    usable, overlapping = _without_copies(boxes, weights, usable)
    dropped += overlapping
    kept, spans, rows, cols, lost = _place(boxes, usable, weights)
    spans, row_lines, col_lines = drop_unused_lines(spans, rows.positions, cols.positions)
    alignment = _alignment(boxes[kept], spans, row_lines, col_lines)
    order = np.lexsort([spans[:, 1], spans[:, 0]])
    lost = sorted(dropped + lost)
    return Grid(kept[order], spans[order], tuple(lost), boxes, row_lines, col_lines, alignment[order], frame)


def _place(boxes: Floats, usable: Ints, weights: Floats) -> tuple[Ints, Ints, Lines, Lines, list[tuple[int, str]]]:
    """The cells that are kept, their spans, the lines of both axes, and the cells that are not kept."""
    grown = _without_gaps(boxes[usable])
    pairs = meeting_pairs(grown)
    cols, rows = (intervals_to_lines(grown[:, [a, a + 2]], following_pairs(grown, pairs, a)) for a in (0, 1))
    spans = np.column_stack([rows.spans, cols.spans])[:, [0, 2, 1, 3]]
    single, doubles = _without_doubles(spans, np.argsort(np.argsort(-weights[usable], kind="stable")))
    lost = [(int(usable[i]), f"it lies on cell {usable[j]}, which has a better score") for i, j in doubles]
    spans = settle_edges(grown[single], rows.select(single), cols.select(single))
    free, clashing = _without_overlap(spans, weights[usable[single]])
    lost += [(int(usable[single[index]]), reason) for index, reason in clashing]
    return usable[single[free]], spans[free], rows, cols, lost


def _usable(boxes: Floats) -> tuple[Ints, list[tuple[int, str]]]:
    least = np.maximum(_LEAST, _DUST * np.abs(boxes).max(axis=1, initial=0))[:, None]
    good = np.isfinite(boxes).all(axis=1) & (boxes[:, 2:] - boxes[:, :2] > least).all(axis=1)
    return np.flatnonzero(good), [(int(i), "the cell has no area") for i in np.flatnonzero(~good)]


def _without_copies(boxes: Floats, weights: Floats, usable: Ints) -> tuple[Ints, list[tuple[int, str]]]:
    """Drop cells that lie mostly inside better ones, and cells that better ones fill."""
    from shapely import STRtree, box

    if not len(usable):
        return usable, []
    shapes = box(*boxes[usable].T)
    first, second = usable[STRtree(shapes).query(shapes)]
    areas = (boxes[:, 2:] - boxes[:, :2]).prod(axis=1)
    rank = np.empty(len(boxes), np.int64)
    rank[np.lexsort([-areas, -weights])] = np.arange(len(boxes))
    better = rank[first] < rank[second]
    first, second = first[better], second[better]
    a, b = boxes[first], boxes[second]
    shared = np.clip(np.minimum(a[:, 2:], b[:, 2:]) - np.maximum(a[:, :2], b[:, :2]), 0, None).prod(axis=1)
    clash = np.flatnonzero(shared > _INSIDE * np.minimum(areas[first], areas[second]))
    gone: dict[int, str] = {}
    for pairs in _by_loser(clash[np.argsort(rank[second[clash]], kind="stable")], second):
        loser = int(second[pairs[0]])
        pairs = pairs[[int(first[pair]) not in gone for pair in pairs]]
        covering = pairs[shared[pairs] > _INSIDE * areas[loser]]
        if len(covering):
            gone[loser] = f"it lies on cell {int(first[covering[0]])}, which has a better score"
        elif shared[pairs].sum() > _FILLED * areas[loser]:
            gone[loser] = f"cell {int(first[pairs[0]])} and others that lie on it have a better score"
        else:
            gone.update((int(first[pair]), f"it lies in cell {loser}, of which it is a small part") for pair in pairs)
    return usable[~np.isin(usable, list(gone))] if gone else usable, sorted(gone.items())


def _by_loser(pairs: Ints, loser: Ints) -> list[Ints]:
    """The pairs, sorted by their worse cell, in groups of the same."""
    return np.split(pairs, np.flatnonzero(np.diff(loser[pairs])) + 1) if len(pairs) else []


def _without_doubles(spans: Ints, rank: Ints) -> tuple[Ints, list[tuple[int, int]]]:
    """Cells of which no better one lies between the same lines, and the others, each with the better one."""
    order = np.argsort(rank)
    place = np.ravel_multi_index(tuple(spans[order].T), tuple(spans.max(axis=0, initial=0) + 1))
    _, first, group = np.unique(place, return_index=True, return_inverse=True)
    winner = np.empty(len(spans), np.int64)
    winner[order] = order[first][group.reshape(-1)]
    is_double = winner != np.arange(len(spans))
    return np.flatnonzero(~is_double), [(int(i), int(winner[i])) for i in np.flatnonzero(is_double)]


def _without_overlap(spans: Ints, weights: Floats) -> tuple[Ints, list[tuple[int, str]]]:
    """Keep a cell only where its slots are still free, best score first."""
    shape = int(spans[:, 2].max(initial=0)), int(spans[:, 3].max(initial=0))
    corners = np.zeros((shape[0] + 1, shape[1] + 1), np.int64)
    for rows, cols, sign in ((0, 1, 1), (0, 3, -1), (2, 1, -1), (2, 3, 1)):
        np.add.at(corners, (spans[:, rows], spans[:, cols]), sign)
    if corners.cumsum(axis=0).cumsum(axis=1).max(initial=0) <= 1:  # each slot is taken once at most
        return np.arange(len(spans)), []
    taken = np.full(shape, -1)
    kept, dropped = [], []
    for index in np.lexsort([np.arange(len(spans)), -weights]):
        row, col, end_row, end_col = spans[index]
        slots = taken[row:end_row, col:end_col]
        if (slots < 0).all():
            slots[...] = index
            kept.append(index)
        else:
            dropped.append((int(index), f"its slots belong to a better cell at row {row}, column {col}"))
    return np.sort(np.array(kept, np.int64)), dropped


def _without_gaps(boxes: Floats) -> Floats:
    """Boxes grown by half the usual gap, or shrunk by half the usual overlap."""
    gap = np.array([usual_gap(boxes, axis) for axis in (0, 1)])
    half = np.maximum(gap, -0.5 * (boxes[:, 2:] - boxes[:, :2])) / 2
    return np.hstack([boxes[:, :2] - half, boxes[:, 2:] + half])


def _alignment(boxes: Floats, spans: Ints, row_lines: Floats, col_lines: Floats) -> Floats:
    """1 minus the mean distance of a cell's edges from their lines, in cell sizes."""
    if not len(boxes):
        return np.zeros(0)
    target = spans_to_boxes(spans, col_lines, row_lines)
    size = np.tile(boxes[:, 2:] - boxes[:, :2], 2)
    alignment: Floats = np.clip(1 - (np.abs(boxes - target) / size).mean(axis=1), 0, 1)
    return alignment
