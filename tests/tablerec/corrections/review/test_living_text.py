"""Words go where the lines say, and cells are read again, in the browser."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from postprocess.word import Word
from tablerec.corrections.editor import Correction
from tablerec.corrections.review.server import ReviewServer
from tests.helpers.browsing import expect_banner, open_review
from tests.helpers.review import make_read_desk, make_word, serve
from tests.helpers.sheets import choose, expect_texts, press, texts_shown


class FakeReader:
    """Reads one word, wherever it looks."""

    def read(self, image: Any) -> list[Word]:
        return [make_word("seen", 20, 20)]

    def read_quads(self, image: Any, quads: Any) -> list[Word]:
        return []


@pytest.fixture
def read_desk(tmp_path: Path) -> Iterator[ReviewServer]:
    with serve(make_read_desk(tmp_path, FakeReader())) as running:
        yield running


def grid(correction: Correction) -> list[list[str]]:
    return correction.table.to_grid()


def test_words_follow_a_line_that_is_drawn_moved_and_taken_out(page: Any, read_desk: ReviewServer) -> None:
    open_review(page, read_desk)
    correction = read_desk.desk.correction("scan_1_1")
    found = grid(correction)
    choose(page, 0, 0)
    press(page, "Alt+c", "Alt+Shift+ArrowLeft", "Alt+Shift+ArrowLeft")
    divided = [
        [*parts, *row[1:]]
        for parts, row in zip([["00.5", "km"], ["10.5", "km ab"], ["20.5", "km"]], found, strict=True)
    ]
    # The second row has a further word at the end of its first column.
    expect_texts(page, correction, divided)
    choose(page, 0, 1)
    page.keyboard.type("m")
    press(page, "Enter")
    divided[0][1] = "m"
    expect_texts(page, correction, divided)
    choose(page, 0, 0)
    press(page, "Shift+ArrowRight", "Alt+m")
    merged = [["00.5 m", *divided[0][2:]], *divided[1:]]
    page.wait_for_function("() => document.querySelector('.sheet td[data-place]').colSpan === 2")
    assert texts_shown(page) == merged
    page.reload()
    page.locator(".sheet td[data-place]").first.wait_for()
    assert texts_shown(page) == merged
    choose(page, 0, 0)
    press(page, "Control+z", "Control+z", "Control+z", "Control+z")
    expect_texts(page, correction, found)


def test_a_block_is_read_again_by_a_key_and_typed_texts_are_given_back(page: Any, read_desk: ReviewServer) -> None:
    open_review(page, read_desk)
    correction = read_desk.desk.correction("scan_1_1")
    found = grid(correction)
    choose(page, 1, 1)
    page.keyboard.type("typed")
    press(page, "Enter", "ArrowUp", "Alt+l")
    found[1][1] = "seen"
    expect_texts(page, correction, found)
    assert not correction.table[1, 1].typed


def test_a_table_that_changed_while_a_cell_was_read_is_not_read_into(page: Any, read_desk: ReviewServer) -> None:
    open_review(page, read_desk)
    correction = read_desk.desk.correction("scan_1_1")
    choose(page, 0, 0)
    correction.do({"do": "merge", "row": 0, "col": 0, "end_row": 1, "end_col": 2})
    press(page, "Alt+l")
    expect_banner(page, "another window")
