"""The weights of ``postprocess.candidates.explanation``:
``python -m tests.benchmarks.candidates.fit_explanation TRAIN_DIR --weights DIR [--words DIR]``.

A developer script, not a test. ``TRAIN_DIR`` holds labelled tables as ``tablerec eval`` reads them, for instance the
optional folder ``../shared/train`` beside the checkout, ``--weights`` an exported CellNet. ``--words`` keeps the
reader's words, by far the most work: a stopped run goes on there.

Each table's grids of the geometry and of the network at two scales are compared in pairs; pages are split in five to
test the weights on pages that the fit did not see. Wholly drawn cells, which the detector never doubts,
count like others.

Printed on 2026-11-28 for ``../shared/train`` (400 tables of 274 pages) and the network that was trained on drawn
tables alone, which has not seen them, in 3 minutes on one core (GriTS, share of exact tables). The truth there never
gives the head of a stub the rows of all heads, as ``postprocess.candidates.heads`` does: that costs 0.01::

    geometric first          0.9174  0.410
    network first            0.9450  0.500
    other scale first        0.9469  0.520
    fitted, other pages      0.9534  0.565
    fitted, rounded          0.9542  0.568   0.09 0.00 0.02 0.00 0.35 0.09 0.11 0.19 0.15   the package's
    best possible            0.9642  0.642
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import astuple, dataclass
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from postprocess.arrays import Floats
from postprocess.candidates.choice import explain_tables
from postprocess.candidates.explanation import _WEIGHTS, Explanation
from postprocess.candidates.scene import image_to_scene
from postprocess.word import Word
from tablerec.config import Settings
from tablerec.detect.cellnet import CellNetDetector
from tablerec.detect.combined import detect_candidates
from tablerec.detect.geometric import GeometricDetector
from tablerec.evaluate.files import read_words, write_words
from tablerec.evaluate.scoring.cells import same_cells
from tablerec.evaluate.scoring.grits import grits_top
from tablerec.evaluate.truth import Truth, find_truths
from tablerec.inputs.images import load_pages
from tablerec.ocr import make_ocr_engine
from tests.benchmarks.fitting import FOLDS, fit_choices, spread_over_folds, to_array, to_source

NAMES = ("geometric", "network", "other scale")
SHRINK = 1e-4
"""Half of it times the squared weights is added to the loss."""
EXACT = 0.05
"""What an exact table is worth, in GriTS."""
LEAST, MOST = 0.003, 0.2
"""Pairs that differ by less do not count, those that differ by more count no more."""


@dataclass(frozen=True)
class Graded:
    """A grid of one detector: its shares, its GriTS and whether it is exact."""

    name: str
    shares: Floats
    grits: float
    exact: bool


@dataclass(frozen=True)
class Choices:
    """The candidates of one table and the page that it is from."""

    page: str
    candidates: list[Graded]


def words_of(truth: Truth, image: NDArray[np.uint8], reader: Any, kept: Path | None) -> list[Word]:
    """The words that are sure enough, as the pipeline takes them."""
    path = kept / f"{truth.id}.json" if kept else None
    words = read_words(path) if path else None
    if words is None:
        words = tuple(reader.read(image))
        if path:
            write_words(path, words)
    return [word for word in words if word.score >= Settings().min_ocr_score]


def candidates_of(
    truth: Truth, image: NDArray[np.uint8], words: list[Word], network: CellNetDetector, geometric: GeometricDetector
) -> list[Graded]:
    """The grids that ``CombinedDetector`` compares, of the largest table of each detector, and their shares."""
    picture = image_to_scene(image, words)
    by_detector = [geometric.detect_in(picture), *detect_candidates(network, image, picture)]
    found = {
        name: max(tables, key=lambda each: each.is_detected.sum())
        for name, tables in zip(NAMES, by_detector, strict=True)
        if tables
    }
    if not found:
        return []
    made = []
    for name, [candidate] in zip(found, explain_tables([[each] for each in found.values()], picture), strict=True):
        table = candidate.to_table()
        shares = to_array([candidate.explanation])[0]
        made.append(Graded(name, shares, grits_top(table, truth.table) or 0.0, same_cells(table, truth.table)))
    return made


def fit(tables: Sequence[Choices]) -> Floats:
    """Weights from 0, sum 1, with which the better grid of each pair is the more probable one."""
    choices, gains = [], []
    for a, b in (pair for table in tables for pair in combinations(table.candidates, 2)):
        gain = a.grits - b.grits + EXACT * (a.exact - b.exact)
        if abs(gain) >= LEAST:
            choices.append((np.stack([a.shares, b.shares]), int(gain < 0)))
            gains.append(min(abs(gain), MOST))
    if not choices:
        sys.exit("no two grids of a table differ: give more tables")
    weights = fit_choices(choices, SHRINK, counts=np.array(gains) / sum(gains), nonnegative=True)
    return np.asarray(weights / max(weights.sum(), 1e-9), np.float64)


def to_hundredths(weights: Floats) -> Floats:
    """Round to two digits so that the sum stays 1."""
    down = np.floor(weights * 100)
    down[np.argsort(down - weights * 100)[: round(100 - down.sum())]] += 1
    return np.asarray(down / 100, np.float64)


def report(label: str, tables: Sequence[Choices], value: Callable[[Choices, Graded], float]) -> None:
    """Print the mean GriTS and share of exact tables of the candidates with the highest value; none counts as 0."""
    chosen = [max(each.candidates, key=partial(value, each)) for each in tables if each.candidates]
    grits, exact = sum(each.grits for each in chosen) / len(tables), sum(each.exact for each in chosen) / len(tables)
    counts = ", ".join(f"{sum(each.name == name for each in chosen)} {name}" for name in NAMES)
    print(f"{label:24} GriTS {grits:.4f}  exact {exact:.3f}  ({counts})")


def main() -> None:
    """Make the candidates, fit, and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("train_dir", type=Path)
    parser.add_argument("--weights", type=Path, required=True, help="folder of an exported CellNet")
    parser.add_argument("--words", type=Path, help="folder that keeps the OCR engine's words")
    args = parser.parse_args()
    settings = Settings(layout="table")
    reader, network = make_ocr_engine(settings), CellNetDetector(args.weights, layout="table")
    geometric = GeometricDetector("auto", "table")
    truths = [truth for truth in find_truths(args.train_dir) if not truth.flawed]
    tables = []
    for number, truth in enumerate(truths, start=1):
        image = next(iter(load_pages(truth.image, settings))).image
        words = words_of(truth, image, reader, args.words)
        page = re.sub(r"_t\d+$", "", truth.id)  # tables of one page differ in the last number
        tables.append(Choices(page, candidates_of(truth, image, words, network, geometric)))
        print(f"\r{number} of {len(truths)}", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    pages = [table.page for table in tables]
    fold = dict(zip(pages, spread_over_folds(pages).tolist(), strict=True))
    by_fold = [fit([table for table in tables if fold[table.page] != number]) for number in range(FOLDS)]
    fitted, package = fit(tables), np.array(astuple(_WEIGHTS))
    rounded = to_hundredths(fitted)
    print(f"{len(tables)} tables of {len(fold)} pages")
    for name in NAMES:
        report(f"{name} first", tables, lambda _, each: each.name == name)  # noqa: B023
    report("weights of the package", tables, lambda _, each: float(each.shares @ package))
    report("fitted, other pages", tables, lambda table, each: float(each.shares @ by_fold[fold[table.page]]))
    report("fitted, same pages", tables, lambda _, each: float(each.shares @ fitted))
    report("fitted, rounded", tables, lambda _, each: float(each.shares @ rounded))
    report("best possible", tables, lambda _, each: each.grits + EXACT * each.exact)
    print(to_source("_WEIGHTS", Explanation(*rounded)))


if __name__ == "__main__":
    main()
