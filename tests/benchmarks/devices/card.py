"""The CUDA plugin on a card, stage by stage: ``python -m tests.benchmarks.devices.card LIBRARY --out FOLDER``.

A developer script, not a test. Each part of a stage is a process of its own, so that one that fails, or ends its
process, leaves the others. Every result is printed at once and appended to ``results.jsonl`` in FOLDER; parts that are
complete there are skipped, so that a run that ``--seconds`` cut short goes on when it is called again. LIBRARY is what
``tablerec device build cuda`` printed; Paddle's CPU wheel and PaddleX must be importable, NVIDIA's libraries come from
their wheels. With the simulated library and ``--tiny`` the script itself can be tried.

    parity      every operator against the CPU, and ten steps of reduced networks
    training    images/s of CellNet and RT-DETR-L with the losses of ``tablerec.training``, without drawing of data
    linenet     lines/s of LineNet, in training with its loss and in recognition
    speed       `training` with the bench's loss: kernels, copies and memory of a step
    cellnet     inference of CellNet with the shipped weights, eager and as a captured graph, maps and cells
    rtdetr      inference of RT-DETR-L by mode, and how far its boxes are from the CPU's
    operators   the table of operators by type; ``table.py`` makes Markdown of it
    flat        memory over 1,000 steps
    failures    out of memory, no library, two processes, several devices, what is refused

``tablerec/devices/MEASURED.md`` holds what this printed.
"""

from __future__ import annotations

import argparse
import datetime
import json
import subprocess
import sys
import time
from pathlib import Path

from tablerec.devices.plugin import load_plugin
from tests.benchmarks.devices import stages
from tests.benchmarks.devices.parts import read_records, start_part
from tests.benchmarks.devices.stages import RESULTS, Report

MARGIN = 40
"""Seconds before the end that are kept for whoever called."""
LEAST = 15
"""No part is begun with fewer seconds left."""

PARTS = {
    "parity": ("operators", "networks"),
    "training": ("tf32", "bfloat16"),
    "linenet": ("tf32", "bfloat16"),
    "speed": ("tf32", "bfloat16"),
    "cellnet": ("float32", "tf32", "bfloat16"),
    "rtdetr": ("float32", "tf32", "bfloat16", "agreement"),
    "operators": ("float32", "tf32", "bfloat16", "float16"),
    "flat": ("tf32",),
    "failures": ("memory", "libraries", "two", "devices", "refused"),
}
"""What of a stage needs a process of its own: TF32 is chosen when the plugin is loaded."""
SECONDS = 200
"""The most that a part may take."""

ONE_THREAD = {"OMP_NUM_THREADS": "1"}
"""On several threads of the CPU, Paddle's own ``index_put`` is not exact where places come twice."""
MISSING = {"TABLEREC_CUDNN": "libcudnn-none.so.9", "TABLEREC_CUBLAS": "libcublas-none.so.13"}
"""Libraries that are not there, for what is said then."""


def card() -> str:
    query = ["nvidia-smi", "--query-gpu=name,memory.total,driver_version", "--format=csv,noheader"]
    try:
        return subprocess.run(query, capture_output=True, text=True, check=False).stdout.strip()
    except OSError:
        return "no nvidia-smi"


def run_part(options: argparse.Namespace) -> None:
    stage, part = options.part.split(":")
    plugin = load_plugin(options.library, tf32=part == "tf32")
    report = Report(options.out, stage, part)
    import paddle

    if plugin.device not in {name.split(":")[0] for name in paddle.device.get_available_custom_device()}:
        report.add(f"{plugin.device}: no device; Paddle goes on with {paddle.get_device()}", failed="no device")
        sys.exit(1)
    getattr(stages, stage)(report, plugin, part, options.tiny)


def read_complete(path: Path) -> set[str]:
    """Read which parts are complete, and drop the lines of the others."""
    records = list(read_records(path))
    complete = {record["of"] for record in records if record.get("code") == 0}
    kept = [record for record in records if record["of"] in complete]
    path.write_text("".join(json.dumps(record) + "\n" for record in kept), encoding="utf-8")
    return complete


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("library", type=Path)
    parser.add_argument("--stage", action="append", choices=list(PARTS), help="may be repeated; all by default")
    parser.add_argument("--out", type=Path, default=Path("out/card"))
    parser.add_argument("--seconds", type=float, default=3600.0, help=f"ends {MARGIN} s before so many have passed")
    parser.add_argument("--tiny", action="store_true", help="small shapes, to try the script on the simulated device")
    parser.add_argument("--part", help=argparse.SUPPRESS)
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    if options.part:
        run_part(options)
        return
    end = time.monotonic() + options.seconds - MARGIN
    complete = read_complete(options.out / RESULTS)
    Report(options.out, "run", "card").add(f"{card()}; {datetime.date.today()}; {' '.join(sys.argv)}", code=0)
    left = [(stage, part) for stage in options.stage or PARTS for part in PARTS[stage]]
    left = [each for each in left if ":".join(each) not in complete]
    while left and end - time.monotonic() > LEAST:
        stage, part = left.pop(0)
        print(f"== {stage} {part}, {end - time.monotonic():.0f} s left", flush=True)
        start = time.perf_counter()
        arguments = [options.library, "--out", options.out, "--part", f"{stage}:{part}", *(["--tiny"] * options.tiny)]
        environment = MISSING if part == "libraries" else ONE_THREAD if stage == "parity" else {}
        seconds = min(SECONDS, end - time.monotonic())
        code = start_part("tests.benchmarks.devices.card", *arguments, seconds=seconds, **environment)
        spent = time.perf_counter() - start
        Report(options.out, stage, part).add(f"== {stage} {part}: code {code}, {spent:.0f} s", code=code, took=spent)
    print(f"not begun: {', '.join(map(':'.join, left)) or 'nothing'}", flush=True)


if __name__ == "__main__":
    main()
