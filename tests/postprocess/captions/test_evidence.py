from __future__ import annotations

import pytest

from postprocess.captions.evidence import begins_caption, is_unit_line, may_belong, table_number
from postprocess.meaning.roles import is_note


@pytest.mark.parametrize("word", ["", "(", "Table", "Table no.", "Fig.", "Note", "-", "in", "注", "表"])
@pytest.mark.parametrize("blank", [" ", "\n"])
def test_long_blanks_take_no_time(word: str, blank: str) -> None:
    """The time once grew with the third power of the number of blanks: 3,000 took ten seconds."""
    text = word + 20_000 * blank
    assert table_number(text) is None
    assert not is_unit_line(text)
    assert not is_note(text)
    assert not begins_caption(text)
    assert isinstance(may_belong(text), bool)


@pytest.mark.parametrize(
    "text", ["Table 3", "Table  no. 3", "Table no.3", "Table:  3", "Table no. : 3", "  表 3", "Table No 3"]
)
def test_blanks_and_marks_between_the_word_and_the_number(text: str) -> None:
    assert table_number(text) == "3"


@pytest.mark.parametrize("text", ["Note 1: a", "Notes (a): b", "Note : c", "注 1、d", "注：e", "- = nil", "-  nil"])
def test_notes_with_and_without_a_mark(text: str) -> None:
    assert is_note(text)
