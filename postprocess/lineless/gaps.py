"""Cells of tables without rulings: rows and columns from words and the white gaps between them.

The stages, each a function::

    words -> tokens -> text lines -> column separators -> rows -> cells

A column separator is a vertical line that many text lines leave white and few
cross. Separators are chosen greedily: each time the position that explains most
gaps that no chosen separator explains yet, less the tokens that it would cut.
Ruling lines, where there are any, separate rows and columns for certain.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from postprocess.arrays import Floats, Ints
from postprocess.geometry.boxes import (
    as_boxes,
    as_quads,
    boxes_to_quads,
    drop_unused_lines,
    spans_to_boxes,
    word_height,
)
from postprocess.geometry.frame import quads_to_frame
from postprocess.geometry.rulings import Rulings
from postprocess.lineless.columns import (
    MOST_COLUMNS,
    dividing_rules,
    spans_from_rules,
    tokens_to_columns,
    tokens_to_separators,
)
from postprocess.lineless.rows import lines_to_rows
from postprocess.text.tilt import STEEP, text_tilt
from postprocess.text.tokens import Tokens, words_to_tokens
from postprocess.word import Word

_logger = logging.getLogger(__name__)

_LEVEL = 0.2
"""Degrees up to which text counts as level."""
_ROOM = 1.5
"""Least width of a column without text, in text heights: between two strokes of one line there is no column."""


@dataclass(frozen=True, slots=True)
class LinelessArea:
    """Cells of a table without rulings, and the lines between them.

    Args:
        quads: ``(N, 4, 2)`` cells in pixels of the picture: each slot or span of the grid that holds text.
        xs: ``(C + 1,)`` positions of the lines between columns, in the upright frame, increasing.
        ys: ``(R + 1,)`` positions of the lines between rows, likewise.
        spans: ``(N, 4)`` row, column, end row, end column of each cell; in each row and each column a cell starts.
        frame: Upright frame, with the rulings that were given.
    """

    quads: Floats
    xs: Floats
    ys: Floats
    spans: Ints
    frame: Rulings


def words_to_area(words: Sequence[Word], rulings: Rulings | None = None) -> LinelessArea | None:
    """Cells of one table from its words, None where they hold no text or would have ``MOST_COLUMNS``.

    Args:
        words: Words of the table.
        rulings: Ruling lines of the picture: they separate rows and columns for
            certain, and a short one below a header shows which columns it spans.

    >>> corners = [((x, y), (x + 20.0, y), (x + 20.0, y + 10), (x, y + 10)) for y in (0.0, 20.0) for x in (0.0, 50.0)]
    >>> area = words_to_area([Word(text, quad) for text, quad in zip("abcd", corners, strict=True)])
    >>> area.xs.tolist(), area.spans.tolist()
    ([-2.5, 35.0, 72.5], [[0, 0, 1, 1], [0, 1, 1, 2], [1, 0, 2, 1], [1, 1, 2, 2]])
    """
    if not words:
        return None
    quads = as_quads([word.quad for word in words])
    height = max(word_height(quads), 1.0)
    frame = _upright_frame(quads, height, rulings)
    tokens = words_to_tokens(words, frame)
    if not len(tokens.line):
        return None
    rules = dividing_rules(frame.vertical, tokens, height)
    separators = tokens_to_separators(tokens, height, rules)
    if len(separators) >= MOST_COLUMNS:
        _logger.warning("%d words were taken for no table: it would have %d columns", len(words), len(separators) + 1)
        return None
    columns = tokens_to_columns(tokens, separators)
    columns = spans_from_rules(tokens, columns, frame.horizontal, height)
    rows = lines_to_rows(tokens, columns, frame.horizontal)
    drawn = _drawn_columns(columns, separators, rules, height)
    spans = _spans(rows[tokens.line], columns, int(rows[-1]) + 1, drawn)
    xs, ys = _borders(tokens, rows, separators, height / 4)
    cells = frame.to_picture(boxes_to_quads(spans_to_boxes(spans, xs, ys)))
    spans, ys, xs = drop_unused_lines(spans, ys, xs)
    return LinelessArea(cells, xs, ys, spans, frame)


def _upright_frame(quads: Floats, height: float, rulings: Rulings | None) -> Rulings:
    """The frame of the rulings; where it is that of the picture, the words tell the tilt."""
    given = rulings or Rulings(as_boxes([]), as_boxes([]), 0.0, (0.0, 0.0), height)
    if given.degrees or given.perspective is not None:
        return given
    tilt = text_tilt(quads)
    if tilt is None:
        tilt = float(np.degrees(np.arctan(quads_to_frame(quads).slopes[0])))
    return replace(given, degrees=tilt if _LEVEL < abs(tilt) < STEEP else 0.0, text_height=height)


def _drawn_columns(columns: Ints, separators: Floats, rules: Floats, height: float) -> list[int]:
    """Columns without text that lines or fills show: both sides are drawn, and there is room for text."""
    is_drawn, width = np.isin(separators, rules), np.diff(separators)
    is_column = is_drawn[:-1] & is_drawn[1:] & (width > _ROOM * height)
    return [
        col for col in (np.flatnonzero(is_column) + 1).tolist() if not (columns == [col, col + 1]).all(axis=1).any()
    ]


def _borders(tokens: Tokens, rows: Ints, separators: Floats, margin: float) -> tuple[Floats, Floats]:
    """Lines between columns and between rows; those of the rows lie in the middle of the gaps."""
    boxes = tokens.boxes_xyxy
    line_top, line_bottom = tokens.line_extents()
    starts = np.flatnonzero(np.diff(rows, prepend=-1))
    top, bottom = line_top[starts], line_bottom[np.append(starts[1:], len(rows)) - 1]
    ys = np.concatenate([[top[0] - margin], (bottom[:-1] + top[1:]) / 2, [bottom[-1] + margin]])
    return np.concatenate([[boxes[:, 0].min() - margin], separators, [boxes[:, 2].max() + margin]]), ys


def _spans(row_of: Ints, columns: Ints, n_rows: int, drawn: Sequence[int]) -> Ints:
    """``(N, 4)`` spans of the slots that hold tokens, and of those of drawn columns that no token covers."""
    cells = _merge_spans(row_of, columns)
    taken = {(row, col) for row, first, end in cells for col in range(first, end)}
    cells += [(row, col, col + 1) for row in range(n_rows) for col in drawn if (row, col) not in taken]
    return np.array([(row, first, row + 1, end) for row, first, end in cells], np.int64)


def _merge_spans(row_of: Ints, columns: Ints) -> list[tuple[int, int, int]]:
    """(row, first column, end column) of the cells; overlapping spans of one row become one."""
    cells: list[tuple[int, int, int]] = []
    for row, first, end in sorted({(int(r), int(a), int(b)) for r, (a, b) in zip(row_of, columns, strict=True)}):
        if cells and cells[-1][0] == row and first < cells[-1][2]:
            cells[-1] = (row, cells[-1][1], max(end, cells[-1][2]))
        else:
            cells.append((row, first, end))
    return cells
