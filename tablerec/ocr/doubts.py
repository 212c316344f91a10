"""What speaks against a reading that its recogniser is sure of: small print, mixed scripts, ink without a character.

Letters of two scripts that look alike are told apart by those beside them.
"""

from __future__ import annotations

import re
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
"""Height of a line in pixels below which print is read worse than its score says, though LineNet has learned it."""
APART = frozenset(("LATIN", "CYRILLIC", "ARABIC", "HEBREW"))
"""Scripts of which a word has one; Greek letters also stand in words of Latin ones."""
_TWINS = {
    "CYRILLIC": ("АВЕКМНОРСТУХаеорсухіјѕ", "ABEKMHOPCTYXaeopcyxijs"),
    "GREEK": ("ΑΒΕΖΗΙΚΜΝΟΡΤΥΧ", "ABEZHIKMNOPTYX"),
}
"""Letters of a script, and Latin ones that look the same."""
_LETTER_LIKE_ZERO = re.compile(r"(?<=[^\W\d])0(?![\d.,%])|(?<![\d.,])0(?=[^\W\d])|(?<=\d)O")
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
    return (
        min(crop.shape[:2]) < SEEN
        or mixes_scripts(line.text)
        or has_letter_like_zero(line.text)
        or has_unread_ink(line, crop)
    )


def has_letter_like_zero(text: str) -> bool:
    """Whether a zero stands among letters, where it may be an O, or an O among digits.

    >>> [has_letter_like_zero(text) for text in ("A0", "口蹄疫0型", "2O5", "CO2", "A 0.5", "10 km", "0")]
    [True, True, True, False, False, False, False]
    """
    return bool(_LETTER_LIKE_ZERO.search(text))


def settle_scripts(text: str) -> str:
    """Write in one script what looks the same in two.

    A word with letters of two scripts is in that to which all of them can belong; a word in which each letter may be
    Latin is so in a line in which others cannot be but Latin.

    >>> [settle_scripts(text) for text in ("GTАСС", "Аpril", "Цeна", "СО net", "Привет СО", "μm")]
    ['GTACC', 'April', 'Цена', 'CO net', 'Привет СО', 'μm']
    """
    if text.isascii():
        return text
    for name, (theirs, latin) in _TWINS.items():
        own = [char for char in text if char.isalpha() and unicodedata.name(char, "").startswith(name)]
        if not own:
            continue
        others = [char for char in text if "LATIN" in unicodedata.name(char, "")]
        if set(own) <= set(theirs) and not set(others) <= set(latin):
            text = text.translate(str.maketrans(theirs, latin))
        elif mixes_scripts(text):
            text = " ".join(_settle_word(word, name) for word in text.split(" "))
    return text


def _settle_word(word: str, name: str) -> str:
    """A word in the script to which all of its letters can belong; the more frequent one where both are."""
    theirs, latin = _TWINS[name]
    own = [char for char in word if char.isalpha() and unicodedata.name(char, "").startswith(name)]
    others = [char for char in word if "LATIN" in unicodedata.name(char, "")]
    if own and others:
        if set(others) <= set(latin) and (len(own) > len(others) or not set(own) <= set(theirs)):
            return word.translate(str.maketrans(latin, theirs))
        if set(own) <= set(theirs):
            return word.translate(str.maketrans(theirs, latin))
    return word


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
