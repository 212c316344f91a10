"""Every notebook runs from top to bottom and is kept without outputs, but for a few pictures."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import Any

import pytest

from tablerec.course.run import execute, missing_for, read_notebook

NOTEBOOKS = sorted((Path(__file__).resolve().parent.parent / "notebooks").glob("*.ipynb"))


def test_the_course_has_no_gap() -> None:
    assert len(NOTEBOOKS) >= 11
    assert [path.name[:3] for path in NOTEBOOKS] == [f"{number:02}_" for number in range(len(NOTEBOOKS))]


def cells_of(path: Path) -> list[dict[str, Any]]:
    return json.loads(path.read_text(encoding="utf-8"))["cells"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_outputs_are_stripped(path: Path) -> None:
    kept = [cell for cell in cells_of(path) if cell.get("outputs") or cell.get("execution_count")]
    assert [cell["id"] for cell in kept if "picture" not in cell["metadata"].get("tags", [])] == []
    for cell in kept:
        assert cell["execution_count"] is None
        assert [list(output["data"]) for output in cell["outputs"]] == [["image/png"]]
        assert len(cell["outputs"][0]["data"]["image/png"]) < 100_000


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_code_cells_are_short(path: Path) -> None:
    sizes = [len(cell["source"]) for cell in cells_of(path) if cell["cell_type"] == "code"]
    assert max(sizes) <= 10 and sum(sizes) <= 8 * len(sizes)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_prose_carries_the_code(path: Path) -> None:
    kinds = [cell["cell_type"] for cell in cells_of(path)]
    assert 1.5 <= kinds.count("markdown") / kinds.count("code") <= 3


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_the_top_says_what_it_needs_and_how_long_it_takes(path: Path) -> None:
    first, second = ("".join(cell["source"]) for cell in cells_of(path)[:2])
    assert first.startswith("# ")
    assert "pip install" in first + second and "two cores" in first + second


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_exercises_have_answers(path: Path) -> None:
    assert any("<details><summary>Answer</summary>" in "".join(cell["source"]) for cell in cells_of(path))


@pytest.mark.filterwarnings("ignore")  # of Jupyter, not of the notebook
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook_runs(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("nbclient", reason="needs the dev or the lab extra")
    monkeypatch.setenv("TABLEREC_SMOKE", "1")  # everything small; `tablerec lab --run` runs them in full
    notebook = read_notebook(path)
    fetched = notebook.metadata.get("tablerec", {}).get("fetches", [])  # with pip, by a cell; a test has no network
    missing = missing_for(notebook) + [name for name in fetched if importlib.util.find_spec(name) is None]
    if missing:
        pytest.skip(f"needs {', '.join(missing)}")
    execute(notebook, path.parent)
