from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from postprocess.arrays import Floats
from postprocess.geometry.boxes import as_boxes
from postprocess.geometry.rulings import Rulings
from postprocess.lineless.columns import tokens_to_columns, tokens_to_separators
from postprocess.lineless.rows import lines_to_rows
from postprocess.text.tokens import Tokens, words_to_tokens
from postprocess.word import Word
from tests.helpers.layouts import make_word, rows_to_words, scale_word

NOTHING = as_boxes([])


def rows_of(words: list[Word], horizontal: Floats = NOTHING, height: float = 10.0) -> list[int]:
    """Row of each text line."""
    frame = Rulings(NOTHING, NOTHING, 0.0, (0.0, 0.0), height)
    tokens = words_to_tokens(words, frame)
    columns = tokens_to_columns(tokens, tokens_to_separators(tokens, height))
    return lines_to_rows(tokens, columns, horizontal).tolist()


def rules(*ys: float, width: float = 300) -> Floats:
    return as_boxes([[0, y - 0.5, width, y + 0.5] for y in ys])


def test_no_line_and_one_line() -> None:
    empty = Tokens(NOTHING, (), np.zeros(0, np.int64))
    assert lines_to_rows(empty, np.zeros((0, 2), np.int64), NOTHING).shape == (0,)
    assert rows_of([make_word("a", 0, 0)]) == [0]


@settings(max_examples=30)
@given(st.integers(2, 12), st.integers(2, 4), st.sampled_from([13, 20, 40]))
def test_lines_of_numbers_are_rows_whatever_their_distance(n_rows: int, n_cols: int, pitch: float) -> None:
    rows = [[f"Row {row}", *[f"{row}.{col}" for col in range(1, n_cols)]] for row in range(n_rows)]
    words = rows_to_words(rows, [100 * col for col in range(n_cols)], pitch=pitch)
    assert rows_of(words) == list(range(n_rows))


@settings(max_examples=30)
@given(st.integers(0, 2**32 - 1))
def test_rows_count_up_from_0_without_a_hole(seed: int) -> None:
    random = np.random.default_rng(seed)
    texts = np.array(["", "", "word", "Word", "12", "(3)", "2024", "a b c"])
    words = rows_to_words(random.choice(texts, (8, 3)).tolist(), [0, 100, 200], pitch=float(random.integers(11, 30)))
    assume(words)
    ruled = rules(*random.uniform(40, 300, random.integers(0, 6)))
    rows = rows_of(words, ruled)
    assert rows[0] == 0
    assert set(np.diff(rows).tolist()) <= {0, 1}


def test_two_numbers_of_one_column_never_come_into_one_row() -> None:
    words = rows_to_words([["Tea", "1"], ["and milk", "2"], ["Bread", "3"], ["and jam", "4"]], [0, 120], pitch=12)
    assert rows_of(words) == [0, 1, 2, 3]
    assert rows_of(words, rules(45, 300)) == [0, 1, 2, 3]


def test_rest_of_a_label_joins_its_row() -> None:
    rows = [["Item", "Amount"], ["Sales of goods to", "1,234"], ["other companies", ""], ["Tax", "99"], ["Net", "7"]]
    assert rows_of(rows_to_words(rows, [0, 250], "lr", pitch=13)) == [0, 1, 1, 2, 3]


def test_a_rule_between_lines_keeps_them_apart() -> None:
    rows = [["Item", "Amount"], ["Sales of goods to", "1,234"], ["other companies", ""], ["Tax", "99"], ["Net", "7"]]
    words = rows_to_words(rows, [0, 250], "lr", pitch=13)
    assert rows_of(words, rules(74.5))[1:3] == [1, 2]


def test_lines_between_long_rules_are_one_row() -> None:
    rows = [
        ["Tea", "from China"],
        ["green", "or Japan"],
        ["Milk", "from"],
        ["cold", "cows"],
        ["Bread", "from"],
        ["old", "Rome"],
    ]
    words = rows_to_words(rows, [0, 120], pitch=14)
    assert rows_of(words, rules(44, 77, 105, 133)) == [0, 0, 1, 1, 2, 2]


def test_groups_of_close_lines_are_rows() -> None:
    rows = [
        ["Tea of the", "from China"],
        ["green kind", ""],
        ["Milk of", "from cows"],
        ["cold days", ""],
        ["Bread", "Rome"],
    ]
    words = [
        word
        for (first, second), top in zip([rows[:2], rows[2:4], [rows[4], ["", ""]]], (50, 100, 150), strict=True)
        for word in rows_to_words([first, second], [0, 150], pitch=12, top=top)
    ]
    assert rows_of(words) == [0, 0, 1, 1, 2]


def test_header_of_two_lines_is_one_row() -> None:
    words = rows_to_words([["", "Net", "Gross"], ["Item", "profit", "margin"]], [0, 200, 280], "lrr", pitch=12)
    words += rows_to_words(
        [["Tea", "1.0", "2.0"], ["Milk", "3.0", "4.5"], ["Rice", "5", "6"]], [0, 200, 280], "lrr", top=100
    )
    assert rows_of(words) == [0, 0, 1, 2, 3]


def test_header_over_several_columns_keeps_its_row() -> None:
    words = [make_word("first half year", 240, 26, align="middle")]
    words += rows_to_words(
        [["Item", "Q1", "Q2"], ["Tea", "1", "2"], ["Milk", "3", "4"]], [0, 200, 280], "lrr", top=38, pitch=14
    )
    assert rows_of(words) == [0, 1, 2, 3]


@pytest.mark.parametrize("factor", [0.25, 3, 10])
def test_scale_does_not_matter(factor: float) -> None:
    rows = [["Item", "Amount"], ["Sales of goods to", "1,234"], ["other companies", ""], ["Tax", "99"], ["Net", "7"]]
    words = rows_to_words(rows, [0, 250], "lr", pitch=13)
    scaled = [scale_word(word, factor) for word in words]
    assert rows_of(scaled, factor * rules(62), 10 * factor) == rows_of(words, rules(62))
