"""Tables where a layout model says: a stand-in for the model, and PaddleX's machinery with fixed answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from postprocess.arrays import Image
from postprocess.candidates.candidate import Candidate
from postprocess.geometry.boxes import array_to_quad, boxes_to_quads
from postprocess.word import Word
from tablerec import paddlex_support
from tablerec.config import Settings
from tablerec.detect.factory import make_detector
from tablerec.detect.regions import MODELS, LayoutModel, RegionDetector, detections_to_boxes
from tablerec.errors import SettingsError
from tablerec.paddlex_support import Runtime
from tests.helpers.candidates import candidate_of
from tests.helpers.models.paddlex_models import needs_paddlex, save_detector

IMAGE = np.arange(100 * 300 * 3, dtype=np.uint32).astype(np.uint8).reshape(100, 300, 3)


class Whole:
    """Finds one cell, the whole picture, with a rival of half its width; keeps what it was given."""

    name = "whole"

    def __init__(self) -> None:
        self.given: list[tuple[Image, Sequence[Word]]] = []

    def detect(self, image: Image, words: Sequence[Word]) -> list[Candidate]:
        self.given.append((image, words))
        height, width = image.shape[:2]
        rival = candidate_of([[0, 0, width / 2, height]], "rival", 0.5)
        return [replace(candidate_of([[0, 0, width, height]], self.name), rivals=(rival,))]


class FakeLayout:
    """Stands for ``create_model`` and the model."""

    def __init__(self, *boxes: tuple[str, float, list[float]]) -> None:
        self.boxes = boxes

    def __call__(self, *_: Any) -> FakeLayout:
        return self

    def predict(self, image: Image) -> Any:
        keys = ("label", "score", "coordinate")
        yield {"boxes": [dict(zip(keys, box, strict=True)) for box in self.boxes]}


def detect(monkeypatch: pytest.MonkeyPatch, *boxes: tuple[str, float, list[float]], words: Sequence[Word] = ()) -> Any:
    monkeypatch.setattr(paddlex_support, "create_model", FakeLayout(*boxes))
    inner = Whole()
    return RegionDetector(inner, LayoutModel(MODELS[0])).detect(IMAGE, words), inner


def word(x: float, y: float) -> Word:
    return Word("w", array_to_quad(boxes_to_quads([[x, y, x + 20, y + 10]])[0]))


def test_no_table_is_no_region(monkeypatch: pytest.MonkeyPatch) -> None:
    assert detect(monkeypatch)[0] == []
    assert detect(monkeypatch, ("text", 0.9, [0, 0, 50, 50]))[0] == []


def test_an_empty_picture_asks_no_model() -> None:
    assert RegionDetector(Whole(), LayoutModel(MODELS[0])).detect(np.zeros((0, 5, 3), np.uint8), []) == []


def test_regions_come_from_anything() -> None:
    boxes = np.array([[150, 60, 290, 95], [9.5, 5, 100, 40.2], [np.nan, 0, 9, 9], [20, 20, 20, 30], [0, -9, 50, -1]])
    found = RegionDetector(Whole(), lambda image, words: boxes).detect(IMAGE, [])
    assert [each.quads[0, [0, 2]].tolist() for each in found] == [[[9, 5], [100, 41]], [[150, 60], [290, 95]]]
    assert detections_to_boxes(found).tolist() == [[9, 5, 100, 41], [150, 60, 290, 95]]


def test_each_table_is_looked_at_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    boxes = ("Table", 0.9, [150, 60, 290, 95]), ("table", 0.8, [10, 5, 100, 40])
    words = [word(20, 10), word(160, 70), word(110, 50)]
    found, inner = detect(monkeypatch, *boxes, words=words)
    # Half the height of the words around each, from top to bottom.
    assert [each.quads[0, [0, 2]].tolist() for each in found] == [[[5, 0], [105, 45]], [[145, 55], [295, 100]]]
    assert found[0].rivals[0].quads[0, 0].tolist() == [5, 0]
    for (image, own), (x0, y0, x1, y1), expected in zip(
        inner.given, [(5, 0, 105, 45), (145, 55, 295, 100)], [(15, 10), (15, 15)], strict=True
    ):
        assert (image == IMAGE[y0:y1, x0:x1]).all()
        assert [each.quad[0] for each in own] == [expected]


def test_a_region_on_a_better_one_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    found, _ = detect(monkeypatch, ("table", 0.6, [10, 10, 60, 60]), ("table", 0.9, [10, 10, 200, 90]))
    assert [each.quads[0, 2].tolist() for each in found] == [[200, 90]]


@given(boxes=st.lists(st.lists(st.floats(-50, 400), min_size=4, max_size=4), max_size=6))
def test_any_regions_stay_inside_the_picture(boxes: list[list[float]]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        _, inner = detect(patch, *[("table", 0.9, box) for box in boxes])
    assert all(image.size for image, _ in inner.given)
    assert len(inner.given) <= len(boxes)


def test_unknown_layout_models_list_the_names() -> None:
    with pytest.raises(SettingsError, match="PP-DocLayout-S"):
        make_detector(Settings(layout_model="nonsense"))


@needs_paddlex
@pytest.mark.filterwarnings("ignore")
def test_paddlex_runs_a_layout_model_from_a_folder(tmp_path: Path) -> None:
    paddlex_support.import_paddlex()
    boxes = [[0, 0.9, 0, 0, 50, 5], [1, 0.9, 20, 20, 180, 90], [1, 0.8, 22, 20, 180, 80]]
    save_detector(tmp_path, "PP-DocLayout-L", boxes, "[text, table]")
    detector = RegionDetector(Whole(), LayoutModel("PP-DocLayout-L", Runtime(models_dir=tmp_path)))
    (found,) = detector.detect(IMAGE, [])
    assert found.quads[0, [0, 2]].tolist() == [[20, 20], [180, 90]]
