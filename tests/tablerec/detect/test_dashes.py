"""Lines reach over the dashes at their ends, and over nothing else."""

from __future__ import annotations

import numpy as np
import pytest

from tablerec.detect.text_lines import reach_dashes

LEFT, TOP, RIGHT, BOTTOM = 60, 20, 100, 40


def quad(left: float, top: float, right: float, bottom: float) -> np.ndarray:
    return np.array([[left, top], [right, top], [right, bottom], [left, bottom]], np.float32)


LINE = quad(LEFT, TOP, RIGHT, BOTTOM)


def paper() -> np.ndarray:
    image = np.full((60, 180, 3), 245, np.uint8)
    image[TOP + 3 : BOTTOM - 3, LEFT:RIGHT:3] = 20
    return image


def reached(image: np.ndarray, *others: np.ndarray) -> list[float]:
    box = reach_dashes(np.stack([LINE, *others]), image)[0]
    np.testing.assert_array_equal(box[:, 1], LINE[:, 1])
    return [float(box[:, 0].min()), float(box[:, 0].max())]


def test_no_line() -> None:
    assert reach_dashes(np.zeros((0, 4, 2), np.float32), paper()).shape == (0, 4, 2)


def test_no_dash() -> None:
    assert reached(paper()) == [LEFT, RIGHT]


@pytest.mark.parametrize("inverted", [False, True])
@pytest.mark.parametrize("thick", [1, 2, 3])
def test_a_dash_at_either_end(thick: int, inverted: bool) -> None:
    image = paper()
    image[30 : 30 + thick, RIGHT + 3 : RIGHT + 11] = 20
    image[30 : 30 + thick, LEFT - 12 : LEFT - 4] = 20
    assert reached(255 - image if inverted else image) == [LEFT - 13, RIGHT + 12]


def test_at_the_borders_of_the_picture() -> None:
    image = np.full((20, 50, 3), 255, np.uint8)
    image[9:11, :6] = image[9:11, -6:] = 0
    line = quad(8, 0, 42, 20)[None]
    np.testing.assert_array_equal(reach_dashes(line, image), line)


@pytest.mark.parametrize(
    "ink",
    {
        "rule beside": np.s_[0:60, RIGHT + 4 : RIGHT + 6],
        "rule that goes on": np.s_[30:32, RIGHT + 2 : 180],
        "underline": np.s_[BOTTOM - 3 : BOTTOM - 1, RIGHT + 3 : RIGHT + 11],
        "letter": np.s_[TOP + 4 : BOTTOM - 4, RIGHT + 3 : RIGHT + 11],
        "far off": np.s_[30:32, RIGHT + 14 : RIGHT + 20],
        "dot": np.s_[29:32, RIGHT + 3 : RIGHT + 6],
    }.items(),
    ids=lambda each: each[0],
)
def test_other_ink_is_none(ink: tuple[str, tuple[slice, slice]]) -> None:
    image = paper()
    image[ink[1]] = 20
    assert reached(image) == [LEFT, RIGHT]


def test_a_dash_of_another_line_stays_there() -> None:
    image = paper()
    image[30:32, RIGHT + 3 : RIGHT + 11] = 20
    assert reached(image, quad(RIGHT + 1, TOP, RIGHT + 40, BOTTOM)) == [LEFT, RIGHT]


def test_a_turned_line_stays() -> None:
    image = paper()
    image[30:32, RIGHT + 3 : RIGHT + 11] = 20
    turned = LINE + np.array([[0, 0], [0, 2], [0, 2], [0, 0]], np.float32)
    np.testing.assert_array_equal(reach_dashes(turned[None], image), turned[None])
