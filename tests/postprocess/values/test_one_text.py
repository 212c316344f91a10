from __future__ import annotations

import re
from datetime import date
from decimal import Decimal

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from postprocess.values import FIRST_DATE, Value, parse_value
from tests.helpers.strategies import TEXTS
from tests.postprocess.values.spreadsheet import MONTHS, digits_of, show, without_marks

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
    "0,123": 0.123,
    "1,5": 1.5,
    "12,34": 12.34,
    "870,00 €": 870,
    "12,5 %": 0.125,
    "%12": 0.12,
    "1.234.567": 1234567,
    "1,23,456": 123456,
    "12,34,567.5": 1234567.5,
    "CHF 1’234.50": 1234.5,
    "5 kr": 5,
    "-0": 0,
    "(0.00)": 0,
    "1,234-": -1234,
    "( 5.2 )": -5.2,
    "12 kg": 12,
    "37 °C": 37,
    "12 m²": 12,
    "5‰": 5,
    "5*": 5,
    "* 5": 5,
    "24.91²": 24.91,
    "7¹,²": 7,
    "41ᵃ": 41,
    "5.2E+04": 52000,
    "-1.5e3": -1500,
    "10⁻³": 0.001,
    "٣": 3,
    "١٬٢٣٤٫٥": 1234.5,
    "۱۲٪": 0.12,
    "一千二百三十四": 1234,
    "壹仟元整": 1000,
    "1.5万": 15000,
    "3亿": 300000000,
    "-1.25亿元": -125000000,
    "\u200e-5": -5,
}
SHOWN_OTHERWISE = {"5.2×10⁴": "5.2E+4", "5.2 x 10^-4": "5.2E-4", "-1.5e3": "-1.5E+3"}
"""A spreadsheet has one way to write powers of ten."""
DATES = {
    "2026-01-02": "yyyy\\-mm\\-dd",
    "2026/1/2": "yyyy\\/m\\/d",
    "2026/01/02": "yyyy\\/mm\\/dd",
    "2026年1月2日": 'yyyy"年"m"月"d"日"',
    "２０２６年１月２日": 'yyyy"年"m"月"d"日"',
    "2 Jan 2026": "[$-409]d\\ mmm\\ yyyy",
    "2-Jan-26": "[$-409]d\\-mmm\\-yy",
    "2026.1.2": "yyyy\\.m\\.d",
    "2. Januar 2026": "[$-407]d\\.\\ mmmm\\ yyyy",
    "2 janvier 2026": "[$-40C]d\\ mmmm\\ yyyy",
    "2 de enero de 2026": '[$-C0A]d" de "mmmm" de "yyyy',
    "二〇二六年一月二日": '[DBNum1][$-804]yyyy"年"m"月"d"日"',
    "02-January-2026": "[$-409]dd\\-mmmm\\-yyyy",
    "Jan 2, 2026": "[$-409]mmm\\ d\\,\\ yyyy",
}
STAYS_TEXT = [
    *("", " ", "-", "–", "(", "()", "%", "$", "元", ".", ",", "a", "n/a", "NaN", "inf", "TRUE", "#N/A"),
    *("00123", "007", "00.5", "1e5", "2E3", "1_000", "0x1F", "1O0", "²", "１２３a", "١2"),
    *("12345678901234567", "1234567890.1234567", "13800138000", "+86 138 0013 8000", "+8613800138000", "010-12345678"),
    *("1.2.3", "192.168.100.200", "1.234", "1.234,567", "1 234,567", "1,2,3", "12,3,456", "1.23,456"),
    *("10²", "10³", "S 5", "1,234.50 Cr", "2019-", "2019年", "三月五日", "一", "二〇二六", "万一"),
    *("1-2", "3/4", "1–2", "2016/17", "2026-13-01", "2026-02-30", "2026-1/2", "01/02/2026", "1.2.2026", "2 JAN 2026"),
    *("1899-12-31", "1900-02-28", "2200-01-01", "Jan 2026", "2026年1月", "2-Jan-45", "12:30", "2×4"),
    *("5 a", "12.5 (3.4)", "<0.01", "5 ± 2", "5.2×104", "$5 kg", "(5", "5)", "(-5)", "-(5)", "--5", "+-5", "- 5"),
    *("12\n", "1\n2", "=1+1", "+A1", "@A1", "5.", "12%%", "1, 234", "1  234", "1 234 56", "12 34", "$5%", "$5€"),
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
    if "$-409" in value.number_format or value.number_format[:3] not in ("[$-", "[DB"):
        assert without_marks(show(value)) == without_marks(SHOWN_OTHERWISE.get(text, text))


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
        is_phone = re.fullmatch(r"1[3-9]\d{9}|[+](\d{8,}|\d+( \d+)+)", text)
        is_open = re.fullmatch(r"\D*\d{1,3}[.]\d{3}\D*", text)
        assert is_phone or is_open
    else:
        assert without_marks(show(value)) == without_marks(text)
        expected = Decimal(units) / 10**n_decimals / (100 if "%" in style else 1)
        assert value.value == pytest.approx(float(-expected if style[0] in "-(\u2212" else expected), rel=1e-15)


@given(st.dates(FIRST_DATE, date(2199, 12, 31)))
def test_every_date_shows_as_read(day: date) -> None:
    month = MONTHS[day.month - 1]
    for text in (day.isoformat(), f"{day.year}年{day.month}月{day.day}日", f"{day.day} {month} {day.year}"):
        value = parse_value(text)
        assert value.value == day
        assert show(value) == text


NEAR_NUMBERS = st.text("0123456789.,-+()%$€ /年月日", max_size=12) | st.text(
    "0123.,-'¹²ᵃ*万亿元kgm٣٫٬−e×⁻", max_size=10
)


@given(TEXTS | NEAR_NUMBERS)
def test_a_value_is_the_text_or_shows_as_it(text: str) -> None:
    value = parse_value(text)
    if isinstance(value.value, str):
        assert value.value == text
    else:
        assert digits_of(show(value)) == digits_of(text)
