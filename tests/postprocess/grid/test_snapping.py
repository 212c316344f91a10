from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from postprocess.geometry.boxes import as_boxes, as_quads, boxes_to_quads, quads_to_boxes, rotate_points
from postprocess.geometry.rulings import Rulings, image_to_rulings
from postprocess.grid.snapping import snap_quads
from tests.helpers.layouts import Layout, disturb, draw_layout, even_layout, layouts, plain_table

CENTER = (150.0, 100.0)
SEEDS = st.integers(0, 2**32 - 1)


def rulings_of(layout: Layout, degrees: float = 0.0, thickness: float = 2.0) -> Rulings:
    """Every line of the grid, drawn from side to side."""
    half = thickness / 2
    x0, x1, y0, y1 = layout.xs[0], layout.xs[-1], layout.ys[0], layout.ys[-1]
    horizontal = as_boxes([[x0, y - half, x1, y + half] for y in layout.ys])
    vertical = as_boxes([[x - half, y0, x + half, y1] for x in layout.xs])
    return Rulings(horizontal, vertical, degrees, CENTER, 6.0)


def test_nothing_to_snap() -> None:
    layout = even_layout(plain_table(2, 2))
    none = Rulings(as_boxes([]), as_boxes([]), 0.0, (0.0, 0.0), 10.0)
    assert snap_quads(as_quads([]), rulings_of(layout)).shape == (0, 4, 2)
    assert snap_quads(boxes_to_quads(layout.boxes), none).tolist() == boxes_to_quads(layout.boxes).tolist()


@settings(max_examples=30)
@given(layouts(heights=(24, 60)), SEEDS, st.sampled_from([0.0, 2.0, -20.0]))
def test_edges_near_lines_lie_on_them(layout: Layout, seed: int, degrees: float) -> None:
    quads = rotate_points(boxes_to_quads(disturb(layout, seed, 0.07)), degrees, CENTER)
    snapped = snap_quads(quads, rulings_of(layout, degrees))
    assert quads_to_boxes(rotate_points(snapped, -degrees, CENTER)) == pytest.approx(layout.boxes)


@settings(max_examples=30)
@given(layouts(), SEEDS, SEEDS)
def test_cells_keep_their_order_whatever_the_lines(layout: Layout, seed: int, other: int) -> None:
    random = np.random.default_rng(other)
    boxes = disturb(layout, seed, 0.08)
    start, length = random.uniform(0, 300, (12, 2)), random.uniform(1, 300, 12)
    horizontal = np.column_stack([start, start[:, 0] + length, start[:, 1] + random.uniform(0.1, 4, 12)])
    vertical = np.column_stack([start, start[:, 0] + random.uniform(0.1, 4, 12), start[:, 1] + length])
    found = quads_to_boxes(snap_quads(boxes_to_quads(boxes), Rulings(horizontal, vertical, 0.0, (0.0, 0.0), 6.0)))
    size = boxes[:, 2:] - boxes[:, :2]
    assert (found[:, 2:] - found[:, :2] >= 0.59 * size).all()
    assert (np.abs(found - boxes) <= 0.2001 * np.tile(size, 2)).all()


def test_short_line_beside_a_long_edge_does_not_move_it() -> None:
    quads = boxes_to_quads([[0, 10, 100, 40]])
    line = Rulings(as_boxes([[0, 11, 80, 13]]), as_boxes([]), 0.0, (0.0, 0.0), 10.0)
    assert snap_quads(quads, line).tolist() == quads.tolist()


def test_stroke_of_a_letter_does_not_move_an_edge() -> None:
    quads = boxes_to_quads([[0, 10, 100, 40]])
    stroke = Rulings(as_boxes([]), as_boxes([[5, 10, 7, 40]]), 0.0, (0.0, 0.0), 12.0)
    assert snap_quads(quads, stroke).tolist() == quads.tolist()


def test_of_two_lines_side_by_side_the_nearer_one_is_the_edge() -> None:
    lines = Rulings(as_boxes([[0, 7, 100, 8], [0, 11, 100, 12]]), as_boxes([]), 0.0, (0.0, 0.0), 12.0)
    found = quads_to_boxes(snap_quads(boxes_to_quads([[0, 10.5, 100, 40]]), lines))
    assert found.tolist() == [[0, 11.5, 100, 40]]


def test_corners_that_are_no_numbers_stay() -> None:
    quads = boxes_to_quads([[0, 10, 100, 40], [0, 10, 100, 40]])
    quads[0, 2, 1] = np.nan
    found = snap_quads(quads, rulings_of(Layout(plain_table(1, 1), np.array([0, 100.0]), np.array([12.0, 40]))))
    assert quads_to_boxes(found[1:]).tolist() == [[0, 12, 100, 40]]
    assert np.isnan(found[0, 2, 1])


@pytest.mark.parametrize("thickness", [1, 3])
def test_drawn_lines_mend_the_noise_of_a_detector(thickness: int) -> None:
    layout = even_layout(plain_table(6, 5), 80, 30, 20, 20)
    noisy = layout.boxes + np.random.default_rng(0).normal(0, 1.5, layout.boxes.shape)
    rulings = image_to_rulings(draw_layout(layout, thickness))
    found = quads_to_boxes(snap_quads(boxes_to_quads(noisy), rulings))
    # The middle of a pixel is half a pixel from its corner.
    assert np.abs(found - layout.boxes).mean() < 0.6 < 1.0 < np.abs(noisy - layout.boxes).mean()
