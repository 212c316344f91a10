"""What is refused is said in both languages."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from postprocess.editing.state import State
from tablerec.corrections.editor.operations import apply
from tablerec.corrections.history import History
from tablerec.corrections.refusals import CHINESE, error_to_dict, to_chinese
from tablerec.errors import TablerecError
from tests.helpers.review import make_table

ROOT = Path(__file__).parents[3]


def test_each_name_of_an_error_has_its_chinese() -> None:
    """And no other has."""
    used: set[str] = set()
    sources = [
        path for folder in ("postprocess/editing", "tablerec/corrections") for path in (ROOT / folder).rglob("*.py")
    ]
    for path in sources:
        source = path.read_text("utf-8")
        if path.name != "refusals.py":
            used |= set(re.findall(r'"([a-z]+(?:_[a-z]+)*)"', source))
            assert set(re.findall(r'\.named\(\s*"(\w+)"', source)) <= CHINESE.keys(), path
    assert CHINESE.keys() <= used


def test_an_error_without_a_name_stays_english() -> None:
    assert to_chinese(TablerecError("no")) is None and error_to_dict(TablerecError("no")) == {"error": "no"}


REFUSED = {
    "no_line": {"do": "move_line", "axis": "row", "line": 9, "offset": 1.0},
    "no_row_or_column": {"do": "divide", "axis": "col", "index": 9},
    "too_thin": {"do": "divide", "axis": "row", "index": 0, "fraction": 0.001},
    "no_block": {"do": "merge", "row": 0, "col": 0, "end_row": 9, "end_col": 1},
    "not_merged": {"do": "split", "row": 0, "col": 0},
    "does_not_fit": {"do": "set_texts", "row": 2, "col": 2, "texts": [["a"], ["b"]]},
    "headers_do_not_fit": {"do": "set_headers", "n_rows": 9, "n_cols": 0},
    "no_cell": {"do": "set_text", "row": 9, "col": 0, "text": ""},
    "nothing_to_find": {"do": "replace_all", "find": "", "text": "a"},
    "no_words": {"do": "reset_text", "row": 0, "col": 0, "end_row": 1, "end_col": 1},
    "word_is_placed": {"do": "place_word", "word": 9, "row": 0, "col": 0},
    "bad_step": {"do": "fly"},
    "bad_value": {"do": "set_text", "row": 0, "col": 0, "text": "x" * 20_000},
}


@pytest.mark.parametrize("reason", REFUSED)
def test_a_refused_step_says_why_in_chinese(reason: str) -> None:
    with pytest.raises(TablerecError) as caught:
        apply(History((State(make_table()),)), REFUSED[reason])
    chinese = to_chinese(caught.value)
    assert caught.value.reason == reason
    assert chinese and re.search("[\u4e00-\u9fff]", chinese) and not re.search(r"\{|\brow\b|\bcolumn\b", chinese)


def test_the_values_that_a_message_speaks_of_are_given() -> None:
    for reason, said in CHINESE.items():
        gaps = [int(gap) for gap in re.findall(r"\{(\d)\}", said)]
        assert said.format(*range(1 + max(gaps, default=0))), reason


def test_the_last_row_cannot_go() -> None:
    with pytest.raises(TablerecError) as caught:
        apply(History((State(make_table(1, 2)),)), {"do": "remove", "axis": "row", "index": 0})
    assert to_chinese(caught.value) == "这是唯一的一行，表格至少要有一行"
