"""Whether what was learned helps."""

from __future__ import annotations

import pytest

from tablerec.corrections.learning.gain import is_no_worse


def gain_of(before: tuple[int, int], after: tuple[int, int]) -> dict[str, dict[str, int]]:
    names = ("n_right", "n_cells_right")
    return {"before": dict(zip(names, before, strict=True)), "after": dict(zip(names, after, strict=True))}


def test_of_nothing_nothing_is_worse() -> None:
    assert is_no_worse({})


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ((2, 50), (2, 50), True),
        ((2, 50), (2, 51), True),
        ((2, 50), (2, 49), False),
        ((2, 50), (3, 40), True),
        ((2, 50), (1, 60), False),
    ],
)
@pytest.mark.parametrize("kind", ["saved", "held_out"])
def test_tables_without_a_fault_count_first_then_cells(
    kind: str, before: tuple[int, int], after: tuple[int, int], expected: bool
) -> None:
    gain = {"saved": gain_of((1, 9), (2, 9)), "held_out": gain_of((1, 9), (2, 9)), kind: gain_of(before, after)}
    assert is_no_worse(gain) == expected
