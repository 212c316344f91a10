"""Tokens: the pieces of words between wide gaps, in lines of text."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from postprocess.boxes import Floats, as_boxes, as_quads, quad_angles, quads_to_boxes
from postprocess.frame import quads_to_frame
from postprocess.rulings import Rulings
from postprocess.words import Word

Ints = NDArray[np.int64]

_CURRENCY = re.compile(r"[$€£¥￥₩₹]|(?:US|HK|NT|C|A|S)\$|RMB|USD|EUR|GBP|CHF", re.IGNORECASE)
_LEADER = re.compile(r"[\s.·…‥_\-—–•]{3,}|[·…‥.]+")
_NUMBER = re.compile(
    r"^[\s$€£¥￥(<>≤≥~+\-−–—±.,]*\d[\d.,:\s%‰)(*†‡±/×+\-−–—]*[a-z]{0,2}[)*†‡]*$|^[-–—]+$|^n/?a$", re.IGNORECASE
)
_YEAR = re.compile(r"(?:19|20)\d\d")


@dataclass(frozen=True, slots=True)
class GapSettings:
    """Tolerances; lengths are fractions of the text height.

    Args:
        token_gap: A wider gap inside a line of text may separate two columns.
        least_gap: A narrower gap between two tokens is no gap.
        crossing_cost: Explained gaps that one cut token outweighs.
        min_gain: Explained gaps, less the cost of cut tokens, that a separator must bring.
        same_line: Tokens share a text line when their middles are closer than this.
        tight_share: Lines closer than this share of the usual pitch are one row.
    """

    token_gap: float = 0.9
    least_gap: float = 0.15
    crossing_cost: float = 1.5
    min_gain: float = 0.9
    same_line: float = 0.5
    tight_share: float = 0.72


@dataclass(frozen=True, slots=True)
class Tokens:
    """Pieces of words between wide gaps, in the upright frame.

    Args:
        boxes_xyxy: ``(T, 4)`` boxes.
        texts: ``T`` texts.
        line: ``(T,)`` text line of each token, from top to bottom.
    """

    boxes_xyxy: Floats
    texts: tuple[str, ...]
    line: Ints

    @property
    def n_lines(self) -> int:
        """Number of text lines."""
        return int(self.line.max()) + 1 if len(self.line) else 0

    def line_extents(self) -> tuple[Floats, Floats]:
        """``(n_lines,)`` top and bottom of each text line: the medians of its tokens, so that no tall one moves it."""
        lines = [self.boxes_xyxy[self.line == i] for i in range(self.n_lines)]
        top = np.array([np.median(boxes[:, 1]) for boxes in lines])
        return top, np.array([np.median(boxes[:, 3]) for boxes in lines])

    def select(self, chosen: NDArray[np.bool_]) -> Tokens:
        """The chosen tokens, with lines numbered anew."""
        _, line = np.unique(self.line[chosen], return_inverse=True)
        return Tokens(
            self.boxes_xyxy[chosen], tuple(t for t, keep in zip(self.texts, chosen, strict=True) if keep), line
        )


def words_to_tokens(words: Sequence[Word], frame: Rulings, settings: GapSettings) -> Tokens:
    """Cut words at wide gaps and number the text lines.

    >>> word = Word("a  b", ((0, 0), (80, 0), (80, 10), (0, 10)))
    >>> frame = Rulings(as_boxes([]), as_boxes([]), 0.0, (0.0, 0.0), 10.0)
    >>> words_to_tokens([word], frame, GapSettings()).texts
    ('a', 'b')
    """
    pieces = [piece for word in words for piece in _cut_at_gaps(word, settings.token_gap * frame.text_height)]
    if not pieces:
        return Tokens(as_boxes([]), (), np.zeros(0, np.int64))
    boxes = quads_to_boxes(frame.to_upright(as_quads([piece.quad for piece in pieces])))
    line = number_lines(boxes, settings.same_line)
    order = np.lexsort([boxes[:, 0], line])
    tokens = Tokens(boxes[order], tuple(pieces[i].text for i in order), line[order])
    return _with_currency(_with_leaders(tokens), frame.text_height)


def _cut_at_gaps(word: Word, gap: float) -> list[Word]:
    spans = word.spans()
    width = float(np.linalg.norm(np.subtract(word.quad[1], word.quad[0])))
    cuts, last = [0], 0.0
    for index, (start, end) in enumerate(spans):
        if word.text[index].isspace():
            continue
        if index and (start - last) * width > gap:
            cuts.append(index)
        last = end
    cuts.append(len(word.text))
    parts = [word.part(a, b) for a, b in pairwise(cuts)] if len(cuts) > 2 else [word]
    return [part for part in parts if part.text.strip()]


def number_lines(boxes: Floats, same_line: float) -> Ints:
    """``(T,)`` text line of each box: boxes whose middles are close follow one another along a line."""
    middle, height = (boxes[:, 1] + boxes[:, 3]) / 2, boxes[:, 3] - boxes[:, 1]
    line = np.zeros(len(boxes), np.int64)
    means: list[float] = []
    counts: list[int] = []
    sizes: list[float] = []
    for index in np.argsort(middle, kind="stable"):
        if means and middle[index] - means[-1] < same_line * min(height[index], sizes[-1]):
            means[-1] = (means[-1] * counts[-1] + middle[index]) / (counts[-1] + 1)
            counts[-1] += 1
            sizes[-1] = min(sizes[-1], float(height[index]))
        else:
            means.append(float(middle[index]))
            counts.append(1)
            sizes.append(float(height[index]))
        line[index] = len(means) - 1
    return line


def _with_leaders(tokens: Tokens) -> Tokens:
    """Join leader dots with the label before them, so that no separator cuts them; drop those without a label."""
    boxes = tokens.boxes_xyxy.copy()
    leader = np.array([_LEADER.fullmatch(text) is not None for text in tokens.texts])
    label = -1
    for i in range(len(leader)):
        if not leader[i]:
            label = i
        elif label >= 0 and tokens.line[label] == tokens.line[i]:
            boxes[label, 2] = max(boxes[label, 2], boxes[i, 2])
    return Tokens(boxes, tokens.texts, tokens.line).select(~leader)


def _with_currency(tokens: Tokens, height: float) -> Tokens:
    """Join a currency sign that stands apart with the number after it: they are one value."""
    boxes, texts = tokens.boxes_xyxy.copy(), list(tokens.texts)
    keep = np.ones(len(texts), bool)
    for i in range(len(texts) - 1):
        near = tokens.line[i] == tokens.line[i + 1] and boxes[i + 1, 0] - boxes[i, 2] < 8 * height
        if near and _CURRENCY.fullmatch(texts[i]) and is_number(texts[i + 1]):
            boxes[i + 1] = [*np.minimum(boxes[i, :2], boxes[i + 1, :2]), *np.maximum(boxes[i, 2:], boxes[i + 1, 2:])]
            texts[i + 1] = f"{texts[i]} {texts[i + 1]}"
            keep[i] = False
    return Tokens(boxes, tuple(texts), tokens.line).select(keep)


def is_number(text: str) -> bool:
    """Whether a text reads as a number, an amount, a percentage, or the dash that stands for nothing.

    >>> [is_number(text) for text in ("(1,234)", "12.5%", "-", "$ 7", "Total 7", "")]
    [True, True, True, True, False, False]
    """
    return _NUMBER.match(text) is not None


def is_year(text: str) -> bool:
    """Whether a text is a year, which heads a column more often than it counts something.

    >>> is_year("2026"), is_year("1,026")
    (True, False)
    """
    return _YEAR.fullmatch(text) is not None


def words_tilt(quads: Floats) -> float:
    """Median direction of the longer words in degrees; 0 for words that are nearly upright."""
    width = np.linalg.norm(quads[:, 1] - quads[:, 0], axis=1)
    height = np.linalg.norm(quads[:, 3] - quads[:, 0], axis=1)
    long = width > 3 * height
    if long.any():
        tilt = float(np.median(quad_angles(quads[long])))
    else:
        tilt = float(np.degrees(np.arctan(quads_to_frame(quads).slopes[0])))
    return tilt if 0.2 < abs(tilt) < 45 else 0.0
