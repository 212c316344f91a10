from __future__ import annotations

from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from postprocess.arrays import Floats
from postprocess.cell import Cell
from postprocess.geometry.boxes import array_to_quad, as_boxes, as_quads, boxes_to_quads, quads_to_boxes, spans_to_boxes
from postprocess.geometry.rulings import Rulings
from postprocess.grid.build import quads_to_grid
from postprocess.lineless.gaps import words_to_area
from postprocess.table import Table
from postprocess.text.assignment import words_to_table
from postprocess.word import Word
from tests.helpers.layouts import make_word, rows_to_words, scale_word, turn_word

NOTHING = as_boxes([])
ITEMS = [["Item", "2024", "2025"], ["Sales of goods", "1,234", "12"], ["Cost", "9", "1,000"], ["Net", "(77)", "-"]]
ALIGNS = "lrr"
XS = [0, 200, 280]


def ruled(horizontal: Floats = NOTHING, vertical: Floats = NOTHING) -> Rulings:
    return Rulings(as_boxes(horizontal), as_boxes(vertical), 0.0, (0.0, 0.0), 10.0)


def words_to_quads(words: list[Word], rulings: Rulings | None = None) -> Floats:
    area = words_to_area(words, rulings)
    return as_quads([]) if area is None else area.quads


def read_table(words: list[Word], rulings: Rulings | None = None) -> Table:
    """The table that the words form, with their texts; no cell and no word may be lost."""
    quads = words_to_quads(words, rulings)
    grid = quads_to_grid(quads)
    assert grid.dropped == ()
    cells = [
        Cell(row, col, end_row - row, end_col - col, array_to_quad(quads[index]))
        for index, (row, col, end_row, end_col) in zip(grid.kept, grid.spans.tolist(), strict=True)
    ]
    table, unplaced = words_to_table(Table([*cells, *grid.empty_cells()]), words)
    assert unplaced == []
    return table


def test_no_words_no_cells() -> None:
    for words in ([], [make_word("", 0, 0)], [make_word("   ", 0, 0), make_word("", 50, 0)]):
        assert words_to_quads(words).shape == (0, 4, 2)
        assert words_to_quads(words, ruled()).shape == (0, 4, 2)


@settings(max_examples=30)
@given(st.lists(st.tuples(st.sampled_from(["a", "Total", "1,234", "表"]), *[st.floats(0, 300)] * 2), max_size=14))
def test_lines_and_spans_say_where_the_cells_are(places: list[tuple[str, float, float]]) -> None:
    area = words_to_area([make_word(text, x, y) for text, x, y in places])
    if area is None:
        assert not places
        return
    boxes = spans_to_boxes(area.spans, area.xs, area.ys)
    grid = quads_to_grid(boxes_to_quads(boxes))
    assert grid.spans[np.argsort(grid.kept)].tolist() == area.spans.tolist()
    corners = area.frame.to_upright(area.quads)[:, [0, 2]].reshape(-1, 4)
    assert corners[:, :2] == pytest.approx(boxes[:, :2])  # a line that parts no two cells does not end them either
    assert (corners[:, 2:] <= boxes[:, 2:] + 1e-6).all()


def test_one_word_is_one_cell_around_it() -> None:
    [quad] = words_to_quads([make_word("only", 10, 20)])
    x0, y0, x1, y1 = quads_to_boxes([quad])[0]
    assert 0 < 10 - x0 < 10 and 0 < x1 - 34 < 10
    assert 0 < 20 - y0 < 10 and 0 < y1 - 30 < 10


@pytest.mark.parametrize(
    ("xs", "aligns", "rows"),
    [
        (XS, ALIGNS, ITEMS),
        ([0, 130], "ll", [["alpha beta gamma", "x"], ["a", "a much longer text"], ["Alpha", "mid one"], ["Beta", "z"]]),
        (
            [0, 100, 160, 220],
            "lrrr",
            [["Item", "A", "B", "C"], ["x", "1", "", "3"], ["y", "", "2", ""], ["z", "4", "", "6"]],
        ),
        ([0, 200, 280], "lrr", [["项目", "金额", "比例"], ["营业收入", "1,234", "12%"], ["成本", "900", "73%"]]),
        ([0, 60, 120], "lll", [["a", "b", "c"]]),
        ([40, 140, 240], "mmm", [["Name", "Age", "Town"], ["Al", "5", "Rome"], ["Barbara", "61", "Ulm"]]),
    ],
    ids=["amounts", "ragged", "empty cells", "Chinese", "one row", "centered"],
)
def test_lineless_tables(xs: list[float], aligns: str, rows: list[list[str]]) -> None:
    assert read_table(rows_to_words(rows, xs, aligns)).to_grid() == rows


@st.composite
def amounts(draw: st.DrawFn) -> list[list[str]]:
    n_rows, n_cols = draw(st.integers(2, 9)), draw(st.integers(2, 5))
    number = st.integers(0, 9999).map("{:,}".format) | st.integers(0, 99).map("({})".format)
    label = st.sampled_from(["Cash", "Other assets", "Loans", "Tax", "Net"])
    head = [["Item", *[f"Q{col}" for col in range(1, n_cols)]]]
    return head + [[draw(label), *[draw(number) for _ in range(1, n_cols)]] for _ in range(n_rows)]


@settings(max_examples=30)
@given(amounts(), st.sampled_from([14, 20, 35]), st.sampled_from([25, 40, 90]), st.randoms(use_true_random=False))
def test_amounts_are_read_whatever_the_distances_and_the_order_of_the_words(
    rows: list[list[str]], pitch: float, gap: float, random: Random
) -> None:
    xs = [0, *(75 + (36 + gap) * col for col in range(1, len(rows[0])))]
    words = rows_to_words(rows, xs, "l" + "r" * (len(xs) - 1), pitch=pitch)
    random.shuffle(words)
    assert read_table(words).to_grid() == rows


@settings(max_examples=20)
@given(amounts(), st.floats(-10, 10), st.sampled_from([0.3, 1, 5]))
def test_scale_and_tilt_do_not_matter(rows: list[list[str]], degrees: float, factor: float) -> None:
    xs = [0, *(75 + 80 * col for col in range(1, len(rows[0])))]
    words = rows_to_words([["Item of the year", *rows[0][1:]], *rows[1:]], xs, "l" + "r" * (len(xs) - 1))
    turned = [turn_word(scale_word(word, factor), degrees, (100.0, 50.0)) for word in words]
    assert read_table(turned).shape == read_table(words).shape


@pytest.mark.parametrize("degrees", [-3, 2, 4])
def test_tilted_table_of_short_words(degrees: float) -> None:
    rows = [["A", "B", "C", "D"], *[[f"{row}{col}" for col in "1234"] for row in "12345"]]
    words = [turn_word(word, degrees) for word in rows_to_words(rows, [0, 80, 160, 240])]
    assert read_table(words).to_grid() == rows


def test_two_ragged_boxes_in_each_row() -> None:
    words = [
        make_word("Name of it", 0, 0),
        make_word("12", 100, 1),
        make_word("Total", 2, 20),
        make_word("1234567", 82, 21),
    ]
    assert read_table(words).to_grid() == [["Name of it", "12"], ["Total", "1234567"]]


@pytest.mark.parametrize("height", [3, 4, 6])
def test_rows_of_a_few_pixels(height: float) -> None:
    words = [
        make_word(text, x, 1.5 * height * row, height)
        for row, texts in enumerate([["Tea", "1"], ["Milk", "22"], ["Rice", "3"]])
        for text, x in zip(texts, (0, 10 * height), strict=True)
    ]
    assert read_table(words).to_grid() == [["Tea", "1"], ["Milk", "22"], ["Rice", "3"]]


def test_indented_labels_are_one_column() -> None:
    words = rows_to_words([["Assets"]], [0], top=50)
    words += rows_to_words([["Cash", "12", "13"], ["Loans", "140", "150"]], [15, 200, 280], "lrr", top=74)
    words += rows_to_words([["Total", "152", "163"]], XS, "lrr", top=122)
    assert read_table(words).to_grid() == [
        ["Assets", "", ""],
        ["Cash", "12", "13"],
        ["Loans", "140", "150"],
        ["Total", "152", "163"],
    ]


def test_header_of_two_lines_is_one_row() -> None:
    words = rows_to_words([["", "Net", "Gross"], ["Item", "profit", "margin"]], XS, ALIGNS, pitch=12)
    words += rows_to_words([["Tea", "1.0", "2.0"], ["Milk", "3.0", "4.5"], ["Rice", "5", "6"]], XS, ALIGNS, top=100)
    assert read_table(words).to_grid()[:2] == [["Item", "Net\nprofit", "Gross\nmargin"], ["Tea", "1.0", "2.0"]]


def test_header_above_a_short_rule_spans_the_columns_under_it() -> None:
    words = rows_to_words([["2024"]], [220], "m")
    rows = [
        ["Item", "Q1", "Q2", "Total"],
        ["Tea", "1.0", "2.0", "3.0"],
        ["Milk", "3.0", "4.5", "7.5"],
        ["Rice", "5", "6", "11"],
    ]
    words += rows_to_words(rows, [0, 200, 260, 330], "lrrr", top=74)
    table = read_table(words, ruled(horizontal=[[180, 64, 265, 65]]))
    assert (table[0, 1].text, table[0, 1].colspan, table[0, 1] is table[0, 2]) == ("2024", 2, True)
    assert table.to_grid()[1:] == rows


def test_currency_apart_from_its_number_is_no_column() -> None:
    words = rows_to_words(ITEMS, [0, 200, 300], ALIGNS)
    words += [make_word("$", x, y) for x in (160, 255) for y in (74, 98)]
    grid = read_table(words).to_grid()
    assert grid[0] == ITEMS[0]
    assert grid[1] == ["Sales of goods", "$ 1,234", "$ 12"]


@pytest.mark.parametrize("leader", [". . . . . . . . . .", "..................", "· · · · · · · ·"])
def test_leader_dots_stay_out_of_the_column_of_numbers(leader: str) -> None:
    words = rows_to_words([["Sales", "1,234"], ["Cost of goods", "12"], ["Net", "7"]], [0, 300], "lr")
    words += [make_word(leader, 100, y) for y in (50, 74, 98)]
    grid = read_table(words).to_grid()
    assert [row[-1] for row in grid] == ["1,234", "12", "7"]
    assert all(
        len(row) == 2 and row[0].startswith(label) for row, label in zip(grid, ["Sales", "Cost of", "Net"], strict=True)
    )


def test_leader_dots_inside_the_labels() -> None:
    rows = [["Sales . . . . . . . .", "1,234"], ["Cost of goods . . .", "12"], ["Net ..............", "7"]]
    assert read_table(rows_to_words(rows, [0, 300], "lr")).to_grid() == rows


def test_wrapped_label_is_one_cell() -> None:
    rows = [["Item", "Amount"], ["Sales of goods to", "1,234"], ["other companies", ""], ["Cost", "99"], ["Net", "7"]]
    assert read_table(rows_to_words(rows, [0, 250], "lr", pitch=13)).to_grid() == [
        ["Item", "Amount"],
        ["Sales of goods to\nother companies", "1,234"],
        ["Cost", "99"],
        ["Net", "7"],
    ]


def test_long_rules_between_all_rows_hold_wrapped_text_together() -> None:
    rows = [
        ["Tea", "from China"],
        ["green", "or Japan"],
        ["Milk", "from"],
        ["cold", "cows"],
        ["Bread", "from"],
        ["old", "Rome"],
    ]
    lines = ruled(horizontal=[[0, y, 200, y + 1] for y in (44, 76, 104, 132, 160)])
    assert read_table(rows_to_words(rows, [0, 120], pitch=14), lines).to_grid() == [
        ["Tea\ngreen", "from China\nor Japan"],
        ["Milk\ncold", "from\ncows"],
        ["Bread\nold", "from\nRome"],
    ]


def test_vertical_rule_separates_columns_that_nearly_touch() -> None:
    words = rows_to_words([["Name", "Town"], ["Albertus", "Rome"], ["Zoe", "Ulm"], ["Bartholo", "Bonn"]], [0, 53])
    lines = ruled(vertical=[[50, 40, 51, 140]])
    assert read_table(words, lines).to_grid() == [
        ["Name", "Town"],
        ["Albertus", "Rome"],
        ["Zoe", "Ulm"],
        ["Bartholo", "Bonn"],
    ]


def test_line_read_as_one_word_is_cut_into_its_columns() -> None:
    words = [make_word("Sales     1,234     12", 0, 0), make_word("Cost         99      7", 0, 20)]
    assert read_table(words).to_grid() == [["Sales", "1,234", "12"], ["Cost", "99", "7"]]


@settings(max_examples=40)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["", " ", "a", "Total", "1,234", "$", "....", "表", "2024"]), *[st.floats(0, 300)] * 2
        ),
        max_size=14,
    ),
    st.lists(st.tuples(st.floats(0, 200), st.floats(0, 300), st.floats(20, 300)), max_size=4),
)
def test_any_words_give_cells_that_a_grid_takes_without_loss(
    places: list[tuple[str, float, float]], lines: list[tuple[float, float, float]]
) -> None:
    words = [make_word(text, x, y) for text, x, y in places]
    rulings = ruled([[x, y, x + w, y + 1] for x, y, w in lines], [[x, y, x + 1, y + w] for x, y, w in lines])
    quads = words_to_quads(words, rulings)
    assert np.isfinite(quads).all()
    boxes = quads_to_boxes(quads)
    assert (boxes[:, 2:] > boxes[:, :2]).all()
    assert quads_to_grid(quads).dropped == ()


@pytest.mark.parametrize("scale", [0.5, 1, 4])
@pytest.mark.parametrize("empty", [1, 2])
def test_column_that_only_lines_show_is_there_without_a_word(empty: int, scale: float) -> None:
    rows = [["" if col == empty else f"{row}{col}5" for col in range(4)] for row in range(5)]
    words = [scale_word(word, scale) for word in rows_to_words(rows, [0, 60, 120, 180])]
    vertical = as_boxes([[x - 1, -5, x + 1, 200] for x in (50.0, 110.0, 170.0)]) * scale
    rulings = Rulings(as_boxes([]), vertical, 0.0, (0.0, 0.0), 10 * scale)
    assert read_table(words, rulings).to_grid() == rows


def test_two_strokes_of_one_line_enclose_no_column() -> None:
    rows = [["Tea", "12"], ["Milk", "155"], ["Rice", "9"]]
    vertical = as_boxes([[x, -5, x + 1, 200] for x in (48.0, 54.0)])
    rulings = Rulings(as_boxes([]), vertical, 0.0, (0.0, 0.0), 10.0)
    assert read_table(rows_to_words(rows, [0, 60]), rulings).to_grid() == rows
