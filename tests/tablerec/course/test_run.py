"""Notebooks are executed one after the other, and what was done is not done again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from tablerec.cli import command as tablerec
from tablerec.course import command as lab
from tablerec.course.course import Copied
from tablerec.course.run import Run, execute, missing_for, read_notebook, run_notebooks
from tablerec.errors import InputError

nbformat = pytest.importorskip("nbformat", reason="needs the dev or the lab extra")
pytest.importorskip("nbclient")
pytestmark = pytest.mark.filterwarnings("ignore")  # of Jupyter


def make_notebook(path: Path, *cells: str, **needs: Any) -> Any:
    path.parent.mkdir(exist_ok=True)
    new = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    new.metadata["tablerec"] = needs
    nbformat.write(new, path)
    return new


def run_all(folder: Path) -> list[Run]:
    return list(run_notebooks(folder / "notebooks", folder / "executed", lambda name, number, count: None))


def test_a_folder_without_notebooks_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no notebooks"):
        run_all(tmp_path)


def test_what_is_no_notebook_is_refused(tmp_path: Path) -> None:
    (tmp_path / "bad.ipynb").write_text('{"cells": 3}')
    with pytest.raises(InputError, match=r"bad\.ipynb: no notebook"):
        read_notebook(tmp_path / "bad.ipynb")


def test_outputs_are_kept_beside_and_the_notebook_stays(tmp_path: Path) -> None:
    made = make_notebook(tmp_path / "notebooks" / "one.ipynb", "x = 6", "x * 7")
    before = (tmp_path / "notebooks" / "one.ipynb").read_bytes()
    seen = []
    (run,) = run_notebooks(tmp_path / "notebooks", tmp_path / "executed", lambda *each: seen.append(each))
    assert run.name == "one" and not run.error and not run.skipped and run.seconds > 0
    assert seen == [("one", 1, 2), ("one", 2, 2)]
    kept = read_notebook(tmp_path / "executed" / "one.ipynb")
    assert [cell.source for cell in kept.cells] == [cell.source for cell in made.cells]
    assert kept.cells[1].outputs[0]["data"]["text/plain"] == "42"
    assert (tmp_path / "notebooks" / "one.ipynb").read_bytes() == before


def test_one_that_fails_is_told_and_the_others_go_on(tmp_path: Path) -> None:
    make_notebook(tmp_path / "notebooks" / "a.ipynb", "1", "raise ValueError('what\\n went wrong')")
    make_notebook(tmp_path / "notebooks" / "b.ipynb", "1")
    failed, fine = run_all(tmp_path)
    assert failed.error == "cell 2: ValueError: what went wrong" and not fine.error
    # Again: the one that ended is not repeated, the other is.
    failed, fine = run_all(tmp_path)
    assert failed.error and "was run before" in fine.skipped
    make_notebook(tmp_path / "notebooks" / "a.ipynb", "1")
    mended, _ = run_all(tmp_path)
    assert not mended.error and not mended.skipped


def test_a_small_run_does_not_stand_for_a_full_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_notebook(tmp_path / "notebooks" / "a.ipynb", "1")
    monkeypatch.setenv("TABLEREC_SMOKE", "1")
    run_all(tmp_path)
    assert run_all(tmp_path)[0].skipped
    monkeypatch.delenv("TABLEREC_SMOKE")
    assert not run_all(tmp_path)[0].skipped


def test_what_is_missing_is_named_and_nothing_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CXX", "no-such-compiler")
    notebook = make_notebook(
        tmp_path / "notebooks" / "a.ipynb", "1", packages=["json", "no_such_package"], compiler=True
    )
    assert missing_for(notebook) == ["no_such_package", "g++"]
    assert [run.skipped for run in run_all(tmp_path)] == ["needs no_such_package, g++"]
    assert not (tmp_path / "executed").exists()


def test_a_kernel_that_dies_is_told(tmp_path: Path) -> None:
    notebook = make_notebook(tmp_path / "notebooks" / "a.ipynb", "import os; os._exit(3)")
    with pytest.raises(InputError, match="kernel"):
        execute(notebook, tmp_path)


def test_the_command_runs_all_and_counts_failures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_notebook(tmp_path / "notebooks" / "a.ipynb", "1")
    make_notebook(tmp_path / "notebooks" / "b.ipynb", "1 / 0")
    monkeypatch.setattr("tablerec.course.copy_course", lambda folder: Copied())
    monkeypatch.setattr(lab, "_serve", lambda arguments: pytest.fail("nothing is opened"))
    monkeypatch.setattr(lab.importlib.util, "find_spec", lambda name: name)
    done = CliRunner().invoke(tablerec, ["lab", str(tmp_path), "--run"])
    assert done.exit_code == 1 and "a: " in done.stdout
    assert "b: cell 1: ZeroDivisionError: division by zero" in done.stderr and "notebooks that failed: 1" in done.stderr
