"""The log has one line a step, whatever happened in between."""

from __future__ import annotations

from pathlib import Path

import pytest

paddle = pytest.importorskip("paddle")

from tablerec.errors import MissingDependencyError  # noqa: E402
from tablerec.training.logs import CURVE, LOG, TrainingLog, read_lines  # noqa: E402


def filled(output: Path, steps: range) -> TrainingLog:
    log = TrainingLog(output)
    for step in steps:
        log.add({"total": paddle.to_tensor(float(step)), "heat": paddle.to_tensor(0.5)}, step=step, learning_rate=0.1)
    return log


def test_nothing_to_read(tmp_path: Path) -> None:
    assert TrainingLog(tmp_path).read() is None
    assert read_lines(tmp_path / LOG) == []


def test_each_step_has_a_line_and_the_means_are_theirs(tmp_path: Path) -> None:
    means = filled(tmp_path, range(1, 5)).read()
    assert means is not None and means.values == {"total": 2.5, "heat": 0.5} and means.steps == 4
    lines = read_lines(tmp_path / LOG)
    assert [(line["step"], line["total"], line["learning_rate"]) for line in lines] == [
        (step, float(step), 0.1) for step in range(1, 5)
    ]


def test_closing_writes_what_waits(tmp_path: Path) -> None:
    filled(tmp_path, range(3)).close()
    assert len(read_lines(tmp_path / LOG)) == 3


def test_later_lines_go_when_a_run_goes_on_from_an_earlier_step(tmp_path: Path) -> None:
    filled(tmp_path, range(1, 7)).close()
    with (tmp_path / LOG).open("a") as file:
        file.write('{"step": 7, "tot')  # the process died here
    log = TrainingLog(tmp_path)
    log.scores(9, {"f1_80": 0.5})
    log.take_over(tmp_path, 4)
    assert [line["step"] for line in read_lines(tmp_path / LOG)] == [1, 2, 3, 4]
    assert read_lines(tmp_path / CURVE) == []


def test_the_log_of_another_run_is_copied(tmp_path: Path) -> None:
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
    filled(tmp_path / "first", range(1, 4)).close()
    TrainingLog(tmp_path / "second").take_over(tmp_path / "first", 2)
    assert [len(read_lines(tmp_path / name / LOG)) for name in ("first", "second")] == [3, 2]


def test_tensorboard_gets_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "tensorboardX", None)
    with pytest.raises(MissingDependencyError, match=r"tablerec\[train\]"):
        TrainingLog(tmp_path, tensorboard=True)
    monkeypatch.delitem(sys.modules, "tensorboardX")
    pytest.importorskip("tensorboardX")
    log = TrainingLog(tmp_path, tensorboard=True)
    log.add({"total": paddle.to_tensor(1.0)}, step=1)
    log.close()
    assert any((tmp_path / "tensorboard").iterdir())
