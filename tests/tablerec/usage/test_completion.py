"""The Tab key, in the shells themselves; one that is not installed is skipped."""

from __future__ import annotations

import os
import re
import select
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from tablerec.cli import command
from tablerec.usage.command import SHELLS

pytestmark = pytest.mark.skipif(os.name == "nt", reason="shells of POSIX")

Complete = Callable[[str], str]
_SECONDS = 60


@pytest.fixture
def environment(tmp_path: Path, repository: Path) -> dict[str, str]:
    """Of a shell that finds a command ``tablerec``, in a folder with a picture."""
    program = tmp_path / "bin" / "tablerec"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m tablerec "$@"\n')
    program.chmod(0o755)
    (tmp_path / "here").mkdir()
    (tmp_path / "here" / "zebra.png").touch()
    return {
        "HOME": str(tmp_path), "LC_ALL": "C.UTF-8", "PATH": f"{program.parent}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(repository), "TERM": "dumb", "PYTHONWARNINGS": "ignore",
    }  # fmt: skip


def script(shell: str) -> str:
    if shutil.which(shell) is None:
        pytest.skip(f"needs {shell}")
    done = CliRunner().invoke(command, ["completion", shell])
    assert done.exit_code == 0
    return done.output


@pytest.mark.parametrize("shell", SHELLS)
def test_each_shell_is_in_the_help_and_gets_a_script(shell: str) -> None:
    assert f"{shell}," in (text := CliRunner().invoke(command, ["completion", "-h"]).output) or f"{shell}:" in text
    if shell != "bash":  # click looks at bash itself
        assert "_TABLEREC_COMPLETE" in CliRunner().invoke(command, ["completion", shell]).output


def test_an_unknown_shell_is_refused() -> None:
    done = CliRunner().invoke(command, ["completion", "csh"])
    assert done.exit_code == 2 and "'bash', 'zsh', 'fish'" in done.output


@pytest.mark.parametrize(
    ("line", "found"),
    [("tablerec rev", "review"), ("tablerec review --learn", "--learn-after"), ("tablerec labels che", "check"),
     ("tablerec help exit", "exit-codes"), ("tablerec help labels con", "convert"),
     ("tablerec zebra.png --form", "--format"), ("tablerec zebra.png --format xl", "xlsx")],
)  # fmt: skip
def test_bash(line: str, found: str, environment: dict[str, str], tmp_path: Path) -> None:
    words = line.split()
    asked = f"{script('bash')}\nCOMP_WORDS=({line}) COMP_CWORD={len(words) - 1}\n_tablerec_completion tablerec\n"
    done = subprocess.run(
        ["bash", "--norc", "-c", f"compopt() {{ :; }}\n{asked}echo \"${{COMPREPLY[@]}}\""],
        cwd=tmp_path / "here", env=environment, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout.split() == [found], done.stderr


@pytest.mark.parametrize(("line", "found"), [("tablerec rev", "review"), ("tablerec labels che", "check")])
def test_fish(line: str, found: str, environment: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "tablerec.fish").write_text(script("fish"), "utf-8")
    done = subprocess.run(
        ["fish", "--no-config", "-c", f"source {tmp_path}/tablerec.fish; complete -C '{line}'"],
        cwd=tmp_path / "here", env=environment, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert found in done.stdout.split(), done.stderr


def press_tab(shell: list[str], start: str, line: str, found: str, environment: dict[str, str], folder: Path) -> str:
    """Type a line and Tab in a terminal; returns what it shows as soon as ``found`` is there, or at the end."""
    import pty

    process_id, terminal = pty.fork()
    if process_id == 0:
        os.chdir(folder)
        os.execvpe(shell[0], shell, environment)
    shown, typed, deadline = "", [f"{start}; echo rea''dy\n", f"{line}\t"], time.monotonic() + _SECONDS
    os.write(terminal, typed.pop(0).encode())
    try:
        while time.monotonic() < deadline and not re.search(found, shown):
            if typed and re.search(r"^ready", shown, re.MULTILINE):
                os.write(terminal, typed.pop(0).encode())
            if select.select([terminal], [], [], 1)[0]:
                shown += os.read(terminal, 4096).decode(errors="replace").replace("\r", "\n")
    except OSError:  # it has ended
        pass
    finally:
        os.close(terminal)
        os.waitpid(process_id, 0)
    return shown


@pytest.mark.parametrize(
    ("line", "found"),
    [("tablerec rev", r"tablerec review "), ("tablerec labels che", r"tablerec labels check ")],
)
def test_zsh(line: str, found: str, environment: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "tablerec.zsh").write_text(script("zsh"), "utf-8")
    start = f"autoload -Uz compinit; compinit -u -D; source {tmp_path}/tablerec.zsh"
    shown = press_tab(["zsh", "-f", "-i"], start, line, found, environment, tmp_path / "here")
    assert re.search(found, shown), shown


@pytest.mark.parametrize(
    ("line", "found"), [("tablerec rev", r"tablerec review "), ("tablerec zeb", r"tablerec zebra\.png ")]
)
def test_the_tab_key_of_bash(line: str, found: str, environment: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "tablerec.bash").write_text(script("bash"), "utf-8")
    shell = ["bash", "--norc", "--noprofile", "-i"]
    shown = press_tab(shell, f"source {tmp_path}/tablerec.bash", line, found, environment, tmp_path / "here")
    assert re.search(found, shown), shown
