"""What a detector got wrong, by kind, and how much each kind costs.

========= ===========================================================================================
kind      meaning
========= ===========================================================================================
right     found with an overlap (IoU) of at least 0.8
shifted   found with an overlap of 0.5 to 0.8: an edge is elsewhere
merged    one detection lies over several cells
split     several detections lie side by side in one cell
doubled   found again, where another detection has explained the cell
invented  found where no cell is
missed    nothing explains the cell
========= ===========================================================================================

The price of a kind is the F1 that the detector would gain if all errors of this kind were repaired and no
other. This follows TIDE (Bolya et al., "TIDE: A General Toolbox for Identifying Object Detection Errors",
2020); merged and split take the place of its classes, of which cells have one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from postprocess.arrays import Floats
from postprocess.geometry.boxes import (
    as_quads,
    box_areas,
    intersection_areas,
    quad_angles,
    quads_to_boxes,
    rotate_points,
)
from tablerec.evaluate.scoring.cells import box_iou, f1_of, match_boxes

Kind = Literal["right", "shifted", "merged", "split", "doubled", "invented", "missed"]
ERROR_KINDS: tuple[Kind, ...] = get_args(Kind)[1:]
SIDES = ("left", "top", "right", "bottom")


_RIGHT = 0.8
"""Least overlap (IoU) of a cell found right."""
_NEAR = 0.5
"""Least overlap of a shifted one. A detection that overlaps a cell less is invented, and the cell missed."""
_MOST = 0.7
"""Share of a cell that a merging detection covers at least, or of a splitting one that lies in its cell."""
_HALF = 0.5
"""Share of a detection over explained cells from which it is doubled, and of a cell that pieces fill."""


@dataclass(frozen=True, slots=True)
class Errors:
    """The detections and the cells of one picture.

    Args:
        found: Kind of each detection; never missed.
        true: Kind of each cell; never doubled or invented.
        found_by: ``(M,)`` the detection that explains each cell, the largest where it is split; -1 for missed cells.
        lies_in: ``(N,)`` the cell that each right, shifted or split detection lies in; else -1.
        shifts: ``(M, 4)`` how far left, top, right and bottom edge lie outside the cell's (negative: inside), in
            median heights of the picture's cells; nan unless right or shifted.
        traits: Names of traits to the value that each of the cells has.
    """

    found: tuple[Kind, ...]
    true: tuple[Kind, ...]
    found_by: NDArray[np.intp]
    lies_in: NDArray[np.intp]
    shifts: Floats
    traits: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def count(self, kind: Kind) -> int:
        """Return how often something happened: a merge of three cells is one, and so is a split into three."""
        if kind == "merged":
            return len({by for by, k in zip(self.found_by.tolist(), self.true, strict=True) if k == kind})
        if kind == "split":
            return len({cell for cell, k in zip(self.lies_in.tolist(), self.found, strict=True) if k == kind})
        return self.found.count(kind) if kind in ("doubled", "invented") else self.true.count(kind)

    def n_right(self, repaired: Kind | None = None) -> int:
        """Return how many cells are found right, or would be with one kind of error repaired."""
        return self.true.count("right") + (self.true.count(repaired) if repaired else 0)

    def n_kept(self, repaired: Kind | None = None) -> int:
        """Return how many detections there are, or would be with one kind of error repaired."""
        return self.n_right(repaired) + sum(kind not in ("right", repaired) for kind in self.found)

    def f1(self, repaired: Kind | None = None) -> float:
        """Return the detection F1, as it is or with one kind of error repaired."""
        return f1_of(self.n_right(repaired), self.n_kept(repaired), len(self.true))

    @property
    def n_errors(self) -> int:
        """Errors of all kinds."""
        return sum(map(self.count, ERROR_KINDS))


def find_errors(
    found: Floats,
    true: Floats,
    traits: Mapping[str, Sequence[str]] | None = None,
) -> Errors:
    """Tell what became of each cell and of each detection. Boxes are compared in the upright frame of the cells.

    Args:
        found: ``(N, 4, 2)`` detected cells, quads in pixels.
        true: ``(M, 4, 2)`` cells.
        traits: What each cell is like, see ``error_report.cell_traits``.

    >>> from postprocess.geometry.boxes import boxes_to_quads
    >>> cells = boxes_to_quads([[0, 0, 40, 10], [40, 0, 80, 10], [0, 10, 40, 20], [40, 10, 80, 20]])
    >>> detected = boxes_to_quads([[0, 0, 80, 10], [0, 10, 40, 20], [100, 0, 140, 10]])
    >>> errors = find_errors(detected, cells)
    >>> errors.found, errors.true
    (('merged', 'right', 'invented'), ('merged', 'merged', 'right', 'missed'))
    >>> errors.count("merged"), round(errors.f1(), 2), round(errors.f1(repaired="merged"), 2)
    (1, 0.29, 0.75)
    """
    found_boxes, true_boxes = _upright(as_quads(found), as_quads(true))
    state = _State(found_boxes, true_boxes)
    state.match(_RIGHT, "right")
    state.merge()
    state.split()
    state.match(_NEAR, "shifted")
    state.doubled()
    return Errors(
        tuple(kind or "invented" for kind in state.found),
        tuple(kind or "missed" for kind in state.true),
        state.found_by,
        state.lies_in,
        _shifts(found_boxes, true_boxes, state),
        dict(traits or {}),
    )


class _State:
    """What is explained so far: kinds by detection and by cell, None where nothing is known yet."""

    def __init__(self, found: Floats, true: Floats) -> None:
        self.shared = intersection_areas(found, true)
        self.iou = box_iou(found, true)
        self.between = intersection_areas(found, found)
        self.found_areas, self.true_areas = box_areas(found), box_areas(true)
        self.found: list[Kind | None] = [None] * len(found)
        self.true: list[Kind | None] = [None] * len(true)
        self.found_by, self.lies_in = np.full(len(true), -1), np.full(len(found), -1)

    def match(self, min_iou: float, kind: Kind) -> None:
        free = np.ix_([k is None for k in self.found], [k is None for k in self.true])
        iou = np.zeros_like(self.iou)
        iou[free] = self.iou[free]
        for f, t in match_boxes(iou, min_iou):
            self.found[f] = self.true[t] = kind
            self.found_by[t], self.lies_in[f] = f, t

    def merge(self) -> None:
        """A detection over several cells; it may be the right one for the largest of them."""
        covered = self.shared >= _MOST * np.maximum(self.true_areas, 1e-9)
        for f in np.argsort(-(self.shared * covered).sum(axis=1), kind="stable").tolist():
            cells = [t for t in np.flatnonzero(covered[f]).tolist() if self.true[t] is None or self.found_by[t] == f]
            inside = self.shared[f, cells].sum() >= _HALF * self.found_areas[f]
            if len(cells) < 2 or not inside:
                continue
            self.found[f] = self.found[f] or "merged"
            for t in cells:
                self.true[t], self.found_by[t] = self.true[t] or "merged", f

    def split(self) -> None:
        """Detections side by side in a cell; one of them may be the right one."""
        inside = self.shared >= _MOST * np.maximum(self.found_areas, 1e-9)[:, None]
        for t in np.flatnonzero(inside.sum(axis=0) > 1).tolist():
            if self.true[t] not in (None, "right"):
                continue
            pieces = self._pieces([f for f in np.flatnonzero(inside[:, t]).tolist() if self._free(f, t)])
            if len(pieces) < 2 or self.shared[pieces, t].sum() < _HALF * self.true_areas[t]:
                continue
            for f in pieces:
                self.found[f], self.lies_in[f] = self.found[f] or "split", t
            if self.true[t] is None:
                self.true[t], self.found_by[t] = "split", pieces[0]

    def doubled(self) -> None:
        """A detection mostly over cells that others explain, and over no other cell more."""
        explained = np.array([kind is not None for kind in self.true], bool)
        over, most = (self.shared * explained).sum(axis=1), self.shared.max(axis=1, initial=0.0)
        same = (self.shared * explained).max(axis=1, initial=0.0) == most
        for f in np.flatnonzero(same & (most > 0) & (over >= _HALF * self.found_areas)).tolist():
            self.found[f] = self.found[f] or "doubled"

    def _free(self, f: int, t: int) -> bool:
        return self.found[f] is None or self.found_by[t] == f

    def _pieces(self, detections: list[int]) -> list[int]:
        """Those of the detections that do not lie over one another, the largest first."""
        kept: list[int] = []
        for f in sorted(detections, key=lambda f: -float(self.found_areas[f])):
            if self.between[f, kept].sum() < _HALF * self.found_areas[f]:
                kept.append(f)
        return kept


def _upright(found: Floats, true: Floats) -> tuple[Floats, Floats]:
    angle = float(np.median(quad_angles(true))) if len(true) else 0.0
    return quads_to_boxes(rotate_points(found, -angle)), quads_to_boxes(rotate_points(true, -angle))


def _shifts(found: Floats, true: Floats, state: _State) -> Floats:
    shifts = np.full((len(true), 4), np.nan)
    paired = np.array([kind in ("right", "shifted") for kind in state.true], bool)
    outward = (found[state.found_by[paired]] - true[paired]) * (-1, -1, 1, 1)
    shifts[paired] = outward / max(float(np.median(true[:, 3] - true[:, 1])), 1e-9) if len(true) else 0.0
    return shifts
