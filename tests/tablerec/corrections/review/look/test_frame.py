"""The frame around a table that was missed: where it begins, and how it is set."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest

from tablerec.corrections.editor import CorrectionFolder
from tablerec.corrections.review.desk import Desk
from tablerec.corrections.review.server import ReviewServer
from tablerec.result import Page, PageImage
from tests.helpers.browsing import drag, open_review
from tests.helpers.review import make_table, serve


@pytest.fixture
def inked(tmp_path: Path) -> Iterator[ReviewServer]:
    """A page with a known table at its left and something drawn at its right, all of it else blank."""
    image = np.full((160, 340, 3), 255, np.uint8)
    cv2.rectangle(image, (220, 40), (299, 119), (0, 0, 0), 2)
    cv2.imwrite(str(tmp_path / "scan.png"), image)

    def read(source: str) -> Iterator[Page]:
        yield Page(PageImage(source, 1, image), (make_table(2, 2, (10, 10, 60, 150)),))

    with serve(Desk([tmp_path / "scan.png"], tmp_path, CorrectionFolder(tmp_path / "corrections"), read)) as running:
        yield running


def numbers(page: Any) -> list[int]:
    text = page.locator("dialog.frame p[role=status]").inner_text()
    return [int(part) for part in text.removeprefix("Frame: ").replace(" to ", ", ").split(", ")]


def test_it_begins_around_what_is_beside_the_known_tables(page: Any, inked: ReviewServer) -> None:
    open_review(page, inked)
    page.keyboard.press("Alt+t")
    page.get_by_text("Frame: ").wait_for()
    assert numbers(page) == pytest.approx([212, 32, 308, 128], abs=4)


def test_it_is_set_by_its_handles_its_middle_and_the_zoom(page: Any, inked: ReviewServer) -> None:
    open_review(page, inked)
    page.keyboard.press("Alt+t")
    page.get_by_text("Frame: ").wait_for()
    scale = page.locator(".frame img").bounding_box()["width"] / 340
    before = numbers(page)

    def pull(selector: str, dx: float, dy: float) -> None:
        box = page.locator(selector).bounding_box()
        start = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
        drag(page, start, (start[0] + dx * scale, start[1] + dy * scale))

    assert page.locator(".frame .handle").count() == 8
    pull('.frame [data-side="se"]', 20, -10)
    assert numbers(page) == pytest.approx([*before[:2], before[2] + 20, before[3] - 10], abs=1)
    pull('.frame [data-side="w"]', -30, 40)
    wide = numbers(page)
    assert wide == pytest.approx([before[0] - 30, before[1], before[2] + 20, before[3] - 10], abs=1)
    pull(".frame .box", 5, 900)  # by its middle, as far as the page goes
    assert numbers(page) == pytest.approx([wide[0] + 5, 160 - (wide[3] - wide[1]), wide[2] + 5, 160], abs=1)
    page.get_by_role("button", name="Zoom in").last.click()
    assert page.locator(".frame img").bounding_box()["width"] == pytest.approx(1.5 * 340 * scale, rel=0.01)
    page.locator(".frame .stage").focus()
    page.keyboard.press("-")
    assert page.locator(".frame img").bounding_box()["width"] == pytest.approx(340 * scale, rel=0.01)


def test_a_guess_is_in_nobody_s_way(page: Any, inked: ReviewServer) -> None:
    open_review(page, inked)
    page.keyboard.press("Alt+t")
    page.get_by_text("Frame: ").wait_for()
    box = page.locator(".frame img").bounding_box()
    scale = box["width"] / 340
    start, end = ((box["x"] + x * scale, box["y"] + y * scale) for x, y in ((240, 60), (280, 100)))
    drag(page, start, end)
    assert numbers(page) == pytest.approx([240, 60, 280, 100], abs=1)
