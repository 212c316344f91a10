from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from postprocess.geometry.boxes import as_boxes
from postprocess.grid.neighbours import _AT, edge_scales, following_pairs, meeting_pairs, steady_sizes, usual_gap
from tests.helpers.layouts import even_layout, plain_table


def test_nothing_has_no_neighbours() -> None:
    none = as_boxes([])
    assert meeting_pairs(none).shape == following_pairs(none, meeting_pairs(none), 0).shape == (0, 2)
    assert (usual_gap(none, 0), steady_sizes(np.zeros((0, 2))).shape) == (0.0, (0,))


@pytest.mark.parametrize("axis", [0, 1])
def test_cells_of_a_grid_are_followed_by_the_next_ones(axis: int) -> None:
    boxes = even_layout(plain_table(5, 4)).boxes
    pairs = following_pairs(boxes, meeting_pairs(boxes), axis)
    expected = [(i, i + 1) for i in range(20) if i % 4 < 3] if axis == 0 else [(i, i + 4) for i in range(16)]
    assert sorted(map(tuple, pairs.tolist())) == expected


@pytest.mark.parametrize("gap", [-4.0, 0.0, 7.5])
def test_usual_gap_is_that_of_the_cells_though_some_are_missing(gap: float) -> None:
    boxes = even_layout(plain_table(6, 6), 80, 30).boxes
    boxes[:, 2] -= gap
    seen = [index for index in range(36) if index % 7]
    assert usual_gap(boxes[seen], 0) == pytest.approx(gap)
    assert usual_gap(boxes[seen], 1) == 0


def test_a_missing_cell_parts_its_neighbours() -> None:
    boxes = even_layout(plain_table(6, 6), 80, 30).boxes
    boxes[12:18, 1] += 15  # the third row is low, so that its cells leave no wide gap
    boxes[6:12, 3] += 15
    seen = np.delete(np.arange(36), 14)
    pairs = following_pairs(boxes[seen], meeting_pairs(boxes[seen]), 1)
    assert (8, 20) not in {(int(seen[a]), int(seen[b])) for a, b in pairs}


@pytest.mark.parametrize("seed", range(20))
def test_noise_of_wide_boxes_is_no_gap(seed: int) -> None:
    """Such a gap would be taken off the narrow ones too, which are no wider than it."""
    random = np.random.default_rng(seed)
    lines = np.cumsum([0, 200, 8, 180, 9, 210, 8.0])
    smaller = np.array([8, 8, 8, 8, 8, 8, 8.0])
    boxes = as_boxes([[lines[k], 20 * row, lines[k + 1], 20 * row + 20] for k in range(6) for row in range(2)])
    first = np.repeat(np.arange(6), 2)
    boxes[:, 0] += 0.25 * smaller[first] * random.uniform(-1, 1, 12)
    boxes[:, 2] += 0.25 * smaller[first + 1] * random.uniform(-1, 1, 12)
    assert abs(usual_gap(boxes, 0)) < 2


@settings(max_examples=60)
@given(st.lists(st.tuples(st.floats(-100, 100), st.floats(0.1, 100)), max_size=20))
def test_scale_of_an_edge_is_that_of_the_smallest_interval_there(items: list[tuple[float, float]]) -> None:
    """Against all edges, tried one by one."""
    intervals = np.array([[start, start + size] for start, size in items]).reshape(-1, 2)
    sizes = steady_sizes(intervals)
    edges = [(float(intervals[k, side]), float(sizes[k])) for k in range(len(intervals)) for side in (0, 1)]
    expected = [min(size for at, size in edges if at - _AT * size <= edge <= at + _AT * size) for edge, _ in edges]
    assert edge_scales(intervals).ravel().tolist() == expected
