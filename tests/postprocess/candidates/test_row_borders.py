from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from postprocess.candidates.candidate import quads_to_candidate
from postprocess.candidates.row_borders import settle_rows
from postprocess.candidates.scene import Scene
from postprocess.candidates.text_lines import layout_to_lines
from postprocess.geometry.boxes import as_boxes, boxes_to_quads
from postprocess.geometry.frame import UPRIGHT
from postprocess.geometry.rulings import Rulings
from postprocess.grid.layout import Layout
from postprocess.word import Word, Words
from tests.helpers.layouts import make_word

FRAME = Rulings(as_boxes([]), as_boxes([]), 0.0, (0.0, 0.0), 10.0)
LABELS = ("Cash", "Land held", "Other income", "Total")
Texts = list[list[str]]


def words_of(texts: Texts, pitch: float = 20.0) -> list[Word]:
    """One line of text a row, columns 100 wide."""
    return [
        make_word(text, 100 * col + 5, pitch * row + 5)
        for row, line in enumerate(texts)
        for col, text in enumerate(line)
        if text
    ]


def plain(borders: list[float], n_cols: int) -> Layout:
    owner = np.arange((len(borders) - 1) * n_cols).reshape(-1, n_cols)
    return Layout(np.array(borders), 100.0 * np.arange(n_cols + 1), UPRIGHT, owner)


def lines_of(layout: Layout) -> list[float]:
    return list(layout.row_lines.tolist())


def agreeing(layout: Layout, words: list[Word]) -> list[np.ndarray]:
    """The rows of the words, as another look at the picture has them."""
    middles = np.array([word.quad for word in words]).mean(axis=1)
    return [layout.spans[layout.cells_at(middles), 0]]


def test_nothing_to_settle() -> None:
    empty = Layout(np.zeros(0), np.zeros(0), UPRIGHT, np.zeros((0, 0), np.int64))
    assert settle_rows(empty, Scene([], FRAME)) is empty
    assert layout_to_lines(plain([0, 20], 2), Words()) == []
    for words in ([], words_of([["Cash", "5"]])):
        layout = plain([0, 20], 2)
        assert settle_rows(layout, Scene(words, FRAME)) is layout


@st.composite
def number_tables(draw: st.DrawFn) -> Texts:
    """A label and numbers in each row, as statements have them."""
    n_cols = draw(st.integers(1, 4))
    numbers = st.integers(1, 99_999).map("{:,}".format)
    return draw(
        st.lists(
            st.tuples(st.sampled_from(LABELS), st.lists(numbers, min_size=n_cols, max_size=n_cols)).map(
                lambda row: [row[0], *row[1]]
            ),
            min_size=2,
            max_size=8,
        )
    )


@settings(max_examples=40)
@given(number_tables())
def test_rows_that_are_right_stay(texts: Texts) -> None:
    words = words_of(texts)
    right = plain([20.0 * row for row in range(len(texts) + 1)], len(texts[0]))
    assert settle_rows(right, Scene(words, FRAME)) is right
    assert settle_rows(right, Scene(words, FRAME), agreeing(right, words)) is right


@settings(max_examples=40)
@given(number_tables(), st.data())
def test_rows_that_were_joined_are_parted(texts: Texts, data: st.DataObject) -> None:
    words = words_of(texts)
    borders = [20.0 * row for row in range(len(texts) + 1)]
    missing = data.draw(st.integers(1, len(texts) - 1))
    wrong = plain(borders[:missing] + borders[missing + 1 :], len(texts[0]))
    settled = settle_rows(wrong, Scene(words, FRAME))
    assert lines_of(settled) == borders
    assert settled.owner.tolist() == plain(borders, len(texts[0])).owner.tolist()


def wrapped(rest: str = "and equipment") -> tuple[list[Word], Layout]:
    """A label on two lines whose lines are two rows of the layout."""
    words = words_of([["Cash", "5", "6"], ["Property, plant", "", ""], [rest, "7", "8"], ["Total", "12", "14"]])
    return words, plain([0, 20, 40, 60, 80], 3)


def test_a_label_on_two_lines_is_one_row() -> None:
    words, split = wrapped()
    assert lines_of(settle_rows(split, Scene(words, FRAME))) == [0, 20, 60, 80]


def test_a_label_that_begins_anew_keeps_its_row() -> None:
    words, split = wrapped("Equipment")
    split_words = [Word("Property", word.quad) if word.text == "Property, plant" else word for word in words]
    assert settle_rows(split, Scene(split_words, FRAME)) is split


def test_a_ruling_between_its_lines_keeps_two_rows() -> None:
    words, split = wrapped()
    ruled = Rulings(as_boxes([[0, 39, 300, 41]]), as_boxes([]), 0.0, (0.0, 0.0), 10.0)
    assert settle_rows(split, Scene(words, ruled)) is split


def test_other_grids_weigh_in() -> None:
    words, split = wrapped()
    assert settle_rows(split, Scene(words, FRAME), agreeing(split, words)) is split


def test_an_empty_row_between_the_lines_goes_with_them() -> None:
    words, _ = wrapped()
    layout = plain([0, 20, 38, 40, 60, 80], 3)
    assert lines_of(settle_rows(layout, Scene(words, FRAME))) == [0, 20, 60, 80]


def test_each_line_of_a_receipt_is_a_row() -> None:
    """An article, and below it its quantity, price and sum: whatever other grids join."""
    texts = [["Croissant", ""], ["3 x 1,35", "4,05"], ["Cheese cut", ""], ["0,412 kg x 18,90", "7,79"], ["Tea", "2,10"]]
    words, each = words_of(texts), plain([20.0 * row for row in range(6)], 2)
    together = plain([0, 40, 80, 100], 2)
    for layout in (each, together, plain([0, 40, 60, 80, 100], 2)):
        settled = settle_rows(layout, Scene(words, FRAME), agreeing(together, words))
        assert settled.owner.tolist() == each.owner.tolist()


def test_a_gap_between_blocks_is_no_row() -> None:
    """Nor is the space between double rulings, whatever speck lies in it."""
    texts = [["Cash", "5"], ["Total", "7"], ["", ""], ["Cash", "6"], ["Total", "9"]]
    layout = plain([0, 20, 40, 60, 80, 100], 2)
    for speck in ([], [make_word("*", 150, 45)]):
        settled = settle_rows(layout, Scene([*words_of(texts), *speck], FRAME))
        assert lines_of(settled) == [0, 20, 40, 80, 100]
        assert settled.owner.tolist() == [[0, 1], [2, 3], [4, 5], [6, 7]]


def test_empty_rows_at_either_end_are_none() -> None:
    texts = [["", ""], ["Cash", "5"], ["Total", "7"], ["", ""]]
    assert lines_of(settle_rows(plain([0, 20, 40, 60, 80], 2), Scene(words_of(texts), FRAME))) == [0, 40, 80]


def test_a_table_without_text_keeps_its_rows() -> None:
    layout = plain([0, 20, 40], 2)
    assert settle_rows(layout, Scene([make_word("*", 150, 5)], FRAME)) is layout


@pytest.mark.parametrize("unit", [["", "(%)"], ["", "$"], ["-", "–"]])
def test_units_and_values_that_are_not_there_are_text(unit: list[str]) -> None:
    layout = plain([0, 20, 40, 60], 2)
    assert settle_rows(layout, Scene(words_of([["Sales", "2026"], unit, ["Cash", "5"]]), FRAME)) is layout


def test_an_empty_row_between_vertical_rulings_is_to_be_filled_in() -> None:
    sides = [[x - 1, 0, x + 1, 60] for x in (0, 100, 200)]
    ruled = Rulings(as_boxes([]), as_boxes(sides), 0.0, (0.0, 0.0), 10.0)
    layout = plain([0, 20, 40, 60], 2)
    words = words_of([["Name", "Age"], ["", ""], ["Anna", "7"]])
    assert settle_rows(layout, Scene(words, ruled)) is layout
    assert len(settle_rows(layout, Scene(words, FRAME)).owner) == 2


def test_equal_labels_of_two_blocks_are_treated_alike() -> None:
    """Other grids part the label from its rest in the first block alone."""
    block = [["of which:", ""], ["mid value", "7"], ["Total", "9"]]
    words, together = words_of([*block, *block]), plain([0, 40, 60, 100, 120], 2)
    others = agreeing(plain([0, 20, 40, 60, 100, 120], 2), words)
    assert settle_rows(together, Scene(words, FRAME), others) is together


def test_labels_that_are_wrapped_as_the_others_are_one_row() -> None:
    """Nothing says of the last one alone that it is wrapped: it begins with a capital, as new rows do."""
    wrapped = [["Interest on loans and", ""], ["deposits", "7"], ["Fees for the", ""], ["services", "8"]]
    words = words_of([*wrapped, *wrapped, ["Evergreen holdings", ""], ["Insurance", "9"], ["Total", "50"]])
    borders = [*range(0, 200, 40), 180, 200, 220]
    right = [*range(0, 240, 40), 220]
    both = [*agreeing(plain(borders, 2), words), *agreeing(plain(right, 2), words)]
    assert lines_of(settle_rows(plain(right, 2), Scene(words, FRAME), both)) == right


def test_a_range_that_goes_on_below_is_no_second_number() -> None:
    words = words_of([["Expected volatility", "58.27% –", "57.35% –"], ["", "59.03%", "59.90%"], ["Life", "5", "5"]])
    together = plain([0, 40, 60], 3)
    assert settle_rows(together, Scene(words, FRAME)) is together


def test_texts_beside_each_other_are_never_joined() -> None:
    words, split = wrapped()
    spanning = Layout(split.row_lines, split.col_lines, UPRIGHT, np.array([[0, 1, 2], [3, 3, 3], [4, 5, 6], [7, 8, 9]]))
    assert settle_rows(spanning, Scene(words, FRAME)) is spanning


def test_numbers_of_two_rows_never_come_into_one_cell() -> None:
    """Labels in lower case, each on two lines with the numbers beside the second."""
    words = words_of([["cash and", ""], ["banks", "5"], ["plant and", ""], ["land", "7"], ["stock", "9"]])
    assert lines_of(settle_rows(plain([0, 20, 40, 60, 80, 100], 2), Scene(words, FRAME))) == [0, 40, 80, 100]


def test_ranges_of_one_form_never_come_into_one_cell() -> None:
    """Whatever other grids have, and however close the lines are."""
    words = words_of([["IR-A", "700 nm to 800 nm"], ["", "900 nm to 1,400 nm"], ["Total", "7"]])
    layout = plain([0, 20, 40, 60], 2)
    assert settle_rows(layout, Scene(words, FRAME), agreeing(plain([0, 40, 60], 2), words)) is layout


def test_a_sign_off_its_line_joins_no_rows() -> None:
    words = [*words_of([["Genes", "Total"], ["up", "12"]]), make_word("–", 150, 14.5, 8)]
    layout = plain([0, 20, 40], 2)
    assert settle_rows(layout, Scene(words, FRAME), agreeing(layout, words)) is layout
    assert settle_rows(layout, Scene(words, FRAME)) is layout


def test_cells_over_several_rows_stay_whole() -> None:
    texts = [["A", "5"], ["", "7"], ["", "8"]]
    layout = Layout(np.array([0.0, 20, 60]), np.array([0.0, 100, 200]), UPRIGHT, np.array([[0, 1], [0, 2]]))
    settled = settle_rows(layout, Scene(words_of(texts), FRAME))
    assert settled.owner.tolist() == [[0, 1], [0, 2], [0, 3]]


@settings(max_examples=30)
@given(number_tables(), st.floats(0.05, 20), st.tuples(st.floats(-1e3, 1e3), st.floats(-1e3, 1e3)))
def test_scale_and_place_of_the_picture_change_nothing(texts: Texts, scale: float, shift: tuple[float, float]) -> None:
    words, n_cols = words_of(texts), len(texts[0])
    wrong = plain([0, 20.0 * len(texts)], n_cols)
    moved = [Word(word.text, tuple(map(tuple, (scale * np.array(word.quad) + shift).tolist()))) for word in words]
    there = Layout(scale * wrong.row_lines + shift[1], scale * wrong.col_lines + shift[0], UPRIGHT, wrong.owner)
    settled = settle_rows(wrong, Scene(words, FRAME))
    assert settle_rows(there, Scene(moved, FRAME)).owner.tolist() == settled.owner.tolist()


@pytest.mark.parametrize("text", ["\u0301", "（", "表", "  ", "-", "\U0001f469\u200d\U0001f469"])
@pytest.mark.parametrize("borders", [[0, 20, 40, 60], [0, 60]], ids=["apart", "together"])
def test_whatever_the_texts_the_rows_are_whole(text: str, borders: list[float]) -> None:
    words = words_of([[text, "5"], [text, text], ["a", text]])
    settled = settle_rows(plain(borders, 2), Scene(words, FRAME))
    lines = lines_of(settled)
    assert (lines[0], lines[-1]) == (0, 60) and sorted(set(lines)) == lines
    assert settled.owner.shape == (len(lines) - 1, 2) and len(np.unique(settled.owner)) == settled.owner.size


def test_cells_that_stay_keep_their_corners_and_scores() -> None:
    boxes = [[0, 0, 100, 19], [100, 0, 200, 20], [0, 20, 100, 40], [100, 20, 200, 40], [0, 40, 100, 60]]
    quads, scores = boxes_to_quads(boxes), np.array([0.9, 0.8, 0.7, 0.6, 0.5])
    before = quads_to_candidate(quads, scores)
    after = before.with_layout(before.layout.rows_joined(1, 3))
    assert np.array_equal(after.quads[:2], quads[:2])
    assert after.scores.tolist() == pytest.approx([0.9, 0.8, 0.7, 0.7])
    assert after.layout.spans.tolist() == [[0, 0, 1, 1], [0, 1, 1, 2], [1, 0, 2, 1], [1, 1, 2, 2]]
    assert before.with_layout(before.layout) is before


TALL = Layout(np.array([0.0, 20, 40, 60]), np.array([0.0, 100, 200]), UPRIGHT, np.array([[0, 1], [2, 1], [3, 4]]))


def test_a_number_beside_the_first_of_two_lines_is_in_its_row_alone() -> None:
    words = words_of([["Deposit", "2,00"], ["8 bottles", ""], ["Total", "9,10"]])
    settled = settle_rows(TALL, Scene(words, FRAME), agreeing(TALL, words))
    assert settled.owner.tolist() == [[0, 1], [2, 3], [4, 5]]


@pytest.mark.parametrize("value", ["1,417", "–", "一"])
def test_a_value_beside_the_second_of_two_lines_is_in_its_row_alone(value: str) -> None:
    """The first line is the label of a section."""
    words = words_of([["Advances", ""], ["– Secured", value], ["Total", "9,10"]])
    settled = settle_rows(TALL, Scene(words, FRAME), agreeing(TALL, words))
    assert settled.owner.tolist() == [[0, 1], [2, 3], [4, 5]]


def test_a_value_in_the_middle_of_three_lines_is_that_of_all() -> None:
    words = words_of([["Fares", ""], ["Meals", "70"], ["Hotels", ""], ["Total", "9,10"]])
    whole = Layout(np.array([0.0, 20, 40, 60, 80]), TALL.col_lines, UPRIGHT, np.array([[0, 1], [2, 1], [3, 1], [4, 5]]))
    assert settle_rows(whole, Scene(words, FRAME), agreeing(whole, words)).owner.tolist() == whole.owner.tolist()


def test_a_number_between_its_rows_or_with_rulings_beside_it_stays_over_both() -> None:
    labels = words_of([["Deposit", ""], ["8 bottles", ""], ["Total", "9,10"]])
    for number, rule in ((make_word("2,00", 105, 15), as_boxes([])), (make_word("2,00", 105, 5), [[0, 19, 100, 21]])):
        words = [*labels, number]
        ruled = Rulings(as_boxes(rule), as_boxes([]), 0.0, (0.0, 0.0), 10.0)
        assert settle_rows(TALL, Scene(words, ruled), agreeing(TALL, words)).owner.tolist() == TALL.owner.tolist()


def records(between: float, within: float, capital: bool = True) -> tuple[list[Word], list[float]]:
    """Records of one to three lines, of which the further ones hold the rest of a description."""
    words, top, tops = [], 0.0, []
    for number, count in enumerate([1, 2, 1, 3, 2, 1, 2]):
        tops.append(top)
        line = [f"T-{number}", "05/03", "Travel", "Staff transport", f"{number}07.50"]
        words += [make_word(text, 100 * col + 5, top + 5) for col, text in enumerate(line)]
        for rest in ["Air fare to Boston", "Return to Kansas"][: count - 1]:
            top += within
            words.append(make_word(rest if capital else rest.lower(), 305, top + 5))
        top += between
    return words, [*tops, top]


def test_lines_of_a_record_that_are_closer_than_records_are_one_row() -> None:
    words, right = records(20, 18)
    each = plain(sorted({round(word.quad[0][1]) - 5.0 for word in words} | {right[-1]}), 5)
    joined = plain(right, 5)
    for others in ([], agreeing(joined, words)):
        assert len(settle_rows(each, Scene(words, FRAME), others).owner) == len(joined.owner)
        assert settle_rows(joined, Scene(words, FRAME), others) is joined


def test_lines_as_far_apart_as_records_keep_their_rows() -> None:
    words, right = records(20, 20)
    each = plain(sorted({round(word.quad[0][1]) - 5.0 for word in words} | {right[-1]}), 5)
    assert settle_rows(each, Scene(words, FRAME)) is each


def rows_of(texts: Texts, pitch: float = 20.0) -> int:
    """Rows that are left of a grid with one for each line of text, which another look at the picture sees as well."""
    words = words_of(texts, pitch)
    layout = plain([pitch * row for row in range(len(texts) + 1)], len(texts[0]))
    return len(settle_rows(layout, Scene(words, FRAME), agreeing(layout, words)).owner)


def test_amounts_of_a_currency_from_one_line_to_the_next_are_one_row() -> None:
    ranges = [["Exercise price", "USD0.10 –", "USD0.25 -"], ["", "USD0.20", "USD2.37"]]
    assert rows_of([["", "2016", "2017"], *ranges, ["Expected life", "5 years", "4 years"], *ranges]) == 4


def test_a_value_and_its_share_are_one_row_where_those_above_stand_on_one_line() -> None:
    above = [["Fever", "31 (12.2)", "99 (31.6)"], ["Pain", "29 (11.4)", "77 (9.3)"], ["Cough", "9 (1.5)", "8 (0.2)"]]
    assert rows_of([*above, ["Total", "160", "52 (2.1)"], ["", "(62.0)", ""]]) == 4
    # Standard errors below all values are lines of their own, and so is a number below another one.
    assert (
        rows_of([["Age", "0.31", "0.99"], ["", "(0.02)", "(0.04)"], ["Sex", "0.7", "0.4"], ["", "(0.1)", "(0.3)"]]) == 4
    )


def test_a_number_that_is_broken_at_its_blank_is_one_number() -> None:
    words = words_of([["AGR", "2 087", "8 263"], ["INF", "779", "4 507"], ["FOR", "168", "12"]])
    layout = plain([0, 20, 40, 60, 75], 3)
    broken = [*words, make_word("862", 205, 58)]
    assert lines_of(settle_rows(layout, Scene(broken, FRAME), agreeing(layout, broken))) == [0, 20, 40, 75]
    # As far apart as the others it is the number of a row.
    apart = [*words, make_word("862", 205, 65)]
    assert len(settle_rows(plain([0, 20, 40, 60, 80], 3), Scene(apart, FRAME)).owner) == 4


def test_heads_that_go_on_in_most_columns_are_one_row() -> None:
    heads = [
        ["As at year end", "Less than", "1 to 3", "3 to 5", ""],
        ["(millions)", "1 year", "years", "years", "Total"],
    ]
    values = [["Debt", "7", "8", "9", "24"], ["Leases", "1", "2", "3", "6"], ["Deposits", "4", "5", "6", "15"]]
    assert rows_of([*heads, *values]) == 4
    assert (
        rows_of([["Group", "Debt", "Notes", "Swaps", ""], ["Bank", "1 year", "Three", "Four", "Total"], *values]) == 5
    )


def test_heads_that_all_go_on_in_lower_case_are_one_row_and_their_parts_none() -> None:
    values = [["Assets", *"7893"], ["Debts", *"1231"], ["Costs", *"4568"]]
    heads = [["", "Fertiliser", "Flux", "Product", ""], ["", "business", "group", "segment", "Total"]]
    assert rows_of([*heads, *values]) == 4
    # Below heads over several columns each part has its own.
    parts = [make_word(text, x, 5) for text, x in (("Mine", 130), ("Field", 330), ("Mill", 530))]
    parts += words_of([["", *["mean", "max"] * 3], ["Coal", *"123456"], ["Iron", *"345678"]], 20.0)
    shifted = [Word(w.text, tuple((x, y + 20) for x, y in w.quad)) for w in parts[3:]]
    owner = np.array([[0, 1, 1, 2, 2, 3, 3], [4, 5, 6, 7, 8, 9, 10], [*range(11, 18)], [*range(18, 25)]])
    layout = Layout(np.array([0.0, 20, 40, 60, 80]), 100.0 * np.arange(8), UPRIGHT, owner)
    words = [*parts[:3], *shifted]
    assert len(settle_rows(layout, Scene(words, FRAME), agreeing(layout, words)).owner) == 4
