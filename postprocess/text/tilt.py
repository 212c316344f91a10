"""How lines of text lie in a picture: their tilt, and how they spread where it was taken at an angle."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from postprocess.arrays import Floats
from postprocess.geometry.boxes import quads_to_boxes, rotate_points
from postprocess.geometry.rulings import project
from postprocess.text.lines import INDEX, SAME_LINE

LONG = 2.0
"""The direction of words is told by those so many times as long as high."""
ALIKE, MOST = 5.0, 0.7
"""Degrees within which this share of them agrees."""
LEAST_LINES = 5
"""Long words that tell the tilt of a picture."""
STEEP = 45.0
"""Degrees from which text is not tilted but turned."""
_LOOSE = 0.3
"""How much more one end of a box may be off the line than the other, in heights."""
_LEVEL = 1e-3
"""Slope of boxes that may have been made level."""
_ENDS = 0.1, 0.9
"""Shares of the words that are turned less than a tilt that is tried: all but a few may have been made level."""
_ROUNDS = 4
"""How often a tilt is refined."""
_BETTER = 0.7
"""A refined one is taken where words then are off their neighbours by less than this share of before."""
_LEAST_PAIRS, _MOST_BESIDE = 3, 200
"""Pairs of neighbours that tell a tilt, and words at one height that are looked at for them."""
_ALIGNED = 0.03
"""Words that are off by less, in heights, are level with their neighbours."""
_STILL = 1e-4
"""A slope that is none."""
_LEAST_SPREAD, _MOST_SPREAD = 0.5, 12.0
"""Degrees between the first line of text and the last: less is none, more is no photograph of a table."""


def text_tilt(quads: Floats, least: int = 1) -> float | None:
    """How far lines of text are turned clockwise, in degrees.

    Long words tell their direction, about: boxes of shorter ones may have been made level. From there on words side
    by side tell it, the better the farther they are apart; where they do not lie on straight lines, that is no help.

    Args:
        quads: ``(W, 4, 2)`` corners of words TL, TR, BR, BL.
        least: Number of long words that it takes.

    Returns:
        None where long words are too few, do not agree, or run up or down.

    >>> slanted = np.array([[[0, 0], [80, 8], [79, 18], [-1, 10]]], float)
    >>> round(text_tilt(slanted), 1), text_tilt(slanted, least=5)
    (5.7, None)
    """
    along, height = quads[:, 1] - quads[:, 0], np.linalg.norm(quads[:, 3] - quads[:, 0], axis=1)
    length = np.linalg.norm(along, axis=1)
    long = length > LONG * height
    if not long.any() or long.sum() < least:
        return None
    angles = np.degrees(np.arctan2(along[long, 1], along[long, 0]))
    tilt = float(np.median(angles))
    if abs(tilt) > STEEP or (np.abs(angles - tilt) < ALIKE).mean() <= MOST:
        return None
    turns = [tilt, _weighted_median(angles, length[long] ** 2), *np.quantile(angles, _ENDS).tolist()]
    refined = [_refine(quads, height, turn) for turn in dict.fromkeys(turns)]
    usual, doubt = refined[0][1], np.degrees(_LOOSE * height[long] / length[long])
    agreeing = [(each, after) for each, _, after in refined if (np.abs(angles - each) <= doubt).mean() > MOST]
    # Where lines lie level with the next ones, fewer words have a neighbour.
    best, after = min(agreeing, key=lambda each: each[1].sum(), default=(tilt, usual))
    return best if _off_neighbours(after) < _BETTER * _off_neighbours(usual) else tilt


def _off_neighbours(off: Floats) -> float:
    """How far those words are off that have a neighbour, on average."""
    return float(np.mean(off[off < SAME_LINE])) if (off < SAME_LINE).any() else SAME_LINE


def _refine(quads: Floats, height: Floats, tilt: float) -> tuple[float, Floats, Floats]:
    """A tilt by which words are level with those beside them, and ``(W,)`` how far each was off and is, in heights."""
    off = []
    for _ in range(_ROUNDS):
        pairs = _neighbours(rotate_points(quads, -tilt, (0.0, 0.0)), height)
        off.append(_off(pairs, len(quads)))
        if len(pairs.run) < _LEAST_PAIRS:
            break
        usual = _weighted_median(pairs.rise / pairs.run, pairs.run)
        fits = np.abs(pairs.rise - usual * pairs.run) <= SAME_LINE / 2 * pairs.size
        slope = float((pairs.run * pairs.rise)[fits].sum() / (pairs.run**2)[fits].sum())
        tilt += float(np.degrees(np.arctan(slope)))
        if abs(slope) < _STILL:
            break
    return tilt, off[0], off[-1]


def text_perspective(quads: Floats, degrees: float, center: tuple[float, float]) -> Floats | None:
    """Homography by which lines of text run alongside one another.

    Args:
        quads: ``(W, 4, 2)`` corners of words TL, TR, BR, BL.
        degrees: Tilt of the text; the homography is that of the picture turned back by it.
        center: Point in pixels that the turn leaves in place.

    Returns:
        ``(3, 3)``; None where the words do not tell, or where lines are parallel as they are.

    >>> boxes = np.array([[x, 40 * row, x + 60, 40 * row + 20] for row in range(8) for x in (0, 200, 400)], float)
    >>> flat = np.stack([boxes[:, [0, 1]], boxes[:, [2, 1]], boxes[:, [2, 3]], boxes[:, [0, 3]]], axis=1)
    >>> seen = project(flat, np.array([[1, 0, 0], [0, 1, 0], [3e-4, 0, 1]]))
    >>> level = project(seen, text_perspective(seen, 0.0, (0.0, 0.0)))
    >>> bool(np.abs(np.diff(level[:3, :, 1], axis=0)).max() < 0.5), text_perspective(flat, 0.0, (0.0, 0.0))
    (True, None)
    """
    if len(quads) < 2 * _LEAST_PAIRS:
        return None
    turned, height = rotate_points(quads, -degrees, center), np.linalg.norm(quads[:, 3] - quads[:, 0], axis=1)
    middle = turned.mean(axis=(0, 1))
    along, y = turned[:, 1] - turned[:, 0], turned[..., 1].mean(axis=1) - middle[1]
    length = np.linalg.norm(along, axis=1)
    slopes = along[:, 1] / np.maximum(along[:, 0], 1e-9)
    told = (length > LONG * height) & (along[:, 0] > 0)
    usual = _off(_neighbours(turned, height), len(quads))
    if _off_neighbours(usual) < _ALIGNED:
        return None
    starts = [(0.0, 0.0)]
    for known in (told, told & (np.abs(slopes) > _LEVEL)):
        if known.sum() >= 2 * _LEAST_PAIRS and np.ptp(y[known]) > 0:
            spread, slope = np.polyfit(y[known], slopes[known], 1, w=length[known])
            starts.append((float(slope), float(spread)))
    found = [_spread(turned, height, middle, start) for start in starts]
    least, best = usual.sum(), None
    for (slope, spread), off in found:
        agree = np.abs(slopes - slope - spread * y)[told] <= _LOOSE * height[told] / length[told]
        reach = np.degrees(abs(spread)) * float(np.ptp(y))
        if _LEAST_SPREAD < reach < _MOST_SPREAD and agree.mean() > MOST and off.sum() < least:
            least, best = off.sum(), (slope, spread, off)
    if best is None or _off_neighbours(best[2]) >= _BETTER * _off_neighbours(usual):
        return None
    return _fan(middle, *best[:2])


def _spread(
    turned: Floats, height: Floats, middle: Floats, start: tuple[float, float]
) -> tuple[tuple[float, float], Floats]:
    """Slope of lines in the middle and its change downwards by words beside each other, and ``(W,)`` how far off."""
    slope, spread = start
    off = np.full(len(turned), SAME_LINE)
    for _ in range(_ROUNDS * 2):
        pairs = _neighbours(project(turned, _fan(middle, slope, spread)), height)
        off = _off(pairs, len(turned))
        if len(pairs.run) < 2 * _LEAST_PAIRS:
            break
        terms = np.column_stack([pairs.run, pairs.run * (pairs.y - middle[1])])
        fits = np.ones(len(terms), bool)
        for _ in range(_ROUNDS):
            more = np.linalg.lstsq(terms[fits], pairs.rise[fits], rcond=None)[0]
            fits = np.abs(pairs.rise - terms @ more) <= SAME_LINE / 2 * pairs.size
            if fits.sum() < 2 * _LEAST_PAIRS:
                return (slope, spread), off
        slope, spread = slope + float(more[0]), spread + float(more[1])
        if np.abs(more * [1, np.ptp(pairs.y)]).max() < _STILL:
            break
    return (slope, spread), off


def _fan(middle: Floats, slope: float, spread: float) -> Floats:
    """Homography that makes lines level which rise by ``slope`` in the middle and by ``spread`` more a pixel down."""
    there, back = (np.array([[1, 0, sign * middle[0]], [0, 1, sign * middle[1]], [0, 0, 1]]) for sign in (-1, 1))
    return np.asarray(back @ np.array([[1, 0, 0], [-slope, 1, 0], [spread, 0, 1]]) @ there, np.float64)


class _Pairs(NamedTuple):
    """Words and the next ones on their right: ``(P,)`` distance along and down, place and height of the first ones."""

    run: Floats
    rise: Floats
    y: Floats
    size: Floats


def _off(pairs: _Pairs, n_words: int) -> Floats:
    """``(W,)`` how far words are off those beside them, in heights; those that have none are far off."""
    return np.concatenate([np.abs(pairs.rise) / pairs.size, np.full(n_words - len(pairs.run), SAME_LINE)])


def _weighted_median(values: Floats, weights: Floats) -> float:
    order = np.argsort(values)
    total = np.cumsum(weights[order])
    return float(values[order][np.searchsorted(total, total[-1] / 2)])


def _neighbours(quads: Floats, height: Floats) -> _Pairs:
    """Each word that has one to its right on its line, and the nearest of those."""
    boxes, middles = quads_to_boxes(quads), quads.mean(axis=1)
    order = np.argsort(middles[:, 1], kind="stable")
    (left, _, right, _), (x, y), size = boxes[order].T, middles[order].T, height[order]
    following, gap = np.full(len(x), -1), np.full(len(x), np.inf)
    for step in range(1, min(len(x), _MOST_BESIDE)):
        near = np.flatnonzero(y[step:] - y[:-step] < SAME_LINE * np.minimum(size[step:], size[:-step]))
        if not len(near):
            break
        for first, second in ((near, near + step), (near + step, near)):
            apart = left[second] - right[first]
            closer = (apart < gap[first]) & (apart > -INDEX * size[first]) & (x[second] > x[first])
            gap[first[closer]], following[first[closer]] = apart[closer], second[closer]
    first = np.flatnonzero(following >= 0)
    second = following[first]
    return _Pairs(x[second] - x[first], y[second] - y[first], y[first], size[first])
