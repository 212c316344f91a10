"""What the reader and the detector themselves doubt: text and structure apart."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from postprocess.candidates.confidence import text_score
from postprocess.cell import Cell
from postprocess.table import Table
from postprocess.word import UNREAD, Word
from tablerec.corrections.proof.finding import Finding

# Chosen by `python -m tests.benchmarks.editor.proofreading --tune`.
TEXT_BELOW = 0.8
"""A text is looked at whose least sure line is right with less than this probability."""
STRUCTURE_BELOW = 0.5
"""A cell whose place and span are less sure is looked at: a probability, by which it is rather wrong than right."""


def structure_confidence(cell: Cell) -> float | None:
    """Probability that place and span of a cell are right, whatever it says; None where it is not known.

    >>> structure_confidence(Cell(0, 0, text="7", ocr_score=0.5, confidence=0.4))
    0.8
    """
    if cell.confidence is None or not np.isfinite(cell.confidence):
        return None
    share = text_score(cell)
    return min(1.0, cell.confidence / share) if share else None


def check_doubts(table: Table, words: Sequence[Word] = ()) -> Iterator[Finding]:
    """Find the cells that were read or found with little certainty.

    Args:
        table: As it was recognized.
        words: Those that the cells count; none where they count none.

    >>> table = Table([Cell(0, 0, text="7", ocr_score=0.4, confidence=0.4), Cell(0, 1, text="8", ocr_score=1.0)])
    >>> [(finding.cell, finding.kind) for finding in check_doubts(table)]
    [(0, 'text')]
    """
    for index, cell in enumerate(table.cells):
        has_text = bool(cell.text.strip())
        chance = chance_of_text(cell, words)
        if cell.doubt or UNREAD in cell.text:
            yield Finding(index, "text", "doubt", 0.8, (cell.doubt or UNREAD,))
        elif has_text and chance is not None and chance < TEXT_BELOW:
            yield Finding(index, "text", "score", round(1 - chance, 3), (f"{chance:.2f}",))
        sure = structure_confidence(cell)
        if sure is not None and sure < STRUCTURE_BELOW:
            yield Finding(index, "structure", "borders", round(1 - sure, 3), (f"{sure:.2f}",))


def chance_of_text(cell: Cell, words: Sequence[Word] = ()) -> float | None:
    """Probability that all characters of the least sure line of a cell are right; None where nothing was read.

    The score of a line is that of its characters: of many more go wrong.

    >>> round(chance_of_text(Cell(0, 0, text="abcd", ocr_score=0.9)), 2), chance_of_text(Cell(0, 0))
    (0.66, None)
    """
    own = [words[index] for index, _, _ in cell.words] if words else []
    if own:
        return min(_clip(word.score) ** len(word.text) for word in own)
    longest = max(map(len, cell.text.split("\n")))
    return None if cell.ocr_score is None else _clip(cell.ocr_score) ** longest


def _clip(score: float) -> float:
    return min(max(float(score), 0.0), 1.0) if math.isfinite(score) else 0.0
