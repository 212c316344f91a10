"""Characters that look alike: only the column tells which one it is."""

from __future__ import annotations

from dataclasses import replace

from postprocess.table import Table
from postprocess.tokens import is_number

STROKES = {"一": "—", "ー": "—", "_": "—"}
"""A lone stroke that readers take for a letter, and the dash that it is among numbers."""


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
    if not any(cell.text in STROKES for cell in table.cells):
        return table
    cells = []
    for cell in table.cells:
        others = [
            other.text
            for other in table.cells
            if cell.text in STROKES and other.text and other.text not in STROKES
            if other.col < cell.end_col and cell.col < other.end_col
        ]
        is_dash = bool(others) and sum(map(is_number, others)) > len(others) / 2
        cells.append(replace(cell, text=STROKES[cell.text]) if is_dash else cell)
    return table.with_cells(cells)
