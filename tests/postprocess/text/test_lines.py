from __future__ import annotations

from random import Random

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from postprocess.cell import Quad
from postprocess.geometry.boxes import as_boxes, quads_to_boxes
from postprocess.text.lines import number_lines, words_to_text, words_to_texts
from postprocess.word import Word, Words
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


def stacked(*columns: str, step: float = 24, apart: float = 40) -> list[Word]:
    """Words of one character each, columns from left to right."""
    return [
        Word(char, box_to_quad(apart * x, step * y, apart * x + 20, step * y + 20))
        for x, column in enumerate(columns)
        for y, char in enumerate(column)
    ]


def box_to_quad(x0: float, y0: float, x1: float, y1: float) -> Quad:
    return (x0, y0), (x1, y0), (x1, y1), (x0, y1)


def test_characters_one_below_another_are_one_text() -> None:
    assert words_to_text(stacked("合计")) == "合计"
    assert words_to_text(reversed(stacked("第3季度"))) == "第3季度"
    assert words_to_text(stacked("华东地☒")) == "华东地区"  # which looks like a ticked box
    assert words_to_text(stacked("☒是")) == "☒\n是"


def test_columns_are_read_from_the_right_where_they_stand_apart() -> None:
    assert words_to_text(stacked("名称", "单位编")) == "单位编名称"
    assert words_to_text(stacked("单名", "位称")) == "单位\n名称"
    assert words_to_text(stacked("单名者", "位称有", apart=24)) == "单位\n名称\n者有"


def test_lines_of_single_letters_far_apart_characters_and_longer_lines_stay_lines() -> None:
    assert words_to_text(stacked("abc")) == "a\nb\nc"
    assert words_to_text(stacked("是否", step=60)) == "是\n否"
    assert words_to_text([make_word("口蹄", 0, 0), make_word("疫", 0, 30)]) == "口蹄\n疫"
