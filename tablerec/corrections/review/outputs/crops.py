"""The part of the picture that each cell shows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from postprocess.arrays import Image
from postprocess.cell import Cell
from postprocess.geometry.boxes import quads_to_boxes
from tablerec.corrections.editor.folder import image_to_png

_RIM = 2
"""Pixels around a cell."""


def crop_name(cell: Cell) -> str:
    """Name of the picture of a cell.

    >>> crop_name(Cell(0, 11))
    'r1_c12.png'
    """
    return f"r{cell.row + 1}_c{cell.col + 1}.png"


def crops(cells: Iterable[Cell], image: Image) -> Iterator[tuple[str, bytes]]:
    """Cut out cells.

    Args:
        cells: With places in pixels of the picture; a cell without one has no crop.
        image: ``(H, W, 3)`` uint8 BGR.

    Yields:
        Name and content of a PNG file for each cell that is in the picture.

    >>> square = ((0, 0), (9, 0), (9, 9), (0, 9))
    >>> [name for name, _ in crops([Cell(0, 0, quad=square), Cell(0, 1)], np.zeros((20, 40, 3), np.uint8))]
    ['r1_c1.png']
    """
    height, width = image.shape[:2]
    for cell in cells:
        if cell.quad is None:
            continue
        x0, y0, x1, y1 = quads_to_boxes([cell.quad])[0]
        left, right = np.clip([np.floor(x0) - _RIM, np.ceil(x1) + _RIM], 0, width).astype(int).tolist()
        top, bottom = np.clip([np.floor(y0) - _RIM, np.ceil(y1) + _RIM], 0, height).astype(int).tolist()
        if left < right and top < bottom:
            yield crop_name(cell), image_to_png(np.ascontiguousarray(image[top:bottom, left:right]))
