"""Number formats in the syntax of Excel that show a number as it was read.

ECMA-376 part 1, 18.8.31. Sections are divided by semicolons: positive, negative, zero. The decimal mark of a format
is always a point, and ``#,##0`` groups thousands: the spreadsheet's own marks are shown for them.
"""

from __future__ import annotations

import re
from decimal import Decimal

from postprocess.values.conventions import Convention

MIN_EXACT, MAX_EXACT = Decimal("1E-9"), Decimal("1E+15")
"""A condition in a format holds numbers of these sizes."""


def digits_format(core: str, convention: Convention, n_decimals: int) -> str:
    r"""Format of digits with their marks, without sign.

    >>> digits_format("1,234.50", Convention(".", ","), 2), digits_format("12 345", Convention(",", " "), 0)
    ('#,##0.00', '00\\ 000')
    """
    whole = core[: -n_decimals - 1] if n_decimals else core
    decimals = "." + "0" * n_decimals if n_decimals else ""
    if not whole or whole.isdigit():
        return ("0" if whole else "") + decimals
    if convention.group in ",.٬" and _THOUSANDS.fullmatch(whole):
        return "#,##0" + decimals
    return "".join("0" if char.isdigit() else f"\\{char}" for char in whole) + decimals


_THOUSANDS = re.compile("[0-9]{1,3}([^0-9][0-9]{3})+")


def scaled_format(n_decimals: int, power: int) -> str | None:
    r"""Format that shows a number in units of a power of ten, such as ten thousands; None where there is none.

    A comma behind the digits divides by a thousand; the point is a character like any other.

    >>> scaled_format(1, 4), scaled_format(0, 6), scaled_format(0, 4)
    ('0\\.0,', '0,,', None)
    """
    commas, rest = divmod(power - n_decimals, 3)
    if rest or commas < 0:
        return None
    return "0" + ("\\." + "0" * n_decimals if n_decimals else "") + "," * commas


def exact_format(number: Decimal, shown: str, otherwise: str = "General") -> str:
    """Format that shows a text for one number and each other number plainly.

    >>> exact_format(Decimal(30000), "3万")
    '[=30000]"3万";[<0]-General;General'
    """
    return f"[={number:f}]{quote(shown)};[<0]-{otherwise};{otherwise}"


def can_be_exact(number: Decimal) -> bool:
    """Whether `exact_format` holds for a number.

    >>> can_be_exact(Decimal("0.001")), can_be_exact(Decimal("1E-30"))
    (True, False)
    """
    return MIN_EXACT <= abs(number) < MAX_EXACT


def signed_format(head: str, digits: str, tail: str, *, is_negative: bool, is_zero: bool, prefix: str = "") -> str:
    """Format of a number with what stands before and behind its digits.

    Args:
        head: Signs, parentheses and currency before the digits.
        digits: Format of the digits.
        tail: What follows them.
        is_negative: Whether the number has a minus or parentheses.
        is_zero: Whether it is zero: then its minus needs a section of its own.
        prefix: What each section begins with.

    >>> signed_format("(", "0.0", ")", is_negative=True, is_zero=False)
    '0.0;(0.0)'
    """
    signed = _quote_unsigned(head) + digits + _quote_unsigned(tail)
    unsigned = (_quote_unsigned(_without_sign(head)) + digits + _quote_unsigned(_without_sign(tail))).strip()
    sections = [unsigned]
    if "+" in head:
        sections = [signed, f"-{unsigned}"]
    elif is_negative and is_zero:
        sections = [unsigned, signed, signed]
    elif is_negative and signed != f"-{unsigned}":
        sections = [unsigned, signed]
    return ";".join(prefix + section for section in sections)


def quote(text: str) -> str:
    """A text as a format holds it.

    >>> quote("kg")
    '"kg"'
    """
    return f'"{text}"'


def _quote_unsigned(text: str) -> str:
    return re.sub("[^-+()% ]+", lambda match: quote(match[0]), text)


def _without_sign(text: str) -> str:
    return re.sub("[-+()]", "", text)
