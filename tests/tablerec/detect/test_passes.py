"""Passes of CellNet that detector and finder share, with a stand-in for the network."""

from __future__ import annotations

import threading
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from postprocess.geometry.boxes import array_to_quad, boxes_to_quads
from postprocess.word import Word
from tablerec.config import Settings
from tablerec.detect.cellnet import CellNetDetector
from tablerec.detect.factory import make_line_finder
from tablerec.detect.passes import CellNetPasses, finds_lines, share_passes
from tablerec.detect.text_lines import TextLineFinder
from tablerec.detect.text_maps import STRIDE, UNIT
from tablerec.errors import SettingsError


class FakeNetwork:
    """Takes dark bars for lines of text, unless they are too low; keeps the sizes that it was shown."""

    def __init__(self, least: float = 3.0) -> None:
        self.least = least
        self.seen: list[tuple[int, int]] = []

    def __call__(self, images: np.ndarray) -> tuple[np.ndarray, ...]:
        import cv2

        height, width = images.shape[2:]
        self.seen.append((width, height))
        y, x = np.mgrid[STRIDE / 2 : height : STRIDE, STRIDE / 2 : width : STRIDE]
        maps = np.full((8, *x.shape), -9.0, np.float32)
        _, _, bars, _ = cv2.connectedComponentsWithStats((images[0, 0] < 100).astype(np.uint8))
        for x0, y0, w, h, _ in bars[1:]:
            sides = np.stack([x - x0, y - y0, x0 + w - x, y0 + h - y])
            core = sides.min(0) > 0.25 * h
            if h >= self.least:
                maps[:4, core], maps[4:, core] = 9, sides[:, core] / UNIT
        no_cells = np.empty((0, 4, 2), np.float32), np.empty(0, np.float32), np.empty(0, np.int64)
        return *no_cells, np.zeros((1, *x.shape), np.float32), maps[None]


def picture(width: int, height: int, bars: list[list[int]] | None = None) -> np.ndarray:
    image = np.full((height, width, 3), 255, np.uint8)
    for x0, y0, x1, y1 in bars or []:
        image[y0:y1, x0:x1] = 0
    return image


def in_order(quads: np.ndarray) -> np.ndarray:
    return quads[np.lexsort((quads[:, 0, 0], quads[:, 0, 1]))]


def finder(network: FakeNetwork) -> TextLineFinder:
    return TextLineFinder(CellNetPasses(network))


def word(quad: np.ndarray) -> Word:
    return Word("x", array_to_quad(quad.astype(float)), 0.9)


def test_no_picture_and_no_text() -> None:
    made = finder(FakeNetwork())
    for image in (np.zeros((0, 0, 3), np.uint8), picture(200, 100)):
        assert made.find(image).shape == (0, 4, 2) and made.find(image).dtype == np.float32


def test_text_of_the_usual_height_takes_one_pass_for_lines_and_cells() -> None:
    network = FakeNetwork()
    made = finder(network)
    bars = [[20, 20, 120, 36], [20, 60, 150, 77]]
    found = made.find(picture(400, 200, bars))
    assert network.seen == [(416, 224)]
    np.testing.assert_allclose(in_order(found), boxes_to_quads(bars), atol=1)
    detector = CellNetDetector(network)
    detector.passes = made.passes
    detector.detect(picture(400, 200, bars), [word(quad) for quad in found])
    assert len(network.seen) == 1


@pytest.mark.parametrize(("height", "width"), [(6, 400), (60, 900), (48, 2000), (16, 1800)])
def test_the_detector_has_the_pass_of_the_finder(height: int, width: int) -> None:
    bars = [[20, 20 + 2 * height * k, 20 + 8 * height, 20 + 2 * height * k + height] for k in range(3)]
    network, image = FakeNetwork(), picture(width, 500, bars)
    made = finder(network)
    found = made.find(image)
    np.testing.assert_allclose(in_order(found), boxes_to_quads(bars), atol=2)
    n_passes = len(network.seen)
    detector = CellNetDetector(network)
    detector.passes = made.passes
    detector.detect(image, [word(quad) for quad in found])
    assert len(network.seen) == n_passes <= 3


def test_small_print_of_a_large_page_is_looked_for() -> None:
    bars = [[100, 100 + 40 * k, 300, 112 + 40 * k] for k in range(10)]
    found = finder(FakeNetwork(least=8.0)).find(picture(2400, 1800, bars))
    np.testing.assert_allclose(in_order(found), boxes_to_quads(bars), atol=2)


def test_a_long_line_of_a_very_large_picture_is_there_in_parts() -> None:
    bars = [[50, 100, 4900, 112], [60, 200, 200, 212]]
    found = finder(FakeNetwork()).find(picture(5000, 400, bars))
    ends = sorted((float(quad[0, 0]), float(quad[1, 0])) for quad in found if abs(quad[0, 1] - 100) < 4)
    assert len(ends) > 1 and abs(ends[0][0] - 50) < 4 and abs(ends[-1][1] - 4900) < 4
    assert all(abs(end - start) < 4 for (_, end), (start, _) in pairwise(ends))


def test_another_picture_and_another_scale_take_another_pass() -> None:
    network = FakeNetwork()
    passes = CellNetPasses(network)
    image = picture(64, 64)
    first = passes.run(image, 1.0)
    assert passes.run(image.copy(), 1.0) is first and passes.run(image, 1.03, like=1.05) is first
    assert passes.run(image, 1.03) is not first
    image[0, 0] = 0
    assert passes.run(image, 1.0) is not first


def test_a_picture_that_was_changed_in_its_place_takes_another_pass() -> None:
    network = FakeNetwork()
    passes, image = CellNetPasses(network), picture(300, 200)
    passes.run(image, 1.0)
    image[50:60, 20:200] = 0
    assert len(passes.run(image, 1.0).lines) == 1
    image.flags.writeable = False
    assert passes.run(image, 1.0) is passes.run(image, 1.0)
    assert len(network.seen) == 2


def test_other_threads_do_not_push_out_the_passes_of_one() -> None:
    network = FakeNetwork()
    passes = CellNetPasses(network)
    first = passes.run(picture(64, 64), 1.0)
    for side in (32, 96, 128, 160):
        thread = threading.Thread(target=passes.run, args=(picture(side, side), 1.0))
        thread.start()
        thread.join()
    assert len(network.seen) == 5 and passes.run(picture(64, 64), 1.0) is first


def test_a_network_is_shared_while_one_holds_it(tmp_path: Path) -> None:
    (tmp_path / "inference.onnx").touch()
    held = share_passes(tmp_path)
    assert CellNetDetector(tmp_path).passes is held and share_passes(tmp_path, threshold=0.2) is not held
    with pytest.raises(SettingsError, match="from 0 to 1"):
        share_passes(tmp_path, threshold=2.0)


def test_a_network_without_lines_has_no_finder(tmp_path: Path) -> None:
    (tmp_path / "inference.onnx").touch()
    (tmp_path / "inference.yml").write_text("Global: {model_name: CellNet}\nnetwork: {widths: [8, 8, 8, 8, 8]}\n")
    assert not finds_lines(tmp_path)
    found = make_line_finder(Settings(detector="cellnet", detector_dir=tmp_path))
    assert found is None or found.passes is not share_passes(tmp_path)
    (tmp_path / "inference.yml").write_text("Global: {model_name: CellNet}\nnetwork: {lines: [8, 1]}\n")
    found = make_line_finder(Settings(detector="cellnet", detector_dir=tmp_path))
    assert finds_lines(tmp_path) and found is not None and found.passes is share_passes(tmp_path)
