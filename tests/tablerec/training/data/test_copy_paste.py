"""Copy-paste of cells: contents move, cells stay."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tablerec.training.data.copy_paste import inner_boxes, swap_cells
from tests.helpers.grids import grid_quads

edges = st.lists(st.integers(6, 30), min_size=1, max_size=5).map(lambda steps: np.cumsum([3, *steps]).tolist())
seeds = st.integers(0, 1000)


def draw(quads: np.ndarray, size_hw: tuple[int, int]) -> np.ndarray:
    """White lines around cells, each with a colour of its own inside."""
    image = np.full((*size_hw, 3), 255, np.uint8)
    for number, (x0, y0, x1, y1) in enumerate(quads[:, [0, 2]].reshape(-1, 4).astype(int)):
        image[y0 + 1 : y1 - 1, x0 + 1 : x1 - 1] = 5 * number + 1
    return image


def test_no_cells() -> None:
    page, none = np.full((9, 9, 3), 7, np.uint8), np.zeros((0, 4, 2), np.float32)
    assert (swap_cells(page, none, np.random.default_rng(0), 1.0) == page).all()
    assert inner_boxes(none, page.shape).shape == (0, 4)


@given(edges, edges, seeds)
def test_only_insides_change_and_to_what_is_there(xs: list[int], ys: list[int], seed: int) -> None:
    quads = grid_quads(xs, ys)
    page = draw(quads, (ys[-1] + 4, xs[-1] + 4))
    before = page.copy()
    swapped = swap_cells(page, quads, np.random.default_rng(seed), 1.0)
    assert (page == before).all() and swapped.shape == page.shape and swapped.dtype == np.uint8
    inside = np.zeros(page.shape[:2], bool)
    for x0, y0, x1, y1 in inner_boxes(quads, page.shape):
        inside[y0:y1, x0:x1] = True
        assert len(np.unique(swapped[y0:y1, x0:x1])) <= 1
    assert (swapped[~inside] == page[~inside]).all()
    assert set(np.unique(swapped)) <= set(np.unique(page))


def test_equal_cells_change_places_and_unequal_ones_do_not() -> None:
    quads = grid_quads([2, 22, 42, 62], [2, 16, 30])
    page = draw(quads, (40, 70))
    swapped = swap_cells(page, quads, np.random.default_rng(1), 1.0)
    middles = quads.mean(axis=1).astype(int)
    assert all(swapped[y, x, 0] != page[y, x, 0] for x, y in middles)
    unequal = grid_quads([2, 12, 62], [2, 16])
    page = draw(unequal, (40, 70))
    assert (swap_cells(page, unequal, np.random.default_rng(1), 1.0) == page).all()
    assert (swap_cells(page, unequal, np.random.default_rng(1), 0.0) == page).all()


def test_turned_and_cut_cells_keep_their_content() -> None:
    turned = grid_quads([20, 60, 100], [20, 40, 60], degrees=15)
    assert (inner_boxes(turned, (90, 130)) == 0).all()
    assert (inner_boxes(grid_quads([-5, 40], [2, 30]), (60, 60)) == 0).all()
