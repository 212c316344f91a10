"""Draw review.png: ``tablerec review`` on some samples. Needs Chromium and the extra ``browser``."""

from __future__ import annotations

import shutil
import tempfile
import threading
from pathlib import Path

from playwright.sync_api import sync_playwright

from tablerec.config import Settings
from tablerec.corrections.editor import CorrectionFolder
from tablerec.corrections.review.desk import Desk
from tablerec.corrections.review.server import ReviewServer
from tablerec.pipeline import Recognizer

HERE = Path(__file__).resolve().parent
SAMPLES = HERE.parent / "samples"
NAMES = ("spans.png", "lineless.png", "rotated.jpg", "two_tables.png")


def main() -> None:
    """Review copies of some samples, and photograph the page."""
    with tempfile.TemporaryDirectory() as temporary, sync_playwright() as playwright:
        folder = Path(temporary)
        inputs = [Path(shutil.copy(SAMPLES / name, folder)) for name in NAMES]
        desk = Desk(inputs, folder, CorrectionFolder(folder / "corrections"), Recognizer(Settings()).pages)
        desk.read_all()
        server = ReviewServer(desk)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"))
        page = browser.new_page(viewport={"width": 1280, "height": 660})
        page.add_init_script("localStorage.setItem('tablerec-hints', '\"read\"')")  # of first use
        page.goto(server.address)
        page.locator("#tables button", has_text="spans_1_1").click()
        page.locator(".sheet td", has_text="Mill Lane").first.click()
        page.keyboard.press("Alt+p")
        page.keyboard.press("Alt+0")  # all of the page, and again
        page.keyboard.press("Alt+0")
        box = page.locator(".picture img").bounding_box()
        page.mouse.move(box["x"] + 0.4 * box["width"], box["y"] + 0.312 * box["height"])
        page.wait_for_timeout(1000)  # what proves the table is told a moment later
        page.screenshot(path=HERE / "review.png")
        browser.close()
        server.shutdown()


if __name__ == "__main__":
    main()
