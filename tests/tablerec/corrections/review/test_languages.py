"""The page in English and Chinese."""

from __future__ import annotations

import re
from importlib import resources
from pathlib import Path
from typing import Any

import pytest

from tablerec.corrections.editor.scripts import MODULES, to_one_module
from tablerec.corrections.review.server import ReviewServer
from tests.helpers.browsing import open_page, open_review

CHINESE = re.compile(r"[\u4e00-\u9fff]")
LETTERS = re.compile(r"[A-Za-z]{2,}")
SAID = """() => {
    const parts = document.querySelectorAll(":is(.tablerec-editor, header, nav, main, dialog) :is(" +
        "button:not([data-name]), label, dt, dd, h2:not(#title), a, input, p)");
    return [...parts].flatMap((element) => [element.textContent, element.title, element.ariaLabel, element.placeholder])
        .filter(Boolean);
}"""
NAMES = re.compile(r"tablerec|corrections|English|HTML|Ctrl|Shift|Alt|Enter|Home|End|Tab|Esc|Delete|PageDown|PageUp|F2")


def test_both_languages_say_the_same(page: Any, two_pictures: ReviewServer) -> None:
    open_review(page, two_pictures)
    languages = page.evaluate("import('/static/texts.js').then((texts) => texts.LANGUAGES)")
    english, chinese = languages["en"], languages["zh"]
    assert english["texts"].keys() == chinese["texts"].keys() and len(english["keys"]) == len(chinese["keys"])
    for key, value in english["texts"].items():
        assert sorted(re.findall(r"\{\d\}", value)) == sorted(re.findall(r"\{\d\}", chinese["texts"][key])), key
        if LETTERS.search(value):
            assert CHINESE.search(chinese["texts"][key]) or key == "language", key
    assert not any(CHINESE.search(text) for text in english["texts"].values() if text != "中文")


def scripts() -> list[tuple[str, str]]:
    review = resources.files("tablerec.corrections.review") / "static"
    editor = resources.files("tablerec.corrections.editor") / "static"
    ours = ("review.js", "frame.js", "work.js", "drop.js", "outputs.js", "learning.js", "alike.js", "proposals.js")
    paths = [editor / name for name in MODULES if name != "texts.js"] + [review / name for name in ours]
    return [(path.name, path.read_text("utf-8")) for path in paths]


@pytest.mark.parametrize(("name", "code"), scripts())
def test_no_text_is_left_in_the_code(name: str, code: str) -> None:
    """Every text is asked for by its key, and every key is one."""
    plain = re.sub(r"//.*", "", code)
    said = re.findall(r'(?:textContent|title|ariaLabel|placeholder|alt)(?::| =) "([^"]*[A-Za-z]{2}[^"]*)"', plain)
    assert said == [] and not CHINESE.search(plain)
    sentences = [
        each for each in re.findall(r'"([^"\n]*)"', plain) if re.search(r"[A-Za-z]{2,} [a-z]{2,} [a-z]{2,}", each)
    ]
    assert sentences == []
    texts = (resources.files("tablerec.corrections.editor") / "static" / "texts.js").read_text("utf-8")
    for key in re.findall(r'\btext\("(\w+)"', plain):
        assert re.search(rf"\b{key}: ", texts), key


def test_the_page_speaks_as_the_browser_does_and_remembers_what_was_chosen(
    browser: Any, two_pictures: ReviewServer
) -> None:
    with open_page(browser, locale="zh-CN") as page:
        open_review(page, two_pictures)
        assert page.locator("html").get_attribute("lang") == "zh-CN"
        page.keyboard.press("F1")
        page.get_by_role("dialog", name="键盘快捷键").wait_for()
        page.keyboard.press("Escape")
        page.keyboard.press("Alt+t")
        page.get_by_role("dialog", name="添加漏识别的表格").wait_for()
        left = [
            text for text in page.evaluate(SAID) if LETTERS.search(NAMES.sub("", text)) and not CHINESE.search(text)
        ]
        assert left == []
        page.keyboard.press("Escape")
        page.get_by_role("button", name="English").click()
        page.get_by_role("button", name="Merge", exact=True).wait_for()
        assert page.locator("html").get_attribute("lang") == "en"
        page.reload()
        page.get_by_role("button", name="Merge", exact=True).wait_for()
    with open_page(browser, locale="de-DE") as page:
        open_review(page, two_pictures)
        assert page.locator(".tablerec-editor").get_attribute("lang") == "en"


def test_a_notebook_loads_all_modules_as_one(page: Any, two_pictures: ReviewServer) -> None:
    code = to_one_module()
    assert re.findall(r"^(?:import|export)\b.*", code, re.MULTILINE) == ["export default { render };"]
    open_review(page, two_pictures)
    page.route("**/static/one.js", lambda route: route.fulfill(body=code, content_type="text/javascript"))
    assert page.evaluate("import('/static/one.js').then((module) => typeof module.default.render)") == "function"


def test_the_page_is_accessible_in_every_state(browser: Any, two_pictures: ReviewServer, tmp_path: Path) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright")

    def check(page: Any) -> None:
        found = axe.Axe().run(page)
        assert found.violations_count == 0, found.generate_report()

    for options in ({}, {"locale": "zh-CN", "color_scheme": "dark", "reduced_motion": "reduce"}):
        with open_page(browser, bypass_csp=True, **options) as page:
            open_review(page, two_pictures)
            page.keyboard.press("Enter")
            check(page)
            page.keyboard.press("Escape")
            page.keyboard.press("Control+s")
            page.locator("#tables .done").first.wait_for()
            check(page)
            page.keyboard.press("Alt+x")
            for _ in range(4):
                page.keyboard.press("Alt+x")
            page.locator(".banner.error").wait_for()
            check(page)
            page.keyboard.press("Alt+t")
            page.locator("dialog.frame").wait_for()
            check(page)
            page.keyboard.press("Escape")
            page.set_viewport_size({"width": 700, "height": 600})
            check(page)


def test_what_is_refused_is_said_in_the_language_of_the_page(browser: Any, two_pictures: ReviewServer) -> None:
    """Also what was refused before the language was changed."""
    with open_page(browser, locale="zh-CN") as page:
        open_review(page, two_pictures)
        page.keyboard.press("Alt+s")
        said = page.locator(".banner.error > span")
        said.wait_for()
        assert said.inner_text() == "操作未完成：该单元格没有合并，请在其中画线"
        assert said.get_attribute("lang") == "zh-CN"
        page.locator('[data-tool="language"]').click()
        page.locator(".banner.error > span", has_text="draw a line through it").wait_for()
        assert said.get_attribute("lang") == "en"
        page.reload()  # it is kept
        page.locator(".banner.error > span", has_text="Not done: the cell covers one slot only").wait_for()
