"""Slots: what stands in each slot of a table; the base of all that says what its rows and columns mean."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from postprocess.arrays import Flags, Floats, Ints
from postprocess.table import Table
from postprocess.text.numbers import EMPTY, NUMBER, YEAR, is_unit, text_to_kind

_DIGIT = re.compile(r"\d")


@dataclass(frozen=True)
class Slots:
    """What stands in each slot of a table, arrays ``(R, C)``; a spanning cell stands in all its slots.

    Args:
        owner: Index of the cell.
        kinds: Kind of its text.
        blank: Whether it has no text; a dash is a text, though of the kind ``EMPTY``.
        numbers: Whether it holds an amount. A year is a label above amounts, but a value in a column of years.
        texts: A number for each text, the same where the text is the same but for case.
        lengths: Natural logarithm of 1 + number of characters.
        digits: Whether the text has a digit.
        units: Whether the text is a unit.
        announces: Whether the text ends in a colon.
        colspans: Columns of the cell.
        end_rows: First row below the cell.
    """

    owner: NDArray[np.int32]
    kinds: NDArray[np.int8]
    blank: Flags
    numbers: Flags
    texts: Ints
    lengths: Floats
    digits: Flags
    units: Flags
    announces: Flags
    colspans: Ints
    end_rows: Ints

    @cached_property
    def filled(self) -> Flags:
        """``(R, C)`` where there are letters or digits."""
        return np.asarray(self.kinds != EMPTY)

    @cached_property
    def wide(self) -> Flags:
        """``(R,)`` rows that are one cell as wide as the table."""
        n_cols = self.owner.shape[1]
        return np.asarray((self.colspans[:, 0] == n_cols) & (n_cols > 1))

    @cached_property
    def lone(self) -> Flags:
        """``(R,)`` rows in which no more than one cell holds a text."""
        last = np.where(self.blank, -1, self.owner).max(axis=1, initial=-1)
        return np.asarray((self.blank | (self.owner == last[:, None])).all(axis=1))


def table_to_slots(table: Table) -> Slots:
    """Read all texts of a table once.

    Args:
        table: Any table.

    >>> slots = table_to_slots(Table.from_texts([["Year", "Sales"], ["2016", "5"], ["2017", "6"]]))
    >>> slots.numbers.tolist(), slots.lone.tolist()
    ([[False, False], [True, True], [True, True]], [False, False, False])
    """
    owner = table.owner
    texts = [cell.text.strip() for cell in table.cells]
    known: dict[str, int] = {}
    kinds = np.array([text_to_kind(text) for text in texts], np.int8)
    labels = np.flatnonzero(kinds != NUMBER)
    units = np.zeros(len(texts), bool)
    units[labels] = [is_unit(texts[index]) for index in labels]
    by_slot = kinds[owner]
    return Slots(
        owner=owner,
        kinds=by_slot,
        blank=np.array([not text for text in texts], bool)[owner],
        numbers=_slots_of_numbers(by_slot),
        texts=np.array([known.setdefault(text.casefold(), len(known)) for text in texts], np.int64)[owner],
        lengths=np.log1p(np.array([len(text) for text in texts], np.float64))[owner],
        digits=np.array([_DIGIT.search(text) is not None for text in texts], bool)[owner],
        units=units[owner],
        announces=np.array([text.endswith((":", "：")) for text in texts], bool)[owner],
        colspans=np.array([cell.colspan for cell in table.cells], np.int64)[owner],
        end_rows=np.array([cell.end_row for cell in table.cells], np.int64)[owner],
    )


def _slots_of_numbers(kinds: NDArray[np.int8]) -> Flags:
    years = kinds == YEAR
    return np.asarray((kinds == NUMBER) | (years & mostly(years, kinds != EMPTY)))


def mostly(wanted: Flags, filled: Flags) -> Flags:
    """``(C,)`` columns in which more than half of the filled slots are wanted ones.

    >>> mostly(np.array([[True, False], [True, True]]), np.array([[True, True], [True, True]])).tolist()
    [True, False]
    """
    return np.asarray(2 * wanted.sum(axis=0) > filled.sum(axis=0))


def count_distinct(texts: Ints, filled: Flags) -> Ints:
    """``(C,)`` how many different texts each column holds.

    >>> count_distinct(np.array([[5], [7], [5], [9]]), np.array([[True], [True], [True], [False]])).tolist()
    [2]
    """
    if not len(texts):
        return np.zeros(texts.shape[1], np.int64)
    ordered = np.sort(np.where(filled, texts, -1), axis=0)
    return np.asarray((np.diff(ordered, axis=0) != 0).sum(axis=0) + (ordered[0] >= 0), np.int64)
