"""Raised and lowered signs by the pixels of a line; drawn lines stand for what a recogniser reads."""

from __future__ import annotations

from collections.abc import Sequence

import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from postprocess.arrays import Image
from tablerec.ocr.line import Line
from tablerec.ocr.raised import settle_raised

FONT = cv2.FONT_HERSHEY_SIMPLEX
BASE, RAISED, LOWERED = (1.0, 0), (0.6, -14), (0.6, 7)
"""Scale of the text, and how far below the line it stands, in pixels."""


def drawn(runs: Sequence[tuple[str, tuple[float, int]]], read: str | None = None) -> tuple[Image, Line]:
    """A crop, and the line that a recogniser with perfect places reads in it."""
    crop = np.full((60, 600, 3), 255, np.uint8)
    spans = []
    x = 10
    for text, (scale, below) in runs:
        for char in text:
            (width, _), _ = cv2.getTextSize(char, FONT, scale, 2)
            cv2.putText(crop, char, (x, 38 + below), FONT, scale, (0, 0, 0), 2, cv2.LINE_AA)
            spans.append((x, x + width))
            x += width + 2
    crop = crop[:, : x + 10]
    text = read or "".join(text for text, _ in runs)
    if len(text) != len(spans):
        spans = [spans[min(index, len(spans) - 1)] for index in range(len(text))]
    return crop, Line(text, 0.9, tuple((a / crop.shape[1], b / crop.shape[1]) for a, b in spans))


def settled(runs: Sequence[tuple[str, tuple[float, int]]], read: str | None = None) -> str:
    line = settle_raised(*drawn(runs, read))
    assert line.char_spans is not None and len(line.char_spans) == len(line.text)
    return line.text


def test_nothing_and_no_places() -> None:
    blank = np.full((20, 40, 3), 255, np.uint8)
    for line in (Line("", 0.0), Line("12", 0.9), Line("", 0.0, ()), Line("12", 0.9, ((0.0, 0.5), (0.5, 1.0)))):
        assert settle_raised(blank, line) is line


@pytest.mark.parametrize(
    ("plain", "raised", "expected"),
    [
        ("24.91", "2", "24.91²"),
        ("10", "-3", "10⁻³"),
        ("7", "1,2", "7¹,²"),
        ("41", "a", "41ᵃ"),
        ("Area m", "2", "Area m²"),
        ("1,250", "13", "1,250¹³"),
    ],
)
def test_raised_signs_that_were_read_as_plain(plain: str, raised: str, expected: str) -> None:
    """Footnote signs must not become digits of the value: 7¹,² was read as 71,2."""
    assert settled([(plain, BASE), (raised, RAISED)]) == expected


def test_a_sign_read_twice_is_kept_once() -> None:
    """A recogniser gives "³3" for one stroke."""
    assert settled([("10", BASE), ("-3", RAISED)], read="10-³3") == "10⁻³"


def test_signs_of_latex_that_are_not_drawn() -> None:
    assert settled([("10", BASE), ("4", RAISED)], read="10^4") == "10⁴"
    assert settled([("CO", BASE), ("2", LOWERED)], read="CO{2") == "CO₂"
    assert settled([("104", BASE)], read="10^4") == "10^4"
    assert settled([("10", BASE), ("^4", BASE)]) == "10^4"


def test_a_sign_read_as_raised_raises_its_neighbour() -> None:
    assert settled([("10", BASE), ("-3", RAISED)], read="10-³") == "10⁻³"


def test_a_minus_before_a_raised_digit_is_raised_even_where_strokes_do_not_pair() -> None:
    crop, line = drawn([("sr", BASE), ("-1", RAISED)], read="sr-¹")
    crop = crop.copy()
    crop[:, :] = 255
    assert settle_raised(crop, line).text == "sr⁻¹"


def test_feminine_sign_behind_a_digit_is_a_raised_letter() -> None:
    assert settled([("41", BASE), ("a", RAISED)], read="41ª") == "41ᵃ"


def test_masculine_sign_may_be_a_degree_and_stays() -> None:
    assert settled([("30", BASE), ("o", RAISED)], read="30º") == "30º"


def test_lowered_digits_behind_letters() -> None:
    assert settled([("H", BASE), ("2", LOWERED), ("O", BASE)]) == "H₂O"
    assert settled([("CO", BASE), ("2", LOWERED)]) == "CO₂"


def test_brackets_and_stars_may_follow() -> None:
    assert settled([("(m", BASE), ("2", RAISED), (")", BASE)]) == "(m²)"
    assert settled([("12", BASE), ("3", RAISED), (" x", BASE)]) == "12³ x"


@settings(max_examples=60, deadline=None)
@given(st.text(alphabet="0123456789.,-+()ABHabcmx ", min_size=1, max_size=12).map(str.strip).filter(bool))
def test_text_on_one_line_never_changes(text: str) -> None:
    assert settled([(text, BASE)]) == text


@settings(max_examples=40, deadline=None)
@given(st.text(alphabet="0123456789", min_size=1, max_size=5), st.text(alphabet="123456789", min_size=1, max_size=2))
def test_raised_digits_are_found_behind_any_number(number: str, raised: str) -> None:
    table = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")
    assert settled([(number, BASE), (raised, RAISED)]) == number + raised.translate(table)


def test_signs_alone_are_not_raised() -> None:
    """There is nothing beside them to tell their height by."""
    assert settled([("12", RAISED)]) == "12"


def test_strokes_that_do_not_pair_with_characters_change_nothing() -> None:
    crop, line = drawn([("25", BASE), ("2", RAISED)])
    cv2.line(crop, (10, 30), (60, 30), (0, 0, 0), 2)
    assert settle_raised(crop, line) is line
