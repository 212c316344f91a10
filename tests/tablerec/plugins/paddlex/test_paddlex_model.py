"""CellNet in PaddleX: under its own name, and in the place of PaddleX's detectors in its stock pipeline."""

from __future__ import annotations

import importlib.util
import json
import re
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

if any(importlib.util.find_spec(package) is None for package in ("paddle", "paddlex", "onnx")):
    pytest.skip("needs the paddle extra", allow_module_level=True)

import cv2
from click.testing import CliRunner

from postprocess.geometry.boxes import boxes_to_quads, quads_to_boxes
from tablerec.cli import command
from tablerec.detect.cellnet import CellNetDetector
from tablerec.detect.factory import WEIGHTS
from tablerec.detect.paddlex import CLASSIFIER, OFFICIAL, PaddleXDetector
from tablerec.models.export import export_cellnet, export_for_paddlex, load_cellnet, static_folder
from tablerec.models.folder import NAME
from tablerec.paddlex_support import Runtime, import_paddlex
from tests.helpers.models.paddlex_models import save_classifier, save_structure, to_part

pytestmark = pytest.mark.filterwarnings("ignore")
ENGINES = ("paddle_static", "onnxruntime")
N_ROWS, N_COLS = 5, 3


@pytest.fixture(scope="module")
def paddlex() -> Any:
    return import_paddlex()


@pytest.fixture(scope="module")
def registered(paddlex: Any) -> Any:
    import tablerec.plugins.paddlex_model

    return tablerec.plugins.paddlex_model


@pytest.fixture(scope="module")
def weights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the package's CellNet in all its forms."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TABLEREC_CACHE", str(tmp_path_factory.mktemp("cache")))
        return static_folder(WEIGHTS)


@pytest.fixture(scope="module")
def dropin(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a CellNet that PaddleX takes for its detector of ruled tables."""
    folder = tmp_path_factory.mktemp("dropin")
    export_for_paddlex(load_cellnet(WEIGHTS), folder, OFFICIAL[0])
    return folder


@pytest.fixture(scope="module")
def image() -> np.ndarray:
    """Return a ruled table with a text in each cell."""
    drawn = np.full((60 + 36 * N_ROWS, 60 + 130 * N_COLS, 3), 255, np.uint8)
    for row in range(N_ROWS):
        for col in range(N_COLS):
            x, y = 30 + 130 * col, 30 + 36 * row
            cv2.rectangle(drawn, (x, y), (x + 130, y + 36), (0, 0, 0), 1)
            cv2.putText(drawn, f"r{row}c{col}", (x + 20, y + 25), cv2.FONT_HERSHEY_SIMPLEX, 0.6, (0, 0, 0), 1)
    return drawn


def texts(image: np.ndarray) -> dict[str, Any]:
    """Return what PaddleX's reader would have found in it."""
    places = [(row, col) for row in range(N_ROWS) for col in range(N_COLS)]
    boxes = [[48 + 130 * col, 40 + 36 * row, 95 + 130 * col, 58 + 36 * row] for row, col in places]
    return {
        "rec_boxes": np.array(boxes),
        "rec_polys": boxes_to_quads(boxes),
        "rec_texts": [f"r{row}c{col}" for row, col in places],
        "rec_scores": [1.0] * len(boxes),
        "doc_preprocessor_res": {"output_img": image},
    }


def boxes_of(result: Any) -> np.ndarray:
    return np.array([box["coordinate"] for box in result["boxes"]], float)


@pytest.mark.parametrize("engine", [None, *ENGINES])
def test_cellnet_is_a_model_of_paddlex(
    paddlex: Any, registered: Any, image: np.ndarray, weights: Path, engine: str | None
) -> None:
    options = {} if engine is None else {"engine": engine}
    model = paddlex.create_model(NAME, str(weights), device="cpu", **options)
    (result,) = model.predict(image, threshold=0.3)
    (found,) = CellNetDetector(WEIGHTS, layout="table", threshold=0.3).detect(image, [])
    assert len(result["boxes"]) == N_ROWS * N_COLS
    assert result["boxes"][0].keys() == {"cls_id", "label", "score", "coordinate", "quad"}
    assert {(box["cls_id"], box["label"]) for box in result["boxes"]} == {(0, "cell")}
    scores = [box["score"] for box in result["boxes"]]
    assert scores == sorted(scores, reverse=True)
    order = np.argsort(-found.scores)
    assert np.allclose(boxes_of(result), quads_to_boxes(found.quads[order]), atol=0.1)
    assert np.allclose([box["quad"] for box in result["boxes"]], found.quads[order], atol=0.1)


def test_thresholds_as_paddlex_gives_them(paddlex: Any, registered: Any, image: np.ndarray) -> None:
    model = paddlex.create_model(NAME, str(WEIGHTS), device="cpu", engine="onnxruntime", threshold=1.0)
    assert next(iter(model.predict(image)))["boxes"] == []
    assert len(next(iter(model.predict(image, threshold={0: 0.3})))["boxes"]) == N_ROWS * N_COLS


def test_pictures_of_several_sizes_are_a_batch(paddlex: Any, registered: Any, image: np.ndarray) -> None:
    model = paddlex.create_model(NAME, str(WEIGHTS), device="cpu", engine="onnxruntime")
    blank = np.full((50, 70, 3), 255, np.uint8)
    results = list(model.predict([image, blank, image[:, :200]], batch_size=3))
    assert [len(result["boxes"]) for result in results][:2] == [N_ROWS * N_COLS, 0]


def test_results_are_written_without_network(
    paddlex: Any, registered: Any, image: np.ndarray, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import socket

    def refuse(*_: Any, **__: Any) -> None:
        raise AssertionError("no network in tests")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    cv2.imwrite(str(tmp_path / "table.png"), image)
    model = paddlex.create_model(NAME, str(WEIGHTS), device="cpu", engine="onnxruntime")
    (result,) = model.predict(str(tmp_path / "table.png"))
    result.save_to_img(str(tmp_path / "out"))
    result.save_to_json(str(tmp_path / "out"))
    assert len(json.loads((tmp_path / "out" / "table_res.json").read_text())["boxes"]) == N_ROWS * N_COLS
    drawn = cv2.imread(str(tmp_path / "out" / "table_res.png"))
    assert drawn.shape == image.shape and (drawn != image).any()


def test_weights_of_a_training_are_a_model_too(paddlex: Any, registered: Any, tmp_path: Path) -> None:
    net = load_cellnet(WEIGHTS)
    export_cellnet(net, tmp_path)
    (result,) = paddlex.create_model(NAME, str(tmp_path), device="cpu").predict(np.full((64, 64, 3), 255, np.uint8))
    assert result["boxes"] == []


@pytest.mark.parametrize("engine", ENGINES)
def test_stock_paddlex_takes_the_export_for_its_own(paddlex: Any, dropin: Path, image: np.ndarray, engine: str) -> None:
    model = paddlex.create_model(OFFICIAL[0], str(dropin), device="cpu", engine=engine)
    wider = np.hstack([image, image[:, 30:]])
    first, second, third = model.predict([image, wider, np.full((40, 90, 3), 255, np.uint8)], batch_size=3)
    (found,) = CellNetDetector(WEIGHTS, layout="table", threshold=0.4).detect(image, [])
    assert len(first["boxes"]) == len(found.quads) == N_ROWS * N_COLS
    for box in boxes_of(first):
        assert np.abs(quads_to_boxes(found.quads) - box).max(axis=1).min() < 3
    assert len(second["boxes"]) == 2 * N_ROWS * N_COLS
    assert third["boxes"] == []
    assert boxes_of(first).min() >= 0
    assert (boxes_of(first).max(axis=0)[2:] <= image.shape[1::-1]).all()


def test_its_sums_are_in_its_description(dropin: Path) -> None:
    description = yaml.safe_load((dropin / "inference.yml").read_text(encoding="utf-8"))
    assert description["Global"]["model_name"] == OFFICIAL[0]
    assert set(description["sha256"]) == {"inference.onnx", "inference.json", "inference.pdiparams"}


def test_ours_takes_it_too(dropin: Path, image: np.ndarray) -> None:
    for engine in ENGINES:
        (found,) = PaddleXDetector("any", dropin, Runtime(engine=engine)).detect(image, [])
        assert len(found.quads) == N_ROWS * N_COLS


@pytest.mark.parametrize("by_name", [False, True])
def test_stock_table_recognition_v2_takes_either(
    paddlex: Any, registered: Any, dropin: Path, weights: Path, image: np.ndarray, tmp_path: Path, by_name: bool
) -> None:
    second = tmp_path / "wireless"
    shutil.copytree(dropin, second)
    description = (second / "inference.yml").read_text(encoding="utf-8").replace(*OFFICIAL)
    (second / "inference.yml").write_text(description, encoding="utf-8")
    cells = [(NAME, weights)] * 2 if by_name else [(OFFICIAL[0], dropin), (OFFICIAL[1], second)]
    kinds = ["wired_table", "wireless_table"]
    modules = {
        "TableClassification": save_classifier(tmp_path, CLASSIFIER, kinds, kinds[by_name]),
        "WiredTableStructureRecognition": save_structure(tmp_path, "SLANeXt_wired"),
        "WirelessTableStructureRecognition": save_structure(tmp_path, "SLANeXt_wireless"),
    }
    config = {
        "pipeline_name": "table_recognition_v2",
        "use_doc_preprocessor": False,
        "use_layout_detection": False,
        "use_ocr_model": False,
        "SubModules": {
            **{key: to_part(path) for key, path in modules.items()},
            **{
                key: {"model_name": name, "model_dir": str(folder)}
                for key, (name, folder) in zip(
                    ("WiredTableCellsDetection", "WirelessTableCellsDetection"), cells, strict=True
                )
            },
        },
    }
    pipeline = paddlex.create_pipeline(config=config, device="cpu")
    (result,) = pipeline.predict(
        image,
        overall_ocr_res=texts(image),
        use_table_orientation_classify=False,
        use_wired_table_cells_trans_to_html=True,
        use_wireless_table_cells_trans_to_html=True,
    )
    html = result["table_res_list"][0]["pred_html"]
    assert re.findall(r"<td[^>]*>(.*?)</td>", html) == texts(image)["rec_texts"]


def test_the_command_writes_it(tmp_path: Path) -> None:
    result = CliRunner().invoke(command, ["export", "--as", OFFICIAL[1], "-o", str(tmp_path / "wireless")])
    assert result.exit_code == 0, result.output
    description = yaml.safe_load((tmp_path / "wireless" / "inference.yml").read_text(encoding="utf-8"))
    assert description["Global"]["model_name"] == OFFICIAL[1]
