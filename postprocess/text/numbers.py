"""What a text says: nothing, a label, a year or a number; a unit; and the value of a number.

Layout asks ``is_number`` of pieces of a line, before there are cells: does this piece count something, or is it a
label? Meaning asks ``text_to_kind`` of whole cells, in which words may stand beside a number. Exports ask
``postprocess.values``, which asks the whole column, for one that a spreadsheet shows again as it was read.
"""

from __future__ import annotations

import re

import numpy as np

from postprocess.values.script import BLANKS, to_plain

EMPTY, LABEL, YEAR, NUMBER = range(4)
"""Kinds of content, see `text_to_kind`."""

_SIGNS = "$€£¥￥₩₹"
_CODES = "USD|EUR|GBP|CHF|JPY|CNY|RMB|HKD"
_CURRENCY = re.compile(rf"[{_SIGNS}]|(?:US|HK|NT|C|A|S)\$|{_CODES}", re.IGNORECASE)
_NOTHING = re.compile(r"[-–—]+|n/?a|n\.a\.|nil", re.IGNORECASE)
"""What stands for no value."""
_NUMBER = re.compile(rf"[\s{_SIGNS}(<>≤≥~+\-−–—±.,]*\d[\d.,:\s%‰)(*†‡±/×+\-−–—]*[a-z]{{0,2}}[)*†‡]*", re.IGNORECASE)
_YEAR = re.compile("(?:19|20)[0-9]{2}")
_DIGITS_OF_A_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_DIGIT_GROUP = re.compile("[0-9]+")
_PLAIN_NUMBER = re.compile(r"[-+(]?(?!(?:19|20)[0-9]{2}(?![0-9]))[0-9]+(?:[.,][0-9]+)*[%)]?", re.ASCII)
"""Most numbers; this spares them the closer reading."""


def is_number(text: str) -> bool:
    """Whether a text reads as a number, an amount, a percentage, or the dash that stands for nothing.

    >>> [is_number(text) for text in ("(1,234)", "12.5%", "-", "$ 7", "Total 7", "")]
    [True, True, True, True, False, False]
    """
    return _NUMBER.fullmatch(text) is not None or _NOTHING.fullmatch(text) is not None


def is_year(text: str) -> bool:
    """Whether a text is a year, which heads a column more often than it counts something.

    Of dates and ranges, years too for ``text_to_kind``, a table without rulings has columns of its own.

    >>> is_year("2026"), is_year("1,026"), is_year("2025/26")
    (True, False, False)
    """
    return _YEAR.fullmatch(text) is not None


def is_currency(text: str) -> bool:
    """Whether a text is the sign or the code of a currency.

    >>> [is_currency(text) for text in ("US$", "€", "usd", "$ 7")]
    [True, True, True, False]
    """
    return _CURRENCY.fullmatch(text) is not None


def text_to_form(text: str) -> str:
    """What a text of digits and letters looks like whatever its numbers and blanks are; empty for other texts.

    >>> text_to_form("700 nm to 1,400 nm"), text_to_form("7.5"), text_to_form("Total")
    ('0nmto0nm', '', '')
    """
    has_both = any(map(str.isdigit, text)) and any(map(str.isalpha, text))
    return "".join(_DIGITS_OF_A_NUMBER.sub("0", text).split()) if has_both else ""


def text_to_kind(text: str) -> int:
    """Return ``EMPTY``, ``LABEL``, ``YEAR`` or ``NUMBER``.

    A text without letters and digits, and ``n/a``, count as empty. A year may
    stand in a date or a range. Any other text with more digits than letters is
    a number, such as ``"12.5 (3.4)"``.

    >>> [text_to_kind(text) for text in ("-", "Total", "2016/17", "1,234", "5.2 ± 0.3")]
    [0, 1, 2, 3, 3]
    """
    if _PLAIN_NUMBER.fullmatch(text):
        return NUMBER
    n_digits, n_letters = sum(map(str.isdecimal, text)), sum(map(str.isalpha, text))
    if n_digits + n_letters == 0 or _NOTHING.fullmatch(text.strip()):
        return EMPTY
    if n_digits == 0:
        return LABEL
    if n_letters <= len("September") and _is_year(text):
        return YEAR
    return NUMBER if n_digits > n_letters else LABEL


def _is_year(text: str) -> bool:
    if not _YEAR.search(text):
        return False
    groups = _DIGIT_GROUP.findall(text)
    years = [group for group in groups if _YEAR.fullmatch(group)]
    if not years or any(len(group) > 2 for group in groups if group not in years):
        return False
    return text.strip() in years or "\n" in text or not _is_amount(to_plain(text))


_SIGN = "(?:[A-Z]{0,2}[$]|[€£¥￥₩₹])"
_AMOUNT = re.compile(
    rf"(?![+].*\s)[-+(]?(?:{_SIGN}[{BLANKS}]?)?[-(]?(?!0[0-9])[0-9]*(?:[.][0-9]+)?\)?(?:[{BLANKS}]?(?:[%元]|{_SIGN}))?\)?"
)


def _is_amount(plain: str) -> bool:
    """Whether a text with the digits of a year is an amount for its sign, its decimals or its unit."""
    return (
        _AMOUNT.fullmatch(plain) is not None
        and plain.count("(") == plain.count(")")
        and sum(map(plain.count, "-+(")) <= 1
        and len(re.findall(f"[%元]|{_SIGN}", plain)) <= 1
    )


_UNIT = re.compile(
    rf"[(（\[].*[)）\]]|\w{{0,3}}\W?[%{_SIGNS}]\W?\w{{0,7}}|.{{1,3}}元|{_CODES}|"
    r"[kmμµ]?[glm]|cm|km|mm|ha|t|m[²³]|[km]?W|[kMG]Wh|°[CF]|Hz|[km]?Pa|min|ms"
)
_MAX_UNIT_CHARS = 16


def is_unit(text: str) -> bool:
    """Whether a text names a unit, or stands in brackets as units do.

    >>> [is_unit(text) for text in ("(kg)", "mm", "€m", "千元", "Price", "5%")]
    [True, True, True, True, False, False]
    """
    return len(text) <= _MAX_UNIT_CHARS and text_to_kind(text) != NUMBER and bool(_UNIT.fullmatch(text.strip()))


def read_number(text: str) -> tuple[float, float]:
    """Value of a number and the worth of its last digit; NaN and 1 for other texts.

    >>> [read_number(text) for text in ("(1,234)", "$ 12.50", "5 kg")]
    [(-1234.0, 1.0), (12.5, 0.01), (nan, 1.0)]
    """
    plain = text.strip()
    if not _DIGITS.fullmatch(plain):
        plain = plain.translate(_NO_MARKS)
        plain = f"-{plain[1:-1]}" if plain.startswith("(") and plain.endswith(")") else plain
        if not _DIGITS.fullmatch(plain):
            return np.nan, 1.0
    return float(plain), 10.0 ** -len(plain.partition(".")[2])


_DIGITS = re.compile(r"-?[0-9]{1,15}(\.[0-9]{1,15})?", re.ASCII)
_NO_MARKS = str.maketrans("\u2212\u2013", "--", f", \u00a0\u202f'{_SIGNS}%")

SIGNED = re.compile(rf"[{_SIGNS}]\s(?=[\d(])|(?<=\d)\s[%‰°]")
"""A sign apart from its number."""
ONE_NUMBER = re.compile(r"\d{1,4}|\d{1,3}(,\d{3})*(\.\d+)?%?")
"""Digits and marks that are one number for sure."""
TWO_NUMBERS = re.compile(rf",\d{{4}}|\.\d+,\d|[%)](?=[\d({_SIGNS}+-])")
"""Where digits and marks are more than one number."""
