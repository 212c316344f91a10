"""Raised and lowered signs and hyphens by the pixels of a line; drawn lines stand for what a recogniser reads."""

from __future__ import annotations

from collections.abc import Sequence

import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from postprocess.arrays import Image
from tablerec.ocr.line import Line
from tablerec.ocr.signs import settle_hyphens, settle_raised

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


SMALL = [6, 8, 11, 16, 24]
"""Height of letters in small print and in large, in pixels."""


def hyphens(height: int, count: int, blank: bool = False, below: float = 0.6, length: float = 0.35) -> Image:
    """Hyphens side by side in print of this height, smoothed as when it is drawn at eight times its size."""
    scale, em = 8, 8 * height
    step = round(em * (2.2 * length if blank else 1.3 * length))
    crop = np.full((round(1.4 * em), step * count + em, 3), 255, np.uint8)
    y, thick = round(below * 1.4 * em), round(0.09 * em)
    for index in range(count):
        x = em // 2 + index * step
        crop[y : y + thick, x : x + round(length * em)] = 0
    size_wh = crop.shape[1] // scale, crop.shape[0] // scale
    return np.asarray(cv2.resize(crop, size_wh, interpolation=cv2.INTER_AREA), np.uint8)


@pytest.mark.parametrize("inverted", [False, True])
@pytest.mark.parametrize("count", [2, 3, 4])
@pytest.mark.parametrize("height", SMALL[1:])
def test_hyphens_are_as_many_as_their_strokes(height: int, count: int, inverted: bool) -> None:
    crop = hyphens(height, count)
    found = settle_hyphens(255 - crop if inverted else crop, Line("mm=", 0.36))
    assert found.text == count * "-" and found.score > 0.9
    assert found.char_spans is not None and len(found.char_spans) == count
    assert all(0 <= a < b <= 1 for a, b in found.char_spans)


@pytest.mark.parametrize("height", SMALL[1:])
def test_blanks_between_hyphens_stay(height: int) -> None:
    found = settle_hyphens(hyphens(height, 3, blank=True), Line("---", 0.9))
    assert found.text == "- - -" and found.char_spans is not None and len(found.char_spans) == 5


@pytest.mark.parametrize("height", SMALL)
@pytest.mark.parametrize(
    ("text", "kind"),
    [("-", {"count": 1}), ("===", {"count": 9})],
    ids=["one stroke", "a dashed rule"],
)
def test_other_flat_strokes_stay_as_they_were_read(text: str, kind: dict[str, float], height: int) -> None:
    line = Line(text, 0.9)
    assert settle_hyphens(hyphens(height, **kind), line) is line  # type: ignore[arg-type]


@pytest.mark.parametrize("height", SMALL[2:])
def test_long_dashes_are_no_hyphens(height: int) -> None:
    line = Line("——", 0.9)
    assert settle_hyphens(hyphens(height, 2, length=0.9), line) is line


def test_hyphens_that_were_read_keep_their_score() -> None:
    line = Line("--", 0.4)
    assert settle_hyphens(hyphens(16, 2), line) is line


@pytest.mark.parametrize("text", ["", " ", "...", "…", "·-"])
def test_where_nothing_was_read_or_dots_there_are_no_hyphens(text: str) -> None:
    line = Line(text, 0.9)
    assert settle_hyphens(hyphens(16, 3), line) is line


def test_two_strokes_above_each_other_and_letters_beside_hyphens_are_none() -> None:
    double = np.minimum(hyphens(16, 2), hyphens(16, 2, below=0.4))
    beside = hyphens(16, 3)
    beside[4:18, -6:-3] = 0
    for crop in (double, beside, np.zeros((0, 5, 3), np.uint8), np.full((9, 9, 3), 200, np.uint8)):
        line = Line("=", 0.9)
        assert settle_hyphens(crop, line) is line
