"""Crops: the picture and its cells stay together, whatever happens to them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tablerec.training.data.crops import TEXT_HEIGHT, crop_anew, crop_to_cells
from tests.helpers.grids import grid_quads


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
        image, _ = crop_anew(page, given, 1.0, np.random.default_rng(seed), max_pixels=90_000)
        assert image.shape[0] * image.shape[1] <= 91_000


def test_cells_beyond_the_picture_are_kept() -> None:
    given = grid_quads([-10, 30, 80], [-5, 30, 70])
    for seed in range(20):
        image, quads = crop_anew(np.full((60, 70, 3), 255, np.uint8), given, 10.0, np.random.default_rng(seed))
        scale = np.ptp(quads[..., 0]) / np.ptp(given[..., 0])
        assert quads - quads[0, 0] == pytest.approx(scale * (given - given[0, 0]), abs=1.0)
        assert 0.1 < scale < 10 and min(image.shape[:2]) > 0


def test_a_window_where_there_are_few_cells_is_the_picture() -> None:
    page = np.full((50, 60, 3), 200, np.uint8)
    for quads in (np.zeros((0, 4, 2), np.float32), grid_quads([5, 30, 55], [5, 20])):
        image, kept = crop_to_cells(page, quads, 2, np.random.default_rng(0))
        assert image.shape == page.shape and (kept == quads).all()


@given(st.integers(1, 30), st.integers(1, 30), st.integers(1, 60), st.integers(0, 9999))
def test_a_window_holds_whole_cells_and_no_more(n_rows: int, n_cols: int, most: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    xs, ys = (4 + np.concatenate([[0], np.cumsum(rng.integers(3, 9, count))]) for count in (n_cols, n_rows))
    given_quads = grid_quads(xs.tolist(), ys.tolist())
    page = np.full((int(ys[-1]) + 5, int(xs[-1]) + 5, 3), 255, np.uint8)
    numbers = np.arange(len(given_quads)) + 1
    for number, (x0, y0, x1, y1) in zip(numbers, given_quads[:, [0, 2]].reshape(-1, 4).astype(int), strict=True):
        page[y0:y1, x0:x1] = number // 200, number % 200, 0
    image, quads = crop_to_cells(page, given_quads, most, rng)
    assert len(quads) == len(given_quads) if len(given_quads) <= most else 0 < len(quads) <= most or most < 4
    assert (quads >= 0).all() and (quads <= np.array(image.shape[1::-1])).all()
    for x0, y0, x1, y1 in quads[:, [0, 2]].reshape(-1, 4).astype(int):
        assert len(np.unique(image[y0:y1, x0:x1].reshape(-1, 3), axis=0)) == 1  # its own colour, to its last pixel
    inked = len(np.unique(image[image[..., 2] == 0].reshape(-1, 3), axis=0))
    assert inked == len(quads)  # no cell is shown that is not labelled


def test_a_window_is_not_always_the_same() -> None:
    quads = grid_quads(list(range(0, 600, 20)), list(range(0, 600, 12)))
    page = np.zeros((600, 600, 3), np.uint8)
    windows = [crop_to_cells(page, quads, 200, np.random.default_rng(seed)) for seed in range(20)]
    assert all(100 <= len(kept) <= 200 for _, kept in windows)
    assert len({kept[0, 0].tobytes() for _, kept in windows} | {image.shape for image, _ in windows}) > 1
    assert min(min(image.shape[:2]) for image, _ in windows) > 100


def test_a_header_over_all_columns_is_cut_with_them() -> None:
    header = np.array([[[0, 0], [400, 0], [400, 10], [0, 10]]], np.float32)
    quads = np.concatenate([header, grid_quads(list(range(0, 401, 20)), [10, 20])])
    image, kept = crop_to_cells(np.zeros((20, 400, 3), np.uint8), quads, 6, np.random.default_rng(3))
    assert len(kept) <= 6 and np.ptp(kept[0, :, 0]) == image.shape[1] and np.ptp(kept[0, :, 1]) == 10


def test_cells_upon_one_another_end_all_the_same() -> None:
    quads = np.repeat(grid_quads([0, 20], [0, 10]), 50, axis=0)
    image, kept = crop_to_cells(np.zeros((10, 20, 3), np.uint8), quads, 5, np.random.default_rng(0))
    assert len(kept) == 50 and image.shape == (10, 20, 3)
