"""How sure a finished table is: probabilities for the table, its rows and columns, and its cells.

The strongest evidence are rivals, the tables that other detectors found in the same place: independent detections that
agree cell by cell are seldom wrong. The rest is how sure the detector was of its least sure cells. Each piece of
evidence is better when larger, no weight is negative: more evidence never lowers a probability.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import shapely

from postprocess.arrays import Floats, Ints
from postprocess.candidates.candidate import Candidate
from postprocess.cell import Cell, Confidence
from postprocess.characters import to_one_line
from postprocess.geometry.boxes import quads_to_array, quads_to_polygons
from postprocess.odds import to_probability, weigh
from postprocess.table import Table
from postprocess.word import Unplaced, Words

DOUBT, MOST_DOUBTS = 0.5, 5
"""What each doubt about a text leaves of the score of its cell and table, and how many count."""
MISREAD = 0.5
"""Score of the OCR engine below which a text is doubtful."""

_LOW = 0.02
"""A table is as doubtful as this quantile of the scores of its cells: one cell of many may be seen badly."""

_REASONS = {
    "witnesses": "compare rows and columns with the picture: only one detector found just this table",
    "rows": "count the rows in the picture: other detectors found more or fewer",
    "confirmed": "check the borders of {where}: some cells were found by one detector only",
    "lowest": "check the borders of {where}: the detector was not sure of some cells",
    "placed": "look for missing cells in the picture: some that were detected fit into no row and column",
    "spans": "check the merged cells, first {where}: other detectors merge other ones",
}
"""What a person should check, by the evidence that a table lacks."""
_SHOWN = 20
"""Characters of a cell's text by which a person finds it."""


@dataclass(frozen=True, slots=True)
class TableEvidence:
    """What speaks for a table, each the larger the better. Its size is none: large tables are as often right.

    Args:
        witnesses: Rivals with the very same grid and words, 0 to 2.
        rows: Share of the rivals with as many rows, 0 to 1; 1 without rivals.
        confirmed: Minus the logarithm of 1 and the number of cells that no rival has; 0 without rivals.
        lowest: Best score that a detector gives the least sure cells, 0 to 1.
        placed: Minus the logarithm of 1 and the number of dropped cells within the table.
        spans: Minus the logarithm of 1 and the number of spanning cells that not all rivals have.
    """

    witnesses: float
    rows: float
    confirmed: float
    lowest: float
    placed: float
    spans: float

    @property
    def log_odds(self) -> float:
        """Logarithm of the odds that every cell of the table has the right position and span."""
        return weigh(self, _TABLE_WEIGHTS, _TABLE_BIAS)


_BEST = TableEvidence(witnesses=2, rows=1, confirmed=0, lowest=1, placed=0, spans=0)
"""All evidence there can be."""


@dataclass(frozen=True, slots=True)
class CellEvidence:
    """What speaks for a cell, each the larger the better.

    Args:
        confirmed: Share of the rivals that have the cell, 1 without rivals.
        single: 1 where it lies in one slot, 0 where it spans several.
        seen: Best score that a detector gives it, 0 to 1; 0 where nobody saw it.
        table: ``TableEvidence.log_odds`` of its table.
    """

    confirmed: float
    single: float
    seen: float
    table: float

    @property
    def log_odds(self) -> float:
        """Logarithm of the odds that the cell has the right position and span."""
        return weigh(self, _CELL_WEIGHTS, _CELL_BIAS)


# Printed by `python -m tests.benchmarks.candidates.fit_confidence ../shared/train`.
_TABLE_BIAS = -2.898
_TABLE_WEIGHTS = TableEvidence(
    witnesses=0.288,
    rows=0.908,
    confirmed=0.120,
    lowest=5.062,
    placed=0.982,
    spans=1.428,
)
_CELL_BIAS = -1.986
_CELL_WEIGHTS = CellEvidence(
    confirmed=1.731,
    single=2.987,
    seen=1.977,
    table=0.049,
)


def match_cells(candidate: Candidate, rival: Candidate, words: Words) -> Ints:
    """``(N,)`` index of the rival's cell in the same place with the same span and the same words, or -1.

    Args:
        candidate: Cells of a part of the picture.
        rival: The same part, as another detector sees it.
        words: Of the picture.

    >>> from postprocess.candidates.candidate import quads_to_candidate
    >>> from postprocess.geometry.boxes import boxes_to_quads
    >>> from postprocess.word import Word
    >>> one, two = ([[0, 0, 9, 9], [x, 0, 20, 9]] for x in (9, 13))
    >>> a, b = (quads_to_candidate(boxes_to_quads(boxes)) for boxes in (one, two))
    >>> match_cells(a, b, Words([Word("a", ((9, 1), (11, 1), (11, 8), (9, 8)))])).tolist()
    [-1, -1]
    >>> match_cells(a, b, Words([Word("a", ((4, 1), (6, 1), (6, 8), (4, 8)))])).tolist()
    [0, 1]
    """
    n = len(candidate.scores)
    if not n or not len(rival.scores):
        return np.full(n, -1, np.int64)
    match = rival.layout.cells_at(candidate.quads.mean(axis=1))
    back = candidate.layout.cells_at(rival.quads.mean(axis=1))
    sizes, others = (spans[:, 2:] - spans[:, :2] for spans in (candidate.layout.spans, rival.layout.spans))
    marks, theirs = _marks(candidate, words), _marks(rival, words)
    same = (
        (match >= 0) & (back[match] == np.arange(n)) & (sizes == others[match]).all(axis=1) & (marks == theirs[match])
    )
    return np.where(same, match, -1)


def _marks(candidate: Candidate, words: Words) -> Ints:
    """``(N,)`` a number for each cell that only cells with the same words have: a sum of random numbers, one a word."""
    cell = candidate.layout.cells_at(words.middles)
    numbers = np.random.default_rng(0).integers(0, 1 << 40, len(words))
    marks = np.zeros(len(candidate.scores), np.int64)
    np.add.at(marks, cell[cell >= 0], numbers[cell >= 0])
    return marks


def gather_evidence(candidate: Candidate, words: Words) -> TableEvidence:
    """Put together what speaks for a table.

    Args:
        candidate: With its rivals; none where no other detector was asked.
        words: Of the picture.
    """
    return _gather(candidate, _matches(candidate, words))


def _gather(candidate: Candidate, matches: Ints) -> TableEvidence:
    denied = matches < 0
    shape = candidate.layout.owner.shape
    shapes = [rival.layout.owner.shape for rival in candidate.rivals]
    same = np.array([other == shape for other in shapes], bool) & ~denied.any(axis=1)
    spans = candidate.layout.spans
    return TableEvidence(
        witnesses=min(int(same.sum()), 2),
        rows=float(np.mean([other[0] == shape[0] for other in shapes])) if shapes else 1.0,
        confirmed=-float(np.log1p(denied.all(axis=0).sum())) if shapes else 0.0,
        lowest=float(np.quantile(_best_scores(candidate, matches), _LOW)) if len(candidate.scores) else 0.0,
        placed=-float(np.log1p(_count_dropped_inside(candidate))),
        spans=-float(np.log1p((denied.any(axis=0) & (spans[:, 2:] - spans[:, :2] > 1).any(axis=1)).sum())),
    )


def _count_dropped_inside(candidate: Candidate) -> int:
    """Dropped cells whose middle lies among the others: those beside the table say nothing of it."""
    if not candidate.dropped:
        return 0
    middles = quads_to_array([each.quad for each in candidate.dropped]).mean(axis=1)
    return int(shapely.intersects_xy(candidate.hull, middles[:, 0], middles[:, 1]).sum())


def gather_cell_evidence(candidate: Candidate, words: Words, log_odds: float) -> list[CellEvidence]:
    """Put together what speaks for each cell.

    Args:
        candidate: See ``gather_evidence``.
        words: Of the picture.
        log_odds: Of the table.
    """
    return _gather_cells(candidate, _matches(candidate, words), log_odds)


def _gather_cells(candidate: Candidate, matches: Ints, log_odds: float) -> list[CellEvidence]:
    spans = candidate.layout.spans
    single = (spans[:, 2:] - spans[:, :2] == 1).all(axis=1)
    confirmed = (matches >= 0).mean(axis=0) if len(matches) else np.ones(len(spans))
    shares = zip(confirmed.tolist(), single.tolist(), _best_scores(candidate, matches).tolist(), strict=True)
    return [CellEvidence(share, float(alone), score, log_odds) for share, alone, score in shares]


def _matches(candidate: Candidate, words: Words) -> Ints:
    """``(rivals, N)`` the cells of the rivals that are those of the candidate, or -1."""
    found = [match_cells(candidate, rival, words) for rival in candidate.rivals]
    return np.array(found, np.int64).reshape(len(found), len(candidate.scores))


def _best_scores(candidate: Candidate, matches: Ints) -> Floats:
    """``(N,)`` the best score that a detector gives each cell; 0 where nobody saw it."""
    best = np.nan_to_num(candidate.scores)
    for rival, match in zip(candidate.rivals, matches, strict=True):
        best = np.maximum(best, np.append(np.nan_to_num(rival.scores), 0.0)[match])  # -1 is the last one
    return best


def rate(table: Table, candidate: Candidate, words: Words, unplaced: Sequence[Unplaced] = ()) -> Table:
    """Say how sure a table is, its rows and columns, and each of its cells.

    Args:
        table: The finished table of a candidate.
        candidate: See ``gather_evidence``.
        words: Of the picture.
        unplaced: The words of the picture that are in no cell, although it shows them.

    Returns:
        The same table with its confidence. A row or column is as sure as the least sure span in it; a cell as its
        span, times the OCR engine's score of its text. Doubt about a text halves both the cell and the table.

    >>> from postprocess.candidates.candidate import quads_to_candidate
    >>> from postprocess.geometry.boxes import boxes_to_quads
    >>> one = quads_to_candidate(boxes_to_quads([[0, 0, 9, 9]]))
    >>> table = one.to_table()
    >>> rated = rate(table.with_cells([replace(table[0, 0], text="7", ocr_score=0.5)]), one, Words())
    >>> rated[0, 0].confidence == 0.5 * rated.confidence.rows[0]
    True
    """
    if not len(table):
        return replace(table, confidence=Confidence(0.0, (), (), "the table has no cells"))
    matches, order = _matches(candidate, words), _order_in_picture(table)
    evidence = _gather(candidate, matches)
    spans = to_probability([cell.log_odds for cell in _gather_cells(candidate, matches, evidence.log_odds)])
    matches, spans = matches[:, order], spans[order]
    of_slot = spans[table.owner]
    rows, cols = of_slot.min(axis=1), of_slot.min(axis=0)
    doubts = [*_doubts_of(table), *_lost_in(table, unplaced)]
    confidence = Confidence(
        table=float(to_probability(evidence.log_odds)) * DOUBT ** min(len(doubts), MOST_DOUBTS),
        rows=tuple(rows.tolist()),
        cols=tuple(cols.tolist()),
        weakest=doubts[0] if doubts else _weakest(table, matches, spans, evidence),
    )
    cells = [
        replace(cell, confidence=span * text_score(cell))
        for cell, span in zip(table.cells, spans.tolist(), strict=True)
    ]
    return replace(table, cells=cells, confidence=confidence)


def text_score(cell: Cell) -> float:
    """What the text leaves of the probability that a cell is right, 0 to 1."""
    return (DOUBT if cell.doubt else 1.0) * (1.0 if cell.ocr_score is None else clip_score(cell.ocr_score))


def _doubts_of(table: Table) -> list[str]:
    """A sentence for each cell whose text may be wrong."""
    doubts = [(cell, cell.doubt or _misread(cell)) for cell in table.cells]
    return [f"check {_where(cell)}: its text {doubt}" for cell, doubt in doubts if doubt]


def _misread(cell: Cell) -> str:
    is_bad = bool(cell.text) and cell.ocr_score is not None and cell.ocr_score < MISREAD
    return f"was read with a score of {cell.ocr_score:.2f}" if is_bad else ""


def _lost_in(table: Table, unplaced: Sequence[Unplaced]) -> list[str]:
    """A sentence for each word that lies in the table and in none of its cells."""
    placed = Words(item.word for item in unplaced)
    if not len(placed) or table.quad is None:
        return []
    outline = quads_to_polygons(np.array([table.quad], np.float64))[0]
    inside = shapely.intersects_xy(outline, placed.middles) & placed.have_place
    return [
        f"look for {unplaced[index].word.text!r} in the picture: {unplaced[index].reason}"
        for index in np.flatnonzero(inside).tolist()
    ]


def _where(cell: Cell) -> str:
    """A cell as people count."""
    return f"row {cell.row + 1}, column {cell.col + 1}"


def _order_in_picture(table: Table) -> Ints:
    """``(N,)`` for each cell its number among the cells of the candidate, which go from left to right."""
    if table.direction == "ltr":
        return np.arange(len(table))
    row, end_col = np.array([(cell.row, cell.end_col) for cell in table.cells]).T
    return np.argsort(np.lexsort((-end_col, row)))


def _weakest(table: Table, matches: Ints, spans: Floats, evidence: TableEvidence) -> str:
    """The cell least sure of with its reason where rivals deny it, else what the table lacks most."""
    index = int(spans.argmin())
    cell, against = table.cells[index], int((matches[:, index] < 0).sum())
    where = _where(cell) + _shown(cell)
    if against:
        return f"check the borders of {where}: {against} of {len(matches)} other detections see this cell otherwise"
    return _REASONS[max(_REASONS, key=lambda name: _lack(evidence, name))].replace("{where}", where)


def _shown(cell: Cell) -> str:
    text = to_one_line(cell.text)
    return f" ({text[:_SHOWN].strip()}{'…' if len(text) > _SHOWN else ''})" if text else ""


def _lack(evidence: TableEvidence, name: str) -> float:
    best, there, weight = (float(getattr(each, name)) for each in (_BEST, evidence, _TABLE_WEIGHTS))
    return weight * (best - there)


def clip_score(score: float) -> float:
    """The score of an engine as a probability, 0 to 1; 0 where it is no number.

    >>> clip_score(1.2), clip_score(float("nan"))
    (1.0, 0.0)
    """
    return float(min(max(score, 0.0), 1.0)) if math.isfinite(score) else 0.0
