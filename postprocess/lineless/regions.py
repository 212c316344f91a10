"""Where the tables of a page are, from its words alone."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import shapely

from postprocess.arrays import Floats
from postprocess.geometry.boxes import as_quads
from postprocess.geometry.rulings import Rulings
from postprocess.lineless.columns import MOST_COLUMNS, tokens_to_separators
from postprocess.text.tokens import TOKEN_GAP, Tokens, words_to_tokens
from postprocess.word import Word, Words


def words_inside(words: Sequence[Word], quads: Floats) -> Words:
    """Words whose middle lies in the hull of some cells; the very same ``Words`` where all of them do.

    Args:
        words: With finite corners.
        quads: ``(N, 4, 2)`` cells in pixels.
    """
    words = Words.of(words)
    if not len(words) or not len(quads):
        return Words()
    hull = shapely.convex_hull(shapely.multipoints(quads.reshape(-1, 2)))
    shapely.prepare(hull)
    inside = np.asarray(shapely.intersects_xy(hull, words.middles))
    return words if inside.all() else words.select(inside)


def words_to_regions(words: Sequence[Word], frame: Rulings) -> list[list[Word]]:
    """Groups of words that look like tables, from top to bottom.

    A table is a run of text lines that hold several tokens, in columns that
    hold: few tokens lie across a separator, and few gaps lie off all of them.
    Running text has one long token a line, several columns of it have several.

    Args:
        words: Words outside all ruled tables.
        frame: Upright frame of the picture.
    """
    tokens = words_to_tokens(words, frame)
    if tokens.n_lines < 2:
        return []
    middles = frame.to_upright(as_quads([word.quad for word in words]).mean(axis=1))[:, 1]
    regions = []
    for first, last in _tabular_runs(tokens, frame.text_height):
        inside = tokens.select((tokens.line >= first) & (tokens.line <= last))
        if column_support(inside, frame.text_height) >= _MIN_SUPPORT:
            top, bottom = inside.boxes_xyxy[:, 1].min(), inside.boxes_xyxy[:, 3].max()
            regions.append([word for word, y in zip(words, middles, strict=True) if top <= y <= bottom])
    return regions


_MIN_SUPPORT = 0.7
_PROSE_WIDTH = 15.0
"""Tokens wider than this, in text heights, are running text."""


def column_support(tokens: Tokens, height: float) -> float:
    """How well columns explain the gaps of some lines: explained ones among these, unexplained ones and cut tokens.

    >>> from postprocess.geometry.boxes import as_boxes
    >>> boxes = as_boxes([[0, 0, 30, 10], [50, 0, 70, 10], [0, 20, 40, 30], [55, 20, 70, 30]])
    >>> column_support(Tokens(boxes, ("a", "1", "b", "2"), np.array([0, 0, 1, 1])), 10.0)
    1.0
    """
    separators = tokens_to_separators(tokens, height)
    boxes = tokens.boxes_xyxy
    same = tokens.line[1:] == tokens.line[:-1]
    left, right = boxes[:-1, 2][same], boxes[1:, 0][same]
    wide = right - left > max(TOKEN_GAP * height, tokens.blank)
    if not wide.any() or not 0 < len(separators) < MOST_COLUMNS:
        return 0.0
    hit = ((left[wide, None] <= separators) & (right[wide, None] >= separators)).any(axis=1)
    inset = 0.3 * height
    cut = ((boxes[:, 0, None] + inset < separators) & (boxes[:, 2, None] - inset > separators)).any(axis=1)
    return float(hit.sum() / (len(hit) + cut.sum()))


def _tabular_runs(tokens: Tokens, height: float) -> list[tuple[int, int]]:
    """(first, last) line of each run of tabular lines."""
    lines = [tokens.boxes_xyxy[line] for line in tokens.by_line()]
    runs: list[list[int]] = []
    for index, line in enumerate(lines):
        prose = (line[:, 2] - line[:, 0] > _PROSE_WIDTH * height).sum()
        if len(line) < 2 or prose > 1:
            continue
        gap = line[:, 1].min() - lines[runs[-1][-1]][:, 3].max() if runs else np.inf
        if runs and index - runs[-1][-1] <= 3 and gap < 5 * height:
            runs[-1].append(index)
        else:
            runs.append([index])
    return [(run[0], run[-1]) for run in runs if len(run) >= 2 and len(run) > 0.4 * (run[-1] - run[0] + 1)]
