from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tablerec.models.characters import CHARACTERS, HAN, HAN_SIGN, LETTERS, TURNED, normalize_label, unknown_characters


def test_each_character_is_there_once_and_stays_as_it_is() -> None:
    assert len(set(CHARACTERS)) == len(CHARACTERS) == len(LETTERS) + 1 + len(HAN)
    assert CHARACTERS.startswith(LETTERS) and CHARACTERS.endswith(HAN)
    assert len(HAN) == 6763
    assert [char for char in CHARACTERS if char != " " and normalize_label(f"a{char}b") != f"a{char}b"] == []
    assert [char for char in CHARACTERS if unicodedata.category(char)[0] in "CM"] == []
    assert HAN_SIGN not in CHARACTERS and TURNED in CHARACTERS


@pytest.mark.parametrize("texts", [("ț", "ţ", "ş", "ș"), "-–—−", "☐☑☒✓✗", "¹1₁①", "×x·•", "µΩ°€", "，,", "الأ٤", "רש"])
def test_what_differs_in_look_is_told_apart(texts: str) -> None:
    written = [normalize_label(text) for text in texts]
    assert len(set(written)) == len(texts)
    assert unknown_characters("".join(written)) == ""


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("", ""),
        (" \t\n ", ""),
        ("１２．５％", "12.5%"),
        ("e\u0301", "é"),
        ("\ufb01x", "fix"),
        ("\u2160\u2163", "IIV"),
        ("\u2103", "°C"),
        ("שָׁלוֹם", "שלום"),
        ("مُحَمَّد", "محمد"),
        ("\ufefb", "لا"),
        ("عـــام", "عام"),
        ("5\u2009%", "5 %"),
        ("Costs ..... 12", "Costs … 12"),
        ("Costs . . . . .12", "Costs …12"),
        ("..", ".."),
    ],
)
def test_labels(text: str, label: str) -> None:
    assert normalize_label(text) == label


@given(st.text())
def test_a_label_is_its_own_label(text: str) -> None:
    label = normalize_label(text)
    assert normalize_label(label) == label


def test_unknown_characters_by_a_list_of_ones_own() -> None:
    assert unknown_characters("aba", "b") == "a"
    assert unknown_characters(HAN_SIGN) == HAN_SIGN
