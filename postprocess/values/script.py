"""Digits and marks of several scripts, brought to those of ASCII."""

from __future__ import annotations

import re

from postprocess.raised import SUPERSCRIPTS, to_superscript

BLANKS = " \u00a0\u2007\u2009\u202f"
"""Blanks that stand inside numbers."""

RAISED_DIGITS = to_superscript("0123456789")
RAISED_LETTERS = "".join(raised for plain, raised in SUPERSCRIPTS.items() if "a" <= plain <= "z")

_WIDE = "０１２３４５６７８９（），．％＋－＄／：＊　", "0123456789(),.%+-$/:* "
_DASHES = "\u2212\u2013\u2010\u2011\ufe63"
_ARABIC, _PERSIAN = "٠١٢٣٤٥٦٧٨٩", "۰۱۲۳۴۵۶۷۸۹"
_INVISIBLE = "\u200b\u200e\u200f\u061c\u2066\u2067\u2068\u2069\ufeff"
_TO_PLAIN = str.maketrans(
    _WIDE[0] + _ARABIC + _PERSIAN + "٪" + _DASHES,
    _WIDE[1] + "0123456789" * 2 + "%" + "-" * len(_DASHES),
    _INVISIBLE,
)

_SHAPES = {"[$-2000401]": re.compile(f"[{_ARABIC}]"), "[$-3000429]": re.compile(f"[{_PERSIAN}]")}
_ASCII_DIGIT = re.compile("[0-9０-９]")
_RAISED = str.maketrans(RAISED_DIGITS + "⁺⁻", "0123456789+-")


def to_plain(text: str) -> str:
    """Full-width, Arabic and Persian digits and marks as those of ASCII; the Arabic decimal and group marks stay.

    >>> to_plain("（１２）"), to_plain("١٬٢٣٤٫٥"), to_plain(" \u221212 ")
    ('(12)', '1٬234٫5', '-12')
    """
    return text.translate(_TO_PLAIN).strip()


def digits_shape(text: str) -> str | None:
    """The prefix of a number format that shows the digits in their script: empty for ASCII, None for a mixture.

    >>> digits_shape("12"), digits_shape("١٢"), digits_shape("۱۲"), digits_shape("١2")
    ('', '[$-2000401]', '[$-3000429]', None)
    """
    found = [prefix for prefix, digits in _SHAPES.items() if digits.search(text)]
    if len(found) > 1 or (found and _ASCII_DIGIT.search(text)):
        return None
    return found[0] if found else ""


def lower_digits(text: str) -> str:
    """Raised digits and signs as plain ones.

    >>> lower_digits("⁻¹²")
    '-12'
    """
    return text.translate(_RAISED)
