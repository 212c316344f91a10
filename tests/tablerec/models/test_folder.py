"""Whether the files of an exported model are whole."""

from __future__ import annotations

from pathlib import Path

import pytest

from tablerec.errors import ModelNotFoundError
from tablerec.models.folder import ONNX, check_files, read_description, sha256
from tests.helpers.strategies import HOSTILE_YAML


def describe(folder: Path, text: str) -> None:
    (folder / "inference.yml").write_text(text, encoding="utf-8")


def test_nothing_there(tmp_path: Path) -> None:
    assert read_description(tmp_path) == {}
    check_files(tmp_path)
    with pytest.raises(ModelNotFoundError, match=r"inference\.onnx cannot be read \(No such file"):
        check_files(tmp_path, ONNX)


def test_a_file_without_a_sum_is_taken_as_it_is(tmp_path: Path) -> None:
    (tmp_path / ONNX).write_bytes(b"weights")
    check_files(tmp_path, ONNX)
    describe(tmp_path, "Global: {model_name: CellNet}")
    check_files(tmp_path, ONNX)


def test_a_changed_file_is_noticed(tmp_path: Path) -> None:
    (tmp_path / ONNX).write_bytes(b"weights")
    describe(tmp_path, f"Global: {{model_name: CellNet}}\nsha256: {{{ONNX}: {sha256(tmp_path / ONNX)}}}")
    check_files(tmp_path, ONNX)
    (tmp_path / ONNX).write_bytes(b"weight")
    with pytest.raises(ModelNotFoundError, match=r"inference\.onnx is damaged .*tablerec export"):
        check_files(tmp_path, ONNX)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[1, 2]",
        "Global: 3",
        "Global: {}",
        "a: [",
        *(f"Global: {{model_name: CellNet}}\n{text}" for text in HOSTILE_YAML.values()),
        *(
            f"Global: {{model_name: CellNet}}\nsha256: {sums}"
            for sums in ("[1]", "{1: a}", "{/dev/zero: a}", "{../a: a}")
        ),
    ],
)
def test_a_broken_description_is_refused(text: str, tmp_path: Path) -> None:
    describe(tmp_path, text)
    with pytest.raises(ModelNotFoundError, match=r"inference\.yml is damaged"):
        read_description(tmp_path)


def test_another_model_is_named(tmp_path: Path) -> None:
    describe(tmp_path, "Global: {model_name: RT-DETR-L}")
    with pytest.raises(ModelNotFoundError, match="describes the model RT-DETR-L"):
        check_files(tmp_path)
    check_files(tmp_path, expected=None)
