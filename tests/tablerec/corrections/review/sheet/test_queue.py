"""Steps wait while nobody answers, and nothing that was typed is lost."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tablerec.corrections.editor import Correction
from tablerec.corrections.review.server import ReviewServer
from tests.helpers.browsing import expect_banner, expect_version, open_page, open_review
from tests.helpers.sheets import changed, choose, expect_texts, press, texts_shown

STEPS = "**/tables/*/do"


@pytest.fixture
def page(browser: Any) -> Iterator[Any]:
    """A page that may find nobody who answers."""
    with open_page(browser, refused=True) as opened:
        yield opened


class Away:
    """Steps that reach nobody.

    Args:
        page: Where they are made.
        is_done: They are done, but nobody says so.
    """

    def __init__(self, page: Any, *, is_done: bool = False) -> None:
        self.page, self.is_done, self.tries = page, is_done, 0
        page.route(STEPS, self._refuse)

    def _refuse(self, route: Any) -> None:
        self.tries += 1
        if self.is_done:
            route.fetch()
        route.abort()

    def end(self) -> None:
        """They reach the server again."""
        self.page.unroute(STEPS)


def banners(page: Any) -> int:
    found: int = page.locator(".banner").count()
    return found


def try_now(page: Any) -> None:
    page.get_by_role("button", name="Try now").click()


def test_texts_wait_are_shown_and_sent_when_somebody_answers(page: Any, correction: Correction) -> None:
    away = Away(page)
    for text in "abc":
        page.keyboard.type(text)
        press(page, "Tab")
    expect_banner(page, "Waiting changes: 3")
    assert texts_shown(page)[0] == ["a", "b", "c"]
    choose(page, 2, 2)  # the next click once took the message away
    expect_banner(page, "tablerec review is not responding")
    press(page, "Control+z")
    expect_banner(page, "Waiting changes: 4")
    assert texts_shown(page)[0] == ["a", "b", "0.2"]
    away.end()
    try_now(page)
    expect_texts(page, correction, changed(r0c0="a", r0c1="b"))
    assert (banners(page), correction.version) == (0, 4)
    page.keyboard.type("x")  # and the focus is in the sheet
    press(page, "Enter")
    expect_version(page, correction, 5)


def test_a_step_whose_answer_was_lost_is_done_once(page: Any, correction: Correction) -> None:
    away = Away(page, is_done=True)
    press(page, "Alt+r")
    expect_banner(page, "Waiting changes: 1")
    assert correction.version == 1
    away.end()
    page.evaluate("window.dispatchEvent(new Event('online'))")
    expect_version(page, correction, 1)
    assert correction.table.n_rows == 4 and page.locator(".sheet tbody tr").count() == 4


def test_pauses_grow(page: Any, two_pictures: ReviewServer) -> None:
    page.clock.install(time=0)
    open_review(page, two_pictures)
    page.clock.pause_at(1_000_000)
    away = Away(page)
    page.keyboard.type("x")
    press(page, "Enter")
    expect_banner(page, "Waiting changes: 1")
    for tries, pause in enumerate((500, 1000, 2000, 4000), start=1):
        page.clock.run_for(pause - 50)
        assert away.tries == tries
        with page.expect_event("requestfailed"):
            page.clock.run_for(100)
        page.evaluate("() => null")  # the failure has come to the page


def test_a_reload_loses_nothing(page: Any, correction: Correction) -> None:
    away = Away(page)
    page.keyboard.type("typed")
    press(page, "Enter")
    press(page, "Alt+Shift+c")
    page.keyboard.type("not yet kept")
    expect_banner(page, "Waiting changes: 2")
    page.on("dialog", lambda dialog: dialog.accept())  # steps wait: the browser asks
    page.reload()
    expect_banner(page, "Waiting changes: 3")
    assert [row[0] for row in texts_shown(page)] == ["typed", "not yet kept", "2.0"]
    away.end()
    try_now(page)
    page.locator('.tablerec-editor[data-waiting="0"]').wait_for()
    assert correction.table[0, 0].text == "typed" and correction.table.n_cols == 4
    # Its cell is another one now, perhaps: that is for a person to say.
    expect_banner(page, "not yet kept")


def test_a_refused_text_stays_until_it_is_dealt_with(page: Any, correction: Correction) -> None:
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.evaluate("() => navigator.clipboard.writeText('a\\tb\\tc\\td')")
    press(page, "Control+v")
    expect_banner(page, "do not fit")
    press(page, "Escape", "ArrowDown")
    page.keyboard.type("x")
    press(page, "Enter")
    expect_version(page, correction, 1)
    page.reload()
    banner = page.locator(".banner", has_text="do not fit")
    banner.wait_for()
    assert banner.locator("q").text_content() == "a\tb\tc\td"
    page.evaluate("() => navigator.clipboard.writeText('other')")
    banner.get_by_role("button", name="Copy text").click()
    page.wait_for_function("() => navigator.clipboard.readText().then((text) => text.startsWith('a\\tb'))")
    press(page, "Control+Home", "Alt+Shift+a")
    expect_version(page, correction, 2)
    banner.get_by_role("button", name="Retry").click()
    expect_version(page, correction, 3)
    assert correction.table.to_grid()[0] == list("abcd") and banners(page) == 0


def test_a_refused_text_is_dropped(page: Any, correction: Correction) -> None:
    page.keyboard.insert_text("x" * 10_001)
    press(page, "Enter")
    expect_banner(page, "at most 10,000 characters")
    page.get_by_role("button", name="Discard text").click()
    assert banners(page) == 0
    expect_texts(page, correction, changed())


def test_a_refusal_without_a_text_goes_with_escape_or_once_it_works(page: Any, correction: Correction) -> None:
    for key in ("Escape", "Home"):
        press(page, "Control+a", "Alt+x")
        expect_banner(page, "Not done")
        press(page, "ArrowRight")
        assert banners(page) == 1
        press(page, key)
    assert banners(page) == 1 and correction.version == 0
    press(page, "Alt+x")
    expect_version(page, correction, 1)
    assert banners(page) == 0


def test_saving_while_away_does_not_go_on_to_the_next_table_later(page: Any, correction: Correction) -> None:
    away = Away(page)
    press(page, "Control+Enter")
    expect_banner(page, "Waiting changes: 1")
    away.end()
    try_now(page)
    page.locator("#tables .done").first.wait_for()
    assert correction.verdict == "saved"
    assert page.locator('#tables [aria-current="true"]').inner_text().startswith("scan_1_1")


def test_what_is_undone_after_saving_is_saved_again(page: Any, correction: Correction) -> None:
    press(page, "Control+s")
    page.get_by_role("button", name="Saved", exact=True).wait_for()
    page.keyboard.type("x")
    press(page, "Enter")
    page.get_by_role("button", name="Save", exact=True).wait_for()
    press(page, "Control+z")
    page.get_by_role("button", name="Saved", exact=True).wait_for()
    assert correction.verdict == "saved"


def test_no_table_is_taken_back(page: Any, correction: Correction) -> None:
    button = page.get_by_role("button", name="Not a table", exact=True)
    for verdict, pressed in (("rejected", "true"), ("open", "false")):
        press(page, "Alt+n")
        page.locator(f'[data-tool="reject"][aria-pressed="{pressed}"]').wait_for()
        assert correction.verdict == verdict
    button.click()
    page.locator('[data-tool="reject"][aria-pressed="true"]').wait_for()
