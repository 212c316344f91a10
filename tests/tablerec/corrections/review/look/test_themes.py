"""Light, dark and forced colours; what moves; and what those find who do not see the page."""

from __future__ import annotations

from typing import Any

import pytest

from tablerec.corrections.review.server import ReviewServer
from tests.helpers.browsing import open_page, open_review

GROUND = "() => getComputedStyle(document.querySelector('.tablerec-editor')).backgroundColor"


def brightness(color: str) -> float:
    """0 to 255 of ``rgb(r, g, b)``."""
    return sum(float(part) for part in color.partition("(")[2].rstrip(")").split(",")[:3]) / 3


def test_the_theme_is_that_of_the_system_until_one_is_chosen(browser: Any, two_pictures: ReviewServer) -> None:
    with open_page(browser, color_scheme="dark") as page:
        open_review(page, two_pictures)
        assert brightness(page.evaluate(GROUND)) < 60
        for theme, is_dark in (("light", False), ("dark", True), ("system", True), ("light", False)):
            page.get_by_role("button", name="Theme").click()
            page.locator(".status", has_text=f"Theme: {theme}.").wait_for()
            assert (brightness(page.evaluate(GROUND)) < 60) == is_dark
        page.reload()
        page.locator(".sheet td[data-place]").first.wait_for()
        assert brightness(page.evaluate(GROUND)) > 200
        assert brightness(page.evaluate("() => getComputedStyle(document.querySelector('nav')).backgroundColor")) > 200


def test_a_notebook_s_theme_is_followed(page: Any, two_pictures: ReviewServer) -> None:
    open_review(page, two_pictures)
    for value, is_dark in (("false", True), ("true", False)):
        page.evaluate("value => { document.body.dataset.jpThemeLight = value; }", value)
        assert (brightness(page.evaluate(GROUND)) < 60) == is_dark


def test_forced_colours_leave_what_is_chosen_to_be_seen(browser: Any, two_pictures: ReviewServer) -> None:
    with open_page(browser, forced_colors="active") as page:
        open_review(page, two_pictures)
        colors = """(all) => all.map((each) => getComputedStyle(document.querySelector(each)).backgroundColor)"""
        listed = ['#tables [aria-current="true"]', "#tables button:not([aria-current])"]
        cells = ['.sheet [aria-selected="true"]', '.sheet [aria-selected="false"]']
        current, other, chosen, left = page.evaluate(colors, listed + cells)
        assert current != other and chosen != left
        page.get_by_role("button", name="Single border").click()
        on, off = page.evaluate(colors, ['[data-tool="oneBorder"]', '[data-tool="rowLine"]'])
        assert on != off


@pytest.mark.parametrize("reduced", ["reduce", "no-preference"])
def test_nothing_moves_where_that_is_not_wanted(browser: Any, two_pictures: ReviewServer, reduced: str) -> None:
    with open_page(browser, reduced_motion=reduced) as page:
        open_review(page, two_pictures)
        seconds = page.evaluate("() => getComputedStyle(document.querySelector('.bar button')).transitionDuration")
        assert (seconds == "0s") == (reduced == "reduce")


STATES: dict[str, tuple[tuple[int, int], dict[str, Any]]] = {
    "light": ((1280, 800), {}),
    "dark": ((1280, 800), {"color_scheme": "dark"}),
    "wide": ((1900, 900), {"locale": "zh-CN"}),
    "narrow": ((480, 800), {"color_scheme": "dark", "locale": "zh-CN"}),
    "200 %": ((640, 400), {"device_scale_factor": 2}),
    "tabs": ((460, 500), {}),
    "forced": ((1280, 800), {"forced_colors": "active"}),
}


@pytest.mark.parametrize("state", STATES)
def test_the_page_is_accessible_in_every_look(browser: Any, two_pictures: ReviewServer, state: str) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    (width, height), options = STATES[state]

    def check(page: Any, what: str) -> None:
        found = axe.run(page)
        assert found.violations_count == 0, f"{what}\n{found.generate_report()}"

    with open_page(browser, bypass_csp=True, **options) as page:
        page.set_viewport_size({"width": width, "height": height})
        open_review(page, two_pictures)
        check(page, "at first use")
        page.locator(".hints button").last.click()
        page.keyboard.press("Alt+p")
        page.keyboard.press("Shift+F10")
        page.get_by_role("menu").wait_for()
        check(page, "magnifier and menu")
        page.keyboard.press("Escape")
        page.keyboard.press("Alt+t")
        page.locator("dialog.frame").wait_for()
        check(page, "frame")
