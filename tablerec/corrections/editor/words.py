"""Which words of a page the cells of its tables have."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from postprocess.cell import Cell, WordPart, rewrite
from postprocess.editing.living import to_parts
from postprocess.editing.state import State, with_words
from postprocess.table import Table, all_tables
from postprocess.text.assignment import NO_TABLE, OUTSIDE, UNCLEAR, place_words
from postprocess.text.lookalikes import STROKES
from postprocess.word import Unplaced, Word, Words
from tablerec.corrections.editor.dealt import rounded


@dataclass(frozen=True, slots=True)
class Held:
    """The tables of a page, whose cells say which words are theirs.

    Args:
        tables: In the order given.
        words: Of the page.
        free: Numbers of those that are in no cell.
    """

    tables: list[Table]
    words: Words
    free: frozenset[int]

    def to_state(self, table: Table, window: tuple[int, int, int, int]) -> State:
        """The words of a table, and those beside it, in pixels of its picture; none where the page has none.

        Args:
            table: One of the tables, in those pixels.
            window: Its picture on the page: x0, y0, x1, y1.
        """
        if not self.words:
            return State(table)
        middles = self.words.middles
        inside = np.all((middles >= window[:2]) & (middles < window[2:]), axis=1)
        own = {part[0] for cell in table.cells for part in cell.words}
        chosen = sorted(own | {index for index in self.free if inside[index]})
        number = {index: at for at, index in enumerate(chosen)}
        parts = [tuple((number[index], start, end) for index, start, end in cell.words) for cell in table.cells]
        words = [rounded(self.words[index], window[:2]) for index in chosen]
        return with_words(replace(table, cells=rewrite(table.cells, words=parts)), words)


def hold(tables: Sequence[Table], words: Iterable[Word], unplaced: Iterable[Unplaced] = ()) -> Held:
    """Find again which words became the text of which cell.

    Args:
        tables: Of a page, with the places that they were found in.
        words: Of the page.
        unplaced: What is in no cell: words that were left out for what they are, not for where, stay out.

    >>> square = ((0, 0), (9, 0), (9, 9), (0, 9))
    >>> held = hold([Table([Cell(0, 0, text="7", quad=square)])], [Word("7", square)])
    >>> held.tables[0][0, 0].words
    ((0, 0, 1),)
    """
    left_out = {item.word for item in unplaced if item.reason not in (OUTSIDE, UNCLEAR, NO_TABLE)}
    given = Words(words)
    sure = Words(
        word for word, has_place in zip(given, given.have_place, strict=True) if has_place and word not in left_out
    )
    every, numbers = list(all_tables(tables)), {id(table) for table in tables}
    placement = place_words(every, sure)
    parts: list[list[WordPart]] = [[] for table in every for _ in table.cells]
    whole = [(index, 0, len(word.text)) for index, word in enumerate(sure)]
    owner = placement.pieces[1].tolist()
    for cell, part in zip(owner, to_parts(placement, whole, sure), strict=True):
        if cell >= 0 and part is not None:
            parts[cell].append(part)
    in_cells = {part[0] for each in parts for part in each}
    free = set(range(len(sure))) - in_cells
    held, first = [], 0
    for table, read in zip(every, placement.tables(), strict=True):
        own = parts[first : first + len(table)]
        first += len(table)
        if id(table) not in numbers:
            continue
        cells = []
        for cell, dealt, each in zip(table.cells, read.cells, own, strict=True):
            is_same = _letters(cell) == _letters(dealt)
            cells.append(replace(cell, words=tuple(sorted(each)) if is_same else ()))
            if not cell.text.strip():
                free |= {part[0] for part in each}  # nobody saw a text there: lines may be drawn through it
        held.append(replace(table, cells=cells))
    return Held(held, sure, frozenset(free))


def _letters(cell: Cell) -> Counter[str]:
    """The characters of a text, in any order."""
    return Counter(STROKES.get(cell.text, cell.text)) - Counter({" ": len(cell.text), "\n": len(cell.text)})
