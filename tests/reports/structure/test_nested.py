"""Tables in the cells of tables."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from postprocess.table import Table, tables_in
from tests.helpers.drawing import Drawing, Filling, Look, Read, draw_nested, draw_table, move_word, texts_of, turn

SMALL = [["x", "y"], ["1", "2"]]
PARTS = [["Item", "Qty", "Price"], ["Bolt", "4", "1.20"], ["Nut", "10", "0.35"], ["Washer", "25", "0.05"]]
SHIFTS = [["Day", "Mon", "Tue", "Wed"], ["Early", "3", "5", "2"], ["Late", "4", "<", "1"], ["Night", "0", "1", "7"]]
ORDERS = [["Order", "Lines", "Total"], ["2031", "", "12.40"], ["2032", "none", "0.00"]]
TEAMS = [["Team", "Shifts"], ["North", ""], ["South", "-"]]
THIN, THICK = Look(), Look(thickness=3, size=18)

DRAWINGS = {
    "2x2 in 2x2": draw_nested([["Part", "Details"], ["A-17", ""]], {(1, 1): Filling([SMALL])}, THIN),
    "4x3 in 3x3": draw_nested(ORDERS, {(1, 1): Filling([PARTS])}, THIN),
    "thick lines": draw_nested(ORDERS, {(1, 1): Filling([SHIFTS], inset=12)}, THICK),
    "below text": draw_nested(ORDERS, {(1, 1): Filling([PARTS], ["Delivered in two parts:", "see below"])}, THIN),
    "beside text": draw_nested(ORDERS, {(1, 1): Filling([PARTS], ["Parts:"], beside=True)}, THIN),
    "in two cells": draw_nested(
        [["Team", "Shifts"], ["North", ""], ["South", ""], ["West", "-"]],
        {(1, 1): Filling([SHIFTS]), (2, 1): Filling([SMALL])},
    ),
    "two in one cell": draw_nested(TEAMS, {(1, 1): Filling([SHIFTS, SMALL])}),
    "side by side": draw_nested(TEAMS, {(1, 1): Filling([SMALL, PARTS], beside=True)}),
    "at the left border": draw_nested(ORDERS, {(1, 1): Filling([PARTS], flush=True)}, THIN),
    "at the left border, below text": draw_nested(ORDERS, {(1, 1): Filling([PARTS], ["Two:"], flush=True)}, THIN),
    "close to the borders": draw_nested(ORDERS, {(1, 1): Filling([PARTS], inset=5)}, THIN),
    "in the first cell": draw_nested([["", "Shifts"], ["North", "day"], ["South", "-"]], {(0, 0): Filling([SHIFTS])}),
    "in a spanning cell": draw_nested(
        [["Order", "Lines", "Total"], ["2031", "", "<"], ["2032", "none", "0.00"]], {(1, 1): Filling([SHIFTS])}
    ),
    "light on dark": draw_nested(
        ORDERS, {(1, 1): Filling([PARTS])}, Look(ground=(20, 40, 80), ink=(255, 255, 255), line=(255, 255, 255))
    ),
    "turned by a degree": turn(draw_nested(ORDERS, {(1, 1): Filling([PARTS])}, THICK), 1.0),
}


@pytest.mark.parametrize("layout", ["page", "table"])
@pytest.mark.parametrize("name", DRAWINGS)
def test_a_table_in_a_cell_is_a_table_of_its_own(read: Read, name: str, layout: str) -> None:
    drawing = DRAWINGS[name]
    page = read(drawing.image, drawing.words, layout)
    assert [texts_of(table) for table in page.tables] == [texts_of(drawing.table)]
    assert not page.unplaced


def test_a_table_in_a_table_in_a_table(read: Read) -> None:
    middle = draw_nested([["Box", "Parts"], ["7", ""]], {(1, 1): Filling([SMALL], inset=10)})
    drawing = _put_into_cell(middle)
    [table] = read(drawing.image, drawing.words).tables
    assert texts_of(table) == texts_of(drawing.table)


def test_an_inner_table_has_places_scores_and_headers(read: Read) -> None:
    drawing = DRAWINGS["4x3 in 3x3"]
    [table] = read(drawing.image, drawing.words).tables
    [inner] = tables_in(table[1, 1])
    assert inner.n_header_rows == 1 and inner.confidence is not None and len(inner.quads) == len(inner)
    low, high = np.array(table[1, 1].quad).min(axis=0), np.array(table[1, 1].quad).max(axis=0)
    corners = inner.quads.reshape(-1, 2)
    assert ((corners > low) & (corners < high)).all()


# A form's sub-grids share borders with the cells around them.
@pytest.mark.parametrize(
    "rows",
    [
        [
            ["Name", "", "Born", ""],
            ["Family", "Who", "Age", "Job"],
            ["^", "", "", ""],
            ["^", "", "", ""],
            ["Note", "", "<", "<"],
        ],
        [["a", "b", "c", "d"], ["e", "f", "g", "h"], ["^", "i", "j", "^"], ["k", "l", "m", "n"]],
        [["a", "<", "<", "b"], ["c", "d", "e", "^"], ["^", "f", "g", "^"], ["h", "<", "<", "<"]],
    ],
)
def test_grids_that_share_borders_are_one_table(read: Read, rows: list[list[str]]) -> None:
    drawing = draw_table(rows)
    [table] = read(drawing.image, drawing.words, "table").tables
    assert not any(cell.tables for cell in table.cells)


def test_a_frame_around_a_table_is_no_table(read: Read) -> None:
    drawing = draw_table(PARTS)
    image = drawing.image.copy()
    image[[5, -6], 5:-5] = 0
    image[5:-5, [5, -6]] = 0
    tables = read(image, drawing.words).tables
    assert [cell.tables for table in tables for cell in table.cells if cell.tables] == []
    assert "Washer" in {cell.text for table in tables for cell in table.cells}


def _put_into_cell(inner: Drawing) -> Drawing:
    """The drawing in a cell of a larger table."""
    height, width = inner.image.shape[:2]
    look = Look(widths=(60, width + 2), heights=(30, height + 2, 30))
    outer = draw_table([["Van", "Boxes"], ["1", ""], ["2", "-"]], look)
    image = outer.image.copy()
    image[51 : 51 + height, 81 : 81 + width] = inner.image
    cells = list(outer.table.cells)
    cells[3] = replace(cells[3], tables=(inner.table,))
    return Drawing(image, [*outer.words, *(move_word(word, 81, 51) for word in inner.words)], Table(cells))
