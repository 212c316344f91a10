"""Tokens: the pieces of words between wide gaps, in lines of text."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from postprocess.arrays import Floats, Ints
from postprocess.geometry.boxes import as_boxes, quads_to_boxes
from postprocess.geometry.rulings import Rulings
from postprocess.text.lines import number_lines
from postprocess.text.numbers import is_currency, is_number
from postprocess.text.pitch import letter_pitch
from postprocess.word import Word, Words

_LEADER = re.compile(r"[\s.·…‥_\-—–•]{3,}|[·…‥.]+")
_LEADING_DIGITS = re.compile(r"[^\w\s]{0,2}\d{1,3}(?: \d{3})*")
_DIGITS = re.compile(r"\d{3}(?: \d{3})*(?:[.,]\d+)?[^\w\s]{0,2}[a-z]?")
"""Thousands, with blanks between them: what comes first, and what follows."""
_BLANK = 0.5
"""Text heights that the parts of one value are apart at most."""
_APART = 8.0
"""Text heights between a currency sign and its number, up to which they are one value."""


TOKEN_GAP = 0.9
"""A wider gap inside a line of text, in text heights, may separate two columns."""
_ONE_BLANK = 1.6
"""A narrower gap between letters of equal width, in their pitches, is one blank."""


@dataclass(frozen=True, slots=True)
class Tokens:
    """Pieces of words between wide gaps, in the upright frame.

    Args:
        boxes_xyxy: ``(T, 4)`` boxes.
        texts: ``T`` texts.
        line: ``(T,)`` text line of each token, from top to bottom.
        blank: A gap up to this, in pixels, is one blank between words of letters of equal width; it separates no
            columns. 0 where letters are not equally wide.
    """

    boxes_xyxy: Floats
    texts: tuple[str, ...]
    line: Ints
    blank: float = 0.0

    @property
    def n_lines(self) -> int:
        """Number of text lines."""
        return int(self.line.max()) + 1 if len(self.line) else 0

    def line_extents(self) -> tuple[Floats, Floats]:
        """``(n_lines,)`` top and bottom of each text line: the medians of its tokens, so that no tall one moves it."""
        count = np.bincount(self.line)
        first = np.cumsum(count) - count
        below, above = first + (count - 1) // 2, first + count // 2
        top, bottom = (side[np.lexsort([side, self.line])] for side in self.boxes_xyxy.T[[1, 3]])
        return (top[below] + top[above]) / 2, (bottom[below] + bottom[above]) / 2

    def by_line(self) -> list[Ints]:
        """Indices of the tokens of each text line, from left to right."""
        return np.split(np.argsort(self.line, kind="stable"), np.cumsum(np.bincount(self.line))[:-1])

    def select(self, chosen: NDArray[np.bool_]) -> Tokens:
        """The chosen tokens, with lines numbered anew."""
        _, line = np.unique(self.line[chosen], return_inverse=True)
        texts = tuple(t for t, keep in zip(self.texts, chosen, strict=True) if keep)
        return replace(self, boxes_xyxy=self.boxes_xyxy[chosen], texts=texts, line=line)


def words_to_tokens(words: Iterable[Word], frame: Rulings) -> Tokens:
    """Cut words at wide gaps and number the text lines.

    >>> word = Word("a  b", ((0, 0), (80, 0), (80, 10), (0, 10)))
    >>> frame = Rulings(as_boxes([]), as_boxes([]), 0.0, (0.0, 0.0), 10.0)
    >>> words_to_tokens([word], frame).texts
    ('a', 'b')
    """
    words = Words.of(words)
    widths, heights = (np.linalg.norm(words.quads[:, end] - words.quads[:, 0], axis=1) for end in (1, 3))
    blank = _ONE_BLANK * (letter_pitch(widths, heights, words.texts) or 0.0)
    gap = max(TOKEN_GAP * frame.text_height, blank)
    measured = zip(words, widths.tolist(), strict=True)
    pieces = Words(piece for word, width in measured for piece in _cut_at_gaps(word, width, gap))
    if not pieces:
        return Tokens(as_boxes([]), (), np.zeros(0, np.int64))
    boxes = quads_to_boxes(frame.to_upright(pieces.quads))
    line = number_lines(boxes)
    order = np.lexsort([boxes[:, 0], line])
    tokens = Tokens(boxes[order], tuple(map(pieces.texts.__getitem__, order.tolist())), line[order], blank)
    return _with_currency(_whole_values(_with_leaders(tokens), frame.text_height), frame.text_height)


def _cut_at_gaps(word: Word, width: float, gap: float) -> list[Word]:
    """The pieces of a word that have visible characters."""
    cuts, last = [0], 0.0
    if width > gap:
        for index, (character, (start, end)) in enumerate(zip(word.text, word.spans(), strict=True)):
            if character.isspace():
                continue
            if index and (start - last) * width > gap:
                cuts.append(index)
            last = end
    parts = [word.part(a, b) for a, b in pairwise([*cuts, len(word.text)])] if len(cuts) > 1 else [word]
    return [part for part in parts if part.text.strip()]


def _with_leaders(tokens: Tokens) -> Tokens:
    """Join leader dots with the label before them, so that no separator cuts them; drop those without a label."""
    leader = np.array([_LEADER.fullmatch(text) is not None for text in tokens.texts])
    if not leader.any():
        return tokens
    boxes = tokens.boxes_xyxy.copy()
    label = np.maximum.accumulate(np.where(leader, -1, np.arange(len(leader))))
    joined = np.flatnonzero(leader & (label >= 0) & (tokens.line[label] == tokens.line))
    np.maximum.at(boxes[:, 2], label[joined], boxes[joined, 2])
    return replace(tokens, boxes_xyxy=boxes).select(~leader)


def _whole_values(tokens: Tokens, height: float) -> Tokens:
    """Join what a blank parts within one value: groups of three digits, and a value and its error."""
    boxes, texts = tokens.boxes_xyxy, tokens.texts
    near = (np.diff(tokens.line) == 0) & (boxes[1:, 0] - boxes[:-1, 2] < _BLANK * height)
    goes_on = [i for i in np.flatnonzero(near).tolist() if _is_one_value(texts[i], texts[i + 1])]
    if not goes_on:
        return tokens
    starts = np.setdiff1d(np.arange(len(texts)), np.array(goes_on) + 1)
    low, high = (each.reduceat(boxes, starts, axis=0) for each in (np.minimum, np.maximum))
    whole = tuple(" ".join(texts[a:b]) for a, b in pairwise([*starts.tolist(), len(texts)]))
    return replace(tokens, boxes_xyxy=np.column_stack([low[:, :2], high[:, 2:]]), texts=whole, line=tokens.line[starts])


def _is_one_value(text: str, following: str) -> bool:
    thousands = _LEADING_DIGITS.fullmatch(text) and _DIGITS.fullmatch(following)
    return bool(thousands) or text.endswith("±") or following.startswith("±")


def _with_currency(tokens: Tokens, height: float) -> Tokens:
    """Join a currency sign that stands apart with the number after it: they are one value."""
    boxes, texts = tokens.boxes_xyxy.copy(), list(tokens.texts)
    near = (np.diff(tokens.line) == 0) & (boxes[1:, 0] - boxes[:-1, 2] < _APART * height)
    signs = [i for i in np.flatnonzero(near).tolist() if is_currency(texts[i]) and is_number(texts[i + 1])]
    if not signs:
        return tokens
    for i in signs:
        boxes[i + 1] = [*np.minimum(boxes[i, :2], boxes[i + 1, :2]), *np.maximum(boxes[i, 2:], boxes[i + 1, 2:])]
        texts[i + 1] = f"{texts[i]} {texts[i + 1]}"
    keep = np.ones(len(texts), bool)
    keep[signs] = False
    return replace(tokens, boxes_xyxy=boxes, texts=tuple(texts)).select(keep)
