"""Raised and lowered signs: the tables against Unicode's own, and splitting as the inverse of joining."""

from __future__ import annotations

import unicodedata
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postprocess.raised import (
    SUBSCRIPTS,
    SUPERSCRIPTS,
    Position,
    from_runs,
    raised_runs,
    to_subscript,
    to_superscript,
)

SIGNS = "".join([*SUPERSCRIPTS, *SUPERSCRIPTS.values(), *SUBSCRIPTS.values()]) + ",./ -\u2013\n*ªº™表"


@pytest.mark.parametrize(("table", "tag"), [(SUPERSCRIPTS, "<super>"), (SUBSCRIPTS, "<sub>")])
def test_the_tables_are_those_of_unicode_and_no_two_signs_share_a_form(table: dict[str, str], tag: str) -> None:
    assert len(set(table.values())) == len(table)
    assert {raised: unicodedata.decomposition(raised) for raised in table.values()} == {
        raised: f"{tag} {ord(plain):04X}" for plain, raised in table.items()
    }


def test_nothing_is_nothing() -> None:
    assert to_superscript("") == to_subscript("") == from_runs([]) == ""
    assert raised_runs("") == []


@pytest.mark.parametrize("minus", "-\u2212\u2013")
def test_each_kind_of_minus_is_raised(minus: str) -> None:
    assert to_superscript(f"{minus}3") == "⁻³"
    assert to_subscript(f"{minus}3") == "₋₃"


@pytest.mark.parametrize("text", ["ª", "º", "™", "*", "q", "Q", "表", ","])
def test_signs_without_a_form_stay(text: str) -> None:
    assert to_superscript(text) == text
    assert raised_runs(text) == [(text, None)]


@pytest.mark.parametrize(
    ("text", "runs"),
    [
        ("24.91²", [("24.91", None), ("2", "sup")]),
        ("7¹,²", [("7", None), ("1,2", "sup")]),
        ("7¹, ²", [("7", None), ("1, 2", "sup")]),
        ("m³/s²", [("m", None), ("3", "sup"), ("/s", None), ("2", "sup")]),
        ("5.2×10⁻³", [("5.2×10", None), ("\u22123", "sup")]),
        ("SO₄²⁻", [("SO", None), ("4", "sub"), ("2\u2212", "sup")]),
        ("x²,\n³", [("x", None), ("2", "sup"), (",\n", None), ("3", "sup")]),
        ("², a", [("2", "sup"), (", a", None)]),
    ],
)
def test_runs(text: str, runs: list[tuple[str, Position | None]]) -> None:
    assert raised_runs(text) == runs


@given(st.text(st.one_of(st.sampled_from(SIGNS), st.characters())))
def test_joining_the_runs_gives_the_text(text: str) -> None:
    runs = raised_runs(text)
    assert from_runs(runs) == text
    assert all(run and not any(char in SUPERSCRIPTS.values() for char in run) for run, _ in runs)
    assert all(a[1] != b[1] for a, b in pairwise(runs))


@given(st.text(st.sampled_from(SIGNS)))
def test_what_is_raised_stays_raised(text: str) -> None:
    assert to_superscript(to_superscript(text)) == to_superscript(text)
    assert to_subscript(to_subscript(text)) == to_subscript(text)
