from __future__ import annotations

from dataclasses import astuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from postprocess.candidates.candidate import quads_to_candidate
from postprocess.candidates.explanation import Explanation, agreement, explain
from postprocess.candidates.scene import Scene
from postprocess.geometry.boxes import as_boxes, boxes_to_quads, rotate_points
from postprocess.geometry.rulings import Rulings
from postprocess.word import Word, Words
from tests.helpers.candidates import RIGHT, WORDS, layout_of, make_scene, slots


def test_an_empty_grid_explains_nothing() -> None:
    assert astuple(explain(layout_of([]), make_scene(WORDS))) == (0.0,) * 9
    assert explain(layout_of([]), make_scene()).score == 0.0


def test_without_words_only_the_rulings_speak() -> None:
    found = explain(layout_of(RIGHT), make_scene())
    assert (found.separated, found.uncut, found.followed) == (1.0, 1.0, 1.0)
    assert (found.filled, found.used, found.single, found.shared) == (0.0, 0.0, 0.0, 0.0)


def test_the_right_grid_explains_everything() -> None:
    assert explain(layout_of(RIGHT), make_scene(WORDS)) == Explanation(*[1.0] * 7)


@pytest.mark.parametrize(
    ("boxes", "share"),
    [
        (slots([0, 200], [0, 20, 40, 60]), "separated"),
        (slots([0, 100, 200], [0, 60]), "single"),
        (slots([0, 100, 200, 250], [0, 20, 40, 60]), "used"),
        (slots([0, 100, 200], [0, 20, 40, 60, 80]), "filled"),
        (slots([0, 100, 200], [0, 11, 31, 60]), "uncut"),
        (slots([0, 200], [0, 20, 40, 60]), "shared"),
    ],
    ids=["missed column", "missed rows", "empty column", "empty row", "cut words", "one cell a row"],
)
def test_each_fault_costs_its_share_and_the_score(boxes: list[list[float]], share: str) -> None:
    found = explain(layout_of(boxes), make_scene(WORDS))
    assert getattr(found, share) < 1
    # Cut words decide between equal scores only.
    right = explain(layout_of(RIGHT), make_scene(WORDS))
    assert (found.score, found.uncut) < (right.score, right.uncut)


def test_borders_along_rulings() -> None:
    rulings = Rulings(as_boxes([[0, 19, 200, 21], [0, 49, 200, 51]]), as_boxes([[99, 0, 101, 60]]), 0, (0, 0), 10.0)
    assert explain(layout_of(RIGHT), Scene(WORDS, rulings)).followed == pytest.approx(26 / 46)
    far_away = Rulings(as_boxes([[500, 500, 700, 502]]), as_boxes([]), 0.0, (0.0, 0.0), 10.0)
    assert explain(layout_of(RIGHT), Scene(WORDS, far_away)).followed == 1.0


@given(st.lists(st.tuples(*[st.floats(-50, 300)] * 4), max_size=12), st.floats(-10, 10))
def test_shares_stay_in_their_range(boxes: list[tuple[float, ...]], degrees: float) -> None:
    rulings = Rulings(as_boxes([[0, 19, 200, 21]]), as_boxes([[99, 0, 101, 60]]), degrees, (0.0, 0.0), 10.0)
    found = explain(layout_of(boxes), Scene(WORDS, rulings))
    assert all(0 <= share <= 1 for share in astuple(found))
    assert 0 <= found.score <= 1 + 1e-9


def test_a_tilted_table_is_explained_as_an_upright_one() -> None:
    turned = rotate_points(boxes_to_quads(RIGHT), 4.0)
    words = [Word(word.text, tuple(map(tuple, rotate_points(np.array(word.quad), 4.0)))) for word in WORDS]  # type: ignore[arg-type]
    assert explain(quads_to_candidate(turned).layout, make_scene(words, degrees=4.0)).score == pytest.approx(1.0)


def test_without_words_the_number_of_lines_agrees_or_not() -> None:
    assert agreement([], [], Words()) == (1.0, 1.0)
    assert agreement([layout_of(RIGHT)], [], Words()) == (0.5, 0.5)
    assert agreement([layout_of(RIGHT)], [layout_of(RIGHT)], Words()) == (1.0, 1.0)


def test_a_missed_column_costs_agreement_of_the_columns_alone() -> None:
    rows, columns = agreement([layout_of(RIGHT)], [layout_of(slots([0, 200], [0, 20, 40, 60]))], Words(WORDS))
    assert rows == 1.0
    assert columns == pytest.approx((0 + 1 / 2) / 2)


def test_a_table_in_two_halves_agrees_with_the_whole() -> None:
    halves = [layout_of(slots([0, 100, 200], ys)) for ys in ([0, 20, 40], [40, 60])]
    rows, _ = agreement([layout_of(RIGHT)], halves, Words(WORDS))
    assert rows == 1.0


@settings(max_examples=30)
@given(*[st.lists(st.tuples(*[st.floats(-50, 300)] * 4), max_size=8)] * 2)
def test_agreement_is_mutual_and_in_its_range(one: list[tuple[float, ...]], two: list[tuple[float, ...]]) -> None:
    a, b = ([layout_of(boxes)] for boxes in (one, two))
    shares = agreement(a, b, Words(WORDS))
    assert shares == agreement(b, a, Words(WORDS))
    assert all(0 <= share <= 1 for share in shares)
