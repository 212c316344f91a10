"""Which cells are compared, and what is counted."""

from __future__ import annotations

from pathlib import Path

import pytest

from postprocess.cell import Cell
from postprocess.table import Table
from tablerec.evaluate.truth import Truth
from tests.benchmarks.reading.accuracy import Reading, common_readings, figures
from tests.benchmarks.reading.tables import is_number, pair_cells, plain


def box(x0: float, y0: float, x1: float, y1: float) -> tuple[tuple[float, float], ...]:
    return ((x0, y0), (x1, y0), (x1, y1), (x0, y1))


def truth(*cells: Cell) -> Truth:
    return Truth("t", "s", Path("t.png"), Table(cells), frozenset())


BOXED = truth(Cell(0, 0, quad=box(10, 10, 40, 20), text="a"), Cell(0, 1, quad=box(60, 10, 90, 20), text="b"))


def test_nothing_was_found() -> None:
    assert pair_cells(BOXED, None) == {}


def test_cells_of_one_place_where_the_grids_agree() -> None:
    assert pair_cells(BOXED, Table.from_texts([["x", "y"]])) == {0: "x", 1: "y"}


def test_cells_around_true_boxes_where_they_do_not() -> None:
    found = Table([Cell(0, 0, quad=box(0, 0, 50, 30), text="x"), Cell(1, 0, quad=box(0, 30, 50, 60), text="z")])
    assert pair_cells(BOXED, found) == {0: "x"}
    both = Table([Cell(0, 0, quad=box(0, 0, 99, 30), text="a b")])
    assert pair_cells(BOXED, both) == {}


def test_without_boxes_only_grids_of_one_size_are_compared() -> None:
    true = truth(Cell(0, 0, colspan=2, text="a"), Cell(1, 0, text="b"), Cell(1, 1, text=""))
    assert pair_cells(true, Table.from_texts([["a", "x"], ["c", ""]])) == {1: "c"}
    assert pair_cells(true, Table.from_texts([["a", "b", "c"]])) == {}


def test_figures() -> None:
    assert figures([])["cells"] == 0
    found = figures([Reading("s", "1.5", "1.5"), Reading("s", "ab–c", "abc")])
    assert (found["CER"], found["right"], found["cells numbers"], found["CER numbers"]) == (1 / 7, 0.5, 1, 0)


def test_only_cells_that_all_engines_have_count() -> None:
    common = common_readings(BOXED, {"x": {0: "a", 1: "b"}, "y": {1: "c"}})
    assert {ocr: [each.read for each in some] for ocr, some in common.items()} == {"x": ["b"], "y": ["c"]}


@pytest.mark.parametrize(("text", "expected"), [("-1,250.5 %", True), ("12 kg", False), ("", False), ("—", False)])
def test_numbers(text: str, expected: bool) -> None:
    assert is_number(plain(text)) == expected
