"""Cells read again, from the picture of a table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from postprocess.arrays import Floats, Image
from postprocess.editing.texts import indices_in
from postprocess.geometry.boxes import cells_to_quads, quads_to_boxes
from postprocess.table import Table
from postprocess.text.admission import check_words
from postprocess.word import Word
from tablerec.corrections.editor.dealt import rounded, word_to_dict
from tablerec.errors import InputError
from tablerec.fields import whole
from tablerec.ocr.ink import ground_color
from tablerec.result import move_word

_MARGIN = 12
"""Pixels of ground around what is read: text at the rim of a picture is not found."""
BLOCK = ("row", "col", "end_row", "end_col")


class Reader(Protocol):
    """What reads again: an OCR engine, see ``tablerec.ocr.OcrEngine``."""

    def read(self, image: Image) -> list[Word]:
        """Find and read all text."""
        ...

    def read_quads(self, image: Image, quads: NDArray[np.floating]) -> list[Word]:
        """Read cells of one line in which ``read`` saw nothing."""
        ...


def other_reader(reader: Reader) -> Reader | None:
    """What reads otherwise than a reader, which names it as ``other``; None where there is nothing."""
    return getattr(reader, "other", None)


def to_read_step(step: Mapping[str, Any], table: Table, image: Image, reader: Reader) -> dict[str, Any]:
    """Read a block of cells, and say so as a step of ``tablerec.corrections.editor.operations``.

    Where the reader sees what is there already, another one reads, if it has one: the same once more helps nobody.

    Args:
        step: With ``row``, ``col``, ``end_row`` and ``end_col``.
        table: As it is now.
        image: Its picture, ``(H, W, 3)`` uint8 BGR.
        reader: Reads the cells.

    Raises:
        InputError: They are no such numbers.
        TableError: They are no block of the table.
    """
    try:
        row, col, end_row, end_col = (whole()(step.get(name)) for name in BLOCK)
    except ValueError as error:
        raise InputError(f"read: {error} is needed: reload the page").named("bad_step") from None
    chosen = sorted(indices_in(table, row, col, end_row, end_col))
    quads = cells_to_quads(table.cells[index] for index in chosen)
    words = read_cells(image, quads, reader)
    known = "".join(table.cells[index].text for index in chosen)
    if _letters(known) == _letters("".join(word.text for word in words)):
        other = other_reader(reader)
        words = (read_cells(image, quads, other) if other else []) or words
    block = {"row": row, "col": col, "end_row": end_row, "end_col": end_col}
    return {"do": "set_words", **block, "words": [word_to_dict(rounded(trimmed(word))) for word in words]}


def read_cells(image: Image, quads: Floats, reader: Reader) -> list[Word]:
    """Read a part of a picture, and nothing of what is around it.

    Args:
        image: ``(H, W, 3)`` uint8 BGR.
        quads: ``(N, 4, 2)`` corners of cells that touch one another, px.
        reader: Reads it.

    Returns:
        Words in pixels of the picture. Those of a part that lies outside of the picture are none.
    """
    import cv2

    height, width = image.shape[:2]
    boxes = quads_to_boxes(quads)
    x0, y0 = np.floor(boxes[:, :2].min(axis=0)).clip(0, [width, height]).astype(int).tolist()
    x1, y1 = np.ceil(boxes[:, 2:].max(axis=0)).clip(0, [width, height]).astype(int).tolist()
    if x1 <= x0 or y1 <= y0:
        return []
    part = np.ascontiguousarray(image[y0:y1, x0:x1])
    ground = ground_color(part).astype(np.uint8)
    mask = np.zeros(part.shape[:2], np.uint8)
    cv2.fillPoly(mask, [np.round(quad - (x0, y0)).astype(np.int32) for quad in quads], 255)
    part[mask == 0] = ground
    crop = np.empty((y1 - y0 + 2 * _MARGIN, x1 - x0 + 2 * _MARGIN, 3), np.uint8)
    crop[:] = ground
    crop[_MARGIN:-_MARGIN, _MARGIN:-_MARGIN] = part
    offset = np.array([x0 - _MARGIN, y0 - _MARGIN], np.float64)
    words = reader.read(crop) or reader.read_quads(crop, quads - offset)
    moved = [move_word(word, lambda points: points + offset) for word in check_words(words)]
    return [word for word in moved if word.text.strip() and np.isfinite(word.quad).all()]


def trimmed(word: Word) -> Word:
    """A word without blanks around it."""
    return word if word.text == word.text.strip() else word.part(0, len(word.text))


def _letters(text: str) -> Counter[str]:
    """Its characters in any order, but for white space."""
    return Counter("".join(text.split()))
