"""Which tokens may follow what was written, so that whatever a decoder chooses is a whole table."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from tablerec.errors import TableError
from tablerec.language.reader.vocabulary import (
    BEGIN,
    BYTES,
    CELLS,
    CROSS,
    END,
    LEFT,
    N_TOKENS,
    PLACES,
    ROW_END,
    UP,
    X_PLACES,
    Y_PLACES,
    describe,
)

Mask: TypeAlias = NDArray[np.bool_]
"""``(N_TOKENS,)`` bool, true where a token may follow."""

MAX_ROWS, MAX_COLUMNS = 200, 60


def _mask(*tokens: int) -> Mask:
    mask = np.zeros(N_TOKENS, np.bool_)
    mask[list(tokens)] = True
    return mask


def _bytes(first: int, last: int) -> Mask:
    return _mask(*range(BYTES + first, BYTES + last + 1))


_BEGINNINGS = _bytes(0x0A, 0x0A) | _bytes(0x20, 0x7E) | _bytes(0xC2, 0xF4)
"""Bytes with which a character begins."""
_FOLLOWING = _bytes(0x80, 0xBF)
_SECOND = {0xE0: _bytes(0xA0, 0xBF), 0xED: _bytes(0x80, 0x9F), 0xF0: _bytes(0x90, 0xBF), 0xF4: _bytes(0x80, 0x8F)}
"""The second byte, where not all are allowed (RFC 3629)."""
_X, _Y = _mask(*range(X_PLACES, X_PLACES + PLACES)), _mask(*range(Y_PLACES, Y_PLACES + PLACES))
_CELLS = _mask(*CELLS.values())


class _Owner:
    """A cell that slots belong to: its first row and column."""

    def __init__(self, row: int, col: int) -> None:
        self.row, self.col = row, col


class Grammar:
    """A table that is being written.

    All rows have as many slots as the first one, and each cell is a rectangle: where the row below a wide cell goes on
    with it, it does so over the whole width.

    Args:
        places: Whether two tokens of place stand before each text.

    >>> grammar = Grammar()
    >>> for token in (CELLS[None], LEFT, ROW_END, UP):
    ...     grammar.take(token)
    >>> describe(np.flatnonzero(grammar.allowed()))
    ['<cross>']
    """

    def __init__(self, places: bool = True) -> None:
        self._places = places
        self.done = False
        self.n_rows = 0
        """Rows that are complete."""
        self._above: list[_Owner] = []
        self._row: list[_Owner] = []
        self._text: Mask | None = None  # what may follow beside slots: None where these may not
        self._must: Mask | None = None  # what has to follow

    @property
    def between(self) -> bool:
        """Whether no character or place is half written."""
        return self._must is None

    def allowed(self) -> Mask:
        """Return the tokens that may follow."""
        if self.done:
            return _mask(END)
        if self._must is not None:
            return self._must
        mask = self._slots()
        return mask if self._text is None else mask | self._text

    def _slots(self) -> Mask:
        col, above = len(self._row), self._above
        if above and col == len(above):
            return _mask(ROW_END)
        before = self._row[-1] if self._row else None
        if above and before is above[col]:
            return _mask(CROSS)
        mask = np.zeros(N_TOKENS, np.bool_)
        if not self._row and self.n_rows:
            mask[END] = True
        if self.n_rows >= MAX_ROWS:
            return mask
        if not above and col >= 1:
            mask[ROW_END] = True
            if col >= MAX_COLUMNS:
                return mask
        mask |= _CELLS
        mask[LEFT] = before is not None and before.row == self.n_rows
        mask[UP] = bool(above) and above[col].col == col
        return mask

    def take(self, token: int) -> None:
        """Go on by a token.

        Raises:
            TableError: It may not follow.
        """
        if not self.allowed()[token]:
            raise TableError(f"{describe([token])[0]} may not follow in row {self.n_rows}, slot {len(self._row)}")
        if token == END:
            self.done = True
        elif token == ROW_END:
            self._above, self._row, self._text = self._row, [], None
            self.n_rows += 1
        elif token < BYTES:
            self._take_slot(token)
        elif token >= Y_PLACES:
            self._must = _BEGINNINGS
        elif token >= X_PLACES:
            self._must = _Y
        else:
            self._take_byte(token - BYTES)

    def _take_slot(self, token: int) -> None:
        col = len(self._row)
        begins = token not in (LEFT, UP, CROSS)
        owner = _Owner(self.n_rows, col) if begins else self._row[-1] if token == LEFT else self._above[col]
        self._row.append(owner)
        self._text = (_X if self._places else _BEGINNINGS) if begins else None

    def _take_byte(self, byte: int) -> None:
        self._text = _BEGINNINGS
        if byte >= 0xC2:
            self._left = 1 + (byte >= 0xE0) + (byte >= 0xF0)
            self._must = _SECOND.get(byte, _FOLLOWING)
        elif byte >= 0x80:
            self._left -= 1
            self._must = _FOLLOWING if self._left else None
        else:
            self._must = None


def complete(tokens: Iterable[int], places: bool = True) -> list[int]:
    """Complete a table that was cut: a half-written character goes, empty cells fill the last row.

    Args:
        tokens: What was written, in the order of the grammar, with or without ``BEGIN``.
        places: As for the grammar.

    Returns:
        The tokens after ``BEGIN``, to ``END``.

    >>> describe(complete([CELLS[None], CELLS[None], X_PLACES + 3]))
    ['<cell>', '<cell>', '<row end>', '<end>']
    >>> describe(complete([]))
    ['<cell>', '<row end>', '<end>']
    """
    found = [int(token) for token in tokens if token != BEGIN]
    grammar = _replay(found, places)
    while not grammar.between:
        found.pop()
        grammar = _replay(found, places)
    while not grammar.done:
        allowed = grammar.allowed()
        token = next(each for each in (END, ROW_END, CROSS, CELLS[None]) if allowed[each])
        grammar.take(token)
        found.append(token)
    return found


def _replay(tokens: Iterable[int], places: bool) -> Grammar:
    grammar = Grammar(places)
    for token in tokens:
        grammar.take(token)
    return grammar
