"""Picture and sheet in windows of all sizes."""

from __future__ import annotations

from typing import Any

import pytest

from tablerec.corrections.review.server import ReviewServer
from tests.helpers.browsing import drag, expect_version, open_page, open_review

SMALLEST = 240
LAYOUT = "document.querySelector('.main').dataset.layout"
Box = dict[str, float]


def panes(page: Any) -> tuple[Box, Box]:
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    return page.locator(".picture-pane").bounding_box(), page.locator(".sheet-pane").bounding_box()


def test_the_splitter_is_dragged_and_keyed_and_remembered(page: Any, two_pictures: ReviewServer) -> None:
    open_review(page, two_pictures)
    splitter = page.get_by_role("separator", name="Divider between picture and sheet")
    bar, main = splitter.bounding_box(), page.locator(".main").bounding_box()
    assert bar["width"] >= 8 and bar["height"] == main["height"]
    assert splitter.get_attribute("aria-orientation") == "vertical"
    at = (bar["x"] + 5, bar["y"] + 200)
    drag(page, at, (at[0] + 100, at[1]))
    wide = panes(page)[0]["width"]
    assert wide == pytest.approx(bar["x"] - main["x"] + 100, abs=2)
    drag(page, (at[0] + 100, at[1]), (main["x"] + 3, at[1]))
    assert panes(page)[0]["width"] == pytest.approx(SMALLEST, abs=1)
    assert splitter.get_attribute("aria-valuenow") == splitter.get_attribute("aria-valuemin")
    splitter.focus()
    for key in ("Enter", "ArrowRight", "ArrowRight", "PageDown"):
        page.keyboard.press(key)
    assert panes(page)[0]["width"] == pytest.approx(0.64 * main["width"], abs=2)
    assert splitter.get_attribute("aria-valuenow") == "64"
    page.reload()
    page.locator(".sheet td[data-place]").first.wait_for()
    assert panes(page)[0]["width"] == pytest.approx(0.64 * main["width"], abs=2)
    # Above each other it stands elsewhere.
    page.keyboard.press("Alt+v")
    upper, lower = panes(page)
    assert upper["width"] == main["width"] and upper["y"] + upper["height"] < lower["y"]
    assert splitter.get_attribute("aria-orientation") == "horizontal" and splitter.bounding_box()["height"] >= 8
    page.reload()
    page.locator(".sheet td[data-place]").first.wait_for()
    assert page.evaluate(LAYOUT) == "above"
    page.get_by_role("button", name="Layout").click()
    assert page.evaluate(LAYOUT) == "side"


@pytest.mark.parametrize(("width", "height", "layout"), [(640, 400, "side"), (480, 800, "above"), (1280, 800, "side")])
def test_both_panes_can_be_used_in_small_windows_and_at_200_percent(
    browser: Any, two_pictures: ReviewServer, width: int, height: int, layout: str
) -> None:
    with open_page(browser, device_scale_factor=2) as page:
        page.add_init_script("localStorage.setItem('tablerec-hints', '\"read\"')")
        page.set_viewport_size({"width": width, "height": height})
        open_review(page, two_pictures)
        first, second = panes(page)
        assert page.evaluate(LAYOUT) == layout
        along = "width" if layout == "side" else "height"
        assert min(first[along], second[along]) >= SMALLEST - 1
        assert min(page.locator(each).bounding_box()["height"] for each in (".picture", ".sheet")) >= 120
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
        assert page.evaluate("document.documentElement.scrollHeight <= window.innerHeight")
        save = page.get_by_role("button", name="Save", exact=True).bounding_box()
        assert save["x"] >= 0 and save["x"] + save["width"] <= width


def test_where_there_is_no_room_for_both_they_stand_behind_tabs(page: Any, two_pictures: ReviewServer) -> None:
    page.set_viewport_size({"width": 460, "height": 500})
    open_review(page, two_pictures)
    correction = two_pictures.desk.correction("scan_1_1")
    assert page.evaluate(LAYOUT) == "tabs"
    picture, sheet = (page.get_by_role("tab", name=name, exact=True) for name in ("Picture", "Sheet"))
    assert sheet.get_attribute("aria-selected") == "true" and not page.locator(".picture").is_visible()
    picture.click()
    assert page.locator(".picture").bounding_box()["width"] > 2 * SMALLEST - 40
    page.keyboard.press("ArrowRight")  # the cells still have the focus, and who types sees what they type
    page.keyboard.type("7")
    assert sheet.get_attribute("aria-selected") == "true" and not page.locator(".picture").is_visible()
    page.keyboard.press("Enter")
    expect_version(page, correction, 1)
    assert correction.table[0, 1].text == "7"
    # What is done to the picture while it is not seen leaves it as it was.
    seen = page.locator(".picture img").evaluate("image => image.style.transform")
    for key in ("Alt+Equal", "Alt+z", "Alt+0", "ArrowDown"):
        page.keyboard.press(key)
    sheet.focus()
    page.keyboard.press("ArrowLeft")
    assert picture.get_attribute("aria-selected") == "true" and page.locator(".picture").is_visible()
    panes(page)
    assert page.locator(".picture img").evaluate("image => image.style.transform") == seen
    page.set_viewport_size({"width": 1280, "height": 800})
    page.wait_for_function("() => document.querySelector('.main').dataset.layout === 'side'")
    assert page.locator(".sheet").is_visible() and not page.get_by_role("tablist").is_visible()


def test_the_list_gives_way_in_a_narrow_window(page: Any, two_pictures: ReviewServer) -> None:
    page.set_viewport_size({"width": 480, "height": 800})
    open_review(page, two_pictures)
    button, listed = page.get_by_role("button", name="Tables"), page.locator("#list")
    assert not listed.is_visible() and button.get_attribute("aria-expanded") == "false"
    button.click()
    listed.wait_for()
    assert button.get_attribute("aria-expanded") == "true"
    assert page.evaluate("document.activeElement.dataset.name") == "scan_1_1"
    page.keyboard.press("Escape")
    listed.wait_for(state="hidden")
    button.press("Enter")
    listed.get_by_role("button", name="second_1_1").click()
    listed.wait_for(state="hidden")
    page.locator("#title", has_text="second_1_1").wait_for()
