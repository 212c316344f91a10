"""Ink: the part of a cell that is neither ground nor ruling, for OCR engines that need a close crop."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
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
_HIGHEST = 1.15
"""A character is at most so many times as high as the widest one is wide, or as the highest stroke."""
_LEAST_SIGN = 0.25
"""Least height of a character in a column, as a share of the usual one; a lower one is a wide stroke, such as 一 ..."""
_WIDE = 0.5
"""... of this width at least."""
_LONG = 0.9
"""A stroke this long, as a share of the side of a tight crop, is a ruling."""
_WIDER = 1.2
"""... also one so many times as wide as the characters beside it."""
_FAR = 1.2
"""Lines are at most so many heights of one apart; parts of a character, as in 三, are further."""
_AROUND = 0.15
"""Ground around a character of a column, as a share of its size."""


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
    if y1 - y0 > x1 - x0 and _are_stacked(boxes):
        line = x1 - x0
    pad = round(PAD * line) + 1
    above = pad + max(0, line - (y1 - y0)) // 2
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
    ground, boxes = _strokes(crop)
    height, width = crop.shape[:2]
    parts = boxes[:, 2:] - boxes[:, :2]
    at_border = (boxes[:, :2] <= 1) | (boxes[:, 2:] >= [width - 1, height - 1])
    long = (parts >= RULING * np.array([width, height])).any(axis=1)
    # A faint ruling comes in pieces: thin ones, along the border.
    piece = (at_border & (parts <= THIN * height)).any(axis=1)
    return ground, boxes[~(at_border.any(axis=1) & long) & ~piece]


def _strokes(crop: Image) -> tuple[list[float], Ints]:
    """The colour of the ground, and ``(N, 4)`` boxes xyxy of connected ink, rulings among it."""
    import cv2

    counts = _counts(crop)
    # Doubled: a median may lie in the middle between two levels.
    ground = 2 * _medians(counts)
    seen = counts > 0
    darkest, brightest = 2 * seen.argmax(axis=1), 2 * (255 - seen[:, ::-1].argmax(axis=1))
    most = float(max((brightest - ground).max(), (ground - darkest).max()))
    if most < 2 * LEAST_CONTRAST:
        return (ground / 2).tolist(), np.zeros((0, 4), np.int64)
    least = max(2 * LEAST_CONTRAST, most / 3)
    lowest, highest = np.ceil((ground - least) / 2).clip(0), np.floor((ground + least) / 2).clip(max=255)
    mask = cv2.bitwise_not(cv2.inRange(crop, lowest, highest))
    parts = cv2.connectedComponentsWithStats(mask, connectivity=8)[2][1:, :4].astype(np.int64)
    return (ground / 2).tolist(), np.column_stack([parts[:, :2], parts[:, :2] + parts[:, 2:]])


def cut_columns(crop: Image) -> list[list[tuple[int, int, int, int]]]:
    """Cut a crop of characters one below another into single ones, or into the lines that they are.

    Strokes one above another may be parts of one character, such as 二, or two characters: the smallest gaps are closed
    first, as long as no part becomes higher than a character is, by the widest part or by the highest.

    Args:
        crop: ``(h, w, 3)`` uint8.

    Returns:
        Ways to cut it, at most two: boxes xyxy in pixels of at least two parts, from top to bottom.

    >>> crop = np.full((60, 30, 3), 255, np.uint8)
    >>> crop[5:25, 5:25] = crop[33:36, 5:25] = crop[50:53, 5:25] = 0  # 口二
    >>> cut_columns(crop)
    [[(2, 2, 28, 28), (2, 30, 28, 56)]]
    """
    _, boxes = _strokes(crop)
    height, width = crop.shape[:2]
    # Strokes of characters may touch the border; rules go along all of it.
    sizes = boxes[:, 2:] - boxes[:, :2]
    at_end = (boxes[:, 1] <= 1) | (boxes[:, 3] >= height - 1)
    boxes = boxes[
        (sizes[:, 1] < _LONG * height) & ~(at_end & (sizes[:, 0] >= _LONG * width) & (sizes[:, 1] <= THIN * width))
    ]
    bands = _without_rules(_bands(boxes), crop.shape)
    if len(bands) < 2:
        return []
    wide, high = (max(band[end] - band[start] for band in bands) for start, end in ((0, 2), (1, 3)))
    found: list[list[tuple[int, int, int, int]]] = []
    gap = max((after[1] - before[3] for before, after in pairwise(bands)), default=0)
    for size in {max(wide, high), high if gap <= _FAR * high else wide}:
        parts = _close_gaps(bands, _HIGHEST * size)
        whole = all(y1 - y0 >= _LEAST_SIGN * size or x1 - x0 >= _WIDE * size for x0, y0, x1, y1 in parts)
        if len(parts) > 1 and whole and (cut := _with_ground(parts, size, crop.shape)) not in found:
            found.append(cut)
    return found


def _bands(boxes: Ints) -> list[list[int]]:
    """Boxes around strokes between which no row of ground is, from top to bottom."""
    bands: list[list[int]] = []
    for x0, y0, x1, y1 in boxes[np.argsort(boxes[:, 1])].tolist():
        if bands and y0 <= bands[-1][3]:
            last = bands[-1]
            bands[-1] = [min(last[0], x0), last[1], max(last[2], x1), max(last[3], y1)]
        else:
            bands.append([x0, y0, x1, y1])
    return bands


def _without_rules(bands: list[list[int]], shape: Sequence[int]) -> list[list[int]]:
    """All bands but those at the ends of a crop that are thin, and wider than any character: a rule askew."""
    height, width = shape[:2]
    for end, rest in ((0, slice(1, None)), (-1, slice(-1))):
        if len(bands) < 2:
            break
        x0, y0, x1, y1 = bands[end]
        widest = max(right - left for left, _, right, _ in bands[rest])
        if (y0 <= 1 or y1 >= height - 1) and y1 - y0 <= THIN * width and x1 - x0 > _WIDER * widest:
            bands = bands[rest]
    return bands


def _are_stacked(boxes: Ints) -> bool:
    """Whether strokes are of several characters one above another; those of an i are not."""
    heights = sorted(y1 - y0 for _, y0, _, y1 in _bands(boxes))
    return len(heights) > 1 and 2 * heights[len(heights) // 2 - 1] > heights[-1]


def _close_gaps(bands: Sequence[list[int]], highest: float) -> list[list[int]]:
    parts = [list(band) for band in bands]
    while True:
        fits = [
            (after[1] - before[3], place)
            for place, (before, after) in enumerate(pairwise(parts))
            if after[3] - before[1] <= highest
        ]
        if not fits:
            return parts
        _, place = min(fits)
        (x0, y0, x1, _), (u0, _, u1, v1) = parts[place : place + 2]
        parts[place : place + 2] = [[min(x0, u0), y0, max(x1, u1), v1]]


def _with_ground(parts: Sequence[list[int]], size: int, shape: Sequence[int]) -> list[tuple[int, int, int, int]]:
    """Boxes of parts with ground around them; a low one is as high as the others."""
    pad = round(_AROUND * size)
    cuts = [0, *((before[3] + after[1]) // 2 for before, after in pairwise(parts)), shape[0]]
    boxes = []
    for (x0, y0, x1, y1), above, below in zip(parts, cuts, cuts[1:], strict=False):
        grown = max(pad, (size + 2 * pad - (y1 - y0)) // 2)
        boxes.append((max(0, x0 - pad), max(above, y0 - grown), min(shape[1], x1 + pad), min(below, y1 + grown)))
    return boxes


def ground_color(crop: Image) -> NDArray[np.float64]:
    """Return the median of each channel.

    Args:
        crop: ``(h, w, 3)`` uint8.

    >>> ground_color(np.array([[[0, 9, 5], [2, 9, 6], [4, 1, 9], [9, 1, 9]]], np.uint8)).tolist()
    [3.0, 5.0, 7.5]
    """
    return _medians(_counts(crop))


def _counts(crop: Image) -> Ints:
    """``(3, 256)`` how often each channel has each value."""
    import cv2

    counts = [cv2.calcHist([crop], [channel], None, [256], [0, 256]).ravel() for channel in range(3)]
    return np.asarray(counts, np.int64)


def _medians(counts: Ints) -> NDArray[np.float64]:
    """Median of each channel; for small values counting is several times as fast as numpy's median."""
    up_to = np.cumsum(counts, axis=1)
    size = int(up_to[0, -1])
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
