from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from postprocess.cell import Cell
from postprocess.meaning.kinds import count_distinct, table_to_slots
from postprocess.table import Table
from postprocess.text.numbers import EMPTY, NUMBER


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
