"""The network that tells scripts apart, on windows and on lines that are kept as pictures."""

from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from postprocess.arrays import Image
from tablerec.errors import ModelNotFoundError
from tablerec.ocr.script import CLASSES, HEIGHT, LATIN, NONE, NUMBER, SAMPLES, WIDTH, ScriptNet, scripts_of, to_windows

PICTURES = Path(__file__).parent / "pictures"


@pytest.fixture(scope="module")
def net() -> ScriptNet:
    return ScriptNet()


def written(text: str, ground: int = 255) -> Image:
    (width, _), _ = cv2.getTextSize(text, cv2.FONT_HERSHEY_DUPLEX, 1.0, 2)
    crop = np.full((40, width + 20, 3), ground, np.uint8)
    ink = (0, 0, 0) if ground > 127 else (255, 255, 255)
    cv2.putText(crop, text, (10, 29), cv2.FONT_HERSHEY_DUPLEX, 1.0, ink, 2, cv2.LINE_AA)
    return crop


def test_no_lines(net: ScriptNet) -> None:
    assert net([]).shape == (0, len(CLASSES))


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 70), st.integers(1, 900), st.integers(0, 255))
def test_windows_of_any_size(height: int, width: int, grey: int) -> None:
    windows = to_windows(np.full((height, width, 3), grey, np.uint8))
    assert windows.shape[1:] == (1, HEIGHT, WIDTH) and len(windows) >= 1
    assert windows.dtype == np.float32 and not windows.any()


def test_windows_do_not_depend_on_colours() -> None:
    dark, light = to_windows(written("Total")), to_windows(written("Total", ground=0))
    assert np.abs(dark - light).max() < 0.05
    assert dark.max() == 1 and dark.min() == 0


def test_probabilities_of_a_window_sum_to_one(net: ScriptNet) -> None:
    assert np.exp(net([written("Total")])).sum() == pytest.approx(1, abs=1e-5)


def test_each_line_is_told_by_itself(net: ScriptNet) -> None:
    crops = [written("Total"), written("12.50"), written("A line that takes several windows")]
    assert np.allclose(net(crops), np.concatenate([net([crop]) for crop in crops]), atol=1e-4)


@pytest.mark.parametrize(("text", "expected"), [("Invoice total", LATIN), ("Betrag", LATIN), ("1,250.00", NUMBER)])
def test_latin_and_numbers(net: ScriptNet, text: str, expected: str) -> None:
    assert CLASSES[int(net([written(text)])[0].argmax())] == expected


def test_a_ruling_is_no_text(net: ScriptNet) -> None:
    crop = np.full((30, 100, 3), 255, np.uint8)
    crop[14:16] = 0
    assert CLASSES[int(net([crop])[0].argmax())] == NONE


@pytest.mark.parametrize("path", sorted(PICTURES.glob("line_*.png")), ids=lambda path: path.stem)
def test_lines_in_other_scripts(net: ScriptNet, path: Path) -> None:
    script = path.stem.split("_")[1]
    assert CLASSES[int(net([cv2.imread(str(path))])[0].argmax())] == script


def test_missing_and_damaged_weights_say_what_to_do(tmp_path: Path) -> None:
    damaged = tmp_path / "script.onnx"
    for content in (None, b"", b"no network"):
        if content is not None:
            damaged.write_bytes(content)
        with pytest.raises(ModelNotFoundError, match=r"script\.onnx cannot be opened.*pip install"):
            ScriptNet(damaged)([written("a")])


def test_scripts_of_characters() -> None:
    assert scripts_of([]) == frozenset()
    assert scripts_of("ABC") == frozenset()
    assert scripts_of(SAMPLES["Thai"] + SAMPLES[LATIN]) == {"Thai", LATIN}
    assert SAMPLES.keys() | {NUMBER, NONE} == set(CLASSES)
