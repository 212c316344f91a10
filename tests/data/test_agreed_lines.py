"""Labels from two readings that agree."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from types import ModuleType
from typing import Any

import cv2
import numpy as np
import pytest
from click.testing import CliRunner

from tablerec.ocr.line import Line

SCRIPT = Path(__file__).resolve().parents[2] / "data" / "datasets" / "agreed_lines" / "prepare.py"


@pytest.fixture(scope="module")
def prepare() -> ModuleType:
    spec = importlib.util.spec_from_file_location("prepare_agreed_lines", SCRIPT)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def quads(*boxes: tuple[float, float, float, float]) -> Any:
    return np.array([[[x0, y0], [x1, y0], [x1, y1], [x0, y1]] for x0, y0, x1, y1 in boxes], float).reshape(-1, 4, 2)


PAGE = np.full((60, 200, 3), 255, np.uint8)


def test_a_picture_without_text_has_no_lines(prepare: ModuleType) -> None:
    nothing = prepare.Reading(quads(), [])
    assert prepare.label(PAGE, nothing, nothing) == ({"lines": [], "ignore": []}, [])


def test_lines_found_once_are_left_out_and_those_read_in_two_ways_have_no_text(prepare: ModuleType) -> None:
    first = prepare.Reading(
        quads((10, 10, 60, 20), (80, 10, 120, 20), (140, 10, 190, 20)),
        [Line("same", 0.99), Line("3O", 0.95), Line("once", 0.99)],
    )
    second = prepare.Reading(
        quads((80, 10, 121, 20), (11, 10, 61, 20), (10, 40, 60, 50)),
        [Line("30", 0.99), Line("same", 0.97), Line("other", 0.99)],
    )
    labels, crops = prepare.label(PAGE, first, second)
    assert len(labels["lines"]) == 2
    assert [quad[0] for quad in labels["ignore"]] == [[140, 10], [10, 40]]
    assert [text for _, text in crops] == ["same"]


def test_a_reading_that_is_not_sure_is_no_label(prepare: ModuleType) -> None:
    place = quads((10, 10, 60, 20))
    unsure = prepare.Reading(place, [Line("1.5", 0.5)])
    assert prepare.label(PAGE, unsure, unsure)[1] == []


def test_a_picture_is_labelled_once_and_its_crops_are_listed(
    prepare: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "in").mkdir()
    cv2.imwrite(str(tmp_path / "in" / "a.png"), PAGE)
    reads = []

    def read(engine: Any, image: Any, scale: float) -> Any:
        reads.append(scale)
        return prepare.Reading(quads((10, 10, 60, 20)), [Line("12", 0.99)])

    monkeypatch.setattr(prepare, "read", read)
    out = tmp_path / "out"
    for _ in range(2):
        assert CliRunner().invoke(prepare.main, [str(tmp_path / "in"), "-o", str(out)]).exit_code == 0
    assert len(reads) == 2
    assert (out / "rec_gt.txt").read_text("utf-8") == "crops/a/0.png\t12\n"
    assert (out / "crops" / "a" / "0.png").is_file()
    assert json.loads((out / "a.json").read_text("utf-8"))["lines"] == [[[10, 10], [60, 10], [60, 20], [10, 20]]]


def test_a_folder_without_pictures_is_named(prepare: ModuleType, tmp_path: Path) -> None:
    result = CliRunner().invoke(prepare.main, [str(tmp_path), "-o", str(tmp_path / "out")])
    assert result.exit_code == 1
    assert "holds no pictures" in result.output
