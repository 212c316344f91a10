"""Seals over numbers: these are read, and what is written on a seal is no value."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from postprocess.word import Word
from tablerec import Page, Recognizer, Settings
from tablerec.ocr import NoOcr
from tablerec.outputs.files import page_to_dict
from tablerec.result import PageImage
from tests.tablerec.inputs.seals.drawing import BLUE, RED, ROWS, draw_numbers, frame, press, ring

needs_rapidocr = pytest.mark.skipif(importlib.util.find_spec("rapidocr") is None, reason="needs rapidocr")


class SeesColours(NoOcr):
    """Says for each picture whether it has coloured pixels."""

    name = "colours"

    def __init__(self, words: Sequence[Word]) -> None:
        self.words = list(words)
        self.seen: list[bool] = []

    def read(self, image: np.ndarray) -> list[Word]:
        self.seen.append(bool((np.ptp(image.astype(int), axis=2) > 60).any()))
        return self.words if len(self.seen) == 1 else []


def read_drawn(image: np.ndarray, turn: int = 0, seals: str = "separate") -> tuple[Page, SeesColours]:
    drawing = draw_numbers()
    ocr = SeesColours(drawing.words)
    [page] = Recognizer(Settings(turn=turn, seals=seals), ocr=ocr).recognize(image).pages
    return page, ocr


# PaddleOCR#17602, PaddleX#3641
def test_print_is_read_without_the_seal() -> None:
    image = press(draw_numbers().image, ring(160), (130, 80), RED)
    page, ocr = read_drawn(image)
    assert not ocr.seen[0]
    assert page.tables[0].to_grid() == ROWS
    np.testing.assert_array_equal(page.picture.image, image)
    [seal] = page.seals
    assert page_to_dict(page)["seals"] == [
        {"text": "", "quad": seal.quad, "score": 0.0, "color": seal.color},
    ]
    json.dumps(page_to_dict(page))


def test_kept_seals_are_read_with_the_print() -> None:
    page, ocr = read_drawn(press(draw_numbers().image, ring(160), (130, 80), RED), seals="keep")
    assert ocr.seen == [True]
    assert page.seals == ()


def test_a_picture_without_seals_is_read_as_it_is() -> None:
    page, ocr = read_drawn(draw_numbers().image)
    assert (page.seals, len(ocr.seen)) == ((), 1)


@pytest.mark.parametrize("turn", [90, 180, 270])
def test_seals_are_where_they_are_in_the_picture_as_given(turn: int) -> None:
    image = press(draw_numbers().image, ring(160), (130, 80), RED)
    [upright] = read_drawn(image)[0].seals
    given = np.ascontiguousarray(np.rot90(image, turn // 90))
    [seal] = read_drawn(given, turn)[0].seals
    height, width = image.shape[:2]
    x, y = np.mean(upright.quad, axis=0)
    wanted = {90: (y, width - x), 180: (width - x, height - y), 270: (height - y, x)}[turn]
    np.testing.assert_allclose(np.mean(seal.quad, axis=0), wanted, atol=2)


def test_words_that_are_given_stay() -> None:
    drawing = draw_numbers()
    image = press(drawing.image, frame(160), (130, 80), BLUE)
    [page] = Recognizer(Settings(ocr="none")).recognize(PageImage("x", 1, image), drawing.words).pages
    assert page.tables[0].to_grid() == ROWS
    assert len(page.seals) == 1


@needs_rapidocr
@pytest.mark.parametrize("color", [RED, BLUE])
def test_numbers_under_a_seal_are_read(color: tuple[int, int, int]) -> None:
    image = press(draw_numbers().image, ring(170), (130, 60), color)
    [page] = Recognizer(Settings(ocr="rapidocr")).recognize(image).pages
    [table] = page.tables
    assert table.to_grid() == ROWS
    assert "PAID" in page.seals[0].text
    assert not any("PAID" in word.text for word in page.words)


# PaddleOCR#17602, PaddleX#3641, PaddleOCR#17364
@needs_rapidocr
def test_the_public_cases(shared: Path) -> None:
    wanted = json.loads((shared / "cases" / "expected" / "29.json").read_text(encoding="utf-8"))["grid"]
    inputs = sorted((shared / "cases" / "inputs").glob("29*_stamp*.png"))
    assert inputs
    for path in inputs:
        [page] = Recognizer(Settings(ocr="rapidocr")).recognize(path).pages
        assert len(page.seals) == 1
        assert "专用章" in page.seals[0].text
        assert page.tables[0].to_grid()[2:] == wanted[2:]
