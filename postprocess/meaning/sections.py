"""Which rows of the body head the rows below them: one label, alone in its row or as wide as the table."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from postprocess.arrays import Flags, Floats
from postprocess.meaning.kinds import Slots
from postprocess.odds import to_probability, weigh
from postprocess.text.numbers import EMPTY, NUMBER

MAX_CHARS = 80
"""A longer text is a note, not the heading of a section."""


@dataclass(frozen=True, slots=True)
class SectionEvidence:
    """What speaks for or against a row of one label; shares are of the body's rows, what is true or false is 1 or 0.

    Args:
        wide: The label's cell is as wide as the table.
        second: The label stands in the second column.
        first: The row is the first one of the body.
        narrow: The table has two columns.
        numbers: Rows that hold numbers.
        numbers_below: The row below holds numbers.
        labels: Rows of one label.
        labels_above: The row above is one of these.
        announces: The label ends in a colon.
    """

    wide: float
    second: float
    first: float
    narrow: float
    numbers: float
    numbers_below: float
    labels: float
    labels_above: float
    announces: float


# Printed by `python -m tests.benchmarks.meaning.fit_meaning`.
_BIAS = -1.58
_WEIGHTS = SectionEvidence(
    wide=5.33,
    second=0.23,
    first=1.10,
    narrow=-0.83,
    numbers=1.92,
    numbers_below=1.17,
    labels=-0.78,
    labels_above=-1.77,
    announces=-0.50,
)


def section_scores(slots: Slots, depth: int) -> Floats:
    """Probability of each row to head the rows below it.

    Args:
        slots: Of a table with at least one cell.
        depth: Number of header rows.

    Returns:
        ``(R,)``; 0 for rows that cannot.

    >>> from postprocess.meaning.kinds import table_to_slots
    >>> from postprocess.table import Table
    >>> texts = [["", "2017", "2018"], ["Assets", "", ""], ["Cash", "5", "6"], ["Land", "7", "8"]]
    >>> (section_scores(table_to_slots(Table.from_texts(texts)), 1) > 0.5).tolist()
    [False, True, False, False]
    """
    able = section_candidates(slots, depth)
    scores = np.zeros(len(able))
    for row in np.flatnonzero(able).tolist():
        evidence = gather_section_evidence(slots, depth, able, row)
        scores[row] = to_probability(weigh(evidence, _WEIGHTS, _BIAS))
    return scores


def section_candidates(slots: Slots, depth: int) -> Flags:
    """``(R,)`` body rows of one label in one of the first two columns, with other rows below.

    >>> from postprocess.meaning.kinds import table_to_slots
    >>> from postprocess.table import Table
    >>> texts = [["Hot", ""], ["Tea", "5"], ["see below", ""]]
    >>> section_candidates(table_to_slots(Table.from_texts(texts)), 0).tolist()
    [True, False, False]
    """
    rows = np.arange(len(slots.owner))
    column = slots.filled.argmax(axis=1)
    place = rows, column
    spans = slots.colspans[place]
    able = slots.lone & (slots.kinds[place] != NUMBER) & (slots.kinds[place] != EMPTY)
    able &= (slots.end_rows[place] == rows + 1) & (np.diff(slots.owner[:, 0], prepend=-1) != 0)
    able &= slots.wide | ((column <= 1) & (spans == 1) & (slots.colspans.max(axis=1) == 1))
    able &= (slots.lengths[place] <= np.log1p(MAX_CHARS)) & (rows >= depth)
    last = int(np.flatnonzero(~able).max(initial=-1))
    return np.asarray(able & (rows < last))


def gather_section_evidence(slots: Slots, depth: int, able: Flags, row: int) -> SectionEvidence:
    """Gather what speaks for a row as the head of a section.

    Args:
        slots: Of the table.
        depth: Number of header rows.
        able: ``(R,)`` see ``section_candidates``.
        row: One of these rows; it is not the last one.
    """
    column = int(slots.filled[row].argmax())
    numbers: Flags = np.asarray(slots.numbers.any(axis=1))
    return SectionEvidence(
        wide=float(slots.wide[row]),
        second=float(column == 1),
        first=float(row == depth),
        narrow=float(slots.owner.shape[1] == 2),
        numbers=float(numbers[depth:].mean()),
        numbers_below=float(numbers[row + 1]),
        labels=float(able[depth:].mean()),
        labels_above=float(row > depth and bool(able[row - 1])),
        announces=float(slots.announces[row, column]),
    )
