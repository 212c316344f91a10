"""Characters and lines one below another: cut, read one by one, and chosen against other readings."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pytest

from postprocess.arrays import Image
from tablerec.ocr.ink import crop_to_ink, cut_columns
from tablerec.ocr.line import Line
from tablerec.ocr.lines import CropReader, read_crops

SIZE, STEP = 20, 26


class Squares(CropReader):
    """Reads square crops as a character, and long ones as a word, if ink is at their right end."""

    def recognize(self, crops: Sequence[Image]) -> list[Line]:
        return [self._line(crop) for crop in crops]

    def _line(self, crop: Image) -> Line:
        height, width = crop.shape[:2]
        if 0.6 < width / height < 1.6:
            return Line("字", 0.95)
        is_word = width > 2 * height and (crop[:, -SIZE:] < 99).any() and not (crop[:, :SIZE] < 99).any()
        return Line("word", 0.99) if is_word else Line("?", 0.4)


def column(count: int, width: int = 28) -> Image:
    image = np.full((STEP * count + 4, width, 3), 255, np.uint8)
    for row in range(count):
        top = 5 + STEP * row
        image[top : top + SIZE, 4 : 4 + SIZE] = 0
        image[top + 3 : top + SIZE - 3, 7 : 1 + SIZE] = 255
    return image


def whole(crop: Image, x: float = 0, y: float = 0) -> np.ndarray:
    height, width = crop.shape[:2]
    return np.array([[x, y], [x + width, y], [x + width, y + height], [x, y + height]], np.float32)


def test_no_ink_is_no_column() -> None:
    assert cut_columns(np.full((90, 30, 3), 255, np.uint8)) == []


@pytest.mark.parametrize("count", [2, 3, 6])
def test_each_character_has_its_box(count: int) -> None:
    [boxes] = cut_columns(column(count))
    assert len(boxes) == count
    for row, (x0, y0, x1, y1) in enumerate(boxes):
        assert x0 <= 4 and x1 >= 4 + SIZE and y0 <= 5 + STEP * row and y1 >= 5 + STEP * row + SIZE
    assert all(a[3] <= b[1] for a, b in pairwise(boxes))


def test_strokes_of_one_character_stay_together() -> None:
    image = np.full((56, 28, 3), 255, np.uint8)
    image[5:25:4, 4:24] = image[5:25, 4:6] = image[33:36, 4:24] = image[42:45, 4:24] = (
        0  # a square, and below it two bars
    )
    assert [len(boxes) for boxes in cut_columns(image)] == [2]
    assert cut_columns(image[28:]) == []


def test_a_dotted_letter_is_no_column() -> None:
    image = np.full((40, 14, 3), 255, np.uint8)
    image[5:8, 5:8] = image[12:34, 5:8] = 0
    assert cut_columns(image) == []


def test_strokes_at_the_border_belong_to_their_character() -> None:
    image = column(3, width=24)[:, 4:]
    [boxes] = cut_columns(image)
    assert len(boxes) == 3


def test_a_rule_along_the_column_is_none_of_it() -> None:
    image = column(3, width=34)
    image[:, 31:33] = 0
    [boxes] = cut_columns(image)
    assert len(boxes) == 3 and max(box[2] for box in boxes) <= 31


@pytest.mark.parametrize("count", [2, 3, 5])
def test_a_column_is_read_by_its_characters(count: int) -> None:
    crop = column(count)
    words = read_crops(Squares(), [crop], whole(crop, 100, 50)[None])
    assert [word.text for word in words] == ["字"] * count
    tops = [word.quad[0][1] for word in words]
    assert tops == sorted(tops) and all(50 <= top <= 50 + crop.shape[0] for top in tops)
    assert all(word.quad[0][0] < word.quad[1][0] for word in words)


def test_one_character_is_one_word() -> None:
    crop = column(1)
    assert [word.text for word in read_crops(Squares(), [crop], whole(crop)[None])] == ["字"]


def test_a_turned_word_that_reads_better_is_no_column() -> None:
    crop = np.concatenate([column(3), np.full((SIZE, 28, 3), 255, np.uint8)])
    [word] = read_crops(Squares(), [crop], whole(crop)[None])
    assert word.text == "word" and word.quad[0][1] != word.quad[1][1]


def test_a_character_that_is_a_line_of_its_own_is_read_once() -> None:
    crop = column(3)
    one = crop[STEP * 2 : STEP * 3 + 4]
    quads = np.stack([whole(crop), whole(one, 0, STEP * 2)])
    words = read_crops(Squares(), [crop, one], quads)
    assert [word.text for word in words] == ["字"] * 3


def test_a_second_look_reads_lines_one_below_another() -> None:
    image = np.full((120, 120, 3), 255, np.uint8)
    image[20 : 20 + column(3).shape[0], 40:68] = column(3)
    quad = np.array([[[5, 5], [115, 5], [115, 115], [5, 115]]], np.float32)
    assert [word.text for word in Squares().read_quads(image, quad)] == ["字"] * 3


def test_ink_of_a_column_has_ground_by_its_width() -> None:
    image = np.full((140, 80, 3), 255, np.uint8)
    image[10 : 10 + column(4).shape[0], 20:48] = column(4)
    found = crop_to_ink(image)
    assert found is not None
    assert found.crop.shape[0] >= 2.5 * found.crop.shape[1]
