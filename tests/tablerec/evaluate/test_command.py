from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import cv2
import numpy as np
import pytest
from click.testing import CliRunner, Result

from postprocess.cell import Cell
from postprocess.table import Table
from postprocess.word import Word
from tablerec.config import Settings
from tablerec.errors import InputError, SettingsError
from tablerec.evaluate import command as module
from tablerec.evaluate.truth import find_truths
from tablerec.result import Page, PageImage
from tablerec.result import Result as Recognized

GRID = [Cell(r, c, text=f"{r}{c}") for r in range(2) for c in range(2)]


class FakeRecognizer:
    """Finds two rows of two cells, with a table outside the picture; fails where the picture is broken."""

    interrupt_at: str = ""

    def recognize(self, source: Path, words: Sequence[Word] | None = None) -> Recognized:
        name = str(source)
        if self.interrupt_at and Path(name).stem == self.interrupt_at:
            raise KeyboardInterrupt
        if (image := cv2.imread(name)) is None:
            raise InputError(f"{name}: no picture")
        picture = PageImage(name, 1, image)
        return Recognized(name, (Page(picture, (Table(GRID),), detector="fake"),))


@pytest.fixture
def run(write_truth: Callable[..., Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    for name, source, meta in [("a", "x", {}), ("b", "y", {}), ("c", "y", {"suspect_spans": True}), ("d", "y", {})]:
        path = write_truth(name, GRID, source=source, meta=meta)
        cv2.imwrite(str(path.with_suffix(".png")), np.full((40, 40, 3), 255, np.uint8))
    asked: list[Settings] = []

    def make_recognizer(settings: Settings) -> FakeRecognizer:
        asked.append(settings)
        return FakeRecognizer()

    monkeypatch.setattr(module, "_make_recognizer", make_recognizer)
    monkeypatch.chdir(tmp_path)

    def invoke(*args: str, exit_code: int = 0) -> Result:
        result = CliRunner().invoke(module.command, ["truth", "--jobs", "1", *args])
        assert result.exit_code == exit_code, result.output
        return result

    invoke.asked = asked  # type: ignore[attr-defined]
    return invoke


def rows(result: Result) -> dict[str, list[str]]:
    lines = [line.split() for line in result.stdout.splitlines() if line]
    return {line[0]: line[1:] for line in lines}


def test_it_prints_means_by_source_and_writes_report_and_page(run: Callable[..., Result], tmp_path: Path) -> None:
    result = run("--detector", "rulings", "--ocr", "none")
    assert [rows(result)[name][0] for name in ("x", "y", "ALL")] == ["1", "2", "3"]
    assert "left out for flawed truth: 1 (--all-tables keeps them)" in result.stderr
    report = json.loads((tmp_path / "tablerec-eval" / "results.json").read_text())
    assert report["settings"]["detector"] == "rulings"
    assert report["settings"]["layout"] == "table"
    assert [table["id"] for table in report["tables"]] == ["a", "b", "d"]
    assert report["sources"]["ALL"]["exact"] == 1
    assert (tmp_path / "tablerec-eval" / "worst.html").stat().st_size > 0
    assert len(list((tmp_path / "tablerec-eval" / "predictions").glob("*.json"))) == 3
    assert run.asked == [Settings(detector="rulings", ocr="none", layout="table", trace=True)]  # type: ignore[attr-defined]


def test_tables_can_be_chosen(run: Callable[..., Result], tmp_path: Path) -> None:
    (tmp_path / "ids.txt").write_text("b\nc\n")
    assert rows(run("--all-tables"))["ALL"][0] == "4"
    assert rows(run("--source", "x"))["ALL"][0] == "1"
    assert rows(run("--ids", "ids.txt"))["ALL"][0] == "1"
    assert rows(run("--ids", "ids.txt", "--all-tables"))["ALL"][0] == "2"
    assert rows(run("--limit", "2"))["ALL"][0] == "2"


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("--source", "z"), "source 'z' is in no truth"),
        (("--ids", "truth/a.json"), "is in no truth"),
        (("--source", "x", "--output", "truth/out"), "would count as truth"),
        (("--words", "truth"), "would count as truth"),
        (("--against", "truth/a.json"), "is not a results.json"),
    ],
)
def test_what_does_not_fit_is_one_clear_line(run: Callable[..., Result], args: tuple[str, ...], message: str) -> None:
    result = run(*args, exit_code=1)
    assert message in result.stderr
    assert result.stderr.startswith("Error: ")
    assert result.stderr.count("\n") == 1


def test_nothing_left_to_score_is_an_error(run: Callable[..., Result], tmp_path: Path) -> None:
    (tmp_path / "ids.txt").write_text("c")
    assert "no table left" in run("--ids", "ids.txt", exit_code=1).stderr


def test_a_failing_picture_is_reported_and_counts_as_missing(run: Callable[..., Result], tmp_path: Path) -> None:
    (tmp_path / "truth" / "d.png").unlink()
    result = run(exit_code=1)
    assert rows(result)["y"][:2] == ["2", "1"]
    assert "failed: 1, the first: d: InputError: " in result.stderr


def test_ctrl_c_leaves_what_was_done(
    run: Callable[..., Result], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(FakeRecognizer, "interrupt_at", "d")
    result = run(exit_code=130)
    assert "2 of 3 tables" in result.stderr
    report = json.loads((tmp_path / "tablerec-eval" / "results.json").read_text())
    assert report["interrupted"] is True
    assert [table["id"] for table in report["tables"]] == ["a", "b"]
    monkeypatch.setattr(FakeRecognizer, "interrupt_at", "a")  # the first is there already
    assert rows(run("--resume"))["ALL"][0] == "3"


def test_two_runs_are_compared(run: Callable[..., Result], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run()
    monkeypatch.setattr(module, "_make_recognizer", lambda settings: Worse())
    result = run("--against", "tablerec-eval/results.json")
    assert "change over the tables in both runs" in result.stdout
    assert "worse: 3\n" in result.stdout
    assert "better" not in result.stdout


class Worse(FakeRecognizer):
    def recognize(self, source: Path, words: Sequence[Word] | None = None) -> Recognized:
        found = super().recognize(source)
        return replace(found, pages=(replace(found.pages[0], tables=(Table([Cell(0, 0)]),)),))


def test_words_are_kept_by_reader(run: Callable[..., Result], tmp_path: Path) -> None:
    run("--words", "words", "--ocr", "none")
    assert sorted(path.name for path in (tmp_path / "words" / "none").iterdir()) == ["a.json", "b.json", "d.json"]


def test_errors_are_told_and_drawn(
    run: Callable[..., Result], write_truth: Callable[..., Path], tmp_path: Path
) -> None:
    path = write_truth("e", GRID, source="z")
    cv2.imwrite(str(path.with_suffix(".png")), np.full((40, 40, 3), 255, np.uint8))
    result = run("--errors")
    assert "F1 0.0000: 0 detections for 4 cells in 1 pictures" in result.stdout  # its cells have no quads
    assert "3 tables left out" in result.stderr
    errors = json.loads((tmp_path / "tablerec-eval" / "results.json").read_text())["errors"]
    assert errors["kinds"]["missed"] == {"n": 4, "gain": 1.0}
    assert cv2.imread(str(tmp_path / "tablerec-eval" / "errors.png")) is not None


def test_a_limit_is_spread_over_the_folder(run: Callable[..., Result], tmp_path: Path) -> None:
    truths = find_truths(tmp_path / "truth")
    assert [truth.id for truth in module.spread(truths, 2)] == ["a", "c"]
    assert module.spread(truths, None) == truths
    assert module.spread([], 3) == []
    with pytest.raises(SettingsError, match=r"'q' .*1 of 2 unknown"):
        module.select(truths, ids=["a", "q"])


def test_help_loads_nothing_heavy() -> None:
    code = "import sys, tablerec.evaluate.command; print(*sorted(sys.modules))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not {"cv2", "apted", "rapidfuzz", "onnxruntime", "rapidocr", "PIL", "shapely"} & set(loaded)
