"""How many rows at the top are header rows: each number of rows is a candidate, and evidence chooses."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from postprocess.arrays import Flags, Floats
from postprocess.meaning.kinds import Slots, count_distinct, mostly
from postprocess.odds import choose, weigh

MAX_ROWS = 7
"""More header rows are not considered."""
_LONG = np.log1p(40)
"""A longer text is prose, see ``Slots.lengths``."""
_SPREAD = 0.2
"""Texts whose lengths differ by less than this, see ``Slots.lengths``, are alike."""
_MOST = 4.0


@dataclass(frozen=True, slots=True)
class HeaderEvidence:
    """What speaks for or against so many header rows; all 0 for no header row, but for what comes next.

    "Last" is the last header row, "next" the row below it; a row of one text is skipped where labels and the
    corner are meant. Shares are of columns, or of texts in a row; what is true or false is 1 or 0.

    Args:
        any: There is a header row.
        deeper: Header rows after the first.
        headed: Columns of numbers below a label; a table with one number has none.
        number_rows: Header rows with a number in them.
        labels_next: Columns of numbers in which the next row has a label yet.
        open: Last row in groups that no row splits.
        groups_next: Next row in groups.
        corner: The header rows leave the first column empty, the body does not.
        corner_next: Only the next row leaves it empty.
        full: Last row that is filled.
        lone: The last row has one text.
        title: The first of several header rows is one cell as wide as the table.
        wide: The last row is such a cell.
        units: Last row that is units.
        units_next: Next row that is units.
        empty: Body right of the first column that holds nothing.
        recurs: Texts of the last row that come again in the body.
        categories: Texts of columns without numbers that come again there.
        length: How far the lengths of the texts in the last row are from those below, in standard deviations.
        distinct: The last row is filled with different texts.
        long: Last row that is prose.
        announces: Texts of the first column that end in a colon, as in forms.
    """

    any: float = 0
    deeper: float = 0
    headed: float = 0
    number_rows: float = 0
    labels_next: float = 0
    open: float = 0
    groups_next: float = 0
    corner: float = 0
    corner_next: float = 0
    full: float = 0
    lone: float = 0
    title: float = 0
    wide: float = 0
    units: float = 0
    units_next: float = 0
    empty: float = 0
    recurs: float = 0
    categories: float = 0
    length: float = 0
    distinct: float = 0
    long: float = 0
    announces: float = 0


# Printed by `python -m tests.benchmarks.meaning.fit_meaning`.
_WEIGHTS = HeaderEvidence(
    any=-6.19,
    deeper=-1.14,
    headed=3.75,
    number_rows=-1.92,
    labels_next=-2.77,
    open=-3.91,
    groups_next=-5.13,
    corner=1.52,
    corner_next=-5.12,
    full=5.00,
    lone=2.19,
    title=0.47,
    wide=1.20,
    units=4.43,
    units_next=-1.93,
    empty=0.69,
    recurs=-2.97,
    categories=2.44,
    length=0.86,
    distinct=0.82,
    long=-2.00,
    announces=-4.74,
)


def header_row_scores(slots: Slots) -> Floats:
    """Probability of each row that it and all rows above are header rows.

    Args:
        slots: Of a table with at least one cell.

    Returns:
        ``(R,)``, never rising from row to row; a cell over several rows has one value.

    >>> from postprocess.meaning.kinds import table_to_slots
    >>> from postprocess.table import Table
    >>> texts = [["Item", "Price", "Count"], ["Tea", "1.20", "5"], ["Milk", "0.90", "12"]]
    >>> (header_row_scores(table_to_slots(Table.from_texts(texts))) > 0.5).tolist()
    [True, False, False]
    """
    depths = candidates(slots)
    chosen = choose([weigh(gather_header_evidence(slots, depth), _WEIGHTS) for depth in depths])
    return np.array([chosen[np.array(depths) > row].sum() for row in range(len(slots.owner))])


def candidates(slots: Slots) -> list[int]:
    """Numbers of header rows below which no cell hangs, that leave a body, and are not titles alone; 0 is the first.

    >>> from postprocess.meaning.kinds import table_to_slots
    >>> from postprocess.cell import Cell
    >>> from postprocess.table import Table
    >>> candidates(table_to_slots(Table([Cell(0, 0, rowspan=2), Cell(0, 1), Cell(1, 1), Cell(2, 0, colspan=2)])))
    [0, 2]
    """
    ends = np.maximum.accumulate(slots.end_rows.max(axis=1))
    titles = int(np.append(slots.wide, False).argmin())
    return [0, *(depth for depth in range(titles + 1, min(MAX_ROWS + 1, len(ends))) if ends[depth - 1] == depth)]


def gather_header_evidence(slots: Slots, depth: int) -> HeaderEvidence:
    """Gather what speaks for the first ``depth`` rows as header.

    Args:
        slots: Of the table.
        depth: One of ``candidates``.

    >>> from postprocess.meaning.kinds import table_to_slots
    >>> from postprocess.table import Table
    >>> slots = table_to_slots(Table.from_texts([["Item", "Price"], ["Tea", "1.20"], ["Milk", "0.90"]]))
    >>> [(seen.headed, seen.full, seen.labels_next) for seen in (gather_header_evidence(slots, d) for d in (0, 1))]
    [(0, 0, 1.0), (0.5, 1.0, 0.0)]
    """
    filled, body = slots.filled, np.arange(len(slots.owner)) >= depth
    plain = body & ~slots.wide
    numeric = mostly(slots.numbers[plain], filled[plain])
    # One number may stand anywhere, two are a column or a row of values.
    numeric &= slots.numbers[plain][:, numeric].sum() > 1
    several = ~slots.lone[depth:]
    below = depth + int(several.argmax())
    labels = filled & ~slots.numbers
    has_stub = bool(2 * filled[depth:, 0].sum() > len(filled) - depth)
    groups = (slots.colspans > 1) & ~slots.wide[:, None] & filled
    following = {
        "labels_next": _share(labels[below, numeric]),
        "groups_next": _share(groups[depth]),
        "corner_next": float(has_stub and bool(several.any()) and not filled[below, 0]),
        "units_next": _share((slots.units[depth] & ~slots.wide[depth])[filled[depth]]),
    }
    if depth == 0:
        return HeaderEvidence(**following)
    last = depth - 1
    here = filled[last] & ~slots.wide[last]
    texts = slots.texts[last, here]
    return HeaderEvidence(
        **following,
        any=1,
        deeper=last,
        headed=_share(numeric & (labels & ~slots.wide[:, None])[:depth].any(axis=0)),
        number_rows=float(slots.numbers[:depth].any(axis=1).sum()),
        open=_share(groups[last]),
        corner=float(has_stub and not filled[:depth, 0].any()),
        full=_share(here),
        lone=float(slots.lone[last]),
        title=float(last > 0 and slots.wide[0]),
        wide=float(slots.wide[last]),
        units=_share(slots.units[last, here]),
        empty=_share(~filled[depth:, 1:]),
        recurs=_share(((slots.texts[depth:] == slots.texts[last]) & here).any(axis=0)[here]),
        categories=_categories(slots, depth, ~numeric),
        length=_length_contrast(slots, depth),
        distinct=float(here.all() and len(np.unique(texts)) == len(texts)),
        long=_share(slots.lengths[last, here] > _LONG),
        announces=_share(slots.announces[:, 0]),
    )


def _share(mask: Flags) -> float:
    return int(np.count_nonzero(mask)) / mask.size if mask.size else 0.0


def _categories(slots: Slots, depth: int, wordy: Flags) -> float:
    filled = slots.filled[depth:, wordy]
    counts = filled.sum(axis=0)
    distinct = count_distinct(slots.texts[depth:, wordy], filled)
    several = counts > 1
    return float((1 - distinct[several] / counts[several]).mean()) if several.any() else 0.0


def _length_contrast(slots: Slots, depth: int) -> float:
    filled, lengths = slots.filled[depth:], slots.lengths[depth:]
    counts = np.maximum(filled.sum(axis=0), 1)
    mean = (lengths * filled).sum(axis=0) / counts
    spread = np.sqrt(((lengths - mean) ** 2 * filled).sum(axis=0) / counts)
    contrast = np.minimum(np.abs(slots.lengths[depth - 1] - mean) / (spread + _SPREAD), _MOST)
    compared = slots.filled[depth - 1] & ~slots.wide[depth - 1] & (counts > 1)
    return float(contrast[compared].mean()) if compared.any() else 0.0
