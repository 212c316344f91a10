"""Which rows and columns hold totals or averages: by their names, or because their numbers are the sums of others.

A sum needs no language. It is believed where at least half of the numbers that can be compared agree within
rounding, and where so many digits agree that it is no chance.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from postprocess.kinds import NUMBER, YEAR, Floats, Mask, Slots, mostly
from postprocess.table import Table

_DIGITS = 4.0
"""So many digits of sums must agree, in all columns together."""
_MAX_NAME_CHARS = 40

_NAME = re.compile(
    r"(grand |overall |sub[- ]?|adjusted )?totals?|(total )?sum|averages?|avg|"
    r"sous-total|total général|somme|moyenne|ensemble|(zwischen|gesamt)?summe|gesamt|insgesamt|durchschnitt|"
    r"suma|promedio|(sub)?totale|somma|media|razem|ogółem|średnia|итого|всего|"
    r"[总總小合共][计計]|平均[值数數]?|均值|[总總]和|[总總][数數]"
)
_LONG_NAME = re.compile(r"(grand |sub[- ]?|sous-)?total\b.*|.*([总總小合共][计計]|[总總][额額])")


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
    name = re.sub(r"[(（].*|[\s:：.*…]+$|^\W+", "", " ".join(text.casefold().split())).strip()
    if len(name) > _MAX_NAME_CHARS:
        return False
    return bool(_NAME.fullmatch(name) or (not exactly and _LONG_NAME.fullmatch(name)))


def find_totals(table: Table, slots: Slots, depth: int, sections: Mask) -> tuple[Mask, Mask]:
    """Find the rows and columns of totals.

    Args:
        table: Any table with at least one cell.
        slots: What it holds.
        depth: Number of header rows.
        sections: ``(R,)`` rows that head others: a sum does not reach over them.

    Returns:
        ``(R,)`` and ``(C,)``. Header and section rows are no totals.

    >>> from postprocess.kinds import table_to_slots
    >>> table = Table.from_texts([["", "a", "b", "a + b"], ["x", "25", "171", "196"], ["y", "31", "19", "50"],
    ...                           ["All", "56", "190", "246"]])
    >>> rows, cols = find_totals(table, table_to_slots(table), 1, np.zeros(4, bool))
    >>> rows.tolist(), cols.tolist()
    ([False, False, False, True], [False, False, False, True])
    """
    numeric = mostly(slots.numbers[depth:], slots.filled[depth:])
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


def _named_rows(table: Table, slots: Slots) -> Mask:
    first = slots.filled.argmax(axis=1)
    named = np.zeros(len(first), bool)
    for row, col in enumerate(first.tolist()):
        cell = table[row, col]
        named[row] = cell.rowspan == 1 and slots.kinds[row, col] < YEAR and is_total_name(cell.text)
    return named


def _read_numbers(table: Table, slots: Slots) -> tuple[Floats, Floats]:
    """``(R, C)`` values, NaN where there is none, and the worth of their last digit; a spanning cell counts once."""
    values, steps = np.full(slots.owner.shape, np.nan), np.ones(slots.owner.shape)
    numbers = slots.kinds == NUMBER
    for cell in table.cells:
        if numbers[cell.row, cell.col]:
            plain = cell.text.translate(_NO_MARKS)
            negative = plain.startswith("(") and plain.endswith(")")
            try:
                value = float(plain.strip("()"))
            except ValueError:
                continue
            values[cell.row, cell.col] = -value if negative else value
            steps[cell.row, cell.col] = 10.0 ** -len(plain.strip("()").partition(".")[2])
    return values, steps


_NO_MARKS = str.maketrans("\u2212\u2013", "--", ", \u00a0\u202f'$€£¥%")


def _sums(values: Floats, steps: Floats, breaks: Mask) -> Mask:
    """``(R,)`` rows that are the sum of those above: since a break or the last sum, of all of them, or of the sums."""
    found = np.zeros(len(values), bool)
    known = ~np.isnan(values)
    amounts = np.where(known, values, 0.0)
    sums, counts = np.zeros((3, values.shape[1])), np.zeros((3, values.shape[1]))
    for row in np.flatnonzero(known.any(axis=1) | breaks):
        if breaks[row]:
            sums[0] = counts[0] = 0
            continue
        found[row] = any(
            _agree(amounts[row], steps[row], total, np.where(known[row], count, 0))
            for total, count in zip(sums, counts, strict=True)
        )
        into: Sequence[int] = (2,) if found[row] else (0, 1)
        for index in into:
            sums[index] += amounts[row]
            counts[index] += amounts[row] != 0
        if found[row]:
            sums[0] = counts[0] = 0
    return found


def _agree(amounts: Floats, steps: Floats, sums: Floats, counts: Floats) -> bool:
    compared = counts > 1
    if not compared.any():
        return False
    rounding = steps * np.sqrt(counts) * 0.6
    same = compared & (np.abs(amounts - sums) <= rounding) & (amounts != 0)
    if 2 * same.sum() < compared.sum():
        return False
    return bool(np.log10(np.maximum(np.abs(amounts[same]) / rounding[same], 1)).sum() >= _DIGITS)
