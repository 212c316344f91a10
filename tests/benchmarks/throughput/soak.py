"""Memory over very many pages: ``python -m tests.benchmarks.throughput.soak FOLDER [--pages N] [-- OPTIONS]``.

A developer script, not a test. ``tablerec batch`` reads pictures, drawn and of the benchmark, as many as asked for.
Meanwhile the memory of all its processes is measured: resident, pages that they share counted for each. A line for each
stretch of pages: its mean, of all and of the main process, and the rate. At the end the mean of the last stretch is
compared with that of the first one after the warm-up. A soak that was stopped goes on when it is started again, and
compares what it measures from then on: memory begins anew with each process.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from statistics import mean

from tablerec.processes import tree_bytes
from tests.benchmarks.throughput.inputs import BENCH, ROOT, make_inputs, split_options

EVERY = 2.0
"""Seconds from one measurement to the next."""


class Pages:
    """How many pages a journal tells of, read as it grows."""

    def __init__(self, journal: Path) -> None:
        self._journal = journal
        self._place = 0
        self.count = 0

    def update(self) -> int:
        """Return how many there are."""
        if self._journal.exists():
            with self._journal.open("rb") as file:
                file.seek(self._place)
                content = file.read()
            whole = content[: content.rfind(b"\n") + 1]
            self._place += len(whole)
            self.count += whole.count(b'"sure":')
        return self.count


def own_bytes(process: int) -> int:
    """Resident memory of one process."""
    try:
        return int(Path(f"/proc/{process}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0


def measure(process: subprocess.Popen[bytes], pages: Pages, stretch: int, seconds: float) -> list[tuple[float, float]]:
    """Return the mean memory, MB, of all processes and of the main one, for each stretch of pages."""
    began, before = time.monotonic(), pages.update()
    stretches: list[tuple[float, float]] = []
    values: list[tuple[int, int]] = []
    since = began
    while process.poll() is None:
        time.sleep(EVERY)
        values.append((tree_bytes(process.pid), own_bytes(process.pid)))
        if pages.update() - before >= stretch * (len(stretches) + 1):
            everything, own = (mean(each) / 1e6 for each in zip(*values, strict=True))
            stretches.append((everything, own))
            now = time.monotonic()
            rate = stretch / (now - since)
            print(f"{pages.count:7,} pages: {everything:7.1f} MB, main {own:6.1f} MB, {rate:5.2f} pages/s", flush=True)
            values, since = [], now
        if seconds and time.monotonic() - began > seconds:
            process.send_signal(signal.SIGINT)
            process.wait()
    return stretches


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="For inputs and the store.")
    parser.add_argument("--pages", type=int, default=10_000)
    parser.add_argument("--stretch", type=int, default=1000, help="Pages from one line to the next.")
    parser.add_argument("--warm-up", type=int, default=1, help="Stretches that do not count.")
    parser.add_argument("--seconds", type=float, default=0, help="Stop after this time; the next start goes on.")
    parser.add_argument("--drawn", type=int, default=24, help="Pictures drawn of each recipe, which come again.")
    parser.add_argument("--bench", type=Path, default=BENCH, help="Folder with more pictures.")
    own, options = split_options(sys.argv[1:])
    arguments = parser.parse_args(own)
    make_inputs(arguments.folder / "inputs", arguments.pages, arguments.drawn, arguments.bench)
    store = arguments.folder / "store"
    command = [sys.executable, "-m", "tablerec", "batch", str(arguments.folder / "inputs"), "-o", str(store), "--quiet"]
    with subprocess.Popen([*command, *options], cwd=ROOT) as process:
        stretches = measure(process, Pages(store / "journal.jsonl"), arguments.stretch, arguments.seconds)
    counted = stretches[arguments.warm_up :]
    if len(counted) < 2:
        print("too few pages to compare: more of them, or a shorter --stretch")
        return
    for name, values in zip(("all processes", "main process"), zip(*counted, strict=True), strict=True):
        print(f"{name}: first {values[0]:.1f} MB, last {values[-1]:.1f} MB, {values[-1] / values[0] - 1:+.1%}")


if __name__ == "__main__":
    main()
