"""All but the card: ``python -m tests.benchmarks.throughput.no_card FOLDER --answers DIR [--count N] [--jobs N]``.

A developer script, not a test. Pictures become HTML and workbooks as ``tablerec batch`` makes them beside a card. In
its place there are kept answers, see ``tests.benchmarks.throughput.host``, given after as long as a card takes.
Prints tables a second, and what a table costs: milliseconds of the CPU in the main process, of which there is one, in a
worker, and in the process that would hold the card, mostly for finding the answers; and for how long its worker waits.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tests.benchmarks.throughput.host import Clock, open_beside, pictures
from tests.benchmarks.throughput.owner import MILLISECONDS, ROOT, cpu_seconds

ANSWERS = "TABLEREC_BENCH_ANSWERS"
MAIN = """
from tests.benchmarks.throughput.no_card import replace_card
replace_card()
from tablerec.cli import main
main()
"""
"""``tablerec`` without a card, after ``stand_in_for``."""


def own() -> None:
    """Hold no card, and serve as the process that holds one."""
    from tablerec.engine import networks

    open_kept = open_beside(Clock(), Path(os.environ[ANSWERS]))
    seconds = float(os.environ[MILLISECONDS]) / 1000

    def open_file(file: Any) -> Callable[[Any], Any]:
        network = open_kept(file)

        def run(images: Any) -> Any:
            found = network(images)
            time.sleep(seconds)
            return found

        return run

    networks.serve = partial(networks.serve, open_file=open_file)
    networks.main()


def stand_in_for(answers: Path, milliseconds: float) -> None:
    """Say to this process, and to those that it starts, what takes the card's place.

    Args:
        answers: Folder with what the networks answer; what is not there is computed.
        milliseconds: That a call takes.
    """
    answers.mkdir(parents=True, exist_ok=True)
    os.environ |= {ANSWERS: str(answers.resolve()), MILLISECONDS: str(milliseconds)}


def replace_card() -> None:
    """Have processes of this one hold no card."""
    from tablerec.engine import networks

    sys.path.append(str(ROOT))
    start = networks.start_process
    networks.start_process = lambda _, *args, **rest: start("tests.benchmarks.throughput.no_card:own", *args, **rest)


def main() -> None:
    """Measure."""
    description, _, more = (__doc__ or "").partition("\n\n")
    parser = argparse.ArgumentParser(
        description=description, epilog=more, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--count", type=int, help="of pictures  [all]")
    parser.add_argument("--answers", type=Path, required=True, help="folder with what the networks answer")
    parser.add_argument("--milliseconds", type=float, default=4.0, help="that a card takes for a call")
    parser.add_argument("--jobs", type=int, action="append", help="workers, several times  [2]")
    parser.add_argument("--rounds", type=int, default=2)
    options = parser.parse_args()
    stand_in_for(options.answers, options.milliseconds)
    replace_card()
    from tablerec import Settings
    from tablerec.bulk.executor import LocalExecutor, Task
    from tablerec.bulk.results import FileResults, Origin
    from tablerec.engine import Engine

    paths = pictures(options.folder.resolve(), options.count)
    print(f"{'jobs':>5}{'tables/s':>10}{'ms a table: main':>18}{'worker':>8}{'card':>7}{'waiting':>9}")
    for jobs in options.jobs or [2]:
        settings = Settings(layout="table", device="gpu:0")
        with Engine(settings, jobs=jobs, threads=1) as engine, TemporaryDirectory() as out:
            results = FileResults(("html", "xlsx"))
            executor = LocalExecutor(engine, results.encode)
            list(engine.stream(paths[: 2 * jobs]))
            for _ in range(options.rounds):
                tasks = (Task(str(path), path, path.stem, 1, Origin(path.name, path.stem * 20, True)) for path in paths)
                workers = [each._process.pid for each in engine._workers._processes.values()]
                card = [each._process.pid for each in engine._cards.values()]
                groups = ([os.getpid()], workers, card)
                before, at_work = [sum(map(cpu_seconds, group)) for group in groups], sum(map(busy_seconds, workers))
                started, n_tables = time.perf_counter(), 0
                for outcome in executor.run(tasks):
                    if outcome is None:
                        continue
                    assert not isinstance(outcome.page, Exception), outcome.page
                    n_tables += len(outcome.page.tables)
                    encoded = outcome.encoded
                    results.add(encoded if encoded is not None else results.encode(outcome.task.origin, outcome.page))
                    for name, content in results.finish():
                        Path(out, Path(name).name).write_bytes(content)
                wall = time.perf_counter() - started
                used = [sum(map(cpu_seconds, each)) - was for each, was in zip(groups, before, strict=True)]
                used.append(wall * jobs - sum(map(busy_seconds, workers)) + at_work)
                main, worker, owner, waiting = (1000 * seconds / n_tables for seconds in used)
                row = f"{jobs:5}{n_tables / wall:10.1f}{main:18.1f}{worker:8.1f}{owner:7.1f}{waiting:9.1f}"
                print(row, flush=True)


def busy_seconds(process: int) -> float:
    """For how long the first thread of a process has run, or has waited for a CPU, so far."""
    running, ready, _ = Path(f"/proc/{process}/schedstat").read_text().split()
    return (int(running) + int(ready)) / 1e9


if __name__ == "__main__":
    main()
