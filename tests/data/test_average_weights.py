"""The script that averages weights."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

import numpy as np
import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "data" / "training" / "average_weights.py"
safetensors = pytest.importorskip("safetensors.numpy")


def run(monkeypatch: pytest.MonkeyPatch, *words: object) -> None:
    monkeypatch.setattr(sys, "argv", [str(SCRIPT), *map(str, words)])
    runpy.run_path(str(SCRIPT), run_name="__main__")


def test_the_mean_keeps_types_and_what_the_last_file_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in (1, 2, 6):
        weights = {"a": np.full((2, 3), number, np.float32), "b": np.full(4, number, np.float16)}
        safetensors.save_file(weights, tmp_path / f"{number}.safetensors", {"number": str(number)})
    run(monkeypatch, *(tmp_path / f"{number}.safetensors" for number in (1, 2, 6)), "-o", tmp_path / "mean.safetensors")
    mean = safetensors.load_file(tmp_path / "mean.safetensors")
    assert {name: (array.dtype, array.flat[0]) for name, array in mean.items()} == {
        "a": (np.float32, 3),
        "b": (np.float16, 3),
    }
    from safetensors import safe_open

    with safe_open(tmp_path / "mean.safetensors", "np") as file:
        assert file.metadata() == {"number": "6"}


def test_other_networks_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in (1, 2):
        safetensors.save_file({"a": np.zeros(number, np.float32)}, tmp_path / f"{number}.safetensors")
    with pytest.raises(SystemExit):
        run(monkeypatch, tmp_path / "1.safetensors", tmp_path / "2.safetensors", "-o", tmp_path / "mean.safetensors")
    assert not (tmp_path / "mean.safetensors").exists()
