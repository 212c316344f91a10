"""How long a first look takes: from ``tablerec demo`` to the page and the workbook, in new processes.

python -m tests.benchmarks.install.first_look --cpus 2
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path


def measure(sample: str) -> tuple[float, float]:
    """Seconds of one process that reads a sample and writes its page, by the clock and of a CPU."""
    with tempfile.TemporaryDirectory() as folder:
        started, before = time.perf_counter(), os.times()
        command = [sys.executable, "-m", "tablerec", "demo", sample, "--no-browser", "-o", folder]
        subprocess.run(command, check=True, capture_output=True)
        seconds, after = time.perf_counter() - started, os.times()
        assert {path.suffix for path in Path(folder).iterdir()} == {".html", ".xlsx"}
        used = after.children_user + after.children_system - before.children_user - before.children_system
        return seconds, used


def main() -> None:
    """Print the median, the least and the most, and the time of a CPU, which a busy machine hardly changes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--samples", nargs="+", default=["spans", "chinese"], help="what is read")
    parser.add_argument("--times", type=int, default=3, help="processes for each sample")
    parser.add_argument("--cpus", type=int, help="use so many CPUs (Linux)")
    options = parser.parse_args()
    if options.cpus:
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: options.cpus])
    for sample in options.samples:
        seconds, used = zip(*(measure(sample) for _ in range(options.times)), strict=True)
        print(
            f"{sample:12} {statistics.median(seconds):5.1f} s ({min(seconds):.1f} to {max(seconds):.1f}), "
            f"{statistics.median(used):.1f} s of a CPU"
        )


if __name__ == "__main__":
    main()
