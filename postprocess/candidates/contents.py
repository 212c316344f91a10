"""What a grid holds: words, pieces of text and rulings in its frame, and the rows, columns and cells they lie in.

A border is where two cells of a grid meet. A ruling along it confirms it, a text that goes on across it denies it: no
table is drawn with a line through its texts.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import shapely

from postprocess.arrays import Flags, Floats, Ints
from postprocess.candidates.scene import Scene
from postprocess.geometry.boxes import quads_to_boxes
from postprocess.grid.layout import Layout
from postprocess.text.tokens import Tokens
from postprocess.word import Word

_NEAR = 0.5
"""A ruling belongs to a border closer than this, in text heights."""
_SAMPLES = np.linspace(0.1, 0.9, 9)
"""Where each border is looked at, as shares of its length."""
_LEAST_KNOWN = 3
"""Samples outside of texts that tell whether a border is ruled."""
_INNER = 0.3
"""A line that leaves less than this share of a text line on either side runs beside the text: boxes are loose."""
_HANGING = 0.4
"""Text that reaches less than this over a border, in text heights, only hangs over it."""
_GAP = 0.2
"""Characters that are closer than this, in text heights, belong to one word."""


@dataclass(frozen=True, eq=False)
class Contents:
    """A scene in the frame of a grid; each part is made when it is first asked for.

    Args:
        layout: Rows, columns and spans.
        scene: The words of the table, and the rulings of the picture.
    """

    layout: Layout
    scene: Scene

    @property
    def height(self) -> float:
        """Text height in pixels."""
        return self.scene.rulings.text_height

    @cached_property
    def boxes(self) -> Floats:
        """``(W, 4)`` words."""
        return quads_to_boxes(self.layout.frame.to_upright(self.scene.words.quads))

    @cached_property
    def rows(self) -> Ints:
        """``(W,)`` row in which the middle of each word lies, -1 outside."""
        return _slots(self.layout.row_lines, self.boxes[:, 1::2])

    @cached_property
    def cells(self) -> Ints:
        """``(W,)`` cell in which the middle of each word lies, -1 outside."""
        return self.layout.cells_at(self.scene.words.middles)

    @cached_property
    def texts(self) -> Floats:
        """``(N, 4)`` extent of the text of each cell, NaN without text."""
        inside = self.cells >= 0
        texts = np.full((len(self.layout.spans), 4), np.nan)
        for side, least in enumerate((np.fmin, np.fmin, np.fmax, np.fmax)):
            least.at(texts[:, side], self.cells[inside], self.boxes[inside, side])
        return texts

    @cached_property
    def filled(self) -> Flags:
        """``(R, C)`` slots of cells with words."""
        return np.asarray(~np.isnan(self.texts[:, 0])[self.layout.owner])

    @cached_property
    def margin(self) -> Floats:
        """``(W,)`` how far a row border has to lie in a word to run through its text, in pixels."""
        tall = self.boxes[:, 3] - self.boxes[:, 1]
        return np.asarray(_INNER * np.minimum(tall, 1.3 * self.height))

    @cached_property
    def tokens(self) -> Tokens:
        """The words, cut at wide gaps, in lines of text."""
        tokens = self.scene.tokens
        return replace(tokens, boxes_xyxy=self.scene.rulings.to_frame(tokens.boxes_xyxy, self.layout.frame))

    @cached_property
    def token_rows(self) -> Ints:
        """``(T,)`` row in which the middle of each token lies, -1 outside."""
        return _slots(self.layout.row_lines, self.tokens.boxes_xyxy[:, 1::2])

    @cached_property
    def token_columns(self) -> Ints:
        """``(T,)`` column in which the middle of each token lies, -1 outside."""
        return _slots(self.layout.col_lines, self.tokens.boxes_xyxy[:, ::2])

    @cached_property
    def horizontal(self) -> Floats:
        """``(S, 4)`` horizontal rulings."""
        return self.scene.rulings.to_frame(self.scene.rulings.horizontal, self.layout.frame)

    @cached_property
    def rules(self) -> Floats:
        """``(S, 4)`` the same without those that run through a word: its strokes."""
        return self.scene.rulings.to_frame(self.scene.rules, self.layout.frame)

    @cached_property
    def vertical(self) -> Floats:
        """``(S, 4)`` vertical rulings."""
        return self.scene.rulings.to_frame(self.scene.rulings.vertical, self.layout.frame)

    @cached_property
    def across(self) -> Floats:
        """``(R + 1, C)`` share of each border along the rows that is ruled, 0 to 1; NaN where texts hide it."""
        return self._ruled_shares(self.layout.row_lines, self.layout.col_lines, self.horizontal, self.boxes)

    @cached_property
    def down(self) -> Floats:
        """``(R, C + 1)`` the same of the borders along the columns."""
        turned = [1, 0, 3, 2]
        rulings, boxes = self.vertical[:, turned], self.boxes[:, turned]
        return np.asarray(self._ruled_shares(self.layout.col_lines, self.layout.row_lines, rulings, boxes).T)

    def _ruled_shares(self, lines: Floats, crossing: Floats, rulings: Floats, boxes: Floats) -> Floats:
        texts = boxes + self.margin[:, None] * (0, 1, 0, -1)
        rulings = _without_strokes(rulings, boxes, _HANGING * self.height)
        return _ruled_shares(lines, crossing, rulings, texts, _NEAR * self.height)

    @cached_property
    def passed(self) -> Flags:
        """``(R, C + 1)`` borders along the columns on which one ruling runs through all of the row, texts or not."""
        x0, top, x1, bottom = self.vertical.T
        near = np.abs((x0 + x1)[:, None] / 2 - self.layout.col_lines) < _NEAR * self.height
        lines, reach = self.layout.row_lines, _NEAR * self.height
        covers = (top < lines[:-1, None] + reach) & (bottom > lines[1:, None] - reach)
        return np.asarray(covers @ near)

    def extent(self, cells: Ints) -> Floats:
        """``(4,)`` extent of the text of some cells, NaN without text."""
        own = self.texts[cells.ravel()]
        return np.concatenate([np.fmin.reduce(own[:, :2]), np.fmax.reduce(own[:, 2:])])

    def columns(self, word: int) -> tuple[int, int]:
        """First and end column of the slots in which more of a word lies than hangs over."""
        hanging = min(_HANGING * self.height, (self.boxes[word, 2] - self.boxes[word, 0]) / 2)
        x0, x1 = self.boxes[word, 0] + hanging, self.boxes[word, 2] - hanging
        lines = self.layout.col_lines
        first = max(int(np.searchsorted(lines, x0, "right")) - 1, 0)
        return first, min(max(int(np.searchsorted(lines, x1)), first + 1), len(lines) - 1)

    def sides(self, word: int, x: float) -> tuple[bool, bool]:
        """Whether a word has characters left and right of a line, neither where the line runs between two of one word.

        What hangs over the line lies on the side of the rest.
        """
        x0, x1 = self.boxes[word, [0, 2]].tolist()
        hanging = min(_HANGING * self.height, (x1 - x0) / 2)
        if not x0 + hanging < x < x1 - hanging:
            return x0 + x1 < 2 * x, x0 + x1 >= 2 * x
        goes_on = _goes_on(self.scene.words[word], (x - x0) / (x1 - x0), _GAP * self.height / (x1 - x0))
        return not goes_on, not goes_on

    def crossed_rows(self, detected_quads: Floats) -> list[tuple[int, int, int]]:
        """Word, first and end line of the row borders that run through it.

        Args:
            detected_quads: ``(N, 4, 2)`` the cells as they were detected, in pixels: a border cuts a word only where
                these do.
        """
        detected = quads_to_boxes(self.layout.frame.to_upright(detected_quads))
        y0, y1 = self.boxes[:, 1] + self.margin, self.boxes[:, 3] - self.margin
        lines, owner = self.layout.row_lines, self.layout.owner
        first = np.maximum(np.searchsorted(lines, y0, "right"), 1)
        end = np.minimum(np.searchsorted(lines, y1), len(lines) - 1)
        found = []
        for word in np.flatnonzero((end > first) & (self.cells >= 0)).tolist():
            low, high, cols = int(first[word]), int(end[word]), slice(*self.columns(word))
            upper, lower = owner[low - 1 : high - 1, cols], owner[low:high, cols]
            cut = (detected[upper, 3] < y1[word]) & (detected[lower, 1] > y0[word])
            crossed = ((upper != lower).any(axis=1) & (cut | (upper == lower)).all(axis=1)).nonzero()[0]
            if len(crossed):
                found.append((word, low + int(crossed[0]), low + int(crossed[-1]) + 1))
        return found

    def crossed_columns(self) -> list[tuple[int, int]]:
        """Word and line of each column border that runs between two characters of one word of a text."""
        hanging = _HANGING * self.height
        x0, x1, lines = self.boxes[:, 0] + hanging, self.boxes[:, 2] - hanging, self.layout.col_lines
        first, end = np.searchsorted(lines, x0, "right"), np.searchsorted(lines, x1)
        found = []
        for word in np.flatnonzero((end > first) & (self.rows >= 0)).tolist():
            if not is_phrase(self.scene.words.texts[word]):
                continue
            x, width = self.boxes[word, 0], self.boxes[word, 2] - self.boxes[word, 0]
            gap = _GAP * self.height / width
            shares = ((lines - x) / width).tolist()
            crossed = range(max(int(first[word]), 1), min(int(end[word]), len(lines) - 1))
            found += [(word, line) for line in crossed if _goes_on(self.scene.words[word], shares[line], gap)]
        return found


def _slots(lines: Floats, ends: Floats) -> Ints:
    """``(P,)`` the slot between lines in which the middle of each of ``(P, 2)`` ends lies, -1 outside."""
    slot = np.searchsorted(lines, (ends[:, 0] + ends[:, 1]) / 2) - 1
    return np.where(slot < len(lines) - 1, slot, -1)


def is_phrase(text: str) -> bool:
    """Whether a text has letters and says nothing twice, as where the texts of several cells were read as one.

    >>> [is_phrase(text) for text in ("Year ended", "Industry A Industry B", "12.5")]
    [True, False, False]
    """
    parts = [part for part in text.split() if len(part) > 2]
    return sum(map(str.isalpha, text)) > 2 and len(set(parts)) == len(parts)


def _goes_on(word: Word, share: float, gap: float) -> bool:
    """Whether characters follow one another without a gap at a share of the width of a word."""
    shown = [span for sign, span in zip(word.text, word.spans(), strict=True) if not sign.isspace()]
    left = [each for each in shown if each[0] + each[1] < 2 * share]
    right = [each for each in shown if each[0] + each[1] >= 2 * share]
    if not left or not right:
        return False
    return min(right)[0] - max(left)[1] < gap


def _without_strokes(rulings: Floats, boxes: Floats, margin: float) -> Floats:
    """Rulings that lie in no text nor right beside it: those are made of its strokes, or underline it.

    Args:
        rulings: ``(S, 4)`` along the first axis.
        boxes: ``(W, 4)`` words.
        margin: How far strokes reach over the box of a word, in pixels.
    """
    middle = (rulings[:, 1] + rulings[:, 3]) / 2
    lines = shapely.linestrings(np.stack([rulings[:, [0, 2]], np.stack([middle, middle], axis=1)], axis=2))
    around = shapely.box(*(boxes + margin * np.array([-1, -1, 1, 1])).T)
    inside = np.zeros(len(rulings), bool)
    inside[shapely.STRtree(around).query(lines, predicate="within")[0]] = True
    return np.asarray(rulings[~inside])


def _ruled_shares(lines: Floats, crossing: Floats, rulings: Floats, texts: Floats, near: float) -> Floats:
    """``(L, C - 1)`` share of each piece of a line between crossing ones along which a ruling lies near.

    What lies in a text is left out, since it says nothing of rulings; NaN where that is most of a piece.
    """
    points = (crossing[:-1, None] + np.diff(crossing)[:, None] * _SAMPLES).ravel()
    middle = (rulings[:, 1] + rulings[:, 3]) / 2
    shares = np.full((len(lines), len(crossing) - 1), np.nan)
    for number, line in enumerate(lines.tolist()):
        hidden, ruled = _in_texts(points, line, texts), np.zeros(len(points), bool)
        for x0, y0, x1, y1 in rulings[np.abs(middle - line) < near].tolist():
            along = (points > x0) & (points < x1)
            in_text = _in_texts(points, (y0 + y1) / 2, texts)
            ruled |= along & ~in_text
            hidden |= along & in_text
        known = ruled | ~hidden
        count, seen = (each.reshape(-1, len(_SAMPLES)).sum(axis=1) for each in (known, ruled))
        shares[number] = np.where(count >= _LEAST_KNOWN, seen / np.maximum(count, 1), np.nan)
    return shares


def _in_texts(points: Floats, y: float, texts: Floats) -> Flags:
    """``(P,)`` whether points at a height lie in a text."""
    met = texts[(texts[:, 1] < y) & (texts[:, 3] > y)]
    return np.asarray(((points[:, None] > met[:, 0]) & (points[:, None] < met[:, 2])).any(axis=1))
