"""Chinese numerals: everyday and financial ones."""

from __future__ import annotations

import re

_DIGITS = "零一二三四五六七八九"
_SAME = str.maketrans("〇○两兩壹贰貳叁參肆伍陆陸柒捌玖拾佰仟萬億負", "零零二二一二二三三四五六六七八九十百千万亿负")
_UNITS = {"十": 10, "百": 100, "千": 1000}
_SECTIONS = {"亿": 10**8, "万": 10**4}
_NUMERAL = re.compile(f"[{_DIGITS}十百千万亿]+")


def is_numeral(text: str) -> bool:
    """Whether a text consists of Chinese numerals, whether or not they make a number.

    >>> is_numeral("二〇二六"), is_numeral("一般"), is_numeral("")
    (True, False, False)
    """
    return _NUMERAL.fullmatch(text.translate(_SAME)) is not None


def numeral_to_int(text: str) -> int | None:
    """The number that a text of numerals writes out; None for digits alone, for words and for what is no number.

    >>> [numeral_to_int(text) for text in ("一千二百三十四", "壹仟", "十五", "两万零五十", "一", "二〇二六", "万一")]
    [1234, 1000, 15, 20050, None, None, None]
    """
    plain = text.translate(_SAME)
    if not _NUMERAL.fullmatch(plain) or not set(plain) & {*_UNITS, *_SECTIONS}:
        return None
    number = _parse(plain)
    return number if _bare(int_to_numeral(number)) == _bare(plain) else None


def _parse(plain: str) -> int:
    for mark, worth in _SECTIONS.items():
        if mark in plain:
            before, _, after = plain.rpartition(mark)
            return _parse(before) * worth + _parse(after)
    total = digit = 0
    for char in plain:
        if char in _UNITS:
            total, digit = total + (digit or 1) * _UNITS[char], 0
        else:
            digit = _DIGITS.index(char)
    return total + digit


def int_to_numeral(number: int) -> str:
    """Write an integer below 10**12 in everyday numerals.

    >>> int_to_numeral(10), int_to_numeral(20050), int_to_numeral(31)
    ('十', '二万零五十', '三十一')
    """
    for mark, worth in _SECTIONS.items():
        if number >= worth:
            high, low = divmod(number, worth)
            return int_to_numeral(high) + mark + (("零" if low < worth // 10 else "") + int_to_numeral(low)) * bool(low)
    text, gap = "", False
    for unit, worth in (("千", 1000), ("百", 100), ("十", 10), ("", 1)):
        digit = number // worth % 10
        text += (("零" if gap and text else "") + _DIGITS[digit] + unit) * bool(digit)
        gap = not digit
    return re.sub("^一十", "十", text) or _DIGITS[0]


def _bare(numeral: str) -> str:
    """Without the zeros, which are left out at will, and the one of ten."""
    return re.sub("一十|零", lambda match: "十" if match[0] != "零" else "", numeral)
