"""Confidence: bounded, monotone in the evidence, and lowered by what rivals deny."""

from __future__ import annotations

from dataclasses import astuple, replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from postprocess import confidence
from postprocess.confidence import Evidence, gather_evidence, match_cells, rate, to_probability
from postprocess.explanation import Explanation
from postprocess.table import Cell, Table

PERFECT = Explanation(*[1.0] * 9)
POOR = Explanation(*[0.5] * 9)


def grid(rows: int, cols: int, *, height: float = 10) -> Table:
    """Return a seen table in which each cell holds its own text."""
    return Table(
        [
            Cell(
                *(row, col),
                quad=(
                    (col * 30, row * height),
                    (col * 30 + 30, row * height),
                    (col * 30 + 30, row * height + height),
                    (col * 30, row * height + height),
                ),
                text=f"{row}-{col}",
                detector_score=1.0,
                reader_score=1.0,
                alignment_score=1.0,
            )
            for row in range(rows)
            for col in range(cols)
        ]
    )


def with_rows_merged(table: Table) -> Table:
    """Return the table with the texts and places of its first two rows in one row."""
    first, second, *rest = table.rows()
    merged = [
        replace(a, text=f"{a.text} {b.text}", quad=(a.quad[0], a.quad[1], b.quad[2], b.quad[3]))
        for a, b in zip(first, second, strict=True)
    ]
    return Table([*merged, *(replace(cell, row=cell.row - 1) for row in rest for cell in row)])


def test_no_cells_no_confidence() -> None:
    rated = rate(Table([]), [], PERFECT)
    assert rated.confidence is not None and rated.confidence.table == 0
    assert match_cells(Table([]), grid(1, 1)).tolist() == [] and match_cells(grid(1, 1), Table([])).tolist() == [-1]


def test_cells_without_a_place_are_rated_too() -> None:
    rated = rate(Table.from_texts([["a", "b"]]), [Table.from_texts([["a", "b"]])], PERFECT)
    assert all(cell.confidence is not None for cell in rated.cells)


def test_perfect_evidence_is_sure() -> None:
    table = grid(4, 3)
    rated = rate(table, [table, table], PERFECT)
    assert rated.confidence.table > 0.9
    assert min(*rated.confidence.rows, *rated.confidence.cols) > 0.9
    assert min(cell.confidence for cell in rated.cells) > 0.9


@pytest.mark.parametrize("agreeing", [0, 1])
def test_a_rival_that_merges_two_rows_lowers_the_table_and_these_rows(agreeing: int) -> None:
    table = grid(5, 3)
    sure = rate(table, [table, table], PERFECT).confidence
    rated = rate(table, [table] * agreeing + [with_rows_merged(table)], PERFECT)
    assert rated.confidence.table < sure.table
    assert max(rated.confidence.rows[:2]) < min(rated.confidence.rows[2:])
    assert f"1 of {agreeing + 1} other finds see this cell otherwise" in rated.confidence.weakest


def test_a_rival_without_a_row_lowers_the_table() -> None:
    table, less = grid(5, 3), grid(4, 3)
    assert rate(table, [less, table], PERFECT).confidence.table < rate(table, [table, table], PERFECT).confidence.table


def test_a_picture_that_is_explained_badly_lowers_the_table() -> None:
    table = grid(4, 3)
    assert rate(table, [], POOR).confidence.table < rate(table, [], PERFECT).confidence.table


def test_a_cell_is_no_surer_than_its_text() -> None:
    table = grid(2, 2)
    unread = table.with_cells(replace(cell, reader_score=0.3 if cell.row == 0 else 1.0) for cell in table.cells)
    rated = rate(unread, [table, table], PERFECT)
    assert rated[0, 0].confidence <= 0.3 < rated[1, 0].confidence


def test_rating_changes_nothing_else() -> None:
    table = grid(3, 2)
    rated = rate(table, [with_rows_merged(table)], POOR, n_dropped=2)
    assert [replace(cell, confidence=None) for cell in rated.cells] == list(table.cells)
    assert len(rated.confidence.rows) == 3 and len(rated.confidence.cols) == 2


def test_no_weight_is_negative() -> None:
    assert min(confidence._TABLE_WEIGHTS[1:]) >= 0 and min(confidence._CELL_WEIGHTS[1:]) >= 0


@given(st.lists(st.floats(0, 1), min_size=10, max_size=10), st.integers(0, 9), st.floats(0, 1))
def test_more_evidence_never_lowers_the_table(values: list[float], place: int, more: float) -> None:
    better = [value + more * (index == place) for index, value in enumerate(values)]
    assert Evidence(*better).log_odds >= Evidence(*values).log_odds - 1e-9


@given(st.floats(0, 1), st.floats(0, 1), st.integers(0, 50), st.integers(1, 4), st.integers(1, 4))
def test_probabilities_are_bounded(share: float, score: float, dropped: int, rows: int, cols: int) -> None:
    table = grid(rows, cols).with_cells(
        replace(cell, detector_score=score, alignment_score=1 - score, reader_score=score)
        for cell in grid(rows, cols).cells
    )
    rated = rate(table, [grid(cols, rows)], Explanation(*[share] * 9), n_dropped=dropped)
    values = [rated.confidence.table, *rated.confidence.rows, *rated.confidence.cols]
    values += [cell.confidence for cell in rated.cells]
    assert all(0 <= value <= 1 for value in values)


def test_a_reason_for_each_piece_of_evidence() -> None:
    assert list(confidence._REASONS) == list(Evidence.__dataclass_fields__)
    assert len(confidence._TABLE_WEIGHTS) == len(astuple(gather_evidence(grid(1, 1), [], PERFECT))) + 1


def test_odds_without_bound_stay_probabilities() -> None:
    assert to_probability(np.array([-np.inf, np.inf])).tolist() == pytest.approx([0, 1])
