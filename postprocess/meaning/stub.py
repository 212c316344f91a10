"""How many columns on the left are the stub, which names the rows: none, one or two; evidence chooses."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from postprocess.arrays import Flags, Floats, Ints
from postprocess.meaning.kinds import Slots, mostly
from postprocess.odds import choose, weigh
from postprocess.table import Table
from postprocess.text.numbers import LABEL, YEAR

MAX_COLUMNS = 2
"""More stub columns are not considered."""
_IN_ORDER = 0.6
"""A column that counts its rows counts at least this share of them in order."""


@dataclass(frozen=True, slots=True)
class StubEvidence:
    """What speaks for or against so many stub columns; all 0 for none.

    Shares are of a column's filled slots in the body, or of columns; what is true or false is 1 or 0.

    Args:
        any: There is a stub.
        labels: First column that is labels.
        years: First column that is years.
        digits: First column with digits.
        filled: First column that is filled, of all its slots.
        numbers: Other columns that hold mostly numbers.
        wordy: Other columns that hold mostly labels.
        length: Mean length of the texts in the first column, see ``Slots.lengths``.
        longer: By how much it is above the mean of the others.
        longest: Mean length in the column of the longest texts, the first left out.
        counts: The first column counts the rows.
        corner: The header rows leave the first column empty.
        headed: There are header rows.
        announces: First column that ends in a colon.
        second: There are two stub columns.
        second_labels: Second column that is labels.
        second_digits: Second column with digits.
        second_filled: Second column that is filled, of all its slots.
        second_corner: The header rows leave it empty.
        second_numbers: Columns after it that hold mostly numbers.
        groups: Two stub columns, and a cell of the first one is several rows high.
        groups_of_numbers: The same times the share of ``second_numbers``.
        gaps: Two stub columns, and so much of the first one is empty.
    """

    any: float = 0
    labels: float = 0
    years: float = 0
    digits: float = 0
    filled: float = 0
    numbers: float = 0
    wordy: float = 0
    length: float = 0
    longer: float = 0
    longest: float = 0
    counts: float = 0
    corner: float = 0
    headed: float = 0
    announces: float = 0
    second: float = 0
    second_labels: float = 0
    second_digits: float = 0
    second_filled: float = 0
    second_corner: float = 0
    second_numbers: float = 0
    groups: float = 0
    groups_of_numbers: float = 0
    gaps: float = 0


# Printed by `python -m tests.benchmarks.meaning.fit_meaning`.
_WEIGHTS = StubEvidence(
    any=-1.68,
    labels=1.47,
    years=3.14,
    digits=-1.56,
    filled=2.65,
    numbers=-0.85,
    wordy=-0.69,
    length=1.51,
    longer=-0.95,
    longest=-0.82,
    counts=-0.36,
    corner=1.64,
    headed=-0.31,
    announces=2.88,
    second=-5.52,
    second_labels=0.70,
    second_digits=-2.18,
    second_filled=1.63,
    second_corner=3.63,
    second_numbers=0.73,
    groups=1.76,
    groups_of_numbers=0.83,
    gaps=5.29,
)


def stub_scores(table: Table, slots: Slots, depth: int, sections: Flags) -> Floats:
    """Probability of each column that it and all columns left of it name the rows.

    Args:
        table: Any table with at least one cell.
        slots: What it holds.
        depth: Number of header rows.
        sections: ``(R,)`` rows that head others.

    Returns:
        ``(C,)``, never rising from column to column.

    >>> from postprocess.meaning.kinds import table_to_slots
    >>> table = Table.from_texts([["", "2017", "2018"], ["Tea sold", "12.5", "13.1"], ["Milk", "8", "9"]])
    >>> (stub_scores(table, table_to_slots(table), 1, np.zeros(3, bool)) > 0.5).tolist()
    [True, False, False]
    """
    chosen = choose([weigh(each, _WEIGHTS) for each in gather_stub_evidence(table, slots, depth, sections)])
    return np.array([chosen[col + 1 :].sum() for col in range(table.n_cols)])


def gather_stub_evidence(table: Table, slots: Slots, depth: int, sections: Flags) -> list[StubEvidence]:
    """Gather what speaks for 0, 1, ... stub columns; at least one column is left, and two rows show no stub.

    Args:
        table: Any table with at least one cell.
        slots: What it holds.
        depth: Number of header rows.
        sections: ``(R,)`` rows that head others.
    """
    body = np.flatnonzero(~sections & ~slots.wide & (np.arange(table.n_rows) >= depth))
    evidence = [StubEvidence()]
    if len(body) < 2 or table.n_rows <= 2 or table.n_cols < 2:
        return evidence
    filled = slots.filled[body]
    counts = np.maximum(filled.sum(axis=0), 1)
    lengths = (slots.lengths[body] * filled).sum(axis=0) / counts
    digits = (slots.digits[body] & filled).sum(axis=0) / counts
    numeric = mostly(slots.numbers[body] & filled, filled)
    one = {
        "any": 1.0,
        "labels": (slots.kinds[body, 0] == LABEL).sum() / counts[0],
        "years": (slots.kinds[body, 0] == YEAR).sum() / counts[0],
        "digits": digits[0],
        "filled": filled[:, 0].mean(),
        "numbers": numeric[1:].mean(),
        "wordy": mostly(slots.kinds[body] == LABEL, filled)[1:].mean(),
        "length": lengths[0],
        "longer": lengths[0] - lengths[1:].mean(),
        "longest": lengths[1:].max(),
        "counts": float(_counts_rows(table, body)),
        "corner": float(depth > 0 and not slots.filled[:depth, 0].any()),
        "headed": float(depth > 0),
        "announces": (slots.announces[body, 0] & filled[:, 0]).sum() / counts[0],
    }
    evidence.append(StubEvidence(**one))
    if table.n_cols > MAX_COLUMNS:
        grouped = float((np.diff(slots.owner[body, 0]) == 0).any())
        two = {
            "second": 1.0,
            "second_labels": (slots.kinds[body, 1] == LABEL).sum() / counts[1],
            "second_digits": digits[1],
            "second_filled": filled[:, 1].mean(),
            "second_corner": float(depth > 0 and not slots.filled[:depth, 1].any()),
            "second_numbers": numeric[2:].mean(),
            "groups": grouped,
            "groups_of_numbers": grouped * numeric[2:].mean(),
            "gaps": 1 - filled[:, 0].mean(),
        }
        evidence.append(StubEvidence(**one, **two))
    return evidence


def _counts_rows(table: Table, body: Ints) -> bool:
    texts = [table[row, 0].text.strip(" .") for row in body.tolist()]
    if not all(text.isdecimal() for text in texts if text):
        return False
    numbers = [int(text) for text in texts if text]
    in_order = sum(after == before + 1 for before, after in pairwise(numbers))
    return in_order >= _IN_ORDER * max(len(texts) - 1, 1)
