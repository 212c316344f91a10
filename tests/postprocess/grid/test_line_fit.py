from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from postprocess.grid.line_fit import _cheapest_runs, _count_costs, _Moments, intervals_to_lines

FEW = settings(max_examples=40)
INTERVALS = st.lists(st.tuples(st.floats(-1e3, 1e3), st.floats(0.1, 100)), max_size=15).map(
    lambda items: np.array([[start, start + size] for start, size in items]).reshape(-1, 2)
)


def test_no_intervals_have_no_lines() -> None:
    lines = intervals_to_lines(np.zeros((0, 2)))
    assert (lines.positions.shape, lines.spans.shape, lines.cost) == ((0,), (0, 2), 0.0)


@FEW
@given(INTERVALS, st.data())
def test_ends_of_an_interval_never_share_a_line(intervals: np.ndarray, data: st.DataObject) -> None:
    indices = st.integers(0, max(len(intervals) - 1, 0))
    pairs = data.draw(st.lists(st.tuples(indices, indices), max_size=8 if len(intervals) else 0))
    lines = intervals_to_lines(intervals, np.array(pairs, np.int64).reshape(-1, 2))
    assert (lines.spans[:, 1] > lines.spans[:, 0]).all()
    assert (np.diff(lines.positions) > 0).all()
    assert sorted(set(lines.spans.ravel().tolist())) == list(range(len(lines.positions)))


@FEW
@given(INTERVALS, st.floats(0.01, 100), st.floats(-1e3, 1e3))
def test_scale_and_place_do_not_matter(intervals: np.ndarray, factor: float, shift: float) -> None:
    rounded = np.round(intervals, 1)
    rounded[:, 1] = np.maximum(rounded[:, 1], rounded[:, 0] + 1)
    lines, moved = intervals_to_lines(rounded), intervals_to_lines(factor * rounded + shift)
    assert len(lines.positions) == len(moved.positions)
    assert moved.cost == pytest.approx(lines.cost, rel=1e-4, abs=1e-3)


@FEW
@given(st.lists(st.floats(0, 60), min_size=1, max_size=9), st.integers(0, 2**32 - 1))
def test_no_cut_into_runs_is_cheaper(places: list[float], seed: int) -> None:
    """Against all cuts, tried one by one."""
    place = np.sort(np.array(places))
    n = len(place)
    moments = _Moments.of(place, np.full(n, 0.04), np.arange(n))
    earliest = np.minimum(np.maximum.accumulate(np.random.default_rng(seed).integers(0, n, n)), np.arange(n))
    firsts, cost = _cheapest_runs(moments, earliest)
    costs = [
        sum(run_cost(place[a:b], n) for a, b in pairwise(bounds))
        for bounds in ([0, *[i for i in range(1, n) if mask >> i & 1], n] for mask in range(0, 2**n, 2))
        if all(a >= earliest[b - 1] for a, b in pairwise(bounds))
    ]
    assert cost - n * np.log(n) == pytest.approx(min(costs), abs=1e-6)
    assert sum(run_cost(part, n) for part in np.split(place, firsts[1:])) == pytest.approx(min(costs), abs=1e-6)


def run_cost(place: np.ndarray, n: int) -> float:
    squares = 0.04 * ((place - place.mean()) ** 2).sum()
    return float(_count_costs(n)[len(place)] + (4 + len(place)) / 2 * np.log1p(squares / 4))


@pytest.mark.parametrize("noise", [0.0, 0.1, 0.2])
def test_joints_of_many_cells_tell_lines_that_single_edges_cannot(noise: float) -> None:
    """Gaussian noise of a fifth of a row mixes the edges of neighbouring lines."""
    random = np.random.default_rng(1)
    row = np.arange(200) // 10
    intervals = np.column_stack([row, row + 1]) * 20.0 + random.normal(0, 20 * noise, (200, 2))
    pairs = np.column_stack([np.arange(190), np.arange(10, 200)])
    lines = intervals_to_lines(np.sort(intervals, axis=1), pairs)
    assert lines.positions == pytest.approx(20.0 * np.arange(21), abs=20 * noise + 1e-6)
