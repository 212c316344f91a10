"""Words: pieces of text with their place in the picture."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import overload

import numpy as np

from postprocess.arrays import Flags, Floats, Ints
from postprocess.cell import Point, Quad
from postprocess.geometry.boxes import quads_to_array

CharSpans = tuple[tuple[float, float], ...]

UNREAD = "\ufffd"
"""Text of a word that was seen and could not be read, and of each such character in another word."""


@dataclass(frozen=True, slots=True)
class Word:
    """A piece of text with its place: a word, or a whole line of words.

    Args:
        text: The text, not empty.
        quad: Corners TL, TR, BR, BL in pixels of the original picture, seen
            in reading direction.
        score: How sure the OCR engine is, 0 to 1.
        char_spans: For each character of ``text`` its start and end along the
            word, as fractions of the width (0 is the left edge); None where
            the OCR engine does not say, then the characters count as evenly wide.
        doubt: Why the text may be wrong, as a part of a sentence without its subject: "is Cyrillic, which rapidocr
            does not read"; empty where nothing speaks against it.
    """

    text: str
    quad: Quad
    score: float = 1.0
    char_spans: CharSpans | None = None
    doubt: str = ""

    def spans(self) -> CharSpans:
        """Start and end of each character as fractions of the width.

        >>> Word("ab", ((0, 0), (2, 0), (2, 1), (0, 1))).spans()
        ((0.0, 0.5), (0.5, 1.0))
        """
        if self.char_spans is not None and len(self.char_spans) == len(self.text):
            return self.char_spans
        return (_even_spans if len(self.text) <= _USUAL else _even_spans.__wrapped__)(len(self.text))

    def part(self, start: int, end: int) -> Word:
        """The characters ``start`` to ``end`` (exclusive) as a word of their own, blanks trimmed.

        >>> Word("ab cd", ((0, 0), (10, 0), (10, 2), (0, 2))).part(2, 5)  # doctest: +ELLIPSIS
        Word(text='cd', quad=((6.0, 0.0), (10.0, 0.0), (10.0, 2.0), (6.0, 2.0)), score=1.0, char_spans=((0.0, 0.5), ...)
        """
        while start < end and self.text[start].isspace():
            start += 1
        while end > start and self.text[end - 1].isspace():
            end -= 1
        spans = self.spans()
        # Text from right to left begins at its right end.
        left = min((a for a, _ in spans[start:end]), default=0.0)
        right = max((b for _, b in spans[start:end]), default=1.0)
        width = max(right - left, 1e-9)
        top_left, top_right, bottom_right, bottom_left = self.quad
        quad = (
            _between(top_left, top_right, left),
            _between(top_left, top_right, right),
            _between(bottom_left, bottom_right, right),
            _between(bottom_left, bottom_right, left),
        )
        inner = tuple((round((a - left) / width, 6), round((b - left) / width, 6)) for a, b in spans[start:end])
        return Word(self.text[start:end], quad, self.score, inner, self.doubt)


_USUAL = 256
"""Length of texts whose even spans are kept: those of longer ones would fill the memory."""


@lru_cache(_USUAL)
def _even_spans(n: int) -> CharSpans:
    return tuple((i / n, (i + 1) / n) for i in range(n))


def _between(start: Point, end: Point, share: float) -> Point:
    return start[0] + share * (end[0] - start[0]), start[1] + share * (end[1] - start[1])


@dataclass(frozen=True, slots=True)
class Unplaced:
    """A word that is in no cell, and why."""

    word: Word
    reason: str


class Words(Sequence[Word]):
    """The words of one picture, or some of them, with their places as arrays that are made once.

    Args:
        words: In any order.

    >>> words = Words([Word("ab", ((0, 0), (2, 0), (2, 1), (0, 1))), Word("7", ((4, 0), (5, 0), (5, 1), (4, 1)))])
    >>> words.middles.tolist(), words.select(words.middles[:, 0] > 3).texts
    ([[1.0, 0.5], [4.5, 0.5]], ('7',))
    """

    def __init__(self, words: Iterable[Word] = ()) -> None:
        self._words = tuple(words)

    @staticmethod
    def of(words: Iterable[Word]) -> Words:
        """The words as ``Words``; the very same where they are that already."""
        return words if isinstance(words, Words) else Words(words)

    @cached_property
    def quads(self) -> Floats:
        """``(W, 4, 2)`` corners TL, TR, BR, BL in pixels."""
        return quads_to_array([word.quad for word in self._words])

    @cached_property
    def middles(self) -> Floats:
        """``(W, 2)`` means of the corners."""
        return np.asarray(self.quads.mean(axis=1), np.float64)

    @cached_property
    def texts(self) -> tuple[str, ...]:
        """``W`` texts."""
        return tuple(word.text for word in self._words)

    @cached_property
    def scores(self) -> Floats:
        """``(W,)`` how sure the OCR engine is, 0 to 1."""
        return np.array([word.score for word in self._words], np.float64)

    @cached_property
    def have_place(self) -> Flags:
        """``(W,)`` whether all corners are numbers; words without a place belong to no table."""
        return np.asarray(np.isfinite(self.quads.reshape(-1, 8)).all(axis=1))

    def select(self, chosen: Flags | Ints) -> Words:
        """The words at ``(W,)`` flags or at ``(K,)`` indices, in the order of these."""
        index = np.flatnonzero(chosen) if chosen.dtype == bool else chosen
        selected = Words(map(self._words.__getitem__, index.tolist()))
        if "quads" in self.__dict__:
            selected.__dict__["quads"] = self.quads[index]
        return selected

    def __add__(self, others: Iterable[Word]) -> Words:
        """These words, then the others."""
        others = Words.of(others)
        if not others:
            return self
        both = Words((*self._words, *others._words))
        both.__dict__["quads"] = np.concatenate([self.quads, others.quads])
        return both

    def __len__(self) -> int:
        return len(self._words)

    @overload
    def __getitem__(self, index: int) -> Word: ...
    @overload
    def __getitem__(self, index: slice) -> Words: ...
    def __getitem__(self, index: int | slice) -> Word | Words:
        """A word by its index, or some as ``Words``."""
        return Words(self._words[index]) if isinstance(index, slice) else self._words[index]

    def __iter__(self) -> Iterator[Word]:
        return iter(self._words)

    def __repr__(self) -> str:
        return f"Words({list(self._words)!r})"
