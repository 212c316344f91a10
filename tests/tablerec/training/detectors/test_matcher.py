"""Matching against all permutations, and overlaps against shapely."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
import shapely

pytest.importorskip("scipy")

from tablerec.training.detectors.matcher import COSTS, Truth, match_queries, matching_costs


def random_boxes(rng: np.random.Generator, *shape: int) -> np.ndarray:
    return np.concatenate([rng.uniform(0.2, 0.8, (*shape, 2)), rng.uniform(0.02, 0.4, (*shape, 2))], -1).astype("f4")


def random_truth(rng: np.random.Generator, n: int, n_classes: int = 3) -> Truth:
    return Truth(random_boxes(rng, n), rng.integers(0, n_classes, n))


def reference_cost(logits: np.ndarray, box: np.ndarray, other: np.ndarray, label: int) -> float:
    """The cost of a pair from its definition."""
    p = 1 / (1 + np.exp(-float(logits[label])))
    of_class = 0.25 * (1 - p) ** 2 * -np.log(p + 1e-8) - 0.75 * p**2 * -np.log(1 - p + 1e-8)
    a, b = (shapely.box(x - w / 2, y - h / 2, x + w / 2, y + h / 2) for x, y, w, h in (box.tolist(), other.tolist()))
    union = a.union(b).area
    hull = shapely.box(*a.union(b).bounds).area
    generalized = a.intersection(b).area / union - (hull - union) / hull
    return COSTS["class"] * of_class + COSTS["distance"] * np.abs(box - other).sum() - COSTS["overlap"] * generalized


def test_no_cells_and_no_queries() -> None:
    empty = random_truth(np.random.default_rng(0), 0)
    assert match_queries(np.zeros((2, 5, 3), "f4"), np.zeros((2, 5, 4), "f4"), empty).tolist() == [[-1] * 5] * 2
    assert match_queries(np.zeros((2, 0, 3), "f4"), np.zeros((2, 0, 4), "f4"), empty).shape == (2, 0)


def test_costs_follow_their_definition() -> None:
    rng = np.random.default_rng(1)
    logits, boxes, truth = rng.normal(0, 3, (2, 6, 3)).astype("f4"), random_boxes(rng, 2, 6), random_truth(rng, 4)
    found = matching_costs(logits, boxes, truth)
    for layer, query, cell in np.ndindex(*found.shape):
        wanted = reference_cost(logits[layer, query], boxes[layer, query], truth.boxes[cell], truth.labels[cell])
        assert found[layer, query, cell] == pytest.approx(wanted, rel=1e-4)


@pytest.mark.parametrize(("n_queries", "n_cells"), [(5, 3), (4, 4), (3, 5), (6, 1)])
def test_no_permutation_is_cheaper(n_queries: int, n_cells: int) -> None:
    """With more cells than queries too: then every query has one."""
    for seed in range(5):
        rng = np.random.default_rng([seed, n_queries])
        logits, boxes = rng.normal(0, 2, (1, n_queries, 3)).astype("f4"), random_boxes(rng, 1, n_queries)
        truth = random_truth(rng, n_cells)
        (cost,) = matching_costs(logits, boxes, truth)
        (found,) = match_queries(logits, boxes, truth)
        if n_queries >= n_cells:
            least = min(cost[list(chosen), range(n_cells)].sum() for chosen in permutations(range(n_queries), n_cells))
        else:
            least = min(
                cost[range(n_queries), list(chosen)].sum() for chosen in permutations(range(n_cells), n_queries)
            )
        used = found[found >= 0]
        assert len(set(used.tolist())) == len(used) == min(n_queries, n_cells)
        assert cost[np.flatnonzero(found >= 0), used].sum() == pytest.approx(least, abs=1e-5)


def test_equal_cells_have_queries_of_their_own() -> None:
    rng = np.random.default_rng(2)
    truth = Truth(np.repeat(random_boxes(rng, 1), 4, 0), np.zeros(4, np.int64))
    (found,) = match_queries(np.zeros((1, 9, 1), "f4"), random_boxes(rng, 1, 9), truth)
    assert sorted(found.tolist()) == [-1] * 5 + [0, 1, 2, 3]


def test_a_query_without_a_finite_answer_is_the_last_choice() -> None:
    rng = np.random.default_rng(3)
    logits, boxes = np.zeros((1, 4, 1), "f4"), random_boxes(rng, 1, 4)
    logits[0, 1], boxes[0, 2] = np.nan, np.inf
    (found,) = match_queries(logits, boxes, random_truth(rng, 2, 1))
    assert found[1] == found[2] == -1 and sorted(found.tolist()) == [-1, -1, 0, 1]
