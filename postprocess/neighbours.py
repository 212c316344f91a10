"""Which boxes meet, and which of them continue each other along an axis."""

from __future__ import annotations

import numpy as np
import shapely
from numpy.typing import NDArray

from postprocess.boxes import Floats

Ints = NDArray[np.int64]

_REACH = 0.3
"""Share of their sizes by which two boxes may be apart."""
_BESIDE = 0.45
"""Share of the narrower one over which two boxes lie side by side."""
_LEAST_SIZE = 0.8
"""A box counts as no smaller than this share of the usual size at its place: the noise may have shrunk it."""
_NEAR, _FAR = 0.1, 6.0
"""Neighbours may be this share of a box apart, and this many times the usual distance more."""
_SAMPLE = 120
"""Boxes that the usual gap is measured at, and those looked at behind each of them."""


def meeting_pairs(boxes_xyxy: Floats) -> Ints:
    """``(P, 2)`` indices, first < second, of boxes that meet or nearly meet.

    >>> meeting_pairs(np.array([[0, 0, 10, 10], [11, 0, 20, 10], [50, 0, 60, 10.0]])).tolist()
    [[0, 1]]
    """
    if not len(boxes_xyxy):
        return np.zeros((0, 2), np.int64)
    margin = _REACH * (boxes_xyxy[:, 2:] - boxes_xyxy[:, :2])
    shapes = shapely.box(*np.hstack([boxes_xyxy[:, :2] - margin, boxes_xyxy[:, 2:] + margin]).T)
    first, second = shapely.STRtree(shapes).query(shapes)
    once = first < second
    return np.column_stack([first[once], second[once]])


def usual_gap(boxes_xyxy: Floats, axis: int) -> float:
    """Median distance in pixels from a box to the next one along an axis, 0 within its noise; overlaps are negative.

    >>> usual_gap(np.array([[0, 0, 10, 10], [13, 0, 23, 10], [26, 0, 36, 10.0]]), 0)
    3.0
    """
    across = 1 - axis
    order = np.argsort(boxes_xyxy[:, axis], kind="stable")
    sorted_boxes = boxes_xyxy[order]
    middles = (sorted_boxes[:, axis] + sorted_boxes[:, axis + 2]) / 2
    gaps = []
    # The median of a hundred neighbours is as good as that of all.
    for box in sorted_boxes[:: max(len(boxes_xyxy) // _SAMPLE, 1)]:
        first = int(np.searchsorted(sorted_boxes[:, axis], (box[axis] + box[axis + 2]) / 2))
        later = slice(first, first + _SAMPLE)
        others = sorted_boxes[later]
        shared = np.minimum(box[across + 2], others[:, across + 2]) - np.maximum(box[across], others[:, across])
        width = np.minimum(box[across + 2] - box[across], others[:, across + 2] - others[:, across])
        follows = (shared > _BESIDE * width) & (middles[later] > box[axis + 2])
        if follows.any():
            gaps.append(others[follows.argmax(), axis] - box[axis + 2])
    if not gaps:
        return 0.0
    gap = float(np.median(gaps))
    # Two standard errors of a median, from the median absolute deviation: less than that is noise.
    noise = 3.7 * float(np.median(np.abs(np.array(gaps) - gap))) / len(gaps) ** 0.5
    return gap if abs(gap) > noise else 0.0


def steady_sizes(intervals: Floats) -> Floats:
    """``(N,)`` size of each interval, at least a share of the usual size at the same place.

    >>> steady_sizes(np.array([[0, 10], [0, 9], [4, 5], [0, 10], [0, 10], [0, 10.0]])).tolist()
    [10.0, 9.0, 7.2, 10.0, 10.0, 10.0]
    """
    size = intervals[:, 1] - intervals[:, 0]
    if not len(size):
        return size
    order = np.argsort(intervals.sum(axis=1), kind="stable")
    padded = np.pad(size[order], 2, mode="reflect" if len(size) > 2 else "edge")
    usual = np.median(np.lib.stride_tricks.sliding_window_view(padded, 5), axis=1)
    sizes = np.empty(len(size))
    sizes[order] = np.maximum(size[order], _LEAST_SIZE * usual)
    return sizes


def following_pairs(boxes_xyxy: Floats, pairs: Ints, axis: int) -> Ints:
    """``(Q, 2)`` the pairs that continue each other along an axis, the earlier box first.

    Args:
        boxes_xyxy: ``(N, 4)``.
        pairs: ``(P, 2)`` see ``meeting_pairs``.
        axis: 0 from left to right, 1 from top to bottom.

    >>> boxes = np.array([[0, 10, 10, 20], [0, 0, 10, 11], [10, 0, 20, 10.0]])
    >>> following_pairs(boxes, meeting_pairs(boxes), 1).tolist()
    [[1, 0]]
    """
    middle = boxes_xyxy[:, axis] + boxes_xyxy[:, axis + 2]
    swapped = middle[pairs[:, 0]] > middle[pairs[:, 1]]
    ordered = np.where(swapped[:, None], pairs[:, ::-1], pairs)
    a, b = boxes_xyxy[ordered[:, 0]], boxes_xyxy[ordered[:, 1]]
    across = 1 - axis
    shared = np.minimum(a[:, across + 2], b[:, across + 2]) - np.maximum(a[:, across], b[:, across])
    width = np.minimum(a[:, across + 2] - a[:, across], b[:, across + 2] - b[:, across])
    gap = b[:, axis] - a[:, axis + 2]
    size = steady_sizes(boxes_xyxy[:, [axis, axis + 2]])[ordered].min(axis=1)
    in_order = (a[:, axis] < b[:, axis]) & (a[:, axis + 2] < b[:, axis + 2])
    follows = in_order & (shared > _BESIDE * width) & (np.abs(gap) < 2 * _REACH * size)
    ordered, gap = ordered[follows], (gap / size)[follows]
    # What is much farther apart than most neighbours are has a missing cell between.
    return np.asarray(ordered[np.abs(gap) < _FAR * np.median(np.abs(gap)) + _NEAR]) if len(gap) else ordered
