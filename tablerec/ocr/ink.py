"""Ink: the part of a cell that is neither ground nor ruling, for OCR engines that need a close crop."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from postprocess.arrays import Image, Ints

LEAST_CONTRAST = 40
"""Difference to the ground, of 255, below which nothing is taken for ink: shades and noise stay below it."""
RULING = 0.6
"""A stroke at the border of the crop this long, as a share of the side, is a ruling."""
THIN = 0.15
"""A piece of a stroke along the border that is no thicker than this, as a share of the height, is part of a ruling."""
PAD = 0.3
"""Ground laid around the ink, as a share of the height of its text."""


@dataclass(frozen=True, slots=True)
class Ink:
    """The ink in a crop.

    Args:
        box_xyxy: Box around it in pixels of the crop.
        crop: The ink with ground around it.
    """

    box_xyxy: tuple[int, int, int, int]
    crop: Image


def crop_to_ink(crop: Image) -> Ink | None:
    """Find the ink in a crop of a cell, without the rulings at its border.

    Args:
        crop: ``(h, w, 3)`` uint8, a cell with ground around its text.

    Returns:
        The ink, or None where there is none.

    >>> cell = np.full((30, 80, 3), 255, np.uint8)
    >>> cell[10:20, 40:44] = cell[:, :2] = 0
    >>> crop_to_ink(cell).box_xyxy
    (40, 10, 44, 20)
    >>> crop_to_ink(cell[:, :30]) is None
    True
    """
    import cv2

    ground, boxes = ink_boxes(crop)
    if len(boxes) == 0:
        return None
    x0, y0 = boxes[:, :2].min(axis=0).tolist()
    x1, y1 = boxes[:, 2:].max(axis=0).tolist()
    # A dash alone does not tell the height of the text: its width does, within reason.
    widest = int((boxes[:, 2] - boxes[:, 0]).max())
    line = max(y1 - y0, min(widest, 3 * (y1 - y0)))
    pad = round(PAD * line) + 1
    above = pad + (line - (y1 - y0)) // 2
    framed = cv2.copyMakeBorder(crop[y0:y1, x0:x1], above, above, pad, pad, cv2.BORDER_CONSTANT, value=ground)
    return Ink((x0, y0, x1, y1), np.asarray(framed, np.uint8))


def ink_boxes(crop: Image) -> tuple[list[float], Ints]:
    """Find the strokes in a crop: connected pieces of ink, without the rulings at its border.

    Args:
        crop: ``(h, w, 3)`` uint8.

    Returns:
        The colour of the ground, and ``(N, 4)`` boxes xyxy in pixels.

    >>> page = np.full((20, 40, 3), 255, np.uint8)
    >>> page[5:15, 8:10] = page[18:] = 0
    >>> ink_boxes(page)[1].tolist()
    [[8, 5, 10, 15]]
    """
    import cv2

    height, width = crop.shape[:2]
    ground = ground_color(crop)
    # Doubled: a median may lie in the middle between two levels.
    levels = np.abs(2 * np.arange(256)[:, None] - 2 * ground).astype(np.uint16)
    blue, green, red = cv2.split(cv2.LUT(crop, levels[None]))
    doubled = cv2.max(cv2.max(blue, green), red)
    most = int(doubled.max())
    if most < 2 * LEAST_CONTRAST:
        return ground.tolist(), np.zeros((0, 4), np.int64)
    mask = (doubled > max(2 * LEAST_CONTRAST, most / 3)).view(np.uint8)
    parts = cv2.connectedComponentsWithStats(mask, connectivity=8)[2][1:, :4].astype(np.int64)
    boxes = np.column_stack([parts[:, :2], parts[:, :2] + parts[:, 2:]])
    at_border = (boxes[:, :2] <= 1) | (boxes[:, 2:] >= [width - 1, height - 1])
    long = (parts[:, 2:] >= RULING * np.array([width, height])).any(axis=1)
    # A faint ruling comes in pieces: thin ones, along the border.
    piece = (at_border & (parts[:, 2:] <= THIN * height)).any(axis=1)
    return ground.tolist(), boxes[~(at_border.any(axis=1) & long) & ~piece]


def ground_color(crop: Image) -> NDArray[np.float64]:
    """Return the median of each channel.

    Args:
        crop: ``(h, w, 3)`` uint8.

    >>> ground_color(np.array([[[0, 9, 5], [2, 9, 6], [4, 1, 9], [9, 1, 9]]], np.uint8)).tolist()
    [3.0, 5.0, 7.5]
    """
    import cv2

    # For small values counting is several times as fast as numpy's median.
    counts = [cv2.calcHist([crop], [channel], None, [256], [0, 256]).ravel() for channel in range(3)]
    up_to = np.cumsum(counts, axis=1, dtype=np.int64)
    size = crop.shape[0] * crop.shape[1]
    ranks = [(up_to <= rank).sum(axis=1) for rank in ((size - 1) // 2, size // 2)]
    return np.asarray((ranks[0] + ranks[1]) / 2, np.float64)


def inner_quad(
    quad: NDArray[np.floating], box_xyxy: tuple[int, int, int, int], size_wh: tuple[int, int]
) -> NDArray[np.float64]:
    """Take a box in the straightened crop of a quad back into the picture.

    Args:
        quad: ``(4, 2)`` corners TL, TR, BR, BL in pixels of the picture.
        box_xyxy: Box in pixels of the crop.
        size_wh: Width and height of the crop.

    Returns:
        ``(4, 2)`` corners in pixels of the picture.

    >>> inner_quad(np.array([[10, 10], [30, 10], [30, 20], [10, 20]]), (5, 0, 15, 10), (20, 10)).tolist()
    [[15.0, 10.0], [25.0, 10.0], [25.0, 20.0], [15.0, 20.0]]
    """
    x0, y0, x1, y1 = box_xyxy
    u, v = np.array([x0, x1, x1, x0])[:, None] / size_wh[0], np.array([y0, y0, y1, y1])[:, None] / size_wh[1]
    top, bottom = quad[0] * (1 - u) + quad[1] * u, quad[3] * (1 - u) + quad[2] * u
    return np.asarray(top * (1 - v) + bottom * v, np.float64)
