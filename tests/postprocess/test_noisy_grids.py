"""Random tables come back from noisy cells.

``NOISY_GRIDS=10000`` in the environment sets the number of cases, and makes them other ones at each run;
``tests/benchmarks/check_noisy_grids.py`` counts them by the kind of noise.
"""

from __future__ import annotations

import os

import numpy as np
import pytest
from hypothesis import given, settings

from postprocess.grid import Grid, quads_to_grid
from postprocess.table import Cell, Table
from tests.postprocess.strategies import NOISY_TABLES, NoisyTable, random_noisy_table

COUNT = os.environ.get("NOISY_GRIDS")
CASES = settings(max_examples=int(COUNT or 60), derandomize=COUNT is None, deadline=None)


def rebuild(table: NoisyTable) -> Grid:
    """The grid; all cells are kept or dropped with a reason, and what is kept makes a table."""
    grid = quads_to_grid(table.quads, table.scores)
    assert sorted([*grid.kept.tolist(), *(index for index, _ in grid.dropped)]) == list(range(len(table.quads)))
    assert all(reason for _, reason in grid.dropped)
    cells = [Cell(row, col, end_row - row, end_col - col) for row, col, end_row, end_col in grid.spans.tolist()]
    rebuilt = Table([*cells, *grid.empty_cells()])
    assert not cells or rebuilt.shape == (len(grid.row_lines) - 1, len(grid.col_lines) - 1)
    return grid


def is_exact(grid: Grid, table: NoisyTable) -> bool:
    """Whether each cell that was found once or twice is there once, with its span, and the others are empty."""
    cells = table.cell[grid.kept]
    return (
        sorted(cells.tolist()) == np.unique(table.cell).tolist()
        and bool((grid.spans == table.spans[cells]).all())
        and (len(grid.row_lines) - 1, len(grid.col_lines) - 1) == tuple(table.spans[:, 2:].max(axis=0))
    )


@CASES
@given(NOISY_TABLES)
def test_what_is_determined_comes_back(table: NoisyTable) -> None:
    grid = rebuild(table)
    if table.is_determined:
        assert is_exact(grid, table)


@pytest.mark.parametrize("seed", [2633, 3065, 4367, 5570, 6743, 7673, 9188])
def test_rows_of_6_pixels_beside_rows_of_200_pixels(seed: int) -> None:
    """The noise of the high rows is as large as the low ones."""
    table, _ = random_noisy_table(seed)
    assert is_exact(rebuild(table), table)
