"""The tables that are wanted, in the order of their inputs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from postprocess.captions.continuation import continuation, join_tables
from postprocess.cell import Cell, shift
from postprocess.editing.placing import tidy
from postprocess.table import Table
from tablerec.corrections.editor import Correction
from tablerec.corrections.proof import share_proved
from tablerec.errors import InputError, TablerecError


@dataclass(frozen=True)
class Entry:
    """A table as it goes out.

    Args:
        parts: Its correction, or those of its parts on several pages.
        table: All of it, without lines that divide nothing.
    """

    parts: Sequence[Correction]
    table: Table

    @cached_property
    def share_proved(self) -> float:
        """Share of its cells with text that are proved, 0 to 1."""
        return round(share_proved([self.table]), 4)

    def cells_of_parts(self) -> list[list[Cell]]:
        """The cells of each part, in pixels of its picture, where they are in the whole, without repeated heads."""
        first, *others = (tidy(part.table) for part in self.parts)
        shown, n_rows = [list(first.cells)], first.n_rows
        for other in others:
            going_on = continuation(first, other)
            down, right = n_rows - going_on.n_repeated, going_on.first_col
            shown.append([shift(cell, down, right) for cell in other.cells if cell.row >= going_on.n_repeated])
            n_rows += other.n_rows - going_on.n_repeated
        return shown

    @property
    def name(self) -> str:
        """Of its files."""
        return self.parts[0].head.name

    @property
    def pages(self) -> str:
        """Numbers of its pages, as people write them."""
        numbers = [part.head.page for part in self.parts]
        return str(numbers[0]) if len(numbers) == 1 else f"{numbers[0]}-{numbers[-1]}"

    @property
    def verdict(self) -> str:
        """``saved`` where all of it is."""
        return "saved" if all(part.verdict == "saved" for part in self.parts) else "open"


def to_entries(groups: Iterable[Sequence[Correction]], *, only_saved: bool) -> list[Entry]:
    """Return what goes out; never what a person called no table, nor a page on which nothing was found.

    Args:
        groups: Corrections, each alone or with those that it goes on in.
        only_saved: Leave out what nobody has said to be right.

    Raises:
        InputError: Nothing is left.
    """
    kept = [[part for part in group if _is_wanted(part, only_saved)] for group in groups]
    entries = [Entry(parts, _whole(parts)) for parts in kept if parts]
    if not entries:
        missing = "no table has been saved yet: save one, or choose all" if only_saved else "there is no table yet"
        raise InputError(missing).named("nothing_saved" if only_saved else "nothing_there")
    return entries


def _is_wanted(part: Correction, only_saved: bool) -> bool:
    if part.verdict == "rejected" or (only_saved and part.verdict != "saved"):
        return False
    return bool(part.head.number or part.version)


def _whole(parts: Sequence[Correction]) -> Table:
    try:
        return join_tables([tidy(part.table) for part in parts])
    except TablerecError as error:
        names = ", ".join(part.head.name for part in parts)
        message = f"{names}: are no longer one table ({error}); separate them, or correct them"
        raise InputError(message).named("no_longer_one", names, error) from error
