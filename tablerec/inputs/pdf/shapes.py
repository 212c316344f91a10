"""Fonts whose glyphs have not the shape of the characters that the document says they are.

A document may map its glyphs to any characters. The holes of a character say cheaply, without reading, that a font
deserves a closer look: 8 has two, 6 one below its middle, 7 none.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from postprocess.arrays import Image
from tablerec.inputs.pdf.glyphs import VISIBLE

LEAST_HEIGHT = 11
"""Pixels; holes of smaller print fill up."""
MOST_WRONG, LEAST_WRONG = 0.25, 2
"""Share and number of the characters of a font with other holes, from which it is doubtful."""

_HOLES = {
    **dict.fromkeys("12357CEFGHIJKLMNSTUVWXYZcfhijklmnrstuvwxyz", (0,)),
    **dict.fromkeys("69ADOPRbdeopq", (1,)),
    "0": (1, 2),
    "8": (2,),
    "B": (2,),
}
"""How many holes a character may have; those that differ between fonts are left out."""


def doubtful_fonts(glyphs: NDArray[Any], image: Image, known: set[int]) -> set[int]:
    """Find fonts that have not been looked at and whose characters have other holes than they should.

    Args:
        glyphs: ``(N,)`` of ``GLYPH``.
        image: ``(height, width, 3)`` uint8: the page that shows them.
        known: Fonts to skip; those that were looked at are added.
    """
    boxes = glyphs["box"]
    fits = (glyphs["kind"] == VISIBLE) & (glyphs["shown"] > 0.9) & (glyphs["u"] > 0.99)
    fits &= (boxes[:, 3] - boxes[:, 1] >= LEAST_HEIGHT) & ~np.isin(glyphs["font"], list(known))
    first: dict[tuple[int, int], int] = {}
    for index in np.flatnonzero(fits).tolist():
        first.setdefault((int(glyphs["font"][index]), int(glyphs["code"][index])), index)
    wrong: dict[int, list[bool]] = {}
    for (font, code), index in first.items():
        if chr(code) in _HOLES:
            wrong.setdefault(font, []).append(not _fits(chr(code), _patch(image, boxes[index])))
    known |= set(wrong)
    return {font for font, each in wrong.items() if sum(each) >= max(LEAST_WRONG, MOST_WRONG * len(each))}


def _patch(image: Image, box: NDArray[np.float32]) -> NDArray[np.uint8]:
    """1 where there is ink, with a margin of ground."""
    x0, y0 = np.maximum(np.floor(box[:2]), 0).astype(int)
    x1, y1 = np.ceil(box[2:]).astype(int)
    grey = image[y0:y1, x0:x1].mean(axis=2)
    is_ink = (grey < (grey.min() + grey.max()) / 2) if grey.size else np.zeros((1, 1), bool)
    if is_ink.mean() > 0.8:  # light on dark
        is_ink = ~is_ink
    return np.pad(is_ink.astype(np.uint8), 1)


def _fits(char: str, ink: NDArray[np.uint8]) -> bool:
    import cv2

    n_labels, _, stats, centres = cv2.connectedComponentsWithStats(1 - ink, connectivity=4)
    # 0 is the ink itself, 1 the ground around it; specks are no holes.
    holes = [index for index in range(2, n_labels) if stats[index, cv2.CC_STAT_AREA] >= 2]
    if len(holes) not in _HOLES[char]:
        return False
    middle = (ink.shape[0] - 1) / 2
    return not (char == "6" and centres[holes[0]][1] < middle) and not (char == "9" and centres[holes[0]][1] > middle)
