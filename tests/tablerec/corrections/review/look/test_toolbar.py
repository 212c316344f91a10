"""The tools: signs with names in groups, and the hints for who is here for the first time."""

from __future__ import annotations

from typing import Any

import pytest

from tablerec.corrections.review.server import ReviewServer
from tests.helpers.browsing import expect_version, open_page, open_review

NAMES_SEEN = '[...document.querySelectorAll(".bar .tool .label")].filter((label) => label.clientWidth > 1).length'


@pytest.mark.parametrize(("width", "all_seen"), [(1900, True), (1280, False), (480, False)])
def test_every_tool_has_a_sign_and_a_name_whether_it_is_seen_or_not(
    page: Any, two_pictures: ReviewServer, width: int, all_seen: bool
) -> None:
    page.set_viewport_size({"width": width, "height": 900})
    open_review(page, two_pictures)
    tools = page.locator(".bar .tool")
    assert tools.count() >= 24
    assert page.locator(".bar .tool svg.icon path").count() >= tools.count()
    assert (page.evaluate(NAMES_SEEN) == tools.count()) == all_seen
    for group, names in {
        "Lines": ["Row line", "Column line", "Single border"],
        "Headers": ["Header rows", "Header columns"],
    }.items():
        for name in names:
            button = page.get_by_role("group", name=group, exact=True).get_by_role("button", name=name, exact=True)
            assert "(Alt+" in button.get_attribute("title")


def test_the_toolbar_is_one_stop_of_tab_and_arrows_go_through_it(page: Any, two_pictures: ReviewServer) -> None:
    open_review(page, two_pictures)
    stops = page.locator('.bar button[tabindex="0"]')
    assert stops.count() == 1
    stops.focus()
    first = page.evaluate("document.activeElement.dataset.tool")
    seen = []
    for key in ("ArrowRight", "ArrowRight", "ArrowLeft", "End", "ArrowRight"):
        page.keyboard.press(key)
        seen.append(page.evaluate("document.activeElement.dataset.tool"))
    assert seen[2] == seen[0] != seen[1] and seen[3] == "saveNext" and seen[4] == first
    assert stops.count() == 1


def test_a_tool_that_is_clicked_leaves_the_focus_to_the_cells(page: Any, two_pictures: ReviewServer) -> None:
    open_review(page, two_pictures)
    correction = two_pictures.desk.correction("scan_1_1")
    page.keyboard.press("Shift+ArrowRight")
    page.get_by_role("button", name="Merge", exact=True).click()
    expect_version(page, correction, 1)
    page.keyboard.type("123")
    page.keyboard.press("Enter")
    expect_version(page, correction, 2)
    assert correction.table[0, 0].text == "123"


def test_hints_are_shown_until_they_are_read_or_sent_away_for_good(browser: Any, two_pictures: ReviewServer) -> None:
    with open_page(browser) as page:
        open_review(page, two_pictures)
        hints = page.get_by_role("complementary", name="Getting started")
        hints.get_by_text("1 / 5").wait_for()
        for _ in range(4):
            hints.get_by_role("button", name="Next").click()
        hints.get_by_role("button", name="Done").click()
        hints.wait_for(state="hidden")
        assert page.evaluate("document.activeElement.dataset.place") == "0,0"
        page.reload()
        page.locator(".sheet td[data-place]").first.wait_for()
        assert not hints.is_visible()
    with open_page(browser) as page:
        open_review(page, two_pictures)
        hints = page.get_by_role("complementary", name="Getting started")
        hints.get_by_role("button", name="Don’t show again").click()
        page.reload()
        page.locator(".sheet td[data-place]").first.wait_for()
        assert not hints.is_visible()
