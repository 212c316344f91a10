"""The states of a table that is being corrected."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace

from postprocess.table import Table

_MOST_STEPS = 1000


@dataclass(frozen=True, slots=True)
class History:
    """All states of a table, so that each step can be undone and done again.

    Args:
        tables: The states, oldest first; a thousand at most.
        place: Index of the present one.
        runs: For each state what it goes on with. Where it is the same as that of the state before, a person sees
            both as one step; None goes on with nothing.

    >>> history = History((Table.from_texts([["a"]]),)).add(Table.from_texts([["b"]]))
    >>> history.now.to_grid(), history.undo().now.to_grid(), history.undo().redo().now.to_grid()
    ([['b']], [['a']], [['b']])
    """

    tables: tuple[Table, ...]
    place: int = 0
    runs: tuple[Hashable, ...] = (None,)

    @property
    def now(self) -> Table:
        """The present state."""
        return self.tables[self.place]

    def add(self, table: Table, run: Hashable = None) -> History:
        """Go on to a new state; what had been undone is gone."""
        tables = (*self.tables[: self.place + 1], table)[-_MOST_STEPS:]
        runs = (*self.runs[: self.place + 1], run)[-_MOST_STEPS:]
        return History(tables, len(tables) - 1, runs)

    def undo(self) -> History:
        """Go one state back, where there is one."""
        return replace(self, place=self.place - 1) if self.place else self

    def redo(self) -> History:
        """Go one state on, where there is one."""
        return replace(self, place=self.place + 1) if self.place + 1 < len(self.tables) else self

    @property
    def n_back(self) -> int:
        """Number of states to the beginning of the run that led here.

        >>> table = Table.from_texts([["a"]])
        >>> History((table,)).add(table, "x").add(table, "x").n_back, History((table,)).add(table).add(table).n_back
        (2, 1)
        """
        return _run_length(self.runs[self.place : 0 : -1])

    @property
    def n_on(self) -> int:
        """Number of states to the end of the run that was undone."""
        return _run_length(self.runs[self.place + 1 :])


def _run_length(runs: tuple[Hashable, ...]) -> int:
    """How many of the first are the same; each None is a run of its own."""
    if not runs or runs[0] is None:
        return min(len(runs), 1)
    return next((index for index, run in enumerate(runs) if run != runs[0]), len(runs))
