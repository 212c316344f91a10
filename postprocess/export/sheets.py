"""The sheets of a workbook: one for each table, and one for each table in a cell, to which the cell leads."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from postprocess.characters import clean_text
from postprocess.table import Table, tables_in

GAP = 2
"""Rows from the title to the table, and from its last row to the first note: one of them is empty."""

THERE, BACK = "→", "←"
"""What stands before the name of a sheet to which a cell leads."""


@dataclass(slots=True)
class Sheet:
    """A table and where a workbook has it.

    Args:
        name: Of the sheet.
        table: What is written.
        back: For an inner table the sheet and the cell of Excel that hold it, else empty.
        inner: By number of the cell the names of the sheets of the tables in it.
    """

    name: str
    table: Table
    back: tuple[str, str] | None = None
    inner: dict[int, list[str]] = field(default_factory=dict)

    @property
    def top(self) -> int:
        """Rows above the table: a line that leads back, the title, and an empty row."""
        n_lines = (self.back is not None) + (self.table.title is not None)
        return n_lines + GAP - 1 if n_lines else 0


def plan_sheets(tables: Sequence[Table], names: Sequence[str]) -> list[Sheet]:
    """A sheet for each table, and after it those of the tables in its cells.

    Args:
        tables: Those that stand in no cell.
        names: Of their sheets, all different.

    >>> from postprocess.cell import Cell
    >>> inner = Table.from_texts([["a"]])
    >>> outer = Table([Cell(0, 0), Cell(0, 1, tables=(inner,))])
    >>> [sheet.name for sheet in plan_sheets([outer, inner], ["Table 1", "Table 2"])]
    ['Table 1', 'Table 1 B1', 'Table 2']
    """
    taken = {"", "history", *map(str.lower, names)}
    planned: list[Sheet] = []

    def plan(sheet: Sheet) -> None:
        planned.append(sheet)
        for number, cell in enumerate(sheet.table.cells):
            place = f"{column_letter(cell.col + 1)}{sheet.top + cell.row + 1}"
            for table in tables_in(cell):
                inner = _unique(f"{_cut(sheet.name, 30 - len(place))} {place}", taken)
                sheet.inner.setdefault(number, []).append(inner)
                plan(Sheet(inner, table, back=(sheet.name, place)))

    for table, name in zip(tables, names, strict=True):
        plan(Sheet(name, table))
    return planned


def sheet_names(wanted: Sequence[str]) -> list[str]:
    """Names that Excel takes: 1 to 31 characters, none of ``[]:*?/\\``, unique whatever the case.

    >>> sheet_names(["a/b", "", "A B"])
    ['a b', 'Table 2', 'A B (2)']
    """
    taken = {"", "history"}
    return [
        _unique(re.sub(r"[\[\]:*?/\\\n\t]", " ", clean_text(name)).strip(" '") or f"Table {number}", taken)
        for number, name in enumerate(wanted, 1)
    ]


def _unique(name: str, taken: set[str]) -> str:
    """The name, cut and counted up until nobody has taken it; then it is taken."""
    unique, count = _cut(name, 31), 1
    while unique.lower() in taken:
        count += 1
        unique = f"{_cut(name, 31 - len(f' ({count})'))} ({count})"
    taken.add(unique.lower())
    return unique


def _cut(text: str, n_units: int) -> str:
    # Excel counts UTF-16 units: a rare character counts two.
    while len(text.encode("utf-16-le")) > 2 * n_units:
        text = text[:-1]
    return text.strip(" '")


def with_links(planned: Sheet) -> Table:
    """The table with the names of the sheets of inner tables below the texts of their cells."""
    if not planned.inner:
        return planned.table
    cells = list(planned.table.cells)
    for number, names in planned.inner.items():
        lines = [cells[number].text, *(f"{THERE} {name}" for name in names)]
        cells[number] = replace(cells[number], text="\n".join(filter(None, lines)))
    return replace(planned.table, cells=cells)


def column_letter(number: int) -> str:
    """The name of a column of Excel, which are counted from 1.

    >>> column_letter(1), column_letter(26), column_letter(27), column_letter(16384)
    ('A', 'Z', 'AA', 'XFD')
    """
    letters = ""
    while number:
        number, letter = divmod(number - 1, 26)
        letters = chr(ord("A") + letter) + letters
    return letters
