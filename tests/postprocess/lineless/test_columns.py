from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from postprocess.geometry.boxes import as_boxes
from postprocess.geometry.rulings import Rulings
from postprocess.lineless import columns as stage
from postprocess.lineless.columns import (
    MOST_COLUMNS,
    dividing_rules,
    spans_from_rules,
    tokens_to_columns,
    tokens_to_separators,
)
from postprocess.text.tokens import Tokens, words_to_tokens
from postprocess.word import Word
from tests.helpers.layouts import make_word, rows_to_words

NOTHING = as_boxes([])
FRAME = Rulings(NOTHING, NOTHING, 0.0, (0.0, 0.0), 10.0)


def to_tokens(words: list[Word]) -> Tokens:
    return words_to_tokens(words, FRAME)


def columns_of(words: list[Word], forced: list[float] | None = None) -> tuple[Tokens, np.ndarray, np.ndarray]:
    tokens = to_tokens(words)
    separators = tokens_to_separators(tokens, 10.0, None if forced is None else np.array(forced))
    return tokens, separators, tokens_to_columns(tokens, separators)


def spans_by_text(words: list[Word]) -> dict[str, tuple[int, int]]:
    tokens, _, columns = columns_of(words)
    return dict(zip(tokens.texts, map(tuple, columns.tolist()), strict=True))


def test_no_tokens_no_separators() -> None:
    assert tokens_to_separators(to_tokens([]), 10.0).shape == (0,)
    assert tokens_to_separators(to_tokens([]), 10.0, np.array([5.0, 1.0])).tolist() == [1, 5]


def test_text_below_text_has_no_separator() -> None:
    _, separators, columns = columns_of(rows_to_words([["one"], ["two"], ["three"]], [0]))
    assert len(separators) == 0
    assert columns.tolist() == [[0, 1]] * 3


@settings(max_examples=40)
@given(
    st.lists(st.lists(st.integers(1, 7), min_size=4, max_size=4), min_size=2, max_size=8),
    st.text("lmr", min_size=4, max_size=4),
)
def test_separated_columns_are_told_apart_however_they_are_aligned(sizes: list[list[int]], aligns: str) -> None:
    positions = [{"l": 80.0 * col, "m": 80.0 * col + 25, "r": 80.0 * col + 50}[a] for col, a in enumerate(aligns)]
    words = rows_to_words([["x" * size for size in row] for row in sizes], positions, aligns)
    tokens, separators, columns = columns_of(words)
    assert len(separators) == 3
    lefts, rights = (np.array([tokens.boxes_xyxy[columns[:, 0] == c, edge] for c in range(4)]) for edge in (0, 2))
    assert (separators > rights.max(axis=1)[:3]).all() and (separators < lefts.min(axis=1)[1:]).all()
    assert columns.tolist() == [[c, c + 1] for _ in sizes for c in range(4)]


def test_title_over_all_columns_does_not_hide_them() -> None:
    words = [make_word("Title that is as wide as the whole table", 10, 20)]
    words += rows_to_words([["Tea", "1.20", "50"]] * 5, [0, 150, 240], "lrr")
    _, separators, columns = columns_of(words)
    assert len(separators) == 2
    assert columns[0].tolist() == [0, 3]


def test_header_over_two_columns_covers_both() -> None:
    words = [make_word("first half of 2024", 230, 20, align="middle")]
    words += rows_to_words(
        [["Tea", "10", "20", "30"], ["Milk", "11", "21", "31"], ["Rice", "12", "22", "32"]], [0, 200, 280, 380], "lrrr"
    )
    assert spans_by_text(words)["first half of 2024"] == (1, 3)


def test_forced_separators_are_kept_and_explain_their_gaps() -> None:
    words = rows_to_words([["Tea", "1"], ["Milk", "2"]], [0, 100])
    _, separators, _ = columns_of(words, [62.0])
    assert separators.tolist() == [62.0]
    _, separators, _ = columns_of(words, [400.0])
    assert len(separators) == 2 and separators[-1] == 400


@settings(max_examples=40)
@given(
    st.lists(st.tuples(st.floats(0, 300), st.floats(1, 120), st.integers(0, 4)), min_size=1, max_size=15),
    st.lists(st.floats(-50, 400), max_size=5, unique=True),
)
def test_every_token_has_at_least_one_column_that_exists(
    places: list[tuple[float, float, int]], separators: list[float]
) -> None:
    lines = np.unique([line for *_, line in places], return_inverse=True)[1]
    boxes = as_boxes([[x, 20 * line, x + width, 20 * line + 10] for x, width, line in places])
    order = np.lexsort([boxes[:, 0], lines])
    tokens = Tokens(boxes[order], tuple("x" for _ in places), lines[order])
    columns = tokens_to_columns(tokens, np.sort(np.array(separators)))
    assert columns.shape == (len(places), 2)
    assert (columns[:, 0] >= 0).all() and (columns[:, 1] <= len(separators) + 1).all()
    assert (columns[:, 1] > columns[:, 0]).all()
    found = tokens_to_separators(tokens, 10.0)
    assert np.isfinite(found).all() and (np.diff(found) > 0).all()


def test_vertical_ruling_between_the_columns_divides_and_one_through_text_does_not() -> None:
    tokens = to_tokens(rows_to_words([["Tea cups", "1"], ["Milk", "2"], ["Rice", "3"]], [0, 100]))
    rulings = as_boxes([[69, 40, 71, 120], [24, 40, 26, 120], [300, 40, 302, 120]])
    found = dividing_rules(rulings, tokens, 10.0)
    assert 70 in found and 301 not in found
    assert dividing_rules(NOTHING, tokens, 10.0).shape == (0,)


def test_ruling_in_pieces_divides_like_a_whole_one_and_a_short_one_does_not() -> None:
    tokens = to_tokens(rows_to_words([["Tea", "1"], ["Milk", "2"], ["Rice", "3"]], [0, 100]))
    pieces = as_boxes([[69, 46, 71, 70], [69, 72, 71, 92], [70, 94, 72, 112]])
    assert dividing_rules(pieces, tokens, 10.0) == pytest.approx([70], abs=1)
    assert len(dividing_rules(as_boxes([[69, 46, 71, 56]]), tokens, 10.0)) == 0


def test_label_alone_above_a_short_rule_covers_the_columns_under_the_rule() -> None:
    words = [make_word("Q1", 240, 20, align="middle")]
    words += rows_to_words([["Tea", "10", "20", "30"], ["Milk", "11", "21", "31"]], [0, 200, 280, 380], "lrrr", top=40)
    tokens, _, columns = columns_of(words)
    rule = as_boxes([[180, 32, 290, 33]])
    spread = dict(zip(tokens.texts, spans_from_rules(tokens, columns, rule, 10.0).tolist(), strict=True))
    assert spread["Q1"] == [1, 3]
    assert all(end - first == 1 for text, (first, end) in spread.items() if text != "Q1")
    assert np.array_equal(spans_from_rules(tokens, columns, NOTHING, 10.0), columns)


def test_rule_below_the_whole_header_widens_nothing() -> None:
    words = rows_to_words([["Item", "A", "B"], ["Tea", "10", "20"], ["Milk", "11", "21"]], [0, 200, 280], "lrr")
    tokens, _, columns = columns_of(words)
    rule = as_boxes([[0, 63, 280, 64]])
    assert np.array_equal(spans_from_rules(tokens, columns, rule, 10.0), columns)


def test_ten_thousand_words_in_one_line_get_a_bounded_number_of_columns() -> None:
    boxes = np.array([[5.0 * k, 0, 5.0 * k + 2, 2] for k in range(10_000)])
    tokens = Tokens(boxes, ("x",) * len(boxes), np.zeros(len(boxes), np.int64))
    assert len(tokens_to_separators(tokens, 2.0)) == MOST_COLUMNS


@settings(max_examples=30)
@given(st.integers(0, 2**32 - 1), st.integers(1, 60), st.integers(0, 9))
def test_columns_are_the_same_however_many_tokens_are_compared_at_once(seed: int, n: int, n_separators: int) -> None:
    rng = np.random.default_rng(seed)
    start = rng.uniform(-20, 200, n)
    boxes = np.column_stack([start, np.zeros(n), start + rng.choice([0, 5, 90], n), np.ones(n)])
    tokens = Tokens(boxes, ("x",) * n, np.arange(n))
    separators = np.sort(rng.uniform(0, 200, n_separators))
    at_once = tokens_to_columns(tokens, separators)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stage, "_AT_ONCE", 7)
        assert tokens_to_columns(tokens, separators).tolist() == at_once.tolist()
