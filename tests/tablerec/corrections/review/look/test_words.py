"""Words in no cell: seen in the picture, and brought into a cell by mouse and by keys."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from postprocess.word import Word
from tablerec.corrections.editor import Correction, CorrectionFolder
from tablerec.corrections.review.desk import Desk
from tablerec.corrections.review.server import ReviewServer
from tablerec.result import Page
from tests.helpers.browsing import drag, expect_version, open_review, to_screen
from tests.helpers.review import make_page, make_table, serve

WORDS = {"left": (60, 4, 90, 14), "lost": (200, 4, 240, 14)}


@pytest.fixture
def spelled(tmp_path: Path) -> Iterator[ReviewServer]:
    """A page with two words above the table."""
    Image.fromarray(np.full((8, 8, 3), 7, np.uint8)).save(tmp_path / "scan.png")
    words = [Word(text, ((x0, y0), (x1, y0), (x1, y1), (x0, y1)), 0.9) for text, (x0, y0, x1, y1) in WORDS.items()]

    def read(source: str) -> Iterator[Page]:
        yield replace(make_page(make_table(), source=source), words=tuple(words))

    with serve(Desk([tmp_path / "scan.png"], tmp_path, CorrectionFolder(tmp_path / "corrections"), read)) as running:
        yield running


def middle(word: str) -> tuple[float, float]:
    x0, y0, x1, y1 = WORDS[word]
    return (x0 + x1) / 2, (y0 + y1) / 2


def middle_of(correction: Correction, row: int, col: int) -> tuple[float, float]:
    corners = correction.table[row, col].quad or ()
    return sum(x for x, _ in corners) / 4, sum(y for _, y in corners) / 4


def test_a_word_is_dragged_into_a_cell_of_the_picture_or_the_sheet(page: Any, spelled: ReviewServer) -> None:
    open_review(page, spelled)
    correction = spelled.desk.correction("scan_1_1")
    page.get_by_role("button", name="2 words not in any cell").wait_for()
    drag(page, to_screen(page, correction, *middle("left")), to_screen(page, correction, *middle_of(correction, 1, 1)))
    expect_version(page, correction, 1)
    assert "left" in correction.table[1, 1].text and "1.1" in correction.table[1, 1].text
    page.get_by_role("button", name="1 word not in any cell").wait_for()
    cell = page.locator('.sheet td[data-place="2,0"]').bounding_box()
    start, end = (
        to_screen(page, correction, *middle("lost")),
        (cell["x"] + cell["width"] / 2, cell["y"] + cell["height"] / 2),
    )
    page.mouse.move(*start)
    page.mouse.down()
    page.mouse.move(*end, steps=5)
    page.locator(".ghost", has_text="lost").wait_for()
    page.locator('.sheet td[data-place="2,0"][data-drop]').wait_for()
    page.mouse.up()
    expect_version(page, correction, 2)
    assert "lost" in correction.table[2, 0].text
    page.locator(".words-button").wait_for(state="hidden")
    assert page.locator(".ghost, [data-drop]").count() == 0
    page.keyboard.press("Control+z")
    page.get_by_role("button", name="1 word not in any cell").wait_for()


def test_a_word_that_is_let_go_beside_the_cells_stays_where_it_is(page: Any, spelled: ReviewServer) -> None:
    open_review(page, spelled)
    correction = spelled.desk.correction("scan_1_1")
    drag(page, to_screen(page, correction, *middle("left")), to_screen(page, correction, 330, 8))
    assert page.locator(".ghost, [data-drop]").count() == 0
    page.get_by_role("button", name="2 words not in any cell").wait_for()
    assert correction.version == 0


def test_words_are_placed_by_keys_alone(page: Any, spelled: ReviewServer) -> None:
    open_review(page, spelled)
    correction = spelled.desk.correction("scan_1_1")
    for key in ("ArrowDown", "ArrowRight", "Alt+w", "ArrowRight"):
        page.keyboard.press(key)
    assert page.evaluate("document.activeElement.textContent") == "lost"
    page.keyboard.press("Enter")
    expect_version(page, correction, 1)
    assert "lost" in correction.table[1, 1].text
    page.wait_for_function("() => document.activeElement.dataset.place === '1,1'")
    page.keyboard.press("Alt+w")
    page.keyboard.press("Escape")
    page.wait_for_function("() => document.activeElement.dataset.place === '1,1'")
    assert not page.locator(".words").is_visible()
