"""How much faster several processes are than one: pictures of a folder, read by both in turns.

    python -m tests.benchmarks.throughput.jobs FOLDER [--jobs 2] [--count 40] [--rounds 3]

One job has one thread, and so has each of several. Models are loaded and each process has read a picture before time
counts. Prints the seconds of each round, pictures a second, and the ratio of the best rounds.
"""

from __future__ import annotations

import argparse
import os
import time
from pathlib import Path

# Before numerical libraries are imported, here and in the workers.
os.environ["OMP_NUM_THREADS"] = "1"

from tablerec import Settings
from tablerec.engine import Engine
from tablerec.inputs.images import expand_inputs


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--count", type=int, default=40, help="pictures, evenly of the folder  [default: 40]")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--ocr", default="auto")
    parser.add_argument("--device", default="cpu")
    args = parser.parse_args()
    every = expand_inputs([str(args.folder)], recursive=True)
    sources = every[:: max(1, len(every) // args.count)][: args.count]
    settings = Settings(ocr=args.ocr, device=args.device)
    best = {1: float("inf"), args.jobs: float("inf")}
    with Engine(settings, 1) as one, Engine(settings, args.jobs) as several:
        engines = {1: one, args.jobs: several}
        for engine in engines.values():
            list(engine.stream(sources[:1] * 2 * len(engine)))
        for number in range(args.rounds):
            for jobs, engine in engines.items():
                started = time.perf_counter()
                n_pages = sum(len(result.pages) for result in engine.stream(sources))
                seconds = time.perf_counter() - started
                best[jobs] = min(best[jobs], seconds)
                rate = n_pages / seconds
                print(f"round {number + 1}, {jobs} jobs: {seconds:.1f} s, {rate:.2f} pages/s", flush=True)
    print(f"{args.jobs} jobs are {best[1] / best[args.jobs]:.2f} times as fast as one, {len(sources)} inputs")


if __name__ == "__main__":
    main()
