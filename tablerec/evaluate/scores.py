"""All scores of one table, and their means over many."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

from postprocess.geometry.boxes import quads_to_boxes
from postprocess.table import Table
from tablerec.evaluate.scoring import cells as metrics
from tablerec.evaluate.scoring.grits import grits_top
from tablerec.evaluate.scoring.teds import MAX_TRUE_CELLS, teds
from tablerec.evaluate.truth import Truth


@dataclass(frozen=True, slots=True)
class Scores:
    """How well one table was recognized; each value from 0 to 1, None where it cannot be told.

    Args:
        missing: 1 where no table was found.
        grid_size: 1 where the numbers of rows and of columns are right.
        adjacency_f1: Neighbour relations of filled cells.
        grits_top: Extents of the cells in the best alignment of the grids.
        teds_struct: Tree similarity without texts; None for a truth above 220 cells.
        teds: Tree similarity; None also where the truth has no texts.
        exact: 1 where every cell has the right position and span.
        detection_f1_60: Boxes of the cells, matched at an IoU of 0.6; None where the
            boxes of the truth do not outline cells.
        detection_f1_80: The same at 0.8.
    """

    missing: float
    grid_size: float
    adjacency_f1: float
    grits_top: float | None
    teds_struct: float | None
    teds: float | None
    exact: float
    detection_f1_60: float | None
    detection_f1_80: float | None

    @property
    def overall(self) -> float:
        """Mean of adjacency F1, GriTS-Top, TEDS-Struct and TEDS, those that are there; to rank tables by."""
        mean = mean_of([self.adjacency_f1, self.grits_top, self.teds_struct, self.teds])
        return 0.0 if mean is None else mean


METRICS = tuple(item.name for item in fields(Scores) if item.name != "missing")
"""Names of the scores, in the order in which they are printed."""


def score(truth: Truth, table: Table | None) -> Scores:
    """Compare a recognized table with the truth; a missing or empty one scores 0 throughout.

    Raises:
        MissingDependencyError: apted or rapidfuzz is not installed.
    """
    if table is None or not table.cells:
        return _score_missing(truth)
    true = truth.table
    return Scores(
        missing=0.0,
        grid_size=float(metrics.same_size(table, true)),
        adjacency_f1=metrics.adjacency_f1(table, true, filled=None if truth.has_text else truth.filled),
        grits_top=grits_top(table, true),
        teds_struct=teds(table, true, text=False),
        teds=teds(table, true) if truth.has_text else None,
        exact=float(metrics.same_cells(table, true)),
        detection_f1_60=_detection_f1(truth, table, 0.6),
        detection_f1_80=_detection_f1(truth, table, 0.8),
    )


def mean_of(values: Sequence[float | None]) -> float | None:
    """Return the mean of the values that are there, or None.

    >>> mean_of([1.0, None, 0.0]), mean_of([None])
    (0.5, None)
    """
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


def _score_missing(truth: Truth) -> Scores:
    small = len(truth.table.cells) <= MAX_TRUE_CELLS
    boxes = 0.0 if truth.boxes_are_cells else None
    return Scores(
        missing=1.0,
        grid_size=0.0,
        adjacency_f1=0.0,
        grits_top=0.0,
        teds_struct=0.0 if small else None,
        teds=0.0 if small and truth.has_text else None,
        exact=0.0,
        detection_f1_60=boxes,
        detection_f1_80=boxes,
    )


def _detection_f1(truth: Truth, table: Table, min_iou: float) -> float | None:
    if not truth.boxes_are_cells:
        return None
    found, wanted = (quads_to_boxes(grid.quads) for grid in (table, truth.table))
    return metrics.detection_f1(found, wanted, min_iou)
