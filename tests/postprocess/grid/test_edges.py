from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from postprocess.geometry.boxes import as_boxes
from postprocess.grid.edges import settle_edges
from postprocess.grid.line_fit import Lines, intervals_to_lines
from tests.helpers.layouts import Layout, even_layout, layouts, plain_table


def lines_of(layout: Layout, spread: float = 0.15) -> tuple[Lines, Lines]:
    spans = np.array(layout.spans)
    return Lines(layout.ys, spans[:, [0, 2]], spread, 0.0), Lines(layout.xs, spans[:, [1, 3]], spread, 0.0)


def test_no_cells() -> None:
    none = intervals_to_lines(np.zeros((0, 2)))
    assert settle_edges(as_boxes([]), none, none).shape == (0, 4)


@settings(max_examples=30)
@given(layouts())
def test_right_spans_stay(layout: Layout) -> None:
    assert settle_edges(layout.boxes, *lines_of(layout)).tolist() == layout.spans


@settings(max_examples=30)
@given(st.integers(0, 24), st.sampled_from([2, 3]), st.floats(0.51, 0.6))
def test_an_edge_beyond_the_middle_of_a_slot_gives_way_to_the_cell_there(index: int, side: int, share: float) -> None:
    """The noise carried the lower or right edge into the next cell, and by itself it lies nearer to the wrong line."""
    layout = even_layout(plain_table(5, 5), 80, 30)
    rows, cols = lines_of(layout)
    boxes = layout.boxes
    has_next = (index // 5 if side == 3 else index % 5) < 4
    boxes[index, side] += share * (30 if side == 3 else 80)
    lines = rows if side == 3 else cols
    if has_next:
        lines.spans[index, 1] += 1
    assert settle_edges(boxes, rows, cols).tolist() == layout.spans


def test_a_missing_cell_stays_empty() -> None:
    layout = even_layout(plain_table(5, 5), 80, 30)
    seen = np.delete(np.arange(25), [7, 12])
    rows, cols = lines_of(layout)
    boxes = layout.boxes[seen]
    boxes[:, 1] -= 0.25 * 30  # jitter towards the empty slots
    spans = settle_edges(boxes, rows.select(seen), cols.select(seen))
    assert spans.tolist() == [layout.spans[i] for i in seen]
