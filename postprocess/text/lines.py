"""Lines of text: boxes by line, the words of a cell in reading order, and how far text is tilted.

Two jobs, two ways. ``number_lines`` orders the text of a whole table or page in a frame in which it is level: lines
are where middles are close, however far words lie apart. ``words_to_texts`` orders the few words of a cell in whatever
direction they run: it follows a line from word to word, because within a cell words touch, an index is off the
middle of its line, and upright boxes of tilted text overlap the line above; on a page such a chain would run from
one line into the next.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence
from itertools import pairwise, starmap
from typing import NamedTuple

import numpy as np

from postprocess.arrays import Floats, Ints
from postprocess.geometry.boxes import quads_to_boxes, rotate_points
from postprocess.text.bidi import visual_to_logical
from postprocess.word import Word, Words

SAME_LINE = 0.5
"""Two words are on one line where they have this share of the lower one's height in common, or, which is the same for
words of one height, where their middles are closer than this share of it."""
INDEX = 0.2
"""The same of an index and the word it touches."""
SMALL = 0.75
"""Height, as a share of the larger word, up to which a word may be an index."""
TOUCHING = 0.35
"""Distance along the line, in heights of the larger word, up to which two words touch."""
LONG = 2.0
"""The direction of words is told by those so many times as long as high."""
ALIKE, MOST = 5.0, 0.7
"""Degrees within which this share of them agrees."""
STEEP = 45.0
"""Degrees from which text is not tilted but turned."""
_LOOSE = 0.3
"""How much more one end of a box may be off the line than the other, in heights."""
_ENDS = 0.1, 0.9
"""Shares of the words that are turned less than a tilt that is tried: all but a few may have been made level."""
_ROUNDS = 4
"""How often a tilt is refined."""
_BETTER = 0.7
"""A refined one is taken where words then are off their neighbours by less than this share of before."""
_LEAST_PAIRS, _MOST_BESIDE = 3, 200
"""Pairs of neighbours that tell a tilt, and words at one height that are looked at for them."""
FAR = 0.1
"""Share of the common height that each height of distance weighs up."""


class _Placed(NamedTuple):
    """A word seen in reading direction: along the line from ``start`` to ``end``, across it around ``middle``."""

    start: float
    end: float
    middle: float
    height: float
    text: str


def number_lines(boxes_xyxy: Floats) -> Ints:
    """``(N,)`` text line of each box, from top to bottom: boxes whose middles are close share one.

    Args:
        boxes_xyxy: ``(N, 4)`` in a frame in which text is level.

    >>> number_lines(np.array([[60.0, 21, 90, 31], [0, 0, 30, 10], [40, 2, 90, 12]])).tolist()
    [1, 0, 0]
    """
    middles, heights = boxes_xyxy[:, [1, 3]].mean(axis=1), boxes_xyxy[:, 3] - boxes_xyxy[:, 1]
    order = np.argsort(middles, kind="stable")
    numbers = []
    number, total, count, least = -1, 0.0, 0, 0.0
    for middle, height in zip(middles[order].tolist(), heights[order].tolist(), strict=True):
        least = min(height, least)
        if not count or middle - total / count >= SAME_LINE * least:
            number, total, count, least = number + 1, 0.0, 0, height
        total, count = total + middle, count + 1
        numbers.append(number)
    line = np.empty(len(order), np.int64)
    line[order] = numbers
    return line


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
        run, rise, size = _neighbours(rotate_points(quads, -tilt, (0.0, 0.0)), height)
        alone = np.full(len(quads) - len(run), SAME_LINE)
        off.append(np.concatenate([np.abs(rise) / size, alone]))
        if len(run) < _LEAST_PAIRS:
            break
        fits = np.abs(rise - _weighted_median(rise / run, run) * run) <= SAME_LINE / 2 * size
        tilt += float(np.degrees(np.arctan((run * rise)[fits].sum() / (run * run)[fits].sum())))
    return tilt, off[0], off[-1]


def _weighted_median(values: Floats, weights: Floats) -> float:
    order = np.argsort(values)
    total = np.cumsum(weights[order])
    return float(values[order][np.searchsorted(total, total[-1] / 2)])


def _neighbours(quads: Floats, height: Floats) -> tuple[Floats, Floats, Floats]:
    """How far the next word to the right is from each that has one, along and down, and the height of that word."""
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
    return x[following[first]] - x[first], y[following[first]] - y[first], size[first]


def words_to_text(words: Iterable[Word]) -> str:
    """Text of the words of one cell in reading order, lines separated by a line break.

    >>> a = Word("net", ((0, 0), (9, 0), (9, 5), (0, 5)))
    >>> b = Word("profit", ((12, 0), (25, 0), (25, 5), (12, 5)))
    >>> c = Word("2026", ((0, 7), (9, 7), (9, 12), (0, 12)))
    >>> words_to_text([c, b, a]), words_to_text([])
    ('net profit\\n2026', '')
    """
    words = Words.of(words)
    return words_to_texts(words, np.zeros(len(words), np.int64), 1)[0]


def words_to_texts(words: Words, owner: Ints, n_cells: int) -> list[str]:
    """Text of each of several cells in reading order, lines separated by a line break.

    Args:
        words: The words of all cells, in any order.
        owner: ``(W,)`` the cell of each word; those below 0 are in none.
        n_cells: Number of cells; those without words have no text.
    """
    placed = np.flatnonzero(owner >= 0)
    places = _place(words.quads[placed], owner[placed])
    order = np.lexsort((places[:, 0], owner[placed]))
    places, owner = places[order], owner[placed[order]]
    ordered = list(map(words.texts.__getitem__, placed[order].tolist()))
    breaks = (owner[1:] == owner[:-1]) & (_shares(places[:-1], places[1:]) < SAME_LINE)
    n_breaks = np.bincount(owner[1:][breaks], minlength=n_cells).tolist()
    bounds = np.searchsorted(owner, np.arange(n_cells + 1)).tolist()
    texts = []
    for (start, end), several in zip(pairwise(bounds), n_breaks, strict=True):
        own = ordered[start:end]
        if several:
            items = list(starmap(_Placed, zip(*places[start:end].T.tolist(), own, strict=True)))
            texts.append("\n".join(_join([item.text for item in line]) for line in _lines(items)))
        else:
            texts.append(_join(own))
    return texts


def _place(quads: Floats, owner: Ints) -> Floats:
    """``(W, 4)`` start, end, middle and height of each word, seen in the reading direction of its cell."""
    x, y = (np.bincount(owner, values)[owner] for values in (quads[:, 1] - quads[:, 0]).T)
    length = np.hypot(x, y)
    x, y = np.where(length > 0, [x, y], [[1.0], [0.0]]) / np.where(length > 0, length, 1.0)
    u, v = (quads @ np.stack([[x, y], [-y, x]]).transpose(2, 1, 0)).transpose(2, 0, 1)
    # The side of the box, not the span of its corners: a long line that is a little askew is no higher for it.
    height = np.abs(v[:, 2] + v[:, 3] - v[:, 0] - v[:, 1]) / 2
    return np.column_stack([u[:, [0, 3]].min(axis=1), u[:, [1, 2]].max(axis=1), v.mean(axis=1), height])


def _shares(a: Floats, b: Floats) -> Floats:
    """``(W,)`` share of the lower word's height that words have in common, of their ``(W, 4)`` places."""
    shared = np.minimum(a[:, 2] + a[:, 3] / 2, b[:, 2] + b[:, 3] / 2) - np.maximum(
        a[:, 2] - a[:, 3] / 2, b[:, 2] - b[:, 3] / 2
    )
    least = np.minimum(a[:, 3], b[:, 3])
    return np.asarray(np.where(least > 0, shared / np.where(least > 0, least, 1.0), shared >= 0))


def _lines(placed: Sequence[_Placed]) -> list[list[_Placed]]:
    """Chain each word, from left to right, to the line that it continues, then order the lines.

    Upright boxes of tilted text rise or fall from word to word, so a word is compared with the end of a line,
    and lines are ordered by where they would cross one and the same place.
    """
    lines: list[list[_Placed]] = []
    for item in placed:
        fits = [(_fit(line, item), line) for line in lines]
        fitting = [(fit - _distance(line, item), number) for number, (fit, line) in enumerate(fits) if fit >= 1]
        if fitting:
            lines[max(fitting)[1]].append(item)
        else:
            lines.append([item])
    slope = _slope(lines)
    return sorted(
        lines, key=lambda line: sum(item.middle - slope * (item.start + item.end) / 2 for item in line) / len(line)
    )


def _fit(line: Sequence[_Placed], item: _Placed) -> float:
    """How well a word continues a line, from 1; after an index the line goes on at full height."""
    last = line[-1]
    high = max(line[-3:], key=lambda other: other.height)
    ends = (last, high) if last.height <= SMALL * high.height else (last,)
    shares = [(_overlap(end, item), end) for end in ends]
    return max(share / (INDEX if share >= INDEX and _is_index(end, item) else SAME_LINE) for share, end in shares)


def _distance(line: Sequence[_Placed], item: _Placed) -> float:
    """Handicap of a line that ended far before a word: tilted lines reach one another's height there."""
    return FAR * max(item.start - line[-1].end, 0.0) / max(item.height, 1e-9)


def _is_index(a: _Placed, b: _Placed) -> bool:
    """Whether the lower one of two words may be an index of the other, which it touches."""
    low, high = sorted((a.height, b.height))
    return low <= SMALL * high and abs(b.start - a.end) <= TOUCHING * high


def _overlap(a: _Placed, b: _Placed) -> float:
    top = max(a.middle - a.height / 2, b.middle - b.height / 2)
    bottom = min(a.middle + a.height / 2, b.middle + b.height / 2)
    least = min(a.height, b.height)
    if least <= 0:
        return float(bottom >= top)
    return (bottom - top) / least


def _slope(lines: Sequence[Sequence[_Placed]]) -> float:
    """How much the lines fall per pixel, from words of about one height in the same line."""
    run = fall = 0.0
    for line in lines:
        full = [item for item in line if item.height >= SMALL * max(other.height for other in line)]
        run += (full[-1].start + full[-1].end - full[0].start - full[0].end) / 2
        fall += full[-1].middle - full[0].middle
    return fall / run if run > 0 else 0.0


def _join(texts: Sequence[str]) -> str:
    """Text of a line of words, which come from left to right."""
    # A raised digit keeps its blank: "10" and "3" glued would be another number.
    if all(map(str.isascii, texts)):
        return " ".join(texts)
    texts = [texts[index] for index in visual_to_logical(texts)]
    joined = texts[0]
    for text in texts[1:]:
        joined += text if _is_wide(joined[-1:]) and _is_wide(text[:1]) else " " + text
    return joined


def _is_wide(character: str) -> bool:
    return bool(character) and unicodedata.east_asian_width(character) in "WF"
