"""Time and memory of the largest pages: ``python -m tests.benchmarks.hostile.large [CASE...] [--megapixels N]``.

A developer script, not a test. Pictures of as many pixels as the settings allow (blank, a dense ruled table, noise as
of a photo, letters of every size) and pages of many words (a regular grid, the same with rulings, all in one place, at
random places) are read, each in a process of its own. A line for each: seconds, those of all processors, peak memory
of the process, tables, and how many words are in none. ``--ocr rapidocr`` reads the pictures in place of taking the
words as given.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from postprocess.geometry.boxes import array_to_quad, boxes_to_quads
from postprocess.word import Word
from tablerec import Recognizer, Settings

Image = NDArray[np.uint8]
Page = tuple[Image, list[Word]]

N_WORDS = 20_000


def blank(side: int) -> Page:
    return np.full((side, side, 3), 255, np.uint8), []


def dense(side: int) -> Page:
    """A table of rows 60 pixels high, each with as many numbers as there is room for, all rulings drawn."""
    image, _ = blank(side)
    image[::60], image[:, ::250] = 0, 0
    boxes = [(x + 30, y + 15, x + 200, y + 45) for y in range(0, side - 60, 60) for x in range(0, side - 250, 250)]
    return image, _written(image, boxes)


def sparse(side: int) -> Page:
    """A table of some rows and columns with large letters, as on a sign."""
    image, _ = blank(side)
    step = side // 8
    image[::step], image[:, ::step] = 0, 0
    boxes = [
        (x + step // 5, y + step // 4, x + 4 * step // 5, y + 3 * step // 4)
        for y in range(0, side - step, step)
        for x in range(0, side - step, step)
    ]
    return image, _written(image, boxes)


def noise(side: int) -> Page:
    return np.random.default_rng(0).integers(0, 256, (side, side, 3), np.uint8), []


def strip(side: int) -> Page:
    return np.full((side * side // 500, 500, 3), 255, np.uint8), []


def photo(side: int) -> Page:
    """Coarse noise, blurred as by a lens: edges of all directions."""
    import cv2

    coarse = np.random.default_rng(0).integers(0, 256, (side // 8, side // 8, 3), np.uint8)
    return np.asarray(cv2.resize(coarse, (side, side), interpolation=cv2.INTER_CUBIC), np.uint8), []


def grid(side: int) -> Page:
    columns = 100
    places = [(40 * (k % columns), 16 * (k // columns)) for k in range(N_WORDS)]
    image = np.full((16 * N_WORDS // columns + 20, 40 * columns + 20, 3), 255, np.uint8)
    return image, _written(image, [(x + 5, y + 5, x + 30, y + 15) for x, y in places])


def ruled(side: int) -> Page:
    image, words = grid(side)
    image[2::16], image[:, 1::40] = 0, 0
    return image, words


def one_place(side: int) -> Page:
    image = np.full((1000, 1000, 3), 255, np.uint8)
    return image, _written(image, [(400, 400, 460, 420)] * N_WORDS)


def anywhere(side: int) -> Page:
    image = np.full((4000, 4000, 3), 255, np.uint8)
    corners = np.random.default_rng(0).uniform(0, 3900, (N_WORDS, 2))
    return image, _written(image, [(x, y, x + 60, y + 20) for x, y in corners.tolist()])


def scattered(side: int) -> Page:
    """Small words at random places of a large sheet: hardly two share a column."""
    image = np.full((7000, 7000, 3), 255, np.uint8)
    corners = np.random.default_rng(0).uniform(0, 6900, (N_WORDS, 2))
    return image, _written(image, [(x, y, x + 9, y + 7) for x, y in corners.tolist()])


def one_line(side: int) -> Page:
    image = np.full((50, 10000, 3), 255, np.uint8)
    return image, _written(image, [(k / 2, 10, k / 2 + 5, 30) for k in range(N_WORDS - 100)])


def one_row(side: int) -> Page:
    """As many columns as words."""
    image = np.full((20, 5 * N_WORDS, 3), 255, np.uint8)
    return image, _written(image, [(5 * k, 8, 5 * k + 2, 10) for k in range(N_WORDS)])


def millimetres(side: int) -> Page:
    """A sheet of millimetre paper, A4 at 300 dots per inch."""
    image = np.full((3508, 2480, 3), 255, np.uint8)
    image[::12], image[:, ::12] = 120, 120
    return image, []


def mesh(side: int) -> Page:
    """The same over the whole of the largest picture."""
    image, _ = blank(side)
    image[::12], image[:, ::12] = 120, 120
    return image, []


def one_column(side: int) -> Page:
    image = np.full((N_WORDS, 200, 3), 255, np.uint8)
    return image, _written(image, [(20, k, 120, k + 10) for k in range(N_WORDS - 10)])


CASES: dict[str, Callable[[int], Page]] = {
    make.__name__: make
    for make in (
        blank,
        dense,
        sparse,
        noise,
        photo,
        strip,
        grid,
        ruled,
        one_place,
        anywhere,
        scattered,
        one_line,
        one_row,
        one_column,
        millimetres,
        mesh,
    )
}


def _written(image: Image, boxes: list[tuple[float, float, float, float]]) -> list[Word]:
    """Words with a stroke of ink each, so that they are seen."""
    for x0, y0, x1, y1 in boxes:
        image[int(y0) + 2 : int(y1) - 2, int(x0) + 2 : int(x1) - 2 : 7] = 0
    quads = boxes_to_quads(boxes)
    return [Word(str(number), array_to_quad(quad)) for number, quad in enumerate(quads)]


def measure(case: str, side: int, ocr: str, detector: str, layout: Any) -> dict[str, float | str]:
    """Read one page in this process; memory is counted without that of the page itself."""
    image, words = CASES[case](side)
    recognizer = Recognizer(Settings(ocr=ocr, detector=detector, layout=layout, max_megapixels=1e9))
    recognizer.recognize(np.full((64, 64, 3), 255, np.uint8))
    started, worked = time.perf_counter(), time.process_time()
    [page] = recognizer.recognize(image, None if ocr != "none" else words).pages
    seconds, cpu = time.perf_counter() - started, time.process_time() - worked
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    stages = ", ".join(f"{name} {took:.1f}" for name, took in page.seconds.items() if took >= 0.5)
    return {"seconds": seconds, "cpu": cpu, "memory": memory, "tables": len(page.tables),
            "unplaced": len(page.unplaced), "words": len(page.words), "stages": stages}  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", nargs="*", metavar="CASE", help=f"of {', '.join(CASES)}; by default all")
    parser.add_argument("--megapixels", type=float, default=100.0, help="size of the pictures")
    parser.add_argument("--ocr", default="none", help="none: words are given")
    parser.add_argument("--detector", default="auto")
    parser.add_argument("--layout", default="page", choices=["page", "table"])
    parser.add_argument("--seconds", type=float, default=300, help="limit of each")
    parser.add_argument("--here", action="store_true", help="in this process, as JSON")
    options = parser.parse_args()
    side = int((options.megapixels * 1e6) ** 0.5)
    if options.here:
        print(json.dumps(measure(options.cases[0], side, options.ocr, options.detector, options.layout)))
        return
    for case in options.cases or CASES:
        rest = ["--megapixels", str(options.megapixels), "--ocr", options.ocr, "--detector", options.detector]
        rest += ["--layout", options.layout]
        command = [sys.executable, "-m", "tests.benchmarks.hostile.large", case, "--here", *rest]
        try:
            ended = subprocess.run(command, capture_output=True, text=True, timeout=options.seconds, env=os.environ)
        except subprocess.TimeoutExpired:
            print(f"{case:12} more than {options.seconds:.0f} s", flush=True)
            continue
        if ended.returncode:
            print(f"{case:12} ended with {ended.returncode}: {ended.stderr.strip().splitlines()[-1:]}", flush=True)
            continue
        found = json.loads(ended.stdout.splitlines()[-1])
        took = f"{found['seconds']:6.1f} s ({found['cpu']:.1f} s of processors)  {found['memory']:5.2f} GiB"
        rest = f"{found['tables']} tables, {found['unplaced']} of {found['words']} words in none  ({found['stages']})"
        print(f"{case:12} {took}  {rest}", flush=True)


if __name__ == "__main__":
    main()
