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


def measure(sample: str) -> float:
    """Seconds of one process that reads a sample and writes its page."""
    with tempfile.TemporaryDirectory() as folder:
        started = time.perf_counter()
        command = [sys.executable, "-m", "tablerec", "demo", sample, "--no-browser", "-o", folder]
        subprocess.run(command, check=True, capture_output=True)
        seconds = time.perf_counter() - started
        assert {path.suffix for path in Path(folder).iterdir()} == {".html", ".xlsx"}
        return seconds


def main() -> None:
    """Print the median, the least and the most."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--samples", nargs="+", default=["spans", "chinese"], help="what is read")
    parser.add_argument("--times", type=int, default=3, help="processes for each sample")
    parser.add_argument("--cpus", type=int, help="use so many CPUs (Linux)")
    options = parser.parse_args()
    if options.cpus:
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: options.cpus])
    for sample in options.samples:
        seconds = [measure(sample) for _ in range(options.times)]
        print(f"{sample:12} {statistics.median(seconds):5.1f} s ({min(seconds):.1f} to {max(seconds):.1f})")


if __name__ == "__main__":
    main()
