"""How sure a finished table is: probabilities for the table, its rows and columns, and its cells.

The strongest evidence are rivals, the tables that other detectors found in the same place: independent finds that
agree cell by cell are seldom wrong. The rest is how well the grid explains the picture, and how plain it is. Each
piece of evidence is better when larger, no weight is negative: more evidence never lowers a probability.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple, dataclass, replace

import numpy as np
import shapely
from numpy.typing import NDArray

from postprocess.boxes import Floats, quads_to_array, quads_to_polygons
from postprocess.explanation import Explanation
from postprocess.table import Cell, Confidence, Table

Ints = NDArray[np.int64]

# Printed by tests/benchmarks/fit_confidence.py on 2026-11-28.
_TABLE_WEIGHTS = (-8.034, 1.123, 0.627, 0.000, 3.918, 1.146, 0.000, 6.253, 1.010, 1.083, 0.559)
_CELL_WEIGHTS = (-1.386, 1.361, 3.113, 0.000, 1.199, 0.000, 0.113)
"""Log odds: first a constant, then a weight for each piece of evidence."""

_REASONS = {
    "drawn": "its cells are not enclosed by lines",
    "witnesses": "the other detectors see another grid",
    "undisputed": "the other detectors see other cells",
    "used": "rows or columns hold no text of their own",
    "shared": "rows hold text in one cell only",
    "aligned": "cells lie off the lines of the grid",
    "seen": "the detector was not sure of the cells",
    "placed": "detected cells are in no table",
    "plain": "many cells span rows or columns",
    "small": "it has many cells",
}
"""What speaks against a table, by the evidence that it lacks."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """What speaks for a table, each the larger the better.

    Args:
        drawn: 1 where the cells are those that ruling lines enclose and nobody was asked besides, else 0.
        witnesses: Rivals with the very same grid and texts, 0 to 2.
        undisputed: Minus the logarithm of 1 and the mean number of cells that a rival has otherwise.
        used: See ``Explanation``.
        shared: See ``Explanation``.
        aligned: Least alignment score of a cell, 0 to 1.
        seen: Mean of the best score that a detector gives each cell, 0 to 1.
        placed: Minus the logarithm of 1 and the number of dropped cells.
        plain: Minus the logarithm of 1 and the number of spanning cells.
        small: Minus the logarithm of the number of cells.
    """

    drawn: float
    witnesses: float
    undisputed: float
    used: float
    shared: float
    aligned: float
    seen: float
    placed: float
    plain: float
    small: float

    @property
    def log_odds(self) -> float:
        """Logarithm of the odds that every cell of the table has the right position and span."""
        bias, *weights = _TABLE_WEIGHTS
        return float(bias + np.dot(weights, astuple(self)))


_BEST = (1.0, 2.0, 0.0, 1.0, 1.0, 1.0, 1.0, 0.0, 0.0, 0.0)
"""All evidence there can be."""


def match_cells(table: Table, rival: Table) -> NDArray[np.int64]:
    """``(N,)`` index of the rival's cell in the same place with the same span and the same text, or -1.

    Args:
        table: Cells with quads and texts.
        rival: The same part of the picture, as another detector sees it.

    >>> def square(col, text):
    ...     return Cell(0, col, quad=((col, 0), (col + 1, 0), (col + 1, 1), (col, 1)), text=text)
    >>> match_cells(Table([square(0, "a"), square(1, "b")]), Table([square(0, "a"), square(1, "c")])).tolist()
    [0, -1]
    """
    match = np.full(len(table), -1, np.int64)
    mine, theirs = ([n for n, cell in enumerate(each.cells) if cell.quad] for each in (table, rival))
    if not mine or not theirs:
        return match
    quads, others = (quads_to_array([cell.quad for cell in each.cells if cell.quad]) for each in (table, rival))
    a, b = shapely.STRtree(quads_to_polygons(others)).query(shapely.points(quads.mean(axis=1)), "intersects")
    mutual = shapely.intersects(quads_to_polygons(quads)[a], shapely.points(others.mean(axis=1))[b])
    for i, j in zip(a[mutual].tolist(), b[mutual].tolist(), strict=True):
        if _content(table.cells[mine[i]]) == _content(rival.cells[theirs[j]]):
            match[mine[i]] = theirs[j]
    return match


def _content(cell: Cell) -> tuple[int, int, list[str]]:
    return cell.rowspan, cell.colspan, cell.text.split()


def gather_evidence(
    table: Table, rivals: Sequence[Table], shares: Explanation, *, n_dropped: int = 0, drawn: bool = False
) -> Evidence:
    """Put together what speaks for a table.

    Args:
        table: The finished table, with detector and alignment scores.
        rivals: What other detectors found in the same place, with texts; none where none was asked.
        shares: How well the grid of the table explains the picture.
        n_dropped: Detected cells that are not in the grid.
        drawn: Whether ruling lines enclose the cells.
    """
    return _gather(table, rivals, _matches(table, rivals), shares, n_dropped, drawn)


def _gather(
    table: Table, rivals: Sequence[Table], matches: Ints, shares: Explanation, n_dropped: int, drawn: bool
) -> Evidence:
    denied = (matches < 0).sum(axis=1)
    same_shape = np.array([rival.shape == table.shape for rival in rivals], bool)
    return Evidence(
        drawn=float(drawn and not rivals),
        witnesses=min(int((same_shape & (denied == 0)).sum()), 2),
        undisputed=-float(np.log1p(denied.mean() if rivals else 0.0)),
        used=shares.used,
        shared=shares.shared,
        aligned=min((cell.alignment_score for cell in table.cells if cell.alignment_score is not None), default=0.0),
        seen=float(np.mean(_best_scores(table, rivals, matches))) if len(table) else 0.0,
        placed=-float(np.log1p(n_dropped)),
        plain=-float(np.log1p(sum(cell.is_spanning for cell in table.cells))),
        small=-float(np.log(max(len(table), 1))),
    )


def cell_evidence(table: Table, rivals: Sequence[Table], log_odds: float) -> Floats:
    """``(N, 6)`` what speaks for each cell, each the larger the better.

    Columns: the share of the rivals that have the cell, 1 without rivals; whether it lies in one slot; its alignment
    score, and its best detector score (0 where nobody saw it); whether it holds text; and the table's log odds.
    """
    return _gather_cells(table, rivals, _matches(table, rivals), log_odds)


def _gather_cells(table: Table, rivals: Sequence[Table], matches: Ints, log_odds: float) -> Floats:
    return np.column_stack(
        [
            (matches >= 0).mean(axis=0) if rivals else np.ones(len(table)),
            [not cell.is_spanning for cell in table.cells],
            [cell.alignment_score or 0.0 for cell in table.cells],
            _best_scores(table, rivals, matches),
            [bool(cell.text) for cell in table.cells],
            np.full(len(table), log_odds),
        ]
    ).astype(np.float64)


def _matches(table: Table, rivals: Sequence[Table]) -> Ints:
    """``(rivals, N)`` the cells of the rivals that are those of the table, or -1."""
    return np.array([match_cells(table, rival) for rival in rivals], np.int64).reshape(len(rivals), len(table))


def _best_scores(table: Table, rivals: Sequence[Table], matches: Ints) -> Floats:
    """``(N,)`` the best score that a detector gives each cell; 0 where nobody saw it."""
    best = np.array([cell.detector_score or 0.0 for cell in table.cells])
    for rival, match in zip(rivals, matches, strict=True):
        scores = np.array([*(cell.detector_score or 0.0 for cell in rival.cells), 0.0])
        best = np.maximum(best, scores[match])  # -1 is the last one
    return best


def rate(
    table: Table, rivals: Sequence[Table], shares: Explanation, *, n_dropped: int = 0, drawn: bool = False
) -> Table:
    """Say how sure a table is, its rows and columns, and each of its cells.

    Args:
        table: See ``gather_evidence``, as are the others.
        rivals: What other detectors found in the same place.
        shares: How well the grid explains the picture.
        n_dropped: Detected cells that are not in the grid.
        drawn: Whether ruling lines enclose the cells.

    Returns:
        The same table with its confidence. A row or column is as sure as the least sure span in it; a cell as its
        span, times the reader's score of its text.

    >>> cell = Cell(0, 0, quad=((0, 0), (9, 0), (9, 9), (0, 9)), text="7", reader_score=0.5)
    >>> rated = rate(Table([cell]), [], Explanation(1, 1, 1, 1, 1, 1, 1))
    >>> rated[0, 0].confidence == 0.5 * rated.confidence.rows[0]
    True
    """
    if not len(table):
        return replace(table, confidence=Confidence(0.0, (), (), "the table has no cells"))
    matches = _matches(table, rivals)
    evidence = _gather(table, rivals, matches, shares, n_dropped, drawn)
    bias, *weights = _CELL_WEIGHTS
    spans = to_probability(bias + _gather_cells(table, rivals, matches, evidence.log_odds) @ np.array(weights))
    of_slot = spans[table.owner]
    rows, cols = of_slot.min(axis=1), of_slot.min(axis=0)
    confidence = Confidence(
        table=float(to_probability(np.array(evidence.log_odds))),
        rows=tuple(rows.tolist()),
        cols=tuple(cols.tolist()),
        weakest=_weakest(table, matches, spans, evidence),
    )
    cells = [
        replace(cell, confidence=float(span) * (1.0 if cell.reader_score is None else _clip(cell.reader_score)))
        for cell, span in zip(table.cells, spans, strict=True)
    ]
    return replace(table, cells=cells, confidence=confidence)


def to_probability(log_odds: Floats) -> Floats:
    """Probabilities of logarithms of odds.

    >>> to_probability(np.array([0.0, 1000.0])).tolist()
    [0.5, 1.0]
    """
    return np.asarray(1 / (1 + np.exp(-np.clip(log_odds, -40, 40))), np.float64)


def _weakest(table: Table, matches: Ints, spans: Floats, evidence: Evidence) -> str:
    """The cell least sure of with its reason where rivals deny it, else what the table lacks most."""
    index = int(spans.argmin())
    cell, against = table.cells[index], int((matches[:, index] < 0).sum())
    where = f"row {cell.row}, column {cell.col} ({spans[index]:.2f})"
    if against:
        return f"{where}: {against} of {len(matches)} other finds see this cell otherwise"
    lacking = np.array(_TABLE_WEIGHTS[1:]) * (np.array(_BEST) - np.array(astuple(evidence)))
    return f"{where}: {list(_REASONS.values())[int(lacking.argmax())]}"


def _clip(score: float) -> float:
    return float(min(max(score, 0.0), 1.0))
