"""PaddleX as an OCR engine: a stand-in for its models, and its own machinery with tiny networks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tablerec import paddlex_support
from tablerec.config import Settings
from tablerec.errors import ModelNotFoundError
from tablerec.ocr import make_ocr_engine
from tablerec.ocr.paddlex import DEFAULT_FAMILY, PaddleXOcrEngine
from tablerec.paddlex_support import Runtime
from tests.helpers.models.paddlex_models import needs_paddlex, save_text_detector, save_text_recognizer


class FakeModels:
    """Stands for ``create_model``: a detector of one line and a recogniser with a fixed answer."""

    def __init__(self, answer: Any = "text", polygons: Any = None) -> None:
        self.answer = answer
        self.polygons = [[[26, 26], [86, 26], [86, 66], [26, 66]]] if polygons is None else polygons
        self.created: list[tuple[Any, ...]] = []

    def __call__(self, name: str, folder: Path | None = None, runtime: Any = None, **options: Any) -> Any:
        self.created.append((name, folder, runtime, options))
        model = type("Model", (), {"post_op": type("PostOp", (), {"max_candidates": 1000})()})()
        if name.endswith("det"):
            model.predict = lambda image: iter([{"dt_polys": self.polygons, "dt_scores": [0.9] * len(self.polygons)}])
        else:
            model.predict = lambda crops, **_: ({"rec_text": self.answer, "rec_score": 0.8} for _ in crops)
        self.last = model
        return model


@pytest.fixture
def models(monkeypatch: pytest.MonkeyPatch) -> FakeModels:
    """Return the stand-in, in place."""
    fake = FakeModels()
    monkeypatch.setattr(paddlex_support, "create_model", fake)
    return fake


@pytest.fixture
def image() -> np.ndarray:
    """Return a grey picture that needs no change of size."""
    return np.full((96, 160, 3), 200, np.uint8)


def test_nothing_found(models: FakeModels, image: np.ndarray) -> None:
    models.polygons = []
    assert PaddleXOcrEngine("a_det", "a_rec").read(image) == []


def test_lines_become_words(models: FakeModels, image: np.ndarray) -> None:
    (word,) = PaddleXOcrEngine("a_det", "a_rec", Runtime("gpu:0")).read(image)
    assert (word.text, word.score, word.char_spans) == ("text", 0.8, None)
    assert word.quad == ((10, 10), (70, 10), (70, 50), (10, 50))
    assert [(name, runtime.device) for name, _, runtime, _ in models.created] == [
        ("a_det", "gpu:0"),
        ("a_rec", "gpu:0"),
    ]


def test_characters_are_placed_with_spaces(models: FakeModels, image: np.ndarray) -> None:
    models.answer = ("1 2", [10.0, [["1"], [" "], ["2"]], [[0], [4], [9]], ["en&num", "symbol", "en&num"]])
    (word,) = PaddleXOcrEngine("a_det", "a_rec").read(image)
    assert word.char_spans is not None
    assert [round((a + b) / 2, 2) for a, b in word.char_spans] == [0.25, 0.5, 0.75]


def test_characters_that_do_not_add_up_have_no_places(models: FakeModels, image: np.ndarray) -> None:
    models.answer = ("abc", [10.0, [["a"]], [[0]], ["en&num"]])
    (word,) = PaddleXOcrEngine("a_det", "a_rec").read(image)
    assert (word.text, word.char_spans) == ("abc", None)


def test_sizes_and_candidates_are_not_limited(models: FakeModels, image: np.ndarray) -> None:
    reader = PaddleXOcrEngine("a_det", "a_rec")
    detector, _ = reader._load()
    assert detector.post_op.max_candidates > 10_000
    assert models.created[0][3]["max_side_limit"] > 30_000
    assert models.created[0][3]["limit_side_len"] == 32


def test_models_are_loaded_once(models: FakeModels, image: np.ndarray) -> None:
    reader = PaddleXOcrEngine("a_det", "a_rec")
    reader.read(image)
    reader.read(image)
    assert len(models.created) == 2


@pytest.mark.parametrize(
    ("reader", "family"), [("paddlex", DEFAULT_FAMILY), ("paddlex:PP-OCRv5_mobile", "PP-OCRv5_mobile")]
)
def test_nothing_is_downloaded(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, image: np.ndarray, reader: str, family: str
) -> None:
    monkeypatch.setenv("PADDLE_PDX_CACHE_HOME", str(tmp_path))
    models_dir = tmp_path / "mine"
    made = make_ocr_engine(Settings(ocr=reader, models_dir=models_dir))
    with pytest.raises(ModelNotFoundError, match=f"{family}_det is not .*{models_dir} and .*models fetch {family}_det"):
        made.read(image)


@needs_paddlex
@pytest.mark.filterwarnings("ignore")
class TestInstalledPaddleX:
    """PaddleX's own detector and recogniser around networks of a few numbers."""

    @pytest.fixture(scope="class")
    def reader(self, tmp_path_factory: pytest.TempPathFactory) -> PaddleXOcrEngine:
        """Return an OCR engine whose detector sees dark pixels and whose recogniser sees an a and a b."""
        paddlex_support.import_paddlex()
        folder = tmp_path_factory.mktemp("models")
        names = "PP-OCRv5_mobile_det", "PP-OCRv5_mobile_rec"
        save_text_detector(folder, names[0])
        save_text_recognizer(folder, names[1])
        return PaddleXOcrEngine(*names, Runtime(models_dir=folder))

    def test_finds_and_reads(self, reader: PaddleXOcrEngine) -> None:
        image = np.full((200, 300, 3), 255, np.uint8)
        image[50:90, 40:100] = 0
        image[50:90, 100:160] = 30
        image[52:88, 102:158] = 60
        (word,) = reader.read(image)
        (x0, y0), _, (x1, y1), _ = word.quad
        assert x0 <= 40 and y0 <= 50 and x1 >= 160 and y1 >= 90
        assert max(40 - x0, 50 - y0, x1 - 160, y1 - 90) < 40
        assert set(word.text) <= {"a", "b"}
        assert word.char_spans is not None

    def test_places_of_characters(self, reader: PaddleXOcrEngine) -> None:
        crop = np.zeros((48, 480, 3), np.uint8)
        crop[:, 240:] = 255
        (line,) = reader.recognize([crop])
        assert line.text == "ab"
        assert line.char_spans is not None
        (a_start, a_end), (b_start, b_end) = line.char_spans
        # The network sees the second character from the middle on.
        assert (a_start + a_end) / 2 < 0.15 < (b_start + b_end) / 2 < 0.65

    def test_nothing_dark(self, reader: PaddleXOcrEngine) -> None:
        assert reader.read(np.full((100, 100, 3), 255, np.uint8)) == []
