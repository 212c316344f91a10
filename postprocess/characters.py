"""What every export asks of a text: allowed characters, formulas, width."""

from __future__ import annotations

import re
import unicodedata

_LINE_ENDS = re.compile("\r\n|[\r\x0b\x0c\x85\u2028\u2029]")
_FORBIDDEN = re.compile(
    "[\x00-\x08\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufdd0-\ufdef"
    + "".join(f"{chr(plane + 0xFFFE)}{chr(plane + 0xFFFF)}" for plane in range(0, 0x110000, 0x10000))
    + "]"
)
_SIGNS = tuple("=+-@＝＋－＠")
_FILLERS = "\u115f\u1160\u2800\u3164\uffa0"
"""Letters and signs without ink."""


def clean_text(text: str) -> str:
    r"""Remove what neither HTML nor a workbook may hold; every line end becomes ``"\n"``.

    Removed are control characters, halves of surrogate pairs and
    noncharacters; tab and line feed stay.

    >>> clean_text("a\x00b\r\nc")
    'ab\nc'
    """
    return _FORBIDDEN.sub("", _LINE_ENDS.sub("\n", text))


def to_one_line(text: str) -> str:
    r"""Join the lines of a text: with a blank, but none between Chinese, Japanese or Korean characters.

    >>> to_one_line("two\nlines"), to_one_line("两\n行")
    ('two lines', '两行')
    """
    lines = [line.strip() for line in clean_text(text).split("\n")]
    joined = ""
    for line in filter(None, lines):
        is_tight = not joined or {unicodedata.east_asian_width(char) for char in (joined[-1], line[0])} <= {"W", "F"}
        joined += line if is_tight else f" {line}"
    return joined


def is_formula(text: str) -> bool:
    """Whether a spreadsheet may take the text for a formula if it is typed or opened as CSV.

    Blanks and what nobody sees do not count: marks of byte order, blanks without a width, joiners.

    >>> [is_formula(text) for text in ("=1+1", "@A1", " +A1", "-", "a=b", chr(0xFEFF) + "=1")]
    [True, True, True, False, False, True]
    """
    start = next((at for at, char in enumerate(text) if not _is_invisible(char)), len(text))
    return text[start : start + 1] in _SIGNS and any(not _is_invisible(char) for char in text[start + 1 :])


def _is_invisible(char: str) -> bool:
    return unicodedata.category(char)[0] in "CZM" or char in _FILLERS


def text_to_width(text: str) -> int:
    r"""Width of the longest line in characters; Chinese, Japanese and Korean ones count two.

    >>> text_to_width("ab\n表格")
    4
    """
    return max(sum(_char_width(char) for char in line) for line in text.split("\n"))


def _char_width(char: str) -> int:
    if char < "\u0300":
        return 1
    return 2 if unicodedata.east_asian_width(char) in "WF" else 0 if unicodedata.combining(char) else 1
