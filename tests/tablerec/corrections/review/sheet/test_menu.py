"""The menu of the sheet, by the mouse and by keys alone."""

from __future__ import annotations

from typing import Any

import pytest

from tablerec.corrections.editor import Correction
from tests.helpers.browsing import expect_version, open_page, open_review
from tests.helpers.sheets import active, changed, choose, chosen, expect_texts, press


def menu(page: Any) -> Any:
    return page.locator('.menu[role="menu"]')


def test_by_the_mouse(page: Any, correction: Correction) -> None:
    choose(page, 1, 1, button="right")
    assert chosen(page) == ["1,1"]
    menu(page).get_by_role("menuitem", name="Insert row above").click()
    expect_version(page, correction, 1)
    assert correction.table.to_grid()[1] == ["", "", ""] and menu(page).count() == 0
    page.keyboard.type("x")
    press(page, "Enter")
    expect_version(page, correction, 2)
    assert correction.table.to_grid()[1] == ["", "x", ""]
    page.locator('.handle[data-col="2"]').click(button="right")
    assert chosen(page) == [f"{row},2" for row in range(4)]
    menu(page).get_by_role("menuitem", name="Delete column").click()
    expect_version(page, correction, 3)
    assert correction.table.n_cols == 2


def test_a_click_within_what_is_chosen_leaves_it(page: Any, correction: Correction) -> None:
    press(page, "Shift+ArrowRight", "Shift+ArrowDown")
    choose(page, 1, 1, button="right")
    assert len(chosen(page)) == 4
    page.locator("#title").click()  # elsewhere
    assert menu(page).count() == 0
    choose(page, 1, 1, button="right")
    menu(page).get_by_role("menuitem", name="Clear").click()
    expect_texts(page, correction, changed(r0c0="", r0c1="", r1c0="", r1c1=""))


def test_by_keys_alone(page: Any, correction: Correction) -> None:
    choose(page, 1, 1)
    press(page, "Shift+F10")
    menu(page).wait_for()
    names = menu(page).get_by_role("menuitem").all_inner_texts()
    assert page.evaluate("document.activeElement.dataset.tool") == "cut" and len(names) > 15
    press(page, "ArrowUp")
    assert page.evaluate("document.activeElement.dataset.tool") == "section"
    press(page, "Home", "Escape")
    assert (menu(page).count(), active(page)) == (0, "1,1")
    press(page, "ContextMenu", "f", "f")  # the first with this letter, the next one
    assert page.evaluate("document.activeElement.dataset.tool") == "fillRight"
    press(page, "Enter")
    expect_texts(page, correction, changed(r1c1="1.0"))
    assert active(page) == "1,1"


def test_cut_copy_and_paste(page: Any, correction: Correction) -> None:
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    for place, name in (((0, 0), "Cut"), ((1, 1), "Paste"), ((1, 1), "Copy"), ((2, 2), "Paste")):
        choose(page, *place, button="right")
        menu(page).get_by_role("menuitem", name=name, exact=False).first.click()
        page.locator('.tablerec-editor[data-waiting="0"]').wait_for()
        page.wait_for_function("document.activeElement.dataset.place")
    page.locator('.sheet td[data-place="2,2"]', has_text="0.0").wait_for()
    expect_texts(page, correction, changed(r0c0="", r1c1="0.0", r2c2="0.0"))


def test_where_the_clipboard_may_not_be_read_the_key_is_named(page: Any, correction: Correction) -> None:
    page.evaluate("() => { navigator.clipboard.readText = () => Promise.reject(new Error('denied')); }")
    choose(page, 0, 0, button="right")
    menu(page).get_by_role("menuitem", name="Paste").click()
    page.locator(".status", has_text="press Ctrl+V").wait_for()


def test_it_is_accessible(browser: Any, two_pictures: Any) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright")
    with open_page(browser, bypass_csp=True, color_scheme="dark") as page:
        open_review(page, two_pictures)
        press(page, "Shift+F10")
        menu(page).wait_for()
        found = axe.Axe().run(page)
        assert found.violations_count == 0, found.generate_report()
        press(page, "Escape", "Control+h")
        page.keyboard.type("0.")
        press(page, "Enter")
        found = axe.Axe().run(page)
        assert found.violations_count == 0, found.generate_report()
