"""Lines end at rules, with all of their strokes, and with ground around."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tablerec.ocr.edges import settle

LEFT, TOP, RIGHT, BOTTOM = 60, 40, 120, 60
PAD = 2
"""Ground at the ends of a line of 20 pixels."""


def quad(left: float, top: float, right: float, bottom: float) -> np.ndarray:
    return np.array([[left, top], [right, top], [right, bottom], [left, bottom]], np.float32)


LINE = quad(LEFT, TOP, RIGHT, BOTTOM)


def paper(height: int = 100, width: int = 200) -> np.ndarray:
    return np.full((height, width, 3), 245, np.uint8)


def text(image: np.ndarray, left: int = LEFT, right: int = RIGHT, top: int = TOP, bottom: int = BOTTOM) -> np.ndarray:
    """Letters of a pixel's width, with ground between them."""
    image[top + 3 : bottom - 3, left + 1 : right - 1 : 5] = 20
    return image


def ends(settled: np.ndarray) -> list[list[int]]:
    return [[int(each[:, 0].min()), int(each[:, 0].max())] for each in settled]


def test_no_line() -> None:
    assert settle(np.zeros((0, 4, 2), np.float32), paper()).shape == (0, 4, 2)


@pytest.mark.parametrize("inverted", [False, True])
def test_a_line_has_ground_at_its_ends(inverted: bool) -> None:
    image = text(paper())
    assert ends(settle(LINE[None], 255 - image if inverted else image)) == [[LEFT - PAD, RIGHT + PAD]]


def test_a_line_ends_before_the_rules_beside_it() -> None:
    image = text(paper(), LEFT + 10, RIGHT - 10)
    image[10:90, LEFT + 4 : LEFT + 6] = image[10:90, RIGHT - 4 : RIGHT - 3] = 0
    [(left, right)] = ends(settle(LINE[None], image))
    assert LEFT + 6 <= left <= LEFT + 9 and RIGHT - 9 <= right <= RIGHT - 4


def test_a_line_across_a_rule_is_two() -> None:
    image = text(text(paper(), LEFT, 84), 96, RIGHT)
    image[:, 89:91] = 0
    first, second = ends(settle(LINE[None], image))
    assert first[1] <= 89 and second[0] >= 91


@pytest.mark.parametrize("stroke", [np.s_[37:62, 89:91], np.s_[TOP + 3 : BOTTOM - 3, 80:100]])
def test_a_long_stroke_and_a_thick_one_are_no_rules(stroke: tuple[slice, slice]) -> None:
    image = text(paper())
    image[stroke] = 0
    assert len(settle(LINE[None], image)) == 1


def test_a_line_without_ink_beyond_a_rule_stays_one() -> None:
    image = text(paper(), LEFT, 100)
    image[:, 108:110] = 0
    [(left, right)] = ends(settle(LINE[None], image))
    assert left == LEFT - PAD and right <= 108


def test_strokes_that_the_box_cuts_are_whole() -> None:
    image = text(paper())
    image[50:53, RIGHT - 3 : RIGHT + 7] = image[TOP - 4 : TOP + 6, 80:82] = 20
    [found] = settle(LINE[None], image)
    assert found[:, 0].max() >= RIGHT + 7 and found[:, 1].min() <= TOP - 4


def test_a_rule_below_that_touches_a_letter_does_not_draw_the_line_down() -> None:
    image = text(paper())
    image[BOTTOM - 4 : BOTTOM + 2, 81] = image[BOTTOM + 1 : BOTTOM + 3, 20:180] = 20
    [found] = settle(LINE[None], image)
    assert found[:, 1].max() <= BOTTOM + 1 and found[:, 0].max() == RIGHT + PAD


@pytest.mark.parametrize(
    "sign",
    {"colon": np.s_[[46, 47, 54, 55], 124:126], "dash": np.s_[50:52, 123:131], "slash": np.s_[42:58, 124:128]}.items(),
)
def test_a_sign_behind_a_line_belongs_to_it(sign: tuple[str, tuple[slice, slice]]) -> None:
    image = text(paper())
    image[sign[1]] = 20
    [(_, right)] = ends(settle(LINE[None], image))
    assert right >= 126
    [_, (left, _)] = ends(settle(np.stack([LINE, quad(122, TOP, 160, BOTTOM)]), image))
    assert left <= 124
    assert ends(settle(np.stack([LINE, quad(122, TOP, 160, BOTTOM)]), image))[0][1] == RIGHT + PAD


@pytest.mark.parametrize("inverted", [False, True])
@pytest.mark.parametrize("thick", [1, 2, 3])
def test_a_minus_before_a_line_belongs_to_it(thick: int, inverted: bool) -> None:
    image = text(paper())
    image[50 : 50 + thick, LEFT - 10 : LEFT - 3] = 20
    [(left, right)] = ends(settle(LINE[None], 255 - image if inverted else image))
    assert left <= LEFT - 10 and right == RIGHT + PAD


@pytest.mark.parametrize("ink", [np.s_[50:52, 134:140], np.s_[50:52, 123:200]], ids=["far off", "a rule"])
def test_other_ink_behind_a_line_is_no_dash(ink: tuple[slice, slice]) -> None:
    image = text(paper())
    image[ink] = 20
    assert ends(settle(LINE[None], image)) == [[LEFT - PAD, RIGHT + PAD]]


def test_what_goes_on_behind_a_line_is_no_sign_of_it() -> None:
    image = text(text(paper()), 124, 180)
    assert ends(settle(LINE[None], image)) == [[LEFT - PAD, RIGHT + PAD]]


def test_dots_that_lead_to_the_next_column_are_no_signs() -> None:
    image = text(paper())
    for x in range(124, 180, 8):
        image[54:57, x : x + 3] = 20
    assert ends(settle(LINE[None], image)) == [[LEFT - PAD, RIGHT + PAD]]


def test_a_line_that_reaches_into_the_next_one_ends_before_it() -> None:
    image = text(text(paper(), LEFT, 100), 110, 160)
    found = settle(np.stack([LINE, quad(107, TOP, 162, BOTTOM)]), image)
    assert ends(found)[0][1] <= 110


def test_a_line_that_runs_upwards_has_ground_at_its_ends_and_ends_at_rules() -> None:
    image = paper(200, 100)
    image[61:119:5, 43:57] = 20
    image[125:127, 10:90] = 0
    [found] = settle(quad(40, 60, 60, 130)[None], image)
    assert found[:, 1].min() == 58 and found[:, 1].max() <= 125


def test_a_line_that_is_askew_gets_ground_at_its_ends() -> None:
    askew = LINE + np.array([[0, 0], [0, 4], [0, 4], [0, 0]], np.float32)
    [found] = settle(askew[None], text(paper()))
    assert abs(found[0, 0] - LEFT + PAD) <= 1 and abs(found[1, 0] - RIGHT - PAD) <= 1


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 8))
def test_lines_stay_in_the_picture_on_whole_pixels(seed: int, count: int) -> None:
    chance = np.random.default_rng(seed)
    image = np.where(chance.random((60, 90, 1)) < 0.3, 0, 255).astype(np.uint8).repeat(3, axis=2)
    image[:, chance.integers(0, 90)] = 0
    low = np.stack([chance.integers(0, 80, count), chance.integers(0, 50, count)], axis=1)
    high = np.minimum(low + chance.integers(1, 60, (count, 2)), [90, 60])
    quads = np.stack([quad(*a, *b) for a, b in zip(low, high, strict=True)])
    found = settle(quads, image)
    assert len(found) >= count
    assert (found % 1 == 0).all() and (found >= 0).all() and (found <= [90, 60]).all()
    assert (np.ptp(found, axis=1) >= 1).all()
