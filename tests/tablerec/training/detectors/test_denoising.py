"""Noised queries: what they hold, what they may see, and that their number has a bound."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("scipy")

from tablerec.training.detectors.denoising import HIDDEN, Noise, hide_groups, noise_cells
from tablerec.training.detectors.matcher import Truth


def truth_of(n: int, seed: int = 0, n_classes: int = 1) -> Truth:
    rng = np.random.default_rng([n, seed])
    boxes = np.concatenate([rng.uniform(0.3, 0.7, (n, 2)), rng.uniform(0.02, 0.2, (n, 2))], 1).astype("f4")
    return Truth(boxes, rng.integers(0, n_classes, n))


def corners(boxes: np.ndarray) -> np.ndarray:
    return np.concatenate([boxes[..., :2] - boxes[..., 2:] / 2, boxes[..., :2] + boxes[..., 2:] / 2], -1)


def test_pictures_without_cells() -> None:
    assert noise_cells([], 1, np.random.default_rng(0)) is None
    assert noise_cells([truth_of(0), truth_of(0)], 1, np.random.default_rng(0)) is None
    assert noise_cells([truth_of(5)], 1, np.random.default_rng(0), Noise(cells=0)) is None


@pytest.mark.parametrize("sizes", [[1], [7, 0, 3], [100], [40, 200], [1500], [1500, 2, 0]])
def test_the_number_of_queries_has_a_bound(sizes: list[int]) -> None:
    """PaddleDetection issue 8836: memory grew with the boxes of a picture until it failed."""
    found = noise_cells([truth_of(n) for n in sizes], 1, np.random.default_rng(0))
    assert found is not None
    n_queries = found.labels.shape[1]
    assert 100 < n_queries <= 200 and n_queries % (2 * found.n_groups) == 0
    width = n_queries // (2 * found.n_groups)
    for row, n in enumerate(sizes):
        groups = found.cells[row].reshape(found.n_groups, 2, width)
        assert (groups[:, 1] == -1).all()
        for group in groups[:, 0]:
            used = group[group >= 0]
            assert len(set(used.tolist())) == len(used) == min(n, width) and (used < n).all()
        assert (found.labels[row] == 1).sum() == (width - min(n, width)) * 2 * found.n_groups


def test_all_cells_of_a_large_picture_have_their_turn() -> None:
    rng, seen = np.random.default_rng(0), set[int]()
    for _ in range(40):
        found = noise_cells([truth_of(300)], 1, rng)
        assert found is not None
        seen |= set(found.cells[found.cells >= 0].tolist())
    assert len(seen) == 300


def test_sides_move_less_than_half_or_more() -> None:
    truth = truth_of(20)
    found = noise_cells([truth], 1, np.random.default_rng(1), Noise(cells=100, boxes=0.8, labels=0.0))
    assert found is not None
    boxes = found.boxes[0].reshape(found.n_groups, 2, 20, 4)
    far = np.abs(corners(boxes) - corners(truth.boxes)) / np.tile(truth.boxes[:, 2:] / 2, 2)
    assert (far[:, 0] <= 0.8 + 1e-4).all() and (far[:, 1] >= 0.8 - 1e-4).all() and (far[:, 1] <= 1.6 + 1e-4).all()
    assert far[:, 0].mean() == pytest.approx(0.4, abs=0.03) and far[:, 1].mean() == pytest.approx(1.2, abs=0.03)


def test_noised_boxes_stay_in_the_picture() -> None:
    rng = np.random.default_rng(2)
    edges = np.array([[0.02, 0.98, 0.04, 0.04], [0.5, 0.5, 1, 1]], "f4")
    found = noise_cells([Truth(edges, np.zeros(2, np.int64))], 1, rng)
    assert found is not None
    assert (corners(found.boxes) >= -1e-6).all() and (corners(found.boxes) <= 1 + 1e-6).all()


def test_some_labels_are_drawn_anew() -> None:
    truth = truth_of(50, n_classes=4)
    found = noise_cells([truth, truth_of(10, n_classes=4)], 4, np.random.default_rng(3), Noise(cells=1000))
    assert found is not None
    labels = found.labels.reshape(2, -1, 50)
    assert (labels[1, :, 10:] == 4).all() and (labels[:, :, :10] < 4).all()
    # A quarter is drawn, of which a quarter is the same again.
    assert (labels[0] != truth.labels).mean() == pytest.approx(0.25 * 0.75, abs=0.02)


def test_the_same_numbers_give_the_same_noise() -> None:
    one, two = (noise_cells([truth_of(9)], 1, np.random.default_rng(4)) for _ in range(2))
    assert one is not None and two is not None
    assert (one.boxes == two.boxes).all() and (one.labels == two.labels).all()


@pytest.mark.parametrize(("n_groups", "width", "n_queries"), [(0, 0, 3), (1, 4, 2), (3, 2, 5)])
def test_groups_see_no_others(n_groups: int, width: int, n_queries: int) -> None:
    mask = hide_groups(n_groups * width, n_groups, n_queries)
    n = n_groups * width
    assert mask.shape == (n + n_queries, n + n_queries) and set(np.unique(mask)) <= {0.0, np.float32(HIDDEN)}
    assert (mask[n:, :n] < 0).all() and (mask[:, n:] == 0).all()
    for a in range(n):
        for b in range(n):
            assert (mask[a, b] == 0) == (a // width == b // width)
