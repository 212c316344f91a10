"""Tables as rows of tokens, and back.

The grid is written slot by slot, left to right and from the top, as in OTSL (Lysak et al., "Optimized Table
Tokenization for Table Structure Recognition", 2023): a slot begins a cell, or belongs to the cell to its left, above,
or both. A token that begins a cell says what kind of header it is. Where the cell has a text, two tokens follow that
say in which patch of the picture it begins, and then the text itself as bytes of UTF-8.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from postprocess.cell import Cell, HeaderKind
from postprocess.table import Table
from tablerec.errors import TableError

Tokens: TypeAlias = NDArray[np.int64]
"""``(N,)`` int64."""

PAD, BEGIN, END, ROW_END = range(4)
CELLS: dict[HeaderKind | None, int] = {None: 4, "column": 5, "row": 6, "section": 7}
"""The token that begins a cell, by what it heads."""
LEFT, UP, CROSS = 8, 9, 10
"""The slot belongs to the cell to its left; above; both."""
BYTES = 11
"""The token of byte 0; 256 of them."""
PLACES = 256
"""Columns, and rows, of patches in a picture at most."""
X_PLACES = BYTES + 256
Y_PLACES = X_PLACES + PLACES
N_TOKENS = Y_PLACES + PLACES

_KINDS = {token: kind for kind, token in CELLS.items()}


@dataclass(frozen=True, slots=True)
class Written:
    """A table as it was written.

    Args:
        table: The table; its cells have no quads.
        places: ``(K, 2)`` int64 column and row of the patch in which the text of each cell begins, in the order of
            ``table.cells``; -1 where it has none.
    """

    table: Table
    places: NDArray[np.int64]


def table_to_tokens(table: Table, places: Sequence[tuple[int, int]] | None = None) -> Tokens:
    """Write a table.

    Args:
        table: The table.
        places: Column and row of the patch in which each text begins, in the order of ``table.cells``; those of cells
            without text are not looked at. None: no places are written.

    Returns:
        ``(N,)`` tokens, ``BEGIN`` first and ``END`` last.

    Raises:
        TableError: The table has no cells.

    >>> table = Table([Cell(0, 0, colspan=2, header="column"), Cell(1, 0, text="7"), Cell(1, 1)])
    >>> tokens = table_to_tokens(table, [(0, 0), (2, 1), (0, 0)])
    >>> print(*describe(tokens))
    <begin> <column> <left> <row end> <cell> <x 2> <y 1> 7 <cell> <row end> <end>
    """
    if not table.cells:
        raise TableError("a table without cells cannot be written as tokens")
    found = [BEGIN]
    for row, owners in enumerate(table.owner.tolist()):
        for col, owner in enumerate(owners):
            cell = table.cells[owner]
            if (cell.row, cell.col) != (row, col):
                found.append(UP if cell.col == col else LEFT if cell.row == row else CROSS)
                continue
            found.append(CELLS[cell.header])
            text = cell.text.strip()
            if text:
                if places is not None:
                    x, y = (min(max(place, 0), PLACES - 1) for place in places[owner])
                    found += [X_PLACES + x, Y_PLACES + y]
                found += [BYTES + byte for byte in text.encode("utf-8", "ignore")]
        found.append(ROW_END)
    return np.array([*found, END], np.int64)


def tokens_to_table(tokens: Iterable[int]) -> Written:
    """Read what was written; a character that was cut is left out.

    Args:
        tokens: From ``BEGIN``, or what follows it, to ``END``.

    Raises:
        TableError: They write no whole table.

    >>> table = Table([Cell(0, 0, rowspan=2, text="A"), Cell(0, 1, text="é", header="row"), Cell(1, 1)])
    >>> written = tokens_to_table(table_to_tokens(table, [(1, 2), (3, 4), (0, 0)]))
    >>> written.table == table, written.places.tolist()
    (True, [[1, 2], [3, 4], [-1, -1]])
    >>> tokens_to_table([LEFT, ROW_END, END])
    Traceback (most recent call last):
    postprocess.errors.TableError: a slot belongs to the cell to its left, where there is none
    """
    cells: list[_Writing] = []
    above: list[int] = []
    row: list[int] = []
    n_rows = 0
    for token in tokens:
        if token in (PAD, BEGIN):
            continue
        if token == END:
            break
        if token == ROW_END:
            above, row, n_rows = row, [], n_rows + 1
        elif token in _KINDS:
            cells.append(_Writing(Cell(n_rows, len(row), header=_KINDS[token])))
            row.append(len(cells) - 1)
        elif token in (LEFT, UP, CROSS):
            row.append(_owner(token, row, above))
            cells[row[-1]].reach(n_rows, len(row) - 1)
        elif not cells:
            raise TableError("a text stands before the first cell")
        else:
            cells[-1].add(token)
    whole = sorted((each.whole() for each in cells), key=lambda pair: (pair[0].row, pair[0].col))
    places = np.array([place for _, place in whole], np.int64).reshape(-1, 2)
    return Written(Table([cell for cell, _ in whole]), places)


def _owner(token: int, row: list[int], above: list[int]) -> int:
    if token == LEFT:
        if not row:
            raise TableError("a slot belongs to the cell to its left, where there is none")
        return row[-1]
    if len(row) >= len(above):
        raise TableError("a slot belongs to the cell above, where there is none")
    return above[len(row)]


class _Writing:
    """A cell whose text and extent are being read."""

    def __init__(self, cell: Cell) -> None:
        self.cell, self.text, self.place = cell, bytearray(), [-1, -1]
        self.end_row, self.end_col = cell.row + 1, cell.col + 1

    def reach(self, row: int, col: int) -> None:
        self.end_row, self.end_col = max(self.end_row, row + 1), max(self.end_col, col + 1)

    def add(self, token: int) -> None:
        if token >= Y_PLACES:
            self.place[1] = token - Y_PLACES
        elif token >= X_PLACES:
            self.place[0] = token - X_PLACES
        else:
            self.text.append(token - BYTES)

    def whole(self) -> tuple[Cell, list[int]]:
        cell, text = self.cell, self.text.decode("utf-8", "ignore").strip()
        rowspan, colspan = self.end_row - cell.row, self.end_col - cell.col
        return replace(cell, rowspan=rowspan, colspan=colspan, text=text), self.place


_NAMES = {
    PAD: "<pad>", BEGIN: "<begin>", END: "<end>", ROW_END: "<row end>", LEFT: "<left>", UP: "<up>", CROSS: "<cross>",
    **{token: f"<{kind or 'cell'}>" for token, kind in _KINDS.items()},
}  # fmt: skip


def describe(tokens: Iterable[int]) -> list[str]:
    """Return what people read in place of tokens.

    >>> describe([BEGIN, BYTES + 65, BYTES + 10])
    ['<begin>', 'A', '<0A>']
    """
    return [_name(int(token)) for token in tokens]


def _name(token: int) -> str:
    if token in _NAMES:
        return _NAMES[token]
    if token >= Y_PLACES:
        return f"<y {token - Y_PLACES}>"
    if token >= X_PLACES:
        return f"<x {token - X_PLACES}>"
    byte = token - BYTES
    return chr(byte) if 0x20 < byte < 0x7F else f"<{byte:02X}>"
