"""Values as a spreadsheet shows them: by our own reading of number formats, and by LibreOffice."""

from __future__ import annotations

import csv
import re
import subprocess
from collections.abc import Sequence
from datetime import date
from decimal import ROUND_HALF_EVEN, Decimal
from pathlib import Path

from postprocess.values import Value

MONTHS = ["January", "February", "March", "April", "May", "June", "July"]
MONTHS += ["August", "September", "October", "November", "December"]
SHAPES = {"[$-2000401]": "٠١٢٣٤٥٦٧٨٩", "[$-3000429]": "۰۱۲۳۴۵۶۷۸۹"}

_WIDE, _NARROW = "０１２３４５６７８９（），．％＋－＄／\u2212\u2013", "0123456789(),.%+-$/--"
_DIGITS = re.compile(r"[#0](?:[#0,]|\\[^0#]0)*(?:[.]0+)?(?:E\+0+)?|[.]0+(?:E\+0+)?")


def without_marks(text: str) -> str:
    """A text in the digits of ASCII, without decimal and group marks: what each spreadsheet writes in its own way.

    >>> without_marks("（１２）"), without_marks("1.234,50 €"), without_marks("١٬٢٣٤٫٥")
    ('(12)', '123450 €', '12345')
    """
    plain = re.sub("[\u200b-\u200f]", "", text).translate(str.maketrans(_WIDE, _NARROW)).strip()
    for digits in SHAPES.values():
        plain = plain.translate(str.maketrans(digits + "٪", "0123456789%"))
    return re.sub(r"(?<=\d)[.,'’٫٬ \u00a0\u2007\u2009\u202f](?=\d)|^[.,](?=\d)|(?<=\D)[.,](?=\d)", "", plain)


def digits_of(text: str) -> str:
    """The digits of a text, a minus before them, and an ``E`` before an exponent: what no spreadsheet may change.

    >>> digits_of("(1,234.50)"), digits_of("١٢٫٥-"), digits_of("5.2×10⁻⁴")
    ('-123450', '-125', '52E-4')
    """
    plain = text.translate(str.maketrans(_WIDE, _NARROW)).strip()
    for digits in SHAPES.values():
        plain = plain.translate(str.maketrans(digits, "0123456789"))
    plain = re.sub("[×xX] ?10([⁻⁺]?)([⁰¹²³⁴⁵⁶⁷⁸⁹]+)", _lower, plain)
    plain = re.sub(r"[eE]\+?(-?)0*(?=\d)", r"E\1", plain)
    sign = "-" if re.match(r"^\W*[(-]|.*\d\s?\S*-$", plain) else ""
    return sign + re.sub(r"[^\dE-]|^[^\d]+|-$", "", plain)


def _lower(match: re.Match[str]) -> str:
    return f"E{'-' * (match[1] == '⁻')}" + match[2].translate(str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹", "0123456789"))


def show(value: Value) -> str:
    """Show a number or a date as Excel does; as much of ECMA-376 part 1, 18.8.31 as our formats use."""
    if isinstance(value.value, date):
        return _show_date(value.value, value.number_format)
    assert isinstance(value.value, int | float)
    number = Decimal(repr(value.value))
    section, is_signed = _section(value.number_format, number)
    shape = next((prefix for prefix in SHAPES if section.startswith(prefix)), "")
    section = section.removeprefix(shape)
    bare = re.sub(r'"[^"]*"', lambda match: "\0" * len(match[0]), section)
    number = abs(number) * (100 if "%" in bare else 1)
    if section == "General":
        shown = f"{number:f}"
    elif match := _DIGITS.search(bare):
        head, tail = section[: match.start()], section[match.end() :]
        shown = _literal(head) + _show_digits(number, section[match.start() : match.end()]) + _literal(tail)
    else:
        shown = _literal(section)
    shown = shown.translate(str.maketrans("0123456789", SHAPES[shape])) if shape else shown
    return "-" * is_signed + shown


def _section(number_format: str, number: Decimal) -> tuple[str, bool]:
    """The section of a format that shows a number, and whether the spreadsheet adds a minus."""
    sections = number_format.split(";")
    if match := re.match(r"\[=(-?[\d.]+)\]", sections[0]):
        if number == Decimal(match[1]):
            return sections[0][match.end() :], False
        return (sections[1].removeprefix("[<0]"), False) if number < 0 else (sections[2], False)
    if number < 0 and len(sections) > 1:
        return sections[1], False
    return sections[2 if number == 0 and len(sections) > 2 else 0], number < 0


def _show_digits(number: Decimal, digits: str) -> str:
    digits, _, exponent = digits.partition("E+")
    if exponent:
        power = number.adjusted() if number else 0
        mantissa = _show_digits(number.scaleb(-power), digits)
        return f"{mantissa}E{'-' if power < 0 else '+'}{abs(power):0{len(exponent)}}"
    thousands = len(digits) - len(digits.rstrip(","))
    digits = digits.rstrip(",")
    whole, _, rest = re.sub(r"(?<!\\)\.", "\0", digits).partition("\0")
    number = number.scaleb(-3 * thousands)
    fixed = number.quantize(Decimal(1).scaleb(-len(rest)), ROUND_HALF_EVEN)
    if "\\" not in whole:
        shown = f"{fixed:,f}" if "," in whole else f"{fixed:f}"
        return shown.removeprefix("0") if not whole else shown
    # Characters between the digits, counted from the right.
    left, _, decimals = f"{fixed:f}".partition(".")
    shown, places = "", re.findall(r"\\.|[0#]", whole)
    for place in reversed(places):
        shown = (place[1] if place[0] == "\\" else left[-1:] or "0") + shown
        left = left[:-1] if place[0] != "\\" else left
    return left + shown + (f".{decimals}" if decimals else "")


def _literal(text: str) -> str:
    return re.sub(r"\\(.)", r"\1", text.replace('"', ""))


def _show_date(day: date, number_format: str) -> str:
    name = MONTHS[day.month - 1]
    codes = {
        "yyyy": f"{day.year:04}",
        "yy": f"{day.year % 100:02}",
        "mmmm": name,
        "mmm": name[:3],
        "mm": f"{day.month:02}",
        "m": str(day.month),
        "dd": f"{day.day:02}",
        "d": str(day.day),
    }
    parts = re.findall(r'"[^"]*"|\\.|yyyy|yy|m+|d+', number_format.removeprefix("[$-409]"))
    return "".join(codes.get(part, _literal(part)) for part in parts)


CSV_FILTER = "csv:Text - txt - csv (StarCalc):44,34,76,1,,0,false,true,true,false,false,-1"
"""Comma, quotes, UTF-8, cells as shown, every sheet."""


def convert(soffice: str, folder: Path, files: Sequence[str], target: str, *options: str) -> None:
    """Convert files of a folder with LibreOffice; the new ones lie beside them where no option says otherwise."""
    profile = (folder / "profile").as_uri()
    command = [soffice, f"-env:UserInstallation={profile}", "--headless", "--convert-to", target, *options, *files]
    subprocess.run(command, cwd=folder, check=True, capture_output=True, timeout=600)


def read_csv(path: Path) -> list[list[str]]:
    """Rows of a CSV file."""
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.reader(file))
