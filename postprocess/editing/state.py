"""A table that is being corrected, with the words of its picture."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from postprocess.cell import Cell, WordPart
from postprocess.editing.axes import cell_sides, sides_to_quad
from postprocess.table import Table
from postprocess.word import Word


@dataclass(frozen=True)
class State:
    """A table, and all words of its picture; the cells say which of them are theirs.

    Args:
        table: With a place for each cell.
        words: In pixels of the same picture; none where they are not known, then texts are all there is.
        replaced: Numbers of the words that were read anew: they are shown no more.

    >>> word = Word("a b", ((0, 0), (9, 0), (9, 5), (0, 5)))
    >>> state = State(Table([Cell(0, 0, text="a", words=((0, 0, 1),))]), (word,))
    >>> state.outside, state.part((0, 2, 3)).text
    (((0, 2, 3),), 'b')
    """

    table: Table
    words: tuple[Word, ...] = ()
    replaced: frozenset[int] = frozenset()

    @cached_property
    def outside(self) -> tuple[WordPart, ...]:
        """The words, and parts of words, that are in no cell."""
        used: list[list[tuple[int, int]]] = [[] for _ in self.words]
        for cell in self.table.cells:
            for index, start, end in cell.words:
                used[index].append((start, end))
        rest = []
        for index, (word, parts) in enumerate(zip(self.words, used, strict=True)):
            if index in self.replaced or (len(parts) == 1 and parts[0] == (0, len(word.text))):
                continue
            at = 0
            for start, end in [*sorted(parts), (len(word.text), len(word.text))]:
                if word.text[at:start].strip(_BETWEEN):
                    rest.append(trim(word, index, at, start))
                at = max(at, end)
        return tuple(rest)

    def part(self, part: WordPart) -> Word:
        """The word, or the part of it."""
        index, start, end = part
        word = self.words[index]
        return word if (start, end) == (0, len(word.text)) else word.part(start, end)


_BETWEEN = " \t\n\u3000\xa0|｜"
"""Of these nothing is left of a word that was cut there: see ``postprocess.text.splitting``."""


def trim(word: Word, index: int, start: int, end: int) -> WordPart:
    """The part of a word without blanks around it."""
    while start < end and word.text[start].isspace():
        start += 1
    while end > start and word.text[end - 1].isspace():
        end -= 1
    return index, start, end


def unite(parts: Iterable[WordPart], words: Sequence[Word]) -> list[WordPart]:
    """Parts of words, where those that follow each other in a word are one again.

    >>> unite([(0, 2, 3), (1, 0, 2), (0, 0, 1)], [Word("a b", ((0, 0),) * 4), Word("cd", ((0, 0),) * 4)])
    [(0, 0, 3), (1, 0, 2)]
    """
    united: list[WordPart] = []
    for index, start, end in sorted(set(parts)):
        if united and united[-1][0] == index and not words[index].text[united[-1][2] : start].strip(_BETWEEN):
            united[-1] = index, united[-1][1], max(end, united[-1][2])
        else:
            united.append((index, start, end))
    return united


def with_words(table: Table, words: Sequence[Word]) -> State:
    """The state in which each text is held by words: a text without any is a word itself, line by line.

    Args:
        table: With a place for each cell, whose ``words`` count those given.
        words: Of its picture.

    >>> square = ((0, 0), (9, 0), (9, 9), (0, 9))
    >>> with_words(Table([Cell(0, 0, text="a\\nb", quad=square)]), []).words[1].quad
    ((0.0, 4.5), (9.0, 4.5), (9.0, 9.0), (0.0, 9.0))
    """
    all_words = list(words)
    cells = list(table.cells)
    for at, cell in enumerate(cells):
        if cell.text.strip() and not cell.words and not cell.typed and cell.quad is not None:
            own = _text_to_words(cell)
            cells[at] = replace(cell, words=tuple((len(all_words) + k, 0, len(w.text)) for k, w in enumerate(own)))
            all_words += own
    return State(replace(table, cells=cells), tuple(all_words))


def _text_to_words(cell: Cell) -> list[Word]:
    """A word for each line of a text, one below the other."""
    lines = [line.strip() for line in cell.text.split("\n") if line.strip()]
    first, last = cell_sides(cell, "row")
    shares = np.linspace(0, 1, len(lines) + 1)
    places = [first + share * (last - first) for share in shares]
    score = 1.0 if cell.ocr_score is None else cell.ocr_score
    return [
        Word(line, sides_to_quad("row", above, below), score, doubt=cell.doubt)
        for line, above, below in zip(lines, places, places[1:], strict=False)
    ]
