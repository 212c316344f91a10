"""Characters that look alike: only the column tells which one it is."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from postprocess.arrays import Flags, Ints
from postprocess.table import Table
from postprocess.text.numbers import is_number

STROKES = {"一": "—", "ー": "—", "_": "—"}
"""A lone stroke that OCR engines take for a letter, and the dash that it is among numbers."""


def settle_strokes(table: Table) -> Table:
    """Read a lone stroke among numbers as the dash that stands for nothing.

    A cell that holds no more than the Chinese numeral one is a dash where most
    other filled cells of its columns are numbers.

    >>> table = Table.from_texts([["Total", "1,204"], ["Other", "一"], ["Sum", "1,204"]])
    >>> settle_strokes(table)[1, 1].text
    '—'
    >>> settle_strokes(Table.from_texts([["一"], ["二"], ["三"]]))[0, 0].text
    '一'
    """
    strokes = np.flatnonzero([cell.text in STROKES for cell in table.cells])
    if not len(strokes):
        return table
    kinds = [bool(cell.text) and cell.text not in STROKES and 1 + is_number(cell.text) for cell in table.cells]
    start, end = np.array([(cell.col, cell.end_col) for cell in table.cells]).T
    filled, numbers = (_count_beside(start, end, np.array(kinds) >= least, strokes) for least in (1, 2))
    texts = {index: STROKES[table.cells[index].text] for index in strokes[2 * numbers > filled].tolist()}
    return table.with_cells(
        replace(cell, text=texts[index]) if index in texts else cell for index, cell in enumerate(table.cells)
    )


def _count_beside(start: Ints, end: Ints, counted: Flags, asked: Ints) -> Ints:
    """For each of the cells asked, how many of those counted share a column with it."""
    starts, ends = (
        np.append(0, np.cumsum(np.bincount(cols[counted], minlength=end.max() + 1))) for cols in (start, end)
    )
    return np.asarray(starts[end[asked]] - ends[start[asked] + 1])
