"""Lines of text from CellNet's passes, at the size that suits the text; the detector of cells then has its pass."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from postprocess.arrays import Floats
from postprocess.geometry.boxes import quantile, word_height
from postprocess.geometry.runs import run_ends
from tablerec.detect.cellnet import LIKE_SCALE, choose_scale
from tablerec.detect.passes import CellNetPasses, largest_scale

if TYPE_CHECKING:
    from postprocess.arrays import Image

UNSEEN = 2.5
"""Where no line is found at the first scale, a picture may hold small print: it is enlarged so many times."""
_MOST_PASSES = 3
_LEAST_HEIGHT = 7
"""Of lines, px; in lower ones a dash is no more than a point."""
_CONTRAST = 60
"""Of a dash and its ground, of 255."""


class TextLineFinder:
    """Finds lines of text with the network that finds cells.

    The first pass takes the picture as if nothing were known about its text. By the height of the lines it finds, the
    next one is at the scale at which ``CellNetDetector`` will want it. Mostly that is the same, and one pass over the
    picture serves all.

    Args:
        passes: Of a network with lines, see ``finds_lines``; the detector of cells has the same.
    """

    def __init__(self, passes: CellNetPasses) -> None:
        self.passes = passes

    def find(self, image: Image) -> NDArray[np.float32]:
        """Find lines.

        Args:
            image: ``(H, W, 3)`` uint8 BGR.

        Returns:
            ``(N, 4, 2)`` float32 corners TL, TR, BR, BL in whole pixels of the picture, inside it.
        """
        height, width = image.shape[:2]
        if image.size == 0:
            return np.empty((0, 4, 2), np.float32)
        found = self.passes.run(image, choose_scale((height, width), None))
        for number in range(1, _MOST_PASSES):
            lines = found.lines
            # Of very large text the first pass may see bits.
            text_height = (_usual_height if number == 1 else word_height)(lines) if len(lines) else None
            wanted = choose_scale((height, width), text_height) if text_height else UNSEEN * found.scale
            again = self.passes.run(image, min(wanted, largest_scale((height, width))), LIKE_SCALE)
            if (again is found and number > 1) or not (len(again.lines) or len(lines)):
                break
            found = again
        # Upright boxes on whole pixels are cut out as they are; between pixels small print blurs and is misread.
        quads = np.clip(np.round(found.lines), 0, np.array([width, height])).astype(np.float32)
        sides = np.linalg.norm(quads[:, [1, 3]] - quads[:, [0, 0]], axis=2)
        return reach_dashes(quads[(sides >= 1).all(axis=1)], image)


def reach_dashes(quads: NDArray[np.float32], image: Image) -> NDArray[np.float32]:
    """Lengthen upright lines over a dash at an end, a minus or a hyphen, which the network sees least.

    Args:
        quads: ``(N, 4, 2)`` float32 as of ``TextLineFinder.find``.
        image: ``(H, W, 3)`` uint8 BGR.

    >>> image = np.full((40, 90, 3), 255, np.uint8)
    >>> image[10:30, 30:60] = image[19:21, 64:72] = 0
    >>> line = np.array([[[30, 10], [60, 10], [60, 30], [30, 30]]], np.float32)
    >>> reach_dashes(line, image)[0, :, 0].tolist()
    [30.0, 73.0, 73.0, 30.0]
    """
    low, high = quads.min(axis=1).astype(int), quads.max(axis=1).astype(int)
    upright = np.stack([low, np.c_[high[:, 0], low[:, 1]], high, np.c_[low[:, 0], high[:, 1]]], axis=1)
    is_upright = (quads == upright).all(axis=(1, 2))
    green, reached = image[..., 1], quads.copy()
    for index in np.flatnonzero(is_upright & (np.ptp(quads, axis=1)[:, 1] >= _LEAST_HEIGHT)).tolist():
        (left, top), (right, bottom) = low[index].tolist(), high[index].tolist()
        reach = round(1.1 * (bottom - top))
        after = _dash_end(green[top:bottom, right : right + reach])
        before = _dash_end(green[top:bottom, max(0, left - reach) : left][:, ::-1])
        for end, corners, x in ((after, [1, 2], right + after), (before, [0, 3], left - before)):
            middle = (x + (right if x > right else left)) / 2, (top + bottom) / 2
            if end and not ((low < middle) & (middle < high)).all(axis=1).any():
                reached[index, corners, 0] = x
    return reached


def _dash_end(strip: NDArray[np.uint8]) -> int:
    """Where a dash ends that a strip beside a line begins with, px from the line; 0 where there is none.

    It is low, at half the height of small letters, near the line, and has ground around it.
    """
    height, width = strip.shape
    rows = strip[round(0.3 * height) : round(0.8 * height)]
    if not rows.size or int(rows.max()) - int(rows.min()) < _CONTRAST:
        return 0
    ground = float(quantile(strip.ravel(), 0.5))
    difference = np.abs(strip.astype(np.float32) - ground)
    ink = difference > 0.4 * difference.max()
    edges = run_ends(ink.any(axis=0))
    start, stop = int(edges[0]), int(edges[1])
    if not (start <= 0.35 * height and 0.12 * height <= stop - start <= 0.65 * height and stop + 0.1 * height < width):
        return 0
    inked = np.flatnonzero(ink[:, start:stop].any(axis=1))
    thick, middle = int(inked[-1] - inked[0]) + 1, float(inked[-1] + inked[0] + 1) / 2
    is_low = thick <= max(2.0, 0.2 * height) and 2 * thick <= stop - start
    return stop + 1 if is_low and 0.38 * height < middle < 0.75 * height else 0


def _usual_height(quads: Floats) -> float:
    """Median of the heights of lines, each counted by its area."""
    sides = np.linalg.norm(quads[:, [1, 3]] - quads[:, [0, 0]], axis=2)
    heights = sides.min(axis=1)
    order = np.argsort(heights)
    areas = np.cumsum(sides.prod(axis=1)[order])
    return float(heights[order][np.searchsorted(areas, areas[-1] / 2)])
