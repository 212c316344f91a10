"""A review of a folder of many pages: ``python -m tests.benchmarks.editor.large_folder [PAGES]``.

Each of 2,000 pages (or PAGES) has a table of 10 x 8 cells that is found at once. Printed are the seconds until the
first table can be opened, the milliseconds of a poll of the list while nothing changes, of the whole list, and of a
step, and the memory that the review takes after half of the pages and after all; and the same for a review that is
begun again.
"""

from __future__ import annotations

import argparse
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from tablerec.corrections.alike.offers import Offers
from tablerec.corrections.editor import CorrectionFolder
from tablerec.corrections.review.desk import Desk
from tablerec.result import Page, PageImage
from tests.helpers.review import make_table

SIZE = 340, 160


def read(source: str) -> Iterator[Page]:
    """A page whose picture no other page has."""
    number = int(Path(source).stem[1:])
    image = np.full((SIZE[1], SIZE[0], 3), 255, np.uint8)
    image[0, :32] = [[255 * (number >> bit & 1)] * 3 for bit in range(32)]
    yield Page(PageImage(source, 1, image), (make_table(10, 8),))


def memory() -> float:
    """Megabytes of this process now."""
    lines = Path("/proc/self/status").read_text("utf-8").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS")) / 1024


def milliseconds(work: Any, times: int = 20) -> float:
    """Median time of a call."""
    taken = []
    for _ in range(times):
        begun = time.perf_counter()
        work()
        taken.append(1000 * (time.perf_counter() - begun))
    return float(np.median(taken))


def measure(folder: Path, n_pages: int, name: str) -> None:
    """Review the folder once."""
    before = memory()
    begun = time.perf_counter()
    desk = Desk(sorted(folder.glob("*.png")), folder, CorrectionFolder(folder / "corrections"), read)
    reading = threading.Thread(target=desk.read_all)
    reading.start()
    while not desk.names():
        time.sleep(0.002)
    first = desk.names()[0]
    desk.correction(first).view()
    seconds, half = time.perf_counter() - begun, 0.0
    while reading.is_alive():
        reading.join(0.2)
        if not half and len(desk.names()) >= n_pages / 2:
            half = memory() - before
    whole, revision = time.perf_counter() - begun, desk.listing()["revision"]
    assert len(desk.names()) == n_pages

    def step() -> None:
        desk.corrections.do(desk.correction(first), {"do": "set_headers", "n_rows": next(numbers), "n_cols": 0})

    numbers = iter(number % 3 for number in range(1, 1000))
    polls = milliseconds(lambda: desk.listing(revision)), milliseconds(lambda: desk.listing())
    used = f"{half:.0f} MB at half, {memory() - before:.0f} MB at all"
    print(f"{name}: first table {seconds:.2f} s, all {whole:.1f} s; {used}")
    print(f"  a poll {polls[0]:.1f} ms, of the whole list {polls[1]:.1f} ms, a step {milliseconds(step):.1f} ms")
    for is_quick in (True, False):
        begun = time.perf_counter()
        offer = Offers(desk).offer(first, is_quick=is_quick)
        taken = 1000 * (time.perf_counter() - begun)
        print(f"  an offer to {len(offer['tables'])} alike {taken:.0f} ms{', after a step' if is_quick else ''}")


def main() -> None:
    """Measure, and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pages", nargs="?", type=int, default=2000)
    n_pages = parser.parse_args().pages
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for number in range(n_pages):
            pixels = np.zeros((4, 8, 3), np.uint8)
            pixels[0, :, 0] = [255 * (number >> bit & 1) for bit in range(8)]
            pixels[1, :, 0] = [255 * (number >> bit & 1) for bit in range(8, 16)]
            Image.fromarray(pixels).save(folder / f"p{number:05}.png")
        measure(folder, n_pages, f"{n_pages:,} pages")
        measure(folder, n_pages, "begun again")


if __name__ == "__main__":
    main()
