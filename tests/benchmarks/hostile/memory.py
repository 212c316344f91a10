"""Memory of one recognizer over many pictures: ``python -m tests.benchmarks.hostile.memory [--count N] [--ocr NAME]``.

A developer script, not a test. The samples of the repository go through one recognizer again and again, each time in
another size, cut and turned, as a server sees them. A line for each stretch of pictures: memory in use after each (the
median and the most, MiB), what of it Python's own objects are, and how much could be given back to the system at once
(``malloc_trim``): the rest is held. At the end the growth in MiB for a thousand pictures, over the second half.
"""

from __future__ import annotations

import argparse
import ctypes
import gc
import sys
import time
from pathlib import Path
from statistics import median

import numpy as np
from numpy.typing import NDArray

from tablerec import Recognizer, Settings
from tests.benchmarks.hostile.inputs import SAMPLES


def resident_mib() -> float:
    """Memory in use, MiB."""
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmRSS:")[2].split()[0]) / 1024


def trim() -> None:
    """Give free memory back to the system, where the C library can."""
    if sys.platform == "linux":
        getattr(ctypes.CDLL(None), "malloc_trim", lambda _: None)(0)


def pictures(count: int, largest: int, seed: int = 0) -> list[tuple[int, float, float]]:
    """Number of a sample, scale, and share that is kept, of so many pictures."""
    rng = np.random.default_rng(seed)
    return [
        (int(rng.integers(1 << 30)), float(rng.uniform(0.3, largest)), float(rng.uniform(0.4, 1))) for _ in range(count)
    ]


def varied(samples: list[NDArray[np.uint8]], number: int, scale: float, share: float) -> NDArray[np.uint8]:
    """A sample in another size."""
    import cv2

    image = samples[number % len(samples)]
    height, width = (max(int(share * side), 8) for side in image.shape[:2])
    size = (max(int(scale * width), 8), max(int(scale * height), 8))
    return np.asarray(cv2.resize(image[:height, :width], size), np.uint8)


def main() -> None:
    import cv2

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=400)
    parser.add_argument("--stretch", type=int, default=25, help="pictures a line")
    parser.add_argument("--ocr", default="auto")
    parser.add_argument("--detector", default="auto")
    parser.add_argument("--largest", type=float, default=2.0, help="greatest scale of a sample")
    options = parser.parse_args()
    files = sorted([*SAMPLES.glob("*.png"), *SAMPLES.glob("*.jpg")])
    samples = [np.asarray(cv2.imread(str(path)), np.uint8) for path in files]
    recognizer = Recognizer(Settings(ocr=options.ocr, detector=options.detector))
    used: list[float] = []
    started = time.perf_counter()
    for done, picture in enumerate(pictures(options.count, options.largest), 1):
        recognizer.recognize(varied(samples, *picture))
        used.append(resident_mib())
        if done % options.stretch == 0:
            stretch = used[-options.stretch :]
            gc.collect()
            before = resident_mib()
            trim()
            level = f"{median(stretch):6.0f} MiB, most {max(stretch):6.0f}, {len(gc.get_objects())} objects"
            free = before - resident_mib()
            print(
                f"{done:6} pictures, {time.perf_counter() - started:5.0f} s: {level}, {free:.0f} MiB free", flush=True
            )
    half = used[len(used) // 2 :]
    slope = float(np.polyfit(np.arange(len(half)), half, 1)[0]) if len(half) > 1 else 0.0
    print(f"growth {1000 * slope:+.0f} MiB for a thousand pictures; {max(half) - max(used[: len(used) // 2]):+.0f} MiB "
          "from the most of the first half to that of the second")  # fmt: skip


if __name__ == "__main__":
    main()
