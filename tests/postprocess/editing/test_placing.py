from __future__ import annotations

from dataclasses import replace

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from postprocess.cell import Cell
from postprocess.editing.placing import complete, join
from postprocess.geometry.boxes import array_to_quad, quads_to_boxes, rotate_points
from postprocess.table import Table
from tests.helpers.strategies import tables

SIZE = (600, 400)


def places(table: Table) -> np.ndarray:
    return table.quads


def test_an_empty_table_has_no_borders() -> None:
    assert join(Table([])) == Table([])


@settings(max_examples=30)
@given(tables().filter(len), st.integers(0, 2**32 - 1))
def test_neighbours_share_their_borders_and_nothing_else_changes(table: Table, seed: int) -> None:
    noise = np.random.default_rng(seed)
    blank = [replace(cell, quad=None) for cell in table.cells]
    cells = [
        replace(cell, quad=array_to_quad(np.array(cell.quad) + noise.normal(0, 3, 2)))
        for cell in complete(table.with_cells(blank), SIZE).cells
    ]
    given_table = complete(Table(cells, direction=table.direction), SIZE)
    joined = join(given_table)
    assert [replace(cell, quad=None) for cell in joined.cells] == [replace(cell, quad=None) for cell in cells]
    assert np.abs(places(joined) - places(given_table)).max() < 30
    assert np.allclose(places(join(joined)), places(joined), atol=1.0)


def test_a_border_of_three_cells_is_one() -> None:
    # One cell above two: the sides are at 50, and at 54 and 58.
    boxes = [[0, 0, 80, 50], [0, 54, 40, 90], [40, 58, 80, 90]]
    cells = [Cell(0, 0, colspan=2), Cell(1, 0), Cell(1, 1)]
    corners = [((x0, y0), (x1, y0), (x1, y1), (x0, y1)) for x0, y0, x1, y1 in boxes]
    table = Table([replace(cell, quad=quad) for cell, quad in zip(cells, corners, strict=True)])
    assert quads_to_boxes(places(join(table)))[:, [1, 3]].tolist() == [[0, 54], [54, 90], [54, 90]]


def test_cells_upon_one_another_are_not_turned_over() -> None:
    boxes = [[0, 0, 80, 20], [0, 0, 80, 90]], [[0, 0, 80, 90], [0, 2, 80, 8]]
    for pair in boxes:
        corners = [((x0, y0), (x1, y0), (x1, y1), (x0, y1)) for x0, y0, x1, y1 in pair]
        joined = quads_to_boxes(places(join(Table([Cell(row, 0, quad=quad) for row, quad in enumerate(corners)]))))
        assert (joined[:, 3] > joined[:, 1]).all()


def test_a_turned_table_is_joined_along_its_lines() -> None:
    upright = complete(Table.from_texts([["a", "b"], ["c", "d"]]), SIZE)
    moved = [replace(c, quad=array_to_quad(np.add(c.quad, (0, 4 * c.row)))) for c in upright.cells]

    def turn(table: Table) -> Table:
        corners = [rotate_points(np.array(cell.quad), 20, (300, 200)) for cell in table.cells]
        return complete(
            Table([replace(c, quad=array_to_quad(q)) for c, q in zip(table.cells, corners, strict=True)]), SIZE
        )

    apart = complete(Table(moved), SIZE)
    assert np.allclose(places(join(turn(apart))), places(turn(join(apart))))
