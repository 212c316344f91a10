"""Choosing an OCR engine."""

from __future__ import annotations

import numpy as np
import pytest

from tablerec.config import Settings
from tablerec.errors import SettingsError
from tablerec.ocr import make_ocr_engine


def test_none_reads_nothing() -> None:
    reader = make_ocr_engine(Settings(ocr="none"))
    image = np.zeros((20, 20, 3), np.uint8)
    assert reader.read(image) == []
    assert reader.read_quads(image, np.zeros((1, 4, 2))) == []


@pytest.mark.parametrize("name", ["rapidocr", "paddlex", "paddlex:PP-OCRv5_mobile", "none"])
def test_readers_are_made_without_loading_models(name: str) -> None:
    assert make_ocr_engine(Settings(ocr=name)).name == name.partition(":")[0]


@pytest.mark.parametrize("name", ["tesseract", "", "RapidOCR", "rapidocr:x", "none:x"])
def test_unknown_reader_lists_the_names(name: str) -> None:
    with pytest.raises(SettingsError, match="choose auto, tablerec, rapidocr, paddlex, paddlex:FAMILY or none"):
        make_ocr_engine(Settings(ocr=name))
