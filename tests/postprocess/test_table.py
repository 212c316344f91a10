from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from random import Random

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from postprocess.cell import Cell, Quad, shift
from postprocess.errors import TableError, TablerecError
from postprocess.table import Table, all_tables, fill_holes, flatten
from tests.helpers.strategies import TEXTS, captioned, nested, tables

FEW = settings(max_examples=25)


def slots(cell: Cell) -> set[tuple[int, int]]:
    return {(row, col) for row in range(cell.row, cell.end_row) for col in range(cell.col, cell.end_col)}


def test_empty_table() -> None:
    table = Table([])
    assert table.shape == (table.n_rows, table.n_cols) == (0, 0)
    assert (len(table), table.rows(), table.to_grid(), table.n_header_rows) == (0, [], [], 0)
    assert table == Table(()) == Table.from_texts([]) == table.with_cells([])
    assert fill_holes([]) == ()


@FEW
@given(tables())
def test_owner_is_the_cell_that_covers_the_slot(table: Table) -> None:
    owner = {(row, col): table[row, col] for row in range(table.n_rows) for col in range(table.n_cols)}
    assert owner == {slot: cell for cell in table.cells for slot in slots(cell)}
    assert sum(cell.rowspan * cell.colspan for cell in table.cells) == table.n_rows * table.n_cols


@FEW
@given(tables(), st.randoms(use_true_random=False))
def test_order_of_the_cells_given_does_not_matter(table: Table, random: Random) -> None:
    shuffled = list(table.cells)
    random.shuffle(shuffled)
    assert replace(table, cells=shuffled) == table
    assert np.array_equal(Table(shuffled).owner, table.owner)


@FEW
@given(tables())
def test_rows_hold_each_cell_once_in_reading_order(table: Table) -> None:
    rows = table.rows()
    assert len(rows) == table.n_rows
    assert [cell for row in rows for cell in row] == list(table.cells)
    for index, row in enumerate(rows):
        assert {cell.row for cell in row} <= {index}
        assert [cell.col for cell in row] == sorted({cell.col for cell in row})


@FEW
@given(tables())
def test_grid_of_texts_agrees_with_the_cells(table: Table) -> None:
    first, filled = table.to_grid(), table.to_grid(fill_spans=True)
    for row in range(table.n_rows):
        for col in range(table.n_cols):
            cell = table[row, col]
            assert filled[row][col] == cell.text
            assert first[row][col] == (cell.text if (cell.row, cell.col) == (row, col) else "")


@FEW
@given(tables(with_geometry=True))
def test_with_cells_keeps_the_outline_and_nothing_else(table: Table) -> None:
    changed = table.with_cells(replace(cell, text="new") for cell in table.cells)
    assert changed.quad == table.quad
    assert {cell.text for cell in changed.cells} <= {"new"}
    assert changed.with_cells(table.cells) == table


@FEW
@given(tables().filter(len), st.data())
def test_missing_cell_is_refused_with_its_first_slot(table: Table, data: st.DataObject) -> None:
    lost = data.draw(st.sampled_from(table.cells))
    rest = [cell for cell in table.cells if cell != lost]
    n_rows, n_cols = (max((getattr(cell, end) for cell in rest), default=0) for end in ("end_row", "end_col"))
    holes = sorted(slot for slot in slots(lost) if slot < (n_rows, 0) and slot[1] < n_cols)
    assume(holes)
    with pytest.raises(TableError, match=rf"row {holes[0][0]}, column {holes[0][1]} belongs to no cell"):
        Table(rest)


@FEW
@given(tables().filter(len), st.data())
def test_second_cell_on_a_slot_is_refused_with_both_cells_and_the_slot(table: Table, data: st.DataObject) -> None:
    row, col = (data.draw(st.integers(0, size - 1)) for size in table.shape)
    owner = table[row, col]
    with pytest.raises(TableError) as caught:
        Table([*table.cells, Cell(row, col, text="second")])
    message = str(caught.value)
    assert f"({owner.row}, {owner.col}) {owner.rowspan} x {owner.colspan}" in message
    assert f"({row}, {col}) 1 x 1" in message
    assert f"share row {row}, column {col}" in message


def test_partly_overlapping_spans_are_refused_by_name() -> None:
    with pytest.raises(TableError, match=r"\(0, 0\) 2 x 2 and \(1, 1\) 2 x 2 share row 1, column 1"):
        Table([Cell(0, 0, 2, 2), Cell(1, 1, 2, 2)])


@pytest.mark.parametrize("cell", [Cell(10**9, 0), Cell(0, 10**9), Cell(10**6, 10**6)])
def test_stray_cell_far_away_is_refused_without_memory_for_the_way(cell: Cell) -> None:
    with pytest.raises(TableError, match="belong to no cell"):
        Table([Cell(0, 0), cell])


@pytest.mark.parametrize("fields", [{"row": -1}, {"col": -1}, {"rowspan": 0}, {"colspan": 0}, {"colspan": -3}])
def test_impossible_cell_is_refused(fields: dict[str, int]) -> None:
    with pytest.raises(TableError, match="positions start at 0 and spans at 1"):
        Cell(**{"row": 0, "col": 0, **fields})


def test_refusal_is_ours_and_a_value_error() -> None:
    assert issubclass(TableError, TablerecError) and issubclass(TableError, ValueError)


@FEW
@given(tables(), st.data())
def test_fill_holes_completes_what_is_left_of_a_table(table: Table, data: st.DataObject) -> None:
    kept = [cell for cell in table.cells if data.draw(st.booleans())]
    filled = fill_holes(kept)
    assert list(filled[: len(kept)]) == kept
    assert all(cell == Cell(cell.row, cell.col) for cell in filled[len(kept) :])
    complete = Table(filled)
    assert complete.n_rows == max((cell.end_row for cell in kept), default=0)
    assert fill_holes(complete.cells) == complete.cells


def test_fill_holes_refuses_overlap() -> None:
    with pytest.raises(TableError, match="share"):
        fill_holes([Cell(0, 0, colspan=2), Cell(0, 1)])


@FEW
@given(st.lists(st.lists(TEXTS, max_size=4), max_size=4))
def test_table_from_texts_holds_the_texts(rows: list[list[str]]) -> None:
    width = max(map(len, rows), default=0)
    expected = [row + [""] * (width - len(row)) for row in rows] if width else []
    assert Table.from_texts(rows).to_grid() == expected


def test_shift_moves_a_cell_and_keeps_the_rest() -> None:
    cell = Cell(1, 2, 3, 4, text="a", header="row", detector_score=0.5)
    assert shift(shift(cell, 2, 1), -2, -1) == cell
    assert shift(cell, 2, 1) == replace(cell, row=3, col=3)


def test_header_rows_are_the_full_ones_at_the_top() -> None:
    head, body = [Cell(0, c, header="column") for c in range(2)], [Cell(r, c) for r in (1, 2) for c in range(2)]
    assert Table(head + body).n_header_rows == 1
    assert Table([head[0], Cell(0, 1), *body]).n_header_rows == 0
    assert Table([*head, *body[:2], Cell(2, 0, header="column"), Cell(2, 1, header="column")]).n_header_rows == 1


def test_header_row_in_which_no_cell_starts_counts() -> None:
    head = [Cell(0, col, rowspan=2, header="column") for col in range(2)]
    assert Table([*head, Cell(2, 0), Cell(2, 1)]).n_header_rows == 2


@pytest.mark.parametrize("score", [-0.1, 1.1, float("nan"), float("inf")])
def test_header_score_is_a_probability(score: float) -> None:
    with pytest.raises(TableError, match="row 1, column 2: header_score is"):
        Cell(1, 2, header="row", header_score=score)


def test_only_headers_have_a_header_score() -> None:
    with pytest.raises(TableError, match="None where the cell is no header"):
        Cell(0, 0, header_score=0.5)


def test_header_cell_that_hangs_into_the_body_leaves_no_header_rows() -> None:
    table = Table([Cell(0, 0, rowspan=2, header="column"), Cell(0, 1, header="column"), Cell(1, 1)])
    assert table.n_header_rows == 0


def test_nothing_can_be_changed() -> None:
    table = Table([Cell(0, 0)])
    with pytest.raises(dataclasses.FrozenInstanceError):
        table.cells[0].text = "x"
    with pytest.raises(dataclasses.FrozenInstanceError):
        table.quad = None
    with pytest.raises(ValueError, match="read-only"):
        table.owner[0, 0] = 5


def test_repr_is_short_for_a_large_table() -> None:
    assert repr(Table.from_texts([["a"] * 50] * 50)) == "Table(50 rows x 50 columns, 2500 cells)"


@given(nested(captioned(tables(max_rows=3, max_cols=3, with_geometry=True), with_geometry=True)))
def test_all_that_a_table_holds_moves_with_it(table: Table) -> None:
    def places(table: Table) -> list[Quad | None]:
        own = [table.quad, *(caption.quad for caption in table.captions), *(cell.quad for cell in table.cells)]
        return [*own, *(picture.quad for cell in table.cells for picture in cell.pictures)]

    before = [quad for each in all_tables([table]) for quad in places(each)]
    after = [quad for each in all_tables([table.moved(lambda points: 2 * points)]) for quad in places(each)]
    assert after == [quad and tuple((2 * x, 2 * y) for x, y in quad) for quad in before]
    assert table.moved(lambda points: points) == table
    assert not any(quad for each in all_tables([table.moved(None)]) for quad in places(each))


@given(nested(tables(max_rows=3, max_cols=3)))
def test_no_text_of_an_inner_table_is_lost_where_tables_cannot_be_nested(table: Table) -> None:
    def letters(texts: Iterable[str]) -> Counter[str]:
        return Counter("".join("".join(text.split()) for text in texts).replace("|", ""))

    flat = flatten(table)
    assert letters(cell.text for cell in flat.cells) == letters(
        cell.text for each in all_tables([table]) for cell in each.cells
    )
    assert [len(each.cells) for each in all_tables([flat])] == [len(table)]
