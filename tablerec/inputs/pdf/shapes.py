"""Fonts whose glyphs have not the shape of the characters that the document says they are.

A document may map its glyphs to any characters. Holes and extents of a glyph say cheaply, without reading, that a
font deserves a closer look: an 8 has two holes, a 6 one below its middle, a p reaches below the line, a t above the
height of an x.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from postprocess.arrays import Image
from tablerec.inputs.pdf.glyphs import TALL, VISIBLE

LEAST_HEIGHT = 11
"""Pixels; holes of smaller print fill up."""
MOST_WRONG, LEAST_WRONG = 0.2, 3
"""Share and number of the characters of a font with another shape, from which it is doubtful."""
MOST_LOOKED_AT = 8
"""Glyphs of a digit or sign: others may stand for it as well as its own."""
HIGH, LOW = 0.6, 0.08
"""How far, in sizes of the font, capitals and d reach above the line at least, and p and the comma below it."""

_HOLES = {
    **dict.fromkeys("12357CEFGHIJKLMNSTUVWXYZcfhijklmnrstuvwxyz", (0,)),
    **dict.fromkeys("69ADOPRbdeopq", (1,)),
    "0": (1, 2),
    "8": (2,),
    "B": (2,),
}
"""How many holes a character may have; those that differ between fonts are left out."""
_CERTAIN = "3568.,"
"""Characters of which one with another shape makes a font doubtful: they change a number."""
_SMALL_LETTERS, _TALL_LETTERS = "acemnorsuvwxz", "bdfhkl"
_ABOVE_LINE, _BELOW_LINE = ".abcdehiklmnorstuvwxz", ",gpqy"


def doubtful_fonts(glyphs: NDArray[Any], image: Image, known: set[int]) -> dict[int, str]:
    """Find fonts that have not been looked at and whose glyphs have not the shape of their characters.

    Args:
        glyphs: ``(N,)`` of ``GLYPH``.
        image: ``(height, width, 3)`` uint8: the page that shows them.
        known: Fonts to skip; those that were looked at are added.

    Returns:
        By font the characters with another shape.
    """
    boxes = glyphs["box"]
    fits = (glyphs["kind"] == VISIBLE) & (glyphs["shown"] > 0.5) & (glyphs["u"] > 0.99)
    fits &= (glyphs["size"] >= 1.4 * LEAST_HEIGHT) & ~np.isin(glyphs["font"], list(known))
    fits &= ~np.isclose(boxes[:, 1], glyphs["baseline"] - TALL * glyphs["size"])  # a rough box says nothing
    looked_at: dict[int, Counter[str]] = defaultdict(Counter)
    wrong: dict[int, set[str]] = defaultdict(set)
    for index in np.flatnonzero(fits).tolist():
        font, char = int(glyphs["font"][index]), chr(glyphs["code"][index])
        if looked_at[font][char] < (MOST_LOOKED_AT if char in _CERTAIN else 1):
            looked_at[font][char] += 1
            if not (_has_extent(char, glyphs[index]) and _has_holes(char, image, boxes[index])):
                wrong[font].add(char)
    known |= set(looked_at)
    return {font: "".join(sorted(chars)) for font, chars in wrong.items() if _is_doubtful(chars, len(looked_at[font]))}


def _is_doubtful(wrong: set[str], n_looked_at: int) -> bool:
    return any(char in _CERTAIN for char in wrong) or len(wrong) >= max(LEAST_WRONG, MOST_WRONG * n_looked_at)


def _has_extent(char: str, glyph: Any) -> bool:
    _, y0, _, y1 = glyph["box"].tolist()
    above, below = (glyph["baseline"] - y0) / glyph["size"], (y1 - glyph["baseline"]) / glyph["size"]
    return not (
        (char in _SMALL_LETTERS and above > HIGH + 0.1)
        or (char in _TALL_LETTERS and above < HIGH - 0.1)
        or (char in _ABOVE_LINE and below > LOW)
        or (char in _BELOW_LINE and below < LOW / 2)
    )


def _has_holes(char: str, image: Image, box: NDArray[np.float32]) -> bool:
    if char not in _HOLES or box[3] - box[1] < LEAST_HEIGHT:
        return True
    x0, y0 = np.maximum(np.floor(box[:2]), 0).astype(int)
    x1, y1 = np.ceil(box[2:]).astype(int)
    grey = image[y0:y1, x0:x1, 1].astype(np.int16)  # green is most of what is seen
    if not grey.size or np.ptp(grey) < 60:
        return True
    # Thin strokes are grey: at the middle a hole may leak, so two thresholds are tried.
    return any(_fits(char, np.pad(_ink(grey, share), 1)) for share in (0.5, 0.75))


def _ink(grey: NDArray[Any], share: float) -> NDArray[np.uint8]:
    """1 where there is ink, of any colour on any ground, which is what the corners and edges mostly are."""
    low, high = int(grey.min()), int(grey.max())
    is_dark = grey[0].mean() + grey[-1].mean() + grey[:, 0].mean() + grey[:, -1].mean() >= 2 * (low + high)
    distance = high - grey if is_dark else grey - low
    return (distance > (1 - share) * (high - low)).astype(np.uint8)


def _fits(char: str, ink: NDArray[np.uint8]) -> bool:
    import cv2

    n_labels, _, stats, centres = cv2.connectedComponentsWithStats(1 - ink, connectivity=4)
    # 0 is the ink itself, 1 the ground around it; specks are no holes.
    holes = [index for index in range(2, n_labels) if stats[index, cv2.CC_STAT_AREA] >= 2]
    if len(holes) not in _HOLES[char]:
        return False
    middle = (ink.shape[0] - 1) / 2
    return not (char == "6" and centres[holes[0]][1] < middle) and not (char == "9" and centres[holes[0]][1] > middle)
