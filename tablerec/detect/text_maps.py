"""Lines of text from CellNet's maps."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

STRIDE = 4
"""Pixels between two positions of the maps."""
UNIT = 16.0
"""Sides of lines are given in multiples of this many pixels."""
THRESHOLD = 0.6
"""Least probability of a core."""
_LEAST_AREA = 2
"""Quarters of positions that make a core."""
_LONG = 3.0
"""A line so many times as long as high has a direction of its own; others follow the picture's."""
_OVERLAP = (0.4, 0.7)
"""Bits of one line share so much of the lower one's height along the line, and across."""
_LEVEL = 0.15
"""A line whose ends differ by less of its height is level: cut out along whole pixels, small print is sharper."""


def decode_lines(
    maps: NDArray[np.floating], threshold: float = THRESHOLD
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Find lines of text in the maps of one picture.

    Each connected core is a line. Its sides are where the positions near them say, on average: all positions know
    how far it is to the upper and the lower side, those at an end where the line ends.

    Args:
        maps: ``(8, h, w)`` float, see ``tablerec.models.cellnet``.
        threshold: Least probability of a core, 0 to 1.

    Returns:
        ``(N, 4, 2)`` float32 rectangles in pixels of the network's input, TL, TR, BR, BL: TL is at the upper left in
        the picture, whichever way the text runs; ``(N,)`` float32 mean probabilities.

    >>> x, y = np.meshgrid(4 * np.arange(16) + 2, 4 * np.arange(8) + 2)
    >>> maps = np.stack([np.full((8, 16), -9.0)] * 4 + [x - 5, y - 8, 44 - x, 20 - y])  # a line from 5, 8 to 44, 20
    >>> maps[4:] /= UNIT
    >>> maps[:4, 3:4, 2:10] = 9
    >>> decode_lines(maps)[0].tolist()
    [[[5.0, 8.0], [44.0, 8.0], [44.0, 20.0], [5.0, 20.0]]]
    """
    import cv2

    _, height, width = maps.shape
    limit = float(np.log(threshold / (1 - threshold))) if 0 < threshold < 1 else (-np.inf, np.inf)[threshold >= 1]
    is_core = np.ascontiguousarray(
        (maps[:4] > limit).astype(np.uint8).reshape(2, 2, height, width).transpose(2, 0, 3, 1)
    )
    _, quarters = cv2.connectedComponents(is_core.reshape(2 * height, 2 * width), connectivity=4)
    # From here on by position: where two cores share one, it is the later core's.
    upper, lower = (np.maximum(rows[:, 0::2], rows[:, 1::2]) for rows in (quarters[0::2], quarters[1::2]))
    labels = np.maximum(upper, lower).ravel()
    at = np.flatnonzero(labels)
    if not len(at):
        return np.empty((0, 4, 2), np.float32), np.empty(0, np.float32)
    at = at[np.argsort(labels[at], kind="stable")]
    parts = _Parts(labels[at])
    found = maps.reshape(8, -1)[:, at].astype(np.float64)
    middles = np.stack([at % width, at // width]) * STRIDE + STRIDE / 2.0
    sides = found[4:] * UNIT
    quads = _rectangles(parts, middles, sides, _directions(parts, middles, sides))
    area = parts.sizes * parts.mean((found[:4] > limit).sum(axis=0, dtype=np.float64))
    scores = parts.mean(1 / (1 + np.exp(-found[:4].max(axis=0).clip(-50))))
    kept = area >= _LEAST_AREA
    return _join_bits(quads[kept], scores[kept].astype(np.float32))


class _Parts:
    """Values of positions, reduced by the part that each belongs to; positions are sorted by it."""

    def __init__(self, labels: NDArray[np.integer]) -> None:
        self.starts = np.flatnonzero(np.r_[True, labels[1:] != labels[:-1]])
        counts = np.diff(np.r_[self.starts, len(labels)])
        self.sizes = counts.astype(np.float64)
        self.owner = np.repeat(np.arange(len(counts)), counts)

    def mean(self, values: Floats) -> Floats:
        return np.asarray(np.add.reduceat(values, self.starts) / self.sizes)

    def mean_where(self, values: Floats, chosen: NDArray[np.bool_]) -> Floats:
        """Means of what is chosen; something is in each part."""
        total = np.add.reduceat(values * chosen, self.starts)
        return np.asarray(total / np.add.reduceat(chosen, self.starts, dtype=np.int64).clip(1))

    def low(self, values: Floats) -> Floats:
        return np.asarray(np.minimum.reduceat(values, self.starts))

    def high(self, values: Floats) -> Floats:
        return np.asarray(np.maximum.reduceat(values, self.starts))


def _directions(parts: _Parts, middles: Floats, sides: Floats) -> Floats:
    """``(N,)`` angles in radians by which each part is turned, at most 45 degrees: by its middle line.

    That of a wide part lies between its upper and its lower side, that of a high part between the left and the right.
    """
    centre = middles + (sides[2:] - sides[:2]) / 2
    sizes = np.stack([parts.high(each) - parts.low(each) for each in middles])
    is_wide = sizes[0] >= sizes[1]
    run, rise = np.where(is_wide[parts.owner], (middles[0], centre[1]), (middles[1], -centre[0]))
    run = run - parts.mean(run)[parts.owner]
    steep = parts.mean(run * rise) / parts.mean(run * run).clip(1e-6)
    length = sizes.max(axis=0) + STRIDE
    height = parts.mean(np.where(is_wide[parts.owner], sides[1] + sides[3], sides[0] + sides[2])).clip(STRIDE)
    angle = np.arctan(steep.clip(-1, 1))
    is_long = length > _LONG * height
    usual = _weighted_median(angle[is_long], length[is_long]) if is_long.any() else 0.0
    angle = np.where(is_long, angle, usual)
    return np.asarray(np.where(np.abs(np.sin(angle)) * length < _LEVEL * height, 0.0, angle))


def _weighted_median(values: Floats, weights: Floats) -> float:
    order = np.argsort(values)
    total = np.cumsum(weights[order])
    return float(values[order][np.searchsorted(total, total[-1] / 2)])


def _rectangles(parts: _Parts, middles: Floats, sides: Floats, angle: Floats) -> NDArray[np.float32]:
    """Rectangles around the cores.

    Args:
        parts: Which core each position belongs to.
        middles: ``(2, P)`` x and y of the positions.
        sides: ``(4, P)`` pixels from there to the left, upper, right and lower side.
        angle: ``(N,)`` of each core, radians.
    """
    cos, sin = np.cos(angle), np.sin(angle)
    c, s = (cos[parts.owner], sin[parts.owner]) if angle.any() else (1.0, 0.0)
    places = c * middles[0] + s * middles[1], c * middles[1] - s * middles[0]
    ends = [(parts.low(each), parts.high(each)) for each in places]
    shorter = 2 * np.minimum(*(high - low for low, high in ends)) + STRIDE
    reach = (0.75 * shorter + STRIDE)[parts.owner]
    found: list[Floats] = []
    for side in range(4):
        axis, is_last = side % 2, side >= 2
        end = ends[axis][is_last]
        near = np.abs(places[axis] - end[parts.owner]) <= reach
        if is_last:
            found.append(np.maximum(parts.mean_where(places[axis] + sides[side], near), end + 1))
        else:
            found.append(np.minimum(parts.mean_where(places[axis] - sides[side], near), end - 1))
    left, top, right, bottom = found
    u, v = np.stack([left, right, right, left], axis=1), np.stack([top, top, bottom, bottom], axis=1)
    x, y = u * cos[:, None] - v * sin[:, None], u * sin[:, None] + v * cos[:, None]
    return np.asarray(np.stack([x, y], axis=2), np.float32)


def _join_bits(
    quads: NDArray[np.float32], scores: NDArray[np.float32]
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Join what is left of a line whose core has a gap: either bit ends where the line does, so they overlap."""
    low, high = quads.min(axis=1), quads.max(axis=1)
    order = np.argsort(low[:, 0], kind="stable")
    ends = np.searchsorted(low[order, 0], high[order, 0])
    joined, best, owner = quads.copy(), scores.copy(), np.arange(len(quads))
    for place, first in enumerate(order.tolist()):
        near = order[place + 1 : ends[place]]
        for second in near[(low[near, 1] < high[first, 1]) & (high[near, 1] > low[first, 1])].tolist():
            one, other = owner[[first, second]].tolist()
            union = None if one == other else _union(joined[[one, other]])
            if union is not None:
                joined[one], best[one] = union, max(best[one], best[other])
                owner[owner == other] = one
    kept = owner == np.arange(len(quads))
    return joined[kept], best[kept]


def _union(pair: NDArray[np.float32]) -> NDArray[np.float32] | None:
    """The rectangle around two bits of a line, in the direction of the larger; None where they are of two lines."""
    large = pair[int(np.argmax(np.ptp(pair, axis=1).prod(axis=1)))]
    axes = np.stack([large[1] - large[0], large[3] - large[0]])
    axes /= np.linalg.norm(axes, axis=1, keepdims=True)
    corners = pair @ axes.T
    low, high = corners.min(axis=1), corners.max(axis=1)
    across = int(np.argmin(np.ptp(large @ axes.T, axis=0)))
    least = np.array(_OVERLAP if across == 1 else _OVERLAP[::-1]) * (high - low)[:, across].min()
    if (high.min(axis=0) - low.max(axis=0) < least).any():
        return None
    (left, top), (right, bottom) = low.min(axis=0), high.max(axis=0)
    return np.asarray(np.array([[left, top], [right, top], [right, bottom], [left, bottom]], np.float32) @ axes)
