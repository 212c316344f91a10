"""Kill a training at random moments, start it again, and compare it with one that nobody killed.

    python -m tests.benchmarks.training.check_kill_resume --kills 20

The kills are SIGKILL, a random time after a random step: in the middle of a step, of a validation or of a checkpoint.
All losses and all weights must be the same, bit for bit.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[3]
SETTINGS = {
    "data": {
        "source": "tests.helpers.grids:draw_ruled", "batch_size": 2, "image_size": 96, "max_cells": 32,
        "buffer_size": 6, "min_buffer": 4, "uses_per_sample": 4.0,
    },
    "optimizer": {"bn_batches": 2},
    "validation": {"samples": 2, "every": 7, "pictures": 1},
    "network": {"widths": [8, 8, 16, 16, 16], "depths": [0, 1, 0, 0], "pyramid": [16, 16]},
}  # fmt: skip
LINES_A_KILL = 6


def write_settings(folder: Path, steps: int) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "settings.json"
    schedule = {"steps": steps, "warmup_steps": 5, "checkpoint_every": 3, "log_every": 1}
    path.write_text(json.dumps({**SETTINGS, "output": str(folder / "run"), "schedule": schedule}), encoding="utf-8")
    return path


def start(settings: Path, *options: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "tablerec", "train", str(settings), "--allow-import", *options],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def finish(settings: Path, *options: str) -> None:
    process = start(settings, *options)
    said, _ = process.communicate()
    assert process.returncode == 0, said


def kill_after(settings: Path, n_lines: int, delay: float) -> int:
    """Kill a run some time after it reported a step for the n-th time; returns the step."""
    with start(settings) as process:
        assert process.stdout is not None
        step = 0
        for line in process.stdout:
            if line.startswith("step ") and " total " in line:
                step, n_lines = int(line.split()[1]), n_lines - 1
            if n_lines <= 0:
                break
        time.sleep(delay)
        process.kill()
    return step


def outcome(folder: Path) -> dict[str, Any]:
    """The losses of all steps, and a sum of the weights."""
    lines = [json.loads(line) for line in (folder / "run/log.jsonl").read_text(encoding="utf-8").splitlines()]
    weights = (folder / "run/cellnet.safetensors").read_bytes()
    return {"losses": [line["total"] for line in lines], "weights": hashlib.sha256(weights).hexdigest()}


def kill_and_resume(folder: Path, kills: int, seed: int = 0) -> tuple[dict[str, Any], dict[str, Any], list[int]]:
    """Train twice, once with kills; returns both outcomes and the steps after which the kills came."""
    rng = random.Random(seed)
    steps = LINES_A_KILL * (kills + 1)
    whole, killed = (write_settings(folder / name, steps) for name in ("whole", "killed"))
    finish(whole)
    after = [kill_after(killed, rng.randint(1, LINES_A_KILL), 0.15 * rng.random()) for _ in range(kills)]
    finish(killed)
    return outcome(folder / "whole"), outcome(folder / "killed"), after


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        whole, killed, after = kill_and_resume(Path(folder), given.kills, given.seed)
    print("killed after steps", *after)
    print(f"final loss {whole['losses'][-1]!r} without kills, {killed['losses'][-1]!r} with {given.kills}")
    same = whole == killed
    print("all losses and weights are the same" if same else "they differ")
    sys.exit(not same)


if __name__ == "__main__":
    main()
