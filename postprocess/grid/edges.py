"""What each cell spans: the cheapest choice of its four lines, as no two cells share a slot.

``intervals_to_lines`` reads each axis by itself. Here both meet: an edge that the noise carried to the next line makes
its cell cover a slot of its neighbour, or leaves a slot empty that the neighbours enclose. The cost, in nats, is half
the squared distance of each edge from its line in deviations of that line, a price for each slot that is taken
twice, and a price for each cell's side beside which all slots are empty. One edge at a time is moved to the next line
while that lowers the cost.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from postprocess.arrays import Flags, Floats, Ints
from postprocess.geometry.boxes import count_in_spans
from postprocess.grid.line_fit import Lines

_TAKEN_TWICE = 6.0
"""Price of a slot that two cells take."""
_EMPTY_BESIDE = 2.0
"""Price of a side that meets empty slots only: one cell in eight may be missing."""


def settle_edges(boxes_xyxy: Floats, rows: Lines, cols: Lines) -> Ints:
    """Lines of each cell, settled between neighbours.

    Args:
        boxes_xyxy: ``(N, 4)`` cells.
        rows: Lines from top to bottom.
        cols: Lines from left to right.

    Returns:
        ``(N, 4)`` row, column, end row, end column.
    """
    spans = np.column_stack([rows.spans[:, 0], cols.spans[:, 0], rows.spans[:, 1], cols.spans[:, 1]])
    if not len(spans):
        return spans
    slots = _Slots(spans, len(rows.positions) - 1, len(cols.positions) - 1)
    misfit = _Misfit(boxes_xyxy, rows, cols)
    pending = np.flatnonzero(slots.doubtful(spans) | (misfit.nearest != spans).any(axis=1)).tolist()
    # Every move lowers the cost; the limit only guards against a cell that is asked again and again.
    for index in pending[: 20 * len(spans) + 100]:
        while _improve(index, spans, slots, misfit):
            pass
    return spans


class _Slots:
    """How often each slot is taken."""

    def __init__(self, spans: Ints, n_rows: int, n_cols: int) -> None:
        corners = np.zeros((n_rows + 1, n_cols + 1), np.int64)
        for row, col, sign in ((0, 1, 1), (0, 3, -1), (2, 1, -1), (2, 3, 1)):
            np.add.at(corners, (spans[:, row], spans[:, col]), sign)
        self.taken = corners.cumsum(axis=0).cumsum(axis=1)[:-1, :-1]

    def doubtful(self, spans: Ints) -> Flags:
        """``(N,)`` whether a cell shares a slot, or one beside it is empty."""
        wrong = np.pad(self.taken != 1, 1)
        wrong[0] = wrong[-1] = wrong[:, 0] = wrong[:, -1] = False
        around = np.add(spans, (0, 0, 2, 2), dtype=np.int64)  # in the padded slots: the cell with those around it
        return np.asarray(count_in_spans(wrong, around) > 0)

    def strip(self, span: Ints, side: int, line: int) -> NDArray[np.int64]:
        """View of the slots between the side of a span and the next line it may move to."""
        row, col, end_row, end_col = span.tolist()
        low, high = sorted((int(span[side]), line))
        return self.taken[low:high, col:end_col] if side % 2 == 0 else self.taken[row:end_row, low:high]


class _Misfit:
    """What it costs that edges are not on their nearest lines: half squared distances in deviations.

    Between two lines an edge may lie off by a share of the slot between them. ``nearest`` is the ``(N, 4)`` line that
    lies nearest to each edge.
    """

    def __init__(self, boxes_xyxy: Floats, rows: Lines, cols: Lines) -> None:
        self.lines = (rows, cols, rows, cols)
        self.edges = boxes_xyxy[:, [1, 0, 3, 2]]
        middles = [(lines.positions[1:] + lines.positions[:-1]) / 2 for lines in self.lines]
        self.nearest = np.stack([np.searchsorted(middles[side], self.edges[:, side]) for side in range(4)], axis=1)

    def step(self, index: int, side: int, line: int, other: int) -> float:
        """Change of the cost where an edge moves from a line to the one before or after it."""
        here, there = (float(self.lines[side].positions[each]) for each in (line, other))
        edge, deviation = float(self.edges[index, side]), self.lines[side].spread * (there - here)
        return ((edge - there) ** 2 - (edge - here) ** 2) / (2 * deviation**2)


def _improve(index: int, spans: Ints, slots: _Slots, misfit: _Misfit) -> bool:
    """Move the edge of a cell whose move lowers the cost most."""
    span = spans[index]
    best = (-1e-9, 0, 0)
    for side in range(4):
        for line in (int(span[side]) - 1, int(span[side]) + 1):
            if _is_free(span, side, line, slots.taken.shape):
                change = misfit.step(index, side, int(span[side]), line)
                best = min(best, (change + _slot_change(span, side, line, slots), side, line))
    change, side, line = best
    if change == -1e-9:
        return False
    slots.strip(span, side, line)[...] += 1 if _grows(span, side, line) else -1
    span[side] = line
    return True


def _is_free(span: Ints, side: int, line: int, shape: tuple[int, ...]) -> bool:
    """Whether the line exists and leaves the cell its order."""
    other = int(span[(side + 2) % 4])
    return 0 <= line <= shape[side % 2] and (line < other if side < 2 else line > other)


def _grows(span: Ints, side: int, line: int) -> bool:
    return bool((line < span[side]) if side < 2 else (line > span[side]))


def _slot_change(span: Ints, side: int, line: int, slots: _Slots) -> float:
    strip = slots.strip(span, side, line)
    if _grows(span, side, line):
        taken = int((strip > 0).sum())
        return _TAKEN_TWICE * taken if taken else -_EMPTY_BESIDE
    alone = int((strip == 1).sum())
    shared = strip.size - alone
    return (_EMPTY_BESIDE if alone == strip.size else 0.0) - _TAKEN_TWICE * shared
