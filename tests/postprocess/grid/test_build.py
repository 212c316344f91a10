from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from postprocess.cell import Cell
from postprocess.geometry.boxes import boxes_to_quads, quads_to_boxes, rotate_points
from postprocess.grid.build import Grid, quads_to_grid
from postprocess.grid.layout import grid_to_layout
from postprocess.table import Table
from tests.helpers.grids import check_sound
from tests.helpers.layouts import Layout, disturb, even_layout, layouts, plain_table

FEW = settings(max_examples=30)
SEEDS = st.integers(0, 2**32 - 1)
VALUES = st.floats(-1e4, 1e4) | st.sampled_from([0.0, 1.0, np.nan, np.inf, -np.inf])


def spans_in_order(grid: Grid, n: int) -> list[list[int]]:
    """Spans by the index of the cell; every cell must be there."""
    assert not grid.dropped
    assert sorted(grid.kept.tolist()) == list(range(n))
    return grid.spans[np.argsort(grid.kept)].tolist()


def test_no_cells() -> None:
    grid = quads_to_grid([])
    check_sound(grid, 0)
    assert (grid.empty_cells(), grid.spans.shape) == ([], (0, 4))


def test_one_cell() -> None:
    grid = quads_to_grid(boxes_to_quads([[10, 20, 60, 40]]))
    assert grid.spans.tolist() == [[0, 0, 1, 1]]
    assert grid_to_layout(grid).outline == ((10, 20), (60, 20), (60, 40), (10, 40))
    assert grid.alignment.tolist() == [1]


@FEW
@given(layouts())
def test_exact_boxes_give_back_the_table_and_its_lines(layout: Layout) -> None:
    grid = quads_to_grid(boxes_to_quads(layout.boxes))
    assert spans_in_order(grid, len(layout.boxes)) == layout.spans
    assert grid.row_lines == pytest.approx(layout.ys)
    assert grid.col_lines == pytest.approx(layout.xs)
    assert grid.alignment == pytest.approx(1.0)


@settings(max_examples=60)
@given(layouts(), SEEDS, st.sampled_from([0.0, 0.05, 0.1]), st.sampled_from([0.25, 1, 4]))
def test_gaps_jitter_and_scale_do_not_change_the_table(layout: Layout, seed: int, gap: float, scale: float) -> None:
    boxes = scale * disturb(layout, seed, 0.08, gap)
    grid = quads_to_grid(boxes_to_quads(boxes))
    assert spans_in_order(grid, len(boxes)) == layout.spans
    check_sound(grid, len(boxes))


@FEW
@given(layouts(), SEEDS)
def test_cells_that_overlap_a_little_are_kept(layout: Layout, seed: int) -> None:
    boxes = disturb(layout, seed, 0.05, gap=-0.06)
    assert spans_in_order(quads_to_grid(boxes_to_quads(boxes)), len(boxes)) == layout.spans


@FEW
@given(layouts(), SEEDS)
def test_order_of_the_cells_does_not_matter(layout: Layout, seed: int) -> None:
    boxes = disturb(layout, seed, 0.08)
    order = np.random.default_rng(seed).permutation(len(boxes))
    grid = quads_to_grid(boxes_to_quads(boxes[order]))
    assert spans_in_order(grid, len(boxes)) == [layout.spans[i] for i in order]
    assert grid.row_lines == pytest.approx(quads_to_grid(boxes_to_quads(boxes)).row_lines)


@FEW
@given(layouts(), SEEDS, st.floats(-5, 5))
def test_turned_quads_give_the_same_table(layout: Layout, seed: int, degrees: float) -> None:
    quads = rotate_points(boxes_to_quads(disturb(layout, seed, 0.04)), degrees, (300.0, 200.0))
    assert spans_in_order(quads_to_grid(quads), len(quads)) == layout.spans


@pytest.mark.parametrize("degrees", [-5, -2, -0.7, 0.7, 2, 5])
@pytest.mark.parametrize("as_hulls", [False, True])
def test_wide_table_that_is_tilted(degrees: float, as_hulls: bool) -> None:
    layout = even_layout(plain_table(12, 30), 60, 22)
    quads = rotate_points(boxes_to_quads(layout.boxes), degrees, (900.0, 130.0))
    given_quads = boxes_to_quads(quads_to_boxes(quads)) if as_hulls else quads
    grid = quads_to_grid(given_quads)
    assert spans_in_order(grid, len(quads)) == layout.spans
    # The outline follows the tilt.
    outer = rotate_points(boxes_to_quads([[0, 0, 1800, 264]]), degrees, (900.0, 130.0))[0]
    assert np.abs(np.array(grid_to_layout(grid).outline) - outer).max() < 22


@pytest.mark.parametrize("shift", [-0.012, 0.012])
def test_slight_perspective(shift: float) -> None:
    layout = even_layout(plain_table(8, 6), 80, 30)
    quads = boxes_to_quads(layout.boxes)
    scale = 1 + shift * (quads[..., :1] - 240) / 240
    assert spans_in_order(quads_to_grid(quads * [1, 1] * scale), 48) == layout.spans


def test_a_hundred_right_cells_all_survive() -> None:
    layout = even_layout(plain_table(10, 10))
    assert spans_in_order(quads_to_grid(boxes_to_quads(layout.boxes)), 100) == layout.spans


@pytest.mark.parametrize("scale", [0.5, 1, 4, 20])
def test_gaps_of_6_pixels_are_no_columns(scale: float) -> None:
    boxes = np.array([[0, 0, 50, 20], [56, 0, 106, 20], [0, 26, 50, 46], [56, 26, 106, 46]]) * scale
    grid = quads_to_grid(boxes_to_quads(boxes))
    assert spans_in_order(grid, 4) == [[0, 0, 1, 1], [0, 1, 1, 2], [1, 0, 2, 1], [1, 1, 2, 2]]


@pytest.mark.parametrize("scale", [1, 2, 4, 8])
def test_jitter_of_a_larger_picture(scale: float) -> None:
    layout = even_layout(plain_table(4, 4), 40, 12)
    boxes = scale * (layout.boxes + np.random.default_rng(0).uniform(-1, 1, (16, 4)))
    assert spans_in_order(quads_to_grid(boxes_to_quads(boxes)), 16) == layout.spans


@pytest.mark.parametrize("height", [1, 2, 4, 6])
def test_rows_of_a_few_pixels(height: int) -> None:
    layout = even_layout(plain_table(20, 5), 50, height)
    assert spans_in_order(quads_to_grid(boxes_to_quads(layout.boxes)), 100) == layout.spans


def test_row_of_6_pixels_beside_rows_of_200_pixels() -> None:
    ys = np.array([0, 200, 206, 212, 412.0])
    table = Table([*(Cell(r, c) for r in range(4) for c in range(2)), Cell(0, 2, rowspan=2), Cell(2, 2, rowspan=2)])
    layout = Layout(table, np.array([0, 300, 310, 600.0]), ys)
    for seed in range(10):
        boxes = disturb(layout, seed, 0.05)
        assert spans_in_order(quads_to_grid(boxes_to_quads(boxes)), len(boxes)) == layout.spans


def test_one_row_whose_tops_differ_by_18_pixels() -> None:
    tops = [0, 6, 12, 18]
    boxes = [[60 * i, top, 60 * i + 60, 60] for i, top in enumerate(tops)]
    boxes += [[60 * i, 60 + top, 60 * i + 60, 120] for i, top in enumerate(tops)]
    grid = quads_to_grid(boxes_to_quads(boxes))
    assert spans_in_order(grid, 8) == [[r, c, r + 1, c + 1] for r in range(2) for c in range(4)]


@FEW
@given(layouts(), SEEDS)
def test_copies_with_a_lower_score_are_dropped_with_a_reason(layout: Layout, seed: int) -> None:
    random = np.random.default_rng(seed)
    boxes = disturb(layout, seed, 0.04)
    copied = random.choice(len(boxes), size=random.integers(1, 4))
    copies = boxes[copied] + random.uniform(-0.5, 0.5, (len(copied), 4))
    scores = np.concatenate([np.full(len(boxes), 0.9), np.full(len(copies), 0.5)])
    grid = quads_to_grid(boxes_to_quads(np.vstack([boxes, copies])), scores)
    assert [index for index, _ in grid.dropped] == list(range(len(boxes), len(scores)))
    assert all("better score" in reason for _, reason in grid.dropped)
    assert grid.spans[np.argsort(grid.kept)].tolist() == layout.spans


@pytest.mark.parametrize("better", [0, 1])
def test_the_better_score_wins_whatever_the_order(better: int) -> None:
    scores = [0.9, 0.9, 0.2]
    scores[better], scores[2] = 0.95, 0.94 - 0.5 * better
    grid = quads_to_grid(boxes_to_quads([[0, 0, 50, 20], [50, 0, 100, 20], [50, 1, 99, 20]]), scores)
    assert ([index for index, _ in grid.dropped], grid.kept.tolist()) == ([2], [0, 1]) if better else ([1], [0, 2])


@FEW
@given(layouts(), st.lists(st.sampled_from(["nan", "inf", "-inf", "flat", "thin", "turned over"]), min_size=1))
def test_impossible_cells_are_dropped_and_change_nothing(layout: Layout, kinds: list[str]) -> None:
    x, y = layout.xs[0] + 5, layout.ys[0] + 5
    impossible = {
        "nan": [np.nan, y, x, y],
        "inf": [x, y, np.inf, y + 5],
        "-inf": [x, -np.inf, x + 5, y],
        "flat": [x, y, x + 10, y],
        "thin": [x, y, x, y + 10],
        "turned over": [x + 9, y + 9, x, y],
    }
    quads = boxes_to_quads(np.vstack([[impossible[kind] for kind in kinds], layout.boxes]))
    grid = quads_to_grid(quads)
    assert [index for index, _ in grid.dropped] == list(range(len(kinds)))
    assert {reason for _, reason in grid.dropped} == {"the cell has no area"}
    assert grid.spans[np.argsort(grid.kept)].tolist() == layout.spans


@settings(max_examples=80)
@given(arrays(np.float64, st.tuples(st.integers(0, 8), st.just(4), st.just(2)), elements=VALUES), st.data())
def test_any_quads_give_a_sound_grid(quads: np.ndarray, data: st.DataObject) -> None:
    scores = data.draw(st.none() | arrays(np.float64, len(quads), elements=st.floats(0, 1)))
    check_sound(quads_to_grid(quads, scores), len(quads))


@settings(max_examples=60)
@given(st.lists(st.tuples(*[st.integers(0, 12)] * 2, *[st.integers(1, 6)] * 2), max_size=12))
def test_any_boxes_on_a_small_raster_give_a_sound_grid(boxes: list[tuple[int, int, int, int]]) -> None:
    quads = boxes_to_quads([[10 * x, 10 * y, 10 * (x + w), 10 * (y + h)] for x, y, w, h in boxes])
    check_sound(quads_to_grid(quads), len(quads))


def test_empty_cells_fill_the_holes_at_their_place() -> None:
    layout = even_layout(plain_table(3, 3), 80, 30)
    seen = [index for index in range(9) if index not in (4, 8)]
    grid = quads_to_grid(boxes_to_quads(layout.boxes)[seen])
    empty = grid.empty_cells()
    assert [(cell.row, cell.col) for cell in empty] == [(1, 1), (2, 2)]
    assert np.array([cell.quad for cell in empty]) == pytest.approx(boxes_to_quads(layout.boxes)[[4, 8]])


def test_cells_of_vanishing_size_have_no_area() -> None:
    grid = quads_to_grid(boxes_to_quads([[0, 0, 3e-131, 1e-144], [0, 0, 9, 9]]))
    assert grid.kept.tolist() == [1] and grid.dropped == ((0, "the cell has no area"),)


@pytest.mark.parametrize("corner", [(0, 0), (2, 1)])
def test_quads_folded_to_a_line_have_no_area(corner: tuple[int, int]) -> None:
    quad = np.zeros((1, 4, 2))
    quad[(0, *corner)] = 1
    grid = quads_to_grid(quad)
    assert not len(grid.kept) and grid.dropped == ((0, "the cell has no area"),)
