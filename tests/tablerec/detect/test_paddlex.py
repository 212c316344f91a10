"""PaddleX's cell detectors: a stand-in for the model, and PaddleX's own machinery with a tiny network."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from postprocess.arrays import Image
from postprocess.geometry.boxes import quads_to_boxes
from tablerec import paddlex_support
from tablerec.config import Settings
from tablerec.detect.combined import CombinedDetector
from tablerec.detect.factory import make_detector
from tablerec.detect.paddlex import BOTH, CLASSIFIER, MOST_CELLS, OFFICIAL, PaddleXDetector
from tablerec.errors import MissingDependencyError, ModelNotFoundError, SettingsError
from tablerec.paddlex_support import Runtime
from tests.helpers.models.paddlex_models import needs_paddlex, save_classifier, save_detector, save_rtdetr

IMAGE = np.full((100, 300, 3), 255, np.uint8)


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
    runtime = Runtime("gpu:0", "onnxruntime")
    (found,) = PaddleXDetector(OFFICIAL[1], runtime=runtime).detect(IMAGE, [])
    assert found.quads.dtype == found.scores.dtype == np.float64
    assert found.quads[0].tolist() == [[10, 20], [110, 20], [110, 60], [10, 60]]
    assert found.scores.tolist() == [0.9, 0.8]
    assert found.detector == OFFICIAL[1]
    assert model.created == [(OFFICIAL[1], None, runtime)]


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


class Limited:
    """Stands for RT-DETR: finds the cells that a picture shows wholly, of 300 at most the best."""

    def __init__(self, boxes: np.ndarray) -> None:
        self.boxes = boxes
        self.looks: list[tuple[int, ...]] = []

    def __call__(self, *_: Any) -> Limited:
        return self

    def predict(self, image: Image, threshold: Any) -> Any:
        self.looks.append(image.shape)
        # Its upper left corner is in the colours of its first pixel.
        coarse_x, coarse_y, fine = map(int, image[0, 0])
        x0, y0 = 16 * coarse_x + fine // 16, 16 * coarse_y + fine % 16
        seen = self.boxes - [x0, y0, x0, y0]
        height, width = image.shape[:2]
        whole = (seen[:, :2] >= 0).all(axis=1) & (seen[:, 2:] <= [width, height]).all(axis=1)
        yield {"boxes": [{"coordinate": box, "score": 0.9} for box in seen[whole][:MOST_CELLS].tolist()]}


def places(height: int, width: int) -> Image:
    """A picture whose pixels say where they are."""
    x, y = np.meshgrid(np.arange(width), np.arange(height))
    return np.stack([x // 16, y // 16, 16 * (x % 16) + y % 16], axis=2).astype(np.uint8)


@pytest.mark.parametrize(("n_rows", "n_cols"), [(16, 20), (30, 30)])
def test_paddlex_3591_more_than_300_cells_are_found_in_tiles(
    monkeypatch: pytest.MonkeyPatch, n_rows: int, n_cols: int
) -> None:
    x, y = np.meshgrid(np.arange(n_cols) * 40, np.arange(n_rows) * 24)
    boxes = np.stack([x, y, x + 40, y + 24], axis=2).reshape(-1, 4)
    limited = Limited(boxes)
    monkeypatch.setattr(paddlex_support, "create_model", limited)
    (found,) = PaddleXDetector(OFFICIAL[0]).detect(places(n_rows * 24, n_cols * 40), [])
    assert len(found.quads) == len(boxes)
    assert {tuple(quad) for quad in quads_to_boxes(found.quads).tolist()} == {tuple(box) for box in boxes.tolist()}


def test_a_part_that_stays_full_is_told(model: FakeModel) -> None:
    model.boxes = [([index % 20, index // 20, index % 20 + 1, index // 20 + 1], 0.9) for index in range(MOST_CELLS)]
    with pytest.warns(UserWarning, match=f"returned {MOST_CELLS} cells of one part"):
        PaddleXDetector(OFFICIAL[0]).detect(IMAGE, [])


def test_a_model_without_that_limit_is_asked_once(model: FakeModel) -> None:
    model.boxes = [
        ([index % 20 * 10, index // 20 * 5, index % 20 * 10 + 9, index // 20 * 5 + 4], 0.9) for index in range(400)
    ]
    PaddleXDetector(OFFICIAL[0]).detect(IMAGE, [])
    assert len(model.thresholds) == 1


def test_model_is_loaded_once(model: FakeModel) -> None:
    detector = PaddleXDetector(OFFICIAL[0])
    detector.detect(IMAGE, [])
    detector.detect(IMAGE, [])
    assert len(model.created) == 1


@pytest.mark.parametrize("name", ["", "wired", "RT-DETR-L", "auto"])
def test_unknown_name_lists_the_names(name: str) -> None:
    listed = rf"auto, rulings, words, cellnet, paddlex, {OFFICIAL[0]} or {OFFICIAL[1]}, {CLASSIFIER}"
    with pytest.raises(SettingsError, match=listed):
        PaddleXDetector(name)


@pytest.mark.parametrize("threshold", [-0.1, 1.1, float("nan")])
def test_threshold_outside_its_range(threshold: float) -> None:
    with pytest.raises(SettingsError, match="from 0 to 1"):
        PaddleXDetector(OFFICIAL[0], threshold=threshold)


def test_folder_holds_the_name(model: FakeModel, tmp_path: Path) -> None:
    (tmp_path / "inference.yml").write_text(f"Global: {{model_name: {OFFICIAL[0]}}}", encoding="utf-8")
    detector = make_detector(Settings(detector="auto", detector_dir=tmp_path))
    assert detector.name == OFFICIAL[0]
    detector.detect(IMAGE, [])
    assert model.created == [(OFFICIAL[0], tmp_path, Runtime())]


@pytest.mark.parametrize(
    "content", [None, b"", b"[]", b"Global: {}", b"Global: 5", b"a: [", b"\xff\xfe", b"!!python/name:os.system"]
)
def test_folder_without_a_usable_inference_yml(tmp_path: Path, content: bytes | None) -> None:
    if content is not None:
        (tmp_path / "inference.yml").write_bytes(content)
    with pytest.raises(ModelNotFoundError, match=r"inference\.yml"):
        PaddleXDetector("any", tmp_path)


def test_both_detectors_look_and_the_better_explained_grid_stays(model: FakeModel) -> None:
    detector = make_detector(Settings(detector=BOTH, layout="table", engine="paddle_static"))
    assert isinstance(detector, CombinedDetector)
    assert detector.name == BOTH
    model.boxes = [([10, 10, 110, 50], 0.9), ([110, 10, 210, 50], 0.8)]
    (found,) = detector.detect(IMAGE, [])
    assert {created[0] for created in model.created} == set(OFFICIAL)
    assert {created[2] for created in model.created} == {Runtime(engine="paddle_static")}
    assert found.detector in OFFICIAL
    assert len(found.rivals) == 1


class Labelled(FakeModel):
    """The same where the classifier gives a label."""

    label = "wired_table"

    def predict(self, image: np.ndarray, threshold: Any = None) -> Any:
        if threshold is None:
            yield {"label_names": [self.label]}
        else:
            yield from super().predict(image, threshold)


@pytest.mark.parametrize(("label", "expected"), [("wired_table", OFFICIAL[0]), ("wireless_table", OFFICIAL[1])])
def test_the_classifier_chooses(monkeypatch: pytest.MonkeyPatch, label: str, expected: str) -> None:
    fake = Labelled()
    fake.label, fake.boxes = label, [([0, 0, 10, 10], 0.9)]
    monkeypatch.setattr(paddlex_support, "create_model", fake)
    detector = make_detector(Settings(detector=CLASSIFIER))
    assert detector.detect(np.zeros((0, 5, 3), np.uint8), []) == []
    (found,) = detector.detect(IMAGE, [])
    assert found.detector == expected
    assert [created[0] for created in fake.created] == [CLASSIFIER, expected]


@needs_paddlex
@pytest.mark.filterwarnings("ignore")
def test_paddlex_runs_a_model_from_a_folder(tmp_path: Path) -> None:
    paddlex_support.import_paddlex()

    cells = [[0, 0.9, 10, 20, 110, 60], [0, 0.4, 110, 20, 210, 60], [0, 0.2, 0, 0, 5, 5]]
    folder = save_detector(tmp_path, OFFICIAL[0], cells)
    (found,) = PaddleXDetector("mine", folder).detect(IMAGE, [])
    assert np.allclose(found.quads[:, 0], [[10, 20], [110, 20]])
    assert np.allclose(found.scores, [0.9, 0.4])


@needs_paddlex
@pytest.mark.filterwarnings("ignore")
class TestInstalledPaddleX:
    """Models by name from a folder of models, with Paddle's engines."""

    @pytest.fixture(scope="class")
    def models_dir(self, tmp_path_factory: pytest.TempPathFactory) -> Path:
        paddlex_support.import_paddlex()
        folder = tmp_path_factory.mktemp("models")
        save_rtdetr(folder, OFFICIAL[0])
        save_detector(folder, OFFICIAL[1], [[0, 0.9, 10, 20, 110, 60], [0, 0.8, 110, 20, 210, 60]])
        save_classifier(folder, CLASSIFIER, ["wired_table", "wireless_table"], "wireless_table")
        return folder

    @pytest.mark.parametrize("engine", [None, "paddle_dynamic"])
    def test_rtdetr_with_random_weights_runs(self, models_dir: Path, engine: str | None) -> None:
        detector = PaddleXDetector(OFFICIAL[0], runtime=Runtime(engine=engine, models_dir=models_dir), threshold=0.0)
        (found,) = detector.detect(IMAGE, [])
        assert len(found.quads) == 20
        assert found.quads.min() >= 0 and (found.quads.max(axis=(0, 1)) <= (300, 100)).all()

    def test_the_classifier_and_its_choice(self, models_dir: Path) -> None:
        (found,) = make_detector(Settings(detector=CLASSIFIER, models_dir=models_dir)).detect(IMAGE, [])
        assert (found.detector, len(found.quads)) == (OFFICIAL[1], 2)

    def test_the_files_must_be_those_of_the_engine(self, models_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("PADDLE_PDX_CACHE_HOME", str(models_dir / "none"))
        runtime = Runtime(engine="onnxruntime", models_dir=models_dir)
        with pytest.raises(ModelNotFoundError, match=f"tablerec models fetch {OFFICIAL[0]} --engine onnxruntime"):
            PaddleXDetector(OFFICIAL[0], runtime=runtime).detect(IMAGE, [])
        with pytest.raises(ModelNotFoundError, match=r"holds no inference\.onnx, which onnxruntime runs"):
            PaddleXDetector("", models_dir / OFFICIAL[0], runtime).detect(IMAGE, [])

    @pytest.mark.parametrize("engine", ["transformers", "hpi"])
    def test_an_engine_that_is_missing_names_the_command(self, models_dir: Path, engine: str) -> None:
        if importlib.util.find_spec({"hpi": "ultra_infer"}.get(engine, engine)):
            pytest.skip(f"{engine} is installed")
        name = OFFICIAL[engine == "hpi"]
        with pytest.raises(MissingDependencyError, match=f"the engine {engine} is not installed: run"):
            PaddleXDetector(name, runtime=Runtime(engine=engine, models_dir=models_dir)).detect(IMAGE, [])
