"""Which way a text runs, and a table: in Hebrew and Arabic, columns follow each other from right to left."""

from __future__ import annotations

import re

from postprocess.cell import Direction
from postprocess.table import Table
from postprocess.text.bidi import text_direction

_LEAST_CELLS = 2
"""Cells of right-to-left text that a table has at least to run that way."""

_ONE_NUMBER = re.compile("[0-9]+(?:[.,:/-][0-9]+)*%?")
"""Looks the same in any surroundings, where -5 and 1 234 do not."""


def own_direction(text: str, around: Direction) -> Direction | None:
    """The direction that has to be named for a text to be shown right; None where that of its surroundings will do.

    A number with its sign runs to the right in any language; in right-to-left text it would be shown as 5.2-.

    >>> own_direction("שלום", "ltr"), own_direction("שלום", "rtl")
    ('rtl', None)
    >>> own_direction("-5.2", "rtl"), own_direction("7", "rtl")
    ('ltr', None)
    """
    own = text_direction(text)
    if own is None and re.search("[0-9]", text) and not (_ONE_NUMBER.fullmatch(text) or any(map(str.isalpha, text))):
        own = "ltr"
    return None if own == around else own


def in_reading_order(table: Table) -> Table:
    """The table with its first column where reading begins: at the right where most of its cells with letters run so.

    Args:
        table: With texts, and with its columns from left to right.

    >>> table = in_reading_order(Table.from_texts([["12", "תה"], ["7", "קפה"]]))
    >>> table.direction, table[0, 0].text, in_reading_order(Table.from_texts([["12", "תה"]])).direction
    ('rtl', 'תה', 'ltr')
    """
    votes = [text_direction(cell.text) for cell in table.cells]
    is_rtl = votes.count("rtl") >= _LEAST_CELLS and votes.count("rtl") > votes.count("ltr")
    return table.mirrored() if is_rtl and table.direction == "ltr" else table
