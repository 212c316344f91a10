"""The text of a grid line by line, and what each line holds in each column."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from postprocess.boxes import Floats, as_quads, quads_to_boxes
from postprocess.layout import Layout
from postprocess.tokens import is_number, number_lines
from postprocess.words import Word

Ints = NDArray[np.int64]

_SAME_LINE = 0.5
"""Words of a row whose middles are closer than this, in heights, are side by side."""
_HAN = 0x2E80
"""From here on scripts have no blanks between words: a line of theirs ends anywhere."""
_ITEM = re.compile(r"[-–—•·*■●○▪‣]\s*\w|(?:[a-zA-Z]|\d{1,2})[.)]\s|[(（](?:[a-z]|[ivx]{2,4}|\d{1,2})[)）]\s?\w")
_OPEN = re.compile(
    r"(?:[,，、(（&/]|[\w%][-–]|\b(?:a|an|and|as|at|by|due|for|from|in|including|of|on|or|other|per|than|that|the"
    r"|through|to|with))$",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
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

    @property
    def is_number(self) -> bool:
        """Whether all of it reads as one number."""
        return is_number(self.text)

    @property
    def goes_on(self) -> bool:
        """Whether it begins like the rest of a sentence."""
        return not self.is_item and (self.text[:1].islower() or self.text[:1] in "(（,;&")

    @property
    def is_item(self) -> bool:
        """Whether it begins like an item of a list.

        >>> [Piece(text, 0, 9, 9).is_item for text in ("- Secured", "(a) Land", "2. Cash", "-12", "(yrs)")]
        [True, True, True, True, False]
        """
        return _ITEM.match(self.text) is not None

    @property
    def is_open(self) -> bool:
        """Whether it ends so that more must follow.

        >>> [Piece(text, 0, 9, 9).is_open for text in ("Cash and", "USD0.87-", "Cash,", "Cash", "$ -")]
        [True, True, True, False, False]
        """
        return _OPEN.search(self.text) is not None


@dataclass(frozen=True, slots=True)
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

    @property
    def number_columns(self) -> set[int]:
        """Columns in which it holds a number."""
        return {column for column, piece in self.pieces.items() if piece.is_number}

    @property
    def is_repeated(self) -> bool:
        """Whether it holds the same text in several columns and nothing else, as a line of units does."""
        texts = {piece.text for piece in self.pieces.values()}
        return len(self.pieces) > 1 and len(texts) == 1 and not is_number(texts.pop())


def layout_to_lines(layout: Layout, words: Sequence[Word]) -> list[TextLine]:
    """The lines of text from top to bottom, row by row.

    Cells over several rows, and lines of signs alone, are left out.

    >>> from postprocess.boxes import boxes_to_quads
    >>> from postprocess.frame import UPRIGHT
    >>> layout = Layout(np.array([0.0, 40.0]), np.array([0.0, 50.0, 99.0]), UPRIGHT, np.array([[0, 1]]))
    >>> boxes = [[5, 5, 25, 15], [5, 25, 25, 35], [60, 26, 80, 36]]
    >>> words = [Word(text, quad) for text, quad in zip("ab7", boxes_to_quads(boxes).tolist())]
    >>> [[piece.text for piece in line.pieces.values()] for line in layout_to_lines(layout, words)]
    [['a'], ['b', '7']]
    """
    if not len(words) or not layout.owner.size:
        return []
    quads = as_quads([word.quad for word in words])
    boxes = quads_to_boxes(layout.frame.to_upright(quads))
    cell, spans = layout.cells_at(quads.mean(axis=1)), layout.spans()
    single = np.flatnonzero((cell >= 0) & (spans[cell, 2] - spans[cell, 0] == 1))
    rows, lines = spans[cell[single], 0], []
    for row in np.unique(rows).tolist():
        inside = single[rows == row]
        number = number_lines(boxes[inside], _SAME_LINE)
        for line in range(int(number.max()) + 1):
            members = inside[number == line]
            if not any(char.isalnum() for index in members for char in words[index].text):
                continue  # a sign that lies off its line
            middle = float(np.median(boxes[members][:, [1, 3]].mean(axis=1)))
            lines.append(TextLine(row, middle, members, _pieces(members, spans[cell[members], 1], words, boxes)))
    return lines


def _pieces(members: Ints, columns: Ints, words: Sequence[Word], boxes: Floats) -> dict[int, Piece]:
    pieces = {}
    for column in np.unique(columns).tolist():
        own = members[columns == column]
        own = own[np.argsort(boxes[own, 0], kind="stable")]
        x0, _, x1, _ = boxes[own[0]].tolist()
        text = " ".join(words[index].text for index in own)
        pieces[column] = Piece(text, x0, float(boxes[own, 2].max()), _first_share(words[own[0]]) * (x1 - x0))
    return pieces


def _first_share(word: Word) -> float:
    """Share of the width that the first word takes of what may be several; of scripts without blanks its first sign."""
    ends = (i for i, char in enumerate(word.text) if i and (char.isspace() or ord(char) >= _HAN))
    end = next(ends, len(word.text))
    return word.spans()[end - 1][1] if end else 1.0
