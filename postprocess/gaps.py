"""Cells of tables without rulings: rows and columns from words and the white gaps between them.

The stages, each a function::

    words -> tokens -> text lines -> column separators -> rows -> cells

A column separator is a vertical line that many text lines leave white and few
cross. Separators are chosen greedily: each time the position that explains most
gaps that no chosen separator explains yet, less the tokens that it would cut.
Ruling lines, where there are any, separate rows and columns for certain.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from postprocess.boxes import Floats, as_boxes, as_quads, boxes_to_quads, word_height
from postprocess.columns import dividing_rules, spans_from_rules, tokens_to_columns, tokens_to_separators
from postprocess.rows import lines_to_rows
from postprocess.rulings import Rulings
from postprocess.tokens import GapSettings, Ints, Tokens, words_tilt, words_to_tokens
from postprocess.words import Word

_ROOM = 1.5
"""Least width of a column without text, in text heights: between two strokes of one line there is no column."""


def words_to_quads(
    words: Sequence[Word], rulings: Rulings | None = None, settings: GapSettings | None = None
) -> Floats:
    """Cells of one table from its words.

    Args:
        words: Words of the table.
        rulings: Ruling lines of the picture: they separate rows and columns for
            certain, and a short one below a header shows which columns it spans.
        settings: Tolerances.

    Returns:
        ``(N, 4, 2)`` cells in pixels of the picture: each slot or span of the grid that holds text.
    """
    settings = settings or GapSettings()
    if not words:
        return as_quads([])
    quads = as_quads([word.quad for word in words])
    frame = rulings
    if frame is None or (not frame.degrees and frame.perspective is None):
        frame = Rulings(
            as_boxes([]) if frame is None else frame.horizontal,
            as_boxes([]) if frame is None else frame.vertical,
            words_tilt(quads),
            (0.0, 0.0) if frame is None else frame.center,
            word_height(quads),
        )
    tokens = words_to_tokens(words, frame, settings)
    if not len(tokens.line):
        return as_quads([])
    height = word_height(quads)
    rules = dividing_rules(frame.vertical, tokens, height)
    separators = tokens_to_separators(tokens, height, settings, rules)
    columns = tokens_to_columns(tokens, separators)
    columns = spans_from_rules(tokens, columns, frame.horizontal, height)
    rows = lines_to_rows(tokens, columns, frame.horizontal, settings)
    drawn = _drawn_columns(columns, separators, rules, height)
    return frame.to_picture(boxes_to_quads(_grid_boxes(tokens, columns, rows, separators, height, drawn)))


def _drawn_columns(columns: Ints, separators: Floats, rules: Floats, height: float) -> list[int]:
    """Columns without text that lines or fills show: both sides are drawn, and there is room for text."""
    is_drawn, width = np.isin(separators, rules), np.diff(separators)
    is_column = is_drawn[:-1] & is_drawn[1:] & (width > _ROOM * height)
    return [
        col for col in (np.flatnonzero(is_column) + 1).tolist() if not (columns == [col, col + 1]).all(axis=1).any()
    ]


def _grid_boxes(
    tokens: Tokens, columns: Ints, rows: Ints, separators: Floats, height: float, drawn: Sequence[int]
) -> Floats:
    """``(N, 4)`` boxes of the slots and spans that hold tokens, and of drawn columns; borders in the middle of gaps."""
    boxes = tokens.boxes_xyxy
    row_of = rows[tokens.line]
    line_top, line_bottom = tokens.line_extents()
    starts = np.flatnonzero(np.diff(rows, prepend=-1))
    top, bottom = line_top[starts], line_bottom[np.append(starts[1:], len(rows)) - 1]
    margin = height / 4
    ys = np.concatenate([[top[0] - margin], (bottom[:-1] + top[1:]) / 2, [bottom[-1] + margin]])
    xs = np.concatenate([[boxes[:, 0].min() - margin], separators, [boxes[:, 2].max() + margin]])
    cells = _merge_spans(row_of, columns)
    for row, col in ((row, col) for row in range(len(top)) for col in drawn):
        if not any(r == row and first <= col < end for r, first, end in cells):
            cells.append((row, col, col + 1))
    return as_boxes([[xs[c0], ys[r], xs[c1], ys[r + 1]] for r, c0, c1 in cells])


def _merge_spans(row_of: Ints, columns: Ints) -> list[tuple[int, int, int]]:
    """(row, first column, end column) of the cells; overlapping spans of one row become one."""
    cells: list[tuple[int, int, int]] = []
    for row, first, end in sorted({(int(r), int(a), int(b)) for r, (a, b) in zip(row_of, columns, strict=True)}):
        if cells and cells[-1][0] == row and first < cells[-1][2]:
            cells[-1] = (row, cells[-1][1], max(end, cells[-1][2]))
        else:
            cells.append((row, first, end))
    return cells
