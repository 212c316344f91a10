"""Print and seal are told from one another."""

from __future__ import annotations

import cv2
import numpy as np
import pytest

from tablerec.inputs.seals import without_seals
from tests.helpers.drawing import Color, Look
from tests.tablerec.inputs.seals.drawing import (
    BLUE,
    GREEN,
    PURPLE,
    RED,
    cover,
    draw_numbers,
    filled,
    frame,
    jpeg,
    press,
    ring,
)

COLORS = pytest.mark.parametrize("color", [RED, BLUE, GREEN, PURPLE], ids=["red", "blue", "green", "purple"])


def grey(image: np.ndarray) -> np.ndarray:
    return np.asarray(cv2.cvtColor(image, cv2.COLOR_BGR2GRAY), float)


@COLORS
@pytest.mark.parametrize("kind", [ring, frame])
def test_print_is_as_it_was(kind: type, color: Color) -> None:
    clean = draw_numbers().image
    cleaned, [_] = without_seals(press(clean, kind(160), (130, 80), color))
    part = np.s_[80:240, 130:290]
    dark, light = grey(clean)[part] < 40, grey(clean)[part] > 250
    assert np.quantile(grey(cleaned)[part][dark], 0.95) < 90
    assert np.quantile(grey(cleaned)[part][light], 0.02) > 200


@COLORS
def test_print_is_legible_after_jpeg(color: Color) -> None:
    clean = draw_numbers().image
    cleaned, [_] = without_seals(jpeg(press(clean, ring(160), (130, 80), color), 70))
    difference = np.abs(grey(cleaned) - grey(clean))[80:240, 130:290]
    assert difference.mean() < 9


@pytest.mark.parametrize("scale", [2, 6])
def test_large_pictures(scale: int) -> None:
    def enlarged(image: np.ndarray) -> np.ndarray:
        return np.asarray(cv2.resize(image, None, fx=scale, fy=scale, interpolation=cv2.INTER_CUBIC), np.uint8)

    clean = draw_numbers().image
    cleaned, [_] = without_seals(enlarged(press(clean, ring(160), (130, 80), RED)))
    part = np.s_[80 * scale : 240 * scale, 130 * scale : 290 * scale]
    assert np.abs(grey(cleaned) - grey(enlarged(clean)))[part].mean() < 8


def test_other_pixels_stay() -> None:
    image = press(draw_numbers().image, ring(120), (150, 80), RED)
    cleaned, [_] = without_seals(image)
    changed = (cleaned != image).any(axis=2)
    assert changed.any()
    changed[70:210, 140:280] = False
    assert not changed.any()


def test_the_ground_is_that_around_the_seal() -> None:
    fills = dict.fromkeys((1, 2, 3), (221, 235, 247))
    look = Look(size=20, gap=16, leading=9, margin=50, fills=fills)
    clean = draw_numbers(look).image
    cleaned, [_] = without_seals(press(clean, ring(110), (150, 90), RED))
    ground = np.abs(cleaned.astype(int) - clean)[92:190, 160:250]
    assert np.median(ground) < 3


@COLORS
def test_the_seal_alone(color: Color) -> None:
    ink = ring(160)
    _, [(_, parted)] = without_seals(press(draw_numbers().image, ink, (130, 80), color))
    x0, y0, _, _ = parted.box_xyxy
    seal = grey(parted.seal)[80 - y0 : 240 - y0, 130 - x0 : 290 - x0]
    assert np.quantile(seal[ink > 0.9], 0.9) < 140
    assert np.quantile(seal[ink < 0.02], 0.05) > 200
    assert np.abs(np.array(parted.color) - color).max() < 40


@COLORS
@pytest.mark.parametrize("quality", [None, 55, 75])
def test_no_ghosts_beside_print(color: Color, quality: int | None) -> None:
    clean = draw_numbers().image
    image = press(clean, ring(160), (130, 80), color)
    cleaned, [_] = without_seals(image if quality is None else jpeg(image, quality))
    part = np.s_[80:240, 130:290]
    near_print = cv2.dilate((grey(clean) < 200).astype(np.uint8), np.ones((9, 9), np.uint8))[part] > 0
    assert (grey(cleaned)[part][~near_print] < 170).mean() < (0.002 if quality is None else 0.025)


@COLORS
def test_print_under_opaque_ink_stays(color: Color) -> None:
    clean = draw_numbers().image
    ink = filled(160)
    cleaned, [_] = without_seals(cover(clean, ink, (130, 80), color))
    part = np.s_[80:240, 130:290]
    dark = (grey(clean)[part] < 40) & (ink > 0.95)
    assert np.median(grey(cleaned)[part][dark]) < 170
    assert np.median(grey(cleaned)[part][(grey(clean)[part] > 250) & (ink > 0.95)]) > 230


@COLORS
def test_dots_under_ink_stay(color: Color) -> None:
    clean = np.full((200, 200, 3), 255, np.uint8)
    clean[40:160:20, 30:170] = 0
    dots = [(x, y) for x in range(60, 140, 16) for y in range(70, 130, 20)]
    for x, y in dots:
        clean[y : y + 3, x : x + 3] = 0
    cleaned, [_] = without_seals(press(clean, ring(150), (25, 25), color))
    assert all(grey(cleaned)[y + 1, x + 1] < 110 for x, y in dots)


@COLORS
def test_points_and_minus_signs_under_strokes_stay(color: Color) -> None:
    clean = np.full((200, 240, 3), 255, np.uint8)
    signs = []
    for y in range(60, 150, 24):
        for x in range(60, 170, 36):
            # Two letters, a point of half their darkness between them, and a minus before them.
            clean[y : y + 14, [x, x + 10]] = clean[y : y + 14, [x + 1, x + 11]] = 0
            clean[y + 11 : y + 13, x + 5 : x + 7] = clean[y + 6 : y + 8, x - 8 : x - 3] = 110
            signs += [(x + 5, y + 11), (x - 6, y + 6)]
    ink = ring(170)
    ink[45:125, 15:155] = np.indices((80, 140)).sum(axis=0) % 16 < 8
    cleaned, [_] = without_seals(jpeg(press(clean, ink, (35, 20), color), 90))
    lost = [grey(cleaned)[y : y + 2, x : x + 2].min() > 190 for x, y in signs]
    assert np.mean(lost) < 0.2
