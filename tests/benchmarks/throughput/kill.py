"""Batches that are killed: ``python -m tests.benchmarks.throughput.kill FOLDER [-- OPTIONS OF tablerec batch]``.

A developer script, not a test. ``tablerec batch`` reads pictures and is killed (SIGKILL) at random moments, each time
with all that it was about to do; then it is let come to its end. All its outputs are compared with those of a run that
was not killed: each must be there once, whole, and the same but for the seconds. Then one input of many is poisoned: it
must cost one line, and the others nothing.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any

from tests.benchmarks.throughput.inputs import BENCH, ROOT, make_inputs, split_options

POISON_SECONDS = 8
"""Time for a page, which the poisoned one does not keep to: a picture with more dark spots than can be looked at."""


def batch(store: Path, inputs: Path, options: Sequence[str], **popen: Any) -> subprocess.Popen[str]:
    """Start a batch."""
    command = [sys.executable, "-m", "tablerec", "batch", str(inputs), "-o", str(store), "--quiet", *options]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, **popen)


def outputs(store: Path) -> Counter[str]:
    """Every output of a store as a text, without the seconds that it took."""
    found: Counter[str] = Counter()
    for path in sorted((store / "tables").rglob("*")):
        if path.suffix == ".json":
            data = json.loads(path.read_text(encoding="utf-8"))
            for page in data["pages"]:
                page["seconds"] = None
            found[f"{path.name} {json.dumps(data)}"] += 1
        elif path.suffix == ".parquet":
            import pyarrow.parquet

            for row in pyarrow.parquet.read_table(path).to_pylist():
                found[json.dumps(row | {"seconds": None})] += 1
        elif path.is_file():
            found[f"{path.name} {path.read_bytes()!r}"] += 1
    return found


def children(process: int) -> list[int]:
    """The processes that a process has started, as Linux tells them."""
    return [
        int(child)
        for task in Path(f"/proc/{process}/task").glob("*/children")
        for child in task.read_text().split()
    ]  # fmt: skip


def is_there(process: int) -> bool:
    """Whether a process runs."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def killed(store: Path, inputs: Path, options: Sequence[str], n_kills: int, seconds: float, seed: int) -> None:
    """Kill a batch at random moments of so many seconds, then let it end."""
    random = Random(seed)
    for number in range(n_kills):
        moment = random.uniform(0.2, seconds)
        with batch(store, inputs, options) as process:
            try:
                process.communicate(timeout=moment)
                print(f"kill {number + 1}: the batch ended within {moment:.1f} s", flush=True)
                continue
            except subprocess.TimeoutExpired:
                started = children(process.pid)
                process.send_signal(signal.SIGKILL)
                process.communicate()
        deadline = time.monotonic() + 20
        while any(map(is_there, started)) and time.monotonic() < deadline:
            time.sleep(0.05)
        left = sum(map(is_there, started))
        n_done = sum(1 for path in (store / "tables").rglob("*") if path.is_file())
        print(f"kill {number + 1} after {moment:.1f} s: {n_done} outputs, {left} workers left behind", flush=True)
        assert not left
    with batch(store, inputs, options) as process:
        _, told = process.communicate()
    assert process.returncode == 0, told


def check_kills(folder: Path, options: Sequence[str], arguments: argparse.Namespace) -> None:
    """Compare a batch that was killed with one that was not."""
    make_inputs(folder / "inputs", arguments.pages, bench=arguments.bench)
    for name in ("whole", "killed"):
        shutil.rmtree(folder / name, ignore_errors=True)
    began = time.monotonic()
    with batch(folder / "whole", folder / "inputs", options) as process:
        _, told = process.communicate()
    assert process.returncode == 0, told
    seconds = time.monotonic() - began
    print(f"not killed: {seconds:.0f} s, {sum(outputs(folder / 'whole').values())} outputs", flush=True)
    killed(folder / "killed", folder / "inputs", options, arguments.kills, 0.4 * seconds, arguments.seed)
    whole, other = outputs(folder / "whole"), outputs(folder / "killed")
    missing, more = sum((whole - other).values()), sum((other - whole).values())
    twice = sum(count - 1 for count in other.values())
    left = [str(path) for path in (folder / "killed" / "partial").rglob("*")]
    print(
        f"{sum(other.values())} outputs: {missing} missing or other, {more} unexpected, {twice} twice, {left} left over"
    )
    assert not (missing or more or twice or left)


def check_poison(folder: Path, options: Sequence[str], n_inputs: int, bench: Path) -> None:
    """Poison one input of many: it takes longer than a page may."""
    inputs, store = folder / "many", folder / "poisoned"
    paths = make_inputs(inputs, n_inputs, bench=bench)
    shutil.rmtree(store, ignore_errors=True)
    poison(paths[len(paths) // 2])
    began = time.monotonic()
    limited = [*options, "--page-seconds", f"{POISON_SECONDS}"]
    with batch(store, inputs, limited) as process:
        _, told = process.communicate()
    print(told, end="")
    lines = told.splitlines()
    summary = json.loads((store / "summary.json").read_text())
    print(
        f"one poisoned of {n_inputs}: {len(lines)} line(s), exit code {process.returncode}, "
        f"{summary['pages']} pages read, {summary['failures']} failed, {time.monotonic() - began:.0f} s"
    )
    assert (len(lines), process.returncode, summary["pages"], summary["failures"]) == (1, 1, n_inputs - 1, 1)


def poison(path: Path) -> None:
    """Make a picture that is looked at for a long time."""
    import numpy as np
    from PIL import Image

    spots = np.random.default_rng(0).integers(0, 256, (7000, 7000), np.uint8)
    Image.fromarray(spots).save(path.with_suffix(".tmp"), "BMP")
    os.replace(path.with_suffix(".tmp"), path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="For inputs and stores; inputs are kept for the next time.")
    parser.add_argument("--pages", type=int, default=60, help="Of the batch that is killed.")
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--poisoned", type=int, default=1000, metavar="N", help="Inputs one of which is poisoned.")
    parser.add_argument("--bench", type=Path, default=BENCH, help="Folder with more pictures.")
    parser.add_argument("--seed", type=int, default=0)
    own, options = split_options(sys.argv[1:])
    arguments = parser.parse_args(own)
    if arguments.pages:
        check_kills(arguments.folder, options, arguments)
    if arguments.poisoned:
        check_poison(arguments.folder, options, arguments.poisoned, arguments.bench)


if __name__ == "__main__":
    main()
