"""Time and memory of reading, engines side by side:
``python -m tests.benchmarks.reading.speed [--bench DIR] [--ocr auto --ocr rapidocr] [--count N]``.

A developer script, not a test. The samples of the repository, and so many pictures of ``--bench`` with sources taking
turns, such as ``../shared/bench/dev``, go through the whole pipeline. For each picture all engines take turns in one
process, so that a busy machine is busy for all; the first sample is read once before, so that models are loaded. By
engine: seconds of reading (finding and reading lines, and the second look at empty cells), of the whole pipeline, both
as shares of the last engine's, and lines read a second. The peak memory is that of a process of its own, which reads
the same pictures with one engine. ``--page FILE`` tells the peak memory of a process that reads this page alone.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tablerec.config import Settings
from tablerec.pipeline import Recognizer
from tests.benchmarks.hostile.inputs import SAMPLES
from tests.benchmarks.reading.tables import sample_truths

STAGES = ("read", "second pass")
"""Stages of ``Page.seconds`` that read."""


@dataclass
class Sums:
    """Of all pictures."""

    reading: float = 0.0
    whole: float = 0.0
    words: int = 0

    def add(self, recognizer: Recognizer, path: Path) -> None:
        """Read a picture."""
        started = time.perf_counter()
        pages = recognizer.recognize(path).pages
        self.whole += time.perf_counter() - started
        self.reading += sum(page.seconds.get(stage, 0.0) for page in pages for stage in STAGES)
        self.words += sum(len(page.words) for page in pages)


def pictures(bench: Path | None, count: int) -> list[Path]:
    """The samples, and pictures of the bench."""
    samples = sorted([*SAMPLES.glob("*.png"), *SAMPLES.glob("*.jpg")])
    return samples + ([truth.image for truth in sample_truths(bench, count, with_text=False)] if bench else [])


def make(ocr: str, detector: str) -> Recognizer:
    """A recognizer with an engine."""
    return Recognizer(Settings(ocr=ocr, detector=detector))


def peak_mib() -> float:
    """The most memory that this process had in use, MiB; Linux."""
    # getrusage would count what the parent had in use.
    return int(Path("/proc/self/status").read_text().partition("VmHWM:")[2].split()[0]) / 1024


def peak_apart(ocr: str, detector: str, paths: Sequence[Path]) -> float:
    """The peak memory of a process that reads pictures with an engine, MiB."""
    given = json.dumps([str(path) for path in paths])
    command = [sys.executable, "-m", "tests.benchmarks.reading.speed", "--memory-of", ocr, "--detector", detector]
    done = subprocess.run(command, input=given, capture_output=True, text=True, check=True)
    return float(done.stdout)


def main() -> None:
    """Read, and print a line for each engine."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bench", type=Path)
    parser.add_argument("--count", type=int, default=40, help="pictures of the bench")
    parser.add_argument("--ocr", action="append", help="as of tablerec  [auto, tablerec and rapidocr]")
    parser.add_argument("--detector", default=Settings().detector)
    parser.add_argument("--no-memory", action="store_true")
    parser.add_argument("--page", type=Path, help="tell the peak memory of each engine on this picture, no more")
    parser.add_argument("--memory-of", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.memory_of:
        recognizer = make(options.memory_of, options.detector)
        for path in json.loads(sys.stdin.read()):
            recognizer.recognize(Path(path))
        print(peak_mib())
        return
    engines = options.ocr or ["auto", "tablerec", "rapidocr"]
    if options.page:
        for ocr in engines:
            print(f"{ocr:12} peak {peak_apart(ocr, options.detector, [options.page]):.0f} MiB")
        return
    paths = pictures(options.bench, options.count)
    recognizers = {ocr: make(ocr, options.detector) for ocr in engines}
    for recognizer in recognizers.values():
        recognizer.recognize(paths[0])
    sums = {ocr: Sums() for ocr in engines}
    for number, path in enumerate(paths):
        for ocr in engines if number % 2 else reversed(engines):
            sums[ocr].add(recognizers[ocr], path)
        print(f"\r{number + 1} of {len(paths)} ", end="", file=sys.stderr, flush=True)
    print(f"\n{len(paths)} pictures")
    last = sums[engines[-1]]
    for ocr, found in sums.items():
        memory = "" if options.no_memory else f"  peak {peak_apart(ocr, options.detector, paths):.0f} MiB"
        print(
            f"{ocr:12} reading {found.reading:7.1f} s ({found.reading / last.reading:.3f})  "
            f"whole {found.whole:7.1f} s ({found.whole / last.whole:.3f})  "
            f"{found.words / max(found.reading, 1e-9):6.0f} lines/s{memory}"
        )


if __name__ == "__main__":
    main()
