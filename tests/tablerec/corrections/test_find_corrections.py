from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from postprocess.cell import Cell
from postprocess.editing import steps as editing
from postprocess.editing.axes import SIDES
from postprocess.editing.placing import complete, table_lines, tidy
from postprocess.errors import TableError
from postprocess.geometry.boxes import array_to_quad, rotate_points
from postprocess.table import Table
from tests.helpers.find_corrections import Step, find_corrections, match_lines
from tests.helpers.strategies import PLAIN_TEXTS, tables

SIZE = (600, 400)


@st.composite
def placed(draw: st.DrawFn) -> Table:
    """A table with rows, somewhere in the picture."""
    plain = draw(tables(texts=PLAIN_TEXTS).filter(len)).from_left()
    x, y = draw(st.floats(0, 150)), draw(st.floats(0, 150))
    width, height = draw(st.floats(200, 400)), draw(st.floats(150, 250))
    quad = ((x, y), (x + width, y), (x + width, y + height), (x, y + height))
    blank = [replace(cell, quad=None) for cell in plain.cells]
    return complete(replace(plain.with_cells(blank), quad=quad), SIZE)


def do_all(table: Table, steps: list[Step]) -> Table:
    for step in steps:
        arguments = {name: value for name, value in step.items() if name != "do"}
        table = getattr(editing, step["do"])(table, **arguments)
    return table


def content(table: Table) -> list[tuple[object, ...]]:
    return [
        (cell.row, cell.col, cell.rowspan, cell.colspan, cell.header, cell.text.split()) for cell in tidy(table).cells
    ]


def test_an_empty_table_leads_nowhere() -> None:
    some = complete(Table.from_texts([["a"]]), SIZE)
    for pair in ((Table([]), some), (some, Table([])), (Table.from_texts([["a"]]), some)):
        with pytest.raises(TableError):
            find_corrections(*pair)


@settings(max_examples=30)
@given(placed(), placed())
def test_the_steps_lead_from_any_table_to_any_other(found: Table, true: Table) -> None:
    now = do_all(found, find_corrections(found, true))
    assert content(now) == content(true)
    lowest = min(np.diff(table_lines(tidy(true), axis)).min() for axis in SIDES)
    for axis in SIDES:
        off = np.abs(table_lines(now, axis) - table_lines(tidy(true), axis))
        assert off.max() <= 0.1 * lowest + 0.1


@settings(max_examples=10)
@given(placed())
def test_a_right_table_needs_no_step(table: Table) -> None:
    tidied = complete(tidy(table), SIZE)
    assert find_corrections(tidied, table) == []


@pytest.mark.parametrize(
    ("rows", "kinds"),
    [
        ([["a", "b"], ["c", "d"]], ["divide"]),
        ([["a", "b"], ["c", "d"], ["e", "f"], ["", ""]], ["remove_line", "set_text"]),
    ],
)
def test_the_steps_are_few(rows: list[list[str]], kinds: list[str]) -> None:
    true = complete(Table.from_texts([["a", "b"], ["c", "d"], ["e", "f"]]), (60, 60))
    lines = [0.0, 20.0, 60.0] if len(rows) == 2 else [0.0, 20.0, 40.0, 50.0, 60.0]
    cells = [
        replace(cell, quad=((30 * cell.col, lines[cell.row]), (30 * cell.col + 30, lines[cell.row]),
                            (30 * cell.col + 30, lines[cell.row + 1]), (30 * cell.col, lines[cell.row + 1])))
        for cell in Table.from_texts(rows).cells
    ]  # fmt: skip
    found = [step["do"] for step in find_corrections(complete(Table(cells), (60, 60)), true)]
    assert found[0] == kinds[0]
    assert set(found[1:]) <= {*kinds[1:], "set_text"}


def test_a_row_outside_is_taken_out_and_one_that_is_missing_added() -> None:
    true = complete(Table.from_texts([["a"], ["b"], ["c"]]), (60, 60))
    over = editing.extend(true, "row", at_end=False)
    assert [step["do"] for step in find_corrections(over, true)] == ["remove"]
    assert [step["do"] for step in find_corrections(true, over)] == ["extend"]


@pytest.mark.parametrize("degrees", [4.0, -25.0])
def test_a_turned_table_is_corrected_along_its_own_lines(degrees: float) -> None:
    true, found = (complete(Table.from_texts(rows), (300, 200)) for rows in ([["a", "b"], ["c", "d"]], [["a"], ["c"]]))
    turned = [
        Table([replace(c, quad=array_to_quad(rotate_points(np.array(c.quad), degrees, (150, 100)))) for c in t.cells])
        for t in (found, true)
    ]
    steps = find_corrections(*turned)
    assert [step["do"] for step in steps] == ["divide", "set_text", "set_text"]
    now = do_all(turned[0], steps)
    assert np.allclose([cell.quad for cell in now.cells], [cell.quad for cell in turned[1].cells], atol=0.1)


def test_texts_and_headers_are_left_where_they_do_not_count() -> None:
    found, true = (complete(Table([Cell(0, 0, text=text)]), SIZE) for text in "ab")
    true = editing.set_headers(true, 1, 0)
    assert find_corrections(found, true, texts=False, headers=False) == []
    assert [step["do"] for step in find_corrections(found, true)] == ["set_text", "set_header"]


@given(st.lists(st.floats(0, 99), min_size=1, max_size=8), st.lists(st.floats(0, 99), min_size=1, max_size=8))
def test_matched_lines_keep_their_order_and_leave_one_side_only(found: list[float], true: list[float]) -> None:
    pairs = match_lines(np.sort(found), np.sort(true))
    assert (np.diff(pairs, axis=0) > 0).all()
    (first, last), ends = (pairs[0], pairs[-1]), (len(found) - 1, len(true) - 1)
    assert 0 in first and (last[0] == ends[0] or last[1] == ends[1])
