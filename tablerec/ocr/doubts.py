"""What speaks against a reading that its recogniser is sure of: small print, mixed scripts, ink without a character."""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING

import numpy as np

from postprocess.geometry.boxes import quantile
from postprocess.geometry.runs import run_ends
from tablerec.ocr.ink import LEAST_CONTRAST
from tablerec.ocr.line import Line

if TYPE_CHECKING:
    from postprocess.arrays import Image

SEEN = 13
"""Height of a line in pixels below which print is read worse than its score says, though LineNet has learnt it."""
APART = frozenset(("LATIN", "CYRILLIC", "ARABIC", "HEBREW"))
"""Scripts of which a word has one; Greek letters also stand in words of Latin ones."""
_REACH = 0.15
"""How far a letter reaches to each side of its middle, as a share of the line's height ..."""
_WIDE_REACH = 0.225
"""... in a line with Chinese characters."""
_LEAST_INK = 0.25
"""Width of ink beyond that, as a share of the height, from which a character is missing."""
_BORDER = 0.1
"""Share of the height at both ends in which rules stand."""


def is_doubtful(line: Line, crop: Image) -> bool:
    """Whether a line may be wrong although its score is high.

    Args:
        line: With the places of its characters, if it has any.
        crop: ``(h, w, 3)`` uint8, in which it was read.

    >>> is_doubtful(Line("5", 1.0), np.full((40, 30, 3), 255, np.uint8))
    False
    """
    return min(crop.shape[:2]) < SEEN or mixes_scripts(line.text) or has_unread_ink(line, crop)


def mixes_scripts(text: str) -> bool:
    """Whether a word has letters or digits of several scripts, which look alike.

    >>> mixes_scripts("Аpo"), mixes_scripts("Apo"), mixes_scripts("Привет Apo"), mixes_scripts("μm 5")
    (True, False, False, False)
    """
    if text.isascii():
        return False
    return any(
        len({unicodedata.name(char, "").split(" ")[0].split("-")[0] for char in word} & APART) > 1
        for word in text.split()
    )


def has_unread_ink(line: Line, crop: Image) -> bool:
    """Whether there is ink between or beside the characters of a line that none of them has.

    Args:
        line: Of one row; without places there is none.
        crop: ``(h, w, 3)`` uint8.

    >>> crop = np.full((20, 60, 3), 255, np.uint8)
    >>> crop[5:15, 8:14] = crop[9:11, 40:50] = 0
    >>> has_unread_ink(Line("1", 1.0, ((0.1, 0.3),)), crop)
    True
    >>> has_unread_ink(Line("1-", 1.0, ((0.1, 0.3), (0.65, 0.85))), crop)
    False
    """
    height, width = crop.shape[:2]
    if not line.char_spans or not line.text.strip() or not 3 <= height <= width:
        return False
    edge = max(1, height // 8)
    green = crop[edge : height - edge, :, 1]
    ground = float(quantile(green[::2, ::4].ravel(), 0.5))
    difference = np.maximum(green.max(axis=0) - ground, ground - green.min(axis=0))
    inked = difference > max(LEAST_CONTRAST, 0.5 * float(np.partition(difference, 9 * width // 10)[9 * width // 10]))
    reach = height * (_WIDE_REACH if max(line.text) >= "\u2e80" else _REACH)
    for (start, end), char in zip(line.char_spans, line.text, strict=True):
        if not char.isspace():
            middle, half = (start + end) / 2 * width, max((end - start) / 2 * width, 2 * reach)
            inked[max(0, round(middle - half)) : round(middle + half)] = False
    inked[: round(_BORDER * height)] = inked[width - round(_BORDER * height) :] = False
    edges = run_ends(inked)
    return bool((edges[1::2] - edges[::2]).max(initial=0) > _LEAST_INK * height)
