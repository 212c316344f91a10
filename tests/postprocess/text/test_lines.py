from __future__ import annotations

from random import Random

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from postprocess.geometry.boxes import as_boxes, quads_to_boxes
from postprocess.text.lines import number_lines, words_to_text, words_to_texts
from postprocess.word import Words
from tests.helpers.layouts import make_word, rows_to_words

FEW = settings(max_examples=30)


def test_no_boxes_no_words_no_cells() -> None:
    assert number_lines(as_boxes([])).tolist() == []
    assert words_to_texts(Words(), np.zeros(0, np.int64), 2) == ["", ""]


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
