from __future__ import annotations

from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from postprocess.geometry.boxes import as_boxes, boxes_to_quads, rotate_points
from postprocess.geometry.rulings import Rulings
from postprocess.lineless.regions import words_inside, words_to_regions
from postprocess.word import Word
from tests.helpers.layouts import make_word, rows_to_words, scale_word, turn_word

NOTHING = as_boxes([])
PROSE = "the quick brown fox jumps over the lazy dog and then it rests for a while"
TABLE = [["Item", "2024", "2025"], ["Sales", "1,234", "12"], ["Cost", "9", "1,000"], ["Net", "77", "8"]]


def frame(degrees: float = 0.0, center: tuple[float, float] = (0.0, 0.0), height: float = 10.0) -> Rulings:
    return Rulings(NOTHING, NOTHING, degrees, center, height)


def prose(top: float, n_lines: int = 5, left: float = 0, text: str = PROSE) -> list[Word]:
    return [make_word(text, left, top + 14 * line) for line in range(n_lines)]


def table(top: float, left: float = 0) -> list[Word]:
    return rows_to_words(TABLE, [left, left + 250, left + 400], "lrr", top=top, pitch=20)


def test_empty_page() -> None:
    assert words_to_regions([], frame()) == []
    assert words_to_regions([make_word("", 0, 0)], frame()) == []
    assert words_to_regions([make_word("page 1", 0, 0)], frame()) == []


def test_running_text_is_no_table() -> None:
    assert words_to_regions(prose(0, 30), frame()) == []


@pytest.mark.parametrize("n_lines", [3, 30])
def test_two_columns_of_running_text_are_no_table(n_lines: int) -> None:
    text = "the quick brown fox jumps over the lazy dog"
    words = prose(0, n_lines, 0, text) + prose(0, n_lines, 285, text)
    assert words_to_regions(words, frame()) == []


def test_table_between_paragraphs_is_found_alone() -> None:
    words = prose(0) + table(120) + prose(240)
    assert words_to_regions(words, frame()) == [table(120)]


def test_two_tables_are_two_regions_from_top_to_bottom() -> None:
    words = table(400) + prose(200) + table(0)
    first, second = words_to_regions(words, frame())
    assert {id(word) for word in first} == {id(word) for word in words[-12:]}
    assert {id(word) for word in second} == {id(word) for word in words[:12]}


def test_white_space_alone_separates_two_tables() -> None:
    assert len(words_to_regions(table(0) + table(200), frame())) == 2


def test_one_line_of_separated_words_is_no_table() -> None:
    words = [make_word("Page 5", 0, 0), make_word("Annual report", 400, 0), *prose(40)]
    assert words_to_regions(words, frame()) == []


@settings(max_examples=20)
@given(st.randoms(use_true_random=False), st.sampled_from([0.3, 1, 4]), st.floats(-8, 8))
def test_order_scale_and_tilt_do_not_matter(random: Random, factor: float, degrees: float) -> None:
    words = prose(0) + table(120) + prose(240)
    moved = [turn_word(scale_word(word, factor), degrees, (80.0, 80.0)) for word in words]
    wanted = {id(word) for word in moved[5:17]}
    random.shuffle(moved)
    [region] = words_to_regions(moved, frame(degrees, (80.0, 80.0), 10 * factor))
    assert {id(word) for word in region} == wanted


@settings(max_examples=40)
@given(st.lists(st.tuples(st.sampled_from(["", "a", "1,234", PROSE]), *[st.floats(0, 600)] * 2), max_size=20))
def test_regions_are_parts_of_the_words_and_share_none(places: list[tuple[str, float, float]]) -> None:
    words = [make_word(text, x, y) for text, x, y in places]
    found = [id(word) for region in words_to_regions(words, frame()) for word in region]
    assert len(found) == len(set(found))
    assert set(found) <= {id(word) for word in words}


def test_nothing_is_inside_nothing() -> None:
    assert len(words_inside([], boxes_to_quads([[0, 0, 9, 9]]))) == 0
    assert len(words_inside([make_word("a", 0, 0)], boxes_to_quads([]))) == 0


@settings(max_examples=30)
@given(st.floats(-30, 30), st.lists(st.tuples(*[st.floats(-50, 250)] * 2), max_size=10))
def test_words_inside_are_those_whose_middle_is(degrees: float, places: list[tuple[float, float]]) -> None:
    words = [make_word("ab", x, y) for x, y in places]
    quads = boxes_to_quads([[0, 0, 100, 100], [100, 0, 200, 100], [0, 100, 100, 200], [100, 100, 200, 200]])
    inside = words_inside([turn_word(word, degrees) for word in words], rotate_points(quads, degrees))
    clear = [max(abs(x + 6 - 100), abs(y + 5 - 100)) for x, y in places]
    expected = [turn_word(word, degrees) for word, distance in zip(words, clear, strict=True) if distance < 99.99]
    unsure = [
        turn_word(word, degrees) for word, distance in zip(words, clear, strict=True) if 99.99 <= distance <= 100.01
    ]
    assert [word for word in inside if word not in unsure] == expected
    assert np.array([word.quad for word in inside]).size == 8 * len(inside)
