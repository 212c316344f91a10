"""Chinese, Japanese and Korean are typed by input methods: what is typed is composed before it is a text."""

from __future__ import annotations

from typing import Any

from tablerec.corrections.editor import Correction
from tests.helpers.sheets import active, changed, expect_texts, press


class Composer:
    """An input method, as the browser sees it."""

    def __init__(self, page: Any) -> None:
        self.session = page.context.new_cdp_session(page)

    def compose(self, *parts: str) -> None:
        """Show what is composed so far, one part after the other."""
        for part in parts:
            self.session.send(
                "Input.imeSetComposition", {"text": part, "selectionStart": len(part), "selectionEnd": len(part)}
            )

    def press_inside(self, key: str) -> None:
        """A key that the input method takes for itself."""
        event = {"type": "rawKeyDown", "windowsVirtualKeyCode": 229, "key": key, "code": key}
        self.session.send("Input.dispatchKeyEvent", event)
        self.session.send("Input.dispatchKeyEvent", {**event, "type": "keyUp"})

    def commit(self, text: str) -> None:
        """Choose a text."""
        self.session.send("Input.insertText", {"text": text})


def test_a_composition_begins_in_a_chosen_cell(page: Any, correction: Correction) -> None:
    composer, field = Composer(page), page.locator(".sheet textarea.open")
    for row, (parts, text) in enumerate(
        ((("b", "bi", "biao"), "表"), (("ｈ", "ひ", "ひょう"), "表"), (("ㅍ", "표"), "표"))
    ):
        composer.compose(*parts)
        assert field.input_value() == parts[-1]
        composer.press_inside("Enter")  # chooses a candidate, not the cell below
        composer.press_inside("ArrowDown")
        assert active(page) == f"{row},0" and field.input_value() == parts[-1]
        composer.commit(text)
        assert field.input_value() == text
        page.keyboard.type("1")
        press(page, "Enter")
    expect_texts(page, correction, changed(r0c0="表1", r1c0="表1", r2c0="표1"))


def test_a_composition_goes_on_in_the_next_cell(page: Any, correction: Correction) -> None:
    composer = Composer(page)
    for text in ("一", "二"):
        composer.compose("x")
        composer.commit(text)
        press(page, "Tab")
    expect_texts(page, correction, changed(r0c0="一", r0c1="二"))


def test_a_composition_that_is_given_up_leaves_the_cell(page: Any, correction: Correction) -> None:
    composer = Composer(page)
    composer.compose("b")
    composer.compose("")
    press(page, "Escape")
    expect_texts(page, correction, changed())
    assert correction.version == 0


def test_a_click_elsewhere_in_the_midst_of_a_composition_keeps_it(page: Any, correction: Correction) -> None:
    Composer(page).compose("biao")
    page.locator('.sheet td[data-place="1,1"]').click()
    expect_texts(page, correction, changed(r0c0="biao"))
    page.keyboard.type("x")
    press(page, "Enter")
    expect_texts(page, correction, changed(r0c0="biao", r1c1="x"))
