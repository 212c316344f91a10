"""Lines: the size at which they are looked for, the crops, the directions, what is stacked, places of characters."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from postprocess.arrays import Image
from tablerec.ocr import lines
from tablerec.ocr.ink import crop_to_ink, cut_columns
from tablerec.ocr.line import Line
from tablerec.ocr.lines import CropReader, LineReader, centers_to_spans, find_lines, quad_to_crop, read_crops


class InkReader(LineReader):
    """Finds dark rectangles and reads the share of ink in the left half of each."""

    def __init__(self) -> None:
        self.sizes_wh: list[tuple[int, int]] = []

    def detect(self, image: Image) -> np.ndarray:
        self.sizes_wh.append(image.shape[1::-1])
        ink = (image.min(axis=2) < 128).astype(np.uint8)
        boxes = [cv2.boundingRect(c) for c in cv2.findContours(ink, cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_SIMPLE)[0]]
        quads = [[[x, y], [x + w, y], [x + w, y + h], [x, y + h]] for x, y, w, h in boxes]
        return np.array(quads, np.float32).reshape(-1, 4, 2)

    def recognize(self, crops: Sequence[Image]) -> list[Line]:
        shares = [float((crop[:, : max(1, crop.shape[1] // 2)] < 128).mean()) for crop in crops]
        return [Line(f"{share:.2f}", share) for share in shares]


def page(height: int, width: int, *boxes_xyxy: tuple[int, int, int, int]) -> Image:
    image = np.full((height, width, 3), 255, np.uint8)
    for x0, y0, x1, y1 in boxes_xyxy:
        image[y0:y1, x0:x1] = 0
    return image


@pytest.mark.parametrize("shape", [(0, 0, 3), (0, 9, 3), (9, 0, 3)])
def test_empty_picture(shape: tuple[int, int, int]) -> None:
    reader = InkReader()
    assert reader.read(np.zeros(shape, np.uint8)) == []
    assert reader.sizes_wh == []


def test_no_quads() -> None:
    assert InkReader().read_quads(page(9, 9), np.empty((0, 4, 2))) == []


@pytest.mark.parametrize("shape", [(1, 1), (1, 40_000), (40_000, 1), (3, 5000), (2500, 2500)])
def test_ground_alone(shape: tuple[int, int]) -> None:
    assert InkReader().read(page(*shape)) == []


@settings(max_examples=60)
@given(st.integers(8, 300), st.integers(8, 300), st.data())
def test_places_survive_every_change_of_size(height: int, width: int, data: st.DataObject) -> None:
    x0, y0 = data.draw(st.integers(1, width - 5)), data.draw(st.integers(1, height - 5))
    x1, y1 = data.draw(st.integers(x0 + 3, width - 1)), data.draw(st.integers(y0 + 3, height - 1))
    reader = InkReader()
    (quad,) = find_lines(reader, page(height, width, (x0, y0, x1, y1)))
    assert np.abs(quad - [[x0, y0], [x1, y0], [x1, y1], [x0, y1]]).max() <= 1
    assert all(side % lines.STRIDE == 0 for size in reader.sizes_wh for side in size)


def test_low_lines_are_looked_at_again_enlarged() -> None:
    reader = InkReader()
    find_lines(reader, page(65, 250, (10, 10, 60, 18), (10, 30, 60, 38)))
    first, second = (width - 2 * lines.MARGIN for width, _ in reader.sizes_wh)
    assert second / first == pytest.approx(lines.FAIR_LINE / 8, rel=0.15)


def test_high_lines_are_looked_at_once() -> None:
    reader = InkReader()
    find_lines(reader, page(300, 400, (10, 10, 160, 60)))
    assert reader.sizes_wh == [(448, 352)]


def test_enlarging_ends_at_the_most_pixels() -> None:
    reader = InkReader()
    find_lines(reader, page(2000, 2000, (10, 10, 60, 14)))
    assert reader.sizes_wh[0][0] * reader.sizes_wh[0][1] < 1.2 * lines.FIRST_PIXELS
    assert 0.8 * lines.MOST_PIXELS < reader.sizes_wh[1][0] * reader.sizes_wh[1][1] < 1.2 * lines.MOST_PIXELS


def test_text_at_the_edge_gets_a_margin_of_the_ground() -> None:
    image = page(64, 64, (0, 20, 40, 52))
    image[image == 255] = 200
    seen = []
    reader = InkReader()
    reader.detect = lambda framed: seen.append(framed) or np.empty((0, 4, 2), np.float32)  # type: ignore[method-assign]
    find_lines(reader, image)
    assert (seen[0][:, : lines.MARGIN] == 200).all()


@pytest.mark.parametrize(
    ("dark_end", "first_corner"),
    [((0, 0, 10, 20), 1), ((0, 40, 10, 60), 3)],
    ids=["runs downwards", "runs upwards"],
)
def test_tall_box_is_read_in_its_best_direction(dark_end: tuple[int, int, int, int], first_corner: int) -> None:
    quad = np.float32([[10, 10], [20, 10], [20, 70], [10, 70]])
    (word,) = read_crops(InkReader(), [page(60, 10, dark_end)], quad[None])
    assert float(word.text) > 0.6
    assert word.quad == tuple(map(tuple, np.roll(quad, -first_corner, axis=0).tolist()))


def test_narrow_character_is_no_dash() -> None:
    reader = InkReader()
    answers = [Line("1", 0.6), Line("-", 0.9), Line("-", 0.9)]
    reader.recognize = lambda crops: answers  # type: ignore[method-assign]
    (word,) = read_crops(reader, [page(20, 6)], np.zeros((1, 4, 2), np.float32))
    assert word.text == "1"


def test_words_keep_the_order_of_the_quads_and_lie_around_the_ink() -> None:
    boxes = [(5, 5, 25, 15), (40, 5, 60, 15), (5, 25, 25, 35)]
    quads = np.float32([[[a - 3, b - 3], [c + 3, b - 3], [c + 3, d + 3], [a - 3, d + 3]] for a, b, c, d in boxes[::-1]])
    words = InkReader().read_quads(page(50, 80, *boxes), quads)
    assert [word.quad[0] for word in words] == [(5, 25), (40, 5), (5, 5)]


def test_blank_answers_are_no_words_and_ends_are_trimmed() -> None:
    reader = InkReader()
    spans = ((0.0, 0.2), (0.2, 0.4), (0.4, 0.6), (0.6, 1.0))
    answers = [Line("  ", 0.9), Line(" ab ", 1.2, spans), Line("", 0.0)]
    reader.recognize = lambda crops: answers  # type: ignore[method-assign]
    (word,) = read_crops(reader, [page(9, 9)] * 3, np.zeros((3, 4, 2), np.float32))
    assert (word.text, word.score, word.char_spans) == ("ab", 1.0, spans[1:3])


def test_crop_of_a_box_is_a_slice() -> None:
    image = np.random.default_rng(0).integers(0, 256, (40, 60, 3), np.uint8)
    crop = quad_to_crop(image, np.float32([[10, 5], [50, 5], [50, 25], [10, 25]]))
    assert np.array_equal(crop, image[5:25, 10:50])


def test_crop_straightens() -> None:
    image = page(100, 100)
    quad = np.float32([[20, 50], [60, 20], [72, 36], [32, 66]])
    cv2.fillPoly(image, [quad.astype(int)], (0, 0, 0))
    crop = quad_to_crop(image, quad)
    assert crop.shape == (20, 50, 3)
    assert (crop[2:-2, 2:-2] < 60).all()


def test_crop_far_right_in_a_picture_wider_than_opencv_warps() -> None:
    image = page(20, 40_000, (39_950, 5, 39_990, 15))
    assert (quad_to_crop(image, np.float32([[39_950, 5], [39_990, 5], [39_990, 15], [39_950, 15]])) == 0).all()


@pytest.mark.parametrize("quad", [[[0, 0]] * 4, [[99, 99]] * 4, [[-5, -5], [3, -5], [3, 3], [-5, 3]]])
def test_crop_of_a_quad_without_area_or_outside(quad: list[list[float]]) -> None:
    crop = quad_to_crop(page(10, 10), np.float32(quad))
    assert crop.dtype == np.uint8 and crop.ndim == 3 and min(crop.shape) > 0
    assert (crop == 255).all()  # what is beyond the picture goes on as its border


@given(st.text(alphabet="ab .中", max_size=12), st.data())
def test_spans_rise_and_hold_their_character(text: str, data: st.DataObject) -> None:
    count = sum(not char.isspace() for char in text)
    centers = sorted(data.draw(st.lists(st.floats(0, 1), min_size=count, max_size=count)))
    spans = centers_to_spans(text, centers)
    if count == 0:
        assert spans is None
        return
    assert spans is not None
    assert len(spans) == len(text)
    flat = np.array(spans)
    assert (flat >= 0).all()
    assert (flat <= 1).all()
    assert (np.diff(flat.ravel()) >= -1e-9).all()
    visible = flat[[not char.isspace() for char in text]]
    assert (visible[:, 0] <= np.array(centers) + 1e-9).all()
    assert (visible[:, 1] >= np.array(centers) - 1e-9).all()


def test_spans_beside_a_wide_gap_stay_small() -> None:
    spans = centers_to_spans("12 34", [0.05, 0.15, 0.85, 0.95])
    assert spans is not None
    assert np.allclose(spans, [(0, 0.1), (0.1, 0.2), (0.2, 0.8), (0.8, 0.9), (0.9, 1)])


def test_spans_are_unknown_where_the_numbers_disagree() -> None:
    assert centers_to_spans("abc", [0.1, 0.5]) is None


class TurnedReader(InkReader):
    """Says of a line whose ink is on the right that it is turned."""

    def recognize(self, crops: Sequence[Image]) -> list[Line]:
        lines = super().recognize(crops)
        return [Line("", 0.0, is_turned=True) if line.score < 0.4 else line for line in lines]


def test_a_line_said_to_be_turned_is_read_upside_down() -> None:
    crop = np.full((20, 80, 3), 255, np.uint8)
    crop[:, 44:] = 0
    quads = np.array([[[0, 0], [80, 0], [80, 20], [0, 20]]], np.float32)
    [word] = read_crops(TurnedReader(), [crop], quads)
    assert word.text == "0.90" and word.quad[0] == (80, 20)
    weak = crop.copy()
    weak[:, 60:] = 255
    assert read_crops(TurnedReader(), [weak], quads) == []


def test_an_upright_box_on_whole_pixels_is_cut_out_as_it_is() -> None:
    image = np.random.default_rng(0).integers(0, 256, (30, 40, 3)).astype(np.uint8)
    whole = np.float32([[3, 4], [33, 4], [33, 20], [3, 20]])
    crop = quad_to_crop(image, whole)
    assert (crop == image[4:20, 3:33]).all()
    assert not np.shares_memory(crop, image)
    nearly = whole + np.float32([[0, 0], [0, 0], [0, 0], [0.002, 0]])  # is warped, by too little to be seen
    assert (quad_to_crop(image, nearly) == crop).all()


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


@pytest.mark.parametrize("at_top", [True, False])
def test_a_rule_askew_beside_a_narrow_character_is_no_character(at_top: bool) -> None:
    crop = np.full((28, 17, 3), 255, np.uint8)
    crop[5:16, 5:11] = 0
    crop[26:28, 3:17] = 0  # not along all of the side: the crop is cut along a quad
    assert cut_columns(crop[::-1] if at_top else crop) == []
    crop[26:28, 3:17], crop[26:28, 5:11] = 255, 0  # as wide as the character
    assert cut_columns(crop)


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
