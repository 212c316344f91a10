"""Which rows and columns hold totals or averages: by their names, or because their numbers are the sums of others.

A sum needs no language. It is believed where at least half of the numbers that can be compared agree within
rounding, and where so many digits agree that it is no chance.
"""

from __future__ import annotations

import re

import numpy as np

from postprocess.arrays import Flags, Floats
from postprocess.meaning.kinds import Slots, mostly
from postprocess.table import Table
from postprocess.text.numbers import YEAR, read_number

_DIGITS = 4.0
"""So many digits of sums must agree, in all columns together."""
_ROUNDING = 0.6
"""A sum of n rounded numbers may differ by this times the root of n, in units of the last digit."""
_MAX_NAME_CHARS = 40

_NAME = re.compile(
    r"(grand |overall |sub[- ]?|adjusted )?totals?|(total )?sum|averages?|avg|"
    r"sous-total|total général|somme|moyenne|(zwischen|gesamt)?summe|gesamt|insgesamt|durchschnitt|"
    r"suma|promedio|(sub)?totale|somma|razem|ogółem|średnia|итого|всего|"
    r"[总總小合共][计計]|平均[值数數]?|均值|[总總]和|[总總][数數]"
)
_LONG_NAME = re.compile(r"(grand |sub[- ]?|sous-)?total\b.*|.*[总總小合共][计計]")

_SPACED = re.compile(r"(?<=[\u4e00-\u9fff])\s+(?=[\u4e00-\u9fff])")
"""Short Chinese words are spaced out: 合  计."""


def is_total_name(text: str, *, exactly: bool = False) -> bool:
    """Whether a text names a total, a sum or an average.

    Args:
        text: Label of a row, or header of a column.
        exactly: Whether the name must say nothing else.

    >>> [is_total_name(text) for text in ("Total:", "Sub-total", "Total assets", "流动资产合计", "Totally", "Tea")]
    [True, True, True, True, False, False]
    >>> is_total_name("Total assets", exactly=True), is_total_name("Total (kg)", exactly=True)
    (False, True)
    """
    name = _SPACED.sub("", re.sub(r"[(（].*|[\s:：.*…]+$|^\W+", "", " ".join(text.casefold().split())).strip())
    if len(name) > _MAX_NAME_CHARS:
        return False
    # A unit behind a long name, as in "Total cholesterol (mmol/l)", tells a quantity of its own.
    is_long = not exactly and not re.search("[(（]", text)
    return bool(_NAME.fullmatch(name) or (is_long and _LONG_NAME.fullmatch(name)))


def find_totals(table: Table, slots: Slots, depth: int, sections: Flags) -> tuple[Flags, Flags]:
    """Find the rows and columns of totals.

    Args:
        table: Any table with at least one cell.
        slots: What it holds.
        depth: Number of header rows.
        sections: ``(R,)`` rows that head others: a sum does not reach over them.

    Returns:
        ``(R,)`` and ``(C,)``. Header and section rows are no totals.

    >>> from postprocess.meaning.kinds import table_to_slots
    >>> table = Table.from_texts([["", "a", "b", "a + b"], ["x", "25", "171", "196"], ["y", "31", "19", "50"],
    ...                           ["All", "56", "190", "246"]])
    >>> rows, cols = find_totals(table, table_to_slots(table), 1, np.zeros(4, bool))
    >>> rows.tolist(), cols.tolist()
    ([False, False, False, True], [False, False, False, True])
    """
    numeric = mostly(slots.numbers[depth:], slots.filled[depth:])
    numeric &= ~mostly(slots.kinds[depth:] == YEAR, slots.filled[depth:])
    values, steps = _read_numbers(table, slots)
    values[:depth] = np.nan
    values[sections] = np.nan
    rows = _sums(values[:, numeric], steps[:, numeric], sections) | _named_rows(table, slots)
    rows[:depth] = False
    cols = np.zeros(len(numeric), bool)
    body = np.flatnonzero(~sections & (np.arange(len(values)) >= depth))
    cols[numeric] = _sums(
        values[np.ix_(body, numeric)].T, steps[np.ix_(body, numeric)].T, np.zeros(numeric.sum(), bool)
    )
    for cell in table.cells:
        if cell.row < depth and is_total_name(cell.text, exactly=True):
            cols[cell.col : cell.end_col] |= numeric[cell.col : cell.end_col]
    return rows & ~sections, cols if len(body) > 1 else np.zeros_like(cols)


def _named_rows(table: Table, slots: Slots) -> Flags:
    first = slots.filled.argmax(axis=1)
    named = np.zeros(len(first), bool)
    for row, col in enumerate(first.tolist()):
        cell = table[row, col]
        named[row] = cell.rowspan == 1 and slots.kinds[row, col] < YEAR and is_total_name(cell.text)
    return named


def _read_numbers(table: Table, slots: Slots) -> tuple[Floats, Floats]:
    """``(R, C)`` values, NaN where there is none, and the worth of their last digit; a spanning cell counts once."""
    values, steps = np.full(slots.owner.shape, np.nan), np.ones(slots.owner.shape)
    rows, cols = np.nonzero(slots.kinds >= YEAR)
    owners, first = np.unique(slots.owner[rows, cols], return_index=True)
    read = [read_number(table.cells[index].text) for index in owners.tolist()]
    if read:
        values[rows[first], cols[first]], steps[rows[first], cols[first]] = np.array(read).T
    return values, steps


def _sums(values: Floats, steps: Floats, breaks: Flags) -> Flags:
    """``(R,)`` rows that are the sum of those above: since a break or the last sum, of all of them, or of the sums."""
    found = np.zeros(len(values), bool)
    known = ~np.isnan(values)
    amounts = np.where(known, values, 0.0)
    counted = amounts != 0
    rounding = _ROUNDING * steps
    most = rounding * np.sqrt(len(values)) * counted
    sums, counts = np.zeros((3, values.shape[1])), np.zeros((3, values.shape[1]))
    for row in np.flatnonzero(known.any(axis=1) | breaks).tolist():
        if breaks[row]:
            sums[0] = counts[0] = 0
            continue
        errors = np.abs(sums - amounts[row])
        # Most rows end here: nothing is near.
        if (errors < most[row]).any() and _agree(amounts[row], errors, rounding[row], counts * known[row]):
            found[row] = True
            sums[2] += amounts[row]
            counts[2] += counted[row]
            sums[0] = counts[0] = 0
        else:
            sums[:2] += amounts[row]
            counts[:2] += counted[row]
    return found


def _agree(amounts: Floats, errors: Floats, rounding: Floats, counts: Floats) -> bool:
    """Whether an amount in each column is one of the three sums, each of ``counts`` numbers."""
    compared = counts > 1
    allowed = rounding * np.sqrt(counts)
    same = compared & (errors <= allowed) & (amounts != 0)
    size = np.abs(np.where(same, amounts, 1) / np.where(same, allowed, 1))
    digits = np.log10(np.maximum(size, 1)).sum(axis=1)
    return bool(((2 * same.sum(axis=1) >= compared.sum(axis=1)) & (digits >= _DIGITS)).any())
