"""Crops: the picture and its cells stay together, whatever happens to them."""

from __future__ import annotations

import numpy as np
import pytest

from tablerec.training.crops import TEXT_HEIGHT, crop_anew
from tests.tablerec.training.grids import grid_quads


def draw_cells(size_hw: tuple[int, int], quads: np.ndarray) -> np.ndarray:
    """White, with black cells."""
    image = np.full((*size_hw, 3), 255, np.uint8)
    for x0, y0, x1, y1 in quads[:, [0, 2]].reshape(-1, 4).astype(int):
        image[y0:y1, x0:x1] = 0
    return image


def test_a_page_without_cells() -> None:
    page = np.full((50, 60, 3), 200, np.uint8)
    for seed in range(10):
        image, quads = crop_anew(page, np.zeros((0, 4, 2), np.float32), None, np.random.default_rng(seed))
        assert quads.shape == (0, 4, 2) and image.shape[0] >= 50 and image.shape[1] >= 60


@pytest.mark.parametrize("seed", range(20))
def test_cells_stay_on_their_ink(seed: int) -> None:
    given = grid_quads([40, 90, 130], [30, 45, 70])
    image, quads = crop_anew(draw_cells((120, 200), given), given, 12.0, np.random.default_rng(seed))
    height, width = image.shape[:2]
    assert quads.shape == given.shape and image.dtype == np.uint8 and image.flags["C_CONTIGUOUS"]
    low, high = quads.reshape(-1, 2).min(axis=0), quads.reshape(-1, 2).max(axis=0)
    assert (low >= 0).all() and (high <= np.array([width, height]) + 1e-3).all()
    dark = np.argwhere(image[..., 0] < 128)[:, ::-1]
    np.testing.assert_allclose(dark.min(axis=0), low, atol=1.5)
    np.testing.assert_allclose(dark.max(axis=0) + 1, high, atol=1.5)


def test_cuts_go_from_close_to_loose() -> None:
    given = grid_quads([40, 130], [40, 70])
    page = draw_cells((110, 170), given)
    left = [crop_anew(page, given, None, np.random.default_rng(seed))[1].min() for seed in range(60)]
    assert min(left) < 4 and max(left) > 30


def test_text_comes_out_at_the_height_at_which_the_detector_looks() -> None:
    given = grid_quads([40, 130], [40, 70])
    heights = []
    for seed in range(40):
        _, quads = crop_anew(draw_cells((110, 170), given), given, 30.0, np.random.default_rng(seed))
        heights.append(float(np.ptp(quads[0, :, 1])))
    assert TEXT_HEIGHT[0] - 0.5 <= min(heights) < 12 and 20 < max(heights) <= TEXT_HEIGHT[1] + 0.5


def test_small_text_is_not_enlarged_without_end_nor_large_pages_beyond_the_limit() -> None:
    given = grid_quads([10, 20], [10, 20])
    page = draw_cells((400, 400), given)
    for seed in range(10):
        image, _ = crop_anew(page, given, 1.0, np.random.default_rng(seed), most_pixels=90_000)
        assert image.shape[0] * image.shape[1] <= 91_000


def test_cells_beyond_the_picture_are_kept() -> None:
    given = grid_quads([-10, 30, 80], [-5, 30, 70])
    for seed in range(20):
        image, quads = crop_anew(np.full((60, 70, 3), 255, np.uint8), given, 10.0, np.random.default_rng(seed))
        assert len(quads) == 4 and min(image.shape[:2]) > 0
