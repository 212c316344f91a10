"""Steps on many texts, on those beside a table, and on what a person says of its cells."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from postprocess.cell import Caption
from postprocess.editing.axes import check
from postprocess.editing.steps import typed
from postprocess.table import Table


def fill(table: Table, row: int, col: int, end_row: int, end_col: int, text: str) -> Table:
    """Give each cell of a block the same text.

    Args:
        table: Any.
        row: First row.
        col: First column.
        end_row: First row below.
        end_col: First column after it.
        text: Of each cell.

    Raises:
        TableError: The block is empty or not in the table.

    >>> fill(Table.from_texts([["a", "b"], ["c", "d"]]), 0, 1, 2, 2, "x").to_grid()
    [['a', 'x'], ['c', 'x']]
    """
    chosen = indices_in(table, row, col, end_row, end_col)
    return replace(table, cells=[typed(cell, text) if at in chosen else cell for at, cell in enumerate(table.cells)])


def replace_all(table: Table, find: str, text: str, match_case: bool = True) -> Table:
    """Replace a text wherever it is in a cell.

    Args:
        table: Any.
        find: What to replace, letter by letter.
        text: What to put there.
        match_case: Whether capitals differ from small letters.

    Raises:
        TableError: Nothing is looked for.

    >>> replace_all(Table.from_texts([["l2", "L"]]), "l", "1", match_case=False).to_grid()
    [['12', '1']]
    """
    check(bool(find), "nothing is looked for: write what to find", "nothing_to_find")
    pattern = re.compile(re.escape(find), 0 if match_case else re.IGNORECASE)
    texts = [pattern.sub(lambda _: text, cell.text) for cell in table.cells]
    cells = [
        cell if cell.text == changed else typed(cell, changed) for cell, changed in zip(table.cells, texts, strict=True)
    ]
    return replace(table, cells=cells)


def confirm(table: Table, row: int, col: int, end_row: int, end_col: int, is_right: bool = True) -> Table:
    """Say of each cell in a block that it is right as it is, or take that back.

    Raises:
        TableError: The block is empty or not in the table.

    >>> [cell.confirmed for cell in confirm(Table.from_texts([["a", "b"]]), 0, 0, 1, 1).cells]
    [True, False]
    """
    chosen = indices_in(table, row, col, end_row, end_col)
    return replace(
        table,
        cells=[
            replace(cell, confirmed=is_right) if at in chosen and cell.confirmed != is_right else cell
            for at, cell in enumerate(table.cells)
        ],
    )


def set_title(table: Table, text: str) -> Table:
    """Set the title beside a table; without text there is none.

    >>> set_title(Table.from_texts([["a"]]), "Sales").title
    Caption(text='Sales', quad=None, score=None)
    """
    return replace(table, title=_caption(text, table.title))


def set_notes(table: Table, texts: Sequence[str]) -> Table:
    """Set the notes beside a table; those without text are none.

    >>> [note.text for note in set_notes(Table.from_texts([["a"]]), ["Source: survey", " "]).notes]
    ['Source: survey']
    """
    before = [*table.notes, *[None] * len(texts)]
    notes = [_caption(text, note) for text, note in zip(texts, before, strict=False)]
    return replace(table, notes=[note for note in notes if note])


def _caption(text: str, before: Caption | None) -> Caption | None:
    """A caption keeps its place, and its score while nobody changes it."""
    if before is not None and before.text == text:
        return before
    return Caption(text, before.quad if before else None) if text.strip() else None


def indices_in(table: Table, row: int, col: int, end_row: int, end_col: int) -> set[int]:
    """Which cells a block touches.

    Raises:
        TableError: The block is empty or not in the table.
    """
    inside = 0 <= row < end_row <= table.n_rows and 0 <= col < end_col <= table.n_cols
    message = f"rows {row} to {end_row} and columns {col} to {end_col} are no part of the table"
    check(inside, message, "no_block", row, end_row, col, end_col)
    return set(table.owner[row:end_row, col:end_col].ravel().tolist())
