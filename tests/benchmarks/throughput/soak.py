"""Memory over very many pages: ``python -m tests.benchmarks.throughput.soak FOLDER [--pages N] [-- OPTIONS]``.

A developer script, not a test. ``tablerec batch`` reads pictures, drawn and of the benchmark, as many as asked for.
Meanwhile the memory of all its processes is measured: resident, pages that they share counted for each. A line for each
stretch of pages: the mean of all processes, of the main one, of the one that holds a card and of a worker, and the
rate. At the end the mean of the last stretch is compared with that of the first one after the warm-up, and what was
read after the warm-up is told: tables a second, and the share of each stage. A soak that was stopped goes on when it is
started again, and compares what it measures from then on: memory begins anew with each process.

Beside a card: ``... soak FOLDER --drawn 0 --bench DIR --seconds 200 -- --device gpu:0 --jobs 32``. The same with
``--answers DIR`` has no card: kept answers take its place, see ``tests.benchmarks.throughput.no_card``.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from dataclasses import astuple, dataclass, field
from pathlib import Path
from statistics import mean

from tests.benchmarks.throughput.inputs import BENCH, ROOT, make_inputs, split_options
from tests.benchmarks.throughput.no_card import MAIN, stand_in_for

WORKER = b"tablerec.engine.child:main"
"""In the command line of one."""
EVERY = 1.0
"""Seconds from one measurement to the next."""
PATIENCE = 20.0
"""Seconds in which a batch that was stopped ends."""


@dataclass(slots=True)
class Journal:
    """What a journal tells of pages, read as it grows."""

    path: Path
    n_pages: int = 0
    n_tables: int = 0
    seconds: Counter[str] = field(default_factory=Counter)
    """Of all pages, by stage."""
    _place: int = 0

    def update(self) -> int:
        """Return the number of pages."""
        if self.path.exists():
            with self.path.open("rb") as file:
                file.seek(self._place)
                content = file.read()
            whole = content[: content.rfind(b"\n") + 1]
            self._place += len(whole)
            for line in whole.splitlines():
                for page in json.loads(line).get("group", {}).get("pages", ()):
                    self.n_pages += 1
                    self.n_tables += len(page["sure"])
                    self.seconds.update(page["seconds"])
        return self.n_pages


@dataclass(frozen=True, slots=True)
class Memory:
    """Resident memory, in MB."""

    everything: float
    main: float
    card: float
    """Of the process that holds one."""
    worker: float
    """Of one, on average."""


@dataclass(frozen=True, slots=True)
class Stretch:
    """Some pages: the means of the memory meanwhile, and how long they took."""

    memory: Memory
    seconds: float
    n_pages: int
    n_tables: int
    stages: Counter[str]


def measure_memory(main: int) -> Memory | None:
    """Look at a process and its children; None where it has ended."""
    sizes: dict[str, list[float]] = {"main": [], "card": [], "worker": []}
    for path in Path("/proc").glob("[0-9]*"):
        try:
            # Behind the name, which may hold anything: state, parent, ... and as the 22nd the resident pages.
            fields = (path / "stat").read_bytes().rpartition(b")")[2].split()
            if int(path.name) == main:
                kind = "main"
            elif int(fields[1]) == main:
                kind = "worker" if WORKER in (path / "cmdline").read_bytes() else "card"
            else:
                continue
            sizes[kind].append(int(fields[21]) * os.sysconf("SC_PAGE_SIZE") / 1e6)
        except OSError:  # it ended meanwhile
            continue
    everything, own, card, worker = sum(map(sum, sizes.values())), *map(sum, sizes.values())
    return Memory(everything, own, card, worker / max(1, len(sizes["worker"]))) if own else None


def measure(process: subprocess.Popen[bytes], journal: Journal, stretch: int, seconds: float) -> list[Stretch]:
    """Return what was measured of each stretch, also of those before a batch that was stopped, or takes too long."""
    began = since = time.monotonic()
    before, stages = journal.update(), journal.seconds.copy()
    n_before, n_tables = before, journal.n_tables
    stretches: list[Stretch] = []
    values: list[Memory] = []
    is_over = False
    while not is_over:
        is_over = process.poll() is not None
        if not is_over:
            time.sleep(EVERY)
            if (memory := measure_memory(process.pid)) is not None:
                values.append(memory)
        if values and journal.update() - before >= stretch * (len(stretches) + 1):
            now, means = time.monotonic(), [mean(each) for each in zip(*map(astuple, values), strict=True)]
            n_pages = journal.n_pages - n_before
            new = journal.seconds.copy()
            new.subtract(stages)
            stretches.append(Stretch(Memory(*means), now - since, n_pages, journal.n_tables - n_tables, new))
            print(
                f"{journal.n_pages:7,} pages, {now - began:4.0f} s: {means[0]:8.1f} MB, main {means[1]:6.1f}, card "
                f"{means[2]:7.1f}, a worker {means[3]:6.1f}; {n_pages / (now - since):5.2f} pages/s, "
                f"{stretches[-1].n_tables / (now - since):5.2f} tables/s",
                flush=True,
            )
            values, since, stages = [], now, journal.seconds.copy()
            n_before, n_tables = journal.n_pages, journal.n_tables
        if not is_over and seconds and time.monotonic() - began > seconds:
            stop(process)
    return stretches


def stop(process: subprocess.Popen[bytes]) -> None:
    """End a batch as Ctrl-C does, or at once where that does not help."""
    process.send_signal(signal.SIGINT)
    try:
        process.wait(PATIENCE)
    except subprocess.TimeoutExpired:
        process.kill()  # its workers end with it
        process.wait()
        print(f"the batch did not end within {PATIENCE:.0f} s of Ctrl-C", flush=True)


def report(stretches: list[Stretch], warm_up: int) -> None:
    """Print what the stretches after the warm-up are together."""
    warm, counted = stretches[:warm_up], stretches[warm_up:]
    if warm:
        print(f"warm-up: {sum(each.n_pages for each in warm):,} pages in {sum(each.seconds for each in warm):.0f} s")
    if len(counted) < 2:
        print("too few pages to compare: more of them, or a shorter --stretch")
        return
    seconds = sum(each.seconds for each in counted)
    n_pages, n_tables = sum(each.n_pages for each in counted), sum(each.n_tables for each in counted)
    print(f"after it: {n_pages:,} pages in {seconds:.0f} s, {n_pages / seconds:.1f} pages/s, ", end="")
    print(f"{n_tables / seconds:.1f} tables/s")
    stages = sum((each.stages for each in counted), Counter[str]())
    print(", ".join(f"{name} {part / stages.total():.1%}" for name, part in stages.most_common()))
    for name, values in zip(
        ("all processes", "main process", "card", "a worker"),
        zip(*(astuple(each.memory) for each in counted), strict=True),
        strict=True,
    ):
        if values[0]:
            print(f"{name}: first {values[0]:.1f} MB, last {values[-1]:.1f} MB, {values[-1] / values[0] - 1:+.1%}")


def main() -> None:
    """Read, and measure."""
    description, _, more = (__doc__ or "").partition("\n\n")
    parser = argparse.ArgumentParser(
        description=description, epilog=more, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, help="for inputs and the store")
    parser.add_argument("--pages", type=int, default=10_000)
    parser.add_argument("--stretch", type=int, default=1000, help="pages from one line to the next")
    parser.add_argument("--warm-up", type=int, default=1, help="stretches that do not count")
    parser.add_argument("--seconds", type=float, default=0, help="stop after this time; the next start goes on")
    parser.add_argument("--drawn", type=int, default=24, help="pictures drawn of each recipe, which come again")
    parser.add_argument("--bench", type=Path, default=BENCH, help="folder with more pictures")
    parser.add_argument("--answers", type=Path, help="folder with answers that take the card's place")
    parser.add_argument("--milliseconds", type=float, default=4.0, help="that it takes for a call")
    own, options = split_options(sys.argv[1:])
    arguments = parser.parse_args(own)
    started = time.monotonic()
    make_inputs(arguments.folder / "inputs", arguments.pages, arguments.drawn, arguments.bench)
    print(f"inputs: {time.monotonic() - started:.0f} s", flush=True)
    if arguments.answers:
        stand_in_for(arguments.answers, arguments.milliseconds)
    program = ["-m", "tablerec"] if arguments.answers is None else ["-c", MAIN]
    store = arguments.folder / "store"
    command = [*program, "batch", str(arguments.folder / "inputs"), "-o", str(store), "--quiet", *options]
    with subprocess.Popen([sys.executable, *command], cwd=ROOT) as process:
        stretches = measure(process, Journal(store / "journal.jsonl"), arguments.stretch, arguments.seconds)
    report(stretches, arguments.warm_up)


if __name__ == "__main__":
    main()
