from __future__ import annotations

import numpy as np
import pytest

from postprocess.arrays import Floats
from postprocess.geometry.boxes import as_quads, boxes_to_quads, quads_to_boxes, rotate_points
from postprocess.geometry.rulings import project
from postprocess.text.tilt import text_perspective, text_tilt
from postprocess.word import Word, Words
from tests.helpers.layouts import make_word, rows_to_words


def lines_of_text(degrees: float, count: int = 6) -> Floats:
    return rotate_points(boxes_to_quads([[40, 30 + 25 * k, 160, 42 + 25 * k] for k in range(count)]), degrees)


def test_no_words_tell_nothing() -> None:
    assert text_tilt(as_quads([])) is None
    assert text_perspective(as_quads([]), 0.0, (0.0, 0.0)) is None
    assert text_perspective(lines_of_text(0, count=1), 0.0, (0.0, 0.0)) is None


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


@pytest.mark.parametrize("degrees", [-4.0, 0.0, 2.0])
@pytest.mark.parametrize("spread", [-3e-4, 1.5e-4, 3e-4])
def test_lines_of_a_photograph_taken_at_an_angle_become_level(spread: float, degrees: float) -> None:
    """Three words a line, far apart; the first and the last line differ by several degrees."""
    flat = Words(rows_to_words([["label", "rest", "1,234"]] * 12, [0, 150, 400], pitch=25)).quads
    seen = rotate_points(project(flat, np.array([[1, 0, 0], [0, 1, 0], [spread, 0, 1]])), degrees, (200.0, 150.0))
    tilt = text_tilt(seen)
    assert tilt is not None
    homography = text_perspective(seen, tilt, (200.0, 150.0))
    assert homography is not None
    level = quads_to_boxes(project(rotate_points(seen, -tilt, (200.0, 150.0)), homography))
    lines = level[:, [1, 3]].mean(axis=1).reshape(12, 3)
    assert np.ptp(lines, axis=1).max() < 1


def test_text_that_is_flat_has_no_perspective() -> None:
    for degrees in (0.0, 5.0):
        quads = rotate_points(Words(rows_to_words([["label", "rest", "1,234"]] * 12, [0, 150, 400])).quads, degrees)
        assert text_perspective(quads, degrees, (0.0, 0.0)) is None
