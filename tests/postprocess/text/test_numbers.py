from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from postprocess.text.numbers import (
    EMPTY,
    LABEL,
    NUMBER,
    YEAR,
    is_number,
    is_year,
    read_number,
    text_to_kind,
)


def test_no_text_is_nothing() -> None:
    assert (text_to_kind(""), is_number(""), is_year("")) == (EMPTY, False, False)
    assert np.isnan(read_number("")[0])


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        *[(text, EMPTY) for text in ("", " ", "-", "—", "…", "n/a", "N.A.", "*")],
        *[(text, LABEL) for text in ("Total", "Q1", "合计", "Top 10 countries")],
        *[(text, YEAR) for text in ("2017", "FY2017", "2016/17", "31 Dec 2017", "2017年", "2017-12-31")],
        *[(text, NUMBER) for text in ("1,234", "(5.2)", "12%", "12.5 (3.4)", "1-2", "2017.5", "2,017", "20171")],
        *[(text, NUMBER) for text in ("-5", "+5", "0", "１２")],
    ],
)
def test_kinds(text: str, kind: int) -> None:
    assert text_to_kind(text) == kind


@pytest.mark.parametrize(
    "text",
    [
        "1",
        "-1",
        "1,234.56",
        "(5.2)",
        "12%",
        "$5",
        "€ 1.234,00",
        "-",
        "—",
        "n/a",
        "N/A",
        "1 234 567",
        "5.2 ± 0.3",
        "12.5*",
    ],
)
def test_numbers(text: str) -> None:
    assert is_number(text)


@pytest.mark.parametrize("text", ["", " ", "a", "Total", "Q1 total", "A1", "12 Monkeys", "表 1", "-a", "2 of them all"])
def test_no_numbers(text: str) -> None:
    assert not is_number(text)


@example("1999")
@given(st.text("0129é年-/ ", max_size=5))
def test_a_year_is_a_number_of_the_kind_year(text: str) -> None:
    if is_year(text):
        assert is_number(text) and text_to_kind(text) == YEAR and not np.isnan(read_number(text)[0])


@given(st.integers(-(10**9), 10**9))
def test_every_integer_is_a_number(value: int) -> None:
    assert is_number(str(value)) and is_number(f"{value:,}") and is_number(f"{value / 100:.2f}%")


@pytest.mark.parametrize(
    ("text", "year"), [("1999", True), ("2026", True), ("1,999", False), ("199", False), ("3000", False)]
)
def test_years(text: str, year: bool) -> None:
    assert is_year(text) is year


@given(st.integers(-(10**9), 10**9), st.integers(0, 3))
def test_numbers_have_their_value_and_the_worth_of_their_last_digit(value: int, decimals: int) -> None:
    shown = value / 10**decimals
    number, step = read_number(f"{shown:,.{decimals}f}")
    assert number == pytest.approx(shown) and step == pytest.approx(10.0**-decimals)
