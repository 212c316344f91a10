"""The words of one cell in reading order, and their text."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from postprocess.words import Word

SAME_LINE = 0.5
"""Share of the lower word's height that two words of one line have in common."""
INDEX = 0.2
"""The same of an index and the word it touches."""
SMALL = 0.75
"""Height, as a share of the larger word, up to which a word may be an index."""
TOUCHING = 0.35
"""Distance along the line, in heights of the larger word, up to which two words touch."""
FAR = 0.1
"""Share of the common height that each height of distance weighs up."""


class Placed(NamedTuple):
    """A word seen in reading direction: along the line from ``start`` to ``end``, across it around ``middle``."""

    start: float
    end: float
    middle: float
    height: float
    word: Word


def words_to_text(words: Sequence[Word]) -> str:
    """Text of the words of one cell in reading order, lines separated by a line break.

    >>> from postprocess.words import Word
    >>> a = Word("net", ((0, 0), (9, 0), (9, 5), (0, 5)))
    >>> b = Word("profit", ((12, 0), (25, 0), (25, 5), (12, 5)))
    >>> c = Word("2026", ((0, 7), (9, 7), (9, 12), (0, 12)))
    >>> words_to_text([c, b, a]), words_to_text([])
    ('net profit\\n2026', '')
    """
    if len(words) < 2:
        return words[0].text if words else ""
    return "\n".join(_join([item.word.text for item in line]) for line in _lines(_place(words)))


def words_to_lines(words: Sequence[Word]) -> list[list[Word]]:
    """Lines of words from top to bottom, each from left to right, seen in reading direction."""
    return [[item.word for item in line] for line in _lines(_place(words))]


def _place(words: Sequence[Word]) -> list[Placed]:
    # Plain floats: a cell has a handful of words, for which arrays cost more than they save.
    along_x = sum(word.quad[1][0] - word.quad[0][0] for word in words)
    along_y = sum(word.quad[1][1] - word.quad[0][1] for word in words)
    length = (along_x**2 + along_y**2) ** 0.5
    x, y = (along_x / length, along_y / length) if length else (1.0, 0.0)
    placed = []
    for word in words:
        (ax, ay), (bx, by), (cx, cy), (dx, dy) = word.quad
        middle = ((ay + by + cy + dy) * x - (ax + bx + cx + dx) * y) / 4
        # The side of the box, not the span of its corners: a long line that is a little askew is no higher for it.
        height = abs((dy + cy - ay - by) * x - (dx + cx - ax - bx) * y) / 2
        start, end = min(ax * x + ay * y, dx * x + dy * y), max(bx * x + by * y, cx * x + cy * y)
        placed.append(Placed(start, end, middle, height, word))
    return placed


def _lines(placed: Sequence[Placed]) -> list[list[Placed]]:
    """Chain each word to the line that it continues, then order the lines.

    Upright boxes of tilted text rise or fall from word to word, so a word is compared with the end of a line,
    and lines are ordered by where they would cross one and the same place.
    """
    lines: list[list[Placed]] = []
    for item in sorted(placed, key=lambda item: item.start):
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


def _fit(line: Sequence[Placed], item: Placed) -> float:
    """How well a word continues a line, from 1; after an index the line goes on at full height."""
    last = line[-1]
    high = max(line[-3:], key=lambda other: other.height)
    ends = (last, high) if last.height <= SMALL * high.height else (last,)
    return max(_overlap(end, item) / (INDEX if _is_index(end, item) else SAME_LINE) for end in ends)


def _distance(line: Sequence[Placed], item: Placed) -> float:
    """Handicap of a line that ended far before a word: tilted lines reach one another's height there."""
    return FAR * max(item.start - line[-1].end, 0.0) / max(item.height, 1e-9)


def _is_index(a: Placed, b: Placed) -> bool:
    """Whether the lower one of two words may be an index of the other, which it touches."""
    low, high = sorted((a.height, b.height))
    return low <= SMALL * high and abs(b.start - a.end) <= TOUCHING * high


def _overlap(a: Placed, b: Placed) -> float:
    top = max(a.middle - a.height / 2, b.middle - b.height / 2)
    bottom = min(a.middle + a.height / 2, b.middle + b.height / 2)
    least = min(a.height, b.height)
    if least <= 0:
        return float(bottom >= top)
    return (bottom - top) / least


def _slope(lines: Sequence[Sequence[Placed]]) -> float:
    """How much the lines fall per pixel, from words of about one height in the same line."""
    run = fall = 0.0
    for line in lines:
        full = [item for item in line if item.height >= SMALL * max(other.height for other in line)]
        run += (full[-1].start + full[-1].end - full[0].start - full[0].end) / 2
        fall += full[-1].middle - full[0].middle
    return fall / run if run > 0 else 0.0


def _join(texts: Sequence[str]) -> str:
    # A raised digit keeps its blank: "10" and "3" glued would be another number.
    joined = texts[0]
    for text in texts[1:]:
        joined += text if _is_wide(joined[-1:]) and _is_wide(text[:1]) else " " + text
    return joined


def _is_wide(character: str) -> bool:
    return bool(character) and unicodedata.east_asian_width(character) in "WF"
