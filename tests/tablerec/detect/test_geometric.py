from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from postprocess.candidates.candidate import Candidate
from postprocess.geometry.boxes import array_to_quad, quads_to_boxes
from postprocess.word import Word
from tablerec.config import Settings
from tablerec.detect.factory import make_detector
from tablerec.detect.geometric import GeometricDetector
from tests.helpers.layouts import (
    Layout,
    draw_borders,
    draw_layout,
    even_layout,
    make_word,
    plain_table,
    rows_to_words,
    turn_image,
    turn_word,
    write,
)

NAMES = ["auto", "rulings", "words"]
ROWS = [["Item", "2024", "2025"], ["Sales", "1,234", "12"], ["Cost", "9", "1,000"], ["Net", "77", "8"]]
PLAIN = even_layout(plain_table(4, 3), 100, 30, 40, 40)


def detect(name: str, image: np.ndarray, words: list[Word], layout: str = "page") -> list[Candidate]:
    found = GeometricDetector(name, layout).detect(image, words)
    for detection in found:
        assert detection.quads.shape == (len(detection.scores), 4, 2) and len(detection.quads) > 0
        assert np.isfinite(detection.quads).all()
        assert ((detection.scores >= 0) & (detection.scores <= 1) | ~detection.is_detected).all()
    tops = [detection.top for detection in found]
    assert tops == sorted(tops)
    return found


def blank(height: int = 400, width: int = 600) -> np.ndarray:
    return np.full((height, width, 3), 255, np.uint8)


def shape_of(candidate: Candidate) -> tuple[int, int]:
    n_rows, n_cols = candidate.to_table().shape
    return n_rows, n_cols


def draw_words(image: np.ndarray, words: list[Word]) -> np.ndarray:
    """Draw the words where they are, as an OCR engine would have seen them."""
    for word in words:
        (x, y), _, (x1, y1), _ = word.quad
        size = cv2.getTextSize(word.text, cv2.FONT_HERSHEY_SIMPLEX, 0.4, 1)[0]
        ink = np.full((size[1] + 6, size[0], 3), 255, np.uint8)
        cv2.putText(ink, word.text, (0, size[1] + 1), cv2.FONT_HERSHEY_SIMPLEX, 0.4, (0, 0, 0), 1, cv2.LINE_AA)
        image[int(y) : int(y1), int(x) : int(x1)] = cv2.resize(ink, (int(x1) - int(x), int(y1) - int(y)))
    return image


def ruled(layout: Layout = PLAIN, thickness: int = 2) -> tuple[np.ndarray, list[Word]]:
    image = cv2.cvtColor(draw_layout(layout, thickness, margin=40), cv2.COLOR_GRAY2BGR)
    quads = write(image, layout, (0, 0, 0), text="{}.5")
    return image, [Word(f"{i}.5", array_to_quad(quad)) for i, quad in enumerate(quads)]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("layout", ["page", "table"])
@pytest.mark.parametrize("shape", [(1, 1, 3), (2, 2, 3), (3, 900, 3), (200, 200, 3)])
@pytest.mark.parametrize("value", [0, 255])
def test_nothing_in_a_blank_picture(name: str, layout: str, shape: tuple[int, int, int], value: int) -> None:
    assert detect(name, np.full(shape, value, np.uint8), [], layout) == []


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("layout", ["page", "table"])
def test_words_without_text_or_outside_the_picture_are_no_table_on_a_page(name: str, layout: str) -> None:
    words = [make_word("", 10, 10), make_word("  ", 50, 10), make_word("far", 5000, 5000), make_word("left", -400, -90)]
    found = detect(name, blank(60, 90), words, layout)
    # Who says that the picture is one table gets one, with what was read.
    assert len(found) == int(layout == "table" and name != "rulings")


@settings(max_examples=20)
@given(st.sampled_from(NAMES), st.sampled_from(["page", "table"]), st.integers(0, 2**32 - 1))
def test_whatever_is_in_the_picture_cells_lie_in_it_or_around_words(name: str, layout: str, seed: int) -> None:
    random = np.random.default_rng(seed)
    image = random.integers(0, 256, (*random.integers(1, 80, 2), 3), np.uint8)
    texts = random.choice(["a", "12", "", "Total", "$"], 6)
    words = [make_word(text, *random.uniform(-10, 90, 2)) for text in texts]
    corners = np.array([word.quad for word in words]).reshape(-1, 2)
    low, high = np.minimum(corners.min(axis=0), 0), np.maximum(corners.max(axis=0), image.shape[1::-1])
    for detection in detect(name, image, words, layout):
        assert (detection.quads >= low - 20).all() and (detection.quads <= high + 20).all()


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("layout", ["page", "table"])
def test_ruled_table(name: str, layout: str) -> None:
    image, words = ruled()
    [found] = detect(name, image, words, layout)
    assert shape_of(found) == (4, 3)
    assert found.detector == ("words" if name == "words" else "rulings")


def test_rulings_need_no_reader() -> None:
    image, _ = ruled()
    for name in ("auto", "rulings"):
        [found] = detect(name, image, [])
        assert shape_of(found) == (4, 3)


@pytest.mark.parametrize("name", ["auto", "words"])
@pytest.mark.parametrize("layout", ["page", "table"])
def test_lineless_table(name: str, layout: str) -> None:
    words = rows_to_words(ROWS, [40, 240, 320], "lrr")
    [found] = detect(name, draw_words(blank(), words), words, layout)
    assert (found.detector, shape_of(found)) == ("words", (4, 3))
    assert detect("rulings", draw_words(blank(), words), words, layout) == []


def test_auto_takes_the_words_where_the_rulings_explain_little() -> None:
    words = rows_to_words(ROWS, [60, 260, 340], "lrr", top=60)
    image = draw_words(blank(), words)
    draw_borders(image, np.array([[40.0, 45, 380, 160]]), 2)
    [found] = detect("auto", image, words)
    assert (found.detector, shape_of(found)) == ("words", (4, 3))
    [found] = detect("rulings", image, words)
    assert len(found.quads) == 1


def test_auto_keeps_the_rulings_of_a_frame_with_prose() -> None:
    words = [make_word("a few words of running text", 60, 60 + 16 * line) for line in range(4)]
    image = draw_words(blank(), words)
    draw_borders(image, np.array([[40.0, 45, 380, 140]]), 2)
    [found] = detect("auto", image, words)
    assert (found.detector, len(found.quads)) == ("rulings", 1)


def test_the_edge_of_a_page_around_a_ruled_table_is_no_table() -> None:
    image = cv2.cvtColor(draw_layout(PLAIN), cv2.COLOR_GRAY2BGR)
    image = cv2.copyMakeBorder(image, 40, 40, 40, 40, cv2.BORDER_CONSTANT, value=(255, 255, 255))
    height, width = image.shape[:2]
    page = cv2.copyMakeBorder(image, 30, 30, 30, 30, cv2.BORDER_CONSTANT, value=(60, 60, 60))
    words = [make_word("a word", box[0] + 80, box[1] + 80) for box in PLAIN.boxes.tolist()]
    [found] = detect("auto", draw_words(page, words), words)
    assert (found.detector, shape_of(found)) == ("rulings", (4, 3))
    low, high = found.quads.min(axis=(0, 1)), found.quads.max(axis=(0, 1))
    assert (low > 40).all() and (high < [width + 20, height + 20]).all()


def test_auto_keeps_drawn_columns_where_a_gap_between_second_numbers_explains_little_more() -> None:
    layout = even_layout(plain_table(12, 14), 110, 24, 20, 20)
    image = cv2.cvtColor(draw_layout(layout), cv2.COLOR_GRAY2BGR)
    words = []
    for (x0, y0, _, _), cell in zip(layout.boxes, layout.table.cells, strict=True):
        # In most columns second numbers follow close behind first ones that begin anywhere, in one they stand apart.
        start = 8 if cell.col == 13 else 8 + 7 * (cell.row * 5 % 7)
        words.append(make_word(f"{10 + cell.row}.{cell.col % 10}", x0 + start, y0 + 7))
        if cell.col > 5:
            words.append(make_word(f"({cell.row % 10}.5)", x0 + (70 if cell.col == 13 else start + 29), y0 + 7))
    [found] = detect("auto", draw_words(image, words), words)
    assert (found.detector, shape_of(found)) == ("rulings", (12, 14))


def test_ruled_and_lineless_table_on_one_page() -> None:
    image = blank(500, 500)
    part = even_layout(plain_table(4, 3), 100, 30, 40, 250)
    draw_borders(image, part.boxes, 2)
    quads = write(image, part, (0, 0, 0), text="{}.5")
    words = rows_to_words(ROWS, [40, 240, 320], "lrr")
    draw_words(image, words)
    words += [Word(f"{i}.5", array_to_quad(quad)) for i, quad in enumerate(quads)]
    upper, lower = detect("auto", image, words)
    assert [upper.detector, lower.detector] == ["words", "rulings"]
    assert [shape_of(upper), shape_of(lower)] == [(4, 3), (4, 3)]
    assert quads_to_boxes(upper.quads)[:, 3].max() < quads_to_boxes(lower.quads)[:, 1].min()


def test_prose_is_no_table_on_a_page() -> None:
    words = [make_word("the quick brown fox jumps over the lazy dog", 30, 30 + 16 * line) for line in range(10)]
    for name in NAMES:
        assert detect(name, draw_words(blank(), words), words) == []


@pytest.mark.parametrize("degrees", [-4, 1.5, 4])
@pytest.mark.parametrize("name", ["auto", "rulings"])
def test_tilted_ruled_table(name: str, degrees: float) -> None:
    layout = even_layout(plain_table(4, 3), 100, 30, 60, 60)
    image, words = ruled(layout)
    turned = turn_image(image, degrees)
    center = (image.shape[1] / 2, image.shape[0] / 2)
    [found] = detect(name, turned, [turn_word(word, degrees, center) for word in words])
    assert shape_of(found) == (4, 3)
    middles = found.quads.mean(axis=1)
    expected = turn_word(
        Word("", array_to_quad(np.array([[90.0, 75], [130, 75], [130, 75], [90, 75]]))), degrees, center
    )
    assert np.linalg.norm(middles - np.mean(expected.quad, axis=0), axis=1).min() < 3


def test_dark_ground() -> None:
    image, words = ruled()
    [found] = detect("auto", 255 - image, words)
    assert (found.detector, shape_of(found)) == ("rulings", (4, 3))


def test_same_answer_twice_and_the_picture_is_left_alone() -> None:
    image, words = ruled()
    before = image.copy()
    detector = GeometricDetector("auto")
    first, second = detector.detect(image, words), detector.detect(image, words)
    assert np.array_equal(first[0].quads, second[0].quads)
    assert np.array_equal(image, before)


@pytest.mark.parametrize("name", NAMES)
def test_made_from_settings_by_name(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tablerec.detect.factory.WEIGHTS", tmp_path)  # with weights, auto is a combination
    detector = make_detector(Settings(detector=name, layout="table"))
    assert isinstance(detector, GeometricDetector)
    assert (detector.name, detector.layout) == (name, "table")
