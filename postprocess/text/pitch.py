"""The pitch of letters that are all equally wide, as typewriters and the printers of receipts set them.

In such text the width of a word says how many letters it has, and everything stands on one raster: gaps of one blank
lie above each other by chance, and where letters are wide so are the blanks between the words of one entry.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from postprocess.arrays import Floats

_LEAST_WORDS, _LEAST_LETTERS = 6, 3
"""So many words, of so many letters each, say whether letters are equally wide; digits nearly always are."""
_LEAST_RANGE = 3
"""Letters by which the longest and the shortest of them differ at least."""
_ALIKE = 0.25
"""Heights of words up to this share off the usual one are of one size."""
_FITS = 0.2, 0.3
"""Half and four fifths of the words are as wide as their letters say, within so many pitches."""
_ROUNDS = 4
"""Words that fit badly are left out so many times at most."""
_HAN = 0x2E80
"""From here on scripts have letters of equal width, and no blanks."""


def letter_pitch(widths: Floats, heights: Floats, texts: Sequence[str]) -> float | None:
    """Distance of letters that are all equally wide, in the unit of the widths; None where they are not.

    A line through the widths over the number of letters, drawn by least squares and again without the words that fit
    badly, such as those in which several blanks were read as one. Boxes may be loose by less than a text height.

    Args:
        widths: ``(W,)`` of the words.
        heights: ``(W,)`` of the words.
        texts: ``W`` texts.

    >>> texts = ("Rye bread", "Milk", "Butter", "Coffee beans", "Total", "Apples", "Tea", "Dark chocolate")
    >>> letter_pitch(np.array([12.0 * len(text) - 2 for text in texts]), np.full(8, 20.0), texts)
    12.0
    """
    letters = np.array([0 if max(text, default="") >= chr(_HAN) else sum(map(str.isalpha, text)) for text in texts])
    asked = letters >= _LEAST_LETTERS
    if asked.sum() < _LEAST_WORDS:
        return None
    usual = float(np.median(heights))
    asked &= np.abs(heights - usual) < _ALIKE * usual
    width, count = widths[asked], np.array([len(text) for text in texts])[asked]
    fits = np.ones(len(width), bool)
    for _ in range(_ROUNDS):
        if fits.sum() < _LEAST_WORDS or np.ptp(count[fits]) < _LEAST_RANGE:
            return None
        pitch, loose = np.polyfit(count[fits], width[fits], 1)
        off = np.abs(width - loose - pitch * count)
        before, fits = fits, off <= max(2.5 * np.median(off), _FITS[1] * pitch)
        if (fits == before).all():
            break
    half, most = np.quantile(off, [0.5, 0.8])
    equal = pitch > 0 and half < _FITS[0] * pitch and most < _FITS[1] * pitch and abs(loose) < usual
    return round(float(pitch), 6) if equal else None
