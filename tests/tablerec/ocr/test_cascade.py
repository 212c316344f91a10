"""The cascade: which lines are read again, and which of two readings counts."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

import cv2
import numpy as np
import pytest

from postprocess.arrays import Image
from tablerec.errors import MissingDependencyError
from tablerec.ocr.cascade import CascadeEngine, choose_line
from tablerec.ocr.line import Line
from tablerec.ocr.lines import read_crops

KNOWN = frozenset("abcdefghijklmnopqrstuvwxyz0123456789 口")
SURE, DOUBTFUL = 0.999, 0.5


class Said:
    """An OCR engine that says of each crop what is noted for the brightness of its middle."""

    def __init__(self, lines: dict[int, Line]) -> None:
        self.lines = lines
        self.asked: list[int] = []
        self.characters = KNOWN
        self.reads: frozenset[str] = frozenset()
        self.is_loaded = False
        self.sides = (32,)

    def load(self) -> None:
        self.is_loaded = True

    def find(self, image: Image) -> np.ndarray:
        return np.zeros((0, 4, 2), np.float32)

    def detect(self, image: Image) -> np.ndarray:
        x, y, width, height = cv2.boundingRect((image.min(axis=2) < 99).astype(np.uint8))
        return np.array([[[x, y], [x + width, y], [x + width, y + height], [x, y + height]]], np.float32)

    def recognize(self, crops: Sequence[Image]) -> list[Line]:
        keys = [int(crop[crop.shape[0] // 2, crop.shape[1] // 2, 0]) for crop in crops]
        self.asked += keys
        return [self.lines.get(key, Line("", SURE)) for key in keys]


def crop(key: int, height: int = 24, width: int = 90) -> Image:
    return np.full((height, width, 3), key, np.uint8)


def cascade(first: dict[int, Line], second: dict[int, Line] | None = None) -> tuple[CascadeEngine, Said]:
    slow = Said(second or {})
    fast: Any = Said(first)
    return CascadeEngine(fast, lambda: slow), slow  # type: ignore[arg-type, return-value]


def read(engine: CascadeEngine, *crops: Image) -> list[str]:
    quads = np.array([[[0, 0], [90, 0], [90, 24], [0, 24]]] * len(crops), np.float32)
    return [word.text for word in read_crops(engine, crops, quads)]


def test_nothing() -> None:
    engine, slow = cascade({})
    assert engine.check([], []) == [] and engine.read(np.zeros((0, 0, 3), np.uint8)) == []
    assert engine.read(np.full((60, 90, 3), 200, np.uint8)) == []
    assert not slow.is_loaded


def test_sure_lines_do_not_load_the_slow_engine() -> None:
    engine, slow = cascade({1: Line("total", SURE), 2: Line("", SURE)})
    assert read(engine, crop(1), crop(2)) == ["total"]
    assert not slow.is_loaded


def test_lines_in_doubt_are_read_again_and_the_surer_reading_counts() -> None:
    engine, slow = cascade(
        {1: Line("total", SURE), 2: Line("tota1", DOUBTFUL), 3: Line("sum", 0.9), 4: Line("", 0.2)},
        {2: Line("total", 0.999), 3: Line("surn", 0.3), 4: Line("12", 0.999)},
    )
    assert read(engine, crop(1), crop(2), crop(3), crop(4)) == ["total", "total", "sum", "12"]
    assert slow.asked == [2, 3, 4]


def test_a_long_line_in_a_script_that_the_slow_engine_lacks_stays_whatever_its_score() -> None:
    """No character of it can be right in the other reading: 40 doubtful ones are not all wrong."""
    russian = Line("Поставщик оборудования, дом № 1, Москва ", 0.8)
    assert choose_line(russian, Line("1", 0.99), frozenset("1, №")) is russian


def test_signs_that_the_slow_engine_lacks_are_left_to_the_fast_one() -> None:
    """PP-OCR takes a box with a cross for a Chinese character, and is sure of it."""
    for text in ("☒ yes", "да", "10⁻³", "5–7"):
        score = 0.93
        assert choose_line(Line(text, score), Line("口 yes", 0.97), KNOWN).text == text
    assert choose_line(Line("да", 0.3), Line("da", 0.999), KNOWN).text == "da"


def test_print_smaller_than_any_in_training_is_read_again_however_sure() -> None:
    """In letters of 8 px LineNet took o for a, and lost decimal points, with high scores."""
    engine, slow = cascade({1: Line("tatal", SURE), 2: Line("total", SURE)}, {1: Line("total", 0.999)})
    assert read(engine, crop(1, height=10), crop(2)) == ["total", "total"]
    assert slow.asked == [1]


def test_dashes_are_the_fast_engines_where_both_see_as_many() -> None:
    known = KNOWN | frozenset("-–S")
    assert choose_line(Line("S0–60", 0.8), Line("50-60", 0.99), known).text == "50–60"
    assert choose_line(Line("S0–60", 0.8), Line("50--60", 0.99), known).text == "50--60"


def test_the_score_stays_on_the_scale_of_characters() -> None:
    chosen = choose_line(Line("x" * 30, DOUBTFUL), Line("y" * 30, 0.99), KNOWN)
    assert chosen.text == "y" * 30 and 0.9 < chosen.score <= 1


def test_only_the_chosen_direction_of_a_tall_crop_is_read_again() -> None:
    tall = np.zeros((90, 24, 3), np.uint8) + 7
    engine, slow = cascade({7: Line("total", DOUBTFUL)}, {7: Line("total", 0.999)})
    assert read(engine, tall) == ["total"]
    assert slow.asked == [7]


def test_a_picture_in_which_no_line_was_found_gets_another_look() -> None:
    picture = np.full((64, 200, 3), 255, np.uint8)
    cv2.rectangle(picture, (20, 20), (180, 44), (9, 9, 9), -1)
    engine, _ = cascade({9: Line("total", SURE)})
    assert [word.text for word in engine.read(picture)] == ["total"]


def test_without_the_slow_engine_the_fast_one_works_alone_and_says_so_once(caplog: pytest.LogCaptureFixture) -> None:
    def missing() -> Any:
        raise MissingDependencyError("rapidocr is not installed: run pip install rapidocr")

    engine = CascadeEngine(Said({1: Line("tota1", DOUBTFUL)}), missing)  # type: ignore[arg-type]
    with caplog.at_level(logging.WARNING, "tablerec"):
        assert [read(engine, crop(1)) for _ in range(3)] == [["tota1"]] * 3
    [message] = caplog.messages
    assert "not read again: rapidocr is not installed: run pip" in message
