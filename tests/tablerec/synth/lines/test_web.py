from __future__ import annotations

from random import Random

from tablerec.models.characters import normalize_label, unknown_characters
from tablerec.synth.lines.signs import noted_text
from tablerec.synth.lines.web import _part_of, web_text

RAISED = frozenset("⁰¹²³⁴⁵⁶⁷⁸⁹ᵃᵇᶜᵈᵉᶠⁿ⁻⁺₀₁₂₃₄₅₆₇₈₉°*†‡§")


def test_texts_of_web_pages_are_short_and_of_known_characters() -> None:
    texts = [web_text(Random(seed)) for seed in range(600)]
    assert all(text == text.strip() and text for text in texts)
    assert all(not unknown_characters(normalize_label(text)) for text in texts)
    assert sum(any(char >= "\u4e00" for char in text) for text in texts) > 250, "Chinese"
    assert sum(text.isascii() for text in texts) > 80, "names, numbers and codes"


def test_what_alone_looks_like_something_else_is_never_alone() -> None:
    texts = {_part_of(Random(seed), "一、O型", 1) for seed in range(300)}
    assert not texts & set("一、O")
    assert _part_of(Random(0), "", 3) == ""


def test_most_noted_texts_have_raised_or_lowered_signs_and_some_the_same_on_the_line() -> None:
    texts = [noted_text(Random(seed)) for seed in range(600)]
    assert 0.7 < sum(bool(RAISED & set(text)) for text in texts) / len(texts) < 0.95
    assert {char for text in texts for char in text} >= RAISED
