"""Every benchmark says what it does: ``python -m tests.benchmarks.SUBJECT.NAME --help``."""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parent
OPTIONAL = {"docling", "onnx", "paddle", "paddlex", "playwright", "scipy", "torch", "transformers"}
"""Packages that a benchmark may need besides those of the extra ``dev``."""


def scripts() -> list[str]:
    """Dotted names of what can be run, below ``tests.benchmarks``."""
    files = [path for path in sorted(FOLDER.glob("*/*.py")) if "__main__" in path.read_text(encoding="utf-8")]
    return [f"{path.parent.name}.{path.stem}" for path in files]


def test_there_are_scripts_and_each_is_named_by_how_it_is_run() -> None:
    assert len(scripts()) > 30
    for name in scripts():
        doc = (FOLDER / f"{name.replace('.', '/')}.py").read_text(encoding="utf-8").split('"""')[1]
        assert f"python -m tests.benchmarks.{name}" in doc, name


@pytest.mark.parametrize("name", scripts())
def test_help(name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    # Where a package is missing, pytest leaves half a module behind when it looks for doctests.
    monkeypatch.delitem(sys.modules, f"tests.benchmarks.{name}", raising=False)
    try:
        module = importlib.import_module(f"tests.benchmarks.{name}")
    except ImportError as error:
        if error.name in OPTIONAL or importlib.util.find_spec("paddle") is None:
            pytest.skip(f"needs {error.name}")
        raise
    monkeypatch.setattr("sys.argv", [name, "--help"])
    with pytest.raises(SystemExit) as ended:
        module.main()
    assert ended.value.code == 0
    said = capsys.readouterr().out
    assert f"python -m tests.benchmarks.{name}" in re.sub(r"\s+", " ", said)
