"""Which edges are the same line: the shortest description of all edges of one axis.

Every cell gives two edges, and where one cell ends and the next one begins, both edges are one joint. Sorted by
position the joints are cut into runs, and each run is one line. A set of runs costs, in nats,

* what it takes to say which run a joint belongs to (``-log`` of the run's share of all joints),
* what it takes to say how far each joint is from its line, where each line has a spread of its own that is expected
  to be a share of its cells (a normal law whose variance has an inverse gamma prior), and
* a fixed price for each line.

The two ends of one cell may not be in one run. Dynamic programming over the sorted joints finds the cheapest runs of
all; joints much closer than the spread are taken together first, so the work grows with n log n.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from math import lgamma, log

import numpy as np

from postprocess.arrays import Floats, Ints
from postprocess.geometry.boxes import connected, quantile
from postprocess.grid.neighbours import steady_sizes

_PRIOR = 4.0
"""Joints that the expected spread of a line counts for."""
_LINE = 10.0
"""Price of a line, nats."""
_TOGETHER = 0.3
"""Joints within this share of the expected spread are never parted."""
_THINNEST = 1e-3
"""No cell counts as thinner than this share of the median: weights must not differ by more than numbers can hold."""
_BLOCK = 2**17
"""Runs whose costs are held at a time."""
_SPREADS = (0.05, 0.2)
"""Least and largest expected distance of an edge from its line, as a share of its cell."""


@dataclass(frozen=True, slots=True)
class Lines:
    """Lines of one axis.

    Args:
        positions: ``(L,)`` in pixels, increasing.
        spans: ``(N, 2)`` line of each cell's start and end.
        spread: Usual distance of an edge from its line, as a share of its cell.
        cost: Length of the description in nats: no cut of the sorted joints into runs has a lower one.
    """

    positions: Floats
    spans: Ints
    spread: float
    cost: float

    def select(self, chosen: Ints) -> Lines:
        """The same lines with the chosen cells only."""
        return replace(self, spans=self.spans[chosen])


def intervals_to_lines(intervals: Floats, neighbours: Ints | None = None) -> Lines:
    """Find the lines that the ends of intervals lie on.

    Args:
        intervals: ``(N, 2)`` start and end of each cell along the axis, start < end.
        neighbours: ``(P, 2)`` cells of which the second begins where the first ends.

    >>> lines = intervals_to_lines(np.array([[0.0, 10], [10, 20], [0, 20]]), np.array([[0, 1]]))
    >>> lines.positions.round(1).tolist(), lines.spans.tolist()
    ([0.0, 10.0, 20.0], [[0, 1], [1, 2], [0, 2]])
    """
    n = len(intervals)
    if not n:
        return Lines(np.zeros(0), np.zeros((0, 2), np.int64), 0.0, 0.0)
    pairs = np.zeros((0, 2), np.int64) if neighbours is None else neighbours
    scales = steady_sizes(intervals)
    scales = np.maximum(scales, _THINNEST * quantile(scales, 0.5))
    spread = _expected_spread(intervals, scales, pairs)
    weight = np.tile((spread * scales) ** -2.0, 2)
    joint = _joints(intervals, weight, pairs)
    total = np.bincount(joint, weight)
    place = np.bincount(joint, weight * intervals.T.ravel()) / total
    order = np.argsort(place, kind="stable")
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    start, end = rank[joint[:n]], rank[joint[n:]]
    # The width of a joint's edges, not of their mean, says what is too close to be told apart.
    atom = _atoms(place[order], (np.bincount(joint) / total)[order] ** 0.5, start, end)
    moments = _Moments.of(place[order], np.asarray(total[order], np.float64), atom)
    firsts, cost = _cheapest_runs(moments, _earliest_starts(atom[start], atom[end], len(moments.count) - 1))
    line_of_atom = np.searchsorted(firsts, np.arange(len(moments.count) - 1), side="right") - 1
    positions = np.round(moments.positions(firsts), 9)  # sums over the whole table leave dust
    spans = line_of_atom[atom[np.column_stack([start, end])]]
    return Lines(positions, spans, spread, cost)


def _expected_spread(intervals: Floats, scales: Floats, pairs: Ints) -> float:
    """How far the gaps between neighbours differ from the usual gap: the noise of two edges."""
    if not len(pairs):
        return sum(_SPREADS) / 2
    sizes = np.minimum(scales[pairs[:, 0]], scales[pairs[:, 1]])
    gaps = (intervals[pairs[:, 1], 0] - intervals[pairs[:, 0], 1]) / sizes
    # 1.48 median absolute deviations are a standard deviation.
    return float(np.clip(1.48 * quantile(np.abs(gaps - quantile(gaps, 0.5)), 0.5) / 2**0.5, *_SPREADS))


def _joints(intervals: Floats, weight: Floats, pairs: Ints) -> Ints:
    """``(2 N,)`` joint of each start and then of each end; each cell's start lies before its end.

    Where that is not so the widest gap of the joint does not belong to it.
    """
    n = len(intervals)
    edges = intervals.T.ravel()
    ties = np.column_stack([pairs[:, 1], n + pairs[:, 0]])
    gaps = np.abs(edges[ties[:, 0]] - edges[ties[:, 1]])
    while True:
        joint = connected(2 * n, ties[:, 0], ties[:, 1])
        place = np.bincount(joint, weight * edges) / np.bincount(joint, weight)
        turned = place[joint[:n]] >= place[joint[n:]]
        if not turned.any():
            return joint
        wrong = np.zeros(len(place), bool)
        wrong[joint[np.tile(turned, 2)]] = True
        owner = joint[ties[:, 0]]
        widest = np.zeros(len(place))
        np.maximum.at(widest, owner, gaps)
        keep = ~wrong[owner] | (gaps < widest[owner])
        if keep.all():
            return joint
        ties, gaps = ties[keep], gaps[keep]


def _atoms(place: Floats, spread: Floats, start: Ints, end: Ints) -> Ints:
    """``(J,)`` number of the group of each sorted joint: joints that are too close to be told apart.

    No group is wider than a share of the spread, or holds both ends of one cell.
    """
    last_start = np.full(len(place), -1)
    np.maximum.at(last_start, end, start)
    atom = np.empty(len(place), np.int64)
    number, first, limit = -1, 0, -np.inf
    for index, (at, width, begins) in enumerate(
        zip(place.tolist(), (_TOGETHER * spread).tolist(), last_start.tolist(), strict=True)
    ):
        if at > limit or begins >= first:
            number, first, limit = number + 1, index, at + width
        else:
            limit = min(limit, at + width)
        atom[index] = number
    return atom


@dataclass(frozen=True, slots=True)
class _Moments:
    """Sums over the groups before each group, each ``(G + 1,)``: joints, weights, weighted positions and squares."""

    count: Ints
    weight: Floats
    first: Floats
    second: Floats
    origin: float

    @staticmethod
    def of(place: Floats, weight: Floats, atom: Ints) -> _Moments:
        origin = float(place.mean())
        centered = place - origin
        count = np.concatenate([[0], np.cumsum(np.bincount(atom))])
        first, second, third = (
            np.concatenate([[0.0], np.cumsum(np.bincount(atom, values))])
            for values in (weight, weight * centered, weight * centered**2)
        )
        return _Moments(count, first, second, third, origin)

    def positions(self, firsts: Ints) -> Floats:
        """Mean of the runs that begin at these groups."""
        bounds = np.append(firsts, len(self.count) - 1)
        return np.asarray(self.origin + np.diff(self.first[bounds]) / np.diff(self.weight[bounds]))


def _earliest_starts(start: Ints, end: Ints, n_atoms: int) -> Ints:
    """For each group the first one that may share its run: no cell has both ends between them."""
    earliest = np.zeros(n_atoms, np.int64)
    np.maximum.at(earliest, end, start + 1)
    return np.minimum(np.maximum.accumulate(earliest), np.arange(n_atoms))


@lru_cache(maxsize=16)
def _count_costs(size: int) -> Floats:
    """``(size + 1,)`` what the cost of a run owes to the number of its joints alone."""
    count = np.arange(size + 1.0)
    gamma = np.array([lgamma((_PRIOR + k) / 2) for k in count.tolist()])
    costs: Floats = gamma[0] - gamma + count / 2 * np.log(_PRIOR / 2) - count * np.log(np.maximum(count, 1)) + _LINE
    return costs


def _cheapest_runs(moments: _Moments, earliest: Ints) -> tuple[Ints, float]:
    """First group of each run of the cheapest cut, and its cost."""
    best, came_from = np.zeros(len(moments.count)), []
    block = np.cumsum(np.arange(1, len(earliest) + 1) - earliest) // _BLOCK
    for lasts in np.split(np.arange(len(earliest)), np.flatnonzero(np.diff(block)) + 1):
        by_count, by_spread = _run_costs(moments, earliest[lasts], lasts + 1)
        at = 0
        for end, low in zip((lasts + 1).tolist(), earliest[lasts].tolist(), strict=True):
            run = slice(at, at := at + end - low)
            cost = best[low:end] + by_count[run] + by_spread[run]
            least = int(cost.argmin())
            best[end] = cost[least]
            came_from.append(low + least)
    firsts, group = [], len(earliest)
    while group:
        group = came_from[group - 1]
        firsts.append(group)
    n_joints = int(moments.count[-1])
    return np.array(firsts[::-1], np.int64), float(best[-1]) + n_joints * log(n_joints)


def _run_costs(moments: _Moments, low: Ints, end: Ints) -> tuple[Floats, Floats]:
    """What each run that begins at ``low`` or later and ends before ``end`` costs by its count, and by its spread."""
    count, weight, first, second = moments.count, moments.weight, moments.first, moments.second
    widths = end - low
    last = np.repeat(end, widths)
    begin = np.arange(len(last)) - np.repeat(np.cumsum(widths) - end, widths)
    size = count[last] - count[begin]
    squares = second[last] - second[begin] - (first[last] - first[begin]) ** 2 / (weight[last] - weight[begin])
    by_count = _count_costs(2 ** int(count[-1]).bit_length())[size]  # of few sizes, so that the tables are kept
    return by_count, (_PRIOR + size) / 2 * np.log1p(np.maximum(squares, 0) / _PRIOR)
