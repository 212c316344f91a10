"""Header rows, stub column and section rows, by evidence that can be named.

- A top row is a header row where it holds labels above columns of numbers.
  Years count as labels there, unless the column holds mostly years.
- Without any number, only spans tell: groups in the first row that are split
  in the second, over a body without such groups.
- A cell never hangs out of the header rows: they grow to hold it, or there are none.
- The first column is the stub where it holds labels and most others numbers.
- A section row has one label, alone in its row or as wide as the table, with
  rows below.

Where the evidence is missing nothing is marked: a wrong header hides a row.
"""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from postprocess.table import Cell, HeaderKind, Table
from postprocess.values import parse_value

EMPTY, LABEL, YEAR, NUMBER = range(4)
"""Kinds of content, see `text_to_kind`."""

MAX_SECTION_CHARS = 80
"""A longer text is a note, not the heading of a section."""

Kinds = NDArray[np.int8]
Mask = NDArray[np.bool_]


def mark_headers(table: Table) -> Table:
    """Set ``Cell.header`` of every cell from the texts and spans of the table.

    Args:
        table: Any table; marks that it has are replaced.

    Returns:
        The same cells with ``header`` set to ``"column"``, ``"row"``,
        ``"section"`` or None. The cells of the header rows are all
        ``"column"``, empty ones included, so ``Table.n_header_rows`` counts them.

    >>> table = mark_headers(Table.from_texts([["", "2017", "2018"], ["Sales", "12.5", "13.1"], ["Costs", "8", "9"]]))
    >>> table.n_header_rows, [cell.header for cell in table.rows()[1]]
    (1, ['row', None, None])
    """
    if not table.cells:
        return table
    kinds = np.array([text_to_kind(cell.text) for cell in table.cells], np.int8)[table.owner]
    depth = _header_depth(table, kinds)
    sections = _section_rows(table, kinds, depth)
    body = [row for row in range(depth, table.n_rows) if row not in sections]
    stub_width = _stub_width(table, kinds, body)

    def mark(cell: Cell) -> HeaderKind | None:
        if cell.row < depth:
            return "column"
        if not cell.text.strip():
            return None
        if cell.row in sections:
            return "section"
        return "row" if cell.col < stub_width and not _is_wide(cell, table) else None

    return table.with_cells(_with_header(cell, mark(cell)) for cell in table.cells)


def _with_header(cell: Cell, header: HeaderKind | None) -> Cell:
    return cell if cell.header == header else replace(cell, header=header)


def text_to_kind(text: str) -> int:
    """Return ``EMPTY``, ``LABEL``, ``YEAR`` or ``NUMBER``.

    A text without letters and digits, and ``n/a``, count as empty. A year may
    stand in a date or a range. Any other text with more digits than letters is
    a number, such as ``"12.5 (3.4)"``.

    >>> [text_to_kind(text) for text in ("-", "Total", "2016/17", "1,234", "5.2 ± 0.3")]
    [0, 1, 2, 3, 3]
    """
    n_digits, n_letters = sum(map(str.isdecimal, text)), sum(map(str.isalpha, text))
    if n_digits + n_letters == 0 or text.strip().lower() in ("n/a", "n.a.", "na", "nil"):
        return EMPTY
    if n_digits == 0:
        return LABEL
    if n_letters <= len("September") and _is_year(text):
        return YEAR
    return NUMBER if n_digits > n_letters else LABEL


def _is_year(text: str) -> bool:
    groups = re.findall("[0-9]+", text)
    years = [group for group in groups if len(group) == 4 and group[:2] in ("19", "20")]
    if not years or any(len(group) > 2 for group in groups if group not in years):
        return False
    return text.strip() in years or not isinstance(parse_value(text).value, (int, float))


def _slots_of_numbers(kinds: Kinds) -> Mask:
    # A year is a label above amounts, but a value in a column of years.
    numbers: Mask = kinds == NUMBER
    years: Mask = kinds == YEAR
    return numbers | (years & _mostly(years, kinds != EMPTY))


def _mostly(wanted: Mask, filled: Mask) -> Mask:
    mostly: Mask = 2 * wanted.sum(axis=0) > filled.sum(axis=0)
    return mostly


def _header_depth(table: Table, kinds: Kinds) -> int:
    numbers, filled = _slots_of_numbers(kinds), kinds != EMPTY
    if not numbers.any():
        return _grouped_depth(table, filled)
    first = int(numbers.any(axis=1).argmax())
    numeric = _mostly(numbers[first:], filled[first:])
    # One number may stand anywhere; two below labels are a column or a row of values.
    if numbers[first:, numeric].sum() < 2:
        return 0
    return _grow(table, _headed_rows(table, filled[:first], numeric), first)


def _headed_rows(table: Table, filled: Mask, numeric: Mask) -> int:
    depth = 0
    for row, labelled in enumerate(filled):
        if _is_wide(table[row, 0], table) and not all(_is_wide(table[above, 0], table) for above in range(row)):
            break  # a section, no title
        share = labelled[numeric].mean()
        if share >= 0.5 or (depth == 0 and share > 0) or (depth == row > 0 and _is_split(table, row, filled)):
            depth = row + 1
        elif depth or len(set(table.owner[row, labelled])) > 1:
            break
    # Nothing but titles as wide as the table: they head rows, not columns.
    return 0 if all(_is_wide(table[row, 0], table) for row in range(depth)) else depth


def _grouped_depth(table: Table, filled: Mask) -> int:
    if table.n_rows < 3 or not filled[0, 1:].all() or not _is_split(table, 1, filled):
        return 0
    depth = _grow(table, 2, table.n_rows - 1)
    return 0 if any(_is_group(cell, table) for cell in table.cells if cell.row >= depth) else depth


def _is_wide(cell: Cell, table: Table) -> bool:
    return cell.colspan == table.n_cols > 1


def _is_group(cell: Cell, table: Table) -> bool:
    return 1 < cell.colspan < table.n_cols


def _is_split(table: Table, row: int, filled: Mask) -> bool:
    """Whether each group that ends above ``row`` has several labels below."""
    groups = [cell for cell in table.cells if cell.end_row == row and _is_group(cell, table) and cell.text.strip()]
    below = [slice(cell.col, cell.end_col) for cell in groups]
    return bool(groups) and all(filled[row, cols].all() and len(set(table.owner[row, cols])) > 1 for cols in below)


def _grow(table: Table, depth: int, limit: int) -> int:
    """Rows that hold all cells which start in the first ``depth`` rows, or 0 beyond ``limit``."""
    while (end := max((cell.end_row for cell in table.cells if cell.row < depth), default=0)) > depth:
        depth = end
    return depth if depth <= limit else 0


def _section_rows(table: Table, kinds: Kinds, depth: int) -> set[int]:
    wide: set[int] = set()
    lone: set[int] = set()
    for row, cells in list(enumerate(table.rows()))[depth:]:
        filled = [cell for cell in cells if cell.text.strip()]
        if len(filled) != 1 or filled[0].rowspan > 1 or not _is_heading(filled[0], kinds[row, 0]):
            continue
        if _is_wide(filled[0], table):
            wide.add(row)
        elif len(cells) == table.n_cols and not any(cell.is_spanning for cell in cells):
            lone.add(row)
    # In a form to be filled in, rows of one label are the rule; then they head nothing.
    n_others = table.n_rows - depth - len(wide) - len(lone)
    sections = wide | lone if table.n_cols > 2 and len(lone) < n_others else wide
    last = table.n_rows - 1
    while last in sections:
        sections.discard(last)
        last -= 1
    return sections


def _is_heading(cell: Cell, kind: int) -> bool:
    return cell.col == 0 and kind in (LABEL, YEAR) and len(cell.text) <= MAX_SECTION_CHARS


def _stub_width(table: Table, kinds: Kinds, body: list[int]) -> int:
    kinds = kinds[body]
    if len(body) < 2 or table.n_cols < 2:
        return 0
    filled, numbers = kinds != EMPTY, kinds == NUMBER
    labels = _mostly(filled & ~numbers, filled) & (filled.sum(axis=0) > 1)
    numeric = _mostly(_slots_of_numbers(kinds), filled)
    if not labels[0] or 2 * numeric[1:].sum() < table.n_cols - 1:
        return 0
    # Labels grouped by a tall cell fill two columns.
    grouped = any(cell.col == 0 and cell.rowspan > 1 and cell.row in body for cell in table.cells)
    return 2 if grouped and labels[1] and not numeric[1] else 1
