"""What is marked in the sheet and the list, for the eye and in names; title and notes around the cells."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from postprocess.table import Table
from tablerec.corrections.proof.finding import MESSAGES
from tablerec.corrections.review.server import ReviewServer
from tests.helpers.browsing import expect_version, open_page, open_review
from tests.helpers.review import make_desk, make_table, serve


@pytest.fixture
def doubted(tmp_path: Path) -> Iterator[ReviewServer]:
    """A table with a cell whose text is doubtful, one whose place is, and a header."""
    scores = {(1, 1): (0.3, 0.3, 0.9), (2, 2): (0.3, 0.99, 0.3)}  # all in all, read, found
    cells = []
    for cell in make_table().cells:
        sure, read, found = scores.get((cell.row, cell.col), (0.97, 0.99, 0.99))
        scored = replace(cell, confidence=sure, ocr_score=read, detector_score=found)
        cells.append(replace(scored, header="column") if cell.row == 0 else scored)
    with serve(make_desk(tmp_path, ["scan.png"], [replace(make_table(), cells=cells)])) as running:
        yield running


@pytest.mark.parametrize(("locale", "header"), [("en-US", "column header"), ("zh-CN", "列标题")])
def test_doubts_of_text_and_place_are_told_apart_by_mark_and_by_name(
    browser: Any, doubted: ReviewServer, locale: str, header: str
) -> None:
    text, place = (MESSAGES[kind][locale == "zh-CN"].partition("{0}")[0] for kind in ("score", "borders"))
    with open_page(browser, locale=locale) as page:
        open_review(page, doubted)
        read, stands, head = (page.locator(f'.sheet td[data-place="{each}"]') for each in ("1,1", "2,2", "0,0"))
        read.and_(page.locator(".doubt-text:not(.doubt-structure)")).wait_for()
        stands.and_(page.locator(".doubt-structure:not(.doubt-text)")).wait_for()
        page.locator(f'.sheet td[aria-label*="{text}"]').wait_for()
        for item, said in ((read, text), (stands, place), (head, header)):
            name = item.get_attribute("aria-label")
            assert name.startswith(item.inner_text()) and said in name
        assert page.locator('.sheet td[data-place="1,0"]').get_attribute("aria-label") is None
        looks = [each.evaluate("item => getComputedStyle(item).outlineStyle") for each in (read, stands)]
        assert looks == ["none", "dashed"]


def test_marks_go_once_the_table_is_saved_or_a_text_is_typed(page: Any, doubted: ReviewServer) -> None:
    open_review(page, doubted)
    marked = page.locator(".sheet .doubtful")
    assert marked.count() == 2
    page.keyboard.press("Alt+d")
    page.keyboard.type("1.1")
    page.keyboard.press("Enter")
    expect_version(page, doubted.desk.correction("scan_1_1"), 1)
    marked.nth(1).wait_for(state="detached")
    page.keyboard.press("Control+s")
    page.locator("#tables .done").wait_for()
    marked.first.wait_for(state="detached")


def test_a_page_without_a_table_stands_last_and_says_so(page: Any, tmp_path: Path) -> None:
    desk = make_desk(tmp_path, ["a.png", "b.png"])
    read = desk._read
    desk._read = lambda source: (
        replace(each, tables=() if "a.png" in source else each.tables) for each in read(source)
    )
    with serve(desk) as server:
        open_review(page, server)
        page.locator("#title", has_text="b_1_1").wait_for()
        items = page.locator("#tables button").all_inner_texts()
        assert items[0].startswith("b_1_1") and "50%" in items[0] and "3 × 3" in items[0]
        assert items[1].split("\n") == ["a_1", "no table found", "a.png"]
        page.locator("#tables button", has_text="a_1").click()
        page.locator(".status", has_text="No table was found on this page").wait_for()
        page.keyboard.press("Alt+r")
        page.locator("#tables button", has_text="2 × 1").wait_for()


def test_title_and_notes_are_seen_and_changed(page: Any, two_pictures: ReviewServer) -> None:
    open_review(page, two_pictures)
    correction = two_pictures.desk.correction("scan_1_1")

    def said() -> tuple[str, list[str]]:
        table: Table = correction.table
        return table.title.text if table.title else "", [note.text for note in table.notes]

    title, notes = (page.get_by_role("textbox", name=name) for name in ("Table title", "Table notes"))
    title.fill("Table 3. Yield")
    page.keyboard.press("Enter")
    expect_version(page, correction, 1)
    assert page.evaluate("document.activeElement.dataset.place") == "0,0"
    notes.fill("a first note")
    page.keyboard.press("Shift+Enter")
    page.keyboard.type("another")
    page.keyboard.press("Enter")
    expect_version(page, correction, 2)
    assert said() == ("Table 3. Yield", ["a first note", "another"])
    title.fill("wrong")
    page.keyboard.press("Escape")
    assert title.input_value() == "Table 3. Yield"
    page.keyboard.press("Control+z")
    expect_version(page, correction, 3)
    assert notes.input_value() == "" and said() == ("Table 3. Yield", [])
    # What is being typed is kept when another table is opened.
    title.fill("Table 4")
    page.locator("#tables button", has_text="second_1_1").click()
    page.locator("#title", has_text="second_1_1").wait_for()
    assert title.input_value() == "" and said()[0] == "Table 4"
