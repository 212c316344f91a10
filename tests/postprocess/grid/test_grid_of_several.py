"""What the grid makes of cells of several tables: beside each other, and one inside a cell of another."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from postprocess.geometry.boxes import boxes_to_quads, rotate_points
from postprocess.grid.build import Grid, quads_to_grid
from tests.helpers.grids import check_sound
from tests.helpers.layouts import Layout, even_layout, layouts, plain_table

MANY = settings(max_examples=60)
ANGLES = st.sampled_from([0.0, 3.0, -40.0])
INSIDE = "it lies in cell"


def own_spans(grid: Grid, first: int, n: int) -> list[list[int]]:
    """Spans of ``n`` cells as a table of their own, without the lines of others."""
    place = {int(index): span for index, span in zip(grid.kept, grid.spans, strict=True)}
    spans = np.array([place[index] for index in range(first, first + n)])
    for axis in (0, 1):
        _, ranks = np.unique(spans[:, [axis, axis + 2]], return_inverse=True)
        spans[:, [axis, axis + 2]] = ranks.reshape(-1, 2)
    return spans.tolist()


def inside(layout: Layout, box: np.ndarray, share: float) -> np.ndarray:
    """Boxes of a table that fills a share of a box in each direction, in its middle."""
    outline = np.array([layout.xs[0], layout.ys[0], layout.xs[-1], layout.ys[-1]])
    size, middle = box[2:] - box[:2], (box[:2] + box[2:]) / 2
    scale, start = share * size / (outline[2:] - outline[:2]), middle - share * size / 2
    return (layout.boxes - np.tile(outline[:2], 2)) * np.tile(scale, 2) + np.tile(start, 2)


@MANY
@given(layouts(), layouts(), st.sampled_from([0, 1]), ANGLES)
def test_tables_that_touch_are_one_grid_in_which_each_keeps_its_form(
    a: Layout, b: Layout, axis: int, degrees: float
) -> None:
    # Lines of the two that are closer than half of the lowest row cannot be told from one that is crooked.
    shared = np.unique(np.concatenate([a.ys, b.ys] if axis == 0 else [a.xs, b.xs]))
    lowest = min(np.diff(lines).min() for lines in ((a.ys, b.ys) if axis == 0 else (a.xs, b.xs)))
    assume(np.diff(shared).min() >= lowest / 2)
    start = [0.0, 0.0]
    start[axis] = float((a.xs if axis == 0 else a.ys)[-1] - (b.xs if axis == 0 else b.ys)[0])
    boxes = np.vstack([a.boxes, b.boxes + np.tile(start, 2)])
    grid = quads_to_grid(rotate_points(boxes_to_quads(boxes), degrees))
    check_sound(grid, len(boxes))
    assert not grid.dropped
    assert own_spans(grid, 0, len(a.boxes)) == a.spans
    assert own_spans(grid, len(a.boxes), len(b.boxes)) == b.spans


@MANY
@given(layouts(), layouts(), st.data(), ANGLES)
def test_cells_in_a_surer_cell_are_dropped_and_change_nothing(
    outer: Layout, inner: Layout, data: st.DataObject, degrees: float
) -> None:
    holder = data.draw(st.integers(0, len(outer.boxes) - 1))
    share = data.draw(st.floats(0.3, 0.9))
    boxes = np.vstack([outer.boxes, inside(inner, outer.boxes[holder], share)])
    scores = np.repeat([0.9, data.draw(st.sampled_from([0.9, 0.5]))], [len(outer.boxes), len(inner.boxes)])
    grid = quads_to_grid(rotate_points(boxes_to_quads(boxes), degrees), scores)
    check_sound(grid, len(boxes))
    assert [index for index, _ in grid.dropped] == list(range(len(outer.boxes), len(boxes)))
    assert all(f"cell {holder}," in reason for _, reason in grid.dropped)
    assert own_spans(grid, 0, len(outer.boxes)) == outer.spans


@MANY
@given(layouts(), layouts(), st.data(), ANGLES)
def test_surer_cells_that_fill_a_cell_take_its_place(
    outer: Layout, inner: Layout, data: st.DataObject, degrees: float
) -> None:
    holder = data.draw(st.integers(0, len(outer.boxes) - 1))
    boxes = np.vstack([inside(inner, outer.boxes[holder], 0.98), outer.boxes])
    scores = np.repeat([0.9, 0.5], [len(inner.boxes), len(outer.boxes)])
    grid = quads_to_grid(rotate_points(boxes_to_quads(boxes), degrees), scores)
    check_sound(grid, len(boxes))
    assert [index for index, _ in grid.dropped] == [len(inner.boxes) + holder]


@pytest.mark.parametrize("score", [0.2, 0.9])
def test_one_sure_cell_in_a_corner_of_another_does_not_replace_it(score: float) -> None:
    boxes = np.vstack([even_layout(plain_table(3, 3)).boxes, [[90, 36, 110, 44]]])
    grid = quads_to_grid(boxes_to_quads(boxes), np.append(np.full(9, 0.5), score))
    assert [index for index, _ in grid.dropped] == [9]
    assert own_spans(grid, 0, 9) == even_layout(plain_table(3, 3)).spans
