"""What `tablerec train` shows."""

from __future__ import annotations

import pytest

from tablerec.training.command import Lines

STEP = "step 10 total 1.5 heat 1.0 lr 5e-04 0.9 images/s samples 26 buffer 26 left 2.3 min"
SAID = ["going on", STEP, STEP.replace("10", "20"), "step 20 saved", STEP.replace("10", "30")]


def shown(lines: Lines, said: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    for line in said:
        lines.print(line)
    lines.close()
    return capsys.readouterr().out


def test_nothing_said(capsys: pytest.CaptureFixture[str]) -> None:
    assert shown(Lines(changing=True), [], capsys) == ""


def test_a_file_gets_every_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert shown(Lines(changing=False), SAID, capsys).splitlines() == SAID


def test_a_terminal_shows_the_newest_step_and_the_time_left(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    seen = shown(Lines(changing=True), SAID, capsys)
    stay = [line.rpartition("\r")[2] for line in seen.split("\n")]
    assert stay == ["going on", "step 20 saved", "step 30 left 2.3 min total 1.5 heat 1.0"[:39], ""]
    assert all(len(part) <= 39 for part in seen.replace("\n", "\r").split("\r"))
