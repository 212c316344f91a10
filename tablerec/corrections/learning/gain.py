"""How many cells come out right."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from postprocess.arrays import Ints
from postprocess.cell import Cell
from postprocess.table import Table
from tablerec.evaluate.scoring.grits import MAX_PAIRS, count_agreeing


@dataclass(frozen=True, slots=True)
class Rightness:
    """How well some tables were read.

    Args:
        n_tables: How many there are.
        n_right: Those without a fault.
        n_cells: Places in the grids of all of them, as they should be.
        n_cells_right: Those with the right cell: its span and text. Rows and columns are matched in their order first,
            so that a row too many costs that row, and not all below it.
    """

    n_tables: int = 0
    n_right: int = 0
    n_cells: int = 0
    n_cells_right: int = 0


def rate(pairs: Iterable[tuple[Table | None, Table]]) -> Rightness:
    """Compare tables as they were read with what a person made of them.

    Args:
        pairs: Of each as read, None where none was found, and as it should be.

    >>> true = Table.from_texts([["a", "b"], ["x", ""]])
    >>> rate([(Table.from_texts([["", "9"], ["a", "b"], ["c", ""]]), true), (true, true), (None, true)])
    Rightness(n_tables=3, n_right=1, n_cells=12, n_cells_right=7)
    """
    n_tables = n_right = n_cells = n_cells_right = 0
    for read, true in pairs:
        n_tables += 1
        n_cells += true.owner.size
        if read is not None:
            n_right += to_keys(true) == to_keys(read)
            n_cells_right += _count_right(read, true)
    return Rightness(n_tables, n_right, n_cells, n_cells_right)


def _count_right(read: Table, true: Table) -> int:
    """Places in a grid with the right cell, see ``Rightness``."""
    numbers: dict[tuple[object, ...], int] = {}
    slots = [_to_slots(table, numbers) for table in (read, true)]
    if slots[0].size * slots[1].size > MAX_PAIRS:
        rows, cols = (min(sides) for sides in zip(slots[0].shape, slots[1].shape, strict=True))
        return int(np.count_nonzero(slots[0][:rows, :cols] == slots[1][:rows, :cols]))
    alike = slots[0][:, None, :, None] == slots[1][None, :, None, :]
    return round(count_agreeing(alike.astype(float)))


def _to_slots(table: Table, numbers: dict[tuple[object, ...], int]) -> Ints:
    """A number for each place of a grid: the same where the cells are, and it is the same place of them."""
    slots = np.full(table.owner.shape, -1)
    for cell in table.cells:
        for row, col in np.ndindex(cell.rowspan, cell.colspan):
            key = (*to_key(cell)[2:], row, col)
            slots[cell.row + row, cell.col + col] = numbers.setdefault(key, len(numbers))
    return slots


def is_no_worse(gain: Mapping[str, Mapping[str, Mapping[str, int]]]) -> bool:
    """Whether neither the tables learned from nor the held-out ones are read worse: fewer without a fault, or cells.

    Args:
        gain: What is in ``Rightness``, ``before`` and ``after``, of each kind of tables.

    >>> few, more = {"n_right": 1, "n_cells_right": 7}, {"n_right": 1, "n_cells_right": 8}
    >>> [is_no_worse({"held_out": {"before": few, "after": after}}) for after in (few, more)]
    [True, True]
    >>> is_no_worse({"saved": {"before": few, "after": more}, "held_out": {"before": more, "after": few}})
    False
    """
    return all(_score(each["after"]) >= _score(each["before"]) for each in gain.values())


def is_better(one: Mapping[str, int], other: Mapping[str, int]) -> bool:
    """Whether more of the same tables came out without a fault, or, of as many, more cells.

    >>> few, more = {"n_right": 1, "n_cells_right": 7}, {"n_right": 1, "n_cells_right": 8}
    >>> is_better(more, few), is_better(few, few)
    (True, False)
    """
    return _score(one) > _score(other)


def count_changes(before: Table, after: Table) -> int:
    """Number of cells that are in one table and not in the other, whichever has more of them.

    >>> count_changes(Table.from_texts([["a", "b"]]), Table.from_texts([["a", "c"]]))
    1
    """
    old, new = to_keys(before), to_keys(after)
    return max(len(old - new), len(new - old))


def to_keys(table: Table | None) -> set[tuple[int, int, int, int, str]]:
    """The cells of a table, by what makes them the same; of none none."""
    return set() if table is None else {to_key(cell) for cell in table.cells}


def to_key(cell: Cell) -> tuple[int, int, int, int, str]:
    """What makes cells the same: place, span and text; white space alone is no difference."""
    return cell.row, cell.col, cell.rowspan, cell.colspan, " ".join(cell.text.split())


def _score(rightness: Mapping[str, int]) -> tuple[int, int]:
    # The tables are the same before and after, and so are their cells: their number says as much as their share.
    return rightness["n_right"], rightness["n_cells_right"]
