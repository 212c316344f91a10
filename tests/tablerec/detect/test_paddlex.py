"""PaddleX's cell detectors: a stand-in for the model, and PaddleX's own machinery with a tiny network."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tablerec import paddlex_support
from tablerec.config import Settings
from tablerec.detect import make_detector
from tablerec.detect.paddlex import MOST_CELLS, OFFICIAL, PaddleXDetector
from tablerec.errors import ModelNotFoundError, SettingsError
from tests.tablerec.paddlex_models import make_boxes_model

HAS_PADDLEX = importlib.util.find_spec("paddlex") is not None and importlib.util.find_spec("paddle") is not None
IMAGE = np.full((100, 300, 3), 255, np.uint8)
INFERENCE_YML = """
Global: {model_name: RT-DETR-L_wired_table_cell_det}
mode: paddle
draw_threshold: 0.5
arch: DETR
label_list: [cell]
Preprocess:
- {type: Resize, interp: 2, keep_ratio: false, target_size: [640, 640]}
- {type: NormalizeImage, mean: [0, 0, 0], std: [1, 1, 1], norm_type: none}
- {type: Permute}
"""


class FakeModel:
    """Stands for ``create_model`` and for the model: answers with the boxes it was given."""

    def __init__(self) -> None:
        self.boxes: list[tuple[list[float], float]] = []
        self.created: list[tuple[Any, ...]] = []
        self.thresholds: list[Any] = []

    def __call__(self, *args: Any) -> FakeModel:
        self.created.append(args)
        return self

    def predict(self, image: np.ndarray, threshold: Any) -> Any:
        self.thresholds.append(threshold)
        yield {"boxes": [{"coordinate": box, "score": score, "label": "cell"} for box, score in self.boxes]}


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> FakeModel:
    """Return the stand-in, in place."""
    fake = FakeModel()
    monkeypatch.setattr(paddlex_support, "create_model", fake)
    return fake


def test_no_cells(model: FakeModel) -> None:
    assert PaddleXDetector(OFFICIAL[0]).detect(IMAGE, []) == []


def test_empty_picture_loads_no_model(model: FakeModel) -> None:
    assert PaddleXDetector(OFFICIAL[0]).detect(np.zeros((0, 0, 3), np.uint8), []) == []
    assert model.created == []


def test_boxes_become_quads(model: FakeModel) -> None:
    model.boxes = [([10, 20, 110, 60], 0.9), ([110, 20, 210, 60], 0.8)]
    (found,) = PaddleXDetector(OFFICIAL[1], device="gpu:0").detect(IMAGE, [])
    assert found.quads.dtype == found.scores.dtype == np.float64
    assert found.quads[0].tolist() == [[10, 20], [110, 20], [110, 60], [10, 60]]
    assert found.scores.tolist() == [0.9, 0.8]
    assert found.detector == OFFICIAL[1]
    assert model.created == [(OFFICIAL[1], None, "gpu:0")]


def test_boxes_are_clipped_and_those_without_area_left_out(model: FakeModel) -> None:
    model.boxes = [([-5, -5, 400, 50], 0.9), ([310, 0, 320, 10], 0.9), ([50, 50, 50, 60], 0.9), ([60, 60, 50, 50], 0.9)]
    (found,) = PaddleXDetector(OFFICIAL[0]).detect(IMAGE, [])
    assert found.quads.tolist() == [[[0, 0], [300, 0], [300, 50], [0, 50]]]


@pytest.mark.parametrize("threshold", [0, 1, 0.5])
def test_threshold_holds_whatever_its_type(model: FakeModel, threshold: float) -> None:
    model.boxes = [([0, 0, 10, 10], 0.4), ([10, 0, 20, 10], 0.5), ([20, 0, 30, 10], 1.0)]
    (found,) = PaddleXDetector(OFFICIAL[0], threshold=threshold).detect(IMAGE, [])
    assert len(found.scores) == {0: 3, 1: 1, 0.5: 2}[threshold]
    assert isinstance(model.thresholds[0], float)


def test_paddlex_3591_more_than_300_cells_is_told(model: FakeModel) -> None:
    model.boxes = [
        ([index % 20 * 10, index // 20 * 5, index % 20 * 10 + 9, index // 20 * 5 + 4], 0.9) for index in range(300)
    ]
    with pytest.warns(UserWarning, match=f"returned {MOST_CELLS} cells"):
        PaddleXDetector(OFFICIAL[0]).detect(IMAGE, [])


def test_model_is_loaded_once(model: FakeModel) -> None:
    detector = PaddleXDetector(OFFICIAL[0])
    detector.detect(IMAGE, [])
    detector.detect(IMAGE, [])
    assert len(model.created) == 1


@pytest.mark.parametrize("name", ["", "wired", "RT-DETR-L", "auto"])
def test_unknown_name_lists_the_names(name: str) -> None:
    with pytest.raises(SettingsError, match=rf"auto, rulings, words, cellnet, {OFFICIAL[0]} or {OFFICIAL[1]}"):
        PaddleXDetector(name)


@pytest.mark.parametrize("threshold", [-0.1, 1.1, float("nan")])
def test_threshold_outside_its_range(threshold: float) -> None:
    with pytest.raises(SettingsError, match="from 0 to 1"):
        PaddleXDetector(OFFICIAL[0], threshold=threshold)


def test_folder_holds_the_name(model: FakeModel, tmp_path: Path) -> None:
    (tmp_path / "inference.yml").write_text(INFERENCE_YML, encoding="utf-8")
    detector = make_detector(Settings(detector="auto", detector_dir=tmp_path))
    assert detector.name == OFFICIAL[0]
    detector.detect(IMAGE, [])
    assert model.created == [(OFFICIAL[0], tmp_path, "cpu")]


@pytest.mark.parametrize(
    "content", [None, b"", b"[]", b"Global: {}", b"Global: 5", b"a: [", b"\xff\xfe", b"!!python/name:os.system"]
)
def test_folder_without_a_usable_inference_yml(tmp_path: Path, content: bytes | None) -> None:
    if content is not None:
        (tmp_path / "inference.yml").write_bytes(content)
    with pytest.raises(ModelNotFoundError, match=r"inference\.yml"):
        PaddleXDetector("any", tmp_path)


@pytest.mark.skipif(not HAS_PADDLEX, reason="needs the paddle extra")
@pytest.mark.filterwarnings("ignore")
def test_paddlex_runs_a_model_from_a_folder(tmp_path: Path) -> None:
    paddlex_support.import_paddlex()
    cells = [[10, 20, 110, 60], [110, 20, 210, 60], [0, 0, 5, 5]]
    make_boxes_model(tmp_path, cells, scores=[0.9, 0.4, 0.2])
    (found,) = PaddleXDetector("mine", tmp_path).detect(IMAGE, [])
    assert np.allclose(found.quads[:, 0], [[10, 20], [110, 20]])
    assert np.allclose(found.scores, [0.9, 0.4])
