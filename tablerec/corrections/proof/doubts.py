"""What the reader and the detector themselves doubt: text and structure apart."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from postprocess.candidates.confidence import DOUBT
from postprocess.cell import Cell
from postprocess.geometry.boxes import quads_to_boxes
from postprocess.table import Table
from postprocess.word import UNREAD, Word, Words
from tablerec.corrections.proof.finding import Finding

# Chosen by `python -m tests.benchmarks.editor.proofreading --tune`.
TEXT_BELOW, NUMBER_BELOW = 0.98, 0.97
"""A cell whose least sure word has a lower score is looked at; one with digits, which no context tells, sooner."""
STRUCTURE_BELOW = 0.5
"""A cell whose place and span are less sure is looked at: a probability, by which it is rather wrong than right."""


def text_confidence(cell: Cell) -> float | None:
    """Probability that the text of a cell is right, by the reader alone; None where nothing was read.

    >>> text_confidence(Cell(0, 0, text="7", ocr_score=0.9)), text_confidence(Cell(0, 0))
    (0.9, None)
    """
    if cell.ocr_score is None or not np.isfinite(cell.ocr_score):
        return None
    return float(min(max(cell.ocr_score, 0.0), 1.0)) * (DOUBT if cell.doubt else 1.0)


def structure_confidence(cell: Cell) -> float | None:
    """Probability that place and span of a cell are right, whatever it says; None where it is not known.

    >>> structure_confidence(Cell(0, 0, text="7", ocr_score=0.5, confidence=0.4))
    0.8
    """
    if cell.confidence is None or not np.isfinite(cell.confidence):
        return None
    text = text_confidence(cell)
    if text is None:
        text = DOUBT if cell.doubt else 1.0
    return min(1.0, cell.confidence / text) if text else None


def check_doubts(table: Table, words: Sequence[Word] = ()) -> Iterator[Finding]:
    """Find the cells that were read or found with little certainty.

    Args:
        table: As it was recognized.
        words: Of its picture, where they are known: of a cell with several the least sure one counts.

    >>> table = Table([Cell(0, 0, text="7", ocr_score=0.4, confidence=0.4), Cell(0, 1, text="8", ocr_score=1.0)])
    >>> [(finding.cell, finding.kind) for finding in check_doubts(table)]
    [(0, 'text')]
    """
    least = _least_scores(table, words)
    for index, cell in enumerate(table.cells):
        has_text = bool(cell.text.strip())
        score = least.get(index, cell.ocr_score)
        below = NUMBER_BELOW if any(map(str.isdecimal, cell.text)) else TEXT_BELOW
        if cell.doubt or UNREAD in cell.text:
            yield Finding(index, "text", "doubt", 0.8, (cell.doubt or UNREAD,))
        elif has_text and score is not None and score < below:
            yield Finding(index, "text", "score", round(1 - float(score), 3), (f"{score:.2f}",))
        sure = structure_confidence(cell)
        if sure is not None and sure < STRUCTURE_BELOW:
            yield Finding(index, "structure", "borders", round(1 - sure, 3), (f"{sure:.2f}",))


def _least_scores(table: Table, words: Sequence[Word]) -> dict[int, float]:
    """The score of the least sure word that lies in each cell and whose text is part of it."""
    if not words:
        return {}
    placed = [index for index, cell in enumerate(table.cells) if cell.quad is not None]
    boxes = quads_to_boxes([table.cells[index].quad for index in placed])  # type: ignore[misc]
    found: dict[int, float] = {}
    for word, (x, y) in zip(words, Words(words).middles.tolist(), strict=True):
        inside = (boxes[:, 0] <= x) & (x < boxes[:, 2]) & (boxes[:, 1] <= y) & (y < boxes[:, 3])
        for at in np.flatnonzero(inside).tolist():
            if _bare(word.text) in _bare(table.cells[placed[at]].text):
                found[placed[at]] = min(found.get(placed[at], 1.0), word.score)
    return found


def _bare(text: str) -> str:
    return "".join(text.split())
