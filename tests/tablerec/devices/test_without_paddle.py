"""Without Paddle the verbs say what to install."""

from __future__ import annotations

import importlib.util

import pytest
from click.testing import CliRunner

from tablerec.devices import doctor
from tablerec.devices.command import command
from tablerec.errors import MissingDependencyError


@pytest.mark.parametrize("words", ["trace train.py", "coverage train.py", "parity", "bench", "build"])
def test_missing_paddle_is_named(words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    result = CliRunner().invoke(command, words.split())
    assert isinstance(result.exception, MissingDependencyError)
    assert "tablerec[paddle]" in str(result.exception)


def test_help_needs_no_paddle(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert CliRunner().invoke(command, ["--help"]).exit_code == 0


def test_list_and_doctor_need_no_paddle(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "_has_paddle", lambda: False)
    listed = CliRunner().invoke(command, ["list"])
    assert listed.exit_code == 0 and "cpu  " in listed.stdout and "onnxruntime" in listed.stdout
    examined = CliRunner().invoke(command, ["doctor", "cpu"])
    assert examined.exit_code == 0 and "ONNX Runtime" in examined.stdout and "tablerec[paddle]" in examined.stdout
