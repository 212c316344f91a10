"""Notebooks are made from their sources: executed once, for both languages."""

from __future__ import annotations

import base64
import io
import shutil
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from tablerec.course.build import build_command, build_lab, read_source, tidy
from tablerec.course.run import read_notebook
from tablerec.errors import InputError

nbformat = pytest.importorskip("nbformat", reason="needs the dev or the lab extra")
pytest.importorskip("jupytext", reason="needs the dev extra")
pytest.importorskip("nbclient")
pytestmark = pytest.mark.filterwarnings("ignore")  # of Jupyter

HEAD = "---\njupyter:\n  kernelspec:\n    display_name: Python 3\n    language: python\n    name: python3\n---\n\n"
ENGLISH = HEAD + "# A lab\n\n```python\nx = 6\n```\n\nNow\n\n```python tags=['check']\nprint(x * 7)\n```\n"
CHINESE = ENGLISH.replace("# A lab", "# 实验").replace("Now", "现在")


@pytest.fixture(scope="module")
def built_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a course of one lab, executed."""
    folder = tmp_path_factory.mktemp("course")
    for part, text in (("", ENGLISH), ("zh", CHINESE), ("solutions", ENGLISH), ("solutions/zh", CHINESE)):
        (folder / "source" / part).mkdir(parents=True, exist_ok=True)
        (folder / "source" / part / "00_a.md").write_text(text, encoding="utf-8")
    assert build_lab(folder, "00_a")
    return folder


@pytest.fixture
def folder(built_once: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a copy of that course, for the test to change."""
    monkeypatch.delenv("TABLEREC_SMOKE", raising=False)
    return Path(shutil.copytree(built_once, tmp_path / "course"))


def outputs(notebook: Any) -> list[Any]:
    return [cell.outputs for cell in notebook.cells if cell.cell_type == "code"]


def test_a_lab_is_executed_once_for_both_languages(folder: Path) -> None:
    english, chinese = read_notebook(folder / "00_a.ipynb"), read_notebook(folder / "zh/00_a.ipynb")
    assert outputs(english)[1][0]["text"] == "42\n" and outputs(english) == outputs(chinese)
    assert english.cells[0].source == "# A lab" and chinese.cells[0].source == "# 实验"
    assert english.cells[3].metadata.tags == ["check"]
    assert outputs(read_notebook(folder / "solutions/zh/00_a.ipynb")) == [[], []]


def test_what_has_not_changed_is_not_executed_again(folder: Path) -> None:
    before = (folder / "00_a.ipynb").read_bytes()
    (folder / "source/zh/00_a.md").write_text(CHINESE.replace("现在", "然后"), encoding="utf-8")
    assert not build_lab(folder, "00_a") and (folder / "00_a.ipynb").read_bytes() == before
    assert read_notebook(folder / "zh/00_a.ipynb").cells[2].source == "然后"
    (folder / "source/00_a.md").write_text(ENGLISH.replace("* 7", "* 8"), encoding="utf-8")
    with pytest.raises(InputError, match=r"zh/00_a: cell 4 is not the one of the English lab"):
        build_lab(folder, "00_a")
    assert outputs(read_notebook(folder / "00_a.ipynb"))[1][0]["text"] == "48\n"


def test_the_same_source_gives_the_same_bytes(folder: Path) -> None:
    before = (folder / "00_a.ipynb").read_bytes()
    assert build_lab(folder, "00_a", again=True) and (folder / "00_a.ipynb").read_bytes() == before


def test_other_words_keep_the_outputs(folder: Path) -> None:
    (folder / "source/00_a.md").write_text(ENGLISH.replace("Now", "Then"), encoding="utf-8")
    assert not build_lab(folder, "00_a")
    english = read_notebook(folder / "00_a.ipynb")
    assert english.cells[2].source == "Then" and outputs(english)[1][0]["text"] == "42\n"


def test_without_running_other_code_has_no_outputs(folder: Path) -> None:
    for language, text in (("", ENGLISH), ("zh", CHINESE)):
        (folder / "source" / language / "00_a.md").write_text(text.replace("* 7", "* 8"), encoding="utf-8")
    assert not build_lab(folder, "00_a", run=False)
    assert outputs(read_notebook(folder / "00_a.ipynb")) == outputs(read_notebook(folder / "zh/00_a.ipynb")) == [[], []]


def test_a_cell_that_fails_leaves_the_notebook_of_before(folder: Path) -> None:
    before = (folder / "00_a.ipynb").read_bytes()
    (folder / "source/00_a.md").write_text(ENGLISH.replace("x * 7", "x / 0"), encoding="utf-8")
    done = CliRunner().invoke(build_command, ["--folder", str(folder)])
    assert done.exit_code == 1 and "00_a: cell 4: ZeroDivisionError" in done.output
    assert (folder / "00_a.ipynb").read_bytes() == before


def test_a_small_run_is_refused(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TABLEREC_SMOKE", "1")
    done = CliRunner().invoke(build_command, ["--folder", str(folder)])
    assert done.exit_code == 2 and "TABLEREC_SMOKE" in done.output


def test_a_source_that_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"00_a\.md: cannot be read"):
        read_source(tmp_path / "00_a.md")


def test_outputs_become_small_and_lose_what_nobody_sees() -> None:
    import numpy as np
    from PIL import Image

    noise = np.random.default_rng(seed=0).integers(0, 256, (900, 1200, 3), dtype=np.uint8)
    written = io.BytesIO()
    Image.fromarray(noise).save(written, "PNG")
    data = {"image/png": base64.b64encode(written.getvalue()).decode(), "text/plain": "x" * 5000}
    widget = {"application/vnd.jupyter.widget-view+json": {}, "text/plain": "editor"}
    page = {"text/html": f'<img src="data:image/png;base64,{data["image/png"]}">', "text/plain": "page"}
    make = nbformat.v4.new_output
    shown = [make("display_data", data) for data in (data, widget, page)]
    noisy = make("stream", name="stderr", text="warning")
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("1", outputs=[noisy, *shown])])
    tidy(notebook)
    pictured, of_widget, of_page = (output.data for output in notebook.cells[0].outputs)
    assert set(pictured) == {"image/jpeg", "text/plain"} and len(pictured["text/plain"]) == 200
    with Image.open(io.BytesIO(base64.b64decode(pictured["image/jpeg"]))) as picture:
        assert picture.size == (640, 480)
    assert list(of_widget) == ["text/plain"] and "widget" in of_widget["text/plain"]
    assert of_page["text/html"].startswith('<img src="data:image/jpeg;base64,') and of_page["text/html"].endswith('">')
