"""CellNet as a detector, with a stand-in for the network."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from postprocess.geometry.boxes import array_to_quad, boxes_to_quads, rotate_points
from postprocess.text.tilt import text_tilt
from postprocess.word import Word, Words
from tablerec.config import Settings
from tablerec.detect import factory
from tablerec.detect.cellnet import CellNetDetector, cells_to_tables, choose_scale, closer_scale, level_image
from tablerec.detect.factory import make_detector
from tablerec.detect.passes import to_input
from tablerec.errors import ModelNotFoundError, SettingsError
from tablerec.models.opening import Network


class FakeNetwork:
    """Answers with cells given in shares of the picture; keeps the sizes that it was shown."""

    def __init__(self, boxes: list[list[float]], size_wh: tuple[int, int], scores: list[float] | None = None) -> None:
        self.quads = boxes_to_quads(boxes) / np.array(size_wh)
        self.scores = np.array(scores or [0.9] * len(boxes), np.float32)
        self.size_wh = size_wh
        self.seen: list[tuple[int, ...]] = []

    def __call__(self, images: np.ndarray):
        self.seen.append(images.shape)
        _, _, height, width = images.shape
        scale = int(height / self.size_wh[1] * 2) / 2
        quads = (self.quads * self.size_wh * scale).astype(np.float32)
        table = np.zeros((1, height // 4, width // 4), np.float32)
        for quad in quads:
            (x0, y0), (x1, y1) = quad[0] // 4, quad[2] // 4
            table[0, int(y0) : int(y1), int(x0) : int(x1)] = 1
        return quads, self.scores, np.zeros(len(quads), np.int64), table


def detector(network: Network, folder: Path, **options: object) -> CellNetDetector:
    (folder / "inference.onnx").touch()
    made = CellNetDetector(folder, **options)
    made.passes._network = network
    return made


def word(height: float) -> Word:
    return Word("x", array_to_quad(boxes_to_quads([[0, 0, 30, height]])[0]), 0.9)


TWO_TABLES = [[10, 10, 90, 40], [90, 10, 150, 40], [10, 100, 90, 130], [90, 100, 150, 130], [10, 130, 150, 160]]


def test_tables_of_a_page(tmp_path: Path) -> None:
    found = detector(FakeNetwork(TWO_TABLES, (160, 192)), tmp_path).detect(np.zeros((192, 160, 3), np.uint8), [])
    assert [len(each.quads) for each in found] == [2, 3]
    np.testing.assert_allclose(found[0].quads, boxes_to_quads(TWO_TABLES[:2]), atol=1e-4)
    assert found[0].detector == "cellnet" and found[0].scores.dtype == np.float64


def test_the_whole_picture_as_one_table(tmp_path: Path) -> None:
    made = detector(FakeNetwork(TWO_TABLES, (160, 192)), tmp_path, layout="table")
    assert [len(each.quads) for each in made.detect(np.zeros((192, 160, 3), np.uint8), [])] == [5]


def test_doubtful_and_double_finds_go(tmp_path: Path) -> None:
    boxes = [[10, 10, 90, 40], [12, 10, 88, 41], [90, 10, 150, 40], [10, 40, 90, 70]]
    network = FakeNetwork(boxes, (160, 96), [0.6, 0.9, 0.8, 0.2])
    found = detector(network, tmp_path).detect(np.zeros((96, 160, 3), np.uint8), [])
    assert found[0].scores.round(3).tolist() == [0.9, 0.8]


def test_cells_are_cut_off_at_the_picture(tmp_path: Path) -> None:
    boxes = [[-8, -4, 90, 40], [90, -4, 170, 40], [200, 0, 300, 40]]
    found = detector(FakeNetwork(boxes, (160, 96)), tmp_path).detect(np.zeros((96, 160, 3), np.uint8), [])
    assert found[0].quads[:, :, 0].tolist() == [[0, 90, 90, 0], [90, 160, 160, 90]]
    assert found[0].quads.min() == 0


def test_one_cell_alone_is_no_table_on_a_page(tmp_path: Path) -> None:
    network = FakeNetwork([[10, 10, 90, 40]], (160, 96))
    assert detector(network, tmp_path).detect(np.zeros((96, 160, 3), np.uint8), []) == []
    assert len(detector(network, tmp_path, layout="table").detect(np.zeros((96, 160, 3), np.uint8), [])) == 1


def test_small_text_is_enlarged(tmp_path: Path) -> None:
    network = FakeNetwork(TWO_TABLES, (160, 192))
    found = detector(network, tmp_path).detect(np.zeros((192, 160, 3), np.uint8), [word(8)])
    assert network.seen == [(1, 3, 384, 320)]
    np.testing.assert_allclose(found[0].quads, boxes_to_quads(TWO_TABLES[:2]), atol=1e-4)


def test_low_rows_are_looked_at_again(tmp_path: Path) -> None:
    rows = [[10, 10 + 8 * k, 150, 18 + 8 * k] for k in range(10)]
    network = FakeNetwork(rows, (160, 96))
    found = detector(network, tmp_path).detect(np.zeros((96, 160, 3), np.uint8), [])
    assert network.seen == [(1, 3, 96, 160), (1, 3, 160, 256)]
    assert len(found[0].quads) == 10


def test_nothing_to_see(tmp_path: Path) -> None:
    network = FakeNetwork([], (160, 96))
    assert detector(network, tmp_path).detect(np.zeros((96, 160, 3), np.uint8), []) == []
    assert detector(network, tmp_path).detect(np.zeros((0, 0, 3), np.uint8), []) == []


@pytest.mark.parametrize(
    ("size", "text", "scale"),
    [
        ((500, 500), 12, 1),
        ((200, 200), 4, 4),
        ((500, 500), 4, 2.5),
        ((200, 200), 1, 4),
        ((4000, 3000), 64, 0.24),
        ((480, 4800), None, 0.2),
        ((1400, 1600), 20, 0.6),
        ((1400, 1600), 12, 10 / 12),
        ((800, 600), 12, 1),
    ],
)
def test_scale(size: tuple[int, int], text: float | None, scale: float) -> None:
    assert choose_scale(size, text) == pytest.approx(scale)


def test_closer() -> None:
    assert closer_scale(np.zeros((0, 4, 2)), 0.7) == 0.7
    assert closer_scale(boxes_to_quads([[0, 0, 50, 20]]), 1.0) == 1.0
    assert closer_scale(boxes_to_quads([[0, 0, 50, 2]]), 1.0) == 3.0


def test_input_is_rgb_and_filled_with_grey() -> None:
    image = np.zeros((33, 32, 3), np.uint8)
    image[..., 2] = 200
    made = to_input(image)
    assert made.shape == (1, 3, 64, 32) and made.dtype == np.uint8
    assert made[0, :, 0, 0].tolist() == [200, 0, 0] and (made[0, :, 33:] == 127).all()


def test_cells_that_touch_are_one_table() -> None:
    quads = boxes_to_quads([[0, 0, 40, 20], [40, 0, 80, 20], [0, 60, 40, 80]])
    labels = cells_to_tables(quads, np.zeros((24, 24), np.float32), (96, 96))
    assert labels[0] == labels[1] != labels[2] and labels.min() > 0
    joined = cells_to_tables(quads, np.ones((24, 24), np.float32), (96, 96))
    assert len(set(joined.tolist())) == 1


def test_what_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(ModelNotFoundError, match=r"holds no inference\.onnx"):
        CellNetDetector(tmp_path)
    with pytest.raises(ModelNotFoundError, match=r"holds no inference\.onnx"):
        CellNetDetector(tmp_path, device="gpu:0")
    with pytest.raises(SettingsError, match="threshold is 2"):
        CellNetDetector(tmp_path, threshold=2)


def test_without_weights_in_the_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(factory, "WEIGHTS", tmp_path)
    with pytest.raises(ModelNotFoundError, match=r"holds no inference\.onnx"):
        make_detector(Settings(detector="cellnet"))


def test_what_is_no_model_is_refused(tmp_path: Path) -> None:
    (tmp_path / "inference.onnx").write_bytes(b"no model")
    with pytest.raises(ModelNotFoundError, match=r"inference\.onnx cannot be opened"):
        CellNetDetector(tmp_path).detect(np.zeros((40, 40, 3), np.uint8), [])
    (tmp_path / "inference.yml").write_text("Global: {model_name: RT-DETR-L}", encoding="utf-8")
    with pytest.raises(ModelNotFoundError, match="describes the model RT-DETR-L"):
        CellNetDetector(tmp_path).detect(np.zeros((40, 40, 3), np.uint8), [])


def test_a_model_of_something_else_is_refused(tmp_path: Path) -> None:
    from rapidocr import __file__ as rapidocr

    shutil.copy(next(Path(rapidocr).parent.rglob("*.onnx")), tmp_path / "inference.onnx")
    with pytest.raises(ModelNotFoundError, match=r"inference\.onnx .* no CellNet"):
        CellNetDetector(tmp_path).detect(np.zeros((40, 40, 3), np.uint8), [])


def lines_of_text(degrees: float, count: int = 6) -> list[Word]:
    boxes = boxes_to_quads([[40, 30 + 25 * k, 160, 42 + 25 * k] for k in range(count)])
    return [Word("some words", array_to_quad(quad), 0.9) for quad in rotate_points(boxes, degrees, (150, 100))]


@pytest.mark.parametrize("degrees", [-30.0, -4.0, 0.0, 1.5, 12.0])
def test_tilt_is_that_of_the_text(degrees: float) -> None:
    found = text_tilt(Words(lines_of_text(degrees)).quads)
    assert found is not None
    assert abs(found) == pytest.approx(abs(degrees), abs=1e-3)
    # Turned back by what was found, the text is level, and no corner of the picture is lost.
    _, to_level = level_image(np.zeros((200, 300, 3), np.uint8), found)
    quads = np.array([word.quad for word in lines_of_text(degrees)]) @ to_level[:, :2].T + to_level[:, 2]
    np.testing.assert_allclose(quads[:, 0, 1], quads[:, 1, 1], atol=1e-6)
    level, _ = level_image(np.zeros((200, 300, 3), np.uint8), found)
    corners = np.array([[0, 0], [300, 0], [300, 200], [0, 200]]) @ to_level[:, :2].T + to_level[:, 2]
    assert (corners >= -1).all() and (corners <= np.array(level.shape[1::-1]) + 1).all()


def test_a_tilted_picture_is_looked_at_level(tmp_path: Path) -> None:
    words = lines_of_text(10.0)
    tilt = text_tilt(Words(words).quads)
    found = detector(_find_one_in_the_middle, tmp_path, layout="table").detect(np.zeros((200, 300, 3), np.uint8), words)
    (quad,) = found[0].quads
    # The cell comes back at the middle of the picture as given, as tilted as its text.
    np.testing.assert_allclose(quad.mean(axis=0), [150, 100], atol=1.5)
    along = quad[1] - quad[0]
    assert np.degrees(np.arctan2(along[1], along[0])) == pytest.approx(tilt, abs=0.5)


def _find_one_in_the_middle(images: np.ndarray):
    """Find one cell in the middle of what is no paper: a network in place of the trained one."""
    _, _, height, width = images.shape
    ys, xs = np.nonzero(images[0, 0] != 127)
    x, y = (xs.min() + xs.max() + 1) / 2, (ys.min() + ys.max() + 1) / 2
    quads = boxes_to_quads([[x - 40, y - 20, x + 40, y + 20]]).astype(np.float32)
    return quads, np.array([0.9], np.float32), np.zeros(1, np.int64), np.ones((1, height // 4, width // 4), np.float32)


def test_a_table_whose_cells_are_all_blank_and_beside_the_text_is_none(tmp_path: Path) -> None:
    # Two blank cells, and between them the only word.
    network = FakeNetwork([[10, 10, 50, 30], [10, 60, 50, 80]], (100, 100))
    text = [Word("x", array_to_quad(boxes_to_quads([[20, 36, 40, 54]])[0]))]
    paper = np.full((100, 100, 3), 255, np.uint8)
    made = detector(network, tmp_path, layout="table")
    assert len(made.detect(paper, [])) == 1
    assert made._detect(paper, [1.0], text, 0.0) == [[]]
