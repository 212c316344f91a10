from __future__ import annotations

from dataclasses import astuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from postprocess.boxes import as_boxes, boxes_to_quads, rotate_points
from postprocess.explanation import Explanation, agreement, explain
from postprocess.grid import Grid, quads_to_grid
from postprocess.rulings import Rulings
from postprocess.words import Word
from tests.postprocess.pictures import make_word

FRAME = Rulings(as_boxes([]), as_boxes([]), 0.0, (0.0, 0.0), 10.0)
WORDS = [make_word(text, 10 + 100 * col, 5 + 20 * row) for row in range(3) for col, text in enumerate(["Sales", "12"])]


def grid(boxes: list[list[float]]) -> Grid:
    return quads_to_grid(boxes_to_quads(boxes))


def slots(xs: list[float], ys: list[float]) -> list[list[float]]:
    return [[xs[c], ys[r], xs[c + 1], ys[r + 1]] for r in range(len(ys) - 1) for c in range(len(xs) - 1)]


RIGHT = slots([0, 100, 200], [0, 20, 40, 60])


def test_an_empty_grid_explains_nothing() -> None:
    assert astuple(explain(quads_to_grid([]), WORDS, FRAME)) == (0.0,) * 9
    assert explain(quads_to_grid([]), [], FRAME).score == 0.0


def test_without_words_only_the_rulings_speak() -> None:
    found = explain(grid(RIGHT), [], FRAME)
    assert (found.separated, found.uncut, found.followed) == (1.0, 1.0, 1.0)
    assert (found.filled, found.used, found.single, found.shared) == (0.0, 0.0, 0.0, 0.0)


def test_the_right_grid_explains_everything() -> None:
    assert explain(grid(RIGHT), WORDS, FRAME) == Explanation(*[1.0] * 7)


@pytest.mark.parametrize(
    ("boxes", "share"),
    [
        (slots([0, 200], [0, 20, 40, 60]), "separated"),
        (slots([0, 100, 200], [0, 60]), "single"),
        (slots([0, 100, 200, 250], [0, 20, 40, 60]), "used"),
        (slots([0, 100, 200], [0, 20, 40, 60, 80]), "filled"),
        (slots([0, 100, 200], [0, 10, 30, 60]), "uncut"),
        (slots([0, 200], [0, 20, 40, 60]), "shared"),
    ],
    ids=["missed column", "missed rows", "empty column", "empty row", "cut words", "one cell a row"],
)
def test_each_fault_costs_its_share_and_the_score(boxes: list[list[float]], share: str) -> None:
    found = explain(grid(boxes), WORDS, FRAME)
    assert getattr(found, share) < 1
    assert found.score < explain(grid(RIGHT), WORDS, FRAME).score


def test_borders_along_rulings() -> None:
    rulings = Rulings(as_boxes([[0, 19, 200, 21], [0, 49, 200, 51]]), as_boxes([[99, 0, 101, 60]]), 0, (0, 0), 10.0)
    assert explain(grid(RIGHT), WORDS, rulings).followed == pytest.approx(26 / 46)
    far_away = Rulings(as_boxes([[500, 500, 700, 502]]), as_boxes([]), 0.0, (0.0, 0.0), 10.0)
    assert explain(grid(RIGHT), WORDS, far_away).followed == 1.0


@given(st.lists(st.tuples(*[st.floats(-50, 300)] * 4), max_size=12), st.floats(-10, 10))
def test_shares_stay_in_their_range(boxes: list[tuple[float, ...]], degrees: float) -> None:
    rulings = Rulings(as_boxes([[0, 19, 200, 21]]), as_boxes([[99, 0, 101, 60]]), degrees, (0.0, 0.0), 10.0)
    found = explain(quads_to_grid(boxes_to_quads(as_boxes(boxes))), WORDS, rulings)
    assert all(0 <= share <= 1 for share in astuple(found))
    assert 0 <= found.score <= 1 + 1e-9


def test_a_tilted_table_is_explained_as_an_upright_one() -> None:
    turned = rotate_points(boxes_to_quads(RIGHT), 4.0)
    words = [Word(word.text, tuple(map(tuple, rotate_points(np.array(word.quad), 4.0)))) for word in WORDS]  # type: ignore[arg-type]
    frame = Rulings(as_boxes([]), as_boxes([]), 4.0, (0.0, 0.0), 10.0)
    assert explain(quads_to_grid(turned), words, frame).score == pytest.approx(1.0)


def test_without_words_the_number_of_lines_agrees_or_not() -> None:
    assert agreement([], [], []) == (1.0, 1.0)
    assert agreement([grid(RIGHT)], [], []) == (0.5, 0.5)
    assert agreement([grid(RIGHT)], [grid(RIGHT)], []) == (1.0, 1.0)


def test_a_missed_column_costs_agreement_of_the_columns_alone() -> None:
    rows, columns = agreement([grid(RIGHT)], [grid(slots([0, 200], [0, 20, 40, 60]))], WORDS)
    assert rows == 1.0
    assert columns == pytest.approx((0 + 1 / 2) / 2)


def test_a_table_in_two_halves_agrees_with_the_whole() -> None:
    halves = [grid(slots([0, 100, 200], ys)) for ys in ([0, 20, 40], [40, 60])]
    rows, _ = agreement([grid(RIGHT)], halves, WORDS)
    assert rows == 1.0


@settings(max_examples=30)
@given(*[st.lists(st.tuples(*[st.floats(-50, 300)] * 4), max_size=8)] * 2)
def test_agreement_is_mutual_and_in_its_range(one: list[tuple[float, ...]], two: list[tuple[float, ...]]) -> None:
    a, b = ([quads_to_grid(boxes_to_quads(as_boxes(boxes)))] for boxes in (one, two))
    shares = agreement(a, b, WORDS)
    assert shares == agreement(b, a, WORDS)
    assert all(0 <= share <= 1 for share in shares)
