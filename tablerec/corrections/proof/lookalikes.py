"""Characters that a reader takes for one another."""

from __future__ import annotations

import re
from typing import Literal

from postprocess.values.script import lower_digits, to_plain

DIGITS = {
    "0": "689", "1": "47", "2": "7", "3": "589", "4": "19", "5": "3689", "6": "0584", "7": "129", "8": "03569",
    "9": "034578",
}  # fmt: skip
"""A digit that was read -> digits that it may be."""

_SIGNS = "OoDQlIi|!][ZzSsBGbgqº°ᵒ"
"""Letters and signs that digits are taken for."""
_TO_DIGIT = str.maketrans(_SIGNS, "00001111111225586699000")
_TO_LETTER = {"0": "Oo", "1": "lIi", "2": "Zz", "5": "Ss", "6": "bG", "8": "B", "9": "gq"}
_SAME = [
    ("rn", "m"), ("cl", "d"), ("vv", "w"), ("l", "i"), ("1", "i"), ("|", "i"), ("!", "i"), ("j", "i"), ("0", "o"),
    ("5", "s"), ("8", "b"), ("q", "g"), ("9", "g"), ("2", "z"), ("c", "e"), ("h", "b"), ("日", "曰"), ("未", "末"),
    ("己", "已"), ("巳", "已"), ("入", "人"), ("土", "士"), ("天", "夫"), ("大", "太"), ("千", "干"),
]  # fmt: skip
"""Groups of characters, and one of each group that stands for all."""

Slip = Literal["lookalike", "mark", "digit", "missing"]
"""How a number was misread: one digit for one like it; its marks or its sign; any digit; one too few or too many."""


def digits_of(text: str) -> str:
    """The digits of a text, also those that were read as letters or raised.

    >>> digits_of("1,2O4.5⁹"), digits_of("US$ 12")
    ('120459', '12')
    """
    plain = lower_digits(to_plain(text))
    return re.sub("[^0-9]", "", to_digits(plain) if re.search(rf"[0-9][,.]?[{re.escape(_SIGNS)}]", plain) else plain)


def to_digits(text: str) -> str:
    """The text with digits for all that looks like one.

    >>> to_digits("lO.S⁹")
    '10.59'
    """
    return lower_digits(text).translate(_TO_DIGIT)


def find_slip(text: str, wanted: str) -> Slip | None:
    """How the digits of a text become others by one misread character; None where more is wrong.

    Args:
        text: As it was read.
        wanted: The digits that it should have, without zeros in front.

    >>> find_slip("1,234", "1284"), find_slip("12.34", "1234"), find_slip("1,234", "124"), find_slip("7", "89")
    ('lookalike', 'mark', 'missing', None)
    """
    found, wanted = digits_of(text).lstrip("0"), wanted.lstrip("0")
    if found == wanted:
        return "mark"
    if len(found) == len(wanted):
        pairs = [(a, b) for a, b in zip(found, wanted, strict=True) if a != b]
        if len(pairs) == 1:
            return "lookalike" if pairs[0][1] in DIGITS[pairs[0][0]] else "digit"
        return None
    short, long = sorted((found, wanted), key=len)
    is_one_more = len(long) - len(short) == 1 and any(long[:at] + long[at + 1 :] == short for at in range(len(long)))
    return "missing" if is_one_more else None


_SAME_MARKS = re.compile(r"(?<![0-9.,])([0-9]{1,3})((?:([.,])[0-9]{3})(?:\3[0-9]{3})*)\3([0-9]{1,2})(?![0-9.,])")


def part_marks(text: str, decimal: str = ".") -> str:
    """A number with one mark for two, before the decimals and between thousands, as it was meant; else nothing.

    >>> part_marks("10.218.57"), part_marks("10,218,57", ","), part_marks("10.218.570")
    ('10,218.57', '10.218,57', '')
    """
    group = "." if decimal == "," else ","

    def mend(match: re.Match[str]) -> str:
        return match[1] + match[2].replace(match[3], group) + decimal + match[4]

    mended = _SAME_MARKS.sub(mend, text)
    return mended if mended != text else ""


def skeleton(text: str) -> str:
    """One form of all texts that look alike.

    >>> skeleton("Totai") == skeleton("Total"), skeleton("Tea") == skeleton("Tee")
    (True, False)
    """
    same = "".join(text.casefold().split())
    for read, meant in _SAME:
        same = same.replace(read, meant)
    return same


def letters_for(digit: str) -> str:
    """Letters that a digit may be."""
    return _TO_LETTER.get(digit, "")
