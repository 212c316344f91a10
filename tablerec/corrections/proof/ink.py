"""Ink in the picture that no text stands for: characters, or whole texts, that were not seen."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from postprocess.arrays import Floats, Image
from postprocess.cell import Quad
from postprocess.geometry.boxes import quads_to_boxes
from postprocess.table import Table
from postprocess.word import Word
from tablerec.corrections.proof.finding import Finding

# Chosen by `python -m tests.benchmarks.editor.proofreading --seed 1`.
_DARK, _DARK_BESIDE = 0.35, 0.4
"""Share of the contrast of known words from which a pixel is ink: in an empty cell, and beside words."""
_LEAST_CONTRAST = 12.0
"""Grey levels below which the print of a table is not told from its ground."""
_RIM = 0.18
"""Of a text's height: around a cell, where its rules stand, and around a word, where its ink may reach."""
_TALL, _WIDE = 0.35, 0.3
"""Height and width of ink, in text heights, from which it is a character."""
_AREA = 0.05
"""Of its strokes, in squares of a text height."""
_LINE = 0.9
"""Share of a cell's side over which a line is a rule."""


def check_ink(table: Table, words: Sequence[Word], image: Image) -> Iterator[Finding]:
    """Find cells with ink that none of their words covers.

    Args:
        table: Its cells count words.
        words: Those that the cells count.
        image: ``(H, W, 3)`` uint8, in whose pixels the places are.

    >>> quad = ((0.0, 0.0), (60.0, 0.0), (60.0, 30.0), (0.0, 30.0))
    >>> other = ((60.0, 0.0), (120.0, 0.0), (120.0, 30.0), (60.0, 30.0))
    >>> word = Word("7", ((10.0, 5.0), (20.0, 5.0), (20.0, 25.0), (10.0, 25.0)))
    >>> picture = np.full((30, 120, 3), 255, np.uint8)
    >>> picture[6:24, 11:19] = picture[6:24, 80:90] = 0
    >>> from postprocess.cell import Cell
    >>> table = Table([Cell(0, 0, text="7", quad=quad, words=((0, 0, 1),)), Cell(0, 1, quad=other)])
    >>> [finding.cell for finding in check_ink(table, [word], picture)]
    [1]
    """
    grey = np.asarray(image, np.float32).mean(axis=2)
    boxes = {index: _upright(words[index]) for cell in table.cells for index, _, _ in cell.words}
    heights = [box[3] - box[1] for box in boxes.values() if box is not None]
    contrasts = [each for box in boxes.values() if box is not None and (each := _contrast(grey, box)) is not None]
    if not contrasts:
        return
    height, contrast = float(np.median(heights)), float(np.median(contrasts))
    if contrast < _LEAST_CONTRAST or height < 5:
        return
    for index, cell in enumerate(table.cells):
        if cell.typed or cell.confirmed or cell.tables or cell.pictures or cell.quad is None:
            continue
        own = [boxes[number] for number, _, _ in cell.words]
        if (cell.text.strip() and not own) or any(box is None for box in own):
            continue
        if _has_ink(grey, cell.quad, [box for box in own if box is not None], height, contrast):
            yield Finding(index, "text", "ink" if cell.text.strip() else "ink_only", 0.55)


def _upright(word: Word) -> Floats | None:
    """The box of a word; None where it does not stand upright."""
    quad = np.asarray(word.quad, np.float64)
    side = quad[1] - quad[0]
    return None if abs(side[1]) > 0.1 * abs(side[0]) else np.asarray(quads_to_boxes([word.quad])[0], np.float64)


def _contrast(grey: NDArray[np.float32], box: Floats) -> float | None:
    """How much darker, or brighter, the ink of a word is than its ground."""
    part = _part(grey, box)
    if part.size < 12:
        return None
    return float(np.quantile(np.abs(part - np.median(part)), 0.93))


def _part(grey: NDArray[np.float32], box: Sequence[float] | Floats) -> NDArray[np.float32]:
    x0, y0, x1, y1 = (max(0, round(float(value))) for value in box)
    return grey[y0:y1, x0:x1]


def _has_ink(grey: NDArray[np.float32], quad: Quad, words: Sequence[Floats], height: float, contrast: float) -> bool:
    rim = _RIM * height
    x0, y0, x1, y1 = quads_to_boxes([quad])[0] + rim * np.array([1, 1, -1, -1])
    part = _part(grey, (x0, y0, x1, y1))
    if min(part.shape) < _TALL * height:
        return False
    import cv2

    smooth = cv2.blur(part, (3, 3)) if height >= 8 else part
    ink = (np.abs(smooth - np.median(smooth)) > (_DARK_BESIDE if words else _DARK) * contrast).astype(np.uint8)
    for box in words:
        left, top, right, bottom = box - np.array([x0, y0, x0, y0]) + 2 * rim * np.array([-1, -1, 1, 1])
        ink[max(0, round(top)) : max(0, round(bottom)), max(0, round(left)) : max(0, round(right))] = 0
    rows, cols = ink.mean(axis=1) > _LINE, ink.mean(axis=0) > _LINE
    ink[rows] = 0
    ink[:, cols] = 0
    count, _, stats, _ = cv2.connectedComponentsWithStats(ink, connectivity=8)
    for left, top, wide, tall, area in stats[1:count].tolist():
        touches = left == 0 or top == 0 or left + wide == ink.shape[1] or top + tall == ink.shape[0]
        is_stroke = _TALL * height <= tall <= 2 * height and area >= _AREA * height * height
        if is_stroke and not touches and (wide >= _WIDE * height or area >= 0.6 * wide * tall):
            return True
    return False
