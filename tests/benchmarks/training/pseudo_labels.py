"""How right proposed labels are: ``python -m tests.benchmarks.training.pseudo_labels SOURCE... [-n 60]``.

A developer script, not a test. SOURCE is what ``tablerec train`` reads, with known cells: ``synth:mixed``,
``folder:out/kernel_docs``. The words of drawn tables are known to the pipeline, those of others are read. Prints for
each least confidence how many pictures ``tablerec labels propose`` keeps, the F1 of their cells at an IoU of 0.8 pooled
over all cells, and how many of them have every cell right; ``any`` leaves out the other reasons too.

Of 100 pictures of ``synth:mixed``: any 100 kept, F1 0.885, 45 % all right; from 0.5 on 39 kept,
0.979, 72 %; from 0.7 on 21, 0.981, 81 %; from 0.8 on, the default, 13, 0.988, 92 % (2026-11-28).
Of 40 real tables of ``kernel_docs``, read by RapidOCR: any 0.854, 40 %; 0.7 11 kept, 0.979, 82 %; 0.8 8, 1.000, all.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np

from postprocess.geometry.boxes import quads_to_boxes
from postprocess.word import Word
from tablerec.config import Settings
from tablerec.evaluate.scoring.cells import detection_f1
from tablerec.labels.propose import page_to_label, why_not
from tablerec.pipeline import Recognizer
from tablerec.training.data.sources import load_source

LEAST = (0.0, 0.5, 0.6, 0.7, 0.8, 0.9)
IOU = 0.8


def rate(recognizer: Recognizer, sample: Any) -> list[float]:
    """Return F1, cells found and known, and whether the sample is kept: always, and from each least confidence on."""
    words = None
    if hasattr(sample, "words"):
        words = [*map(Word, sample.words.texts, np.asarray(sample.words.quads, float))]
    (page,) = recognizer.recognize(np.ascontiguousarray(sample.image[:, :, ::-1]), words).pages
    known = np.asarray(sample.cells.quads if hasattr(sample, "cells") else sample.quads, float)
    found = page_to_label(page, Path("picture")).quads
    f1 = detection_f1(quads_to_boxes(found), quads_to_boxes(known), IOU)
    return [f1, len(found) + len(known), True, *(not why_not(page, least) for least in LEAST)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sources", nargs="+")
    parser.add_argument("-n", "--count", type=int, default=60)
    args = parser.parse_args()
    recognizer = Recognizer(Settings())
    for source in args.sources:
        draw = load_source(source)
        rows = np.array([rate(recognizer, draw(10_000_000 + index)) for index in range(args.count)], float)
        print(source)
        for place, least in enumerate(["any", *LEAST], start=2):
            kept = rows[rows[:, place] == 1]
            if len(kept):
                f1, exact = (kept[:, 0] @ kept[:, 1]) / kept[:, 1].sum(), (kept[:, 0] == 1).mean()
                print(
                    f"  {least!s:5} kept {len(kept):4d} of {len(rows)}  F1 {f1:.3f}  all right {exact:.2f}", flush=True
                )


if __name__ == "__main__":
    main()
