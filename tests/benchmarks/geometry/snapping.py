"""How far edges of cells are from the truth, before and after snapping:
``python -m tests.benchmarks.geometry.snapping [-n 130]``.

A developer script, not a test. Tables of the recipes that draw lines, found by the network in the package, with true
words; those whose grid is right are compared. By recipe: tables, mean distance in pixels of the edges that moved from
their place before and after, the share of edges that moved, and the milliseconds that it takes.
"""

from __future__ import annotations

import argparse
import time
from collections import defaultdict
from dataclasses import replace

import numpy as np

from postprocess.arrays import Floats
from postprocess.geometry.boxes import array_to_quad, quads_to_array
from postprocess.geometry.rulings import image_to_rulings
from postprocess.grid.snapping import snap_quads
from postprocess.table import Table
from postprocess.word import Word
from tablerec.detect.cellnet import CellNetDetector
from tablerec.detect.factory import WEIGHTS
from tablerec.evaluate.scoring.cells import same_cells
from tablerec.synth import draw, load_recipe

RECIPES = ("ruled", "dashed", "form", "register", "horizontal", "coloured", "dark", "partial", "scan", "photo")
SEED = 8_000_000_009
"""Training uses small ones."""


def middles(table: Table) -> Floats:
    """``(N, 4, 2)`` middle of each edge of each cell, cells by their place in the grid."""
    cells = sorted(table.cells, key=lambda cell: (cell.row, cell.col))
    quads = quads_to_array([cell.quad for cell in cells])
    return (quads + np.roll(quads, -1, axis=1)) / 2


def distances(found: Table, true: Table) -> Floats:
    """``(N, 4)`` distance of each edge from its true place, across the edge: vertical ones move sideways."""
    off = np.abs(middles(found) - middles(true))
    return np.stack([off[:, 0, 1], off[:, 1, 0], off[:, 2, 1], off[:, 3, 0]], axis=1)


def main() -> None:
    """Print a line for each recipe."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-n", "--count", type=int, default=130)
    args = parser.parse_args()
    network = CellNetDetector(WEIGHTS)
    found: dict[str, list[tuple[float, float, float, float]]] = defaultdict(list)
    for index in range(args.count):
        recipe = RECIPES[index % len(RECIPES)]
        sample = draw(load_recipe(recipe), SEED, index, "fast")
        image = np.ascontiguousarray(sample.image[..., ::-1])
        quads = [array_to_quad(quad) for quad in sample.words.quads]
        words = [Word(text, quad) for text, quad in zip(sample.words.texts, quads, strict=True)]
        best = max(network.detect(image, words), key=lambda each: len(each.quads), default=None)
        truths = sample.to_tables()
        if (
            best is None
            or len(truths) != 1
            or not same_cells(table := (candidate := best.to_candidate()).to_table(), truths[0])
        ):
            continue
        rulings = image_to_rulings(image, sample.words.quads)
        started = time.process_time()
        snapped_quads = snap_quads(candidate.quads, rulings)
        seconds = time.process_time() - started
        snapped = replace(candidate, quads=snapped_quads).to_table()
        before, after = distances(table, truths[0]), distances(snapped, truths[0])
        moved = distances(table, snapped) > 1e-6
        if moved.any():
            found[recipe].append((before[moved].mean(), after[moved].mean(), moved.mean(), 1000 * seconds))
    found["all"] = [value for values in found.values() for value in values]
    print(f"{'recipe':12}{'tables':>8}{'before':>9}{'after':>9}{'moved':>9}{'ms':>9}")
    for recipe, values in found.items():
        print(f"{recipe:12}{len(values):8}" + "".join(f"{value:9.2f}" for value in np.mean(values, axis=0)))


if __name__ == "__main__":
    main()
