"""A contact sheet: many samples at a glance, cells outlined."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np

from tablerec.outputs.files import atomic_file
from tablerec.synth.sample import CellKind, Cells, Image, Sample

KIND_COLORS: dict[CellKind, tuple[int, int, int]] = {
    "body": (220, 40, 40),
    "column": (30, 90, 220),
    "row": (20, 150, 70),
    "section": (200, 110, 0),
    "total": (150, 40, 170),
}
"""Colour of the outline by kind of cell."""


def outline_cells(image: Image, cells: Cells) -> Image:
    """Return the picture with the outlines of the cells, in the colour of their kind."""
    import cv2

    drawn = image.copy()
    for quad, kind in zip(cells.quads, cells.kinds, strict=True):
        cv2.polylines(drawn, [np.round(quad).astype(np.int32)], True, KIND_COLORS[kind], 1, cv2.LINE_AA)
    return drawn


def contact_sheet(samples: Iterable[Sample], columns: int = 4, side: int = 480) -> Image:
    """Return small pictures of samples side by side, the cells outlined; see ``tile``."""
    return tile((outline_cells(sample.image, sample.cells) for sample in samples), columns, side)


def tile(pictures: Iterable[Image], columns: int = 4, side: int = 480) -> Image:
    """Return small pictures side by side; a row is as high as its highest picture.

    Args:
        pictures: At least one, ``(height, width, 3)`` uint8.
        columns: Pictures in a row.
        side: Most room for each, px.

    >>> tile([np.zeros((100, 200, 3), np.uint8)] * 3, columns=2, side=108).shape
    (116, 216, 3)
    """
    import cv2

    tiles, heights = [], []
    for picture in pictures:
        factor = min(1.0, (side - 8) / max(picture.shape[:2]))
        size = (max(1, int(picture.shape[1] * factor)), max(1, int(picture.shape[0] * factor)))
        square = np.full((side, side, 3), 96, np.uint8)
        square[4 : 4 + size[1], 4 : 4 + size[0]] = cv2.resize(picture, size, interpolation=cv2.INTER_AREA)
        tiles.append(square)
        heights.append(size[1] + 8)
    columns = max(1, min(columns, len(tiles)))
    while len(tiles) % columns:
        tiles.append(np.full((side, side, 3), 96, np.uint8))
    rows = [slice(start, start + columns) for start in range(0, len(tiles), columns)]
    return np.vstack([np.hstack(tiles[row])[: max(heights[row])] for row in rows])


def write_sheet(path: Path, samples: Iterable[Sample]) -> None:
    """Write a contact sheet as PNG.

    Raises:
        OutputError: The file cannot be written.
    """
    from PIL import Image as Pictures

    sheet = contact_sheet(samples)
    with atomic_file(path) as file:
        Pictures.fromarray(sheet).save(file, "PNG")
