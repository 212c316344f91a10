"""The page in a real browser: files are dropped, watched, and come back as one workbook."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import openpyxl
import pytest

from tablerec.errors import InputError
from tests.helpers.browsing import needs_chromium, open_browser, open_page
from tests.helpers.serve.serving import Running, StandIn, png, serving, tiff, wait_until

pytestmark = needs_chromium

TOKEN = "0123456789abcdef"


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with open_browser() as opened:
        yield opened


def choose(page: Any, *files: tuple[str, bytes]) -> None:
    page.set_input_files(
        "#files", [{"name": name, "mimeType": "application/octet-stream", "buffer": content} for name, content in files]
    )


def expect_status(page: Any, text: str) -> None:
    page.locator("#status", has_text=text).wait_for()


def download(page: Any, name: str) -> bytes:
    with page.expect_download() as found:
        page.get_by_role("button", name=name).click()
    return Path(found.value.path()).read_bytes()


def test_files_become_one_workbook(browser: Any) -> None:
    engine = StandIn(jobs=1)
    engine.error = lambda name, number: InputError(f"{name}: page 2 is broken") if number == 2 else None
    with serving(engine) as server, open_page(browser, locale="en-US") as page:
        page.goto(server.url)
        choose(page, ("a.tif", tiff(3)), ("unwanted.png", png()))
        choose(page, ("<b>表.png", png()), ("c.txt", b"text"))
        page.get_by_role("button", name="Remove unwanted.png").click()
        expect_status(page, "Files: 3, 0.1 MB")
        engine.hold()
        page.get_by_role("button", name="Read tables").click()
        expect_status(page, "Reading: 0 of 4 pages")
        assert page.locator("progress").count() == 2
        engine.free.set()
        expect_status(page, "Done. Tables: 3, files: 3")
        assert page.locator(".file").nth(0).locator(".error").inner_text() == "Page 2: a.tif: page 2 is broken"
        assert "c.txt: a text file" in page.locator(".file").nth(2).locator(".error").inner_text()
        assert page.locator(".name").nth(1).inner_text() == "<b>表.png"
        workbook = openpyxl.load_workbook(io.BytesIO(download(page, "Workbook (XLSX)")))
        assert workbook.sheetnames == ["a p1 t1", "a p3 t1", "<b>表"]
        assert download(page, "All formats (ZIP)").startswith(b"PK")
        page.get_by_role("button", name="Start over").click()
        assert page.locator(".file").count() == 0


def test_a_file_is_dropped(browser: Any, server: Running) -> None:
    with open_page(browser, locale="en-US") as page:
        page.goto(server.url)
        page.evaluate(
            """bytes => {
                const data = new DataTransfer();
                data.items.add(new File([new Uint8Array(bytes)], "dropped.png"));
                const options = { dataTransfer: data, bubbles: true, cancelable: true };
                document.body.dispatchEvent(new DragEvent("drop", options));
            }""",
            list(png()),
        )
        page.get_by_role("button", name="Read tables").click()
        expect_status(page, "Done. Tables: 1, files: 1")


def test_a_token_is_asked_for_once(browser: Any) -> None:
    with serving(token=TOKEN) as server, open_page(browser, locale="en-US", refused=True) as page:
        page.goto(server.url)
        choose(page, ("a.png", png()))
        page.get_by_role("button", name="Read tables").click()
        for token in ("not this one, certainly", TOKEN):
            page.get_by_label("Token", exact=True).fill(token)
            page.get_by_role("button", name="Continue").click()
        expect_status(page, "Done. Tables: 1")
        assert download(page, "CSV")
        page.reload()
        choose(page, ("a.png", png()))
        page.get_by_role("button", name="Read tables").click()
        expect_status(page, "Done. Tables: 1")


def test_reading_can_be_stopped(browser: Any) -> None:
    engine = StandIn(jobs=1)
    with serving(engine) as server, open_page(browser, locale="en-US") as page:
        page.goto(server.url)
        engine.hold()
        choose(page, ("a.tif", tiff(30)))
        page.get_by_role("button", name="Read tables").click()
        expect_status(page, "Reading: 0 of 30 pages")
        page.get_by_role("button", name="Stop").click()
        expect_status(page, "Stopped")
        wait_until(lambda: not server.parts.jobs.count("running"))
        engine.free.set()
        page.get_by_role("button", name="Read tables").click()
        expect_status(page, "Done. Tables: 30")


def test_files_of_which_none_can_be_read(browser: Any, server: Running) -> None:
    with open_page(browser, locale="en-US", refused=True) as page:
        page.goto(server.url)
        choose(page, ("a.txt", b"text"), ("b.txt", b"text"))
        page.get_by_role("button", name="Read tables").click()
        expect_status(page, "none of 2 files and pages could be read")
        assert [each.inner_text().partition(":")[0] for each in page.locator(".error").all()[:2]] == ["a.txt", "b.txt"]


def test_the_page_speaks_chinese_and_can_be_used_by_all(browser: Any, server: Running) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright")
    with open_page(browser, locale="zh-CN") as page:
        page.goto(server.url)
        assert page.evaluate("document.documentElement.lang") == "zh-CN"
        choose(page, ("a.tif", tiff(2)))
        assert axe.Axe().run(page).violations_count == 0
        page.get_by_role("button", name="识别表格").click()
        expect_status(page, "已完成：1 个文件中共有 2 个表格")
        found = axe.Axe().run(page)
        assert found.violations_count == 0, found.generate_report()
        page.get_by_role("button", name="English").click()
        expect_status(page, "Done. Tables: 2, files: 1")
        page.goto(f"{server.url}/docs")
        page.get_by_text("POST /v1/tables").wait_for()
        found = axe.Axe().run(page)
        assert found.violations_count == 0, found.generate_report()
