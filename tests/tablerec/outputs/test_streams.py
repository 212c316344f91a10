"""Standard streams that are closed, full, or a terminal: one plain line, and the exit code that is right."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import PIL.Image
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tablerec.outputs.streams import escape_controls

pytestmark = pytest.mark.skipif(not Path("/dev/full").exists(), reason="the shell and the devices of Linux")

QUICK = "--ocr none --detector rulings"
READ = f"picture.png --json {QUICK}"
VERBS = [
    "--help",
    "--version",
    READ,
    f"picture.png {QUICK} -o out/",
    "labels check .",
    "models list",
    "synth --list",
    "train --settings",
    "eval --help",
]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    PIL.Image.new("L", (60, 40), 255).save(tmp_path / "picture.png")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def shell(arguments: str, before: str = "") -> tuple[int, str, str]:
    search = os.pathsep.join(filter(None, sys.path))
    done = subprocess.run(
        f'{before} "{sys.executable}" -m tablerec {arguments}',
        shell=True,
        executable=shutil.which("bash"),
        env={**os.environ, "PYTHONPATH": search},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("arguments", VERBS)
def test_a_standard_output_that_is_full_or_closed_is_one_line(folder: Path, arguments: str) -> None:
    for stream, reason in ((">/dev/full", "No space left on device"), (">&-", "it is closed")):
        code, out, err = shell(f"{arguments} {stream}")
        assert (code, out) == (1, "")
        assert err == (
            f"Error: standard output: cannot be written ({reason}); send it to a file or a program that takes it\n"
        )


def test_a_full_standard_output_ends_a_batch(folder: Path) -> None:
    (folder / "other.png").write_bytes((folder / "picture.png").read_bytes())
    code, _, err = shell(f"picture.png other.png --json {QUICK} > /dev/full")
    assert code == 1 and err.count("standard output") == 1


def test_a_reader_that_has_seen_enough_is_no_matter(folder: Path) -> None:
    code, _, err = shell(f"{READ} | true; exit ${{PIPESTATUS[0]}}")
    assert code in (0, 1, 2) and err == ""


def test_a_closed_standard_input_is_one_line(folder: Path) -> None:
    code, out, err = shell("- --json <&-")
    assert (code, out) == (1, "")
    assert err.startswith("Error: stdin: cannot be read") and err.count("\n") == 1


@pytest.mark.parametrize("stream", ["2>&-", "2>/dev/full"])
def test_a_standard_error_that_takes_nothing_leaves_the_exit_code(folder: Path, stream: str) -> None:
    assert shell(f"missing.png {stream}") == (1, "", "")
    assert shell(f"--nonsense {stream}")[0] == 2
    code, out, _ = shell(f"picture.png missing.png --json {QUICK} {stream}")
    assert code == 1 and json.loads(out)["source"] == "picture.png"


def test_all_streams_closed(folder: Path) -> None:
    assert shell("- <&- >&- 2>&-") == (1, "", "")
    code, *_ = shell(f"picture.png --quiet {QUICK} --format json <&- >&- 2>&-")
    assert code == 0
    # What libraries print to closed streams must not reach a file of ours that got their numbers.
    assert json.loads((folder / "picture.json").read_bytes())["source"] == "picture.png"


def test_a_working_folder_that_is_gone_is_said(folder: Path) -> None:
    (folder / "gone").mkdir()
    code, out, err = shell(f"../picture.png {QUICK}", before="cd gone; rmdir ../gone;")
    # Where coverage is measured, Python's own start says first that it is not, without a working folder.
    assert (code, out) == (1, "")
    assert err.splitlines()[-1] == "Error: the working folder is not there any more; go to another one"


@pytest.mark.parametrize("verb", ["", "eval", "labels check", "review --no-browser", "synth mixed -n 1 -o"])
def test_links_in_a_circle_are_one_line(folder: Path, verb: str) -> None:
    (folder / "loop").symlink_to("loop")
    code, _, err = shell(f"{verb} loop")
    assert code in (1, 2) and "loop" in err.splitlines()[-1] and "fault" not in err and "Traceback" not in err


@given(st.text())
def test_no_text_commands_a_terminal(text: str) -> None:
    shown = escape_controls(text)
    assert escape_controls(shown) == shown
    assert not set(shown.replace("\x1b[31m", "").replace("\x1b[K", "")) & set("\x00\x07\x08\x7f\x9b\u202e")


def test_colors_and_cleared_lines_pass_and_all_else_is_shown() -> None:
    assert escape_controls("") == ""
    assert escape_controls("\r\x1b[Ka\tb\x1b[31m表\n") == "\r\x1b[Ka\tb\x1b[31m表\n"
    assert escape_controls("\x1b]0;title\x07 \x1b[2J \x9b2J \u202etxt.exe") == (
        r"\x1b]0;title\x07 \x1b[2J \x9b2J \u202etxt.exe"
    )


def test_a_name_with_commands_to_the_terminal_is_escaped_in_every_message(folder: Path) -> None:
    code, _, err = shell("$(printf 'labels check a\\033]0;title\\007b')")
    assert code == 1 and "\x1b" not in err and "\x07" not in err and "title" in err
    code, _, err = shell("eval \"$(printf 'a\\033]0;title\\007b')\"")
    assert code != 0 and "\x1b" not in err and "title" in err
