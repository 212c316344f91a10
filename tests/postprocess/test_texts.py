from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from postprocess.boxes import boxes_to_quads, quads_to_boxes, rotate_points
from postprocess.grid import quads_to_grid
from postprocess.texts import texts_to_quads
from tests.postprocess.pictures import Layout, even_layout, layouts, plain_table

FEW = settings(max_examples=30)
SEEDS = st.integers(0, 2**32 - 1)


def text_boxes(layout: Layout, seed: int) -> np.ndarray:
    """A text in each cell that covers a part of each slot of it, so that it shows what the cell spans."""
    random = np.random.default_rng(seed)
    boxes = layout.boxes
    slots = np.column_stack([np.diff(layout.xs)[[(c.col, c.end_col - 1) for c in layout.table.cells]],
                             np.diff(layout.ys)[[(c.row, c.end_row - 1) for c in layout.table.cells]]])  # fmt: skip
    margin = slots[:, [0, 2, 1, 3]] * random.uniform(0.05, 0.4, boxes.shape)
    return boxes + margin * [1, 1, -1, -1]


def spans_of(quads: np.ndarray) -> list[list[int]]:
    grid = quads_to_grid(quads)
    assert not grid.dropped
    return grid.spans[np.argsort(grid.kept)].tolist()


def test_no_texts_make_no_cells() -> None:
    assert texts_to_quads([]).shape == (0, 4, 2)


def test_one_text_is_one_cell() -> None:
    assert quads_to_boxes(texts_to_quads(boxes_to_quads([[5, 5, 30, 15]]))).tolist() == [[5, 5, 30, 15]]


@FEW
@given(layouts(), SEEDS)
def test_texts_of_any_width_give_back_the_table(layout: Layout, seed: int) -> None:
    assert spans_of(texts_to_quads(boxes_to_quads(text_boxes(layout, seed)))) == layout.spans


@FEW
@given(SEEDS, st.floats(-180, 180))
def test_a_turned_table_of_texts(seed: int, degrees: float) -> None:
    layout = even_layout(plain_table(5, 4), 90, 30)
    quads = rotate_points(boxes_to_quads(text_boxes(layout, seed)), degrees)
    assert spans_of(texts_to_quads(quads)) == layout.spans


def test_a_text_of_three_lines_beside_single_lines_is_one_row() -> None:
    boxes = [[0, 0, 60, 40], [100, 0, 130, 10], [0, 60, 40, 70], [100, 60, 130, 70]]
    assert spans_of(texts_to_quads(boxes_to_quads(boxes))) == [[0, 0, 1, 1], [0, 1, 1, 2], [1, 0, 2, 1], [1, 1, 2, 2]]


def test_a_text_alone_in_its_row_keeps_the_row() -> None:
    boxes = [[0, 0, 40, 10], [100, 20, 130, 30], [0, 40, 40, 50], [100, 40, 130, 50]]
    rows = [span[0] for span in spans_of(texts_to_quads(boxes_to_quads(boxes)))]
    assert rows == [0, 1, 2, 2]


@pytest.mark.parametrize("scale", [0.1, 1, 30])
def test_scale_does_not_matter(scale: float) -> None:
    layout = even_layout(plain_table(4, 3), 90, 30)
    boxes = text_boxes(layout, 3)
    assert texts_to_quads(boxes_to_quads(scale * boxes)) == pytest.approx(scale * texts_to_quads(boxes_to_quads(boxes)))
