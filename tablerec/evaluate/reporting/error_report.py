"""Errors of many pictures: where they are, what each kind costs, and the pictures themselves."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from postprocess.arrays import Floats, Image
from postprocess.cell import Cell
from postprocess.geometry.boxes import cells_to_quads, quads_to_boxes
from postprocess.table import Table
from tablerec.evaluate.errors import ERROR_KINDS, SIDES, Errors, Kind, find_errors
from tablerec.evaluate.reporting.report import align
from tablerec.evaluate.runner import Case
from tablerec.evaluate.scoring.cells import f1_of
from tablerec.evaluate.truth import normalize
from tablerec.inputs.images import load_pages
from tablerec.synth.sheet import tile

if TYPE_CHECKING:
    from tablerec.detect import CellDetector

COLORS: Mapping[Kind, tuple[int, int, int]] = {
    "right": (90, 170, 90),
    "shifted": (0, 190, 230),
    "merged": (0, 110, 255),
    "split": (230, 90, 20),
    "doubled": (200, 160, 0),
    "invented": (220, 0, 200),
    "missed": (40, 40, 230),
}
"""Colour of each kind in pictures: blue, green, red."""


def cell_traits(cells: Sequence[Cell], rulings: str = "") -> dict[str, list[str]]:
    """Say of each cell where it is and what it is like.

    Args:
        cells: All cells of a picture, with quads.
        rulings: How the table is ruled, if that is known.

    Returns:
        ``row`` and ``column`` (first, inner, last), ``span`` (one slot, several), ``content`` (text, empty), ``width``
        in median heights of the cells (below 2, 2 to 6, above 6) and, where known, ``rulings``.

    >>> cell_traits([Cell(0, 0, quad=((0, 0), (9, 0), (9, 5), (0, 5)), text="a")])["content"]
    ['text']
    """
    boxes = quads_to_boxes(cells_to_quads(cells))
    heights = boxes[:, 3] - boxes[:, 1]
    widths = (boxes[:, 2] - boxes[:, 0]) / max(float(np.median(heights)) if len(heights) else 1.0, 1e-9)
    n_rows = max((cell.end_row for cell in cells), default=0)
    n_cols = max((cell.end_col for cell in cells), default=0)
    traits = {
        "row": [_place(cell.row, cell.end_row, n_rows) for cell in cells],
        "column": [_place(cell.col, cell.end_col, n_cols) for cell in cells],
        "span": ["several" if cell.is_spanning else "one slot" for cell in cells],
        "content": ["text" if normalize(cell.text) else "empty" for cell in cells],
        "width": [("below 2", "2 to 6", "above 6")[int(width >= 2) + int(width > 6)] for width in widths.tolist()],
    }
    return {**traits, "rulings": [rulings] * len(cells)} if rulings else traits


def summarize_errors(pictures: Iterable[Errors]) -> dict[str, Any]:
    """Return counts, prices, edges and places of the errors of many pictures, as JSON values.

    Returns:
        ``n_pictures``, ``n_cells``, ``n_found``, ``f1``; ``kinds``: for each kind its ``n`` and ``gain``, the F1 won
        if it were repaired; ``edges``: for each side the ``n`` shifted cells that it is the worst of, and the median of
        its shift in these, in heights of a cell, positive where the detection is too large; ``traits``: for each trait
        and value ``n`` cells and the share that is ``right`` and of each kind of error.

    >>> summarize_errors([])["f1"]
    1.0
    """
    errors = list(pictures)
    f1 = _f1(errors, None)
    kinds = {kind: {"n": sum(e.count(kind) for e in errors), "gain": _f1(errors, kind) - f1} for kind in ERROR_KINDS}
    return {
        "n_pictures": len(errors),
        "n_cells": sum(len(e.true) for e in errors),
        "n_found": sum(len(e.found) for e in errors),
        "f1": f1,
        "kinds": kinds,
        "edges": _edges(errors),
        "traits": _traits(errors),
    }


def format_errors(summary: Mapping[str, Any]) -> str:
    """Return a summary of ``summarize_errors`` as three aligned tables."""
    head = f"{summary['n_found']} detections for {summary['n_cells']} cells in {summary['n_pictures']} pictures"
    kinds = [["error", "n", "F1 if repaired"]]
    kinds += [[kind, str(v["n"]), f"+{v['gain']:.4f}"] for kind, v in summary["kinds"].items()]
    edges = [["shifted edge", "n", "by (heights)"]]
    edges += [[side, str(v["n"]), f"{v['shift']:+.2f}" if v["n"] else "-"] for side, v in summary["edges"].items()]
    shares: list[Kind] = ["right", "shifted", "merged", "split", "missed"]
    traits = [["cells", "n", *shares]]
    for trait, values in summary["traits"].items():
        for value, v in values.items():
            traits.append([f"{trait}: {value}", str(v["n"]), *(f"{v[kind]:.3f}" for kind in shares)])
    return "\n\n".join([f"F1 {summary['f1']:.4f}: {head}", *map(align, (kinds, edges, traits))])


@dataclass(frozen=True, slots=True)
class Examined:
    """A picture, what is there, what was found, and how they differ.

    Args:
        image: ``(height, width, 3)`` uint8 BGR.
        found: ``(N, 4, 2)`` detected cells.
        true: ``(M, 4, 2)`` cells.
        errors: Of ``find_errors`` for these.
    """

    image: Image
    found: Floats
    true: Floats
    errors: Errors

    def draw(self) -> Image:
        """Return the picture with its errors, see ``draw_errors``."""
        return draw_errors(self.image, self.found, self.true, self.errors)


def examine(detector: CellDetector, image: Image, cells: Sequence[Cell], rulings: str = "") -> Examined:
    """Look at a picture with a detector alone, without an OCR engine and without the grid.

    Args:
        detector: Detects cells.
        image: ``(height, width, 3)`` uint8 BGR.
        cells: All cells of the picture, with quads.
        rulings: How the tables are ruled, if that is known.
    """
    quads = [detection.quads for detection in detector.detect(image, ())]
    found, true = np.concatenate([np.zeros((0, 4, 2)), *quads]), cells_to_quads(cells)
    return Examined(image, found, true, find_errors(found, true, cell_traits(cells, rulings)))


def case_errors(case: Case) -> Errors | None:
    """Return the errors of one table of an evaluation, or None where the truth does not outline cells."""
    if not case.truth.boxes_are_cells:
        return None
    found, true = _quads(case)
    cells = [cell for cell in case.truth.table.cells if cell.quad]
    return find_errors(found, true, cell_traits(cells, case.truth.rulings))


def error_sheet(cases: Sequence[Case], count: int) -> NDArray[np.uint8] | None:
    """Return the tables with the lowest detection F1 side by side, see ``draw_errors``.

    Args:
        cases: Of an evaluation; those whose picture cannot be read are left out.
        count: At most this many tables.

    Returns:
        ``(height, width, 3)`` uint8 BGR, or None where no table has an error to show.
    """
    known = [(case, errors) for case in cases if not case.prediction.error and (errors := case_errors(case))]
    worst = sorted((item for item in known if item[1].n_errors), key=lambda item: item[1].f1())[:count]
    pictures = [draw_errors(next(load_pages(c.truth.image)).image, *_quads(c), errors) for c, errors in worst]
    return tile(pictures) if pictures else None


def draw_errors(image: NDArray[np.uint8], found: Floats, true: Floats, errors: Errors) -> NDArray[np.uint8]:
    """Draw over a picture what went wrong, in ``COLORS``: cells filled, wrong detections framed.

    Args:
        image: ``(height, width, 3)`` uint8 BGR.
        found: ``(N, 4, 2)`` detected cells.
        true: ``(M, 4, 2)`` cells.
        errors: Of ``find_errors`` for these.

    Returns:
        A new picture of the same size.
    """
    import cv2

    filled = image.copy()
    for quad, kind in zip(true, errors.true, strict=True):
        if kind != "right":
            cv2.fillPoly(filled, [_corners(quad)], COLORS[kind])
    drawn = cv2.addWeighted(filled, 0.35, image, 0.65, 0)
    line = max(1, round(max(image.shape[:2]) / 500))
    for quad, kind in sorted(zip(found, errors.found, strict=True), key=lambda item: item[1] != "right"):
        cv2.polylines(drawn, [_corners(quad)], True, COLORS[kind], line if kind == "right" else 2 * line, cv2.LINE_AA)
    return np.asarray(drawn, np.uint8)


def _quads(case: Case) -> tuple[Floats, Floats]:
    found = Table([]) if case.prediction.table is None else case.prediction.table
    return found.quads, case.truth.table.quads


def _place(first: int, end: int, count: int) -> str:
    return "first" if first == 0 else "last" if end == count else "inner"


def _f1(errors: Sequence[Errors], repaired: Kind | None) -> float:
    def total(count: Callable[[Errors], int]) -> int:
        return sum(map(count, errors))

    return f1_of(
        total(lambda e: e.n_right(repaired)), total(lambda e: e.n_kept(repaired)), total(lambda e: len(e.true))
    )


def _edges(errors: Sequence[Errors]) -> dict[str, dict[str, Any]]:
    shifted = [e.shifts[[kind == "shifted" for kind in e.true]] for e in errors]
    shifts = np.concatenate([np.zeros((0, 4)), *shifted])
    worst = np.abs(shifts).argmax(axis=1)
    edges = {}
    for index, side in enumerate(SIDES):
        of_side = shifts[worst == index, index]
        edges[side] = {"n": len(of_side), "shift": float(np.median(of_side)) if len(of_side) else None}
    return edges


def _traits(errors: Sequence[Errors]) -> dict[str, dict[str, dict[str, float]]]:
    kinds: dict[str, dict[str, list[Kind]]] = {}
    for e in errors:
        for trait, values in e.traits.items():
            for value, kind in zip(values, e.true, strict=True):
                kinds.setdefault(trait, {}).setdefault(value, []).append(kind)
    return {trait: {v: _shares(kinds[trait][v]) for v in sorted(kinds[trait])} for trait in kinds}


def _shares(kinds: Sequence[Kind]) -> dict[str, float]:
    shares = {kind: kinds.count(kind) / len(kinds) for kind in ("right", "shifted", "merged", "split", "missed")}
    return {"n": len(kinds), **shares}


def _corners(quad: Floats) -> NDArray[np.int32]:
    # A wild value must not overflow OpenCV's fixed-point coordinates.
    return np.nan_to_num(np.asarray(quad, float)).round().clip(-(2**15), 2**15).astype(np.int32)
