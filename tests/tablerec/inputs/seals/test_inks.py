"""Print and seal are told from one another."""

from __future__ import annotations

import cv2
import numpy as np
import pytest

from tablerec.inputs.seals import without_seals
from tests.helpers.drawing import Color, Look
from tests.tablerec.inputs.seals.drawing import BLUE, GREEN, PURPLE, RED, draw_numbers, frame, jpeg, press, ring

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
