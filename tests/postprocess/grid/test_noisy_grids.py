"""Random tables come back from noisy cells.

``NOISY_GRIDS=10000`` in the environment sets the number of cases, and makes them other ones at each run;
``python -m tests.benchmarks.geometry.check_noisy_grids`` counts them by the kind of noise.
"""

from __future__ import annotations

import os

import pytest
from hypothesis import given, settings

from tests.helpers.strategies import NOISY_TABLES, NoisyTable, is_exact, random_noisy_table, rebuild

COUNT = os.environ.get("NOISY_GRIDS")
CASES = settings(max_examples=int(COUNT or 60), derandomize=COUNT is None, deadline=None)


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
