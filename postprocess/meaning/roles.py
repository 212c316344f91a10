"""What each cell is to its table: read from its header mark, its place and its width."""

from __future__ import annotations

import re
from typing import Literal

from postprocess.cell import Cell
from postprocess.table import Table

Role = Literal["title", "header", "stub", "section", "total", "note", "data"]
"""A title or note here is a row of the table; text outside the grid is ``Table.title`` and ``Table.notes``."""

LONG = 80
"""Text of more characters is not the heading of a section but a note."""
_MARKED = re.compile(
    r"\s*(?:(?i:notes?|sources?|remarks?|legend|key|abbreviations?|n\.?\s?b|quellen?|anmerkung(?:en)?|fuentes?|notas?)"
    r"\b\s*(?:\(?\w\)?\s*)?[.:：—-]"
    r"|(?:附?[注註]|备注|備註|说明|說明|填表说明|(?:资料|数据|資料|數據)?[来來]源)\s*(?:\d+\s*)?[:：.、]"
    r"|[*†‡§¶#※∗＊]|[(（][a-z0-9]{1,2}[)）]|[a-z0-9][)）]\s|[¹²³⁴⁵⁶⁷⁸⁹ᵃᵇᶜᵈᵉ]|[a-h]\s[A-Z]|[a-h1-9][A-Z][a-z]"
    r"|[–—-]\s*(?:=\s*)?(?i:not|nil|no)\b|\S{1,5}\s*[=＝]\s*\S)"
)
"""How a note begins: a word for it and a colon, or a mark that refers to a cell."""


def cell_role(cell: Cell, table: Table) -> Role:
    """What a cell is.

    Args:
        cell: One of the cells of ``table``.
        table: With headers marked.

    Returns:
        ``"title"``: as wide as the table, with nothing but such rows above it and others below. ``"note"``: as wide as
        the table, with nothing but such rows below it, and begun as notes are or too long for the heading of a
        section. ``"header"``, ``"stub"`` and ``"section"``: a column, row or section header. ``"total"``: in a row or
        column of totals. Else ``"data"``.

    >>> rows = [[Cell(0, 0, colspan=2, text="Sales of the year")], [Cell(1, 0, text="Tea"), Cell(1, 1, text="7")]]
    >>> table = Table(sum(rows, []))
    >>> [cell_role(cell, table) for cell in table.cells]
    ['title', 'data', 'data']
    """
    if _is_wide(cell, table):
        if all(_is_wide(table[row, 0], table) for row in range(cell.row)) and _has_grid(table, cell.end_row):
            return "section" if _is_one_of_several_sections(cell, table) else "title"
        is_last = all(_is_wide(table[row, 0], table) for row in range(cell.end_row, table.n_rows))
        if is_last and cell.row > 0 and (is_note(cell.text) or len(cell.text) > LONG):
            return "note"
    if cell.is_total and cell.header in (None, "row"):
        return "total"
    return _BY_HEADER[cell.header]


_BY_HEADER: dict[str | None, Role] = {"column": "header", "row": "stub", "section": "section", None: "data"}


def stub_width(table: Table) -> int:
    """Number of columns at the left that hold row headers and nothing else below the header rows.

    >>> stub_width(Table([Cell(0, 0, text="Tea", header="row"), Cell(0, 1, text="7")]))
    1
    """
    width = 0
    for col in range(table.n_cols):
        cells = {int(index) for index in table.owner[table.n_header_rows :, col]}
        own = [table.cells[index] for index in cells if table.cells[index].header != "section"]
        marked = [cell.header == "row" for cell in own if cell.text.strip() and not _is_wide(cell, table)]
        if not marked or not all(marked):
            break
        width = col + 1
    return width


def _is_wide(cell: Cell, table: Table) -> bool:
    return cell.colspan == table.n_cols > 1 and bool(cell.text.strip())


def _is_one_of_several_sections(cell: Cell, table: Table) -> bool:
    return cell.header == "section" and any(
        other.header == "section" and other.row >= cell.end_row for other in table.cells
    )


def _has_grid(table: Table, first: int) -> bool:
    return any(not _is_wide(table[row, 0], table) for row in range(first, table.n_rows))


def is_note(text: str) -> bool:
    """Whether a text begins as a note does: with a word for it and a colon, or with a mark.

    >>> [is_note(text) for text in ("Source: survey", "* p < 0.05", "注：未经审计", "Notes payable")]
    [True, True, True, False]
    """
    return _MARKED.match(text) is not None
