"""The labs: their sources in two languages, the executed copies, the exercises and their solutions."""

from __future__ import annotations

import importlib.util
import json
import re
from pathlib import Path
from typing import Any

import pytest

from tablerec.course.build import read_source, same_cells, was_executed
from tablerec.course.run import execute, missing_for, read_notebook

NOTEBOOKS = Path(__file__).resolve().parent.parent / "notebooks"
SOURCES = sorted((NOTEBOOKS / "source").glob("[0-9]*.md"))
NAMES = [path.stem for path in SOURCES]
OLD: set[str] = set()
NEW = [name for name in NAMES if name not in OLD]
COPIES = [f"{folder}{name}" for name in NEW for folder in ("", "zh/")]

HEADINGS = {
    "": ["What you will learn", "Recap", "Questions", "Exercises", "Further reading"],
    "zh/": ["学习目标", "小结", "思考题", "练习", "延伸阅读"],
}
# What the first cells say: the time, how hard it is, and what is needed.
NEEDS = {
    "": ["two cores", r"Level\**\s+[123] of 3", "pip install"],
    "zh/": ["双核", r"难度\**\s*[123]/3", "pip install"],
}
EXERCISE = {"": r"### Exercise {}: ", "zh/": r"### 练习 {}："}


def parts(copy: str) -> tuple[str, str]:
    """Return the language's folder and the name of a lab."""
    folder, _, name = copy.rpartition("/")
    return f"{folder}/" if folder else "", name


def source_cells(path: str) -> list[Any]:
    pytest.importorskip("jupytext", reason="needs the dev extra")
    return read_source(NOTEBOOKS / "source" / f"{path}.md").cells


def tagged(cells: list[Any], tag: str) -> list[Any]:
    return [cell for cell in cells if tag in cell["metadata"].get("tags", [])]


def test_the_course_has_no_gap() -> None:
    assert len(NAMES) >= 12 and set(NAMES) >= OLD
    assert [name[:3] for name in NAMES] == [f"{number:02}_" for number in range(len(NAMES))]
    assert [path.stem for path in sorted(NOTEBOOKS.glob("*.ipynb"))] == NAMES


@pytest.mark.parametrize("folder", ["source/zh", "source/solutions", "source/solutions/zh"])
def test_each_lab_has_a_text_in_chinese_and_solutions(folder: str) -> None:
    there = {path.stem for path in (NOTEBOOKS / folder).glob("[0-9]*.md")}
    assert set(NEW) - there == set() and there <= set(NAMES)


@pytest.mark.parametrize("copy", COPIES)
def test_each_lab_has_the_same_form(copy: str) -> None:
    folder, name = parts(copy)
    cells = source_cells(copy)
    texts = [cell["source"] for cell in cells if cell["cell_type"] == "markdown"]
    assert texts[0].startswith("# ")
    top = "\n".join(texts[:3])
    assert [need for need in NEEDS[folder] if not re.search(need, top)] == []
    headings = re.findall(r"^## (.+)$", "\n".join(texts), re.MULTILINE)
    assert [heading for heading in headings if heading in HEADINGS[folder]] == HEADINGS[folder]
    assert headings[0] == HEADINGS[folder][0]
    exercises = [re.match(r"### \S+ ?\d[:：] ?", text) for text in texts]
    assert sum(each is not None for each in exercises) == 3
    for number in (1, 2, 3):
        assert any(text.startswith(EXERCISE[folder].format(number)) for text in texts)
    assert f"solutions/{folder}{name}.ipynb" in "\n".join(texts)


@pytest.mark.parametrize("copy", COPIES)
def test_cells_are_short_and_prose_carries_the_code(copy: str) -> None:
    cells = source_cells(copy)
    sizes = [len(cell["source"].splitlines()) for cell in cells if cell["cell_type"] == "code"]
    assert max(sizes) <= 12 and sum(sizes) <= 9 * len(sizes)
    assert sum(cell["cell_type"] == "markdown" for cell in cells) >= 0.8 * len(sizes)


@pytest.mark.parametrize("name", NEW)
def test_each_exercise_is_a_stub_and_its_check(name: str) -> None:
    cells = source_cells(name)
    kinds = [cell["metadata"].get("tags", [""])[0] for cell in cells]
    marked = [kind for kind in kinds if kind in ("exercise", "check")]
    assert marked == ["exercise", "check"] * 3
    assert all(kinds[index + 1] == "check" for index, kind in enumerate(kinds) if kind == "exercise")
    assert all("..." in cell["source"] for cell in tagged(cells, "exercise"))
    for number, cell in enumerate(tagged(cells, "check"), start=1):
        assert f'@check("Exercise {number}")' in cell["source"]


@pytest.mark.parametrize("name", NEW)
def test_the_chinese_lab_has_the_same_code(name: str) -> None:
    for folder in ("", "solutions/"):
        english, chinese = source_cells(f"{folder}{name}"), source_cells(f"{folder}zh/{name}")
        assert [cell["cell_type"] for cell in chinese] == [cell["cell_type"] for cell in english]
        code = [
            [(cell["source"], cell["metadata"].get("tags")) for cell in cells if cell["cell_type"] == "code"]
            for cells in (english, chinese)
        ]
        assert code[0] == code[1]
        papers = [
            {*re.findall(r"arXiv:\d+\.\d+", "".join(cell["source"] for cell in each))} for each in (english, chinese)
        ]
        assert papers[0] == papers[1]
        assert all(re.search(r"[\u4e00-\u9fff]", cell["source"]) for cell in chinese if cell["cell_type"] == "markdown")


@pytest.mark.parametrize("copy", COPIES)
def test_executed_copies_are_up_to_date(copy: str) -> None:
    _, name = parts(copy)
    pytest.importorskip("jupytext", reason="needs the dev extra")
    for path in (copy, f"solutions/{copy}"):
        kept, source = (
            read_notebook(NOTEBOOKS / f"{path}.ipynb"),
            read_source(NOTEBOOKS / "source" / f"{path}.md"),
        )
        assert same_cells(kept, source), f"run: python -m tablerec.course.build {name}"
    assert was_executed(read_notebook(NOTEBOOKS / f"{copy}.ipynb"))


@pytest.mark.parametrize("copy", COPIES)
def test_executed_copies_show_figures_and_nothing_of_a_machine(copy: str) -> None:
    path = NOTEBOOKS / f"{copy}.ipynb"
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    outputs = [output for cell in cells for output in cell.get("outputs", [])]
    assert [output for output in outputs if output["output_type"] == "error" or output.get("name") == "stderr"] == []
    assert sum(key.startswith("image/") for output in outputs for key in output.get("data", {})) >= 3
    said = json.dumps(
        [{k: v for k, v in output.get("data", output).items() if not k.startswith("image/")} for output in outputs]
    )
    assert re.findall(r"(?<![\w.])/(?:work|root|home|tmp|usr|Users)/[\w.]+|0x[0-9a-f]{8,}", said) == []
    checks = [output["text"] for cell in tagged(cells, "check") for output in cell["outputs"]]
    assert ["to do" in "".join(text) for text in checks] == [True] * 3
    assert path.stat().st_size <= 300_000


def test_lab_15_shows_the_figures_of_a_card_that_the_record_has() -> None:
    """As they were when it was executed: run ``python -m tablerec.course.build 15 --all`` when they change."""
    record = NOTEBOOKS.parent / "tablerec" / "language" / "MEASURED.md"
    if not record.is_file():
        pytest.skip("no card was measured yet")
    _, marker, text = record.read_text(encoding="utf-8").partition("<!-- card figures -->")
    figures = text.strip().partition("\n\n")[0]
    assert marker and figures.startswith("|"), "the marker stands before a table"
    cells = read_notebook(NOTEBOOKS / "15_language_models_on_a_device.ipynb").cells
    shown = [output.get("data", {}).get("text/markdown") for cell in cells for output in cell.get("outputs", [])]
    assert figures in shown


@pytest.mark.parametrize("name", ["README.md", "README.zh-CN.md"])
def test_the_index_names_each_lab(name: str) -> None:
    folder = "zh/" if "zh" in name else ""
    linked = re.findall(r"\]\((\S+)\.ipynb\)", (NOTEBOOKS / name).read_text(encoding="utf-8"))
    assert sorted(linked) == [f"{folder}{lab}" for lab in NAMES]


@pytest.mark.parametrize("folder", ["", "zh/"])
def test_links_lead_to_a_lab_or_a_file(folder: str) -> None:
    texts = {path: path.read_text(encoding="utf-8") for path in (NOTEBOOKS / folder).glob("*.md")}
    for name in NEW:
        for path in (f"{folder}{name}", f"solutions/{folder}{name}"):
            texts[NOTEBOOKS / path] = (NOTEBOOKS / "source" / f"{path}.md").read_text(encoding="utf-8")
    missing = [
        f"{path.name}: {link}"
        for path, text in texts.items()
        for link in re.findall(r"(?<!!)\[[^\]]*\]\((?!https?:|#)([^)\s]+)\)", text)
        if not (path.parent / link.partition("#")[0]).exists() and Path(link).stem not in OLD
    ]
    assert missing == []


def test_executed_copies_are_small_together() -> None:
    assert sum(path.stat().st_size for path in NOTEBOOKS.rglob("*.ipynb")) <= 8_000_000


@pytest.mark.filterwarnings("ignore")  # of Jupyter, not of the notebook
@pytest.mark.parametrize("name", NAMES)
def test_lab_runs_and_the_checks_know_empty_from_solved(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("nbclient", reason="needs the dev or the lab extra")
    monkeypatch.setenv("TABLEREC_SMOKE", "1")  # everything small; `tablerec lab --run` runs them in full
    notebook = read_notebook(NOTEBOOKS / f"{name}.ipynb")
    fetched = notebook.metadata.get("tablerec", {}).get("fetches", [])  # with pip, by a cell; a test has no network
    missing = missing_for(notebook) + [name for name in fetched if importlib.util.find_spec(name) is None]
    if missing:
        pytest.skip(f"needs {', '.join(missing)}")
    if name in NEW:
        insert_solutions(notebook, read_notebook(NOTEBOOKS / "solutions" / f"{name}.ipynb"))
    execute(notebook, NOTEBOOKS)
    said = [re.findall("to do|right|not yet", str(cell["outputs"])) for cell in tagged(notebook.cells, "check")]
    assert said == [["to do"], ["right"]] * (3 if name in NEW else 0), str(tagged(notebook.cells, "check"))


def insert_solutions(notebook: Any, solutions: Any) -> None:
    """After each exercise and its check put the solution and the check again."""
    nbformat = pytest.importorskip("nbformat")
    solved = tagged(solutions.cells, "exercise")
    assert len(solved) == 3
    for check, solution in zip(tagged(notebook.cells, "check"), solved, strict=True):
        again = [
            nbformat.from_dict({**json.loads(json.dumps(cell)), "id": f"{cell.id}-2"}) for cell in (solution, check)
        ]
        place = notebook.cells.index(check) + 1
        notebook.cells[place:place] = again
