"""Typing into cells, as in spreadsheets."""

from __future__ import annotations

from typing import Any

import pytest

from tablerec.corrections.editor import Correction
from tests.helpers.browsing import expect_version
from tests.helpers.sheets import active, changed, choose, chosen, expect_texts, press, texts_shown


def test_tab_runs_on_and_enter_comes_back_to_where_it_began(page: Any, correction: Correction) -> None:
    """The second Tab once left the table, and what was typed then was lost."""
    press(page, "ArrowRight")
    for text, key in (("a", "Tab"), ("b", "Enter"), ("c", "Tab"), ("d", "Tab"), ("e", "Shift+Tab")):
        page.keyboard.type(text)
        press(page, key)
    expect_texts(page, correction, changed(r0c1="a", r0c2="b", r1c1="c", r1c2="d", r2c0="e"))
    assert active(page) == "1,2"


def test_tab_leaves_the_table_at_its_ends_and_after_escape(page: Any, correction: Correction) -> None:
    press(page, *["Tab"] * 8)
    assert active(page) == "2,2"
    press(page, "Tab")
    assert not page.evaluate("document.querySelector('.sheet').contains(document.activeElement)")
    press(page, "Shift+Tab")
    assert active(page) == "2,2"
    press(page, "Home", "Control+Home", "Escape", "Tab")
    assert not page.evaluate("document.querySelector('.sheet').contains(document.activeElement)")


def test_arrows_keep_what_was_typed_anew_and_move_in_what_was_opened(page: Any, correction: Correction) -> None:
    page.keyboard.type("new")
    press(page, "ArrowDown")
    assert active(page) == "1,0"
    press(page, "F2", "Home", "ArrowRight")
    page.keyboard.type("x")
    press(page, "ArrowRight", "ArrowRight")
    page.keyboard.type("y")
    press(page, "Escape", "F2", "End")
    page.keyboard.type("!")
    press(page, "Enter")
    expect_texts(page, correction, changed(r0c0="new", r1c0="1.0!"))
    press(page, "F2", "F2", "ArrowRight")  # back to arrows that go on
    assert active(page) == "2,1"


def test_tab_and_enter_go_through_what_is_chosen(page: Any, correction: Correction) -> None:
    choose(page, 0, 1)
    choose(page, 1, 2, modifiers=["Shift"])
    for text in "abcd":
        page.keyboard.type(text)
        press(page, "Tab")
    assert (active(page), chosen(page)) == ("0,1", ["0,1", "0,2", "1,1", "1,2"])
    for text in "efgh":
        page.keyboard.type(text)
        press(page, "Enter")
    expect_texts(page, correction, changed(r0c1="e", r1c1="f", r0c2="g", r1c2="h"))


def test_control_and_enter_fill_what_is_chosen(page: Any, correction: Correction) -> None:
    press(page, "Shift+ArrowDown", "Shift+ArrowRight")
    page.keyboard.type("same")
    press(page, "Control+Enter")
    expect_texts(page, correction, changed(r0c0="same", r0c1="same", r1c0="same", r1c1="same"))
    assert (correction.version, correction.verdict) == (1, "open")
    press(page, "Control+Enter")
    page.locator('#tables [aria-current="true"]', has_text="second_1_1").wait_for()
    assert correction.verdict == "saved"


def test_a_click_elsewhere_keeps_what_is_typed(page: Any, correction: Correction) -> None:
    page.keyboard.type("kept")
    choose(page, 2, 2)
    expect_texts(page, correction, changed(r0c0="kept"))
    assert active(page) == "2,2"
    page.keyboard.type("also")
    page.get_by_role("button", name="Header rows").click()
    expect_version(page, correction, 3)
    assert correction.table[2, 2].text == "also" and correction.table.n_header_rows == 3


def test_tools_give_the_focus_back(page: Any, correction: Correction) -> None:
    """ "123" after Merge was lost; ArrowDown and Enter after Header rows pressed the button again."""
    press(page, "Shift+ArrowRight")
    page.get_by_role("button", name="Merge", exact=True).click()
    expect_version(page, correction, 1)
    page.keyboard.type("123")
    press(page, "Enter")
    expect_version(page, correction, 2)
    page.get_by_role("button", name="Header rows").click()
    expect_version(page, correction, 3)
    headers = correction.table.n_header_rows
    press(page, "ArrowUp", "Enter")
    page.keyboard.type("456")
    press(page, "Enter")
    expect_version(page, correction, 4)
    assert (correction.table[0, 0].text, correction.table.n_header_rows) == ("456", headers)


def test_a_tool_pressed_by_key_gives_the_focus_back_too(page: Any, correction: Correction) -> None:
    page.locator('[data-tool="bottom"]').focus()
    press(page, "Enter")
    expect_version(page, correction, 1)
    page.wait_for_function("document.activeElement.dataset.place === '0,0'")
    page.locator('[data-tool="undo"]').focus()
    press(page, "Enter")  # then it has nothing to do and cannot have the focus
    expect_version(page, correction, 2)
    page.wait_for_function("document.activeElement.dataset.place !== undefined")


def test_saving_and_help_work_wherever_the_focus_is(page: Any, correction: Correction) -> None:
    press(page, "Control+f")
    for where in ("#only-open", ".tablerec-editor .find input", '[data-tool="rowLine"]'):
        page.locator(where).first.focus()
        press(page, "F1")
        page.get_by_role("dialog", name="Keyboard shortcuts").wait_for()
        press(page, "Escape")
        page.locator(where).first.focus()
        press(page, "Control+s")
        page.locator('#tables [aria-current="true"] .done').wait_for()
        assert correction.verdict == "saved"
        correction.do({"do": "reopen"})
        page.reload()
        page.locator(".sheet td[data-place]").first.wait_for()
        press(page, "Control+f")


def test_keys_go_to_the_sheet_when_nothing_has_the_focus(page: Any, correction: Correction) -> None:
    page.locator("#title").click()
    for key in ("ArrowDown", "x"):
        page.evaluate("document.activeElement.blur()")
        press(page, key)
    press(page, "Enter")
    expect_texts(page, correction, changed(r1c0="x"))


def test_saving_keeps_what_is_typed_first(page: Any, correction: Correction) -> None:
    page.keyboard.type("last")
    press(page, "Control+s")
    page.locator("#tables .done").first.wait_for()
    assert (correction.verdict, correction.table[0, 0].text) == ("saved", "last")


def test_a_text_is_shown_before_it_is_answered(page: Any, correction: Correction) -> None:
    page.route("**/do", lambda route: None)  # no answer, ever
    page.keyboard.type("at once")
    press(page, "Enter")
    assert texts_shown(page)[0][0] == "at once"
    assert "waiting" in page.locator('.sheet td[data-place="0,0"]').get_attribute("class")
    press(page, "ArrowUp", "F2")
    assert page.locator(".sheet textarea.open").input_value() == "at once"


def test_a_field_over_the_cell_is_as_large_as_its_text(page: Any, correction: Correction) -> None:
    cell = page.locator('.sheet td[data-place="1,1"]').bounding_box()
    choose(page, 1, 1)
    press(page, "F2")
    field = page.locator(".sheet textarea.open").bounding_box()
    assert (field["x"], field["y"]) == pytest.approx((cell["x"], cell["y"]), abs=1)
    assert field["width"] >= cell["width"] - 1 and field["height"] >= cell["height"] - 1
    for _ in range(3):
        page.keyboard.type("line")
        press(page, "Alt+Enter")
    assert page.locator(".sheet textarea.open").bounding_box()["height"] > 1.8 * field["height"]
    press(page, "Enter")
    expect_texts(page, correction, changed(r1c1="line\nline\nline\n"))
