"""Properties that each score must have; the values themselves are checked in test_reference.py."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from postprocess.cell import Cell
from postprocess.geometry.boxes import quads_to_boxes
from postprocess.table import Table
from tablerec.evaluate.scores import METRICS, mean_of, score
from tablerec.evaluate.scoring import cells as metrics
from tablerec.evaluate.scoring import grits, teds
from tablerec.evaluate.truth import Truth, place_as_browser

EMPTY = Table([])


@st.composite
def tables(draw: st.DrawFn) -> Table:
    """Small tables with spans, some texts empty."""
    n_rows, n_cols = draw(st.integers(1, 5)), draw(st.integers(1, 5))
    free = np.ones((n_rows, n_cols), bool)
    cells = []
    for row, col in np.ndindex(n_rows, n_cols):
        if not free[row, col]:
            continue
        rowspan = draw(st.integers(1, min(2, n_rows - row)))
        colspan = draw(st.integers(1, min(3, n_cols - col)))
        if not free[row : row + rowspan, col : col + colspan].all():
            rowspan = colspan = 1
        free[row : row + rowspan, col : col + colspan] = False
        x0, y0, x1, y1 = (10.0 * side for side in (col, row, col + colspan, row + rowspan))
        quad = ((x0, y0), (x1, y0), (x1, y1), (x0, y1))
        cells.append(Cell(row, col, rowspan, colspan, quad, draw(st.sampled_from(["", "7", "ab"]))))
    return Table(cells)


def make_truth(table: Table, **fields: bool) -> Truth:
    filled = frozenset((cell.row, cell.col) for cell in table.cells)
    return Truth("t", "made", Path("t.png"), table, filled, **{"boxes_are_cells": True, **fields})


def test_empty_tables() -> None:
    one = Table([Cell(0, 0, text="x")])
    assert metrics.adjacency_f1(EMPTY, EMPTY) == grits.grits_top(EMPTY, EMPTY) == teds.teds(EMPTY, EMPTY) == 1
    assert grits.grits_top(EMPTY, one) == grits.grits_con(EMPTY, one) == 0 and grits.grits_con(EMPTY, EMPTY) == 1
    assert metrics.same_size(EMPTY, EMPTY)
    assert not metrics.same_cells(EMPTY, one)
    assert metrics.detection_f1(quads_to_boxes([]), quads_to_boxes([]), 0.6) == 1
    assert metrics.characters_kept([], []) == 1
    assert mean_of([]) is None


@settings(deadline=None)
@given(tables())
def test_a_table_agrees_with_itself(table: Table) -> None:
    scores = score(make_truth(table), table)
    assert {name: getattr(scores, name) for name in METRICS} == pytest.approx(dict.fromkeys(METRICS, 1.0))
    assert scores.missing == 0
    assert scores.overall == pytest.approx(1)


@settings(deadline=None)
@given(tables(), tables())
def test_scores_are_symmetric_and_between_0_and_1(a: Table, b: Table) -> None:
    for measure in (metrics.adjacency_f1, grits.grits_top, teds.teds):
        there, back = measure(a, b), measure(b, a)
        assert there == pytest.approx(back)
        assert 0 <= there <= 1 + 1e-9
    struct = teds.teds(a, b, text=False)
    assert struct is not None
    assert struct >= teds.teds(a, b) - 1e-9


@settings(deadline=None)
@given(tables(), tables())
def test_only_equal_layouts_are_exact(a: Table, b: Table) -> None:
    same = [replace(c, text="", quad=None) for c in a.cells] == [replace(c, text="", quad=None) for c in b.cells]
    assert metrics.same_cells(a, b) == same
    assert (grits.grits_top(a, b) == pytest.approx(1)) == same
    assert (teds.teds(a, b, text=False) == 1) == same


def test_a_missing_or_empty_prediction_scores_0() -> None:
    truth = make_truth(Table.from_texts([["a", "b"]]))
    for table in (None, EMPTY):
        scores = score(truth, table)
        assert scores.missing == 1
        assert [getattr(scores, name) for name in METRICS] == [0] * len(METRICS)
        assert scores.overall == 0


def test_what_cannot_be_told_is_none() -> None:
    table = Table.from_texts([["a", "b"]])
    scores = score(make_truth(table, has_text=False, boxes_are_cells=False), table)
    assert (scores.teds, scores.detection_f1_60, scores.detection_f1_80) == (None, None, None)
    large = Table.from_texts([["a"] * 50] * 50)
    scores = score(make_truth(large), large)
    assert (scores.grits_top, scores.teds_struct, scores.teds) == (None, None, None)
    assert scores.exact == scores.adjacency_f1 == scores.overall == 1


def test_blank_cells_are_skipped_by_adjacency_and_holes_are_not() -> None:
    blank = Table.from_texts([["a", "", "b"]])
    assert metrics.relations(blank, [True, False, True]) == {((0, 0), (0, 2), "right")}
    ragged = place_as_browser([Cell(0, 0), Cell(1, 0), Cell(1, 1), Cell(2, 0), Cell(2, 1)])
    assert ((0, 0), (1, 0), "down") in metrics.relations(ragged, [True] * 5)
    gap = place_as_browser([Cell(0, 0), Cell(0, 1), Cell(1, 0), Cell(2, 0), Cell(2, 1)])
    assert metrics.relations(gap, [False, True, False, False, True]) == set()


def test_text_of_one_side_does_not_count_where_the_truth_has_none() -> None:
    truth = make_truth(Table([Cell(0, 0), Cell(0, 1), Cell(0, 2)]), has_text=False)
    assert score(truth, Table.from_texts([["a", "b", "c"]])).adjacency_f1 == 1
    assert score(truth, Table.from_texts([["", "", ""]])).adjacency_f1 == 1


def test_detection_matches_one_to_one() -> None:
    box = [0.0, 0, 10, 10]
    assert metrics.detection_f1(np.array([box, box]), np.array([box]), 0.6) == pytest.approx(2 / 3)
    assert metrics.detection_f1(np.array([box]), np.array([box, [10.0, 0, 20, 10]]), 0.6) == pytest.approx(2 / 3)
    assert metrics.detection_f1(np.array([[0.0, 0, 10, 7]]), np.array([box]), 0.6) == 1
    assert metrics.detection_f1(np.array([[0.0, 0, 10, 7]]), np.array([box]), 0.8) == 0
    # The better overlap is matched first, whatever the order.
    loose, true = [0.0, 0, 10, 8], [[0.0, 0, 10, 10], [0.0, 0, 10, 7]]
    assert metrics.detection_f1(np.array([loose, box]), np.array(true), 0.7) == 1


def test_cells_without_a_place_in_the_picture_are_not_detections() -> None:
    table = Table([Cell(0, 0, quad=((0, 0), (9, 0), (9, 9), (0, 9))), Cell(0, 1)])
    assert score(make_truth(table), table).detection_f1_80 == 1


@given(st.lists(st.text("ab 1\n", max_size=4)), st.randoms(use_true_random=False))
def test_characters_are_kept_by_any_arrangement(texts: list[str], rng: object) -> None:
    assert metrics.characters_kept(texts, ["".join(reversed("".join(texts)))]) == 1
    assert metrics.characters_kept(["xy", *texts], ["x", *texts]) < 1


def test_a_doubled_character_does_not_replace_a_lost_one() -> None:
    assert metrics.characters_kept(["ab"], ["aa"]) == 0.5


def test_teds_names_the_extra_when_its_libraries_are_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    from tablerec.errors import MissingDependencyError

    monkeypatch.setitem(sys.modules, "apted", None)
    with pytest.raises(MissingDependencyError, match=r'pip install "tablerec\[eval\]"'):
        teds.teds(EMPTY, EMPTY)


def test_grits_con_looks_at_texts_alone() -> None:
    true = Table.from_texts([["Year", "1 9"], ["", "x"]])
    assert grits.grits_con(Table.from_texts([["Year", "19"], ["", "x"]]), true) == 1  # white space aside
    # A text without any of the true one, and a text where there is none.
    assert grits.grits_con(Table.from_texts([["2024", "19"], ["", "x"]]), true) == pytest.approx(3 / 4)
    assert grits.grits_con(Table.from_texts([["Year", "19"], ["z", "x"]]), true) == pytest.approx(3 / 4)
    # A row too many costs its slots, and nothing else.
    assert grits.grits_con(Table.from_texts([["Year", "19"], ["q", "q"], ["", "x"]]), true) == pytest.approx(8 / 10)


def test_grits_con_of_tables_that_are_too_large_is_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grits, "MAX_PAIRS", 3)
    one = Table.from_texts([["a", "b"]])
    assert grits.grits_con(one, one) is None
