"""Scores that need no library: grid size, adjacency F1, exact cells, detection F1, characters kept."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from postprocess.geometry.boxes import box_areas, intersection_areas
from postprocess.text.lookalikes import STROKES
from tablerec.evaluate.truth import Grid, Position, normalize

Relation = tuple[Position, Position, str]
"""Two neighbouring filled cells and the direction from the first to the second."""


def same_size(predicted: Grid, true: Grid) -> bool:
    """Return whether the tables have as many rows and as many columns as each other."""
    return predicted.owner.shape == true.owner.shape


def same_cells(predicted: Grid, true: Grid) -> bool:
    """Return whether all cells agree in position and span."""
    return _layout(predicted) == _layout(true)


def adjacency_f1(predicted: Grid, true: Grid, *, filled: Collection[Position] | None = None) -> float:
    """Return the F1 of neighbour relations between filled cells, 0 to 1.

    Follows the ICDAR 2013 table competition (Göbel et al., "A Methodology for Evaluating
    Algorithms for Table Understanding in PDF Documents", 2012): each filled cell is related
    to the next filled cell to its right and below it; blank cells between them are skipped.
    Cells are told apart by their position.

    Args:
        predicted: The table found.
        true: The table that is there.
        filled: Where the texts of the truth are unknown, the positions of its filled
            cells. Predicted cells then count as filled there or when they hold text.
            None: cells with text are filled, in both tables.

    >>> from postprocess.table import Table
    >>> truth = Table.from_texts([["a", "b"], ["c", "d"]])
    >>> adjacency_f1(Table.from_texts([["a", "b"], ["c", ""]]), truth)
    0.6666666666666666
    """
    with_text = [[bool(normalize(cell.text)) for cell in grid.cells] for grid in (predicted, true)]
    if filled is not None:
        at_filled = [[(cell.row, cell.col) in filled for cell in grid.cells] for grid in (predicted, true)]
        with_text = [[a or b for a, b in zip(with_text[0], at_filled[0], strict=True)], at_filled[1]]
    found, wanted = relations(predicted, with_text[0]), relations(true, with_text[1])
    return f1_of(len(found & wanted), len(found), len(wanted))


def relations(grid: Grid, filled: Sequence[bool]) -> set[Relation]:
    """Return the neighbour relations of the cells for which ``filled`` holds."""
    owner = grid.owner
    pairs = {(a, b, "right") for line in owner.tolist() for a, b in _neighbours(line, filled)}
    pairs |= {(a, b, "down") for line in owner.T.tolist() for a, b in _neighbours(line, filled)}
    at = [(cell.row, cell.col) for cell in grid.cells]
    return {(at[a], at[b], direction) for a, b, direction in pairs}


def detection_f1(predicted: NDArray[np.float64], true: NDArray[np.float64], min_iou: float) -> float:
    """Return the F1 of boxes matched one to one at an intersection over union of at least ``min_iou``.

    Args:
        predicted: ``(N, 4)`` xyxy pixels.
        true: ``(M, 4)`` xyxy pixels.
        min_iou: 0 to 1.

    >>> detection_f1(np.array([[0.0, 0, 10, 10]]), np.array([[0.0, 0, 10, 9], [20, 0, 30, 10]]), 0.8)
    0.6666666666666666
    """
    return f1_of(len(match_boxes(box_iou(predicted, true), min_iou)), len(predicted), len(true))


def match_boxes(iou: NDArray[np.float64], min_iou: float) -> list[tuple[int, int]]:
    """Pair what was found with what is there, one to one, the greatest overlap first.

    Args:
        iou: ``(N, M)`` intersection over union, 0 to 1.
        min_iou: Least overlap of a pair.

    Returns:
        Pairs of a row and a column.

    >>> match_boxes(np.array([[0.9, 0.6], [0.8, 0.0]]), 0.5)
    [(0, 0)]
    """
    candidates = np.argwhere(iou >= min_iou)
    matched: set[int] = set()
    pairs: dict[int, int] = {}
    for p, t in candidates[np.argsort(-iou[iou >= min_iou], kind="stable")].tolist():
        if p not in pairs and t not in matched:
            pairs[p] = t
            matched.add(t)
    return list(pairs.items())


def box_iou(a: NDArray[np.float64], b: NDArray[np.float64]) -> NDArray[np.float64]:
    """``(N, M)`` intersection over union of two sets of xyxy boxes; 0 where neither has an area."""
    shared = intersection_areas(a, b)
    union = box_areas(a)[:, None] + box_areas(b)[None, :] - shared
    return np.divide(shared, union, out=np.zeros_like(shared), where=union > 0)


def characters_kept(read: Iterable[str], written: Iterable[str]) -> float:
    """Return the share of the characters read that were written, white space aside, 0 to 1.

    Nothing read means nothing lost: 1.

    >>> characters_kept(["12", "3"], ["1 2"])
    0.6666666666666666
    """
    wanted, found = _count(read), _count(written)
    total = sum(wanted.values())
    return sum((wanted & found).values()) / total if total else 1.0


def _layout(grid: Grid) -> list[tuple[int, int, int, int]]:
    return sorted((cell.row, cell.col, cell.rowspan, cell.colspan) for cell in grid.cells)


def _neighbours(line: list[int], filled: Sequence[bool]) -> Iterable[tuple[int, int]]:
    # A hole (-1) belongs to no cell: it ends a relation, where a blank cell is skipped.
    seen = [index for index in line if index < 0 or filled[index]]
    return ((a, b) for a, b in pairwise(seen) if a != b and a >= 0 and b >= 0)


def f1_of(n_matched: int, n_predicted: int, n_true: int) -> float:
    """F1 of counts; 1 where there is nothing to find and nothing was found."""
    return 2 * n_matched / (n_predicted + n_true) if n_predicted + n_true else 1.0


def _count(texts: Iterable[str]) -> Counter[str]:
    # A lone stroke may have been settled as a dash, which loses nothing.
    return Counter(STROKES.get(char, char) for text in texts for char in text if not char.isspace())
