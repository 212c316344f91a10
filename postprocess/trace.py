"""The stages that a table went through, kept to be looked at."""

from __future__ import annotations

from dataclasses import dataclass

from postprocess.boxes import Floats
from postprocess.explanation import Explanation
from postprocess.grid import Grid
from postprocess.table import Table


@dataclass(frozen=True, slots=True)
class Candidate:
    """The cells of one table as one detector sees them, and what the pipeline makes of them.

    Args:
        detector: Name of the detector.
        quads: ``(N, 4, 2)`` cells in pixels of the picture.
        scores: ``(N,)`` how sure the detector is of each, 0 to 1.
        table: Their grid, with the words of the picture in it.
    """

    detector: str
    quads: Floats
    scores: Floats
    table: Table


@dataclass(frozen=True, slots=True)
class TableTrace:
    """How one table came about; corners are in pixels of the picture that was read.

    Args:
        chosen: The candidate that became the table.
        rivals: The candidates that did not.
        grid: Of the chosen cells: straightened boxes, lines, spans, and what was dropped.
        shares: How well the grid explains the words and lines of the picture.
        table: The finished table: texts, roles, scores.
    """

    chosen: Candidate
    rivals: tuple[Candidate, ...]
    grid: Grid
    shares: Explanation
    table: Table
