"""Reports of text that was lost, moved or run together (kinds B and G), each as its smallest case."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from postprocess.cell import Cell, Quad
from postprocess.geometry.boxes import array_to_quad
from postprocess.table import Table
from postprocess.text.assignment import OUTSIDE, UNCLEAR, words_to_cells, words_to_table
from postprocess.text.lines import words_to_text
from postprocess.word import Unplaced, Word
from tests.helpers.layouts import box_quad, even_layout, layout_to_quads, make_word, plain_table, turn_word


def grid(n_rows: int, n_cols: int, width: float = 100, height: float = 30, inset: float = 0) -> Table:
    """Cells of one size, each drawn smaller by an inset."""
    quads = layout_to_quads(even_layout(plain_table(n_rows, n_cols), width, height))
    quads = quads + inset * np.array([[1, 1], [-1, 1], [-1, -1], [1, -1]])
    return Table([Cell(*divmod(k, n_cols), quad=array_to_quad(quad)) for k, quad in enumerate(quads)])


def fill(table: Table, *words: Word) -> list[list[str]]:
    """Texts by slot; nothing may be left over."""
    filled, unplaced = words_to_table(table, words)
    assert unplaced == []
    return filled.to_grid()


def row_of_cells(*ends: float) -> list[Quad]:
    return [box_quad(a, 0, b, 20) for a, b in pairwise(ends)]


def pieces_of(word: Word, *ends: float) -> list[str]:
    pieces, unplaced = words_to_cells([word], row_of_cells(*ends))
    assert unplaced == []
    return [" ".join(part.text for part in inside) for inside in pieces]


# --- B: lost or in the wrong cell


@pytest.mark.parametrize("degrees", [0.0, 3.0, 30.0, 90.0, 180.0])
def test_paddlex_3783_one_line_over_three_cells_comes_apart(degrees: float) -> None:
    word = turn_word(Word("营业收入 1,234 5,678", box_quad(10, 10, 290, 20)), degrees)
    quads = [turn_word(Word("x", cell.quad), degrees).quad for cell in grid(1, 3, 100).cells if cell.quad]
    spans = tuple((i / 28, (i + 1) / 28) for i in (0, 1, 2, 3, 4, *range(11, 16), 16, *range(22, 27)))
    pieces, unplaced = words_to_cells([Word(word.text, word.quad, 1.0, spans)], quads)
    assert unplaced == []
    assert [[part.text for part in inside] for inside in pieces] == [["营业收入"], ["1,234"], ["5,678"]]


def test_paddlex_3783_headings_of_one_ideograph_read_as_one_word_without_blanks() -> None:
    # Three headings 30 px apart; the OCR engine gives each character the room up to its neighbours.
    word = Word("鸡鸭鹅", box_quad(5, 4, 95, 16), char_spans=((0, 0.33), (0.33, 0.67), (0.67, 1)))
    assert pieces_of(word, 0, 35, 65, 100) == ["鸡", "鸭", "鹅"]


def test_paddlex_3783_two_texts_of_ideographs_without_any_gap() -> None:
    assert pieces_of(Word("疫苗数量", box_quad(70, 4, 118, 16)), 0, 82, 200) == ["疫", "苗数量"]
    # Where the cell beyond has a text of its own on that line, the word only hangs over.
    words = [Word("疫苗数量", box_quad(70, 4, 118, 16)), Word("本周", box_quad(20, 4, 44, 16))]
    pieces, _ = words_to_cells(words, row_of_cells(0, 82, 200))
    assert [[part.text for part in inside] for inside in pieces] == [["本周"], ["疫苗数量"]]


def test_paddleocr_9464_number_and_date_in_columns_6_px_apart() -> None:
    assert pieces_of(Word("1,234.50 2026-01-02", box_quad(0, 4, 114, 16)), -6, 51, 120) == ["1,234.50", "2026-01-02"]
    assert pieces_of(Word("1,234.505,678.00", box_quad(0, 4, 96, 16)), -6, 48, 120) == ["1,234.50", "5,678.00"]


def test_a_ruling_that_was_read_as_a_bar_is_where_the_words_come_apart() -> None:
    assert pieces_of(Word("0)>%|0)>%", box_quad(0, 4, 54, 16)), -5, 29, 60) in (["0)>%|", "0)>%"], ["0)>%", "|0)>%"])


@pytest.mark.parametrize("over", [0.1, 0.25, 0.4])
@pytest.mark.parametrize("text", ["Eligible", "1,234.5", "表格数据"])
def test_a_word_that_hangs_over_a_border_is_not_torn(text: str, over: float) -> None:
    width = 12 * len(text) * (0.9 if text > "一" else 0.5)
    word = Word(text, box_quad(100 - over * width, 4, 100 + (1 - over) * width, 16))
    pieces, _ = words_to_cells([word, make_word("own", 30, 5)], row_of_cells(0, 100, 200))
    assert [[part.text for part in inside] for inside in pieces] == [["own"], [text]]


@pytest.mark.parametrize("text", ["7", "0", "-"])
@pytest.mark.parametrize("inset", [0.0, 4.0, 8.0])
def test_rapidtable_55_isolated_digits_are_written(text: str, inset: float) -> None:
    words = [make_word(text, 100 * col + 47, 30 * row + 10) for row in range(3) for col in range(4)]
    assert fill(grid(3, 4, inset=inset), *words) == [[text] * 4] * 3


@pytest.mark.parametrize("shift", [-14.0, 14.0])
def test_rapidorientation_21_last_rows_boxes_shifted_by_half_a_row_lose_nothing(shift: float) -> None:
    table = grid(4, 3)
    moved = [
        Cell(c.row, c.col, quad=array_to_quad(np.array(c.quad) + np.array([0, shift * (c.row == 3)])))
        for c in table.cells
    ]
    words = [make_word(f"{c.row}{c.col}", 100 * c.col + 30, 30 * c.row + 10) for c in table.cells]
    filled, unplaced = words_to_table(Table(moved), words)
    written = "".join(cell.text for cell in filled.cells) + "".join(item.word.text for item in unplaced)
    assert sorted(written.replace("\n", "")) == sorted("".join(word.text for word in words))
    assert filled.to_grid()[:3] == [[f"{row}{col}" for col in range(3)] for row in range(3)] or shift < 0


@pytest.mark.parametrize("hidden", [(0, 0), (2, 1), (3, 2)])
def test_docling_4255_a_cell_without_a_place_gets_the_word_of_its_row_and_column(hidden: tuple[int, int]) -> None:
    table = grid(4, 3)
    cells = [Cell(c.row, c.col, quad=None if (c.row, c.col) == hidden else c.quad) for c in table.cells]
    words = [make_word(f"{c.row}{c.col}", 100 * c.col + 30, 30 * c.row + 10) for c in table.cells]
    assert fill(Table(cells), *words) == [[f"{row}{col}" for col in range(3)] for row in range(4)]


def test_docling_4255_without_any_cell_every_word_comes_back() -> None:
    words = [make_word(str(k), 0, 20 * k) for k in range(3)]
    assert words_to_table(Table([]), words)[1] == [Unplaced(word, "no table was found") for word in words]


@pytest.mark.parametrize("degrees", [0.0, 20.0, 90.0])
def test_word_beside_the_last_cell_of_its_row_belongs_to_it(degrees: float) -> None:
    table = grid(3, 2)
    turned = Table([Cell(c.row, c.col, quad=turn_word(Word("x", c.quad), degrees).quad) for c in table.cells if c.quad])
    right, left = make_word("12", 206, 40), make_word("No", -20, 70)
    expected = [["", ""], ["", "12"], ["No", ""]]
    assert fill(turned, *(turn_word(word, degrees) for word in (right, left))) == expected


def test_captions_and_notes_stay_outside_with_the_reason() -> None:
    words = [make_word("Table 1", 0, -14), make_word("Source: x", 0, 94), make_word("margin", 240, 40)]
    filled, unplaced = words_to_table(grid(3, 2), words)
    assert filled.to_grid() == [["", ""]] * 3
    assert unplaced == [Unplaced(word, OUTSIDE) for word in words]


def test_word_between_cells_that_row_and_column_do_not_settle_says_so() -> None:
    tall = [
        Cell(0, 0, 2, quad=box_quad(0, 0, 50, 60)),
        Cell(0, 1),
        Cell(1, 1),
        Cell(2, 0),
        Cell(2, 1, quad=box_quad(60, 70, 100, 90)),
    ]
    word = make_word("?", 75, 25)
    assert words_to_table(Table(tall), [word])[1] == [Unplaced(word, UNCLEAR)]


# --- signs and indices stay with their number or label


@pytest.mark.parametrize("degrees", [0.0, 15.0, 90.0])
def test_index_that_reaches_over_the_border_stays_with_its_word(degrees: float) -> None:
    quads = [turn_word(Word("x", q), degrees).quad for q in (box_quad(0, 0, 100, 30), box_quad(0, 30, 100, 60))]
    raised = [make_word("area", 20, 28, 12), Word("2", box_quad(50, 24, 54, 31)), make_word("next", 20, 2, 12)]
    lowered = [make_word("area", 20, 20, 12), Word("2", box_quad(50, 29, 54, 36)), make_word("next", 20, 42, 12)]
    for words, texts in ((raised, ["next", "area 2"]), (lowered, ["area 2", "next"])):
        pieces, unplaced = words_to_cells([turn_word(word, degrees) for word in words], quads)
        assert unplaced == []
        assert [words_to_text(inside) for inside in pieces] == texts


@pytest.mark.parametrize(("text", "x"), [("$", 94), ("€", 92), ("......", 66), ("kg", 152)])
def test_sign_outside_the_cell_stays_with_the_number_it_touches(text: str, x: float) -> None:
    number = make_word("1,234,567", 100, 5, 10)
    sign = Word(text, box_quad(x, 5, x + 5.5 * len(text), 15))
    pieces, unplaced = words_to_cells([number, sign], [box_quad(99, 0, 155, 20)])
    assert unplaced == []
    assert {part.text for part in pieces[0]} == {"1,234,567", text}


def test_leader_dots_are_not_torn_from_label_or_number() -> None:
    assert pieces_of(Word("Total........1,234", box_quad(0, 4, 108, 16)), -5, 70, 200) in (
        ["Total........", "1,234"],
        ["Total", "........1,234"],
    )
    assert pieces_of(Word("Total $ 1,234", box_quad(0, 4, 78, 16)), -5, 40, 200) == ["Total", "$ 1,234"]


# --- G: lines


@pytest.mark.parametrize("degrees", [0.0, 2.0, -7.0, 33.0, 90.0, 180.0])
def test_marker_158_lines_of_a_cell_stay_lines(degrees: float) -> None:
    lines = [make_word(text, 10, 14 * k + 4) for k, text in enumerate(["Title", "first part", "second"])]
    table = Table([Cell(0, 0, quad=turn_word(Word("x", box_quad(0, 0, 100, 50)), degrees).quad)])
    assert fill(table, *(turn_word(word, degrees) for word in lines[::-1])) == [["Title\nfirst part\nsecond"]]


def test_mineru_5386_title_and_content_of_a_cell_are_two_lines() -> None:
    words = [make_word("标题", 10, 4), make_word("内容", 10, 18), make_word("x", 120, 10)]
    assert fill(grid(1, 2, height=34), *words) == [["标题\n内容", "x"]]


@pytest.mark.parametrize("gap", [1.0, 4.0])
def test_pdfplumber_328_rows_a_few_pixels_apart_stay_apart(gap: float) -> None:
    words = [make_word(f"{row}{col}", 100 * col + 8, row * (10 + gap)) for row in range(5) for col in range(3)]
    table = grid(5, 3, height=10 + gap)
    assert fill(table, *words) == [[f"{row}{col}" for col in range(3)] for row in range(5)]


@pytest.mark.parametrize("slope", [-0.1, -0.05, 0.05, 0.1])
def test_upright_boxes_of_tilted_lines_are_read_line_by_line(slope: float) -> None:
    words = [
        Word(f"{line}{k}", box_quad(40 * k, 14 * line + slope * 40 * k, 40 * k + 30, 14 * line + slope * 40 * k + 10))
        for line in range(2)
        for k in range(6 - 3 * line)
    ]
    assert words_to_text(words[::-1]) == "00 01 02 03 04 05\n10 11 12"


def test_long_lines_that_are_not_quite_parallel_are_two_lines() -> None:
    first = turn_word(Word("first line", box_quad(0, 0, 400, 12)), 1.2)
    assert words_to_text([Word("second line", box_quad(0, 16, 400, 28)), first]) == "first line\nsecond line"


def test_word_far_along_its_line_stays_on_it() -> None:
    words = [make_word("Total", 0, 0), make_word("1,234", 600, 0), make_word("net of tax", 0, 14)]
    assert words_to_text(words) == "Total 1,234\nnet of tax"


def test_words_without_height_have_an_order() -> None:
    assert words_to_text([Word("b", box_quad(20, 5, 30, 5)), Word("a", box_quad(0, 5, 10, 5))]) == "a b"


def test_hyphens_at_the_end_of_a_line_are_kept() -> None:
    assert words_to_text([make_word("Umsatz-", 0, 0), make_word("steuer", 0, 14)]) == "Umsatz-\nsteuer"
