"""How many tables in tables are found: ``python -m tests.benchmarks.geometry.nested [-n 100] [--layout page]``.

A developer script, not a test. Random tables hold one to four others, of 2 x 2 to 5 x 4 cells, 6 to 24 pixels within
their cells, a fifth of them at its left border, beside or below text; lines of 1 to 3 pixels, letters of 12 to 22, some
turned by up to 2 degrees and some with noise. Names those of which any cell differs, and prints how many are right.
"""

from __future__ import annotations

import argparse
import random
from dataclasses import replace

import cv2
import numpy as np

from tablerec import Recognizer, Settings
from tests.helpers.drawing import Drawing, Filling, Look, draw_nested, texts_of, turn

_WORDS = "alpha beta 12 3.5 total north 7 item code 2031 red blue 0.45 unit sum kg max day".split()  # noqa: SIM905
_TEXTS = [(), (), ("Some text here:",), ("Two lines of", "text")]


def make(seed: int) -> Drawing:
    """Draw a table with others in its cells."""
    rng = random.Random(seed)

    def rows(n_rows: int, n_cols: int) -> list[list[str]]:
        return [[rng.choice(_WORDS) for _ in range(n_cols)] for _ in range(n_rows)]

    def filling() -> Filling:
        flush = rng.random() < 0.2
        tables = [rows(rng.randint(2, 5), rng.randint(2, 4)) for _ in range(rng.choice([1, 1, 1, 2]))]
        beside = not flush and rng.random() < 0.3
        return Filling(tables, rng.choice(_TEXTS), beside, rng.choice([6, 8, 12, 16, 24]), flush)

    outer = rows(rng.randint(2, 4), rng.randint(2, 3))
    fillings = {}
    for _ in range(rng.choice([1, 1, 2])):
        row, col = rng.randrange(len(outer)), rng.randrange(len(outer[0]))
        outer[row][col] = ""
        fillings[row, col] = filling()
    line = rng.choice([(0, 0, 0), (0, 0, 0), (120, 120, 120)])
    look = Look(size=rng.choice([12, 14, 18, 22]), thickness=rng.choice([1, 1, 2, 3]), line=line)
    drawing = draw_nested(outer, fillings, look)
    if rng.random() < 0.2:
        drawing = turn(drawing, rng.uniform(-2, 2))
    if rng.random() < 0.3:
        noise = np.random.default_rng(seed).normal(0, 6, drawing.image.shape)
        noisy = cv2.GaussianBlur(drawing.image, (3, 3), 0.6) + noise
        drawing = replace(drawing, image=noisy.clip(0, 255).astype(np.uint8))
    return drawing


def main() -> None:
    """Print what is not right, and the count."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-n", "--count", type=int, default=100)
    parser.add_argument("--layout", choices=["page", "table"], default="page")
    args = parser.parse_args()
    recognizer, wrong = Recognizer(Settings(layout=args.layout, ocr="none")), []
    for seed in range(args.count):
        drawing = make(seed)
        [page] = recognizer.recognize(drawing.image, drawing.words).pages
        if [texts_of(table) for table in page.tables] != [texts_of(drawing.table)]:
            wrong.append(seed)
    print(f"not right: {wrong}")
    print(f"{args.count - len(wrong)} of {args.count} with all cells right")


if __name__ == "__main__":
    main()
