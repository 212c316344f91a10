"""Words as they are handed in, by whomever: which of them have a place in the picture, and why others have none."""

from __future__ import annotations

import math
import re
import reprlib
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from postprocess.arrays import Flags
from postprocess.cell import Quad
from postprocess.errors import InputError
from postprocess.geometry.boxes import quads_to_boxes
from postprocess.word import UNREAD, CharSpans, Unplaced, Word, Words

NO_PLACE = "its place is not a number"
LARGER = "it is larger than the picture"
BEYOND = "it lies outside the picture"

_LARGEST = 1.5
"""Width and height of a word, in those of the picture: boxes of OCR engines reach a little beyond it."""
_ROUNDED = 1e-3
"""So much beyond its range a score is a matter of rounding."""
_SPAN = (-0.5, 1.5)
"""Where characters of a word begin and end, in its widths."""


def check_words(words: Iterable[Word]) -> list[Word]:
    """Words whose texts, scores and places of characters can be relied on; ``Word.doubt`` says what was changed.

    Args:
        words: From an OCR engine, a file, a user.

    Raises:
        InputError: One is no ``Word``, its text no text, or its place not four corners; the message says which.

    >>> square = ((0, 0), (9, 0), (9, 9), (0, 9))
    >>> [word] = check_words([Word("7", square, 96.0)])
    >>> word.score, word.doubt
    (1.0, 'has the score 96, not one from 0 to 1')
    >>> check_words([Word("7", square[:3])])
    Traceback (most recent call last):
    postprocess.errors.InputError: word 1 has the place ((0, 0), (9, 0), (9, 9)): give four corners (x, y) in pixels
    """
    return [_checked(word, number) for number, word in enumerate(words, 1)]


def place_in_picture(words: Iterable[Word], size_hw: tuple[int, ...]) -> tuple[Words, list[Unplaced]]:
    """Part words that lie in a picture from those that do not, which could be in no table.

    Args:
        words: As ``check_words`` returns them.
        size_hw: Height and width of the picture in pixels.

    Returns:
        The words in the picture, and the others with the reason.

    >>> near, far = (Word("7", ((x, 0), (x + 9, 0), (x + 9, 9), (x, 9))) for x in (5, 10_000))
    >>> inside, others = place_in_picture([near, far], (100, 200))
    >>> len(inside), others[0].reason
    (1, 'it lies outside the picture')
    """
    words = Words.of(words)
    boxes = quads_to_boxes(words.quads)
    size = np.array(size_hw[1::-1], np.float64)
    known = words.have_place
    with np.errstate(invalid="ignore", over="ignore"):
        larger = known & (boxes[:, 2:] - boxes[:, :2] > _LARGEST * size).any(axis=1)
        beyond: Flags = known & ((boxes[:, 2:] < 0) | (boxes[:, :2] > size)).any(axis=1) & ~larger
    reasons = ((~known, NO_PLACE), (larger, LARGER), (beyond, BEYOND))
    others = [Unplaced(words[k], reason) for flags, reason in reasons for k in np.flatnonzero(flags).tolist()]
    return (words.select(known & ~larger & ~beyond) if others else words), others


def _checked(word: Word, number: int) -> Word:
    if not isinstance(word, Word):
        raise InputError(f"word {number} is a {type(word).__name__}: give objects of tablerec.Word")
    if not isinstance(word.text, str):
        raise InputError(f"word {number} has the text {reprlib.repr(word.text)}: give a text")
    if not isinstance(word.doubt, str):
        raise InputError(f"word {number} has the doubt {reprlib.repr(word.doubt)}: give a text")
    quad, score = _quad(word.quad, number), _score(word.score, number)
    doubts = [word.doubt] if word.doubt else []
    text, spans = word.text, word.char_spans
    if _HALVES.search(text):
        text = _HALVES.sub(UNREAD, text)
        doubts.append("has halves of characters")
    if not -_ROUNDED <= score <= 1 + _ROUNDED:
        doubts.append(f"has the score {score:g}, not one from 0 to 1")
    if spans is not None and not _are_spans(spans):
        spans = None
        doubts.append("has characters whose places are not within it")
    sure = min(max(score, 0.0), 1.0) if not math.isnan(score) else 0.0
    if quad is word.quad and sure == word.score and len(doubts) == bool(word.doubt):
        return word
    return replace(word, text=text, quad=quad, score=sure, char_spans=spans, doubt="; ".join(doubts))


_HALVES = re.compile("[\ud800-\udfff]")
"""Half of a surrogate pair, which no encoding holds."""


def _quad(quad: Any, number: int) -> Quad:
    try:
        if isinstance(quad, tuple) and len(quad) == 4 and all(isinstance(p, tuple) and len(p) == 2 for p in quad):
            for x, y in quad:
                _check_numbers(x, y)
            return quad
        (a, b), (c, d), (e, f), (g, h) = np.asarray(quad, np.float64).tolist()
    except (TypeError, ValueError, OverflowError):
        raise InputError(
            f"word {number} has the place {reprlib.repr(quad)}: give four corners (x, y) in pixels"
        ) from None
    return (a, b), (c, d), (e, f), (g, h)


def _check_numbers(*values: Any) -> None:
    """Raise TypeError or OverflowError where one is no number; NaN and infinity are some."""
    for value in values:
        math.isnan(value)


def _score(score: Any, number: int) -> float:
    try:
        _check_numbers(score)
        return float(score)
    except (TypeError, ValueError, OverflowError):
        raise InputError(f"word {number} has the score {reprlib.repr(score)}: give a number from 0 to 1") from None


def _are_spans(spans: CharSpans) -> bool:
    low, high = _SPAN
    try:
        return all(low <= start <= high and low <= end <= high for start, end in spans)
    except (TypeError, ValueError):
        return False
