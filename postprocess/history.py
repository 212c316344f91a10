"""The states of a table that is being corrected."""

from __future__ import annotations

from dataclasses import dataclass, replace

from postprocess.table import Table

_MOST_STEPS = 1000


@dataclass(frozen=True, slots=True)
class History:
    """All states of a table, so that each step can be undone and done again.

    Args:
        tables: The states, oldest first; a thousand at most.
        place: Index of the present one.

    >>> history = History((Table.from_texts([["a"]]),)).add(Table.from_texts([["b"]]))
    >>> history.now.to_grid(), history.undo().now.to_grid(), history.undo().redo().now.to_grid()
    ([['b']], [['a']], [['b']])
    """

    tables: tuple[Table, ...]
    place: int = 0

    @property
    def now(self) -> Table:
        """The present state."""
        return self.tables[self.place]

    def add(self, table: Table) -> History:
        """Go on to a new state; what had been undone is gone."""
        tables = (*self.tables[: self.place + 1], table)[-_MOST_STEPS:]
        return History(tables, len(tables) - 1)

    def undo(self) -> History:
        """Go one state back, where there is one."""
        return replace(self, place=self.place - 1) if self.place else self

    def redo(self) -> History:
        """Go one state on, where there is one."""
        return replace(self, place=self.place + 1) if self.place + 1 < len(self.tables) else self
