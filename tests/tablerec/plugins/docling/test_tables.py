"""Our tables in docling's terms, and its text in ours."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("docling")

from docling_core.types.doc import BoundingBox
from docling_core.types.doc.document import TableData
from docling_core.types.doc.page import BoundingRectangle
from hypothesis import given
from hypothesis import strategies as st

from postprocess.cell import Cell
from postprocess.export.html import html_to_tables
from postprocess.table import Table, flatten
from postprocess.word import Word
from tablerec.plugins.docling.tables import to_docling
from tablerec.plugins.docling.words import Crop, cell_to_word
from tests.helpers.docling.pages import make_cell, make_cluster, to_html
from tests.helpers.drawing import make_table
from tests.helpers.layouts import box_quad
from tests.helpers.strategies import nested, tables

CROP = Crop(BoundingBox(l=50, t=20, r=150, b=70), 300, 100)
CLUSTER = make_cluster((50, 20, 150, 70), number=7)
PLAIN = st.text("ab ü表1<&", max_size=6)


def structure(table: Table) -> list[tuple[object, ...]]:
    """Place, kind and text of each cell, as far as docling's HTML says them."""
    return [
        (cell.row, cell.col, cell.rowspan, cell.colspan, cell.header is not None, " ".join(cell.text.split()))
        for cell in table.cells
    ]


def test_an_empty_table_is_empty() -> None:
    table = to_docling(Table([]), CROP, CLUSTER, 3)
    assert (table.num_rows, table.num_cols, table.table_cells, table.otsl_seq) == (0, 0, [], [])
    assert (table.id, table.page_no, table.cluster) == (7, 3, CLUSTER)


@given(nested(tables(texts=PLAIN), 1))
def test_doclings_html_has_the_structure_of_the_table(table: Table) -> None:
    shown = flatten(table).from_left()
    assert structure(html_to_tables(to_html(to_docling(table, CROP, CLUSTER, 1)))[0] if len(table) else table) == (
        structure(shown)
    )


@given(tables(texts=PLAIN))
def test_each_slot_has_its_cell_and_its_token(table: Table) -> None:
    ours = table.from_left()
    made = to_docling(table, CROP, CLUSTER, 1)
    grid = TableData(num_rows=made.num_rows, num_cols=made.num_cols, table_cells=made.table_cells).grid
    owner = [[(cell.start_row_offset_idx, cell.start_col_offset_idx) for cell in row] for row in grid]
    assert owner == [[(ours[r, c].row, ours[r, c].col) for c in range(ours.n_cols)] for r in range(ours.n_rows)]
    assert made.otsl_seq.count("nl") == ours.n_rows
    assert len(made.otsl_seq) == ours.n_rows * (ours.n_cols + 1)
    assert sum(token in ("fcel", "ecel", "ched", "rhed", "srow") for token in made.otsl_seq) == len(ours)


def test_tokens_say_what_continues_which_cell() -> None:
    table = make_table([["a", "<", "b"], ["^", "^", "c"]])
    assert to_docling(table, CROP, CLUSTER, 1).otsl_seq == ["fcel", "lcel", "fcel", "nl", "ucel", "xcel", "fcel", "nl"]


def test_headers_keep_their_kind() -> None:
    kinds = ("column", "row", "section")
    made = to_docling(Table([Cell(0, col, header=kind) for col, kind in enumerate(kinds)]), CROP, CLUSTER, 1)
    said = [(cell.column_header, cell.row_header, cell.row_section) for cell in made.table_cells]
    assert said == [(True, False, False), (False, True, False), (False, False, True)]
    assert made.otsl_seq == ["ched", "rhed", "srow", "nl"]


def test_cells_are_in_doclings_units_and_a_cell_that_was_not_seen_has_no_box() -> None:
    made = to_docling(Table([Cell(0, 0, quad=box_quad(30, 10, 60, 20)), Cell(0, 1)]), CROP, CLUSTER, 1)
    assert made.table_cells[0].bbox.as_tuple() == (60, 25, 70, 30)
    assert made.table_cells[1].bbox is None


@pytest.mark.parametrize("turn", [0, 90, 180, 270])
def test_a_table_on_its_side_says_so_where_docling_knows_of_it(turn: int) -> None:
    made = to_docling(make_table([["a"]]), CROP, CLUSTER, 1, turn)
    assert getattr(made, "orientation", f"rot_{turn}") == f"rot_{turn}"


@given(st.lists(st.tuples(st.floats(0, 200), st.floats(0, 100)), min_size=1, max_size=4))
def test_points_come_back_from_the_picture(points: list[tuple[float, float]]) -> None:
    there = np.array(points)
    assert np.allclose(CROP.to_page(CROP.to_pixels(there)), there)
    assert CROP.to_pixels(np.array([[50.0, 20.0], [150.0, 70.0]])).tolist() == [[0, 0], [300, 100]]


@pytest.mark.parametrize("degrees", [0, 90, 180, 270, 3])
@pytest.mark.parametrize("page_height", [None, 100.0])
@pytest.mark.parametrize("first", [0, 2], ids=["lower side first", "upper side first"])
def test_words_have_their_corners_in_reading_direction(degrees: int, page_height: float | None, first: int) -> None:
    turn = np.deg2rad(degrees)
    corners = np.array([[0, 0], [40, 0], [40, 10], [0, 10]]) @ np.array(
        [[np.cos(turn), np.sin(turn)], [-np.sin(turn), np.cos(turn)]]
    ) + [100, 50]
    cell = make_cell(Word("word", tuple(map(tuple, corners))), page_height=page_height, mode=0)
    if first:
        sides = [cell.rect.model_dump()[f"r_{axis}{n}"] for n in (3, 2, 1, 0) for axis in "xy"]
        names = [f"r_{axis}{n}" for n in range(4) for axis in "xy"]
        cell.rect = BoundingRectangle(**dict(zip(names, sides, strict=True)), coord_origin=cell.rect.coord_origin)
    word = cell_to_word(cell, CROP, 100.0)
    assert np.allclose(CROP.to_page(np.array(word.quad)), corners)
    assert word.text == "word" and word.score == 1.0


def test_a_hyphen_at_the_end_of_a_line_is_one_and_blanks_at_the_ends_are_no_text() -> None:
    cell = make_cell(Word(" exam\x02 ", box_quad(60, 30, 80, 40)), mode=0)
    assert cell_to_word(cell, CROP, 100.0).text == "exam-"
