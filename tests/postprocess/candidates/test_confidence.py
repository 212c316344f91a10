"""Confidence: bounded, monotone in the evidence, and lowered by what rivals deny."""

from __future__ import annotations

from dataclasses import astuple, fields, replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from postprocess.candidates import confidence
from postprocess.candidates.candidate import Candidate, Dropped
from postprocess.candidates.confidence import CellEvidence, TableEvidence, match_cells, rate
from postprocess.table import Table
from postprocess.word import Unplaced, Words
from tests.helpers.candidates import candidate_of
from tests.helpers.layouts import make_word


def grid(rows: int, cols: int, score: float = 1.0, height: float = 10) -> Candidate:
    """Return a candidate in which each cell holds a word of its own, see ``words_of``."""
    boxes = [
        [30 * col, height * row, 30 * col + 30, height * row + height] for row in range(rows) for col in range(cols)
    ]
    return candidate_of(boxes, score=score)


def words_of(rows: int, cols: int) -> Words:
    """Return a word for each cell of a grid."""
    return Words(make_word("ab", 30 * col + 5, 10 * row + 1, 8) for row in range(rows) for col in range(cols))


def rated(candidate: Candidate, *rivals: Candidate) -> Table:
    """Return the rated table of a candidate, its texts read without doubt."""
    known = replace(candidate, rivals=rivals)
    read = known.to_table().with_cells(replace(cell, ocr_score=1.0) for cell in known.to_table().cells)
    return rate(read, known, words_of(*candidate.layout.owner.shape))


def with_rows_merged(candidate: Candidate) -> Candidate:
    """Return the candidate with its first two rows as one."""
    return candidate.with_layout(candidate.layout.rows_joined(0, 2))


def test_no_cells_no_confidence() -> None:
    empty = rated(candidate_of([]))
    assert empty.confidence is not None and empty.confidence.table == 0
    assert match_cells(candidate_of([]), grid(1, 1), Words()).tolist() == []
    assert match_cells(grid(1, 1), candidate_of([]), Words()).tolist() == [-1]


def test_cells_match_where_place_span_and_words_are_the_same() -> None:
    table = grid(3, 2)
    assert match_cells(table, table, words_of(3, 2)).tolist() == list(range(6))
    assert match_cells(table, with_rows_merged(table), words_of(3, 2)).tolist() == [-1, -1, -1, -1, 2, 3]
    moved = candidate_of([[0, 0, 25, 10], [25, 0, 60, 10]])
    assert match_cells(grid(1, 2), moved, words_of(1, 2)).tolist() == [0, 1]
    between = Words([make_word("a", 25, 1, 8)])
    assert match_cells(grid(1, 2), moved, between).tolist() == [-1, -1]


def test_perfect_evidence_is_sure() -> None:
    table = rated(grid(4, 3), grid(4, 3), grid(4, 3))
    assert table.confidence.table > 0.9
    assert min(*table.confidence.rows, *table.confidence.cols) > 0.9
    assert min(cell.confidence for cell in table.cells) > 0.9


@pytest.mark.parametrize("agreeing", [0, 1])
def test_a_rival_that_merges_two_rows_lowers_the_table_and_these_rows(agreeing: int) -> None:
    table = grid(5, 3)
    sure = rated(table, table, table).confidence
    denied = rated(table, *[table] * agreeing, with_rows_merged(table)).confidence
    assert denied.table < sure.table
    assert max(denied.rows[:2]) < min(denied.rows[2:])
    assert f"1 of {agreeing + 1} other detections see this cell otherwise" in denied.weakest


def test_a_rival_without_a_row_lowers_the_table() -> None:
    table, less = grid(5, 3), grid(4, 3)
    assert rated(table, less, table).confidence.table < rated(table, table, table).confidence.table


def test_one_cell_that_was_seen_badly_lowers_the_table() -> None:
    sure = grid(4, 3)
    scores = np.where(np.arange(12) == 7, 0.3, sure.scores)
    assert rated(replace(sure, scores=scores)).confidence.table < rated(sure).confidence.table


def test_a_large_table_is_as_sure_as_a_small_one() -> None:
    large, small = grid(40, 20), grid(2, 2)
    assert rated(large, large).confidence.table == pytest.approx(rated(small, small).confidence.table)


def test_a_cell_is_no_surer_than_its_text() -> None:
    known, words = replace(grid(2, 2), rivals=(grid(2, 2),)), words_of(2, 2)
    table = known.to_table()
    unread = table.with_cells(replace(cell, ocr_score=0.3 if cell.row == 0 else 1.0) for cell in table.cells)
    doubtful = rate(unread, known, words)
    assert doubtful[0, 0].confidence <= 0.3 < doubtful[1, 0].confidence


def test_rating_changes_nothing_else() -> None:
    known, words = replace(grid(3, 2), rivals=(with_rows_merged(grid(3, 2)),)), words_of(3, 2)
    table = rate(known.to_table(), known, words)
    assert [replace(cell, confidence=None) for cell in table.cells] == list(known.to_table().cells)
    assert len(table.confidence.rows) == 3 and len(table.confidence.cols) == 2


def test_dropped_cells_lower_the_table() -> None:
    quad = ((0.0, 0.0), (9.0, 0.0), (9.0, 9.0), (0.0, 9.0))
    lossy = replace(grid(3, 2), dropped=(Dropped(quad, 0.5, "it lies on another cell"),))
    assert rated(lossy).confidence.table < rated(grid(3, 2)).confidence.table


def test_no_weight_is_negative() -> None:
    assert min(astuple(confidence._TABLE_WEIGHTS)) > 0 and min(astuple(confidence._CELL_WEIGHTS)) > 0


@pytest.mark.parametrize("kind", [TableEvidence, CellEvidence])
@given(data=st.data(), more=st.floats(0, 1))
def test_more_evidence_never_lowers_the_odds(
    kind: type[TableEvidence] | type[CellEvidence], data: st.DataObject, more: float
) -> None:
    less = kind(*(data.draw(st.floats(0, 1)) for _ in fields(kind)))
    name = data.draw(st.sampled_from([each.name for each in fields(kind)]))
    assert replace(less, **{name: getattr(less, name) + more}).log_odds >= less.log_odds - 1e-9


@given(st.floats(0, 1), st.integers(1, 4), st.integers(1, 4))
def test_probabilities_are_bounded(score: float, rows: int, cols: int) -> None:
    table = rated(grid(rows, cols, score), grid(cols, rows))
    values = [table.confidence.table, *table.confidence.rows, *table.confidence.cols]
    values += [cell.confidence for cell in table.cells]
    assert all(0 <= value <= 1 for value in values)


def test_a_reason_for_each_piece_of_evidence() -> None:
    assert list(confidence._REASONS) == [each.name for each in fields(TableEvidence)]


def test_a_table_from_right_to_left_is_rated_cell_by_cell() -> None:
    """Its cells come in another order than those of the candidate."""
    spans = [[0, 0, 30, 10], [30, 0, 90, 10], *([30 * col, 10, 30 * col + 30, 20] for col in range(3))]
    candidate = replace(candidate_of(spans), scores=np.array([0.9, 0.2, 0.8, 0.7, 0.6]))
    known = replace(candidate, rivals=(with_first_cells_merged(candidate),))
    table, words = known.to_table(), words_of(2, 3)
    straight, other = rate(table, known, words), rate(table.mirrored(), known, words)
    assert other.direction == "rtl" and other.confidence is not None and straight.confidence is not None
    assert replace(other.confidence, weakest="") == replace(straight.mirrored().confidence, weakest="")
    assert other.cells == straight.mirrored().cells
    assert [cell.confidence for cell in other.cells] != [cell.confidence for cell in straight.cells]
    assert "row 1, column 2" in straight.confidence.weakest and "row 1, column 1" in other.confidence.weakest


def with_first_cells_merged(candidate: Candidate) -> Candidate:
    return candidate_of([[0, 0, 90, 10], *([30 * col, 10, 30 * col + 30, 20] for col in range(3))])


def test_each_doubt_about_a_text_halves_the_score_and_the_first_one_is_named() -> None:
    candidate = candidate_of([[0, 0, 30, 10], [30, 0, 90, 10]])
    table, words = candidate.to_table(), words_of(1, 2)
    sure = rate(table, candidate, words)
    doubts = ["is Cyrillic, which this engine does not read", "goes on"]
    doubted = rate(
        table.with_cells(replace(cell, doubt=doubt) for cell, doubt in zip(table.cells, doubts, strict=True)),
        candidate,
        words,
    )
    assert sure.confidence is not None and doubted.confidence is not None
    assert doubted.confidence.table == pytest.approx(sure.confidence.table / 4)
    assert doubted.confidence.rows == sure.confidence.rows, "borders are as sure as before"
    assert doubted.confidence.weakest == f"check row 1, column 1: its text {doubts[0]}"
    for before, after in zip(sure.cells, doubted.cells, strict=True):
        assert before.confidence is not None and after.confidence == pytest.approx(before.confidence / 2)


def test_a_word_that_is_lost_within_a_table_lowers_its_score_and_one_beside_it_does_not() -> None:
    candidate = candidate_of([[0, 0, 30, 10], [30, 0, 90, 10]])
    table, words = candidate.to_table(), words_of(1, 2)
    sure = rate(table, candidate, words).confidence
    inside, beside = (Unplaced(make_word("12.5", x, 2), "it is small") for x in (40, 400))
    lost, other = (rate(table, candidate, words, [each]).confidence for each in (inside, beside))
    assert sure is not None and lost is not None and other is not None
    assert other == sure and lost.table == pytest.approx(sure.table / 2)
    assert "'12.5'" in lost.weakest and "it is small" in lost.weakest
