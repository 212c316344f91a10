from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from postprocess.geometry.boxes import boxes_to_quads
from postprocess.grid.build import quads_to_grid
from postprocess.grid.layout import grid_to_layout
from postprocess.table import Table
from tests.helpers.layouts import grid_layout
from tests.helpers.strategies import tables


def test_an_empty_grid_is_an_empty_layout() -> None:
    layout = grid_to_layout(quads_to_grid([]))
    assert layout.owner.size == 0
    assert layout.spans.shape == (0, 4)
    assert layout.quads.shape == (0, 4, 2)


@settings(max_examples=30)
@given(tables(max_rows=5, max_cols=5))
def test_quads_of_a_layout_are_read_back_as_its_grid(table: Table) -> None:
    quads = grid_layout(table).quads
    grid = quads_to_grid(quads)
    again = grid_to_layout(grid)
    assert np.array_equal(grid_to_layout(quads_to_grid(again.quads)).owner, again.owner)
    assert len(again.spans) == len(quads)


@settings(max_examples=30)
@given(tables(max_rows=5, max_cols=5), st.data())
def test_joining_and_parting_leave_rectangles(table: Table, data: st.DataObject) -> None:
    layout = grid_layout(table)
    if not layout.owner.size:
        return
    rows, cols = layout.owner.shape
    row, col = data.draw(st.integers(0, rows - 1)), data.draw(st.integers(0, cols - 1))
    end_row, end_col = data.draw(st.integers(row + 1, rows)), data.draw(st.integers(col + 1, cols))
    joined = layout.joined(row, col, end_row, end_col)
    assert len(np.unique(joined.owner[row:end_row, col:end_col])) == 1
    for each in (joined, joined.parted(np.array([joined.owner[row, col]]))):
        spans = each.spans
        assert int(((spans[:, 2] - spans[:, 0]) * (spans[:, 3] - spans[:, 1])).sum()) == each.owner.size


def test_tilted_cells_keep_their_tilt() -> None:
    quads = boxes_to_quads([[0, 0, 50, 20], [50, 0, 100, 20], [0, 20, 50, 40], [50, 20, 100, 40]])
    quads[..., 1] += 0.05 * quads[..., 0]
    assert np.allclose(grid_to_layout(quads_to_grid(quads)).quads, quads, atol=0.2)
