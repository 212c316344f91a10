"""The weights in the package: whole, small, and as good as when they were put there."""

from __future__ import annotations

import shutil
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from postprocess.geometry.boxes import quads_to_boxes
from tablerec.config import Settings
from tablerec.detect.cellnet import CellNetDetector
from tablerec.detect.combined import CombinedDetector
from tablerec.detect.factory import WEIGHTS, make_detector
from tablerec.detect.passes import to_input
from tablerec.errors import ModelNotFoundError
from tablerec.evaluate.scoring.cells import detection_f1
from tablerec.models.folder import DESCRIPTION, ONNX, check_files, read_description
from tablerec.synth import draw, load_recipe
from tablerec.synth.drawing import fonts, glyphs
from tablerec.synth.sample import Sample

FILES = (DESCRIPTION, ONNX)
RECIPES = ("coloured", "dark", "dense", "financial", "form", "horizontal",
           "lineless", "page", "partial", "ruled", "scan", "wide")  # fmt: skip
SEED = 6_000_000_007
"""Neither trained nor validated on."""


class F1(NamedTuple):
    """Mean over the drawn pictures, cells matched at an intersection over union of 0.6 and of 0.8."""

    at_60: float
    at_80: float


LEAST = F1(0.927, 0.893)
"""A hundredth below what the weights reach. New weights, and changes of ``tablerec.synth`` after which other pictures
are drawn, need new values: those that a failure prints (raise these to 1 to see it), less a hundredth."""


@pytest.fixture(scope="module")
def drawn() -> Iterator[list[Sample]]:
    """Return pictures of several kinds, drawn with the font inside Pillow: the same on every machine."""
    built_in = fonts.Family(fonts.BUILT_IN, "sans", frozenset(["latin"]), (fonts.Face(""),))
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that there is no Chinese font
        for module in (fonts, glyphs):
            patch.setattr(module, "find_families", lambda: (built_in,))
        yield [
            draw(load_recipe(name), SEED, 2 * number + k, "fast") for number, name in enumerate(RECIPES) for k in (0, 1)
        ]


def test_files_are_whole_and_small() -> None:
    check_files(WEIGHTS, *FILES)
    assert set(read_description(WEIGHTS)["sha256"]) == {ONNX}
    assert sum(path.stat().st_size for path in WEIGHTS.rglob("inference.*")) < 12_000_000


def test_the_model_card_has_its_figures() -> None:
    assert "OPEN" not in (WEIGHTS / "README.md").read_text(encoding="utf-8")


def test_it_is_the_default() -> None:
    assert isinstance(make_detector(Settings()), CombinedDetector)
    assert isinstance(make_detector(Settings(detector="cellnet")), CellNetDetector)


def test_cells_of_drawn_tables_are_found(drawn: list[Sample]) -> None:
    detector = CellNetDetector(WEIGHTS)
    scores = []
    for sample in drawn:
        found = detector.detect(np.ascontiguousarray(sample.image[:, :, ::-1]), [])
        boxes = quads_to_boxes(np.concatenate([each.quads for each in found])) if found else np.zeros((0, 4))
        truth = quads_to_boxes(np.asarray(sample.cells.quads, np.float64))
        scores.append([detection_f1(boxes, truth, least_iou) for least_iou in (0.6, 0.8)])
    measured = F1(*np.mean(scores, axis=0).round(3).tolist())
    assert measured.at_60 >= LEAST.at_60 and measured.at_80 >= LEAST.at_80, f"{measured}, least {LEAST}"


@pytest.mark.parametrize("name", [ONNX, DESCRIPTION])
def test_a_damaged_file_is_named(name: str, tmp_path: Path) -> None:
    folder = tmp_path / "weights"
    shutil.copytree(WEIGHTS, folder)
    (folder / name).write_bytes((folder / name).read_bytes()[:90])
    with pytest.raises(ModelNotFoundError, match=rf"{name} is damaged"):
        CellNetDetector(folder)


def test_three_forms_agree(drawn: list[Sample], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """ONNX, Paddle's static model that is made of it, and the network with the weights read back."""
    paddle = pytest.importorskip("paddle")
    import onnxruntime

    from tablerec.models.cellnet import CellNetWithDecoder
    from tablerec.models.export import load_cellnet, static_folder

    monkeypatch.setenv("TABLEREC_CACHE", str(tmp_path))
    onnx = onnxruntime.InferenceSession(str(WEIGHTS / ONNX))
    static = paddle.jit.load(str(static_folder(WEIGHTS) / "inference"))
    dygraph = CellNetWithDecoder(load_cellnet(WEIGHTS))
    dygraph.eval()
    for sample in drawn[::5]:
        image = to_input(np.ascontiguousarray(sample.image[:, :, ::-1])).astype(np.float32)
        quads, scores, _, tables, *_ = (tensor.numpy() for tensor in dygraph(paddle.to_tensor(image)))
        assert len(quads) >= 4
        others = onnx.run(None, {"image": image}), [tensor.numpy() for tensor in static(paddle.to_tensor(image))]
        for their_quads, their_scores, _, their_tables, *_ in others:
            # A corner that is just about moved to a border may be moved by one and not by the other.
            assert (np.abs(their_quads - quads).max(axis=(1, 2)) > 0.1).mean() <= 0.02
            np.testing.assert_allclose(their_quads, quads, atol=4.0)
            np.testing.assert_allclose(their_scores, scores, atol=1e-3)
            np.testing.assert_allclose(their_tables, tables, atol=1e-3)
