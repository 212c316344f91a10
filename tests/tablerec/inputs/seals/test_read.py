"""What is written on a seal is read, along its rim too."""

from __future__ import annotations

import importlib.util

import numpy as np
import pytest

from tablerec.inputs.seals import without_seals
from tablerec.inputs.seals.read import read_seal
from tablerec.ocr import NoOcr
from tests.tablerec.inputs.seals.drawing import BLUE, RED, draw_numbers, frame, press, ring

needs_rapidocr = pytest.mark.skipif(importlib.util.find_spec("rapidocr") is None, reason="needs rapidocr")


def letters(text: str) -> str:
    return "".join(filter(str.isalnum, text.upper()))


def test_without_an_engine_a_seal_has_a_place_and_a_colour() -> None:
    _, [found] = without_seals(press(draw_numbers().image, ring(160), (130, 80), RED))
    seal = read_seal(*found, NoOcr())
    assert (seal.text, seal.score) == ("", 0.0)
    assert seal.color.startswith("#c")
    np.testing.assert_allclose(np.mean(seal.quad, axis=0), (210, 160), atol=6)


@needs_rapidocr
def test_text_along_the_rim_and_in_the_middle() -> None:
    from tablerec.ocr.rapidocr import RapidOcrEngine

    _, [found] = without_seals(press(draw_numbers().image, ring(230), (120, 20), RED))
    seal = read_seal(*found, RapidOcrEngine())
    assert letters("ACME TRADING COMPANY") in letters(seal.text)
    assert letters(seal.text).endswith("PAID")
    assert seal.score > 0.7


@needs_rapidocr
@pytest.mark.parametrize("degrees", [8, -20])
def test_a_turned_frame(degrees: float) -> None:
    from tablerec.ocr.rapidocr import RapidOcrEngine

    _, [found] = without_seals(press(draw_numbers().image, frame(220, degrees=degrees), (120, 30), BLUE))
    assert letters(read_seal(*found, RapidOcrEngine()).text) == "RECEIVED20240305"
