"""Lines of text: boxes by line, and the words of a cell in reading order.

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
from statistics import median
from typing import NamedTuple

import numpy as np

from postprocess.arrays import Floats, Ints
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
LONGEST = 4
"""Most digits of a number that stands upright in a column of characters."""
FAR_BELOW = 2.0
"""Most heights of a character from one in a column to the next."""
MANY, APART = 3, 1.2
"""Characters of the first of several columns, at least, and how much further apart the columns are."""
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
            texts.append(_stacked(items) or "\n".join(_join([item.text for item in line]) for line in _lines(items)))
        else:
            texts.append(_join(own))
    return texts


def _stacked(placed: Sequence[_Placed]) -> str:
    """Text of characters that stand one below another, as Chinese in a narrow cell; empty where they do not.

    Several columns are read from the right, as vertical writing is, where the characters of a column are nearer to
    one another than to those of the next; else they are lines with wide spaces.
    """
    last = max(placed, key=lambda item: item.middle)
    if last.text == "☒" and all(len(item.text) == 1 and _is_wide(item.text) for item in placed if item is not last):
        placed = [item._replace(text="区") if item is last else item for item in placed]  # a box stands before its text
    signs = ["".join(filter(str.isalnum, item.text)) for item in placed]
    n_wide = sum(len(sign) == 1 and _is_wide(sign) for sign in signs)
    if 2 * n_wide < len(placed) or not all(len(s) == 1 or (s.isdigit() and len(s) <= LONGEST) for s in signs):
        return ""
    size = median(item.height for item in placed)
    columns: list[list[_Placed]] = []
    for item in sorted(placed, key=lambda item: -(item.start + item.end)):
        if columns and _off(columns[-1][0], item) < SAME_LINE * size:
            columns[-1].append(item)
        else:
            columns.append([item])
    ordered = [sorted(column, key=lambda item: item.middle) for column in columns]
    steps = [b.middle - a.middle for column in ordered for a, b in pairwise(column)]
    if not steps or max(steps) > FAR_BELOW * size:
        return ""
    if len(columns) > 1:
        between = min(_off(a[0], b[0]) for a, b in pairwise(ordered))
        if len(ordered[0]) < MANY or between < APART * median(steps):
            return ""
    return "".join(item.text for column in ordered for item in column)


def _off(a: _Placed, b: _Placed) -> float:
    """Distance of the middles of two words along the line."""
    return abs(a.start + a.end - b.start - b.end) / 2


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
