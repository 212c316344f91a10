"""Lines of text from CellNet's passes, at the size that suits the text; the detector of cells then has its pass."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from postprocess.arrays import Floats
from postprocess.geometry.boxes import word_height
from tablerec.detect.cellnet import LIKE_SCALE, choose_scale
from tablerec.detect.passes import CellNetPasses, largest_scale

if TYPE_CHECKING:
    from postprocess.arrays import Image

UNSEEN = 2.5
"""Where no line is found at the first scale, a picture may hold small print: it is enlarged so many times."""
_MOST_PASSES = 3


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
        return quads[(sides >= 1).all(axis=1)]


def _usual_height(quads: Floats) -> float:
    """Median of the heights of lines, each counted by its area."""
    sides = np.linalg.norm(quads[:, [1, 3]] - quads[:, [0, 0]], axis=2)
    heights = sides.min(axis=1)
    order = np.argsort(heights)
    areas = np.cumsum(sides.prod(axis=1)[order])
    return float(heights[order][np.searchsorted(areas, areas[-1] / 2)])
