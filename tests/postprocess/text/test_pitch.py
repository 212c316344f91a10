from __future__ import annotations

from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from postprocess.text.pitch import letter_pitch

WORDS = [
    "Rye bread",
    "Milk",
    "Butter",
    "Coffee beans",
    "Total",
    "Apples red",
    "Tea",
    "Dark chocolate",
    "Paper bag",
    "Croissant",
]


def test_few_words_say_nothing() -> None:
    for texts in ([], ["Butter"], ["Butter"] * 20, ["12,50"] * 20, ["表格名称"] * 20, [""] * 9):
        widths = np.array([10.0 * len(text) for text in texts])
        assert letter_pitch(widths, np.full(len(texts), 20.0), texts) is None


@settings(max_examples=50)
@given(st.floats(0.3, 1.5), st.floats(-0.3, 0.8), st.floats(0.01, 100), st.permutations(WORDS))
def test_the_pitch_of_equal_letters_is_found(pitch: float, loose: float, scale: float, texts: list[str]) -> None:
    widths = scale * np.array([pitch * len(text) + loose for text in texts])
    found = letter_pitch(widths, np.full(len(texts), scale), texts)
    assert found == pytest.approx(scale * pitch, abs=1e-5)


def test_a_word_in_letters_of_double_size_does_not_matter() -> None:
    texts = [*WORDS, "SUBTOTAL"]
    widths = np.array([12.0 * len(text) for text in WORDS] + [192.0])
    assert letter_pitch(widths, np.array([20.0] * len(WORDS) + [40.0]), texts) == pytest.approx(12)


def test_blanks_that_were_read_as_one_do_not_matter() -> None:
    widths = np.array([12.0 * len(text) for text in WORDS])
    widths[1] += 48
    assert letter_pitch(widths, np.full(len(WORDS), 20.0), WORDS) == pytest.approx(12)


def test_letters_of_their_own_widths_have_no_pitch() -> None:
    narrow, wide = set("ijlftr1 .,"), set("mwMWGODQ")
    found = 0
    for seed in range(50):
        random = Random(seed)
        texts = ["".join(random.choices("abcdefghijlmnoprstuwMWGODQ ", k=random.randint(4, 16))) for _ in range(20)]
        widths = [sum(4 if each in narrow else 14 if each in wide else 9 for each in text) for text in texts]
        found += letter_pitch(np.array(widths, float), np.full(20, 20.0), texts) is not None
    assert found == 0
