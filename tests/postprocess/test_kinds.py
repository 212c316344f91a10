from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from postprocess.kinds import EMPTY, LABEL, NUMBER, YEAR, choose, count_distinct, table_to_slots, text_to_kind
from postprocess.table import Cell, Table


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        *[(text, EMPTY) for text in ("", " ", "-", "—", "…", "n/a", "N.A.", "*")],
        *[(text, LABEL) for text in ("Total", "Q1", "合计", "Top 10 countries")],
        *[(text, YEAR) for text in ("2017", "FY2017", "2016/17", "31 Dec 2017", "2017年", "2017-12-31")],
        *[(text, NUMBER) for text in ("1,234", "(5.2)", "12%", "12.5 (3.4)", "1-2", "2017.5", "2,017", "20171")],
        *[(text, NUMBER) for text in ("-5", "+5", "0", "１２")],
    ],
)
def test_kinds(text: str, kind: int) -> None:
    assert text_to_kind(text) == kind


def test_slots_of_a_table_without_cells() -> None:
    slots = table_to_slots(Table([]))
    assert slots.owner.shape == slots.kinds.shape == slots.numbers.shape == (0, 0)
    assert slots.lone.tolist() == []


def test_a_spanning_cell_stands_in_all_its_slots() -> None:
    slots = table_to_slots(Table([Cell(0, 0, colspan=2, text="5"), Cell(1, 0), Cell(1, 1, text="-")]))
    assert slots.kinds.tolist() == [[NUMBER, NUMBER], [EMPTY, EMPTY]]
    assert slots.wide.tolist() == [True, False]
    assert slots.blank.tolist() == [[False, False], [True, False]]


def test_two_equal_texts_in_a_row_are_not_one() -> None:
    assert table_to_slots(Table.from_texts([["a", "a"], ["a", ""]])).lone.tolist() == [False, True]


@given(st.lists(st.lists(st.integers(0, 3), min_size=2, max_size=2), max_size=6))
def test_distinct_texts_are_counted(rows: list[list[int]]) -> None:
    texts = np.array(rows, np.int64).reshape(-1, 2)
    filled = texts != 3
    counts = [len(set(texts[filled[:, col], col].tolist())) for col in range(2)]
    assert count_distinct(texts, filled).tolist() == counts


@given(st.lists(st.floats(-1e3, 1e3), min_size=1, max_size=5))
def test_probabilities_sum_to_one_and_follow_the_evidence(values: list[float]) -> None:
    chances = choose(np.array(values)[:, None], (1.0,))
    assert chances.sum() == pytest.approx(1)
    assert chances[int(np.argmax(values))] == chances.max()
