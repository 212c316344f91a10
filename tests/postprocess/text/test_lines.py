from __future__ import annotations

from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from postprocess.arrays import Floats
from postprocess.geometry.boxes import as_boxes, as_quads, boxes_to_quads, quads_to_boxes, rotate_points
from postprocess.text.lines import number_lines, text_tilt, words_to_text, words_to_texts
from postprocess.word import Word, Words
from tests.helpers.layouts import make_word, rows_to_words

FEW = settings(max_examples=30)


def lines_of_text(degrees: float, count: int = 6) -> Floats:
    return rotate_points(boxes_to_quads([[40, 30 + 25 * k, 160, 42 + 25 * k] for k in range(count)]), degrees)


def test_no_boxes_no_words_no_cells() -> None:
    assert number_lines(as_boxes([])).tolist() == []
    assert words_to_texts(Words(), np.zeros(0, np.int64), 2) == ["", ""]
    assert text_tilt(as_quads([])) is None


@FEW
@given(st.lists(st.integers(1, 5), min_size=1, max_size=6), st.floats(-2, 2), st.randoms(use_true_random=False))
def test_boxes_of_a_line_share_its_number_in_any_order(widths: list[int], jitter: float, random: Random) -> None:
    words = rows_to_words([["word"] * n + [""] * (5 - n) for n in widths], [60 * k for k in range(5)])
    true = np.repeat(np.arange(len(widths)), widths)
    boxes = quads_to_boxes([word.quad for word in words])
    boxes[::2, [1, 3]] += jitter
    order = list(range(len(words)))
    random.shuffle(order)
    assert number_lines(boxes[order]).tolist() == true[order].tolist()


@FEW
@given(st.lists(st.tuples(st.integers(0, 3), st.floats(0, 200), st.floats(0, 60)), max_size=12))
def test_cells_together_have_the_texts_that_each_has_alone(places: list[tuple[int, float, float]]) -> None:
    words = [make_word(f"w{k}", x, y) for k, (_, x, y) in enumerate(places)]
    owner = np.array([cell for cell, _, _ in places], np.int64)
    alone = [words_to_text(word for word, cell in zip(words, owner, strict=True) if cell == k) for k in range(4)]
    assert words_to_texts(Words(words), owner, 4) == alone


@pytest.mark.parametrize("degrees", [-30, -2, -0.5, 0.5, 2, 30])
def test_tilt_is_that_of_the_long_words(degrees: float) -> None:
    words = Words(rows_to_words([["long label", "x", "another label"]] * 3, [0, 200, 300]))
    assert text_tilt(rotate_points(words.quads, degrees)) == pytest.approx(degrees)


@pytest.mark.parametrize("degrees", [-3, -1, -0.4, 0.4, 1, 3])
def test_tilt_is_told_by_words_beside_each_other_where_their_boxes_are_level(degrees: float) -> None:
    words = rows_to_words([["a label", "rest", "1,234"]] * 8, [0, 250, 500])
    turned = rotate_points(Words(words).quads.mean(axis=1), degrees)
    level = Words(words).quads - Words(words).quads.mean(axis=1, keepdims=True) + turned[:, None]
    known = np.concatenate([level, lines_of_text(degrees, count=4) + np.array([0, 4000])])
    assert text_tilt(known) == pytest.approx(degrees, abs=0.05)


def test_no_tilt_without_agreement() -> None:
    assert text_tilt(lines_of_text(8), least=5) == pytest.approx(8)
    assert text_tilt(lines_of_text(8, count=3), least=5) is None  # too few
    assert text_tilt(np.concatenate([lines_of_text(degrees) for degrees in (8, -8, 30)])) is None
    assert text_tilt(lines_of_text(90)) is None  # on its side: that is a turn, no tilt
    assert text_tilt(Words([make_word("long label", 0, 0)]).quads) == 0
    assert text_tilt(Words([Word("x", ((0, 0), (9, 3), (6, 12), (-3, 9)))]).quads) is None  # too short to tell
