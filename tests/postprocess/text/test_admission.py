"""Words as users and engines hand them in: what cannot be placed is named, what cannot be a word is refused."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from postprocess.errors import InputError
from postprocess.text.admission import BEYOND, LARGER, NO_PLACE, check_words, place_in_picture
from postprocess.word import UNREAD, Word
from tests.helpers.layouts import box_quad

SIZE = (100, 200)
SQUARE = box_quad(10, 10, 30, 20)
numbers = st.one_of(st.floats(), st.floats(-300, 300), st.sampled_from([0.0, 1e5, -1e7, 1e308, 5e-324]))
quads = st.tuples(*[st.tuples(numbers, numbers)] * 4)


def test_no_words() -> None:
    inside, others = place_in_picture(check_words([]), SIZE)
    assert (len(inside), others) == (0, [])


@given(st.lists(quads, max_size=8))
def test_each_word_is_in_the_picture_or_named_with_a_reason(places: list[Any]) -> None:
    words = check_words([Word(str(k), quad) for k, quad in enumerate(places)])
    inside, others = place_in_picture(words, SIZE)
    assert sorted([word.text for word in inside] + [each.word.text for each in others]) == sorted(
        map(str, range(len(places)))
    )
    assert all(each.reason in (NO_PLACE, LARGER, BEYOND) for each in others)
    assert np.isfinite(inside.quads).all()
    assert (np.abs(inside.quads) <= 3 * max(SIZE)).all()


@pytest.mark.parametrize(
    ("place", "reason"),
    [
        (box_quad(-1e5, 0, 1e5, 10), LARGER),
        (box_quad(0, -1e7, 5, 1e7), LARGER),
        (box_quad(500, 10, 520, 20), BEYOND),
        (box_quad(10, -40, 30, -20), BEYOND),
        (box_quad(10, math.nan, 30, 20), NO_PLACE),
        (box_quad(10, 10, math.inf, 20), NO_PLACE),
    ],
)
def test_a_word_off_the_picture_has_a_reason(place: Any, reason: str) -> None:
    inside, [other] = place_in_picture([Word("7", place), Word("8", SQUARE)], SIZE)
    assert [word.text for word in inside] == ["8"]
    assert (other.word.text, other.reason) == ("7", reason)


@pytest.mark.parametrize("place", [box_quad(-3, -3, 203, 103), box_quad(180, 90, 220, 104), box_quad(0, 0, 0, 0)])
def test_a_word_that_reaches_a_little_beyond_the_picture_stays(place: Any) -> None:
    inside, others = place_in_picture([Word("7", place)], SIZE)
    assert (list(inside), others) == ([Word("7", place)], [])


@given(st.floats(), st.text(max_size=5), st.lists(st.tuples(st.floats(), st.floats()), max_size=5))
def test_whatever_the_numbers_a_word_can_be_relied_on_afterwards(score: float, text: str, spans: Any) -> None:
    [word] = check_words([Word(text, SQUARE, score, tuple(spans))])
    assert 0 <= word.score <= 1
    assert all(math.isfinite(edge) for span in word.spans() for edge in span)
    json.dumps([word.score, word.char_spans], allow_nan=False)
    if not -1e-3 <= score <= 1 + 1e-3:
        assert "score" in word.doubt
    assert check_words([word]) == [word]


def test_a_sound_word_is_the_same_object() -> None:
    word = Word("ab", SQUARE, 0.5, ((0.0, 0.4), (0.5, 1.0)), "is faint")
    assert check_words([word])[0] is word


def test_what_was_changed_is_said_beside_what_was_doubted_before() -> None:
    [word] = check_words([Word("a\ud800", SQUARE, math.nan, ((math.nan, 1.0), (0.0, 1.0)), "is faint")])
    assert word.text == "a" + UNREAD
    assert (word.score, word.char_spans) == (0.0, None)
    assert word.doubt.startswith("is faint; has halves of characters; has the score nan")


def test_corners_may_be_given_as_an_array() -> None:
    [word] = check_words([Word("7", np.array(SQUARE))])  # type: ignore[arg-type]
    assert word == Word("7", SQUARE)


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("7", "word 2 is a str"),
        (Word(7, SQUARE), "has the text 7"),  # type: ignore[arg-type]
        (Word("7", None), "four corners"),  # type: ignore[arg-type]
        (Word("7", SQUARE[:3]), "four corners"),  # type: ignore[arg-type]
        (Word("7", ((0, 0), (1, 0), (1, 1), (0, "x"))), "four corners"),  # type: ignore[arg-type]
        (Word("7", ((0, 0), (1, 0), (1, 1), (0, 10**400))), "four corners"),
        (Word("7", SQUARE, None), "has the score None"),  # type: ignore[arg-type]
        (Word("7", SQUARE, 1.0, None, None), "has the doubt None"),  # type: ignore[arg-type]
    ],
)
def test_what_is_no_word_is_refused_by_its_number(word: Any, said: str) -> None:
    with pytest.raises(InputError, match=said):
        check_words([Word("1", SQUARE), word])
