"""What other readings of the cells of a table say: misreads are where two readers do not agree."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from postprocess.arrays import Image
from postprocess.cell import Cell
from postprocess.editing.axes import reading_quads
from postprocess.editing.living import set_words
from postprocess.editing.state import State
from postprocess.geometry.boxes import cells_to_quads
from postprocess.word import Word
from tablerec.corrections.editor import Correction
from tablerec.corrections.editor.dealt import rounded, word_to_dict
from tablerec.corrections.editor.reading import Reader, other_reader, read_cells, trimmed
from tablerec.corrections.proof.doubts import chance_of_text

MOST = 2
"""Other readings of a cell that are shown."""


@dataclass(frozen=True, slots=True)
class Reading:
    """Another reading of a cell.

    Args:
        text: Of the cell.
        words: In pixels of the picture; none where nothing was read.
    """

    text: str
    words: tuple[Word, ...]

    def to_dict(self, cell: Cell) -> dict[str, Any]:
        """What a person is shown, ready for JSON; ``reading`` is what a step ``set_readings`` takes."""
        reading = {"row": cell.row, "col": cell.col, "words": [word_to_dict(word) for word in self.words]}
        return {"text": self.text, "reading": reading}


def find_readings(correction: Correction, image: Image, reader: Reader) -> dict[tuple[int, int], list[Reading]]:
    """Read the whole table again, and return what differs from what stands in its cells.

    Each line is read by the other reader, if there is one; then both find the lines of the table anew, and read them.
    Cells whose text a person typed, or said to be right, are left out.

    Args:
        correction: Of the table.
        image: Its picture, ``(H, W, 3)`` uint8 BGR.
        reader: Reads it.

    Returns:
        Row and column of a cell -> its other readings, none of them twice; white space and the width of signs alone are
        no difference.
    """
    state, other = correction.state, other_reader(reader)
    found: dict[tuple[int, int], list[Reading]] = {}
    for words in _read(state, image, reader, other):
        after = set_words(state, 0, 0, *state.table.shape, words)
        for cell, read in zip(state.table.cells, after.table.cells, strict=True):
            if cell.typed or cell.confirmed:
                continue
            known = found.setdefault((cell.row, cell.col), [])
            if _plain(read.text) not in (_plain(each) for each in (cell.text, *(other.text for other in known))):
                known.append(Reading(read.text, tuple(rounded(trimmed(after.part(part))) for part in read.words)))
    return {place: readings[:MOST] for place, readings in found.items() if readings}


def readings_to_view(
    correction: Correction, found: Mapping[tuple[int, int], Sequence[Reading]]
) -> list[dict[str, Any]]:
    """What a person is shown, the most doubtful cells first, ready for JSON.

    Args:
        correction: Of the table.
        found: See ``find_readings``.
    """
    table, words = correction.table, correction.state.words
    cells = sorted((table[place] for place in found), key=lambda cell: (_chance(cell, words), cell.row, cell.col))
    corners = {(cell.row, cell.col): quad for cell, quad in zip(table.cells, reading_quads(table), strict=True)}
    return [
        {
            "row": cell.row,
            "col": cell.col,
            "text": cell.text,
            "quad": corners[cell.row, cell.col].reshape(8).round(1).tolist(),
            "readings": [reading.to_dict(cell) for reading in found[cell.row, cell.col]],
        }
        for cell in cells
    ]


def _chance(cell: Cell, words: Sequence[Word]) -> float:
    chance = chance_of_text(cell, words)
    return 0.0 if chance is None else chance


def _read(state: State, image: Image, reader: Reader, other: Reader | None) -> Iterator[list[Word]]:
    """The words of a table, each time from another reading of it; what is likely to be right comes first."""
    quads = cells_to_quads(state.table.cells)
    if other is not None:
        yield _read_lines(state, image, other)
        yield read_cells(image, quads, other)
    yield read_cells(image, quads, reader)


def _read_lines(state: State, image: Image, reader: Reader) -> list[Word]:
    """The words of the cells, each read again where it stands; one in which nothing is read now stays."""
    words = [state.words[index] for index in sorted({part[0] for cell in state.table.cells for part in cell.words})]
    if not words:
        return []
    read = reader.read_quads(image, np.array([word.quad for word in words], np.float64))
    return [_nearest(word, read) for word in words]


def _nearest(word: Word, read: Sequence[Word]) -> Word:
    """What was read in the place of a word."""
    low, high = np.min(word.quad, axis=0), np.max(word.quad, axis=0)
    middles = np.array([np.mean(each.quad, axis=0) for each in read]).reshape(-1, 2)
    inside = np.flatnonzero(((middles >= low) & (middles <= high)).all(axis=1))
    if not len(inside):
        return word
    nearest = inside[np.argmin(np.abs(middles[inside] - (low + high) / 2).sum(axis=1))]
    return read[int(nearest)]


def _plain(text: str) -> str:
    """A text by which readings are compared: brackets of full width are the same to a person."""
    return unicodedata.normalize("NFKC", "".join(text.split()))
