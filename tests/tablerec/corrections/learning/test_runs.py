"""The processes of a run."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from tablerec.corrections.learning.anew import line_to_table
from tablerec.corrections.learning.recipe import to_recipe
from tablerec.corrections.learning.runs import run_command
from tablerec.errors import TablerecError
from tablerec.fields import parse_yaml

PATIENCE = 60


def test_a_command_works_in_its_folder_and_its_lines_are_heard(tmp_path: Path) -> None:
    lines: list[str] = []
    assert run_command(["--version"], tmp_path, lines.append, threading.Event())
    assert len(lines) == 1 and "tablerec" in lines[0]


def test_a_command_that_fails_says_why(tmp_path: Path) -> None:
    with pytest.raises(TablerecError, match=r"missing\.png"):
        run_command(["missing.png"], tmp_path, print, threading.Event())


def test_a_module_in_the_folder_is_not_imported(tmp_path: Path) -> None:
    for name in ("tablerec", "click", "json"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('imported')")
    assert run_command(["--version"], tmp_path, print, threading.Event())


def test_a_stop_ends_it(tmp_path: Path) -> None:
    stop = threading.Event()
    stop.set()
    assert not run_command(["review", ".", "--no-browser"], tmp_path, print, stop)


@pytest.mark.skipif(os.name == "nt", reason="pipes and priorities are others there")
def test_it_has_low_priority_and_ends_with_its_parent(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(b"")
    code = (
        "from tablerec.processes import start_process; import json, sys, time\n"
        "process = start_process('tablerec.corrections.learning.process:main')\n"
        f"words = [{str(tmp_path)!r}, ['review', '.', '--no-browser', '--ocr', 'none', '--detector', 'rulings']]\n"
        "process.stdin.write(json.dumps(words).encode() + b'\\n'); process.stdin.flush()\n"
        "process.stdout.readline(); print(process.pid, flush=True); time.sleep(60)\n"
    )
    parent = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    child = int(parent.stdout.readline())
    assert os.getpriority(os.PRIO_PROCESS, child) == 19
    parent.kill()
    parent.wait()
    parent.stdout.close()
    done = threading.Event()
    for _ in range(PATIENCE * 20):
        try:
            os.kill(child, 0)
        except ProcessLookupError:
            break
        if Path(f"/proc/{child}/stat").is_file() and ") Z " in Path(f"/proc/{child}/stat").read_text():
            break  # it ended, and nobody has asked for it yet
        done.wait(0.05)
    else:
        pytest.fail("it runs on")


def test_the_recipe_is_the_one_of_the_readme(repository: Path) -> None:
    given = parse_yaml((repository / "data" / "training" / "corrections.yaml").read_text("utf-8"))
    ours = to_recipe(Path("out/corrections"), given["validation"]["samples"])
    ours["data"]["source"] = ours["data"]["source"].replace("crops:.", "crops:scans/corrections")
    ours["validation"]["source"] = ours["validation"]["source"].replace("folder:.", "folder:scans/corrections")
    assert json.loads(json.dumps(ours)) == given


@pytest.mark.parametrize(
    "line", ["", "x", "[]", "{}", '{"pages": [{"tables": [{"cells": 3}]}], "source": "a"}', "[" * 5000]
)
def test_another_line_is_no_table(line: str) -> None:
    assert line_to_table(line) is None
