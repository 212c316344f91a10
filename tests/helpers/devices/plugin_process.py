"""A process with the simulated device in it: Paddle loads a plugin once, when it is imported."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.devices.ranks import rank_environments

ROOT = Path(__file__).resolve().parents[3]

needs_device = pytest.mark.skipif(
    importlib.util.find_spec("paddle") is None or shutil.which(os.environ.get("CXX") or "g++") is None,
    reason="needs Paddle, and g++ to compile the simulated device",
)

PREAMBLE = """
import json, os, sys, warnings
warnings.simplefilter("ignore")
from tablerec.devices.plugin import load_plugin
plugin = load_plugin(sys.argv[1], **json.loads(sys.argv[2]))
import paddle
def answer(value):
    print("ANSWER", json.dumps(value))
"""


def start(code: str, env: dict[str, str] | None = None, **options: object) -> subprocess.Popen[str]:
    """Start Python with the plugin loaded; ``options`` go to ``load_plugin``."""
    from tablerec.devices.build import build_plugin

    return subprocess.Popen(
        [sys.executable, "-c", PREAMBLE + code, str(build_plugin("simulated")), json.dumps(options)],
        env={**os.environ, "PYTHONPATH": str(ROOT), **(env or {})},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def answer_of(process: subprocess.Popen[str]) -> Any:
    """Return what the code answered."""
    out, errors = process.communicate(timeout=300)
    answers = [line for line in out.splitlines() if line.startswith("ANSWER ")]
    assert process.returncode == 0 and answers, out[-2000:] + errors[-4000:]
    return json.loads(answers[-1][len("ANSWER ") :])


def ask(code: str, env: dict[str, str] | None = None, **options: object) -> Any:
    """Run code and return what it answered."""
    return answer_of(start(code, env, **options))


def device(*arguments: object, **env: str) -> subprocess.CompletedProcess[str]:
    """Run a verb of ``tablerec device``."""
    return subprocess.run(
        [sys.executable, "-m", "tablerec", "device", *map(str, arguments)],
        env={**os.environ, "PYTHONPATH": str(ROOT), **env},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )


RANKS = """
import contextlib, io
import numpy as np
import paddle.distributed as dist
with contextlib.redirect_stderr(io.StringIO()):
    dist.init_parallel_env()
rank = dist.get_rank()
"""
"""Connects the processes of ``ask_ranks`` through the plugin."""
STAY = """
if os.environ["PADDLE_TRAINER_ID"] != "0":
    sys.stdin.read()
"""
"""Lets the first rank end before the others: Paddle's store, which it serves, aborts now and then if one leaves."""


def ask_ranks(code: str, count: int = 2, env: dict[str, str] | None = None, **options: object) -> list[Any]:
    """Run code in several processes, each a rank with a simulated device; return what each answered."""
    processes = [start(code + STAY, {**rank, **(env or {})}, **options) for rank in rank_environments(count)]
    try:
        return [answer_of(process) for process in processes]
    finally:
        for process in processes:
            process.kill()
            process.wait()
