"""Tables from the true boxes of a benchmark: ``python -m tests.benchmarks.geometry.boxes BENCH_FOLDER [--misses]``.

No detector and no OCR engine: what is lost here is lost by the geometry. Boxes of cells and bands go through
``quads_to_grid`` as they are and with 3 pixels of Gaussian noise, and count where every span is right.
"""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from pathlib import Path

import numpy as np

from postprocess.arrays import Floats
from postprocess.cell import Cell
from postprocess.geometry.boxes import array_to_quad, boxes_to_quads, quads_to_array, quads_to_boxes
from postprocess.grid.build import quads_to_grid
from postprocess.grid.layout import grid_to_layout
from postprocess.table import Table
from tablerec.evaluate.scoring.cells import same_cells
from tablerec.evaluate.truth import Truth, find_truths

NOISE = 3.0
"""Standard deviation of each edge, pixels."""
SEEDS = range(10)


def grid_table(quads: Floats) -> Table:
    """The table that quads form, without texts."""
    grid = quads_to_grid(quads)
    cells = [
        Cell(row, col, end_row - row, end_col - col, quad=array_to_quad(quads[index]))
        for index, (row, col, end_row, end_col) in zip(grid.kept, grid.spans.tolist(), strict=True)
    ]
    return Table([*cells, *grid.empty_cells()], grid_to_layout(grid).outline)


def true_quads(truth: Truth) -> Floats:
    """``(N, 4, 2)`` boxes that the truth knows."""
    return quads_to_array([cell.quad for cell in truth.table.cells if cell.quad])


def noisy_quads(truth: Truth, seed: int) -> Floats:
    """True boxes with noise; a box keeps the order of its ends."""
    boxes = quads_to_boxes(true_quads(truth))
    moved = boxes + np.random.default_rng(seed).normal(0, NOISE, boxes.shape)
    ends = np.sort(moved.reshape(-1, 2, 2), axis=1)
    return boxes_to_quads(ends.reshape(-1, 4))


def main() -> None:
    """Print one line a source."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--misses", action="store_true", help="name the tables that are not exact")
    arguments = parser.parse_args()
    exact, noisy = defaultdict(list), defaultdict(list)
    for truth in find_truths(arguments.folder):
        kind = json.loads(truth.image.with_name(f"{truth.id}.json").read_text(encoding="utf-8"))["meta"]["bbox_kind"]
        if kind != "text":
            exact[truth.source].append(same_cells(grid_table(true_quads(truth)), truth.table))
            noisy[truth.source].append([same_cells(grid_table(noisy_quads(truth, s)), truth.table) for s in SEEDS])
            scores = [exact[truth.source][-1], *noisy[truth.source][-1]]
            if arguments.misses and not all(scores):
                print(f"{truth.id:60s}", *(f"{score:.2f}" for score in scores))
    for title, scores in (("true boxes", exact), (f"{NOISE:g} px of noise", noisy)):
        everything = [value for values in scores.values() for value in values]
        by_source = ", ".join(f"{source} {np.mean(values):.3f} of {len(values)}" for source, values in scores.items())
        print(f"{title:22s} {np.mean(everything):.3f}  ({by_source})")


if __name__ == "__main__":
    main()
