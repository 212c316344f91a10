"""A small part of the fuzzing, always the same, and the workers that survive what they try."""

from __future__ import annotations

import argparse
from pathlib import Path

import pytest

from tests.benchmarks.hostile import fuzz
from tests.benchmarks.hostile.fuzz import FINDINGS, SHARES, Worker, plan, run, summary
from tests.benchmarks.hostile.inputs import KINDS, make
from tests.benchmarks.hostile.trial import FindingError, answer

QUICK = ("picture", "pdf", "words", "array", "tables", "labels", "settings", "weights")
"""Kinds that can be tried in this process: those made to break PDFium are for workers."""


def options(folder: Path, **changes: object) -> argparse.Namespace:
    usual = {"seed": 0, "count": 3, "kinds": ["tables"], "seconds_each": 60.0, "memory": 6.0, "most_memory": 2.0,
             "workers": 1, "output": folder}  # fmt: skip
    return argparse.Namespace(**usual | changes)


@pytest.mark.parametrize("kind", QUICK)
def test_hostile_inputs_are_read_or_refused(kind: str) -> None:
    total = SHARES[kind] * 3 // 2
    ended = [(number, answer(kind, 1, number)) for number in range(total)]
    assert [(number, each) for number, each in ended if each["outcome"] in FINDINGS] == []


@pytest.mark.parametrize("kind", KINDS)
def test_an_input_is_always_the_same(kind: str) -> None:
    assert repr(make(kind, 3, 5)) == repr(make(kind, 3, 5))


def test_every_kind_has_its_share() -> None:
    assert set(SHARES) == set(KINDS) and sum(SHARES.values()) == 100
    planned = list(plan(200))
    assert len(set(planned)) == 200
    assert {kind: sum(k == kind for k, _ in planned) for kind in KINDS} == {k: 2 * n for k, n in SHARES.items()}


def test_a_worker_that_hangs_or_dies_is_replaced() -> None:
    worker = Worker(0, 6.0)
    assert worker.ask("tables", 0, 0.01)["outcome"] == "hang"
    assert worker.ask("tables", 0, 60.0)["outcome"] not in FINDINGS
    assert worker.process is not None
    worker.process.kill()
    assert worker.ask("tables", 0, 60.0)["message"] == "the process ended with -9"
    assert worker.ask("tables", 0, 60.0)["outcome"] not in FINDINGS
    worker.close()


def test_a_run_goes_on_where_it_was_stopped_and_keeps_what_it_finds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []

    class Finds(Worker):
        def ask(self, kind: str, number: int, seconds: float) -> dict[str, object]:
            asked.append(number)
            outcome = "finding" if number == 1 else "read"
            return {"outcome": outcome, "seconds": 0.1, "mib": 9, "message": "here: FindingError: lost"}

    monkeypatch.setattr(fuzz, "Worker", Finds)
    run(options(tmp_path, count=2))
    answers = run(options(tmp_path, count=4))
    assert asked == [0, 1, 2, 3]
    assert "4 inputs, 1 findings" in summary(answers)
    [found] = (tmp_path / "findings").iterdir()
    assert "--seed 0 --only tables:1" in (found / "answer.txt").read_text("utf-8")
    assert (found / make("tables", 0, 1).name).read_bytes() == make("tables", 0, 1).data


def test_a_finding_is_told_from_an_error_of_the_project(monkeypatch: pytest.MonkeyPatch) -> None:
    def lose(given: object, number: int) -> str:
        raise FindingError("lost a word")

    # Another test imports the module once more: it is that of the function that counts.
    monkeypatch.setitem(answer.__globals__, "attempt", lose)
    assert answer("tables", 0, 0)["outcome"] == "finding"
