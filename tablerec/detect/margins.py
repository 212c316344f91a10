"""Empty cells at the edge of a table where the picture shows nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from postprocess.arrays import Floats
from postprocess.geometry.boxes import quads_to_array, quads_to_boxes
from postprocess.word import Word

if TYPE_CHECKING:
    from postprocess.arrays import Image


_BLANK = 4.0
"""Standard deviation of grey, of 255, below which a region shows nothing."""


def held_cells(quads: Floats, words: Sequence[Word], image: Image) -> NDArray[np.bool_]:
    """Tell cells from those beyond all text of their table, in a margin where nothing is drawn either.

    Around a table without rulings a network may see parts of a further row of empty cells.

    Args:
        quads: ``(N, 4, 2)`` cells of one table, about level.
        words: Words of the picture.
        image: ``(H, W, 3)`` uint8.

    Returns:
        ``(N,)`` False for those to be left out; all True where no word lies in a cell.

    >>> from postprocess.geometry.boxes import array_to_quad, boxes_to_quads
    >>> cells, paper = boxes_to_quads([[0, 0, 20, 10], [0, 10, 50, 20]]), np.full((30, 60, 3), 255, np.uint8)
    >>> text = [Word("x", array_to_quad(boxes_to_quads([[5, 12, 15, 18]])[0]))]
    >>> held_cells(cells, text, paper).tolist()
    [False, True]
    >>> paper[1, :20] = 0
    >>> held_cells(cells, text, paper).tolist()
    [True, True]
    """
    held = np.ones(len(quads), bool)
    boxes = quads_to_boxes(quads)
    texts = quads_to_boxes(quads_to_array([word.quad for word in words]))
    middles = (texts[:, :2] + texts[:, 2:]) / 2
    outline = np.array([*boxes[:, :2].min(axis=0), *boxes[:, 2:].max(axis=0)]) if len(boxes) else np.zeros(4)
    texts = texts[((middles > outline[:2]) & (middles < outline[2:])).all(axis=1)]
    if not len(texts):
        return held
    for axis in range(2):
        for beyond in (boxes[:, 2 + axis] <= texts[:, axis].min(), boxes[:, axis] >= texts[:, 2 + axis].max()):
            if beyond.any() and _is_blank(image, boxes[beyond]):
                held &= ~beyond
    return held


def _is_blank(image: Image, boxes: Floats) -> bool:
    x0, y0 = np.floor(boxes[:, :2].min(axis=0)).clip(0).astype(int)
    x1, y1 = np.ceil(boxes[:, 2:].max(axis=0)).astype(int)
    region = image[y0:y1, x0:x1]
    return bool(region.size) and float(region.mean(axis=2).std()) < _BLANK
