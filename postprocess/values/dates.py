"""Text -> the dates it may be."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import date
from typing import Literal

from postprocess.values.chinese import int_to_numeral, numeral_to_int
from postprocess.values.script import digits_shape, to_plain
from postprocess.values.value import FIRST_DATE, Value

Order = Literal["day-month", "month-day"]
"""Which of two numbers in a date comes first."""
ORDERS: tuple[Order, Order] = ("day-month", "month-day")


def text_to_dates(text: str) -> Mapping[Order, Value]:
    r"""Read a text as a date, in each order of day and month that gives one.

    >>> text_to_dates("2026-01-02")["month-day"]
    Value(value=datetime.date(2026, 1, 2), number_format='yyyy\\-mm\\-dd')
    >>> [value.value.month for value in text_to_dates("02/01/2026").values()], list(text_to_dates("31/01/2026"))
    ([1, 2], ['day-month'])
    """
    if digits_shape(text) != "":
        return {}
    plain = to_plain(text)
    if (clear := _read_clear(plain)) is not None:
        return dict.fromkeys(ORDERS, clear)
    return dict(_read_ordered(plain))


def is_ordered(text: str) -> bool:
    """Whether the order of day and month matters to a date.

    >>> is_ordered("02/01/2026"), is_ordered("2026-01-02")
    (True, False)
    """
    return _ORDERED.fullmatch(to_plain(text)) is not None


_Y, _D, _M = "(?P<y>(?:19|20|21)[0-9]{2})", "(?P<d>[0-9]{1,2})", "(?P<m>[0-9]{1,2})"
_ORDERED = re.compile(rf"(?P<first>[0-9]{{1,2}})(?P<sep>[./-])(?P<second>[0-9]{{1,2}})(?P=sep){_Y}")

_NUMERIC = {
    "{y}{sep}{m}{sep}{d}": re.compile(rf"{_Y}(?P<sep>[-/.]){_M}(?P=sep){_D}"),
    '{y}"年"{m}"月"{d}"日"': re.compile(rf"{_Y}年{_M}月{_D}日"),
    '{y}"년 "{m}"월 "{d}"일"': re.compile(rf"{_Y}년 {_M}월 {_D}일"),
}
_NUMERALS = re.compile("(?P<y>[〇一二三四五六七八九]{4})年(?P<m>[一二三十]{1,2})月(?P<d>[一二三四五六七八九十]{1,3})日")

_ENGLISH = "January February March April May June July August September October November December"
_GERMAN = "Januar Februar März April Mai Juni Juli August September Oktober November Dezember"
_FRENCH = "janvier février mars avril mai juin juillet août septembre octobre novembre décembre"
_SPANISH = "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre"
_SHORT = " ".join(month[:3] for month in _ENGLISH.split())


def _named(names: str, pattern: str) -> re.Pattern[str]:
    return re.compile(pattern.replace("NAME", f"(?P<m>{'|'.join(names.split())})"))


# [$-409]: months by their English names, whatever the language of the spreadsheet.
_NAMED = [
    (names, template, _named(names, pattern))
    for names, code in ((_ENGLISH, "mmmm"), (_SHORT, "mmm"))
    for template, pattern in (
        (f"[$-409]{{d}}{{sep}}{code}{{sep}}{{y}}", rf"{_D}(?P<sep>[ -])NAME(?P=sep){_Y}"),
        (f"[$-409]{{d}}\\-{code}\\-yy", rf"{_D}-NAME-(?P<yy>[0-9]{{2}})"),
        (f"[$-409]{code}\\ {{d}}\\,\\ {{y}}", rf"NAME {_D}, {_Y}"),
    )
] + [
    (_GERMAN, "[$-407]{d}\\.\\ mmmm\\ {y}", _named(_GERMAN, rf"{_D}\. NAME {_Y}")),
    (_FRENCH, "[$-40C]{d}\\ mmmm\\ {y}", _named(_FRENCH, rf"{_D} NAME {_Y}")),
    (_SPANISH, '[$-C0A]{d}" de "mmmm" de "{y}', _named(_SPANISH, rf"{_D} de NAME de {_Y}")),
]


def _read_clear(plain: str) -> Value | None:
    for template, pattern in _NUMERIC.items():
        if match := pattern.fullmatch(plain):
            parts = match.groupdict()
            sep = "\\" + parts.get("sep", "")
            number_format = template.format(y="yyyy", m="m" * len(parts["m"]), d="d" * len(parts["d"]), sep=sep)
            return _to_value(int(parts["y"]), int(parts["m"]), parts["d"], number_format)
    if match := _NUMERALS.fullmatch(plain):
        return _read_numerals(match)
    for names, template, pattern in _NAMED:
        if match := pattern.fullmatch(plain):
            parts = match.groupdict()
            year = int(parts["y"]) if "y" in parts else _two_digits_to_year(int(parts["yy"]))
            number_format = template.format(y="yyyy", d="d" * len(parts["d"]), sep="\\" + parts.get("sep", ""))
            return _to_value(year, names.split().index(parts["m"]) + 1, parts["d"], number_format)
    return None


def _read_numerals(match: re.Match[str]) -> Value | None:
    """二〇二六年三月五日, as the format of Chinese numerals shows it again."""
    year = int("".join(str("〇一二三四五六七八九".index(char)) for char in match["y"]))
    month, day = (_small(match[name]) for name in "md")
    is_same = (int_to_numeral(month), int_to_numeral(day)) == (match["m"], match["d"])
    return _to_value(year, month, str(day), '[DBNum1][$-804]yyyy"年"m"月"d"日"') if is_same else None


def _small(numeral: str) -> int:
    return numeral_to_int(numeral) or max("〇一二三四五六七八九".find(numeral), 0)


def _read_ordered(plain: str) -> Iterator[tuple[Order, Value]]:
    match = _ORDERED.fullmatch(plain)
    if match is None:
        return
    first, second, sep = match["first"], match["second"], "\\" + match["sep"]
    for order, (day, month), letters in (
        (ORDERS[0], (first, second), "dm"),
        (ORDERS[1], (second, first), "md"),
    ):
        codes = [letter * len(part) for letter, part in zip(letters, (first, second), strict=True)]
        value = _to_value(int(match["y"]), int(month), day, sep.join([*codes, "yyyy"]))
        if value is not None:
            yield order, value


def _two_digits_to_year(year: int) -> int:
    """Years that every program reads alike: 00 to 29 and 70 to 99; 0, which no date has, for others."""
    return 2000 + year if year < 30 else 1900 + year if year >= 70 else 0


def _to_value(year: int, month: int, day: str, number_format: str) -> Value | None:
    try:
        value = date(year, month, int(day))
    except ValueError:
        return None
    return Value(value, number_format) if value >= FIRST_DATE else None
