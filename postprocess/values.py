"""Text -> typed value, as an accountant would type it into a spreadsheet.

A text becomes a number or a date only where one reading is possible, and its
number format shows it again as it was read. Everything else stays text:
leading zeros, long identifiers, phone numbers, versions, ranges, fractions,
notes behind a number, and dates such as 01/02/2026.

The OCR engine's own decimal and thousands marks decide how a program shows a
number, so 1.234,56 is shown as 1,234.56 by an English Excel.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date
from decimal import Decimal

MAX_DIGITS = 15
"""A spreadsheet stores 15 significant digits; a longer number would change."""

FIRST_DATE = date(1900, 3, 1)
"""Spreadsheets count a 29 February 1900 that never was; dates before it are off by one."""


@dataclass(frozen=True, slots=True)
class Value:
    """A value and how a spreadsheet shows it.

    Args:
        value: Number, date, or the text itself.
        number_format: Number format in the syntax of Excel: ``"General"`` for
            plain text, ``"@"`` for text that a spreadsheet would read as
            something else if it were typed again.
    """

    value: str | int | float | date
    number_format: str


def parse_value(text: str) -> Value:
    r"""Read one cell's text as a number, a percentage, an amount of money, a date, or text.

    Args:
        text: Content of a cell.

    Returns:
        The value; ``float`` where the text shows decimals or a percent sign.

    >>> parse_value("(1,234.50)")
    Value(value=-1234.5, number_format='#,##0.00;(#,##0.00)')
    >>> parse_value("12.5%")
    Value(value=0.125, number_format='0.0%')
    >>> parse_value("2026-01-02")
    Value(value=datetime.date(2026, 1, 2), number_format='yyyy\\-mm\\-dd')
    >>> parse_value("00123")
    Value(value='00123', number_format='@')
    """
    if "\n" not in text and _DIGIT.search(text):
        plain = text.translate(_TO_ASCII).strip()
        value = _parse_number(plain) or _parse_date(plain)
        if value is not None:
            return value
    return Value(text, "@" if _RETYPED.match(text) else "General")


_TO_ASCII = str.maketrans("０１２３４５６７８９（），．％＋－＄／\u2212\u2013", "0123456789(),.%+-$/--")

_DIGIT = re.compile("[0-9０-９]")
_RETYPED = re.compile(r"[\s'=+\-@0-9.,/(%$€£¥￥＝＋－＠０-９\u2212\u2013]")

_CURRENCY = "[A-Z]{0,2}[$]|[€£¥￥₩₹]"
_GAP = "[ \u00a0\u202f]?"
_GROUP_MARKS = " \u00a0\u2009\u202f'\u2019"

_NUMBER = re.compile(
    rf"(?P<head>[-+(]?(?:(?:{_CURRENCY}){_GAP})?[-(]?)"
    r"(?:(?P<plain>[0-9]*)(?P<plain_rest>[.][0-9]+)?"
    r"|(?P<comma>[0-9]{1,3}(?:,[0-9]{3})+)(?P<comma_rest>[.][0-9]+)?"
    rf"|(?P<space>[0-9]{{1,3}}(?P<mark>[{_GROUP_MARKS}])[0-9]{{3}}(?:(?P=mark)[0-9]{{3}})*)(?P<space_rest>[.,][0-9]+)?"
    r"|(?P<dot>[0-9]{1,3}(?:[.][0-9]{3})+)(?P<dot_rest>,[0-9]+))"
    rf"(?P<tail>\)?(?:{_GAP}(?:%|元|{_CURRENCY}))?\)?)"
)

_PHONE = re.compile(r"1[3-9][0-9]{9}|[+]([0-9]{8,}|.*[ \u00a0\u2009\u202f].*)")


def _parse_number(plain: str) -> Value | None:
    match = _NUMBER.fullmatch(plain)
    if match is None or _PHONE.fullmatch(plain):
        return None
    kind = next(kind for kind in ("comma", "space", "dot", "plain") if match[kind] is not None)
    head, whole, rest, tail = match["head"], match[kind], match[f"{kind}_rest"] or "", match["tail"]
    if not _is_clear(whole, rest) or not _is_balanced(head, tail):
        return None
    number = Decimal("".join(filter(str.isdigit, whole)) + "." + (rest[1:] or "0"))
    negative = "-" in head or "(" in head
    if negative and number == 0:
        return None  # a spreadsheet would show 0 without its sign
    percent = "%" in tail
    number = number / (-1 if negative else 1) / (100 if percent else 1)
    number_format = _number_format(head, _digits_format(kind, whole, len(rest[1:])), tail)
    return Value(float(number) if rest or percent else int(number), number_format)


def _is_clear(whole: str, rest: str) -> bool:
    if not whole + rest or (len(whole) > 1 and whole.startswith("0")):
        return False
    # 1.234,567 may be a misread 1,234,567.
    if rest.startswith(",") and len(rest) == 4:
        return False
    return sum(map(str.isdigit, whole + rest)) <= MAX_DIGITS


def _is_balanced(head: str, tail: str) -> bool:
    signs = sum(map(head.count, "-+("))
    units = len(re.findall(f"%|元|{_CURRENCY}", head + tail))
    return signs <= 1 and head.count("(") == tail.count(")") and units <= 1


def _digits_format(kind: str, whole: str, n_decimals: int) -> str:
    decimals = "." + "0" * n_decimals if n_decimals else ""
    if kind == "space":
        return "".join("0" if char.isdigit() else f"\\{char}" for char in whole) + decimals
    if kind == "plain":
        return ("0" if whole else "") + decimals
    return "#,##0" + decimals


def _number_format(head: str, digits: str, tail: str) -> str:
    signed = _quote(head) + digits + _quote(tail)
    unsigned = signed.translate(_NO_SIGN)
    if "+" in head:
        return f"{signed};-{unsigned}"
    return unsigned if signed in (unsigned, f"-{unsigned}") else f"{unsigned};{signed}"


_NO_SIGN = dict.fromkeys(map(ord, "-+()"))


def _quote(text: str) -> str:
    return re.sub("[^-+()% ]+", r'"\g<0>"', text)


_MONTHS = [
    *("January", "February", "March", "April", "May", "June", "July", "August"),
    *("September", "October", "November", "December"),
]
_MONTH = "|".join(_MONTHS + [month[:3] for month in _MONTHS])
_Y, _D = "(?P<y>(?:19|20|21)[0-9]{2})", "(?P<d>[0-9]{1,2})"

_DATES = {
    "{y}{sep}{m}{sep}{d}": re.compile(rf"{_Y}(?P<sep>[-/])(?P<m>[0-9]{{1,2}})(?P=sep){_D}"),
    '{y}"年"{m}"月"{d}"日"': re.compile(rf"{_Y}年(?P<m>[0-9]{{1,2}})月{_D}日"),
    "{d}{sep}{m}{sep}{y}": re.compile(rf"{_D}(?P<sep>[ -])(?P<m>{_MONTH})(?P=sep){_Y}"),
    "{m}\\ {d}\\,\\ {y}": re.compile(rf"(?P<m>{_MONTH}) {_D}, {_Y}"),
}


def _parse_date(plain: str) -> Value | None:
    for template, pattern in _DATES.items():
        if match := pattern.fullmatch(plain):
            return _match_to_date(match, template)
    return None


def _match_to_date(match: re.Match[str], template: str) -> Value | None:
    parts = match.groupdict()
    name = "" if parts["m"].isdigit() else parts["m"]
    month = next(i for i, full in enumerate(_MONTHS, 1) if full.startswith(name)) if name else int(parts["m"])
    try:
        value = date(int(parts["y"]), month, int(parts["d"]))
    except ValueError:
        return None
    if value < FIRST_DATE:
        return None
    code = ("mmm" if len(name) == 3 else "mmmm") if name else "m" * len(parts["m"])
    number_format = template.format(y="yyyy", m=code, d="d" * len(parts["d"]), sep="\\" + parts.get("sep", ""))
    # [$-409]: months by their English names, whatever the language of the spreadsheet.
    return Value(value, "[$-409]" * bool(name) + number_format)
