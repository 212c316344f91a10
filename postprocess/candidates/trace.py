"""How a table came about, kept to be looked at."""

from __future__ import annotations

from dataclasses import dataclass

from postprocess.candidates.candidate import Candidate
from postprocess.candidates.explanation import Explanation
from postprocess.table import Table


@dataclass(frozen=True, slots=True)
class TableTrace:
    """How one table came about; corners are in pixels of the picture that was read.

    Args:
        chosen: The candidate that became the table, with its rivals and its explanation.
        table: The finished table: texts, roles, scores.
    """

    chosen: Candidate
    table: Table

    @property
    def shares(self) -> Explanation:
        """How well the grid explains the words and lines of the picture."""
        assert self.chosen.explanation is not None
        return self.chosen.explanation
