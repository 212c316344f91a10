"""A value and how a spreadsheet shows it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date
from decimal import Decimal

MAX_DIGITS = 15
"""A spreadsheet stores 15 significant digits; a longer number would change."""

MAX_EXPONENT = 300
"""Powers of ten beyond this are no numbers of a spreadsheet."""

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

    @property
    def is_text(self) -> bool:
        """Whether it is neither a number nor a date."""
        return isinstance(self.value, str)


def text_to_value(text: str) -> Value:
    """The text as itself.

    >>> text_to_value("Total"), text_to_value("00123")
    (Value(value='Total', number_format='General'), Value(value='00123', number_format='@'))
    """
    return Value(text, "@" if _RETYPED.match(text) else "General")


_RETYPED = re.compile(r"[\s'=+\-@0-9.,/(%$€£¥￥＝＋－＠０-９\u2212\u2013]")


def to_number(number: Decimal, *, is_whole: bool) -> int | float | None:
    """The number as a spreadsheet holds it; None where its digits would change.

    Args:
        number: Any number.
        is_whole: Whether it is an integer where it can be one.

    >>> to_number(Decimal("12.50"), is_whole=False), to_number(Decimal("1E+4"), is_whole=True)
    (12.5, 10000)
    >>> to_number(Decimal("0.12345678901234567890"), is_whole=False)
    """
    if not -MAX_EXPONENT < number.adjusted() < MAX_EXPONENT:
        return None
    if is_whole and number == number.to_integral_value():
        return int(number)
    return float(number) if Decimal(repr(float(number))) == number else None
