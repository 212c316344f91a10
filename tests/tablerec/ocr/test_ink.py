"""Ink in cells: what is text and what is ground or ruling."""

from __future__ import annotations

import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tablerec.ocr.ink import LEAST_CONTRAST, _strokes, crop_to_ink, ground_color, inner_quad


def cell(height: int = 40, width: int = 100, ground: int = 255) -> np.ndarray:
    return np.full((height, width, 3), ground, np.uint8)


@pytest.mark.parametrize("ground", [0, 90, 255])
@pytest.mark.parametrize("shape", [(1, 1), (2, 50), (40, 100)])
def test_ground_alone(shape: tuple[int, int], ground: int) -> None:
    assert crop_to_ink(cell(*shape, ground)) is None


def test_noise_is_no_ink() -> None:
    noise = np.random.default_rng(0).integers(-15, 16, (40, 100, 3))
    assert crop_to_ink((cell(ground=200) + noise).astype(np.uint8)) is None


@pytest.mark.parametrize("shape", [(1, 1), (1, 2), (7, 9), (8, 5)])
def test_the_ground_is_the_median_of_each_channel(shape: tuple[int, int]) -> None:
    crop = np.random.default_rng(1).integers(0, 256, (*shape, 3)).astype(np.uint8)
    assert ground_color(crop).tolist() == np.median(crop.reshape(-1, 3), axis=0).tolist()


@pytest.mark.parametrize("ground", [0, 255])
def test_rulings_on_all_sides_are_no_ink(ground: int) -> None:
    ruled = cell(ground=ground)
    ruled[:3] = ruled[-2:] = ruled[:, :2] = ruled[:, -4:] = 255 - ground
    assert crop_to_ink(ruled) is None


@settings(max_examples=50)
@given(st.integers(5, 80), st.integers(5, 25), st.integers(1, 14), st.integers(1, 9), st.booleans(), st.booleans())
def test_box_is_around_the_ink(x: int, y: int, w: int, h: int, dark: bool, ruled: bool) -> None:
    image = cell(ground=0 if dark else 255)
    ink = 255 if dark else 0
    image[y : y + h, x : x + w] = ink
    if ruled:
        image[:2] = image[:, -2:] = ink
    found = crop_to_ink(image)
    assert found is not None
    assert found.box_xyxy == (x, y, x + w, y + h)
    assert found.crop.shape[0] > h and found.crop.shape[1] > w
    assert (found.crop[0] == (0 if dark else 255)).all()


def test_dash_gets_the_height_of_a_line() -> None:
    image = cell()
    image[20:22, 40:48] = 0
    found = crop_to_ink(image)
    assert found is not None
    assert 8 <= found.crop.shape[0] <= 16


def test_inner_quad_follows_a_turned_quad() -> None:
    quad = np.array([[0, 10], [10, 0], [15, 5], [5, 15]], float)
    size_wh = (14, 7)
    assert np.allclose(inner_quad(quad, (0, 0, *size_wh), size_wh), quad)
    assert np.allclose(inner_quad(quad, (7, 0, 14, 7), size_wh), [[5, 5], [10, 0], [15, 5], [10, 10]])


@given(st.integers(0, 2**32 - 1), st.integers(1, 12), st.integers(1, 12), st.integers(1, 255))
def test_ink_is_what_differs_from_the_ground_in_any_channel(seed: int, height: int, width: int, spread: int) -> None:
    crop = np.random.default_rng(seed).integers(0, spread + 1, (height, width, 3), np.uint8)
    difference = np.abs(crop - ground_color(crop)).max(axis=2)
    most = difference.max()
    inked = (difference > max(LEAST_CONTRAST, most / 3)) & (most >= LEAST_CONTRAST)
    ground, boxes = _strokes(crop)
    assert ground == ground_color(crop).tolist()
    parts = cv2.connectedComponentsWithStats(inked.astype(np.uint8), connectivity=8)[2][1:, :4]
    expected = sorted([x, y, x + w, y + h] for x, y, w, h in parts.tolist())
    assert sorted(boxes.tolist()) == expected
