"""Errors put into a table by kind are found by kind, as many as there are."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from postprocess.arrays import Floats, Image
from postprocess.cell import Cell
from postprocess.geometry.boxes import boxes_to_quads, quads_to_boxes, rotate_points
from postprocess.table import Table
from postprocess.word import Word
from tablerec.detect import Detection
from tablerec.evaluate.errors import ERROR_KINDS, Errors, Kind, find_errors
from tablerec.evaluate.reporting.error_report import cell_traits, draw_errors, examine, format_errors, summarize_errors
from tablerec.evaluate.scoring.cells import detection_f1

NONE = np.zeros((0, 4, 2))
HEIGHT = 20.0


@st.composite
def grids(draw: st.DrawFn) -> Floats:
    """``(R, C, 4)`` boxes of a grid with columns of all widths."""
    widths = draw(st.lists(st.floats(15, 200), min_size=2, max_size=5))
    n_rows = draw(st.integers(2, 6))
    x, y = np.concatenate([[0.0], np.cumsum(widths)]), HEIGHT * np.arange(n_rows + 1)
    left, top = np.meshgrid(x[:-1], y[:-1])
    right, bottom = np.meshgrid(x[1:], y[1:])
    return np.stack([left, top, right, bottom], axis=2)


def errors_of(found: Floats, true: Floats) -> Errors:
    return find_errors(boxes_to_quads(found), boxes_to_quads(true))


def counts(errors: Errors) -> dict[Kind, int]:
    return {kind: n for kind in ERROR_KINDS if (n := errors.count(kind))}


def spoil(kind: Kind, cell: Floats, below: Floats) -> list[Floats]:
    """Return the finds in place of a cell and the one below it."""
    half = (cell[0] + cell[2]) / 2
    return {
        "shifted": [cell - np.array([0, 0, 0, 0.3 * HEIGHT]), below],
        "merged": [np.array([*cell[:2], *below[2:]])],
        "split": [np.array([*cell[:2], half, cell[3]]), np.array([half, *cell[1:]]), below],
        "doubled": [cell, cell + 1, below],
        "invented": [cell, below, cell - np.array([0, 500, 0, 500])],
        "missed": [below],
    }[kind]


def test_nothing_found_and_nothing_there() -> None:
    assert counts(find_errors(NONE, NONE)) == {} and find_errors(NONE, NONE).f1() == 1
    cell = boxes_to_quads([[0, 0, 9, 9]])
    assert counts(find_errors(cell, NONE)) == {"invented": 1}
    assert counts(find_errors(NONE, cell)) == {"missed": 1}
    assert find_errors(NONE, cell).f1("missed") == find_errors(cell, NONE).f1("invented") == 1
    assert "F1 1.0000: 0 detections for 0 cells" in format_errors(summarize_errors([]))
    assert cell_traits([])["row"] == []


@settings(deadline=None)
@given(grids(), st.lists(st.sampled_from(ERROR_KINDS), max_size=5), st.randoms(use_true_random=False))
def test_injected_errors_are_found(grid: Floats, kinds: list[Kind], random: object) -> None:
    n_cols = grid.shape[1]
    kinds = kinds[:n_cols]
    found = [spoil(kind, grid[0, col], grid[1, col]) for col, kind in enumerate(kinds)]
    found += [list(grid[:2, col]) for col in range(len(kinds), n_cols)] + [list(grid[2:].reshape(-1, 4))]
    boxes = np.array([box for boxes in found for box in boxes])
    random.shuffle(order := list(range(len(boxes))))  # type: ignore[attr-defined]
    errors = errors_of(boxes[order], grid.reshape(-1, 4))
    assert counts(errors) == {kind: kinds.count(kind) for kind in kinds}
    assert errors.n_errors == len(kinds)
    if len(set(kinds)) == 1:
        assert errors.f1(kinds[0]) == 1


@settings(deadline=None)
@given(grids(), st.integers(0, 2**16))
def test_f1_is_the_detection_f1(grid: Floats, seed: int) -> None:
    true = grid.reshape(-1, 4)
    rng = np.random.default_rng(seed)
    found = (true + rng.normal(0, 3, true.shape))[rng.random(len(true)) < 0.8]
    found[:, 2:] = np.maximum(found[:, 2:], found[:, :2] + 1)
    errors = errors_of(found, true)
    assert errors.f1() == pytest.approx(detection_f1(found, true, 0.8))
    assert all(errors.f1(kind) >= errors.f1() for kind in ERROR_KINDS)
    assert len(errors.found) == len(found) and len(errors.true) == len(true)


def test_a_find_may_be_right_for_one_cell_and_swallow_another() -> None:
    errors = errors_of(np.array([[0.0, 0, 110, 10]]), np.array([[0.0, 0, 100, 10], [100, 0, 110, 10]]))
    assert (errors.found, errors.true) == (("right",), ("right", "merged"))
    assert counts(errors) == {"merged": 1}
    sliver = errors_of(np.array([[0.0, 0, 90, 10], [90, 0, 100, 10]]), np.array([[0.0, 0, 100, 10]]))
    assert (sliver.found, counts(sliver)) == (("right", "split"), {"split": 1})


def test_a_frame_around_cells_that_are_found_is_a_double() -> None:
    cells = np.array([[0.0, 0, 100, 10], [0, 10, 100, 20]])
    assert counts(errors_of(np.vstack([cells, [[0, 0, 100, 20]]]), cells)) == {"doubled": 1}


def test_a_turned_table_has_no_errors_of_its_own() -> None:
    cells = boxes_to_quads([[0, y, 300, y + 10] for y in range(0, 100, 10)])
    turned = rotate_points(cells, 15)
    assert find_errors(turned, turned).n_errors == 0
    assert counts(find_errors(turned[1:], turned)) == {"missed": 1}
    assert detection_f1(quads_to_boxes(turned[1:]), quads_to_boxes(turned), 0.8) < 1  # upright hulls overlap


@pytest.mark.parametrize(("index", "side"), list(enumerate(["left", "top", "right", "bottom"])))
def test_shifted_edges_have_side_and_size(index: int, side: str) -> None:
    cells = np.array([[0.0, 0, 60, 20], [60, 0, 80, 20]])
    found = cells.copy()
    found[1, index] += -6 if index < 2 else 6
    summary = summarize_errors([errors_of(found, cells)])
    assert summary["kinds"]["shifted"]["n"] == 1
    assert {name: edge["n"] for name, edge in summary["edges"].items() if edge["n"]} == {side: 1}
    assert summary["edges"][side]["shift"] == pytest.approx(0.3)


def test_traits_tell_where_errors_are() -> None:
    table = Table([Cell(r, c, quad=quad_at(r, c), text="a" * c) for r in range(3) for c in range(3)])
    traits = cell_traits(table.cells, "wired")
    quads = np.array([cell.quad for cell in table.cells])
    summary = summarize_errors([find_errors(quads[3:], quads, traits)])
    assert [summary["traits"]["row"][place]["missed"] for place in ("first", "inner", "last")] == [1, 0, 0]
    assert summary["traits"]["content"]["empty"]["n"] == 3
    assert summary["traits"]["rulings"]["wired"]["n"] == 9
    assert "row: first" in format_errors(summary)


def test_wrong_cells_are_coloured() -> None:
    picture, quads = np.full((60, 200, 3), 255, np.uint8), boxes_to_quads([[10, 10, 90, 50], [90, 10, 170, 50]])
    drawn = draw_errors(picture, quads[:1], quads, find_errors(quads[:1], quads))
    assert (drawn[30, 50] == 255).all() and drawn[30, 130, 2] > drawn[30, 130, 0]
    assert (picture == 255).all()


def test_a_detector_is_examined_alone() -> None:
    cells = [Cell(0, col, quad=quad_at(0, col), text="a") for col in range(3)]
    quads = np.array([cell.quad for cell in cells])

    class FindsTwo:
        name = "two"

        def detect(self, image: Image, words: Sequence[Word]) -> list[Detection]:
            return [Detection(quads[:1], np.ones(1), "two"), Detection(quads[1:2], np.ones(1), "two")]

    examined = examine(FindsTwo(), np.zeros((30, 160, 3), np.uint8), cells, "wired")
    assert (len(examined.found), counts(examined.errors)) == (2, {"missed": 1})
    assert examined.errors.traits["rulings"] == ["wired"] * 3
    assert examined.draw().shape == (30, 160, 3)


def quad_at(row: int, col: int) -> tuple[tuple[float, float], ...]:
    x, y = 50.0 * col, 20.0 * row
    return (x, y), (x + 50, y), (x + 50, y + 20), (x, y + 20)
