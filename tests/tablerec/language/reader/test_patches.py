from __future__ import annotations

import numpy as np
import pytest

from tablerec.language.reader.patches import MARGIN, PATCH_HEIGHT, PATCH_WIDTH, count_patches, cut, fit
from tablerec.language.reader.vocabulary import PLACES


@pytest.mark.parametrize("size", [(1, 1), (16, 16), (17, 300), (1000, 3), (40, 4000), (3000, 2000)])
@pytest.mark.parametrize("most", [6, 160, 1400])
def test_a_picture_has_few_enough_patches_wherever_it_is_cut(size: tuple[int, int], most: int) -> None:
    grey, scale = fit(np.zeros((*size, 3), np.uint8), most)
    height, width = grey.shape
    assert 0 < scale <= 1 and max(-(-height // PATCH_HEIGHT), -(-width // PATCH_WIDTH)) + 1 <= PLACES
    if scale > 0.01:
        assert count_patches(height + PATCH_HEIGHT - 1, width + PATCH_WIDTH - 1) <= max(most, 4)


def test_small_pictures_keep_their_size() -> None:
    assert fit(np.zeros((50, 60, 3), np.uint8), 160)[0].shape == (50, 60)


@pytest.mark.parametrize(("left", "top"), [(0, 0), (7, 11)])
def test_patches_hold_the_picture(left: int, top: int) -> None:
    grey = np.random.default_rng(0).integers(0, 256, (37, 50)).astype(np.uint8)
    windows, rows, columns = cut(grey, left, top)
    assert len(windows) == count_patches(37 + top, 50 + left) == (rows.max() + 1) * (columns.max() + 1)
    inner = windows[:, MARGIN:-MARGIN, MARGIN:-MARGIN]
    whole = (
        inner.reshape(rows.max() + 1, columns.max() + 1, PATCH_HEIGHT, PATCH_WIDTH)
        .swapaxes(1, 2)
        .reshape((rows.max() + 1) * PATCH_HEIGHT, -1)
    )
    assert np.array_equal(whole[top : top + 37, left : left + 50], grey)


def test_a_margin_shows_the_neighbours() -> None:
    grey = np.arange(32 * 32, dtype=np.int64).reshape(32, 32).astype(np.uint8)
    windows, _, _ = cut(grey)
    assert np.array_equal(windows[0, MARGIN:, MARGIN:], grey[: PATCH_HEIGHT + MARGIN, : PATCH_WIDTH + MARGIN])


def test_around_the_picture_is_its_paper() -> None:
    grey = np.full((20, 20), 200, np.uint8)
    grey[5:15, 5:15] = 0
    assert cut(grey)[0][-1, -1, -1] == 200
