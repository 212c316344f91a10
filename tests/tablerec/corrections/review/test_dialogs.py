"""The dialogs of the page for people who see, read or move differently."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.helpers.browsing import open_page, open_review
from tests.helpers.corrections.learning import Commands, make_learner, settle, with_another_text
from tests.helpers.review import serve

LOOKS: list[tuple[dict[str, Any], tuple[int, int]]] = [
    ({}, (1280, 800)),
    ({"locale": "zh-CN", "color_scheme": "dark"}, (480, 640)),
]


@pytest.mark.parametrize(("look", "size"), LOOKS, ids=["light", "dark, narrow, Chinese"])
def test_all_dialogs_are_accessible(
    browser: Any, tmp_path: Path, monkeypatch: Any, look: dict[str, Any], size: tuple[int, int]
) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    monkeypatch.setattr("tablerec.corrections.learning.learner.can_train", lambda: True)
    commands = Commands(with_another_text)
    learner = make_learner(tmp_path, commands, 5, 3)
    learner.start()
    settle(learner)
    learner.read_anew()
    settle(learner)

    def check(page: Any) -> None:
        found = axe.run(page)
        assert found.violations_count == 0, found.generate_report()

    assert commands.desk is not None
    with serve(commands.desk, learner) as server, open_page(browser, bypass_csp=True, **look) as page:
        page.set_viewport_size({"width": size[0], "height": size[1]})
        open_review(page, server)
        page.keyboard.press("Alt+h")
        outputs, learn, same = 1, 4, 5  # between them are those of test_proposals_in_browser.py
        page.locator("#work button").nth(same).wait_for()
        check(page)
        for number in (outputs, learn, same):
            page.locator("#work button").nth(number).click()
            page.locator(".work-dialog").wait_for()
            check(page)
            page.keyboard.press("Escape")
            page.locator(".work-dialog").wait_for(state="detached")
        page.locator("#work button").nth(same).click()
        page.locator(".work-dialog button.main").click()
        page.locator("#note").wait_for()
        check(page)


def test_dialogs_are_used_by_keyboard_alone(browser: Any, tmp_path: Path) -> None:
    commands = Commands()
    learner = make_learner(tmp_path, commands, 0, 2)
    assert commands.desk is not None
    with serve(commands.desk, learner) as server, open_page(browser) as page:
        open_review(page, server)
        page.locator("#work button").nth(1).focus()
        page.keyboard.press("Enter")
        page.get_by_role("dialog").wait_for()
        for _ in range(8):
            if page.evaluate("() => document.activeElement.textContent") == "Create file":
                break
            page.keyboard.press("Tab")
        page.keyboard.press("Enter")
        page.get_by_role("link", name="Download tables.xlsx").wait_for()
        page.keyboard.press("Escape")
        page.get_by_role("dialog").wait_for(state="detached")
