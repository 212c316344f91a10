"""Tables -> the value of each cell, and what was decided about each column."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from postprocess.cell import Cell
from postprocess.table import Table
from postprocess.values.columns import (
    Column,
    Draft,
    Kind,
    Rule,
    Wider,
    draft_column,
    reading_to_value,
    settle,
    shared_rules,
)
from postprocess.values.reading import Reading, read_text
from postprocess.values.value import Value, text_to_value

_Members = tuple[Draft, Sequence[int]]
"""A column, and which of the cells it counts."""


@dataclass(frozen=True, slots=True)
class TableValues:
    """What the texts of a table are worth.

    Args:
        cells: The value of each of ``table.cells``.
        columns: One for each column.
    """

    cells: tuple[Value, ...]
    columns: tuple[Column, ...]


def tables_to_values(tables: Sequence[Table]) -> list[TableValues]:
    """Read the numbers and dates of tables that belong together, such as those of one page.

    Args:
        tables: Any number of tables, headers marked where they are known.

    Returns:
        For each table its values and columns.

    >>> euros = Table.from_texts([["870,00"], ["1 548,07"], ["-0,40"], ["12,5 %"], ["—"]])
    >>> others = Table.from_texts([["1.234", "v1.2"], ["5.678", "7"]])
    >>> first, second = tables_to_values([euros, others])
    >>> [value.value for value in first.cells]
    [870.0, 1548.07, -0.4, 0.125, '—']
    >>> first.columns[0].decimal, first.columns[0].group, first.columns[0].decided_by
    (',', ' ', 'column')
    >>> [value.value for value in second.cells], second.columns[0].decided_by
    ([1234, 'v1.2', 5678, '7'], 'page')
    """
    drafted = [_draft_table(table) for table in tables]
    page = _said(draft for members in drafted for draft, _ in members)
    return [
        _settle_table(table, members, [("table", _said(draft for draft, _ in members)), ("page", page)])
        for table, members in zip(tables, drafted, strict=True)
    ]


def table_to_values(table: Table, others: Sequence[Table] = ()) -> TableValues:
    """Read the numbers and dates of one table.

    Args:
        table: Any table.
        others: The other tables of its page, which decide where this one does not.

    >>> table_to_values(Table.from_texts([["1.234"]])).cells[0].value
    '1.234'
    >>> table_to_values(Table.from_texts([["1.234"]]), [Table.from_texts([["0,5"]])]).cells[0].value
    1234
    """
    return tables_to_values([table, *others])[0]


def is_heading(cell: Cell) -> bool:
    """Whether a cell heads a column or a section, and is text whatever it says.

    >>> is_heading(Cell(0, 0, text="2026", header="column")), is_heading(Cell(1, 0, text="2026", header="row"))
    (True, False)
    """
    return cell.header in ("column", "section")


def _said(drafts: Iterable[Draft]) -> dict[Kind, frozenset[Rule]]:
    known = list(drafts)
    return {kind: shared_rules(known, kind) for kind in ("number", "date")}


def _draft_table(table: Table) -> list[_Members]:
    """For each column what it may be, and which cells say so."""
    readings = [read_text(cell.text) for cell in table.cells]
    aside = _first_row_headings(table, readings) | _rows_of_dates(table, readings)
    members: list[list[int]] = [[] for _ in range(table.n_cols)]
    for index, cell in enumerate(table.cells):
        if cell.colspan == 1 and cell.text.strip() and not is_heading(cell):
            members[cell.col].append(index)
    return [_draft_members(readings, column, aside) for column in members]


def _draft_members(readings: Sequence[Reading], column: Sequence[int], aside: AbstractSet[int]) -> _Members:
    """A column with all its cells, or without those set aside where only they do not fit."""
    if not column:
        return Draft("empty"), ()
    counted = [index for index in column if not readings[index].is_label]
    draft = draft_column([readings[index] for index in counted])
    rest = [index for index in counted if index not in aside]
    if draft.kind == "text" and len(rest) < len(counted):
        part = draft_column([readings[index] for index in rest])
        return (draft, counted) if part.kind == "text" else (part, rest)
    return draft, counted


def _first_row_headings(table: Table, readings: Sequence[Reading]) -> set[int]:
    """Cells of the first row that head a column of numbers, in a table whose headers nobody marked."""
    if any(cell.header == "column" for cell in table.cells):
        return set()
    first = [(index, readings[index]) for index, cell in enumerate(table.cells) if cell.row == 0]
    return {index for index, each in first if not each.numbers and not re.search("[0-9]", _PERIOD.sub("", each.text))}


_MONTHS = "Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec"
_PERIOD = re.compile(
    r"(?<![0-9/-])(?:19|20)[0-9]{2}(?:\s*[-–/]\s*(?:[0-9]{4}|[0-9]{2}))?(?![0-9/-])|\bFY ?'?[0-9]{2}\b|\b[QH][1-4]\b"
    rf"|\b[0-9]{{1,2}}\.? (?={_MONTHS})|(?<=[a-z] )[0-9]{{1,2}}(?=, (?:19|20))|第?[0-9]{{1,2}}[月季]"
)
"""Years, quarters, months and days, as they head columns."""


def _rows_of_dates(table: Table, readings: Sequence[Reading]) -> set[int]:
    """Cells of the rows in which, but for the first column, all that has digits is a date, twice at least.

    Where columns hold numbers, such a row is a series of its own, as in a table that is written across.
    """
    found: set[int] = set()
    by_row: list[list[int]] = [[] for _ in range(table.n_rows)]
    for index, cell in enumerate(table.cells):
        if cell.col and not readings[index].is_label:
            by_row[cell.row].append(index)
    for row in by_row:
        if len(row) > 1 and all(readings[index].dates for index in row):
            found.update(row)
    return found


def _settle_table(table: Table, members: Sequence[_Members], wider: Wider) -> TableValues:
    values = [Value(cell.text, "General") if is_heading(cell) else text_to_value(cell.text) for cell in table.cells]
    columns = []
    for draft, counted in members:
        column, found = settle(draft, wider)
        columns.append(column)
        for index, value in zip(counted, found, strict=False):
            values[index] = value
    for index, cell in enumerate(table.cells):
        if cell.colspan > 1 and not is_heading(cell):
            values[index] = reading_to_value(read_text(cell.text), wider)
    return TableValues(tuple(values), tuple(columns))
