"""What each cell is to its table."""

from __future__ import annotations

from typing import get_args

import pytest
from hypothesis import given

from postprocess.cell import Cell
from postprocess.meaning.headers import mark_headers
from postprocess.meaning.roles import Role, cell_role, stub_width
from postprocess.table import Table
from tests.helpers.drawing import make_table
from tests.helpers.strategies import tables

HEAD = ["Item", "Plan", "Real"]
BODY = [["Tea", "1.50", "2.50"], ["Milk", "3.50", "4.50"]]


def roles(rows: list[list[str]]) -> list[Role]:
    table = mark_headers(make_table(rows))
    return [cell_role(row[0], table) for row in table.rows()]


def test_no_cells() -> None:
    assert stub_width(Table([])) == 0


@given(tables())
def test_every_cell_has_a_role(table: Table) -> None:
    assert {cell_role(cell, table) for cell in table.cells} <= set(get_args(Role))
    assert 0 <= stub_width(table) <= table.n_cols


def test_headers_stub_and_data() -> None:
    table = mark_headers(make_table([HEAD, *BODY]))
    assert [[cell_role(cell, table) for cell in row] for row in table.rows()] == [
        ["header"] * 3, ["stub", "data", "data"], ["stub", "data", "data"]
    ]  # fmt: skip
    assert stub_width(table) == 1


def test_first_row_as_wide_as_the_table_is_its_title() -> None:
    assert roles([["Prices of drinks", "<", "<"], HEAD, *BODY]) == ["title", "header", "stub", "stub"]


@pytest.mark.parametrize("note", ["Source: annual survey", "* p < 0.05", "注：未经审计", "a long remark " * 8])
def test_last_row_as_wide_as_the_table_is_a_note(note: str) -> None:
    assert roles([HEAD, *BODY, [note, "<", "<"]])[-1] == "note"


def test_sections_are_neither() -> None:
    sections = [["Hot", "<", "<"], BODY[0], ["Cold", "<", "<"], BODY[1]]
    assert roles([HEAD, *sections]) == ["header", "section", "stub", "section", "stub"]
    assert roles(sections) == ["section", "stub", "section", "stub"]


def test_one_column_has_no_title() -> None:
    table = Table([Cell(0, 0, text="a"), Cell(1, 0, text="b")])
    assert [cell_role(cell, table) for cell in table.cells] == ["data", "data"]


def test_stub_of_two_columns() -> None:
    cells = [Cell(0, col, text="h", header="column") for col in range(3)]
    cells += [Cell(1, 0, 2, text="a", header="row"), *(Cell(row, 1, text="b", header="row") for row in (1, 2))]
    assert stub_width(Table([*cells, Cell(1, 2, text="7"), Cell(2, 2, text="8")])) == 2
