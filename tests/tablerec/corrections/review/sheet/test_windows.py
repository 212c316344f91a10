"""Two windows that show the same table."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tablerec.corrections.editor import Correction
from tablerec.corrections.review.server import ReviewServer
from tests.helpers.browsing import expect_banner, expect_status, open_page, open_review
from tests.helpers.sheets import changed, choose, expect_texts, press, texts_shown


@pytest.fixture
def other(browser: Any, two_pictures: ReviewServer, correction: Correction) -> Iterator[Any]:
    """Another browser, so that nothing but the server tells it of the first."""
    with open_page(browser) as opened:
        open_review(opened, two_pictures)
        yield opened


def test_a_window_of_the_same_browser_shows_what_is_typed_in_the_other(page: Any, correction: Correction) -> None:
    second = page.context.new_page()
    second.goto(page.url)
    second.locator(".sheet td[data-place]").first.wait_for()
    page.keyboard.type("from the first")
    press(page, "Enter")
    second.locator('.sheet td.other[data-place="0,0"]', has_text="from the first").wait_for()
    expect_status(second, "Cells changed in another window: 1.")
    choose(second, 2, 2)
    second.keyboard.type("from the second")
    press(second, "Enter")
    expect_texts(second, correction, changed(r0c0="from the first", r2c2="from the second"))
    page.locator('.sheet td.other[data-place="2,2"]', has_text="from the second").wait_for()


def test_texts_of_both_are_kept_and_what_the_other_wrote_is_marked(
    page: Any, other: Any, correction: Correction
) -> None:
    page.keyboard.type("first")
    press(page, "Enter")
    expect_texts(page, correction, changed(r0c0="first"))
    choose(other, 1, 1)
    other.keyboard.type("second")
    press(other, "Enter")
    expect_texts(other, correction, changed(r0c0="first", r1c1="second"))
    assert other.locator(".sheet td.other").inner_text() == "first"
    expect_status(other, "Cells changed in another window: 1.")
    press(other, "F2", "Enter")  # the next step: it is known by now
    other.locator(".sheet:not(:has(td.other))").wait_for()


def test_who_comes_later_to_a_cell_keeps_the_text_in_a_banner(page: Any, other: Any, correction: Correction) -> None:
    """It was thrown away once."""
    page.keyboard.type("first")
    press(page, "Enter")
    expect_texts(page, correction, changed(r0c0="first"))
    other.keyboard.type("second")
    press(other, "Enter")
    expect_banner(other, "another window")
    assert other.locator(".banner q").inner_text() == "second"
    assert texts_shown(other)[0][0] == "first" and other.locator(".sheet td.other").inner_text() == "first"
    other.get_by_role("button", name="Retry", exact=True).click()
    expect_texts(other, correction, changed(r0c0="second"))
    assert other.locator(".banner").count() == 0


def test_a_text_that_is_being_typed_does_not_go_into_another_cell(
    page: Any, other: Any, correction: Correction
) -> None:
    choose(other, 1, 0)
    other.keyboard.type("for 1.0")
    press(page, "Alt+i")  # a row comes before it
    page.locator('.tablerec-editor[data-version="1"]').wait_for()
    press(other, "Enter")
    expect_banner(other, "another window")
    assert other.locator(".banner q").inner_text() == "for 1.0"
    assert correction.table.to_grid() == [["", "", ""], *changed()] == texts_shown(other)
