from __future__ import annotations

from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from postprocess.geometry.boxes import as_boxes
from postprocess.geometry.rulings import Rulings
from postprocess.text.tokens import Tokens, words_to_tokens
from postprocess.word import Word
from tests.helpers.layouts import box_quad, make_word, rows_to_words, scale_word, turn_word

FEW = settings(max_examples=30)


def upright(height: float = 10.0, degrees: float = 0.0, center: tuple[float, float] = (0.0, 0.0)) -> Rulings:
    return Rulings(as_boxes([]), as_boxes([]), degrees, center, height)


def tokens_of(words: list[Word], frame: Rulings | None = None) -> Tokens:
    return words_to_tokens(words, frame or upright())


def by_line(tokens: Tokens) -> list[list[str]]:
    return [[tokens.texts[i] for i in np.flatnonzero(tokens.line == line)] for line in range(tokens.n_lines)]


def test_no_words_and_words_without_text() -> None:
    for words in ([], [make_word("", 0, 0), make_word("  ", 30, 0)], [make_word(". . . .", 0, 0)]):
        tokens = tokens_of(words)
        assert (len(tokens.boxes_xyxy), tokens.texts, tokens.n_lines) == (0, (), 0)
        assert tokens.boxes_xyxy.shape == (0, 4)


@FEW
@given(
    st.lists(st.tuples(st.integers(0, 8), st.integers(0, 8)), unique=True, max_size=12),
    st.randoms(use_true_random=False),
)
def test_each_word_is_a_token_on_its_line_from_left_to_right(places: list[tuple[int, int]], random: Random) -> None:
    words = [make_word(f"{row}{col}", 40 * col, 20 * row) for row, col in places]
    random.shuffle(words)
    rows = sorted({row for row, _ in places})
    expected = [[f"{row}{col}" for r, col in sorted(places) if r == row] for row in rows]
    assert by_line(tokens_of(words)) == expected


def test_line_of_a_reader_is_cut_at_wide_gaps_only() -> None:
    assert tokens_of([make_word("net profit    1,234   5", 0, 0)]).texts == ("net profit", "1,234", "5")
    word = Word("ab", box_quad(0, 0, 100, 10), char_spans=((0.0, 0.1), (0.9, 1.0)))
    tokens = tokens_of([word])
    assert tokens.texts == ("a", "b")
    assert tokens.boxes_xyxy[:, [0, 2]].tolist() == [[0, 10], [90, 100]]


def test_words_that_are_slightly_shifted_are_one_line() -> None:
    words = [make_word(f"w{i}", 40 * i, 100 + (i % 3)) for i in range(6)]
    assert tokens_of(words).n_lines == 1


@pytest.mark.parametrize("pitch", [11, 12, 20])
def test_lines_that_nearly_touch_are_apart(pitch: float) -> None:
    words = rows_to_words([["a", "b"]] * 5, [0, 60], pitch=pitch)
    assert tokens_of(words).line.tolist() == [0, 0, 1, 1, 2, 2, 3, 3, 4, 4]


@FEW
@given(st.floats(-10, 10))
def test_lines_of_a_tilted_picture_are_those_of_its_upright_frame(degrees: float) -> None:
    words = rows_to_words([["aaa", "bbb", "ccc"]] * 4, [0, 200, 400])
    turned = [turn_word(word, degrees, (200.0, 80.0)) for word in words]
    tokens = tokens_of(turned, upright(degrees=degrees, center=(200.0, 80.0)))
    assert by_line(tokens) == by_line(tokens_of(words))
    assert tokens.boxes_xyxy == pytest.approx(tokens_of(words).boxes_xyxy, abs=1e-6)


@FEW
@given(st.sampled_from([0.25, 0.5, 2, 8]))
def test_scale_does_not_matter(factor: float) -> None:
    words = rows_to_words([["a  b", "$", "12"], ["long label", "", "7"]], [0, 100, 130])
    tokens = tokens_of([scale_word(word, factor) for word in words], upright(10 * factor))
    assert (tokens.texts, tokens.line.tolist()) == (tokens_of(words).texts, tokens_of(words).line.tolist())
    assert tokens.boxes_xyxy == pytest.approx(factor * tokens_of(words).boxes_xyxy)


@pytest.mark.parametrize("sign", ["$", "€", "£", "¥", "US$", "HK$", "RMB", "EUR", "CHF"])
def test_currency_apart_from_its_number_is_one_value(sign: str) -> None:
    tokens = tokens_of([make_word(sign, 100, 0), make_word("1,234", 160, 0), make_word("Sales", 0, 0)])
    assert tokens.texts == ("Sales", f"{sign} 1,234")
    assert tokens.boxes_xyxy[1].tolist() == [100, 0, 190, 10]


def test_currency_that_heads_a_column_or_precedes_a_label_stays_alone() -> None:
    assert tokens_of([make_word("$", 100, 0), make_word("5", 100, 20)]).texts == ("$", "5")
    assert tokens_of([make_word("EUR", 100, 0), make_word("Sales", 160, 0)]).texts == ("EUR", "Sales")


@pytest.mark.parametrize("leader", ["......", ". . . . .", "·····", "…", "_____", "– – – –"])
def test_leader_is_no_token(leader: str) -> None:
    assert tokens_of([make_word("Sales", 0, 0), make_word(leader, 60, 0), make_word("7", 180, 0)]).texts == (
        "Sales",
        "7",
    )


@pytest.mark.parametrize("dash", ["-", "–", "—"])
def test_dash_that_stands_for_nothing_is_a_token(dash: str) -> None:
    assert tokens_of([make_word("Sales", 0, 0), make_word(dash, 100, 0)]).texts == ("Sales", dash)


@FEW
@given(st.lists(st.booleans(), min_size=12, max_size=12))
def test_selection_keeps_order_and_numbers_lines_anew(flags: list[bool]) -> None:
    tokens = tokens_of(
        rows_to_words([["a", "b", "c"], ["d", "e", "f"], ["g", "h", "i"], ["j", "k", "l"]], [0, 50, 100])
    )
    chosen = tokens.select(np.array(flags))
    assert chosen.texts == tuple(text for text, keep in zip("abcdefghijkl", flags, strict=True) if keep)
    assert chosen.boxes_xyxy.shape == (len(chosen.texts), 4)
    assert sorted(set(chosen.line.tolist())) == list(range(chosen.n_lines))
    same = np.equal.outer(tokens.line[flags], tokens.line[flags])
    assert np.array_equal(np.equal.outer(chosen.line, chosen.line), same)
