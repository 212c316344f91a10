"""The states of a table that is being corrected."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

T = TypeVar("T")

_MOST_STEPS = 1000


@dataclass(frozen=True, slots=True)
class History(Generic[T]):
    """All states of something, so that each step can be undone and done again.

    Args:
        states: Oldest first; a thousand at most.
        place: Index of the present one.
        runs: For each state what it goes on with. Where it is the same as that of the state before, a person sees
            both as one step; None goes on with nothing.

    >>> history = History(("a",)).add("b")
    >>> history.now, history.undo().now, history.undo().redo().now
    ('b', 'a', 'b')
    """

    states: tuple[T, ...]
    place: int = 0
    runs: tuple[Hashable, ...] = (None,)

    @property
    def now(self) -> T:
        """The present state."""
        return self.states[self.place]

    def add(self, state: T, run: Hashable = None) -> History[T]:
        """Go on to a new state; what had been undone is gone."""
        states = (*self.states[: self.place + 1], state)[-_MOST_STEPS:]
        runs = (*self.runs[: self.place + 1], run)[-_MOST_STEPS:]
        return History(states, len(states) - 1, runs)

    def undo(self) -> History[T]:
        """Go one state back, where there is one."""
        return replace(self, place=self.place - 1) if self.place else self

    def redo(self) -> History[T]:
        """Go one state on, where there is one."""
        return replace(self, place=self.place + 1) if self.place + 1 < len(self.states) else self

    @property
    def n_back(self) -> int:
        """Number of states to the beginning of the run that led here.

        >>> History(("a",)).add("b", "x").add("c", "x").n_back, History(("a",)).add("b").add("c").n_back
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
