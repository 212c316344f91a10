"""Choosing an OCR engine."""

from __future__ import annotations

import logging
from pathlib import Path

import numpy as np
import pytest

from tablerec.config import Settings
from tablerec.errors import ModelNotFoundError, SettingsError
from tablerec.ocr import linenet, make_ocr_engine


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


@pytest.mark.parametrize("name", ["auto", "tablerec"])
def test_linenet_of_another_folder(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    monkeypatch.setattr(linenet, "choose_network", lambda *given: asked.append(given[:3]))
    assert make_ocr_engine(Settings(ocr=name, ocr_dir=tmp_path, device="npu:1")).name == name
    assert asked == [(tmp_path, "npu:1", "LineNet")]


def test_a_folder_is_for_linenet_alone(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="ocr 'rapidocr' takes none: choose auto or tablerec"):
        make_ocr_engine(Settings(ocr="rapidocr", ocr_dir=tmp_path))
    with pytest.raises(ModelNotFoundError, match="LineNet"):
        make_ocr_engine(Settings(ocr="auto", ocr_dir=tmp_path))


def test_without_weights_in_the_package_auto_is_rapidocr(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(linenet, "has_linenet", lambda: False)
    with caplog.at_level(logging.WARNING, "tablerec"):
        assert make_ocr_engine(Settings(ocr="auto")).name == "rapidocr"
    [message] = caplog.messages
    assert "holds no LineNet: rapidocr reads alone" in message
