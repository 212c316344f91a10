"""The text of a grid, row by row: where it lies, what it runs across, and the rules beside it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from postprocess.arrays import Flags, Floats, Ints
from postprocess.candidates.candidate import Candidate
from postprocess.text.numbers import is_number, is_year
from postprocess.text.tokens import TOKEN_GAP

LOOSE = 0.3
"""Boxes of words are loose by so many text heights."""
_BESIDE = 3.0
"""Rules of a frame are no further from the text of the table and the borders of the grid, in text heights."""


@dataclass(frozen=True, slots=True)
class Rows:
    """The text of a grid, row by row, and its rulings, all in the frame of the grid.

    Args:
        boxes_xyxy: ``(T, 4)`` words, cut at wide gaps.
        texts: ``T`` texts.
        line: ``(T,)`` line of text of each.
        row: ``(T,)`` its row.
        column: ``(T,)`` its column.
        borders: ``(C + 1,)`` positions of the lines between columns.
        horizontal: ``(S, 4)`` rulings.
        vertical: ``(S, 4)`` rulings.
        height: Text height.
    """

    boxes_xyxy: Floats
    texts: Sequence[str]
    line: Ints
    row: Ints
    column: Ints
    borders: Floats
    horizontal: Floats
    vertical: Floats
    height: float

    def text_of(self, own: Ints) -> str:
        """Some words with blanks between them."""
        return " ".join(self.texts[token] for token in own.tolist())

    def hull(self, own: Ints | Flags) -> Floats:
        """``(4,)`` extent of some words."""
        boxes = self.boxes_xyxy[own]
        return np.concatenate([boxes[:, :2].min(axis=0), boxes[:, 2:].max(axis=0)])

    def row_hulls(self, inside: Flags) -> Floats:
        """``(R, 4)`` extent of the text of each row that has some of it inside, from top to bottom."""
        order = np.argsort(self.row[inside], kind="stable")
        boxes, row = self.boxes_xyxy[inside][order], self.row[inside][order]
        starts = np.flatnonzero(np.diff(row, prepend=-2))
        return np.hstack([np.minimum.reduceat(boxes[:, :2], starts), np.maximum.reduceat(boxes[:, 2:], starts)])

    def lines_of(self, row: int) -> list[Ints]:
        """Words of each line of a row, from left to right."""
        own = np.flatnonzero(self.row == row)
        own = own[np.lexsort([self.boxes_xyxy[own, 0], self.line[own]])]
        return np.split(own, np.flatnonzero(np.diff(self.line[own])) + 1) if len(own) else []

    def pieces_of(self, line: Ints) -> list[Ints]:
        """The words of a line between wide gaps."""
        gaps = self.boxes_xyxy[line[1:], 0] - np.maximum.accumulate(self.boxes_xyxy[line, 2])[:-1]
        return np.split(line, np.flatnonzero(gaps > TOKEN_GAP * self.height) + 1)

    def share_of_numbers(self, own: Ints) -> float:
        """Share of some words that are numbers, and no years."""
        texts = [self.texts[token] for token in own.tolist()]
        return sum(is_number(text) and not is_year(text) for text in texts) / len(texts)

    def count_reached(self, own: Ints) -> int:
        """Number of borders of columns that some words reach across, in a word or between two."""
        x0, _, x1, _ = self.hull(own)
        return int(((self.borders > x0) & (self.borders < x1)).sum())

    def count_cut(self, own: Ints) -> int:
        """Number of borders of columns that run through a word."""
        slack = LOOSE * self.height
        x0, x1 = self.boxes_xyxy[own, 0] + slack, self.boxes_xyxy[own, 2] - slack
        return int(((self.borders[:, None] > x0) & (self.borders[:, None] < x1)).any(axis=1).sum())

    def ruled_share(self, top: float, bottom: float, left: float, right: float) -> float:
        """Share of a width along which rules run between two heights."""
        return _covered(self.horizontal, (1, 0), (top, bottom), (left, right))

    def framed_share(self, top: float, bottom: float, left: float, right: float) -> float:
        """Share of a height along which rules run on both sides of the text of a table, the lesser one."""
        slack, far = LOOSE * self.height, _BESIDE * self.height
        start, end = self.borders[[0, -1]].tolist()
        places = (min(start, left) - far, max(start, left) + slack), (min(end, right) - slack, max(end, right) + far)
        return min(_covered(self.vertical, (0, 1), each, (top, bottom)) for each in places)


def candidate_to_rows(candidate: Candidate) -> Rows:
    """The text of a candidate, row by row.

    Args:
        candidate: With its scene.
    """
    scene, layout = candidate.scene, candidate.layout
    assert scene is not None
    rulings, tokens = scene.rulings, scene.tokens
    boxes, horizontal, vertical = (
        rulings.to_frame(each, layout.frame) for each in (tokens.boxes_xyxy, rulings.horizontal, rulings.vertical)
    )
    column, row = (
        np.searchsorted(lines, (boxes[:, axis] + boxes[:, axis + 2]) / 2) - 1
        for axis, lines in enumerate((layout.col_lines, layout.row_lines))
    )
    return Rows(
        boxes, tokens.texts, tokens.line, row, column, layout.col_lines, horizontal, vertical, rulings.text_height
    )


def _covered(rulings: Floats, axes: tuple[int, int], between: tuple[float, float], along: tuple[float, float]) -> float:
    """Share of a length that rulings cover whose middle lies between two places.

    Args:
        rulings: ``(S, 4)``.
        axes: The axis across the rulings, and the one along them.
        between: Two places across them.
        along: Both ends of the length.
    """
    across, way = axes
    middle = (rulings[:, across] + rulings[:, across + 2]) / 2
    chosen = rulings[(middle > between[0]) & (middle < between[1])]
    ends = np.clip(chosen[:, [way, way + 2]], along[0], along[1])
    ends = ends[np.argsort(ends[:, 0], kind="stable")]
    reached = np.maximum.accumulate(np.append(along[0], ends[:, 1]))
    covered = np.clip(ends[:, 1] - np.maximum(ends[:, 0], reached[:-1]), 0, None).sum()
    return float(covered / max(along[1] - along[0], 1e-9))
