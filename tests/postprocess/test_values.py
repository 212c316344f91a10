from __future__ import annotations

import re
from datetime import date
from decimal import Decimal

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from postprocess.values import FIRST_DATE, Value, parse_value
from tests.helpers.strategies import TEXTS

NUMBERS = {
    "0": 0,
    "5": 5,
    "12.50": 12.5,
    ".5": 0.5,
    "1,234": 1234,
    "1,234,567.89": 1234567.89,
    "1 234 567": 1234567,
    "1\u00a0234\u00a0567": 1234567,
    "1\u2009234.5": 1234.5,
    "1\u202f234,5": 1234.5,
    "1'234.50": 1234.5,
    "1.234,56": 1234.56,
    "1.234.567,8": 1234567.8,
    "-5.2": -5.2,
    "\u22125": -5,
    "\u20135": -5,
    "(5.2)": -5.2,
    "（５．２）": -5.2,
    "１，２３４": 1234,
    "+5": 5,
    "12%": 0.12,
    "12.5 %": 0.125,
    "１２％": 0.12,
    "(12%)": -0.12,
    "+0.3%": 0.003,
    "$1,200.00": 1200,
    "-$5": -5,
    "$-5": -5,
    "($5.2)": -5.2,
    "$(5.2)": -5.2,
    "US$ 5": 5,
    "HK$1,000": 1000,
    "€5": 5,
    "5 €": 5,
    "1.234,56 €": 1234.56,
    "£0.99": 0.99,
    "¥100": 100,
    "￥1,200": 1200,
    "100元": 100,
}
DATES = {
    "2026-01-02": "yyyy\\-mm\\-dd",
    "2026/1/2": "yyyy\\/m\\/d",
    "2026/01/02": "yyyy\\/mm\\/dd",
    "2026年1月2日": 'yyyy"年"m"月"d"日"',
    "２０２６年１月２日": 'yyyy"年"m"月"d"日"',
    "2 Jan 2026": "[$-409]d\\ mmm\\ yyyy",
    "02-January-2026": "[$-409]dd\\-mmmm\\-yyyy",
    "Jan 2, 2026": "[$-409]mmm\\ d\\,\\ yyyy",
}
STAYS_TEXT = [
    *("", " ", "-", "–", "(", "()", "%", "$", "元", ".", ",", "a", "n/a", "NaN", "inf", "TRUE", "#N/A"),
    *("00123", "0,123", "007", "00.5", "1e5", "1_000", "0x1F", "1O0", "²", "１２３a", "٣"),
    *("12345678901234567", "1234567890.1234567", "13800138000", "+86 138 0013 8000", "+8613800138000", "010-12345678"),
    *("1.2.3", "192.168.100.200", "1.234.567", "1.234,567", "1 234,567", "1,5", "1,23,456", "12,34"),
    *("1-2", "3/4", "1–2", "2016/17", "2026-13-01", "2026-02-30", "2026-1/2", "01/02/2026", "1.2.2026", "2 JAN 2026"),
    *("1899-12-31", "1900-02-28", "2200-01-01", "Jan 2026", "2026年1月"),
    *("5*", "5 a", "12.5 (3.4)", "(5", "5)", "(-5)", "-(5)", "--5", "+-5", "- 5", "-0", "(0.00)", "$5%", "$5€"),
    *("12\n", "1\n2", "=1+1", "+A1", "@A1", "5.", "12%%", "1, 234", "1  234", "1 234 56", "12 34"),
]


@pytest.mark.parametrize(("text", "number"), NUMBERS.items())
def test_numbers(text: str, number: float) -> None:
    value = parse_value(text).value
    assert value == number
    assert isinstance(value, int | float)


@pytest.mark.parametrize("text", STAYS_TEXT)
def test_what_may_mean_something_else_stays_text(text: str) -> None:
    assert parse_value(text).value == text


@pytest.mark.parametrize(("text", "number_format"), DATES.items())
def test_dates(text: str, number_format: str) -> None:
    assert parse_value(text) == Value(date(2026, 1, 2), number_format)


def test_whole_numbers_are_integers_and_decimals_are_not() -> None:
    assert [type(parse_value(text).value) for text in ("12", "12.0", "1,234", "12%")] == [int, float, int, float]


def test_text_that_a_spreadsheet_would_reread_has_the_text_format() -> None:
    formats = {text: parse_value(text).number_format for text in ("Total", "", "00123", "1-2", "=1+1", "－5a")}
    assert formats == {"Total": "General", "": "General", "00123": "@", "1-2": "@", "=1+1": "@", "－5a": "@"}


def test_zeros_decimals_thousands_percent_and_dates() -> None:
    values = [parse_value(text).value for text in ("00123", "12.5", "1,234", "12%", "2026-01-02", "=1+1")]
    assert values == ["00123", 12.5, 1234, 0.12, date(2026, 1, 2), "=1+1"]


@pytest.mark.parametrize("text", [*NUMBERS, *DATES])
def test_what_is_written_shows_as_what_was_read(text: str) -> None:
    value = parse_value(text)
    assert show(value) == plain(text)


def test_a_column_of_two_decimals_keeps_them() -> None:
    assert [show(parse_value(text)) for text in ("12.50", "0.00", "1,000.10")] == ["12.50", "0.00", "1,000.10"]


WHOLE = st.integers(0, 10**12)
STYLES = st.sampled_from(["{}", "-{}", "({})", "{}%", "({}%)", "${}", "-${}", "{} €", "({}元)", "+{}", "\u2212￥{}"])


@given(WHOLE, st.integers(0, 3), st.sampled_from(["", ",", " ", "'"]), STYLES)
@example(13800138000, 0, "", "{}")
def test_every_way_to_write_a_number_shows_as_read(units: int, n_decimals: int, mark: str, style: str) -> None:
    digits = f"{Decimal(units) / 10**n_decimals:,.{n_decimals}f}".replace(",", mark)
    text = style.format(digits)
    value = parse_value(text)
    if isinstance(value.value, str):
        assert value.value == text
        is_zero, is_phone = units == 0, re.fullmatch(r"1[3-9]\d{9}|[+](\d{8,}|.* .*)", text)
        assert is_phone or (is_zero and style[0] in "-(\u2212")
    else:
        assert show(value) == plain(text)
        expected = Decimal(units) / 10**n_decimals / (100 if "%" in style else 1)
        assert value.value == pytest.approx(float(-expected if style[0] in "-(\u2212" else expected), rel=1e-15)


@given(st.dates(FIRST_DATE, date(2199, 12, 31)))
def test_every_date_shows_as_read(day: date) -> None:
    month = MONTHS[day.month - 1]
    for text in (day.isoformat(), f"{day.year}年{day.month}月{day.day}日", f"{day.day} {month} {day.year}"):
        value = parse_value(text)
        assert value.value == day
        assert show(value) == text


@given(TEXTS | st.text("0123456789.,-+()%$€ /年月日", max_size=12))
def test_a_value_is_the_text_or_shows_as_it(text: str) -> None:
    value = parse_value(text)
    assert value.value == text if isinstance(value.value, str) else show(value) == plain(text)


MONTHS = ["January", "February", "March", "April", "May", "June", "July"]
MONTHS += ["August", "September", "October", "November", "December"]


def plain(text: str) -> str:
    """Return the text with a spreadsheet's digits, minus, decimal and thousands marks in place of its own."""
    wide, narrow = "０１２３４５６７８９（），．％＋－＄／\u2212\u2013", "0123456789(),.%+-$/--"
    shown = text.translate(str.maketrans(wide, narrow)).strip()
    if re.search(r"[.]\d{3}[.,].*,|[.]\d{3},\d", shown):  # 1.234,56
        shown = shown.translate(str.maketrans(".,", ",."))
    return re.sub(r"(?<=\d),(?=\d+(\D|$))(?!\d{3}(\D|$))", ".", shown)  # 1 234,5


def show(value: Value) -> str:
    """Show a value as Excel does; as much of ECMA-376 part 1, 18.8.31 as our formats use."""
    if isinstance(value.value, date):
        return show_date(value.value, value.number_format)
    assert isinstance(value.value, int | float)
    sections = value.number_format.split(";")
    number = value.value * 100 if "%" in re.sub(r'"[^"]*"', "", sections[0]) else value.value
    section, sign = (sections[1], "") if number < 0 and len(sections) > 1 else (sections[0], "-" if number < 0 else "")
    match = re.search(r"[#0](?:[#0,]|\\[^0#]0)*(?:[.]0+)?|[.]0+", section)
    assert match is not None
    head, tail = section[: match.start()], section[match.end() :]
    return sign + literal(head) + show_digits(abs(number), match[0]) + literal(tail)


def show_digits(number: float, digits: str) -> str:
    n_decimals = len(digits.partition(".")[2])
    shown = f"{number:,.{n_decimals}f}" if "," in digits else f"{number:.{n_decimals}f}"
    marks = re.findall(r"\\(.)", digits)
    if marks:
        shown = f"{number:,.{n_decimals}f}".replace(",", marks[0])
        assert len(marks) == shown.count(marks[0])
    return shown.removeprefix("0") if digits.startswith(".") else shown


def literal(text: str) -> str:
    return re.sub(r"\\(.)", r"\1", text.replace('"', ""))


def show_date(day: date, number_format: str) -> str:
    name = MONTHS[day.month - 1]
    codes = {
        "yyyy": f"{day.year:04}",
        "mmmm": name,
        "mmm": name[:3],
        "mm": f"{day.month:02}",
        "m": str(day.month),
        "dd": f"{day.day:02}",
        "d": str(day.day),
    }
    parts = re.findall(r'"[^"]*"|\\.|yyyy|m+|d+', number_format.removeprefix("[$-409]"))
    return "".join(codes.get(part, literal(part)) for part in parts)
