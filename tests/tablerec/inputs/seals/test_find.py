"""Seals are found, and coloured print is none."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image, ImageDraw, ImageFont

from tablerec.inputs.seals import without_seals
from tablerec.inputs.seals.find import find_shapes
from tests.helpers.drawing import WHITE, Color, Look
from tests.tablerec.inputs.seals.drawing import (
    BLUE,
    GREEN,
    PURPLE,
    RED,
    draw_numbers,
    filled,
    frame,
    jpeg,
    lines,
    press,
    ring,
)


@pytest.mark.parametrize("shape", [(0, 0, 3), (0, 50, 3), (1, 1, 3), (5, 2000, 3)])
def test_nothing_to_see(shape: tuple[int, ...]) -> None:
    image = np.zeros(shape, np.uint8)
    cleaned, seals = without_seals(image)
    assert cleaned is image
    assert seals == []


@pytest.mark.parametrize("color", [RED, BLUE, GREEN, PURPLE], ids=["red", "blue", "green", "purple"])
@pytest.mark.parametrize("quality", [None, 60])
@pytest.mark.parametrize("kind", [ring, frame])
def test_a_seal_over_a_table_is_found_where_it_is(kind: type, quality: int | None, color: Color) -> None:
    image = press(draw_numbers().image, kind(160), (130, 80), color)
    found = find_shapes(image if quality is None else jpeg(image, quality))
    assert len(found) == 1
    assert found[0].is_round == (kind is ring)
    np.testing.assert_allclose(found[0].corners.mean(axis=0), (210, 160), atol=6)
    assert 120 < np.ptp(found[0].corners[:, 0]) < 175


def test_two_seals() -> None:
    image = press(draw_numbers().image, ring(120), (60, 60), RED)
    found = find_shapes(press(image, ring(120), (260, 100), BLUE))
    assert sorted(round(float(shape.corners[:, 0].mean()), -1) for shape in found) == [120, 320]


def test_a_seal_where_there_is_no_print() -> None:
    blank = np.full((300, 300, 3), 255, np.uint8)
    assert len(find_shapes(press(blank, ring(200), (50, 50), RED))) == 1


@pytest.mark.parametrize("quality", [None, 60])
@pytest.mark.parametrize("color", [RED, BLUE, GREEN, PURPLE], ids=["red", "blue", "green", "purple"])
@pytest.mark.parametrize("kind", [filled, lines])
def test_fields_and_lines_without_a_frame(kind: type, quality: int | None, color: Color) -> None:
    image = press(draw_numbers().image, kind(160), (130, 80), color)
    [found] = find_shapes(image if quality is None else jpeg(image, quality))
    assert found.is_filled == (kind is filled) and not found.is_round
    np.testing.assert_allclose(found.corners.mean(axis=0), (210, 160), atol=10)


def test_rules_of_the_same_colour_do_not_hide_a_ring() -> None:
    image = draw_numbers(Look(size=20, gap=16, leading=9, margin=50, line=RED)).image
    [found] = find_shapes(press(image, ring(160), (130, 80), RED))
    assert found.is_round
    np.testing.assert_allclose(found.corners.mean(axis=0), (210, 160), atol=6)


def test_a_ring_counts_and_not_what_is_framed_in_it() -> None:
    image = press(draw_numbers().image, ring(190, middle=""), (120, 60), RED)
    [found] = find_shapes(press(image, frame(110, degrees=4), (160, 100), RED))
    assert found.is_round


@pytest.mark.parametrize("side", [24, 28, 29, 31, 40, 57])
def test_small_ones_are_no_error(side: int) -> None:
    find_shapes(press(np.full((90, 90, 3), 255, np.uint8), ring(side), (20, 20), RED))


@pytest.mark.parametrize("scale", [1, 3])
def test_the_size_of_the_picture_does_not_matter(scale: int) -> None:
    image = press(draw_numbers().image, ring(160), (130, 80), RED)
    found = find_shapes(np.repeat(np.repeat(image, scale, axis=0), scale, axis=1))
    np.testing.assert_allclose(found[0].corners.mean(axis=0) / scale, (210, 160), atol=4)


LOOKS = {
    "black": Look(size=20),
    "red numbers": Look(size=20, inks={2: RED, 4: RED}),
    "coloured head": Look(size=20, fills={0: (31, 78, 121)}, inks={0: (255, 255, 255)}),
    "red head": Look(size=20, fills={0: RED}, inks={0: (255, 255, 255)}),
    "rows": Look(size=20, fills={1: (221, 235, 247), 3: (252, 228, 214), 5: (226, 239, 218)}),
    "coloured rules": Look(size=20, line=RED, thickness=2),
    "all blue": Look(size=20, line=BLUE, ink=BLUE),
    "tight": Look(size=20, leading=0, gap=2, inks={1: RED, 2: RED, 3: RED}),
    "highlighter": Look(size=20, fills={2: (255, 255, 0)}),
    "on colour": Look(size=20, ground=(200, 220, 255)),
    "dark": Look(size=20, ground=(20, 30, 60), ink=(240, 240, 240), line=(90, 120, 200)),
}


@pytest.mark.parametrize("quality", [None, 50])
@pytest.mark.parametrize("look", LOOKS.values(), ids=LOOKS)
def test_coloured_tables_come_back_as_they_are(look: Look, quality: int | None) -> None:
    image = draw_numbers(look).image
    image = image if quality is None else jpeg(image, quality)
    cleaned, seals = without_seals(image)
    assert seals == []
    assert cleaned is image


def test_noise_and_photographs_have_none() -> None:
    rng = np.random.default_rng(0)
    assert find_shapes(rng.integers(0, 256, (200, 300, 3), np.uint8)) == []
    smooth = np.kron(rng.integers(0, 256, (6, 9, 3), np.uint8), np.ones((40, 40, 1), np.uint8))
    assert find_shapes(smooth) == []


@pytest.mark.parametrize("quality", [None, 60])
def test_a_ring_over_a_head_of_its_own_colour_is_found(quality: int | None) -> None:
    image = draw_numbers(Look(size=20, gap=16, leading=9, margin=50, fills={0: PURPLE}, inks={0: WHITE})).image
    image = press(image, ring(170), (130, 50), PURPLE)
    found = find_shapes(image if quality is None else jpeg(image, quality))
    assert any(each.is_round and np.abs(each.corners.mean(axis=0) - (215, 135)).max() < 20 for each in found)


def test_a_ring_among_rules_and_numbers_of_its_hue_is_found() -> None:
    image = draw_numbers(Look(size=20, gap=16, leading=9, margin=50, line=RED, inks={2: RED, 4: RED})).image
    [found] = find_shapes(press(image, ring(160), (130, 80), RED))
    assert found.is_round
    np.testing.assert_allclose(found.corners.mean(axis=0), (210, 160), atol=6)


@pytest.mark.parametrize("ink", [RED, BLUE, GREEN])
def test_a_table_of_coloured_numbers_is_no_ring(ink: Color) -> None:
    assert find_shapes(draw_numbers(Look(size=20, gap=16, leading=9, margin=50, ink=ink, line=ink)).image) == []


@pytest.mark.parametrize("degrees", [2.5, -2.5])
def test_a_field_of_ink_that_is_turned_a_little_and_lies_over_print_is_found(degrees: float) -> None:
    image = np.full((300, 400, 3), 255, np.uint8)
    image[20:22, 10:390] = image[278:280, 10:390] = 0
    image[150:156, 180:240:6] = image[150:156, 181:240:6] = 0
    [found] = find_shapes(press(image, filled(160, degrees=degrees), (130, 80), RED))
    assert found.is_filled
    assert find_shapes(press(image, filled(160, degrees=0.5), (130, 80), RED)) == []


def line(degrees: float) -> np.ndarray:
    """A word stamped without a frame."""
    canvas = Image.new("L", (180, 180))
    ImageDraw.Draw(canvas).text((90, 90), "PAGADO", 255, ImageFont.load_default(34), anchor="mm")
    return np.asarray(canvas.rotate(degrees, Image.Resampling.BICUBIC), np.float32) / 255


@pytest.mark.parametrize("degrees", [-14, 11])
def test_one_line_without_a_frame_is_a_stamp_where_it_stands_aslant(degrees: float) -> None:
    [found] = find_shapes(press(draw_numbers().image, line(degrees), (130, 80), PURPLE))
    assert not found.is_round
    np.testing.assert_allclose(found.corners.mean(axis=0), (220, 170), atol=8)


def test_one_line_that_is_level_or_beside_print_is_coloured_text() -> None:
    image = draw_numbers().image
    assert find_shapes(press(image, line(0), (130, 80), PURPLE)) == []
    beside = np.full((400, image.shape[1], 3), 255, np.uint8)
    beside[:20] = image[:20]
    assert find_shapes(press(beside, line(11), (130, 150), PURPLE)) == []
