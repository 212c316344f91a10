from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from postprocess.candidates.candidate import area_to_candidate, quads_to_candidate
from postprocess.geometry.boxes import boxes_to_quads, spans_to_boxes
from postprocess.geometry.lattice import RuledArea
from postprocess.word import Word
from tests.helpers.candidates import make_scene, slots
from tests.helpers.layouts import make_word

XS, YS = np.array([0.0, 100, 200]), np.array([0.0, 20, 40, 60])
BESIDE = np.array([[0, 0, 3, 1], *([row, 1, row + 1, 2] for row in range(3))])
"""Three ruled rows, and one cell beside them."""


def area(score: float) -> RuledArea:
    """The cell beside the rows is drawn so far."""
    quads = boxes_to_quads(spans_to_boxes(BESIDE, XS, YS))
    return RuledArea(quads, np.array([score, 1.0, 1.0, 1.0]), XS, YS, BESIDE)


def labels(n_rows: int) -> list[Word]:
    return [make_word("label", 10, 5 + 20 * row) for row in range(n_rows)] + [
        make_word("7", 110, 5 + 20 * row) for row in range(3)
    ]


@pytest.mark.parametrize(
    ("score", "n_labels", "n_cells"),
    [(0.0, 3, 6), (0.0, 2, 4), (0.0, 0, 4), (1.0, 3, 4)],
    ids=["a label for each row", "a row without", "no words", "ruled on all sides"],
)
def test_labels_beside_a_frame_are_a_cell_each(score: float, n_labels: int, n_cells: int) -> None:
    """The stub beside a ruled frame was one cell over all rows."""
    candidate = area_to_candidate(area(score), make_scene(labels(n_labels)))
    assert len(candidate.quads) == len(candidate.scores) == n_cells
    assert candidate.layout.owner.shape == (3, 2)


@pytest.mark.parametrize(("score", "enclosed"), [(0.0, False), (0.4, False), (0.9, True), (1.0, True)])
def test_a_tall_cell_that_is_open_leaves_doubt(score: float, enclosed: bool) -> None:
    """However well the others are ruled: it may be several."""
    many = np.array([[0, 0, 3, 1], *([row, col, row + 1, col + 1] for row in range(3) for col in range(1, 40))])
    xs = np.arange(41) * 20.0
    quads = boxes_to_quads(spans_to_boxes(many, xs, YS))
    ruled = RuledArea(quads, np.array([score, *[1.0] * (len(many) - 1)]), xs, YS, many)
    assert area_to_candidate(ruled, make_scene()).is_enclosed == enclosed


def test_a_candidate_stays_the_same_unless_its_cells_or_rows_are_others() -> None:
    before = quads_to_candidate(boxes_to_quads(slots([0, 50, 100], [0, 20, 40])))
    assert before.with_layout(replace(before.layout)) is before
    moved = replace(before.layout, row_lines=np.array([0.0, 25, 40]))
    assert before.with_layout(moved).layout is moved
