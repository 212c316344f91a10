from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from postprocess.cell import Cell
from postprocess.meaning.kinds import table_to_slots
from postprocess.meaning.totals import find_totals, is_total_name
from postprocess.table import Table
from tests.helpers.strategies import TEXTS, tables


def found(rows: list[list[str]], depth: int = 1, sections: tuple[int, ...] = ()) -> tuple[list[int], list[int]]:
    """Return the rows and the columns of totals."""
    table = Table.from_texts(rows)
    heads = np.isin(np.arange(len(rows)), sections)
    lines = find_totals(table, table_to_slots(table), depth, heads)
    return np.flatnonzero(lines[0]).tolist(), np.flatnonzero(lines[1]).tolist()


def test_one_cell_is_no_total() -> None:
    assert found([["5"]], 0) == ([], [])
    assert found([[""]], 0) == ([], [])


@pytest.mark.parametrize(
    "name",
    [
        *("Total", "TOTAL:", "Grand total", "Sub-total", "Total assets", "Sum", "Average", "Total (4 states)"),
        *("合计", "小 计", "总计", "共计", "流动资产合计", "平均", "平均值", "總計"),
        *("Sous-total", "Summe", "Insgesamt", "Suma", "Totale", "Razem", "Итого"),
    ],
)
def test_names_of_totals(name: str) -> None:
    assert is_total_name(name)
    assert found([["Item", "Sold"], ["Tea", "5"], [name, "7"]]) == ([2], [])


@pytest.mark.parametrize(
    "name", ["", "Tea", "Totally new", "Summer", "Assumption", "计划", "Total cholesterol (mmol/l)", "total " * 20, "*"]
)
def test_other_names(name: str) -> None:
    assert not is_total_name(name)


def test_a_sum_needs_no_name() -> None:
    rows = [["", "2024", "2025"], ["a", "1,250.5", "980.0"], ["b", "310.25", "(20.0)"], ["c", "1,560.75", "960.0"]]
    assert found(rows) == ([3], [])


def test_sums_of_blocks_and_their_sum() -> None:
    values = [120, 345, 465, 210, 133, 343, 808]
    rows = [[f"row {number}", str(value), str(value * 17.5)] for number, value in enumerate(values)]
    assert found([["", "a", "b"], *rows]) == ([3, 6, 7], [])


def test_a_sum_does_not_reach_over_a_section() -> None:
    values = ["120", "345", "", "210", "133", "343"]
    rows = [["", "a", "b"], *([f"row {value}", value, value and f"{value}0"] for value in values)]
    assert found(rows, sections=(3,)) == ([6], [])


def test_sums_of_rounded_numbers() -> None:
    rows = [
        ["", "a", "b"],
        ["x", "33.3", "120.4"],
        ["y", "33.3", "311.4"],
        ["z", "33.3", "250.4"],
        ["", "100.0", "682.3"],
    ]
    assert found(rows) == ([4], [])


@pytest.mark.parametrize(
    "values",
    [
        [[number, number * 3] for number in range(1, 9)],
        [[1, 1], [2, 2], [3, 3], [5, 5], [8, 8]],
        [[0, 0]] * 5,
        [[2020, 1999], [2021, 2000], [2022, 2001]],
    ],
    ids=["counted rows", "small sums", "zeros", "years"],
)
def test_chance_is_no_sum(values: list[list[int]]) -> None:
    assert found([["", "a", "b"], *(["x", *map(str, row)] for row in values)]) == ([], [])


def test_large_numbers_do_not_overflow() -> None:
    large = str(10**14)
    rows = [["", "a", "b"], ["x", "1000.50", ""], ["y", "2000.25", ""], ["z", "3000.25", large]]
    assert found([*rows, ["", "6001.00", large]])[0] == [4]


def test_a_title_named_total_is_no_total() -> None:
    table = Table([Cell(0, 0, colspan=2, text="Total"), *(Cell(1, col, text=text) for col, text in enumerate("ab"))])
    rows, cols = find_totals(table, table_to_slots(table), 1, np.zeros(2, bool))
    assert not rows.any()
    assert not cols.any()


@given(st.lists(st.lists(st.integers(100, 9999), min_size=3, max_size=3), min_size=2, max_size=6))
def test_sums_below_and_beside_are_found(values: list[list[int]]) -> None:
    numbers = [[*row, sum(row)] for row in values]
    numbers.append([sum(column) for column in zip(*numbers, strict=True)])
    rows, cols = found([["", *"abcd"], *(["x", *(f"{value:,}" for value in row)] for row in numbers)])
    assert len(numbers) in rows
    assert 4 in cols


@given(
    tables(texts=TEXTS | st.sampled_from(["9" * 400, "1e308", "-5", "(5)", "١٢", "Total", "合计"])), st.integers(0, 2)
)
def test_any_table_has_rows_and_columns_of_totals_or_none(table: Table, depth: int) -> None:
    if table.cells:
        depth = min(depth, table.n_rows - 1)
        rows, cols = find_totals(table, table_to_slots(table), depth, np.zeros(table.n_rows, bool))
        assert (rows.shape, cols.shape) == ((table.n_rows,), (table.n_cols,))
        assert not rows[:depth].any()
