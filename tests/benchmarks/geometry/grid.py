"""Time from boxes and words to HTML, by stage: ``python -m tests.benchmarks.geometry.grid``.

A table of 40 x 25 = 1,000 cells with three words each, and one of 5,000 cells, also with one word in twenty that the
reader took together with the one behind the border.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np

from postprocess.export.html import table_to_html
from postprocess.geometry.boxes import boxes_to_quads
from postprocess.meaning.headers import mark_headers
from postprocess.text.assignment import words_to_table
from postprocess.word import Word
from tablerec.detect import Detection


def make_table(n_rows: int, n_cols: int, crossing: float = 0.0) -> tuple[Detection, list[Word]]:
    """Cells of 60 x 20 pixels with 2 pixels of jitter, and three words in each, of which some cross a border."""
    random = np.random.default_rng(0)
    row, col = np.divmod(np.arange(n_rows * n_cols), n_cols)
    boxes = np.column_stack([col * 60, row * 20, col * 60 + 60, row * 20 + 20]) + random.uniform(-2, 2, (len(row), 4))
    words = [
        Word(f"{k}.{w}", ((x, y), (x + 15.0, y), (x + 15.0, y + 10.0), (x, y + 10.0)))
        for k, (r, c) in enumerate(zip(row.tolist(), col.tolist(), strict=True))
        for w, (x, y) in enumerate((c * 60.0 + 4 + 18 * i, r * 20.0 + 5) for i in range(3))
    ]
    for index in np.flatnonzero(random.random(len(words)) < crossing).tolist():
        left, top = words[index].quad[0][0] // 60 * 60 + 48, words[index].quad[0][1]
        if left < 60 * n_cols - 60:
            quad = ((left, top), (left + 24, top), (left + 24, top + 10), (left, top + 10))
            words[index] = Word(f"{index} {index}", quad)
    return Detection(boxes_to_quads(boxes), np.ones(len(boxes)), "benchmark"), words


def best_of(call: Callable[[], object], repeats: int = 7) -> float:
    """Least processor time of several calls, in milliseconds: a busy machine does not matter."""
    times = []
    for _ in range(repeats):
        started = time.process_time()
        call()
        times.append(time.process_time() - started)
    return 1000 * min(times)


def main() -> None:
    """Print one line a stage."""
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    for n_rows, n_cols, crossing in ((40, 25, 0.0), (200, 25, 0.0), (200, 25, 0.05)):
        detection, words = make_table(n_rows, n_cols, crossing)
        table = detection.to_candidate().to_table()
        filled, unplaced = words_to_table(table, words)
        headed = mark_headers(filled)
        assert table.shape == (n_rows, n_cols)
        assert not unplaced
        stages = {
            "boxes to grid": lambda detection=detection: detection.to_candidate().to_table(),
            "words to cells": lambda table=table, words=words: words_to_table(table, words),
            "headers": lambda filled=filled: mark_headers(filled),
            "HTML": lambda headed=headed: table_to_html(headed),
        }
        times = {name: best_of(call) for name, call in stages.items()}
        print(f"{len(table)} cells, {len(words)} words, {crossing:.0%} across a border")
        for name, milliseconds in {**times, "together": sum(times.values())}.items():
            print(f"  {name:16s}{milliseconds:8.1f} ms")


if __name__ == "__main__":
    main()
