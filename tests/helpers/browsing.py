"""A real browser for the tests of the editor: Debian's Chromium, driven by Playwright."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from typing import Any

import pytest

from tablerec.corrections.editor import Correction
from tablerec.corrections.review.server import ReviewServer
from tablerec.errors import MissingDependencyError
from tablerec.synth.browser.chromium import find_browser


def has_chromium() -> bool:
    """Return whether Playwright and Chromium are installed."""
    with suppress(MissingDependencyError):
        return find_spec("playwright") is not None and bool(find_browser())
    return False


needs_chromium = pytest.mark.skipif(not has_chromium(), reason="needs Playwright and Chromium")


@contextmanager
def open_browser() -> Iterator[Any]:
    """Start Chromium, or skip the tests where it or Playwright is missing."""
    if not has_chromium():
        pytest.skip("needs Playwright and Chromium")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as running:
        browser = running.chromium.launch(executable_path=find_browser())
        yield browser
        browser.close()


@contextmanager
def open_page(browser: Any, *, refused: bool = False, **options: Any) -> Iterator[Any]:
    """A page in which an error of a script fails the test; that nobody answers, or the server refuses, may not."""
    context = browser.new_context(viewport={"width": 1280, "height": 800}, **options)
    page = context.new_page()
    page.set_default_timeout(30_000)
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))

    def note(message: Any) -> None:
        # A step that is refused is answered with 409, which the browser reports by itself.
        is_refusal = "409" in message.text or (refused and ("status of 4" in message.text or "net::" in message.text))
        if message.type == "error" and not is_refusal:
            errors.append(message.text)

    page.on("console", note)
    yield page
    context.close()
    assert errors == []


def open_review(page: Any, server: ReviewServer) -> None:
    """Log in and wait for the first table."""
    page.goto(server.address)
    page.locator(".sheet td[data-place]").first.wait_for()


def to_screen(page: Any, correction: Correction, x: float, y: float) -> tuple[float, float]:
    """Where a point of the picture is on the screen."""
    box = page.locator(".picture img").bounding_box()
    width, _ = correction.head.size_wh
    scale = box["width"] / width
    return box["x"] + x * scale, box["y"] + y * scale


def drag(page: Any, start: tuple[float, float], end: tuple[float, float], steps: int = 5) -> None:
    """Press, move and let go."""
    page.mouse.move(*start)
    page.mouse.down()
    page.mouse.move(*end, steps=steps)
    page.mouse.up()


def expect_status(page: Any, text: str) -> None:
    page.locator(".status", has_text=text).wait_for()


def expect_banner(page: Any, text: str) -> None:
    """Wait for what stands above the table until it is solved."""
    page.locator(".banner", has_text=text).wait_for()


def expect_version(page: Any, correction: Correction, version: int) -> None:
    """Wait until so many steps are done and shown."""
    page.locator(f'.tablerec-editor[data-version="{version}"]').wait_for()
    assert correction.version == version
