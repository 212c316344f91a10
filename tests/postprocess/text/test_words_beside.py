"""Words that hang over borders, lie beside their cells or in cells of cells: each report as a test."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from postprocess.cell import Cell
from postprocess.geometry.boxes import rotate_points
from postprocess.table import Table
from postprocess.text.assignment import UNCLEAR, words_to_cells, words_to_table, words_to_tables
from postprocess.text.lines import words_to_text
from postprocess.word import Word
from tests.helpers.layouts import box_quad, turn_word

DEGREES = st.sampled_from([0.0, 3.0, -7.0, 30.0, 90.0, 180.0, -90.0, 137.0])


def turn_cell(cell: Cell, degrees: float) -> Cell:
    corners = rotate_points(np.array(cell.quad, float), degrees)
    return replace(cell, quad=tuple((float(x), float(y)) for x, y in corners))


def grid_table(n_rows: int, n_cols: int, width: float = 100, height: float = 30, inset: float = 0) -> Table:
    return Table(
        Cell(
            row,
            col,
            quad=box_quad(
                col * width + inset, row * height + inset, (col + 1) * width - inset, (row + 1) * height - inset
            ),
        )
        for row in range(n_rows)
        for col in range(n_cols)
    )


@settings(max_examples=60)
@given(st.integers(1, 5), st.integers(1, 5), DEGREES, st.data())
def test_words_that_hang_over_a_border_stay_whole_in_their_cells(
    n_rows: int, n_cols: int, degrees: float, data: st.DataObject
) -> None:
    """Up to 40 % of each word over the right border, its box up to a tenth of its height askew, nothing else there."""
    table = grid_table(n_rows, n_cols)
    words = []
    for index, cell in enumerate(table.cells):
        share, shift = data.draw(st.floats(0, 0.4)), data.draw(st.floats(-1, 1))
        text, right = f"{'abcdefghijklmnopqrstuvwxy'[index]}word", (cell.col + 1) * 100 + share * 40
        words.append(Word(text, box_quad(right - 40, cell.row * 30 + 10 + shift, right, cell.row * 30 + 20 + shift)))
    filled, unplaced = words_to_table(
        Table(turn_cell(cell, degrees) for cell in table.cells), [turn_word(word, degrees) for word in words]
    )
    assert [cell.text for cell in filled.cells] == [word.text for word in words] and unplaced == []


@settings(max_examples=60)
@given(st.lists(st.tuples(st.floats(-60, 460), st.floats(-30, 150), st.floats(1, 200)), max_size=12), DEGREES)
def test_every_character_is_in_one_cell_or_unplaced(places: list[tuple[float, float, float]], degrees: float) -> None:
    words = [Word(f"a1,{chr(97 + i)} 表,3", box_quad(x, y, x + w, y + 12)) for i, (x, y, w) in enumerate(places)]
    table = Table(turn_cell(cell, degrees) for cell in grid_table(4, 4, inset=3).cells)
    filled, unplaced = words_to_table(table, [turn_word(word, degrees) for word in words])
    found = "".join([cell.text for cell in filled.cells] + [item.word.text for item in unplaced])
    wanted = "".join(word.text for word in words)
    assert Counter("".join(found.split())) == Counter("".join(wanted.split()))
    assert all(item.reason for item in unplaced)


@pytest.mark.parametrize("word", ["North", "Geschäftsjahr", "2024", "1,234.5"])
@pytest.mark.parametrize("middle", [95, 100, 105])
def test_fault_cut_words_one_word_over_two_columns_stays_whole(word: str, middle: float) -> None:
    table, _ = words_to_table(grid_table(1, 2), [Word(word, box_quad(middle - 25, 10, middle + 25, 20))])
    assert sorted(cell.text for cell in table.cells) == ["", word]


def test_one_line_over_a_ruling_is_two_texts() -> None:
    table, _ = words_to_table(grid_table(1, 2), [Word("left right", box_quad(60, 10, 140, 20))])
    assert [cell.text for cell in table.cells] == ["left", "right"]


def test_end_of_a_line_does_not_join_the_number_in_the_next_column() -> None:
    words = [Word("Property, plant and", box_quad(4, 10, 114, 20)), Word("12.5", box_quad(170, 10, 195, 20))]
    table, _ = words_to_table(grid_table(1, 2), words)
    assert [cell.text for cell in table.cells] == ["Property, plant and", "12.5"]


@pytest.mark.parametrize("reach", [0, 4, 10])
def test_words_of_a_nested_table_are_in_its_cells_and_in_no_other(reach: float) -> None:
    outer = Table([Cell(0, 0, quad=box_quad(0, 0, 300, 200))])
    inner = Table([Cell(0, col, quad=box_quad(100 + 50 * col, 80, 150 + 50 * col, 110)) for col in range(2)])
    words = [
        Word("outer", box_quad(5, 10, 40, 20)),
        Word("w", box_quad(110, 90, 120, 100)),
        Word("hangs", box_quad(170 + reach, 90, 200 + reach, 100)),
    ]
    for order in ([outer, inner], [inner, outer]):
        filled, unplaced = words_to_tables(order, words)
        texts = {table.shape: [cell.text for cell in table.cells] for table in filled}
        assert texts == {(1, 1): ["outer"], (1, 2): ["w", "hangs"]} and unplaced == []


@pytest.mark.parametrize("degrees", [0.0, 10.0, 90.0])
@pytest.mark.parametrize(
    ("sign", "place", "text"),
    [
        ("$", (-11, 10, -5, 20), "$ 12.5"),
        ("%", (98, 10, 106, 20), "12.5 %"),
        ("2", (97, 7.5, 101, 13.5), "12.5 2"),
    ],
)
def test_a_sign_beside_its_cell_stays_with_its_number(
    sign: str, place: tuple[float, float, float, float], text: str, degrees: float
) -> None:
    left = -4 if sign == "$" else 60
    number = Word("12.5", box_quad(left, 10, 96 if left == 60 else 30, 20))
    cells = [turn_cell(Cell(0, 0, quad=box_quad(-5, 5, 97, 25)), degrees)]
    filled, unplaced = words_to_table(
        Table(cells), [turn_word(number, degrees), turn_word(Word(sign, box_quad(*place)), degrees)]
    )
    assert (filled[0, 0].text, unplaced) == (text, [])


@pytest.mark.parametrize("degrees", [0.0, 5.0, 90.0, 180.0])
def test_a_word_between_small_cells_goes_to_its_row_and_column(degrees: float) -> None:
    small = grid_table(3, 3, inset=9).cells
    cells = [
        turn_cell(replace(cell, quad=box_quad(130, 44, 134, 46)) if (cell.row, cell.col) == (1, 1) else cell, degrees)
        for cell in small
    ]
    filled, unplaced = words_to_table(Table(cells), [turn_word(Word("here", box_quad(150, 40, 185, 50)), degrees)])
    assert ([cell.text for cell in filled.cells].index("here"), unplaced) == (4, [])


def test_a_word_of_an_unclear_slot_says_so() -> None:
    cells = [Cell(0, 0, quad=box_quad(0, 0, 50, 20)), Cell(0, 1, quad=box_quad(200, 0, 250, 20))]
    cells += [Cell(1, 0, 1, 2, quad=box_quad(0, 60, 250, 80))]
    _, [item] = words_to_table(Table(cells), [Word("x", box_quad(100, 4, 110, 14))])
    assert item.reason == UNCLEAR


@pytest.mark.parametrize("fall", [-0.08, -0.04, 0.0, 0.04, 0.08])
def test_upright_boxes_of_tilted_lines_are_read_line_by_line(fall: float) -> None:
    lines = [["one", "two", "three", "four"], ["five", "six", "seven", "eight"], ["nine", "ten", "eleven", "twelve"]]
    words = [
        Word(text, box_quad(50 * col, 16 * row + fall * 50 * col, 50 * col + 40, 16 * row + fall * 50 * col + 12))
        for row, line in enumerate(lines)
        for col, text in enumerate(line)
    ]
    assert words_to_text(words[::-1]) == "\n".join(" ".join(line) for line in lines)


def test_five_thousand_words_are_in_five_thousand_cells() -> None:
    quads = [box_quad(60 * col, 20 * row, 60 * col + 60, 20 * row + 20) for row in range(100) for col in range(50)]
    words = [Word(f"{index}", box_quad(quad[0][0] + 5, quad[0][1] + 4, quad[0][0] + 50, quad[0][1] + 16))
             for index, quad in enumerate(quads)]  # fmt: skip
    pieces, unplaced = words_to_cells(words, quads)
    assert [[word.text for word in inside] for inside in pieces] == [[word.text] for word in words]
    assert unplaced == []
