"""What little data teaches a cell detector: ``python -m tests.benchmarks.training.finetuning --kinds A,B -o OUT``.

A developer script, not a test. For each kind of table, number of labels and choice of what is trained, one
``tablerec train`` in a process of its own, so that peaks of memory are its alone; ``--jobs`` of them run side by side.
A kind is a recipe of ``tablerec synth``, whose labels and tests are drawn with different seeds, or ``folder:PATH`` with
the folders ``train`` and ``test``, pictures with their labels beside them.

What is done is skipped, so a run that was stopped goes on. Prints a Markdown table, whose lines ``none`` are the
weights as they were given, and writes it to OUT/table.md and all numbers to OUT/results.json:

    python -m tests.benchmarks.training.finetuning --kinds unseen_form,folder:real -o out \
        --labels 20,50,200 --trainable all,lora,head --device tablerec_gpu --plugin cuda --steps 150 --jobs 3
    python -m tests.benchmarks.training.finetuning --kinds unseen_form -o out --labels 50 --trainable all --minutes 10
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

from tablerec.devices.build import KINDS, build_plugin

ROOT = Path(__file__).resolve().parents[3]
METHODS: dict[str, dict[str, Any]] = {
    "all": {"learning_rate": 5e-4},
    "lora": {"learning_rate": 2e-3, "trainable": "lora"},
    "lora_late": {
        "learning_rate": 2e-3,
        "trainable": "lora",
        "lora": {"target_modules": "stage16|stage32|up16|up8|up4|head|maps"},
    },
    "head": {"learning_rate": 1e-3, "trainable": "head"},
    "norm_bias": {"learning_rate": 2e-3, "trainable": "norm_bias"},
}
SEEDS = {"train": 1, "test": 2}
COLUMNS = ("kind", "labels", "trained", "F1@0.6", "F1@0.8", "exact", "peak GB", "minutes", "images/s")


class Job(NamedTuple):
    """One training."""

    kind: str
    n_labels: int
    trainable: str

    @property
    def name(self) -> str:
        """Of its folder."""
        return f"{kind_name(self.kind)}_{self.n_labels}_{self.trainable}"


def kind_name(kind: str) -> str:
    """Return a name for files."""
    return Path(kind.removeprefix("folder:")).name


def draw_labels(kind: str, part: str, count: int, folder: Path, workers: int) -> Path:
    """Draw labels of a kind, or copy the first ones of a folder in an order that its names decide."""
    target = folder / kind_name(kind) / f"{part}_{count}"
    if kind.startswith("folder:"):
        copy_labels(Path(kind.removeprefix("folder:")), part, count, target)
    else:
        call([*tablerec(), "synth", kind, "-n", count, "--seed", SEEDS[part], "--format", "bench", "-o", target,
              "--jobs", workers])  # fmt: skip
    return target


def copy_labels(folder: Path, part: str, count: int, target: Path) -> None:
    """Copy some labels with their pictures: of the folder ``part``, or those whose ``meta`` has it as ``split``."""
    within = folder / part if (folder / part).is_dir() else folder
    labels = {path: read_json(path) for path in sorted(within.rglob("*.json"))}
    chosen = [
        path for path, label in labels.items() if "image" in label and (within != folder or split_of(label) == part)
    ]
    if not chosen:
        raise SystemExit(f"{folder} holds no labels for {part}: each picture needs a JSON file beside it")
    random.Random(0).shuffle(chosen)  # the same order for each size
    target.mkdir(parents=True, exist_ok=True)
    for path in chosen[:count]:
        shutil.copy(path, target / path.name)
        shutil.copy(path.parent / labels[path]["image"], target / labels[path]["image"])


def split_of(label: dict[str, Any]) -> str | None:
    """Return the part of its data set that a label belongs to."""
    return label.get("meta", {}).get("split")


def settings_of(job: Job, chosen: argparse.Namespace) -> dict[str, Any]:
    """Return the settings of a training."""
    labels = chosen.output / "labels" / kind_name(job.kind)
    length = {"minutes": chosen.minutes} if chosen.minutes else {"steps": chosen.steps}
    n_tests = len(list((labels / f"test_{chosen.tests}").glob("*.json")))
    method = METHODS[job.trainable]
    return {
        "model": chosen.model,
        "initial": chosen.initial,
        "output": str(chosen.output / job.name),
        "device": chosen.device,
        "seed": chosen.seed,
        "data": {
            "source": f"crops:{labels / f'train_{job.n_labels}'}",
            "batch_size": chosen.batch,
            "image_size": chosen.side,
            "max_cells": 2048,
            "buffer_size": chosen.buffer,
            "min_buffer": min(32, chosen.buffer),
            "workers": chosen.workers,
        },
        "schedule": {**length, "warmup_steps": 20, "checkpoint_every": 1_000_000, "log_every": 10},
        "optimizer": {
            **method,
            "learning_rate": method["learning_rate"] * chosen.rate,
            "ema_decay": 0.97,
            "bn_batches": 0,
        },
        "memory": {
            "precision": chosen.precision,
            "offload_buffer": True,
            "recompute": "all" if "lora" in job.trainable else "none",
        },
        "validation": {
            "source": f"folder:{labels / f'test_{chosen.tests}'}",
            "first_index": 0,
            "samples": n_tests,
            "every": 1_000_000,  # the first and the last one
        },
    }


def train(job: Job, chosen: argparse.Namespace) -> dict[str, Any]:
    """Train, unless it is done already; returns the summary, or what went wrong as ``problem``."""
    output = chosen.output / job.name
    if (done := read_json(output / "summary.json")).get("ended") == "finished":
        return done
    output.mkdir(parents=True, exist_ok=True)
    config = output / "settings.json"
    config.write_text(json.dumps(settings_of(job, chosen), indent=1), encoding="utf-8")
    plugin = ["--plugin", chosen.plugin] if chosen.plugin else []
    with (output / "output.txt").open("w", encoding="utf-8") as said:
        code = subprocess.call(
            [*tablerec(), "train", str(config), *plugin], env=environment(), stdout=said, stderr=said
        )
    print(f"{job.name}: {'done' if code == 0 else 'failed, see ' + str(output / 'output.txt')}", flush=True)
    if code:
        return {"ended": "failed", "problem": (output / "output.txt").read_text(encoding="utf-8").strip()[-300:]}
    return read_json(output / "summary.json")


def rows_of(results: Sequence[tuple[Job, dict[str, Any]]]) -> Iterator[list[str]]:
    """Yield the rows of the table; the scores as given come before the first training of a kind."""
    seen: set[str] = set()
    for job, found in results:
        before = found.get("before")
        if before and job.kind not in seen:
            seen.add(job.kind)
            yield [kind_name(job.kind), "0", "none", *percents(before), "", "", ""]
        if not found.get("after"):
            yield [kind_name(job.kind), str(job.n_labels), job.trainable, *["failed"] * 3, "", "", ""]
            continue
        peak = f"{found['peak_bytes'] / 1e9:.2f}" if found["peak_bytes"] else ""
        speed = f"{found['images_per_second'] or 0:.1f}"
        yield [kind_name(job.kind), str(job.n_labels), job.trainable, *percents(found["after"]), peak,
               f"{found['minutes']:.1f}", speed]  # fmt: skip


def percents(scores: dict[str, float]) -> list[str]:
    """Return the scores as text."""
    return [f"{100 * scores[name]:.1f}" for name in ("f1_60", "f1_80", "exact")]


def to_markdown(rows: Iterator[list[str]]) -> str:
    """Return a table."""
    lines = [list(COLUMNS), ["---"] * 3 + ["---:"] * (len(COLUMNS) - 3), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def tablerec() -> list[str]:
    """Return the command that starts this checkout's tablerec."""
    return [sys.executable, "-m", "tablerec"]


def call(command: Sequence[object]) -> None:
    """Run a command; what it says is shown when it fails."""
    done = subprocess.run(
        [str(word) for word in command], env=environment(), capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise SystemExit(f"{' '.join(map(str, command))} failed:\n{done.stdout}{done.stderr}")


def environment() -> dict[str, str]:
    """Return the environment for processes that import this checkout."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])}


def read_json(path: Path) -> dict[str, Any]:
    """Read a file; empty where there is none."""
    return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}


def read_arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kinds", type=lambda text: text.split(","), required=True, help="recipes, folder:PATH")
    parser.add_argument("--labels", type=lambda text: [int(n) for n in text.split(",")], default=[20, 50, 200])
    parser.add_argument(
        "--trainable", type=lambda text: text.split(","), default=["all", "lora", "head"], help=", ".join(METHODS)
    )
    parser.add_argument("--model", default="cellnet")
    parser.add_argument("--initial", default="cellnet", help="weights to start from")
    parser.add_argument("--tests", type=int, default=64, help="pictures that are scored")
    parser.add_argument("--steps", type=int, default=150)
    parser.add_argument("--minutes", type=float, help="instead of --steps")
    parser.add_argument("--batch", type=int, help="canvases in a batch")
    parser.add_argument("--side", type=int, help="of the canvas, px")
    parser.add_argument("--rate", type=float, default=1.0, help="factor of the learning rates")
    parser.add_argument("--buffer", type=int, default=64)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--plugin", help="simulated, cuda or a library")
    parser.add_argument("--precision", default="float32")
    parser.add_argument("--jobs", type=int, default=1, help="trainings side by side")
    parser.add_argument("--workers", type=int, help="processes that prepare samples, for each training")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("-o", "--output", type=Path, required=True)
    chosen = parser.parse_args()
    on_cpu = chosen.device == "cpu"
    chosen.batch, chosen.side = chosen.batch or (2 if on_cpu else 8), chosen.side or (640 if on_cpu else 960)
    if chosen.workers is None:
        chosen.workers = 0 if on_cpu else max(1, (os.cpu_count() or 1) // chosen.jobs - 1)
    return chosen


def main() -> None:
    """Draw the labels, train, and print the table."""
    chosen = read_arguments()
    for kind in chosen.kinds:
        for part, count in [*(("train", count) for count in chosen.labels), ("test", chosen.tests)]:
            draw_labels(kind, part, count, chosen.output / "labels", os.cpu_count() or 1)
    if chosen.plugin in KINDS:
        build_plugin(chosen.plugin)  # once, not in each of the trainings side by side
    jobs = [Job(kind, count, what) for kind in chosen.kinds for count in chosen.labels for what in chosen.trainable]
    with ThreadPoolExecutor(chosen.jobs) as pool:
        results = list(zip(jobs, pool.map(lambda job: train(job, chosen), jobs), strict=True))
    table = to_markdown(rows_of(results))
    (chosen.output / "table.md").write_text(table + "\n", encoding="utf-8")
    entries = [{**job._asdict(), **found} for job, found in results]
    (chosen.output / "results.json").write_text(json.dumps(entries, indent=1), encoding="utf-8")
    print(table)


if __name__ == "__main__":
    main()
