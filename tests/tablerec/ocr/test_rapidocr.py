"""RapidOCR with the weights of its wheel, on drawn text."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest

from postprocess.arrays import Image
from postprocess.word import Word
from tablerec.errors import MissingDependencyError, ModelNotFoundError
from tablerec.ocr import rapidocr as backend
from tablerec.ocr.rapidocr import RapidOcrEngine
from tests.helpers.layouts import needs_opencv_5

pytestmark = pytest.mark.skipif(importlib.util.find_spec("rapidocr") is None, reason="needs rapidocr")


@pytest.fixture(scope="module")
def reader() -> RapidOcrEngine:
    """Return one reader for all tests: loading takes most of the time."""
    from rapidocr.utils.download_file import DownloadFile

    def refuse(*_: object) -> None:
        raise AssertionError("a download was tried")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(DownloadFile, "run", refuse)
        reader = RapidOcrEngine(threads=1)
        reader.read(page(40, 100, ("a", 10, 30)))
    return reader


def page(height: int, width: int, *texts: tuple[str, int, int], scale: float = 0.8, ground: int = 255) -> Image:
    image = np.full((height, width, 3), ground, np.uint8)
    ink = (0, 0, 0) if ground > 128 else (255, 255, 255)
    for text, x, baseline in texts:
        cv2.putText(image, text, (x, baseline), cv2.FONT_HERSHEY_SIMPLEX, scale, ink, 2, cv2.LINE_AA)
    return image


def texts(words: list[Word]) -> list[str]:
    return [word.text for word in words]


@pytest.mark.parametrize("shape", [(0, 0, 3), (0, 7, 3), (1, 1, 3), (1, 3000, 3), (3000, 1, 3), (300, 300, 3)])
@pytest.mark.parametrize("value", [0, 127, 255])
def test_nothing_to_read(reader: RapidOcrEngine, shape: tuple[int, int, int], value: int) -> None:
    assert reader.read(np.full(shape, value, np.uint8)) == []


def test_is_silent(reader: RapidOcrEngine, capfd: pytest.CaptureFixture[str]) -> None:
    reader.read(np.zeros((50, 50, 3), np.uint8))
    reader.read(page(50, 120, ("silent", 5, 35)))
    assert capfd.readouterr() == ("", "")


def test_angle_classifier_stays_off_998_is_not_866(reader: RapidOcrEngine) -> None:
    words = reader.read(page(120, 300, ("998", 20, 40), ("866", 180, 40), ("699", 20, 100), ("1998", 180, 100)))
    assert sorted(texts(words)) == ["1998", "699", "866", "998"]


@pytest.mark.parametrize("ground", [0, 255])
def test_single_digits_of_a_picture_cut_to_the_text(reader: RapidOcrEngine, ground: int) -> None:
    places = [(digit, 3 + 70 * (int(digit) % 5), 22 + 40 * (int(digit) // 5)) for digit in "0123456789"]
    words = reader.read(page(66, 306, *places, ground=ground))
    found = {word.text: word.quad[0] for word in words}
    assert sorted(found) == list("0123456789")
    for digit, x, _ in places:
        assert abs(found[digit][0] - x) < 12


def test_text_upwards_and_downwards(reader: RapidOcrEngine) -> None:
    flat = page(40, 200, ("Quantity", 20, 30))
    for turns, top_left in ((1, "bottom"), (3, "top")):
        (word,) = reader.read(np.ascontiguousarray(np.rot90(flat, turns)))
        (x0, y0), (x1, y1) = word.quad[0], word.quad[1]
        assert word.text == "Quantity"
        assert abs(y1 - y0) > 3 * abs(x1 - x0)
        assert (y0 > y1) == (top_left == "bottom")


@needs_opencv_5
def test_characters_stand_where_they_are_drawn(reader: RapidOcrEngine) -> None:
    (word,) = reader.read(page(60, 420, ("120 450", 20, 40)))
    assert word.char_spans is not None
    assert len(word.char_spans) == len(word.text)
    left, right = word.quad[0][0], word.quad[1][0]
    start = 20
    for char, (a, b) in zip(word.text, word.char_spans, strict=True):
        (width, _), _ = cv2.getTextSize(char, cv2.FONT_HERSHEY_SIMPLEX, 0.8, 2)
        if char != " ":
            assert abs(left + (a + b) / 2 * (right - left) - (start + width / 2)) < 9
        start += width


def test_words_lie_inside_the_picture(reader: RapidOcrEngine) -> None:
    image = page(22, 150, ("Edge text", 0, 20))
    for word in reader.read(image):
        assert all(0 <= x <= 150 and 0 <= y <= 22 for x, y in word.quad)


@needs_opencv_5
def test_page_with_more_words_than_the_default_of_1000(reader: RapidOcrEngine) -> None:
    image = page(1000, 1400)
    for row in range(33):
        for col in range(35):
            cv2.putText(image, "47", (8 + 40 * col, 22 + 30 * row), cv2.FONT_HERSHEY_SIMPLEX, 0.6, (0, 0, 0), 2)
    assert len(reader.detect(image[:992, :1376])) > 1000


@needs_opencv_5
def test_second_look_reads_single_characters(reader: RapidOcrEngine) -> None:
    image = page(60, 300, ("1", 20, 40), ("-", 120, 40), ("7", 220, 40))
    boxes = [(16, 12, 44, 48), (118, 20, 146, 44), (216, 12, 244, 48), (60, 10, 100, 50)]
    quads = np.array([[(a, b), (c, b), (c, d), (a, d)] for a, b, c, d in boxes], float)
    words = reader.read_quads(image, quads)
    assert [text.replace("–", "-") for text in texts(words)] == ["1", "-", "7"]
    assert all(abs(word.quad[0][0] - x) < 12 for word, x in zip(words, (20, 120, 220), strict=True))


def test_missing_weights_say_what_and_how(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backend, "WEIGHTS", {"Det": "no_such.onnx"})
    with pytest.raises(ModelNotFoundError, match=r"no_such\.onnx.*pip install"):
        RapidOcrEngine().read(page(40, 40))


def test_missing_package_says_how_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(MissingDependencyError, match="rapidocr"):
        RapidOcrEngine().read(page(40, 40))


@pytest.fixture
def on_card() -> Iterator[tuple[RapidOcrEngine, list[tuple[str, tuple[int, ...]]]]]:
    """A reader that takes the CPU for a card, and the shapes that its networks see."""
    pytest.importorskip("onnx")
    from tablerec.models.opening import NetworkFile, open_with
    from tablerec.models.opening.card import NETWORKS, open_batched

    seen: list[tuple[str, tuple[int, ...]]] = []

    def open_here(file: NetworkFile) -> Any:
        network = open_batched(file, NETWORKS[file.name], {}, "CPUExecutionProvider")
        return lambda images: (seen.append((file.name, images.shape)), network(images))[1]

    open_with(open_here)
    yield RapidOcrEngine(threads=1, device="gpu:0"), seen
    open_with(None)


def test_on_a_card_the_same_is_read_in_few_shapes(
    reader: RapidOcrEngine, on_card: tuple[RapidOcrEngine, list[tuple[str, tuple[int, ...]]]]
) -> None:
    engine, seen = on_card
    assert engine.recognize([]) == []
    texts = ["47", "Total amount", "12.5", "A longer line of text, from left to right", "998", "7"]
    crops = [page(40, 30 + 15 * len(text), (text, 5, 30)) for text in texts]
    lines = engine.recognize(crops)
    expected = reader.recognize(crops)
    assert [line.text for line in lines] == [line.text for line in expected] == texts
    assert [len(line.char_spans or ()) for line in lines] == [len(line.char_spans or ()) for line in expected]
    assert engine.characters == reader.characters and engine.reads == reader.reads
    assert [line.score for line in lines] == pytest.approx([line.score for line in expected], abs=1e-3)
    assert seen and all(shape[2] == 48 and shape[3] in backend.WIDTHS for _, shape in seen)


def test_on_a_card_more_crops_of_a_width_are_read_at_once(
    reader: RapidOcrEngine, on_card: tuple[RapidOcrEngine, list[tuple[str, tuple[int, ...]]]]
) -> None:
    engine, seen = on_card
    crops = [page(40, 60, (f"{number}", 5, 30)) for number in range(20, 55)]
    lines, expected = engine.recognize(crops), reader.recognize(crops)
    assert [line.text for line in lines] == [line.text for line in expected]
    assert [line.score for line in lines] == pytest.approx([line.score for line in expected], abs=1e-4)
    assert [shape[0] for _, shape in seen] == [32, 3]


def test_crops_are_read_as_rapidocr_itself_reads_them(reader: RapidOcrEngine) -> None:
    from rapidocr.ch_ppocr_rec import TextRecInput

    crops = [page(40, 40 + 15 * len(text), (text, 5, 30)) for text in ["12.5 kg", "Total", "n. s.", "-7", ""] * 2]
    tailed = [backend._with_tail(crop) for crop in crops]
    width = 320
    assert max(crop.shape[1] for crop in tailed) < width
    found = reader._read(tailed, width)
    asked = TextRecInput(img=[backend._fill_up(crop, width) for crop in tailed], return_word_box=True)
    expected = reader.load().text_rec(asked)
    assert [each.text for each in found] == list(expected.txts)
    assert [each.score for each in found] == list(expected.scores)
    columns = [[column for word in info.word_cols for column in word] for info in expected.word_results]
    assert [each.columns for each in found] == columns
    assert [each.n_columns for each in found] == pytest.approx([info.line_txt_len for info in expected.word_results])


def test_a_crop_is_read_alike_whatever_is_read_with_it(reader: RapidOcrEngine) -> None:
    texts = ["Il", "1l|", "Cl 12.5", "A longer line of text, from left to right", "S0,0", "7"]
    crops = [page(40, 20 + 15 * len(text), (text, 5, 30)) for text in texts]
    together = reader.recognize(crops)
    alone = [line for crop in crops for line in reader.recognize([crop])]
    assert [line.text for line in together] == [line.text for line in alone]
    assert [line.score for line in together] == pytest.approx([line.score for line in alone], abs=1e-4)


def test_on_a_card_the_same_lines_are_found(
    reader: RapidOcrEngine, on_card: tuple[RapidOcrEngine, list[tuple[str, tuple[int, ...]]]]
) -> None:
    engine, seen = on_card
    image = page(100, 400, ("Upper line", 20, 40), ("lower", 200, 80))
    assert texts(engine.read(image)) == texts(reader.read(image)) == ["Upper line", "lower"]
    found = [shape[2:] for name, shape in seen if name == "PP-OCR det"]
    assert found and all(side in backend.SIDES for shape in found for side in shape)
