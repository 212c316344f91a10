from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postprocess.text.bidi import has_right_to_left, is_right_to_left, visual_to_logical
from postprocess.text.lines import words_to_text
from postprocess.word import Word

TEXTS = st.text("אבגדה אבג abc 0123456789 .,-/%() ابج", max_size=24)


def to_logical(seen, **options):
    return "".join(seen[index] for index in visual_to_logical(seen, **options))


def test_nothing_and_text_from_left_to_right_stay_as_they_are():
    assert visual_to_logical([]) == []
    assert to_logical("12 kg (net)") == "12 kg (net)"
    assert not has_right_to_left("") and not is_right_to_left("")


@pytest.mark.parametrize(
    ("seen", "read"),
    [
        ("ןופיש םחל", "לחם שיפון"),
        ("5% הניבג", "גבינה 5%"),
        ("14.90 ריחמ", "מחיר 14.90"),
        ("12/03/2026 ךיראת", "תאריך 12/03/2026"),
        ("םרג ABC 200", "ABC 200 גרם"),
    ],
)
def test_a_line_from_right_to_left_is_read_from_its_right_end(seen, read):
    assert to_logical(seen, in_right_to_left=True) == read


def test_a_word_from_right_to_left_within_a_line_from_left_to_right():
    assert to_logical("the price ריחמ!") == "the price מחיר!"


@given(TEXTS)
def test_reordering_neither_loses_nor_invents(seen):
    assert sorted(visual_to_logical(seen)) == list(range(len(seen)))


@given(TEXTS, st.booleans())
def test_shown_again_it_is_what_was_seen(text, in_right_to_left):
    """Many orders of reading may be shown in one way; the one that is found must be one of them."""
    bidi = pytest.importorskip("bidi")
    base = "R" if in_right_to_left or is_right_to_left(text) else "L"
    seen = bidi.get_display(text.strip(), base_dir=base)
    shown = bidi.get_display(to_logical(seen, in_right_to_left=base == "R"), base_dir=base)
    assert shown.translate(_FLAT) == seen.translate(_FLAT)


_FLAT = str.maketrans("()", "||")


def test_words_of_a_line_from_right_to_left_are_joined_from_the_right():
    words = [
        Word(text, ((x, 0), (x + 20, 0), (x + 20, 10), (x, 10)))
        for text, x in (("שיפון", 0), ("לחם", 30), ("12", 60), ("טרי", 90))
    ]
    assert words_to_text(words) == "טרי 12 לחם שיפון"
