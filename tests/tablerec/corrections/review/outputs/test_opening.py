"""The folder in the file manager."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tablerec.corrections.review.outputs.opening import open_folder
from tablerec.errors import TablerecError


@pytest.fixture
def desktop(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """A machine with a screen, whose programs are only noted."""
    started: list[list[str]] = []

    def start(command: Any, **options: Any) -> None:
        assert type(command) is list and not options.get("shell")
        started.append(command)

    monkeypatch.setenv("DISPLAY", ":0")
    monkeypatch.setattr(subprocess, "Popen", start)
    monkeypatch.setattr("shutil.which", lambda name: f"/usr/bin/{name}")
    return started


@pytest.mark.parametrize(("system", "program"), [("linux", "xdg-open"), ("darwin", "open"), ("win32", "explorer")])
def test_the_folder_is_one_word_of_the_command(
    tmp_path: Path, desktop: list[list[str]], monkeypatch: pytest.MonkeyPatch, system: str, program: str
) -> None:
    monkeypatch.setattr(sys, "platform", system)
    folder = tmp_path / "-a; rm $(b) 'c' 表"
    folder.mkdir()
    open_folder(folder)
    assert desktop == [[f"/usr/bin/{program}", str(folder.resolve())]]


@pytest.mark.parametrize("missing", ["program", "screen"])
def test_where_nothing_shows_folders_it_says_where_the_files_are(
    tmp_path: Path, desktop: list[list[str]], monkeypatch: pytest.MonkeyPatch, missing: str
) -> None:
    monkeypatch.setattr(sys, "platform", "linux")
    if missing == "program":
        monkeypatch.setattr("shutil.which", lambda name: None)
    else:
        monkeypatch.delenv("DISPLAY")
        monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    with pytest.raises(TablerecError, match=tmp_path.name):
        open_folder(tmp_path)
    assert desktop == []
