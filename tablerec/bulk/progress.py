"""What a person sees of a run, on standard error: a line for each failure, and how far it is."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator

import click

from tablerec.batch import count
from tablerec.bulk.sources import Source
from tablerec.bulk.state import State
from tablerec.errors import TablerecError

_BAR_SECONDS = 0.5
_LINE_SECONDS = 60.0
"""Between two lines where standard error is no terminal."""


class Progress:
    """Messages and a line that is written again and again; see ``run.Reporter``.

    Args:
        quiet: Whether only failures are told.
        find: Finds the inputs once more, to count them while the first ones are read; None where they cannot be found
            twice.
        summarize: Called now and then with the state, to write the summary.
    """

    def __init__(
        self,
        quiet: bool = False,
        find: Callable[[], Iterator[Source]] | None = None,
        summarize: Callable[[State], object] | None = None,
        summary_seconds: float = 30.0,
    ) -> None:
        self.n_errors = 0
        self._quiet = quiet
        self._is_terminal = sys.stderr.isatty()
        self._summarize = summarize
        self._summary_seconds = summary_seconds
        self._began = self._summarized = time.monotonic()
        self._shown = self._began - (_BAR_SECONDS if self._is_terminal else _LINE_SECONDS - 5)
        self._pages_before: int | None = None
        self._inputs_before = 0
        self._n_all: int | None = None
        if find is not None and not quiet:
            # It ends with the process, wherever it is.
            threading.Thread(target=self._count, args=(find,), daemon=True).start()

    def note(self, message: str) -> None:
        """Say what deserves a look."""
        if not self._quiet:
            self._line(message)

    def error(self, message: str) -> None:
        """Say what was given up."""
        self.n_errors += 1
        self._line(f"Error: {message}")

    def doubt(self, message: str) -> None:
        """Say which table is doubtful."""
        self._line(f"Doubtful: {message}")

    def beat(self, state: State, n_inputs: int) -> None:
        """Show how far the run is, if it is time for that; see ``run.Reporter``."""
        now = time.monotonic()
        if self._pages_before is None:
            self._pages_before, self._inputs_before = state.sums.pages, n_inputs
        if self._summarize is not None and now - self._summarized >= self._summary_seconds:
            self._summarized = now
            self._summarize(state)
        if not self._quiet and now - self._shown >= (_BAR_SECONDS if self._is_terminal else _LINE_SECONDS):
            self._shown = now
            text = self._text(state, n_inputs, now - self._began)
            click.echo(f"\r\033[K{text}" if self._is_terminal else text, nl=not self._is_terminal, err=True)

    def end(self) -> None:
        """Leave the line free."""
        if self._is_terminal and not self._quiet:
            click.echo("\r\033[K", nl=False, err=True)

    def _line(self, message: str) -> None:
        self.end()
        click.echo(message, err=True)

    def _text(self, state: State, n_inputs: int, seconds: float) -> str:
        n_pages = state.sums.pages - (self._pages_before or 0)
        of_all = "" if self._n_all is None else f" of {self._n_all:,}"
        failed = f", {state.n_failures:,} failed" if state.n_failures else ""
        text = f"{n_inputs:,}{of_all} inputs, {n_pages:,} pages, {n_pages / max(seconds, 0.1):.2f} pages/s{failed}"
        if self._n_all is not None and n_inputs > self._inputs_before and n_pages:
            left = (self._n_all - n_inputs) * seconds / (n_inputs - self._inputs_before)
            text += f", about {duration(max(0.0, left))} left"
        return text

    def _count(self, find: Callable[[], Iterator[Source]]) -> None:
        try:
            self._n_all = sum(1 for _ in find())
        except (TablerecError, OSError, ValueError):
            return  # what is wrong with them is told where they are read


def duration(seconds: float) -> str:
    """Return a duration for people.

    >>> duration(42), duration(4000), duration(200_000)
    ('42 s', '1 h 06 min', '2 d 7 h')
    """
    minutes, hours, days = int(seconds // 60), int(seconds // 3600), int(seconds // 86400)
    if days:
        return f"{days} d {hours % 24} h"
    if hours:
        return f"{hours} h {minutes % 60:02} min"
    return f"{minutes} min" if minutes >= 10 else f"{seconds:.0f} s"


def describe(state: State) -> str:
    """Return the sums of a store in a line.

    >>> describe(State())
    '0 inputs, 0 pages, 0 tables'
    """
    sums = state.sums
    parts = [count(sums.inputs, "input"), count(sums.pages, "page"), count(sums.tables, "table")]
    if sums.equal:
        parts.append(f"{sums.equal} equal to others")
    if sums.doubtful:
        parts.append(f"{sums.doubtful} doubtful")
    if state.n_failures:
        parts.append(f"{state.n_failures} failed")
    if state.open:
        parts.append(f"{count(len(state.open), 'input')} not complete")
    return ", ".join(parts)
