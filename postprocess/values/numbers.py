"""Text -> the numbers it may be: sign, digits, and what stands beside them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal

from postprocess.values.chinese import numeral_to_int
from postprocess.values.conventions import CONVENTIONS, MARKS, Convention, digits_by_convention
from postprocess.values.formats import can_be_exact, digits_format, exact_format, quote, scaled_format, signed_format
from postprocess.values.script import BLANKS, RAISED_DIGITS, RAISED_LETTERS, digits_shape, lower_digits, to_plain
from postprocess.values.units import CURRENCY, LOOKALIKE, SCALE, SCALES, UNIT, same_currency, same_unit
from postprocess.values.value import MAX_DIGITS, Value, to_number


@dataclass(frozen=True, slots=True)
class Number:
    """One way to read a text as a number.

    Args:
        core: Its digits and the marks between them; empty where there is no doubt about them.
        values: What it is worth under each convention that allows it; None where it may be misread.
        currency: What `units.same_currency` returns, or nothing.
        unit: What `units.same_unit` returns, or nothing.
        note: Raised characters and signs behind it that refer to a note.
        is_power: Whether it is written with a power of ten.
    """

    core: str
    values: Mapping[Convention, Value | None]
    currency: str = ""
    unit: str = ""
    note: str = ""
    is_power: bool = False


def text_to_numbers(text: str) -> tuple[Number, ...]:
    """Read a text as a number: no way, one, or two where a raised digit is a note or an exponent.

    >>> [set(number.values.values()) for number in text_to_numbers("10²")]
    [{Value(value=10, number_format='0"²"')}, {Value(value=100, number_format='[=100]"10²";[<0]-0E+0;0E+0')}]
    """
    plain, shape = to_plain(text), digits_shape(text)
    if shape is None or _CODE.fullmatch(plain):
        return ()
    found = [read(plain, shape) for read in (_read_plain, _read_power, _read_numeral)]
    return tuple(number for number in found if number is not None and number.values)


_GAP = f"[{BLANKS}]?"
_BEFORE = rf"(?P<before>{CURRENCY}|{LOOKALIKE}(?={_GAP}[-(0-9]))|%"
_HEAD = rf"(?P<head>(?:[*†‡§¶]{{1,3}}{_GAP})?[-+]?(?:\({_GAP})?(?:(?:{_BEFORE}){_GAP})?[-+]?(?:\({_GAP})?)"
_RAISED = f"[{RAISED_DIGITS}{RAISED_LETTERS}]"
_NOTE = rf"(?P<note>{_GAP}(?:{_RAISED}|[*†‡§¶]|(?<={_RAISED})[,，]{_GAP}(?={_RAISED}))+)?"
_POWER = rf"(?:\^(?P<caret>[-+]?[0-9]{{1,3}})|(?P<raised>[⁺⁻]?[{RAISED_DIGITS}]{{1,3}}))"
_SCIENTIFIC = rf"(?:(?:{_GAP}[×xX*⋅·]{_GAP}10{_POWER})|[eE](?P<e>[-+]?[0-9]{{1,3}}))"
_SCALED = rf"(?P<scale>{SCALE})(?:(?P<scaled>{CURRENCY})|(?P<scaled_unit>{UNIT}))?"
_UNIT = rf"(?:%|(?P<behind>{CURRENCY})|(?P<unit>{UNIT})|{_SCALED})"
_TAIL = rf"(?P<tail>-?(?:{_GAP}\))?(?:{_GAP}{_UNIT})?(?:{_GAP}\))?-?)"
_CORE = rf"(?P<core>[0-9]+(?:[{MARKS}][0-9]+)*|[.,٫][0-9]+)"

_NUMBER = re.compile(f"{_HEAD}{_CORE}{_SCIENTIFIC}?{_TAIL}{_NOTE}")
_BARE_POWER = re.compile(f"(?P<sign>-?)10{_POWER}(?P<tail>{_GAP}(?P<unit>{UNIT}))?")
_NUMERAL = re.compile("(?P<sign>[-负負]?)(?P<numeral>[^-负負元圆]+)(?P<behind>元|圆)?整?")

_PHONE = rf"1[3-9][0-9]{{9}}|[+](?:[0-9]{{8,}}|[0-9]+(?:[{BLANKS}][0-9]+)+)"
_BYTE = "(?:25[0-5]|2[0-4][0-9]|1?[0-9]{1,2})"
_CODE = re.compile(rf"{_PHONE}|(?:{_BYTE}\.){{3}}{_BYTE}")
"""Numbers of telephones, and addresses of computers."""
_YEAR = re.compile("(?:19|20)[0-9]{2}")


def _read_plain(plain: str, shape: str) -> Number | None:
    match = _NUMBER.fullmatch(plain)
    if match is None or not _is_balanced(match):
        return None
    parts = _Parts(match, shape)
    digits = digits_by_convention(match["core"])
    if parts.exponent is not None:  # 1,234E-02 has no thousands
        digits = {each: found for each, found in digits.items() if set(match["core"]) <= {*"0123456789", each.decimal}}
    if parts.exponent is not None and match["e"] and not (match["e"][0] in "+-" or re.search("[.,]", match["core"])):
        return None  # 1e5 may be a code
    values = {each: parts.to_value(found, each) if found else None for each, found in digits.items()}
    return Number(
        match["core"],
        {} if digits and all(value is None for value in values.values()) else values,
        same_currency(match["before"] or match["behind"] or match["scaled"] or ""),
        same_unit(match["unit"] or match["scaled_unit"] or ""),
        match["note"] or "",
        parts.exponent is not None,
    )


def _is_balanced(match: re.Match[str]) -> bool:
    head, tail = match["head"], match["tail"]
    signs = head.count("-") + head.count("+") + head.count("(") + tail.count("-")
    names = sum(bool(match[name]) for name in ("before", "behind", "unit", "scale")) + (head + tail).count("%")
    # An open range such as "2019-" is no negative.
    is_open = "-" in tail and _YEAR.fullmatch(match["core"])
    return signs <= 1 and head.count("(") == tail.count(")") and names <= 1 and not is_open


class _Parts:
    """What stands around the digits of a number."""

    def __init__(self, match: re.Match[str], shape: str) -> None:
        self.match, self.shape = match, shape
        self.head, self.tail = match["head"], match["tail"] + (match["note"] or "")
        self.is_negative = "-" in self.head or "(" in self.head or "-" in match["tail"]
        self.is_percent = "%" in self.head + match["tail"]
        self.scale = SCALES[match["scale"]] if match["scale"] else 0
        self.written = match["caret"] or match["e"] or lower_digits(match["raised"] or "")
        self.exponent = int(self.written) if self.written else None
        self._values: dict[tuple[str, str], Value | None] = {}

    def to_value(self, digits: str, convention: Convention) -> Value | None:
        """The value of digits with a point before the decimals."""
        written = digits, digits_format(self.match["core"], convention, len(digits.partition(".")[2]))
        if written not in self._values:  # most conventions agree
            self._values[written] = self._to_value(*written)
        return self._values[written]

    def _to_value(self, digits: str, plain: str) -> Value | None:
        number = Decimal(digits).scaleb((self.exponent or 0) + self.scale - 2 * self.is_percent)
        number = -number if self.is_negative and number else number
        has_decimals = bool("." in digits or self.is_percent or self.exponent is not None) and not self.scale
        value = to_number(number, is_whole=not has_decimals)
        number_format = self._format(number, digits, plain)
        return None if value is None or number_format is None else Value(value, number_format)

    def _format(self, number: Decimal, digits: str, plain: str) -> str | None:
        if self.exponent is not None:
            return self._scientific(number, digits, f"{plain}E+{'0' * len(self.written.lstrip('+-'))}")
        if self.scale:
            n_decimals = len(digits.partition(".")[2])
            scaled = scaled_format(n_decimals, self.scale) if plain[0] == "0" and "\\" not in plain else None
            return self._signed(scaled, number) if scaled else self._exact(number)
        return self._signed(plain, number)

    def _scientific(self, number: Decimal, digits: str, plain: str) -> str | None:
        # A spreadsheet moves the point behind the first digit.
        is_normal = "1" <= digits[0] <= "9" and len(digits.partition(".")[0]) == 1
        return self._signed(plain, number) if is_normal else self._exact(number)

    def _signed(self, digits: str, number: Decimal) -> str:
        return signed_format(
            self.head, digits, self.tail, is_negative=self.is_negative, is_zero=not number, prefix=self.shape
        )

    def _exact(self, number: Decimal) -> str | None:
        return exact_format(number, self.match[0]) if can_be_exact(number) else None


def _read_power(plain: str, shape: str) -> Number | None:
    """10⁻³ and 10^4, which stand for themselves."""
    match = _BARE_POWER.fullmatch(plain)
    if match is None or shape:
        return None
    exponent = int(match["caret"] or lower_digits(match["raised"]))
    number = Decimal(f"{match['sign']}1").scaleb(exponent)
    value = to_number(number, is_whole=True)
    if value is None:
        return None
    tail = match["tail"] or ""
    number_format = exact_format(number, plain, "0E+0") if can_be_exact(number) else "0E+0" + quote(tail) * bool(tail)
    values = dict.fromkeys(CONVENTIONS, Value(value, number_format))
    return Number("", values, unit=same_unit(match["unit"] or ""), is_power=True)


def _read_numeral(plain: str, shape: str) -> Number | None:
    match = _NUMERAL.fullmatch(plain)
    number = numeral_to_int(match["numeral"]) if match else None
    if match is None or number is None or number >= 10**MAX_DIGITS:
        return None
    number = -number if match["sign"] else number
    values = dict.fromkeys(CONVENTIONS, Value(number, exact_format(Decimal(number), plain)))
    return Number("", values, match["behind"] or "")
