"""Training a Qwen3-0.6B shape through the plugin, beside torch and transformers with SDPA on the same card:
``python -m tests.benchmarks.devices.language_training LIBRARY --out FOLDER``.

A developer script, not a test. LIBRARY is what ``tablerec device build cuda`` printed. Each part is a process of its
own; what it finds is printed at once and appended to ``results.jsonl`` in FOLDER, and parts that are there are skipped,
so that a run that ``--seconds`` cut short goes on when it is called again. Random weights are made once, as
``weights.safetensors`` in the folder of ``--work``, with the names of transformers; both sides read them.

    speed    tokens/s in bfloat16, sequences of 4,096, 16,384 tokens a step, AdamW and clipping; memory over the steps.
             torch twice: all weights in bfloat16, and weights in float32 under autocast
    losses   50 steps of SFT and of DPO on the same data, in float32 and in bfloat16
    compare  ratios of the speeds, largest differences of the losses: printed at the end of every run

``--tiny`` tries all of it with two narrow layers, on the simulated device and torch on the CPU; ``--no-torch`` leaves
torch out, ``--python`` names the interpreter that has it.
"""

from __future__ import annotations

import argparse
import datetime
import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from tests.benchmarks.devices import language_sides as sides
from tests.benchmarks.devices.parts import read_records, start_part

PARTS = (
    "speed:ours:bfloat16",
    "speed:torch:bfloat16",
    "speed:torch:autocast",
    "losses:ours:float32",
    "losses:torch:float32",
    "losses:ours:bfloat16",
    "losses:ours:autocast",
    "losses:torch:autocast",
)
MARGIN = 20
"""Seconds before the end that are kept for whoever called."""
LEAST = 20
"""No part is begun with fewer seconds left."""
LOSSES = (
    ("float32", "float32", ("sft", "dpo"), 1e-4),
    ("autocast", "autocast", ("sft", "dpo"), 1e-2),
    ("bfloat16", "autocast", ("sft",), 1e-2),
)
"""The types of ours and of torch, the methods, and how far losses may be apart, relative to torch's.

Under autocast both keep weights in float32 and multiply in bfloat16. With weights in bfloat16, as PaddleFormers tunes,
ours keeps a copy in float32, but a forward pass sees only what has moved by a rounding step: DPO's small rate takes
several times as many steps. With no copy torch's AdamW loses small steps: after 50 steps of the small shape its loss is
1 % higher in SFT.
"""


def read_results(path: Path) -> dict[str, dict[str, Any]]:
    """Read the results by part; the last of a part counts, and a line that was cut short does not."""
    return {record["part"]: record for record in read_records(path)}


def largest_difference(ours: list[float], others: list[float]) -> float:
    """Return the largest relative difference of two courses of a loss."""
    return max(abs(a - b) / abs(b) for a, b in zip(ours, others, strict=True))


def compare(results: dict[str, dict[str, Any]]) -> list[str]:
    """Say how the sides compare, as far as both are there."""
    lines = []
    ours = results.get("speed:ours:bfloat16")
    for name in ("bfloat16", "autocast"):
        other = results.get(f"speed:torch:{name}")
        if ours and other:
            ratio = ours["tokens_per_second"] / other["tokens_per_second"]
            lines.append(f"ours is {ratio:.3f} of torch ({name}): the issue asks for 0.9")
    for dtype, of_torch, methods, allowed in LOSSES:
        mine, other = results.get(f"losses:ours:{dtype}"), results.get(f"losses:torch:{of_torch}")
        for method in methods if mine and other else ():
            apart = largest_difference(mine[method], other[method])
            lines.append(
                f"{method} in {dtype}, {len(mine[method])} steps: apart by {apart:.1e}, allowed {allowed:.0e} "
                f"({other[method][0]:.5f} to {other[method][-1]:.5f})"
            )
    return lines


def run_part(options: argparse.Namespace) -> None:
    kind, side, dtype = options.part.split(":")
    shape = sides.TINY if options.tiny else sides.FULL
    weights = options.work / "weights.safetensors"
    run = sides.Ours(options.library, weights, shape) if side == "ours" else sides.Torch(weights, shape)
    found = run.speed(dtype) if kind == "speed" else run.losses(dtype)
    with (options.out / "results.jsonl").open("a", encoding="utf-8") as file:
        file.write(json.dumps({"part": options.part, **found}) + "\n")


def make_weights(path: Path, shape: sides.Shape) -> None:
    from safetensors.numpy import save_file

    start = time.perf_counter()
    state = sides.draw_weights(shape.configuration)
    path.parent.mkdir(parents=True, exist_ok=True)
    save_file(state, str(path))
    count = sum(value.size for value in state.values())
    print(f"{count / 1e6:.1f} million weights drawn in {time.perf_counter() - start:.0f} s", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("library", type=Path)
    parser.add_argument("--out", type=Path, default=Path("out/language_training"))
    parser.add_argument("--work", type=Path, help="for the weights, 2.4 GB; by default the folder of --out")
    parser.add_argument("--seconds", type=float, default=600.0, help=f"ends {MARGIN} s before so many have passed")
    parser.add_argument("--only", default="", help="parts whose name holds this, such as losses or ours:float32")
    parser.add_argument("--tiny", action="store_true", help="two narrow layers, to try the script without a card")
    parser.add_argument("--no-torch", action="store_true")
    parser.add_argument("--python", default=sys.executable, help="the interpreter for torch's side")
    parser.add_argument("--part", help=argparse.SUPPRESS)
    options = parser.parse_args()
    options.work = options.work or options.out
    options.out.mkdir(parents=True, exist_ok=True)
    if options.part:
        run_part(options)
        return
    end = time.monotonic() + options.seconds - MARGIN
    print(f"{datetime.date.today()}; {' '.join(sys.argv)}", flush=True)
    shape = sides.TINY if options.tiny else sides.FULL
    if not (options.work / "weights.safetensors").is_file():
        make_weights(options.work / "weights.safetensors", shape)
    results = read_results(options.out / "results.jsonl")
    left = [part for part in PARTS if options.only in part and part not in results]
    left = [part for part in left if not (options.no_torch and ":torch:" in part)]
    while left and end - time.monotonic() > LEAST:
        part = left.pop(0)
        print(f"== {part}, {end - time.monotonic():.0f} s left", flush=True)
        start = time.perf_counter()
        code = start_part(
            "tests.benchmarks.devices.language_training",
            *(options.library, "--out", options.out, "--work", options.work, "--part", part),
            *(["--tiny"] * options.tiny),
            seconds=end - time.monotonic(),
            python=options.python if ":torch:" in part else sys.executable,
        )
        print(f"== {part}: code {code}, {time.perf_counter() - start:.0f} s", flush=True)
    for line in compare(read_results(options.out / "results.jsonl")):
        print(line, flush=True)
    print(f"not begun: {', '.join(left) or 'nothing'}", flush=True)


if __name__ == "__main__":
    np.seterr(all="raise", under="ignore")
    main()
