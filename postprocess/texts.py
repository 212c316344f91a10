"""Cells of a table from the boxes of the texts in them, one box for each cell that holds text.

A text does not show how far its cell reaches, but two texts side by side lie in different columns, and two texts one
above the other in different rows: somewhere in the gap between them there is a line, and so there is in each white
space across the whole table. The fewest lines that do all this are found exactly, and each text takes the slots that
it reaches into.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from postprocess.boxes import Floats, as_quads, boxes_to_quads
from postprocess.frame import quads_to_frame, straighten

_BESIDE = 0.5
"""Texts that share more than this of the smaller one's extent are side by side, or one above the other."""
_INSET = 0.25
"""A text reaches into a slot by more than this share of the smaller side of the usual text."""
_CHUNK = 512


def texts_to_quads(text_quads: ArrayLike) -> Floats:
    """Cells that hold these texts.

    Args:
        text_quads: ``(N, 4, 2)`` outlines of all the text of a cell, pixels, several lines together.

    Returns:
        ``(N, 4, 2)`` the cell of each text, pixels; neighbours touch, and a text over several columns has a wide cell.

    >>> texts = boxes_to_quads([[0, 0, 90, 10], [0, 20, 30, 40], [60, 20, 90, 30]])
    >>> texts_to_quads(texts)[:, [0, 2]].tolist()
    [[[0.0, 0.0], [90.0, 15.0]], [[0.0, 15.0], [45.0, 40.0]], [[45.0, 15.0], [90.0, 40.0]]]
    """
    quads = as_quads(text_quads)
    if not len(quads):
        return quads
    frame = quads_to_frame(quads)
    boxes = straighten(quads, frame)
    inset = _INSET * float(np.median((boxes[:, 2:] - boxes[:, :2]).min(axis=1)))
    cells = np.empty_like(boxes)
    for axis in (0, 1):
        inner = _fewest_lines(np.vstack([_gaps(boxes, axis), _white(boxes, axis)]))
        lines = np.concatenate([[boxes[:, axis].min()], inner, [boxes[:, axis + 2].max()]])
        middle = (boxes[:, axis] + boxes[:, axis + 2]) / 2
        cells[:, axis] = lines[np.searchsorted(inner, np.minimum(boxes[:, axis] + inset, middle))]
        cells[:, axis + 2] = lines[np.searchsorted(inner, np.maximum(boxes[:, axis + 2] - inset, middle)) + 1]
    return frame.to_picture(boxes_to_quads(cells))


def _gaps(boxes: Floats, axis: int) -> Floats:
    """``(P, 2)`` the space between each box and the next one along an axis; where they overlap, its middle."""
    start, end = boxes[:, axis], boxes[:, axis + 2]
    low, high = boxes[:, 1 - axis], boxes[:, 3 - axis]
    gaps = []
    for first in range(0, len(boxes), _CHUNK):
        one = slice(first, first + _CHUNK)
        beside = _share(low[one], high[one], low, high)
        follows = (beside > _BESIDE) & (beside > _share(start[one], end[one], start, end))
        follows &= (start + end)[one, None] < start + end
        nearest = np.where(follows, start, np.inf).min(axis=1)
        gaps.append(np.column_stack([end[one], nearest])[follows.any(axis=1)])
    found = np.concatenate(gaps)
    turned = found[:, 0] > found[:, 1]
    found[turned] = found[turned].mean(axis=1, keepdims=True)
    return np.asarray(found)


def _white(boxes: Floats, axis: int) -> Floats:
    """``(W, 2)`` spaces along an axis that no box reaches into: a line runs there whatever lies beside them."""
    order = np.argsort(boxes[:, axis], kind="stable")
    start, end = boxes[order[1:], axis], np.maximum.accumulate(boxes[order, axis + 2])[:-1]
    return np.asarray(np.column_stack([end, start])[end < start])


def _share(low: Floats, high: Floats, others_low: Floats, others_high: Floats) -> Floats:
    """``(N, M)`` share of the smaller of two extents that both have; negative where they are apart."""
    shared = np.minimum(high[:, None], others_high) - np.maximum(low[:, None], others_low)
    return np.asarray(shared / np.maximum(np.minimum((high - low)[:, None], others_high - others_low), 1e-9))


def _fewest_lines(gaps: Floats) -> Floats:
    """``(L,)`` the fewest positions of which one lies in each gap, each in the middle of what its gaps share."""
    lines = []
    left: NDArray[np.float64] = gaps[np.argsort(gaps[:, 1], kind="stable")]
    while len(left):
        here = left[:, 0] <= left[0, 1]
        lines.append((left[here, 0].max() + left[0, 1]) / 2)
        left = left[~here]
    return np.array(lines)
