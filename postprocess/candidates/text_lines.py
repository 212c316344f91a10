"""The text of a grid line by line, and what each line holds in each column."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby, pairwise
from operator import itemgetter
from statistics import median

import numpy as np

from postprocess.arrays import Floats, Ints
from postprocess.geometry.boxes import quads_to_boxes
from postprocess.grid.layout import Layout
from postprocess.text.lines import number_lines
from postprocess.text.numbers import is_number, text_to_form
from postprocess.word import Word, Words

HAN = 0x2E80
"""From here on scripts have no blanks between words: a line of theirs ends anywhere."""
_ITEM = re.compile(r"[-–—•·*■●○▪‣]\s*\w|(?:[a-zA-Z]|\d{1,2})[.)]\s|[(（](?:[a-z]|[ivx]{2,4}|\d{1,2})[)）]\s?\w")
_TIMES = re.compile(r"\d+(?:[.,]\d+)?\s*(?:[^\W\d_]{1,3}\.?\s*)??[xX×✗*@]\s*[$€£¥￥]?\d+\s?[.,]\d\d\b")
_OPEN = re.compile(
    r"(?:[,，、(（&/]|[\w%][-–]|\b(?:a|an|and|as|at|by|due|for|from|in|including|of|on|or|other|per|than"
    r"|that|the|through|to|with))$",
    re.IGNORECASE,
)


_UNENDED = re.compile(r"\d(?:,|%? ?[-–—])$")
"""So end values that are only the begin of a range, or of a date."""
_NUMBER_AHEAD = re.compile(r"\D{0,4}\d")
"""So begins what such a text goes on with, a currency before it or not."""
_NUMBERS = re.compile(r"\d+")
_FIRST_DIGITS, _MORE_DIGITS = re.compile(r"\d{1,3}"), re.compile(r"\d{3}(?: \d{3})*")
"""What stands before and behind a blank within a number."""
_SEVERAL = 2
"""So many other values of one shape are no chance."""
_TIGHT = -0.1
"""Logarithm of the distance of two lines of one text in the usual distance of lines, at most."""


@dataclass(frozen=True)
class Piece:
    """The text of one cell on one line.

    Args:
        text: Its words, with blanks between them.
        x0: Left end in the frame of the layout.
        x1: Right end there.
        first: Width of the first word.
    """

    text: str
    x0: float
    x1: float
    first: float

    @cached_property
    def is_number(self) -> bool:
        """Whether all of it reads as one number that ends there."""
        return is_number(self.text) and _UNENDED.search(self.text) is None

    @property
    def goes_on(self) -> bool:
        """Whether it begins like the rest of a sentence."""
        return not self.is_item and (self.text[:1].islower() or self.text[:1] in "(（,;&")

    @cached_property
    def is_item(self) -> bool:
        """Whether it begins like an item of a list.

        >>> [Piece(text, 0, 9, 9).is_item for text in ("- Secured", "(a) Land", "2. Cash", "-12", "(yrs)")]
        [True, True, True, True, False]
        """
        return _ITEM.match(self.text) is not None

    @cached_property
    def shape(self) -> str:
        """The text with a 0 for each run of digits.

        >>> Piece("41,521 (25.8)", 0, 9, 9).shape
        '0,0 (0.0)'
        """
        return _NUMBERS.sub("0", self.text)

    @property
    def is_times(self) -> bool:
        """Whether it begins with a quantity times a price, as the line below an article does on a receipt.

        >>> [Piece(text, 0, 9, 9).is_times for text in ("2 x 1,35", "0,412 kg x 18,90", "3X36", "2 x")]
        [True, True, False, False]
        """
        return _TIMES.match(self.text) is not None

    @cached_property
    def is_open(self) -> bool:
        """Whether it ends so that more must follow.

        >>> [Piece(text, 0, 9, 9).is_open for text in ("Cash and", "0.9% –", "28,", "Cash", "$ -", "8,70 A")]
        [True, True, True, False, False, False]
        """
        return (_UNENDED if is_number(self.text) else _OPEN).search(self.text) is not None


@dataclass(frozen=True)
class TextLine:
    """One line of the text of one row.

    Args:
        row: Row of the layout.
        middle: Height of its middle in the frame of the layout.
        words: ``(W,)`` indices of its words.
        pieces: What it holds, by the first column of the cells.
    """

    row: int
    middle: float
    words: Ints
    pieces: dict[int, Piece]

    @cached_property
    def values(self) -> set[tuple[int, str]]:
        """Columns in which it holds a value, and the form of that: no cell holds two of one form."""
        whole = {column: piece for column, piece in self.pieces.items() if not piece.is_open}
        forms = {column: "0" if piece.is_number else text_to_form(piece.text) for column, piece in whole.items()}
        return {(column, form) for column, form in forms.items() if form}

    @property
    def is_repeated(self) -> bool:
        """Whether it holds the same text in several columns and nothing else, as a line of units does."""
        texts = {piece.text for piece in self.pieces.values()}
        return len(self.pieces) > 1 and len(texts) == 1 and not is_number(texts.pop())


def complete_values(lines: Sequence[TextLine], distance: Floats) -> list[bool]:
    """Whether of each two lines the lower one holds nothing but the rests of values that begin in the upper one.

    Args:
        lines: L lines of a table.
        distance: ``(L - 1,)`` logarithm of the distance of each two in usual distances.

    >>> pieces = [Piece(text, 0, 9, 9) for text in ("7 (1.5)", "3 (0.5)", "8", "(2.5)")]
    >>> lines = [TextLine(row, 20.0 * row, np.array([row]), {1: piece}) for row, piece in enumerate(pieces)]
    >>> complete_values(lines, np.zeros(3))
    [False, False, True]
    """
    shapes = Counter((column, piece.shape) for line in lines for column, piece in line.pieces.items())
    has_blanks = sum(count for (_, shape), count in shapes.items() if shape == "0 0") >= _SEVERAL
    return [
        below.pieces.keys() <= above.pieces.keys()
        and all(
            _is_rest(above.pieces[column], piece, column, shapes)
            or (is_tight and _are_one_number(above.pieces[column], piece))
            for column, piece in below.pieces.items()
        )
        for (above, below), is_tight in zip(pairwise(lines), has_blanks & (distance < _TIGHT), strict=True)
    ]


def _is_rest(above: Piece, below: Piece, column: int, shapes: Counter[tuple[int, str]]) -> bool:
    """Whether a range goes on below, or both together look as other texts of their column do and one alone does not."""
    if _UNENDED.search(above.text):
        return _NUMBER_AHEAD.match(below.text) is not None
    alone = min(shapes[column, above.shape], shapes[column, below.shape]) == 1
    return alone and "0" in below.shape and shapes[column, f"{above.shape} {below.shape}"] >= _SEVERAL


def _are_one_number(above: Piece, below: Piece) -> bool:
    """Whether two texts may be one number, parted at a blank between thousands."""
    return bool(_FIRST_DIGITS.fullmatch(above.text) and _MORE_DIGITS.fullmatch(below.text))


def layout_to_lines(layout: Layout, words: Words) -> list[TextLine]:
    """The lines of text from top to bottom, row by row.

    Cells over several rows, and lines of signs alone, are left out.

    >>> from postprocess.geometry.boxes import boxes_to_quads
    >>> from postprocess.geometry.frame import UPRIGHT
    >>> layout = Layout(np.array([0.0, 40.0]), np.array([0.0, 50.0, 99.0]), UPRIGHT, np.array([[0, 1]]))
    >>> boxes = [[5, 5, 25, 15], [5, 25, 25, 35], [60, 26, 80, 36]]
    >>> words = Words(Word(text, quad) for text, quad in zip("ab7", boxes_to_quads(boxes).tolist()))
    >>> [[piece.text for piece in line.pieces.values()] for line in layout_to_lines(layout, words)]
    [['a'], ['b', '7']]
    """
    if not len(words) or not layout.owner.size:
        return []
    boxes = quads_to_boxes(layout.frame.to_upright(words.quads))
    cell, spans = layout.cells_at(words.middles), layout.spans
    index = np.flatnonzero((cell >= 0) & (spans[cell, 2] - spans[cell, 0] == 1))
    row, column = spans[cell[index], :2].T
    number = np.empty(len(index), np.int64)
    for inside in _groups(row):
        number[inside] = number_lines(boxes[index[inside]])
    order = np.lexsort([boxes[index, 0], column, number, row])
    entries = zip(*(each[order].tolist() for each in (row, number, column, index)), strict=True)
    places = boxes.tolist()
    lines = [_line(key[0], list(members), words, places) for key, members in groupby(entries, itemgetter(0, 1))]
    return [line for line in lines if line is not None]


def _groups(values: Ints) -> list[Ints]:
    """Indices of equal values."""
    order = np.argsort(values, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(values[order])) + 1) if len(order) else []


def _line(
    row: int, entries: list[tuple[int, int, int, int]], words: Words, boxes: list[list[float]]
) -> TextLine | None:
    """The line of words that are given by row, number, column and index; None for signs that lie off a line."""
    members = [index for *_, index in entries]
    if not any(map(str.isalnum, "".join(words.texts[index] for index in members))):
        return None
    middle = median((boxes[index][1] + boxes[index][3]) / 2 for index in members)
    by_column = groupby(entries, itemgetter(2))
    pieces = {column: _piece([index for *_, index in own], words, boxes) for column, own in by_column}
    return TextLine(row, middle, np.array(members, np.int64), pieces)


def _piece(own: list[int], words: Words, boxes: list[list[float]]) -> Piece:
    """The text of words from left to right."""
    x0, _, x1, _ = boxes[own[0]]
    text = " ".join(words.texts[index] for index in own)
    return Piece(text, x0, max(boxes[index][2] for index in own), _first_share(words[own[0]]) * (x1 - x0))


def _first_share(word: Word) -> float:
    """Share of the width that the first word takes of what may be several; of scripts without blanks its first sign."""
    ends = (i for i, char in enumerate(word.text) if i and (char.isspace() or ord(char) >= HAN))
    end = next(ends, len(word.text))
    return word.spans()[end - 1][1] if end else 1.0
