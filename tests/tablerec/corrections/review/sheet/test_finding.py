"""Texts are found and replaced."""

from __future__ import annotations

from typing import Any

from tablerec.corrections.editor import Correction
from tests.helpers.browsing import expect_status, expect_version
from tests.helpers.sheets import active, changed, expect_texts, press


def test_found_texts_are_counted_and_gone_through(page: Any, correction: Correction) -> None:
    press(page, "Control+f")
    assert page.evaluate("document.activeElement.type") == "search"
    page.keyboard.type(".1")
    found = []
    for key in ("Enter", "Enter", "Enter", "Enter", "Shift+Enter"):
        press(page, key)
        found.append(page.locator(".find .count").inner_text())
    assert found == ["1 of 3", "2 of 3", "3 of 3", "1 of 3", "3 of 3"]
    assert page.locator('.sheet [aria-selected="true"]').inner_text() == "2.1"
    press(page, "Escape")
    assert active(page) == "2,1" and page.locator(".find").is_hidden()


def test_one_is_replaced_and_then_the_next(page: Any, correction: Correction) -> None:
    press(page, "Control+h")
    page.get_by_label("Find", exact=True).fill("1")
    page.get_by_label("Replace with").fill("$&")  # nothing but a text
    press(page, "Enter", "Enter")
    expect_texts(page, correction, changed(r0c1="0.$&"))
    assert page.locator('.sheet [aria-selected="true"]').inner_text() == "1.0"
    press(page, "Enter", "Enter")
    expect_texts(page, correction, changed(r0c1="0.$&", r1c0="$&.0", r1c1="$&.$&"))


def test_all_are_replaced_in_one_step(page: Any, correction: Correction) -> None:
    press(page, "Control+h")
    page.get_by_label("Find", exact=True).fill(".")
    page.get_by_label("Replace with").fill(",")
    page.get_by_role("button", name="Replace all").click()
    expect_status(page, "Cells replaced: 9.")
    assert correction.version == 1 and correction.table.to_grid()[2] == ["2,0", "2,1", "2,2"]
    press(page, "Control+z")
    expect_version(page, correction, 2)
    expect_texts(page, correction, changed())


def test_nothing_is_found(page: Any, correction: Correction) -> None:
    press(page, "Control+h")
    page.get_by_label("Find", exact=True).fill("none such")
    for name in ("Replace all", "Replace"):
        page.get_by_role("button", name=name, exact=True).click()
        expect_status(page, "No cell contains this text")
        press(page, "Control+Home")
    assert correction.version == 0


def test_capitals_count_where_that_is_wanted(page: Any, correction: Correction) -> None:
    for text, key in (("Abc", "Tab"), ("abc", "Enter")):
        page.keyboard.type(text)
        press(page, key)
    press(page, "Control+f")
    page.keyboard.type("abc")
    press(page, "Enter")
    assert page.locator(".find .count").inner_text().endswith("of 2")
    page.get_by_label("Match case").check()
    page.get_by_label("Find", exact=True).press("Enter")
    assert page.locator(".find .count").inner_text() == "1 of 1"
