"""RT-DETR as PaddleX's dynamic network and as the static model that comes of it."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from tablerec.cli import command
from tablerec.detect.paddlex import OFFICIAL
from tablerec.paddlex_support import create_model, import_paddlex
from tests.helpers.models.paddlex_models import save_rtdetr

if any(importlib.util.find_spec(package) is None for package in ("paddle", "paddlex", "onnx")):
    pytest.skip("needs the paddle extra", allow_module_level=True)
pytestmark = pytest.mark.filterwarnings("ignore")


def rows(folder: Path, images: list[np.ndarray]) -> list[np.ndarray]:
    results = create_model(OFFICIAL[0], folder).predict(images, batch_size=2, threshold=0.0)
    return [np.array([[box["score"], *box["coordinate"]] for box in result["boxes"]]) for result in results]


def test_the_static_model_finds_what_the_dynamic_network_finds(tmp_path: Path) -> None:
    import_paddlex()
    source = save_rtdetr(tmp_path, OFFICIAL[0])
    result = CliRunner().invoke(command, ["export", str(source), "-o", str(tmp_path / "static")])
    assert result.exit_code == 0, result.output
    rng = np.random.default_rng(0)
    images = [rng.integers(0, 255, (*size, 3), np.uint8) for size in ((200, 300), (400, 120))]
    before, after = rows(source, images), rows(tmp_path / "static", images)
    assert [len(each) for each in before] == [20, 20]
    for dynamic, static in zip(before, after, strict=True):
        np.testing.assert_allclose(dynamic, static, atol=0.05)


def test_bad_folders_are_refused(tmp_path: Path) -> None:
    (tmp_path / "model.safetensors").write_bytes(b"no weights")
    result = CliRunner().invoke(command, ["export", str(tmp_path), "-o", str(tmp_path / "out")])
    assert result.exit_code == 1 and "holds no inference.yml" in result.output
    (tmp_path / "inference.yml").write_text("Global: {model_name: x}", encoding="utf-8")
    result = CliRunner().invoke(command, ["export", str(tmp_path), "-o", str(tmp_path / "out")])
    assert result.exit_code == 1 and "holds no RT-DETR" in result.output
    assert not (tmp_path / "out").exists()
    result = CliRunner().invoke(command, ["export", str(tmp_path), "-o", str(tmp_path / "out"), "--as", OFFICIAL[0]])
    assert result.exit_code == 2 and "--as is for CellNet and LineNet" in result.output
