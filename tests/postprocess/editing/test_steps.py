from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from postprocess.cell import Cell, HeaderKind, Picture
from postprocess.editing import steps as editing
from postprocess.editing.axes import Axis
from postprocess.editing.placing import complete, tidy
from postprocess.errors import TableError
from postprocess.geometry.boxes import array_to_quad, cells_to_quads, inner_quads, rotate_points
from postprocess.table import Table, tables_in
from tablerec.corrections.history import History
from tests.helpers.strategies import PLAIN_TEXTS, PNG, tables

FEW = settings(max_examples=40)
SIZE = (600, 400)
Step = Callable[[Table], Table]


def characters(table: Table) -> Counter[str]:
    return Counter("".join("".join(cell.text.split()) for cell in table.cells))


def boxes_are_sound(table: Table) -> bool:
    quads = table.quads
    return len(quads) == len(table) and bool(np.isfinite(quads).all())


def filled(texts: st.SearchStrategy[str] = PLAIN_TEXTS) -> st.SearchStrategy[Table]:
    """Tables with rows, all of whose cells have a place."""
    return tables(texts=texts).filter(len).map(lambda table: complete(table, SIZE))


@st.composite
def steps(draw: st.DrawFn) -> tuple[str, Step]:
    """Any correction that keeps all texts, with any numbers."""
    axis, number, other = draw(st.sampled_from(["row", "col"])), draw(st.integers(0, 7)), draw(st.integers(0, 7))
    at, share = draw(st.none() | st.integers(0, 7)), draw(st.floats(0.1, 0.9))
    offset = draw(st.floats(-500, 500))
    row, col, height, width = (draw(st.integers(0, 5)) for _ in range(4))
    every: dict[str, Step] = {
        "move": lambda table: editing.move_line(table, axis, number, offset, at),
        "divide": lambda table: editing.divide(table, axis, number, share, at),
        "extend": lambda table: editing.extend(table, axis, at_end=number % 2 == 0),
        "remove_line": lambda table: editing.remove_line(table, axis, number),
        "merge": lambda table: editing.merge(table, row, col, row + height, col + width),
        "split": lambda table: editing.split(table, row, col),
        "headers": lambda table: editing.set_headers(table, number, other),
        "header": lambda table: editing.set_header(table, row, col, draw_kind(number)),
    }
    name = draw(st.sampled_from(sorted(every)))
    return name, every[name]


def draw_kind(number: int) -> HeaderKind | None:
    kinds: list[HeaderKind | None] = [None, "column", "row", "section"]
    return kinds[number % 4]


def test_empty_table() -> None:
    empty = complete(Table([]), SIZE)
    assert empty == Table([]) == tidy(empty) == editing.set_headers(empty, 0, 0)
    for step in (
        lambda: editing.extend(empty, "row"),
        lambda: editing.divide(empty, "row", 0),
        lambda: editing.set_text(empty, 0, 0, ""),
        lambda: editing.merge(empty, 0, 0, 1, 1),
        lambda: editing.remove(empty, "col", 0),
    ):
        with pytest.raises(TableError):
            step()


@FEW
@given(filled(), st.lists(steps(), max_size=12))
def test_any_corrections_leave_a_valid_table_with_all_its_texts(table: Table, every: list[tuple[str, Step]]) -> None:
    history, texts = History((table,)), characters(table)
    for _, step in every:
        try:
            history = history.add(step(history.now))
        except TableError:
            continue
        now = history.now
        assert now == Table(now.cells, now.quad, title=now.title, notes=now.notes, direction=table.direction)
        assert characters(now) == texts
        assert boxes_are_sound(now)
    states = history.states
    for state in reversed(states):
        assert history.now == state
        history = history.undo()
    assert history.now == table
    for state in states:
        assert history.now == state
        history = history.redo()


@st.composite
def with_inner(draw: st.DrawFn) -> Table:
    """Tables with an inner table and a picture in the middle of some cells, or without a place."""
    table = draw(filled())
    cells = list(table.cells)
    for index in draw(st.lists(st.integers(0, len(cells) - 1), max_size=3)):
        quad = array_to_quad(inner_quads(cells_to_quads([cells[index]]), 0.5)[0])
        place = quad if draw(st.booleans()) else None
        inner = Table([Cell(0, 0, text=str(index), quad=place)])
        cells[index] = replace(cells[index], tables=(inner,), pictures=(Picture(place, PNG + bytes([index])),))
    return replace(table, cells=cells)


@FEW
@given(with_inner(), st.lists(steps(), max_size=8))
def test_corrections_carry_inner_tables_and_pictures_along(table: Table, every: list[tuple[str, Step]]) -> None:
    def inside(table: Table) -> tuple[list[str], list[bytes]]:
        texts = [inner[0, 0].text for cell in table.cells for inner in tables_in(cell)]
        return sorted(texts), sorted(picture.png for cell in table.cells for picture in cell.pictures)

    now = table
    for _, step in every:
        with suppress(TableError):
            now = step(now)
    assert inside(now) == inside(table)


def test_an_inner_table_stays_in_the_part_of_its_cell_where_it_stands() -> None:
    inner = Table([Cell(0, 0, quad=((10, 310), (50, 310), (50, 340), (10, 340)))])
    table = complete(Table([Cell(0, 0, text="a", tables=(inner,))]), SIZE)
    table = editing.divide(table, "row", 0, 0.5)
    assert [len(cell.tables) for cell in table.cells] == [0, 1]


@FEW
@given(st.data())
def test_merge_then_split_restores_the_grid(data: st.DataObject) -> None:
    (n_rows, n_cols), number = data.draw(st.tuples(st.integers(1, 6), st.integers(2, 6))), st.integers
    texts = data.draw(
        st.lists(st.lists(PLAIN_TEXTS, min_size=n_cols, max_size=n_cols), min_size=n_rows, max_size=n_rows)
    )
    plain = complete(Table.from_texts(texts), SIZE)
    row, col = data.draw(number(0, n_rows - 1)), data.draw(number(0, n_cols - 2))
    height, width = data.draw(number(1, n_rows - row)), data.draw(number(2, n_cols - col))
    back = editing.split(editing.merge(plain, row, col, row + height, col + width), row, col)
    for before, after in zip(plain.cells, back.cells, strict=True):
        assert (after.row, after.col, after.rowspan, after.colspan) == (before.row, before.col, 1, 1)
    assert characters(back) == characters(plain)
    # A line on which nothing else ends is nowhere to be seen, so it comes back in the middle.
    if height < plain.n_rows and width < plain.n_cols:
        quads = [each.quads for each in (plain, back)]
        assert np.allclose(*quads)


@FEW
@given(filled(), st.sampled_from(["row", "col"]), st.integers(0, 5), st.floats(0.1, 0.9))
def test_a_line_that_is_drawn_and_taken_out_leaves_the_table_as_it_was(
    table: Table, axis: Axis, index: int, share: float
) -> None:
    try:
        divided = editing.divide(table, axis, index, share)
    except TableError:
        assume(False)
    back = editing.remove_line(divided, axis, index + 1)
    assert [(cell.row, cell.col, cell.rowspan, cell.colspan) for cell in back.cells] == [
        (cell.row, cell.col, cell.rowspan, cell.colspan) for cell in table.cells
    ]
    assert characters(back) == characters(table)
    quads = [each.quads for each in (table, back)]
    assert np.allclose(*quads)


@FEW
@given(filled(), st.sampled_from(["row", "col"]), st.booleans())
def test_a_row_outside_that_is_added_and_removed_leaves_the_table(table: Table, axis: Axis, at_end: bool) -> None:
    count = {"row": table.n_rows, "col": table.n_cols}[axis]
    extended = editing.extend(table, axis, at_end=at_end)
    back = editing.remove(extended, axis, count if at_end else 0)
    assert back == table


@FEW
@given(filled(), st.sampled_from(["row", "col"]), st.integers(0, 6), st.floats(-900, 900))
def test_no_cell_gets_thinner_than_a_pixel(table: Table, axis: Axis, line: int, offset: float) -> None:
    assume(line <= {"row": table.n_rows, "col": table.n_cols}[axis])
    moved = editing.move_line(table, axis, line, offset)
    for cell in moved.cells:
        (x0, y0), _, (x1, y1), _ = cell.quad or ()
        assert x1 - x0 > 0.99 and y1 - y0 > 0.99


@pytest.mark.parametrize("degrees", [0.0, 7.0, -30.0])
def test_moving_back_restores_a_turned_table(degrees: float) -> None:
    table = complete(Table.from_texts([["a", "b"], ["c", "d"], ["e", "f"]]), SIZE)
    cells = [replace(c, quad=array_to_quad(rotate_points(np.array(c.quad), degrees, (300, 200)))) for c in table.cells]
    turned = complete(Table(cells), SIZE)
    for at in (None, 1):
        there = editing.move_line(turned, "row", 1, 30.0, at)
        back = editing.move_line(there, "row", 1, -30.0, at)
        before, between, after = (each.quads for each in (turned, there, back))
        assert np.allclose(before, after)
        # One border moves the cells above and below it, the whole line those of all columns.
        assert (np.abs(between - before).max(axis=(1, 2)) > 1).sum() == (4 if at is None else 2)


def test_cells_that_were_not_seen_lie_between_the_lines_of_the_others() -> None:
    table = complete(Table.from_texts([["a", "b", "c"], ["d", "e", "f"]]), SIZE)
    cells = [replace(c, quad=array_to_quad(rotate_points(np.array(c.quad), 5, (300, 200)))) for c in table.cells]
    holes = [replace(cell, quad=None) if (cell.row, cell.col) in ((0, 1), (1, 0)) else cell for cell in cells]
    found = complete(Table(holes), SIZE).quads
    assert np.allclose(found, cells_to_quads(cells), atol=2.0)


def test_a_border_moves_as_far_as_both_sides_share_it() -> None:
    # Below the line there is one cell under the columns 0 and 1.
    cells = [Cell(0, 0), Cell(0, 1), Cell(0, 2), Cell(1, 0, colspan=2), Cell(1, 2)]
    table = complete(Table(cells), (300, 100))
    moved = editing.move_line(table, "row", 1, 10.0, at=0)
    assert [cell.quad and cell.quad[3][1] for cell in moved.cells[:3]] == [60.0, 60.0, 50.0]


def test_one_cell_is_divided_and_its_neighbours_cover_both_parts() -> None:
    table = complete(Table.from_texts([["x\ny", "b"], ["c", "d"]]), SIZE)
    divided = editing.divide(table, "row", 0, at=0)
    assert divided.to_grid(fill_spans=True) == [["x", "b"], ["y", "b"], ["c", "d"]]
    with pytest.raises(TableError, match="too thin"):
        editing.divide(table, "row", 0, 1e-4)


def test_one_line_of_text_stays_above_a_line_through_its_middle() -> None:
    table = complete(Table.from_texts([["a"]]), SIZE)
    assert editing.divide(table, "row", 0).to_grid() == [["a"], [""]]
    assert editing.divide(table, "row", 0, 0.4).to_grid() == [[""], ["a"]]


def test_touched_cells_are_no_longer_doubtful() -> None:
    table = complete(Table([Cell(0, 0, text="a", confidence=0.2, ocr_score=0.3), Cell(0, 1, confidence=0.2)]), SIZE)
    changed = editing.set_text(table, 0, 0, "a")
    assert [cell.confidence for cell in changed.cells] == [None, 0.2]
    assert changed[0, 0].ocr_score is None


def test_sections_stay_when_the_headers_change() -> None:
    table = Table([Cell(0, 0), Cell(1, 0, header="section"), Cell(2, 0, header="row", header_score=0.5)])
    assert [cell.header for cell in editing.set_headers(table, 1, 1).cells] == ["column", "section", "row"]
    assert [cell.header for cell in editing.set_headers(table, 2, 0).cells] == ["column", "column", None]


def test_history_forgets_the_oldest_states_and_what_was_undone() -> None:
    history = History((Table.from_texts([["0"]]),))
    for number in range(1, 1500):
        history = history.add(Table.from_texts([[str(number)]]))
    assert len(history.states) == 1000
    again = history.undo().undo().add(Table.from_texts([["new"]]))
    assert again.redo().now.to_grid() == [["new"]]
    assert again.undo().now.to_grid() == [["1497"]]


def test_a_run_of_changes_is_one_step_to_a_person() -> None:
    one = Table.from_texts([["0"]])
    assert (History((one,)).n_back, History((one,)).n_on) == (0, 0)
    history = History((one,))
    for run in (None, "x", "x", "y", None, None):
        history = history.add(one, run)
    lengths = []
    while history.place:
        lengths.append(history.n_back)
        for _ in range(history.n_back):
            history = history.undo()
    assert lengths == [1, 1, 1, 2, 1]
    assert (history.n_on, history.redo().n_on) == (1, 2)


@pytest.mark.parametrize("axis", ["row", "col"])
def test_several_rows_or_lines_go_as_one_by_one(axis: Axis) -> None:
    table = complete(Table.from_texts([[f"{row}{col}" for col in range(4)] for row in range(4)]), SIZE)
    one_by_one = editing.remove(editing.remove(table, axis, 1), axis, 1)
    assert editing.remove(table, axis, 1, 2) == one_by_one
    one_by_one = editing.remove_line(editing.remove_line(table, axis, 1), axis, 1)
    assert editing.remove_line(table, axis, 1, 2) == one_by_one
    with pytest.raises(TableError):
        editing.remove(table, axis, 0, 4)


def test_a_block_of_texts_must_fit() -> None:
    table = editing.merge(complete(Table.from_texts([["a", "b", "c"], ["d", "e", "f"]]), SIZE), 0, 0, 1, 2)
    assert editing.set_texts(table, 0, 0, [["1", "", "2"], ["3"]]).to_grid() == [["1", "", "2"], ["3", "e", "f"]]
    for row, col, texts in ((0, 0, []), (0, 0, [[]]), (1, 0, [["1"], ["2"]]), (0, 2, [["1", "2"]]), (0, 1, [["1"]])):
        with pytest.raises(TableError):
            editing.set_texts(table, row, col, texts)


@FEW
@given(filled(), st.sampled_from(["row", "col"]), st.integers(0, 5), st.floats(0.1, 0.9), st.integers(0, 5))
def test_tables_from_right_to_left_are_corrected_as_their_mirror_image(
    table: Table, axis: Axis, number: int, share: float, other: int
) -> None:
    """Counted from the left, the same lines move the other way and the same parts are cut."""
    rtl = table if table.direction == "rtl" else table.mirrored()
    n = rtl.n_cols
    index = number % (n if axis == "col" else rtl.n_rows)
    at = other % (rtl.n_rows if axis == "col" else n)
    if axis == "col":
        line, place, offset, fraction, at_end, across = n - index, n - 1 - index, -7.0, 1 - share, False, at
    else:
        line, place, offset, fraction, at_end, across = index, index, 7.0, share, True, n - 1 - at
    pairs: list[tuple[Step, Step]] = [
        (lambda t: editing.move_line(t, axis, index, 7.0), lambda t: editing.move_line(t, axis, line, offset)),
        (
            lambda t: editing.move_line(t, axis, index, 7.0, at),
            lambda t: editing.move_line(t, axis, line, offset, across),
        ),
        (lambda t: editing.divide(t, axis, index, share), lambda t: editing.divide(t, axis, place, fraction)),
        (lambda t: editing.extend(t, axis), lambda t: editing.extend(t, axis, at_end=at_end)),
        (lambda t: editing.remove(t, axis, index), lambda t: editing.remove(t, axis, place)),
        (lambda t: editing.split(t, 0, 0), lambda t: editing.split(t, 0, n - 1)),
        (lambda t: complete(blank(t), SIZE), lambda t: complete(blank(t), SIZE)),
        (lambda t: editing.set_headers(t, 1, 0), lambda t: editing.set_headers(t, 1, 0)),
    ]
    for step, mirrored in pairs:
        done, expected = outcome(step, rtl), outcome(mirrored, rtl.from_left())
        if isinstance(done, str) or isinstance(expected, str):
            assert isinstance(done, str) and isinstance(expected, str)
            continue
        assert done.direction == "rtl"
        assert grid_of(done) == grid_of(expected.mirrored())
        assert np.allclose(done.quads, expected.mirrored().quads, atol=1e-6)
        assert done.quad is not None and expected.quad is not None
        assert np.allclose(done.quad, expected.quad, atol=1e-6)


def blank(table: Table) -> Table:
    """The table without the places of every second cell."""
    cells = [replace(cell, quad=None) if (cell.row + cell.col) % 2 else cell for cell in table.cells]
    return replace(table, cells=cells)


def outcome(step: Step, table: Table) -> Table | str:
    try:
        return step(table)
    except TableError as error:
        return str(error)


def grid_of(table: Table) -> list[tuple[int, int, int, int]]:
    return [(cell.row, cell.col, cell.rowspan, cell.colspan) for cell in table.cells]


def test_a_column_is_added_where_reading_ends() -> None:
    table = complete(replace(Table.from_texts([["א", "ב"]]), direction="rtl"), (40, 20))
    assert [cell.quad and cell.quad[0][0] for cell in table.cells] == [20, 0]
    longer = editing.extend(table, "col")
    assert longer.to_grid() == [["א", "ב", ""]] and longer[0, 2].quad == ((-20, 0), (0, 0), (0, 20), (-20, 20))


def test_all_merged_cells_of_a_block_are_split_at_once() -> None:
    table = complete(Table.from_texts([["a", "b", "c", "d"], ["e", "f", "g", "h"]]), (80, 20))
    merged = editing.merge(editing.merge(table, 0, 0, 1, 2), 0, 2, 2, 3)
    assert editing.split(merged, 0, 0, 2, 4) == editing.split(editing.split(merged, 0, 0), 0, 2)
    with pytest.raises(TableError, match="one slot only"):
        editing.split(table, 0, 0, 2, 4)
    with pytest.raises(TableError, match="no part of the table"):
        editing.split(merged, 0, 0, 3, 4)
