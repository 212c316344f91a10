from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner, Result

from tablerec.bulk import command as command_module
from tablerec.cli import command
from tests.helpers.bulk.executor import TextExecutor
from tests.helpers.bulk.running import inputs, tables


@pytest.fixture(autouse=True)
def executor(monkeypatch: pytest.MonkeyPatch) -> TextExecutor:
    made = TextExecutor()

    @contextmanager
    def make(*args: Any, **options: Any) -> Iterator[TextExecutor]:
        yield made

    monkeypatch.setattr(command_module, "make_executor", make)
    return made


def run(*args: object) -> Result:
    return CliRunner().invoke(command, ["batch", *map(str, args)])


def test_usage_is_told_in_a_line(tmp_path: Path) -> None:
    for args, message in (
        ([tmp_path], "give the store: -o FOLDER or -o URL"),
        (["-o", tmp_path], "give what is to be read"),
        ([tmp_path, "-o", tmp_path, "--as", "parquet", "--format", "csv"], "--format is for files"),
        (["--status", tmp_path, "a.png"], "--status STORE stands alone"),
        (["a.png", "-o", tmp_path, "--tries", "0"], "0 is not in the range x>=1"),
    ):
        done = run(*args)
        assert (done.exit_code, message in done.output) == (2, True), done.output


def test_a_batch_and_its_status(tmp_path: Path) -> None:
    folder, store = inputs(tmp_path / "in", "a pages=2", "b", "c fail=1:limit", "a pages=2"), tmp_path / "store"
    done = run(folder, "-o", store)
    assert done.exit_code == 1
    assert done.output.splitlines() == [
        f"{folder / 'i3.png'}: the same content as {folder / 'i0.png'}, read once",
        f"Error: {folder / 'i2.png'}: page 1 takes too long",
        f"{store}: 3 inputs, 3 pages, 3 tables, 1 equal to others, 1 failed",
    ]
    assert {path.suffix for path in store.glob("tables/*/*")} == {".html", ".json"}
    again = run(folder, "-o", store, "--quiet")
    assert (again.exit_code, again.output) == (1, "")
    again = run(folder, "-o", store)
    assert again.output.splitlines()[-1] == "--retry-failed tries once more what failed before"
    (store / "summary.json").unlink()
    status = run("--status", store)
    assert status.exit_code == 0
    assert status.output.startswith("3 inputs, 3 pages, 3 tables, 1 equal to others, 1 failed\n")
    assert f"Failed: {folder / 'i2.png'}: page 1 takes too long" in status.output
    assert json.loads((store / "summary.json").read_text())["pages"] == 3
    assert (
        run("--status", tmp_path / "none").output
        == f"Error: {tmp_path / 'none'}: no store of tablerec batch; check the name\n"
    )
    assert not (tmp_path / "none").exists()


def test_failed_pages_are_retried_when_asked_for(tmp_path: Path, executor: TextExecutor) -> None:
    folder, store = inputs(tmp_path / "in", "a fail=1:limit"), tmp_path / "store"
    assert run(folder, "-o", store, "--tries", 1).exit_code == 1
    executor.healed = True
    assert run(folder, "-o", store).exit_code == 1
    assert run(folder, "-o", store, "--retry-failed").exit_code == 0
    assert len(tables(store)) == 1


def test_strict_names_doubtful_tables(tmp_path: Path) -> None:
    folder, store = inputs(tmp_path / "in", "a sure=70"), tmp_path / "store"
    assert run(folder, "-o", store).exit_code == 0
    assert run(folder, "-o", store, "--strict").exit_code == 3
    done = run(folder, "-o", tmp_path / "other", "--strict")
    assert (done.exit_code, "Doubtful: " in done.output) == (3, True)
    assert run(folder, "-o", tmp_path / "third", "--strict", "--min-confidence", "0.6").exit_code == 0


def test_lists_and_parquet(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    folder, store = inputs(tmp_path / "in", "a", "b"), tmp_path / "store"
    (tmp_path / "list.txt").write_text(f"{folder / 'i0.png'}\n{folder / 'i1.png'}\n")
    done = run("--list", tmp_path / "list.txt", "-o", store, "--as", "parquet")
    assert (done.exit_code, done.output) == (0, f"{store}: 2 inputs, 2 pages, 2 tables\n")
    assert [path.suffix for path in store.glob("tables/*")] == [".parquet"]
    refused = run(folder, "-o", store)
    assert (refused.exit_code, "as was parquet, is files" in refused.output) == (2, True)


def test_missing_packages_name_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "fsspec.core", None)
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    for args in (
        ["s3://bucket/", "-o", tmp_path / "a"],
        [tmp_path, "-o", "s3://bucket"],
        ["a", "-o", "b", "--as", "parquet"],
    ):
        done = run(*args)
        assert (done.exit_code, done.output.count("\n")) == (1, 1)
        assert done.output.startswith("Error: ")
        assert 'run: pip install "tablerec[batch]"' in done.output


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_and_sigterm_keep_what_was_read(number: signal.Signals, tmp_path: Path, executor: TextExecutor) -> None:
    folder, store = inputs(tmp_path / "in", *(f"{number}" for number in range(9))), tmp_path / "store"
    read = executor._read

    def stopped(task: Any) -> Any:
        if sum(executor.counts.values()) == 5:
            os.kill(os.getpid(), number)
        return read(task)

    executor._read = stopped  # type: ignore[method-assign]
    done = run(folder, "-o", store)
    assert (done.exit_code, done.output.splitlines()[-1]) == (130, "stopped")
    assert "what was read is kept: the same command goes on" in done.output
    assert len(tables(store)) >= 4
    assert run(folder, "-o", store).exit_code == 0
    assert len(tables(store)) == 9


def test_progress_of_others_is_no_output(tmp_path: Path) -> None:
    done = run(inputs(tmp_path / "in", "a"), "-o", tmp_path / "store")
    assert done.stdout == ""
    assert click.unstyle(done.stderr) == done.stderr
