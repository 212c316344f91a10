"""What the cells of a table mean: header rows, stub columns, section rows and totals, each with a score.

For header rows and stub columns every number of them is a candidate, and for section rows every row of one label.
Evidence that can be named speaks for and against each, with weights fitted on drawn tables whose meaning is known:
see ``HeaderEvidence``, ``StubEvidence`` and ``SectionEvidence``. What is not sure enough is not marked: a wrong
header hides a row.
"""

from __future__ import annotations

from dataclasses import replace

from postprocess.header_rows import header_row_scores
from postprocess.kinds import table_to_slots
from postprocess.sections import section_scores
from postprocess.stub import stub_scores
from postprocess.table import Cell, HeaderKind, Table
from postprocess.totals import find_totals

SURE = 0.6
"""Header rows and section rows are marked from this probability on."""
SURE_STUB = 0.75
"""Stub columns are marked from this probability on: one that is wrong marks many cells."""


def mark_headers(table: Table) -> Table:
    """Set ``header``, ``header_score`` and ``is_total`` of every cell from the texts and spans of the table.

    Args:
        table: Any table; marks that it has are replaced.

    Returns:
        The same cells with ``header`` set to ``"column"``, ``"row"``,
        ``"section"`` or None. The cells of the header rows are all
        ``"column"``, empty ones included, so ``Table.n_header_rows`` counts them.

    >>> table = mark_headers(Table.from_texts([["", "2017", "2018"], ["Sales", "12.5", "13.1"], ["Total", "8", "9"]]))
    >>> table.n_header_rows, [cell.header for cell in table.rows()[1]], table[2, 1].is_total
    (1, ['row', None, None], True)
    """
    if not table.cells:
        return table
    slots = table_to_slots(table)
    of_rows = header_row_scores(slots)
    depth = int((of_rows >= SURE).sum())
    of_sections = section_scores(slots, depth)
    sections = of_sections >= SURE
    of_cols = stub_scores(table, slots, depth, sections)
    stub = of_cols >= SURE_STUB
    total_rows, total_cols = (lines.tolist() for lines in find_totals(table, slots, depth, sections))

    def read(cell: Cell) -> tuple[HeaderKind | None, float | None]:
        if cell.row < depth:
            return "column", float(of_rows[cell.row])
        if cell.text.strip() and sections[cell.row]:
            return "section", float(of_sections[cell.row])
        if cell.text.strip() and stub[cell.col] and not cell.colspan == table.n_cols > 1:
            return "row", float(of_cols[cell.col])
        return None, None

    def mark(cell: Cell) -> Cell:
        header, score = read(cell)
        is_total = all(total_rows[cell.row : cell.end_row]) or all(total_cols[cell.col : cell.end_col])
        if (header, score, is_total) == (cell.header, cell.header_score, cell.is_total):
            return cell
        return replace(cell, header=header, header_score=score, is_total=is_total)

    return table.with_cells(map(mark, table.cells))
