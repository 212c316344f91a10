"""What the cells of a table mean: header rows, stub columns, section rows and totals, each with a score.

For header rows and stub columns every number of them is a candidate, and for section rows every row of one label.
Evidence that can be named speaks for and against each, with weights fitted on synthetic tables whose meaning is known:
see ``HeaderEvidence``, ``StubEvidence`` and ``SectionEvidence``. What is not sure enough is not marked: a wrong
header hides a row.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from postprocess.arrays import Flags, Floats, Ints
from postprocess.cell import Cell, HeaderKind
from postprocess.meaning.header_rows import header_row_scores
from postprocess.meaning.kinds import table_to_slots
from postprocess.meaning.sections import section_scores
from postprocess.meaning.stub import stub_scores
from postprocess.meaning.totals import find_totals
from postprocess.table import Table

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
    total_rows, total_cols = find_totals(table, slots, depth, sections)
    row, col, end_row, end_col = np.array([(each.row, each.col, each.end_row, each.end_col) for each in table.cells]).T
    has_text = ~slots.blank[row, col]
    is_wide = (end_col - col == table.n_cols) & (table.n_cols > 1)
    kinds: list[tuple[HeaderKind, Flags, Floats]] = [
        ("column", row < depth, of_rows[row]),
        ("section", has_text & sections[row], of_sections[row]),
        ("row", has_text & stub[col] & ~is_wide, of_cols[col]),
    ]
    headers, scores = np.full((2, len(row)), None, object)
    for kind, chosen, probability in reversed(kinds):
        headers[chosen], scores[chosen] = kind, probability[chosen]
    is_total = _all_of(total_rows, row, end_row) | _all_of(total_cols, col, end_col)
    marks = zip(headers.tolist(), scores.tolist(), is_total.tolist(), strict=True)
    return table.with_cells(map(_mark, table.cells, marks))


def _mark(cell: Cell, mark: tuple[HeaderKind | None, float | None, bool]) -> Cell:
    if (cell.header, cell.header_score, cell.is_total) == mark:
        return cell
    return replace(cell, header=mark[0], header_score=mark[1], is_total=mark[2])


def _all_of(lines: Flags, start: Ints, end: Ints) -> Flags:
    """Whether all lines of each cell are chosen."""
    count = np.append(0, np.cumsum(lines))
    return np.asarray(count[end] - count[start] == end - start)
