"""Which boxes meet, and which of them continue each other along an axis."""

from __future__ import annotations

import numpy as np
import shapely

from postprocess.arrays import Floats, Ints
from postprocess.geometry.boxes import quantile

_REACH = 0.3
"""Share of their sizes by which two boxes may be apart."""
_BESIDE = 0.45
"""Share of the narrower one over which two boxes lie side by side."""
_LEAST_SIZE = 0.8
"""A box counts as no smaller than this share of the usual size at its place: the noise may have shrunk it."""
_AT = 0.3
"""Share of its size by which an edge may be off another one at the same line."""
_ERRORS = 3.0
"""A usual gap of less than this many standard errors is noise."""
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
    ordered = boxes_xyxy[np.argsort(boxes_xyxy[:, axis], kind="stable")]
    start, low, end, high = ordered[:, [axis, 1 - axis, axis + 2, 3 - axis]].T.copy()
    middle, n = (start + end) / 2, len(start)
    # The median of a hundred neighbours is as good as that of all.
    box = np.arange(0, n, max(n // _SAMPLE, 1))
    later = np.searchsorted(start, middle[box])[:, None] + np.arange(min(_SAMPLE, n))
    exists, later = later < n, np.minimum(later, n - 1)
    this, other = box[:, None], later
    shared = np.minimum(high[this], high[other]) - np.maximum(low[this], low[other])
    width = np.minimum((high - low)[this], (high - low)[other])
    follows = exists & (shared > _BESIDE * width) & (middle[other] > end[this])
    found = np.flatnonzero(follows.any(axis=1))
    if not len(found):
        return 0.0
    box, after = box[found], later[found, follows[found].argmax(axis=1)]
    gaps, scales = start[after] - end[box], np.minimum((end - start)[box], (end - start)[after])
    # The noise is a share of the size: small boxes tell the gap best, but a few of them may have none beside them.
    medians = [_clear_median(gaps, weights) for weights in (np.ones(len(gaps)), 1 / scales)]
    return min(medians, key=abs) if min(medians) * max(medians) > 0 else 0.0


def _clear_median(values: Floats, weights: Floats) -> float:
    """The median, 0 where it may be noise."""
    median = weighted_median(values, weights)
    deviation = 1.48 * weighted_median(np.abs(values - median), weights)
    error = 1.25 * deviation * float((weights**2).sum() ** 0.5 / weights.sum())
    return median if abs(median) > _ERRORS * error else 0.0


def weighted_median(values: Floats, weights: Floats) -> float:
    """The value with half of the weight below it; the mean of two where both halves are even.

    >>> weighted_median(np.array([1.0, 9.0, 3.0]), np.array([1.0, 1.0, 5.0]))
    3.0
    >>> weighted_median(np.array([1.0, 9.0]), np.ones(2))
    5.0
    """
    order = np.argsort(values)
    below = np.cumsum(weights[order]) / weights.sum()
    low, high = np.searchsorted(below, [0.5 - 1e-9, 0.5 + 1e-9])
    return float(values[order[[low, high]]].mean())


def steady_sizes(intervals: Floats) -> Floats:
    """``(N,)`` size of each interval, at least a share of the usual size at the same place.

    >>> steady_sizes(np.array([[0, 10], [0, 9], [4, 5], [0, 10], [0, 10], [0, 10.0]])).tolist()
    [10.0, 9.0, 7.2, 10.0, 10.0, 10.0]
    """
    size = intervals[:, 1] - intervals[:, 0]
    if not len(size):
        return size
    order = np.argsort(intervals.sum(axis=1), kind="stable")
    ordered, n = size[order], len(size)
    # Beyond the ends the order is turned round.
    before, after = (ordered[2:0:-1], ordered[-2:-4:-1]) if n > 2 else (ordered[[0, 0]], ordered[[-1, -1]])
    around = np.concatenate([before, ordered, after])
    usual = np.sort([around[shift : shift + n] for shift in range(5)], axis=0)[2]
    sizes = np.empty(len(size))
    sizes[order] = np.maximum(ordered, _LEAST_SIZE * usual)
    return sizes


def edge_scales(intervals: Floats) -> Floats:
    """``(N, 2)`` least size of the intervals that start or end where an interval starts and where it ends.

    The noise of an edge is a share of the smaller slot beside it, and that of a wide interval may be a narrow one's.

    >>> edge_scales(np.array([[0, 100], [102, 109], [109, 200.0]])).tolist()
    [[100.0, 7.0], [7.0, 7.0], [7.0, 91.0]]
    """
    edges, sizes = intervals.T.ravel(), np.tile(steady_sizes(intervals), 2)
    order = np.argsort(edges, kind="stable")
    first = np.searchsorted(edges[order], edges - _AT * sizes, side="left")
    count = np.searchsorted(edges[order], edges + _AT * sizes, side="right") - first
    # A range is two that overlap, as long as a power of two; what holds for the longer ones holds for their halves.
    power = np.frexp(count)[1] - 1
    least = np.full((int(power.max(initial=0)) + 1, len(edges)), np.inf)
    for start in (first, first + count - 2**power):
        np.minimum.at(least, (power, start), sizes)
    for level in range(len(least) - 1, 0, -1):
        half = 2 ** (level - 1)
        least[level - 1] = np.minimum(least[level - 1], least[level])
        least[level - 1, half:] = np.minimum(least[level - 1, half:], least[level, :-half])
    scales: Floats = np.empty(len(edges))
    scales[order] = least[0]
    return np.asarray(scales.reshape(2, -1).T)


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
    scales = edge_scales(boxes_xyxy[:, [axis, axis + 2]])
    size = np.minimum(scales[ordered[:, 0], 1], scales[ordered[:, 1], 0])
    in_order = (a[:, axis] < b[:, axis]) & (a[:, axis + 2] < b[:, axis + 2])
    follows = in_order & (shared > _BESIDE * width) & (np.abs(gap) < 2 * _REACH * size)
    ordered, gap = ordered[follows], (gap / size)[follows]
    # What is much farther apart than most neighbours are has a missing cell between.
    return np.asarray(ordered[np.abs(gap) < _FAR * quantile(np.abs(gap), 0.5) + _NEAR]) if len(gap) else ordered
