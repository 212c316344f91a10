from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from postprocess.candidates.candidate import quads_to_candidate
from postprocess.candidates.evidence import explained_share
from postprocess.geometry.boxes import boxes_to_quads, rotate_points
from postprocess.word import Word
from tests.helpers.candidates import layout_of, make_scene
from tests.helpers.layouts import Layout, even_layout, layouts, make_word, plain_table, turn_word

FEW = settings(max_examples=30)


def fill(layout: Layout, text: str = "{}") -> list[Word]:
    return [make_word(text.format(i), x0 + 8, (y0 + y1) / 2 - 5) for i, (x0, y0, _, y1) in enumerate(layout.boxes)]


def test_no_words_are_fully_explained_and_without_cells_none_is() -> None:
    assert explained_share(layout_of([]), make_scene()) == 1
    assert explained_share(layout_of([[0, 0, 9, 9]]), make_scene()) == 1
    assert explained_share(layout_of([]), make_scene([make_word("a", 0, 0)])) == 0
    assert explained_share(layout_of([]), make_scene([make_word("  ", 0, 0)])) == 1


@FEW
@given(layouts(widths=(40, 120), heights=(16, 60)), st.booleans(), st.floats(-10, 10))
def test_true_cells_explain_everything(layout: Layout, numbers_only: bool, degrees: float) -> None:
    turned = quads_to_candidate(rotate_points(boxes_to_quads(layout.boxes), degrees)).layout
    words = [turn_word(word, degrees) for word in fill(layout)]
    assert explained_share(turned, make_scene(words, degrees=degrees), numbers_only=numbers_only) == 1


@pytest.mark.parametrize("numbers_only", [False, True])
def test_one_giant_cell_around_a_table_explains_nothing(numbers_only: bool) -> None:
    layout = even_layout(plain_table(5, 4))
    giant = layout_of([[-5, -5, 400, 200]])
    assert explained_share(giant, make_scene(fill(layout)), numbers_only=numbers_only) < 0.1


def test_missed_column_and_missed_row_are_seen() -> None:
    layout = even_layout(plain_table(4, 4))
    words = fill(layout)
    two_columns_in_one = layout_of(
        [
            box
            for r in range(4)
            for box in ([0, 30 * r, 80, 30 * r + 30], [80, 30 * r, 160, 30 * r + 30], [160, 30 * r, 320, 30 * r + 30])
        ]
    )
    assert explained_share(two_columns_in_one, make_scene(words)) == pytest.approx(0.5)
    two_rows_in_one = layout_of(
        [[80 * c, y0, 80 * c + 80, y1] for c in range(4) for y0, y1 in ((0, 30), (30, 60), (60, 120))]
    )
    assert explained_share(two_rows_in_one, make_scene(words)) == pytest.approx(0.5)


def test_words_outside_count_as_unexplained() -> None:
    layout = even_layout(plain_table(2, 2))
    words = [*fill(layout), *(make_word(f"out{i}", 600, 40 * i) for i in range(4))]
    assert explained_share(layout_of(layout.boxes), make_scene(words)) == pytest.approx(0.5)


def test_two_lines_of_text_in_a_cell_are_no_missed_row() -> None:
    words = [make_word("net", 5, 5), make_word("profit", 5, 20)]
    assert explained_share(layout_of([[0, 0, 60, 40]]), make_scene(words)) == 1


def test_justified_prose_counts_only_where_the_cells_are_unsure() -> None:
    words = [make_word(text, x, 5) for text, x in (("justified", 5), ("prose", 100), ("here", 160))]
    cell = layout_of([[0, 0, 250, 20]])
    assert explained_share(cell, make_scene(words)) == 0
    assert explained_share(cell, make_scene(words), numbers_only=True) == 1


@FEW
@given(
    st.lists(st.tuples(st.sampled_from(["", "a", "12", "Total  9", "$"]), *[st.floats(-20, 200)] * 2), max_size=10),
    st.lists(st.tuples(*[st.floats(0, 150)] * 2, *[st.floats(1, 150)] * 2), max_size=6),
    st.booleans(),
)
def test_share_is_a_share(
    places: list[tuple[str, float, float]], boxes: list[tuple[float, float, float, float]], numbers_only: bool
) -> None:
    words = [make_word(text, x, y) for text, x, y in places]
    layout, scene = layout_of([[x, y, x + w, y + h] for x, y, w, h in boxes]), make_scene(words)
    share = explained_share(layout, scene, numbers_only=numbers_only)
    assert 0 <= share <= 1
    assert share <= explained_share(layout, scene, numbers_only=True)
    order = np.random.default_rng(0).permutation(len(words))
    mixed = make_scene(words[i] for i in order)
    assert explained_share(layout, mixed, numbers_only=numbers_only) == pytest.approx(share)
