"""Fit the weights of ``postprocess.candidates.row_borders``:
``python -m tests.benchmarks.candidates.fit_row_borders DIR.. --weights MODEL``.

A developer script, not a test. ``DIR`` holds pictures with the truth beside them, as ``tablerec synth --format bench``
writes them or as ``../shared/train`` holds them; ``MODEL`` is a network that was not trained on them. Words come from
the truth where it has them, else from the OCR engine; ``--words`` keeps the OCR engine's.

In the grid that ``auto`` takes for each table, each place between two lines of text is a new row in truth or not; where
cells over several rows leave it open, it does not count. Pages are split in five to test the weights on others.
``times``, ``rest``, ``flows`` and ``within`` are set by hand, as these pages are no receipts, few values of theirs are
broken and few pages are records; ``usual`` is made of the others, with the weights of before.

Printed on 2026-11-28 for ``../shared/train`` and 149 drawn tables (18 each of journal, textbook, census, lineless,
horizontal, prospectus, register and typeset, 5 of statistical, seed 777123), with a network that was trained on drawn
tables alone for the first and that of the package for the second::

    6395 places
    weights of the package wrong before 179, joined 12, rightly 11, parted 32, rightly 27
    fitted, other pages  wrong before 179, joined 12, rightly 11, parted 29, rightly 24
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import shapely
from numpy.typing import NDArray

from postprocess.arrays import Floats, Ints
from postprocess.candidates.candidate import Candidate
from postprocess.candidates.choice import Tables, best_tables, group_by_place, rows_of_words
from postprocess.candidates.row_borders import _BIAS, _SURE, _WEIGHTS, BorderEvidence, gather_evidence
from postprocess.candidates.scene import image_to_scene
from postprocess.candidates.text_lines import layout_to_lines
from postprocess.geometry.boxes import as_quads, boxes_to_quads, quads_to_polygons
from postprocess.word import Word
from tablerec.config import Settings
from tablerec.detect.cellnet import CellNetDetector
from tablerec.detect.combined import detect_candidates
from tablerec.detect.geometric import GeometricDetector
from tablerec.evaluate.truth import Truth, find_truths
from tablerec.inputs.images import load_pages
from tablerec.ocr import make_ocr_engine
from tests.benchmarks.candidates.fit_explanation import words_of as read_words_of
from tests.benchmarks.fitting import FOLDS, fit_binary, spread_over_folds, to_array, to_source

SHRINK = 1.0
"""Half of it times the squared weights is added to the loss, which is a sum over the places."""
SPANNING = -2


def words_of(truth: Truth, image: NDArray[np.uint8], reader: Any, kept: Path | None) -> list[Word]:
    """The truth's words, those that are kept, or the OCR engine's."""
    known = json.loads(truth.image.with_suffix(".json").read_text(encoding="utf-8")).get("words")
    if known:
        return [Word(each["text"], each["quad"]) for each in known]
    return read_words_of(truth, image, reader, kept)


def true_rows(truth: Truth, words: list[Word]) -> Ints:
    """``(W,)`` row of the cell that each word lies in: -1 without one, SPANNING for one over several rows."""
    content = json.loads(truth.image.with_suffix(".json").read_text(encoding="utf-8"))["cells"]
    cells = [cell for cell in content if cell.get("bbox")]
    rows = np.full(len(words), -1)
    middles = shapely.points(as_quads([word.quad for word in words]).mean(axis=1))
    tree = shapely.STRtree(quads_to_polygons(boxes_to_quads([cell["bbox"] for cell in cells])))
    for word, at in zip(*tree.query(middles, "intersects"), strict=True):
        rows[word] = cells[at]["row"] if cells[at].get("rowspan", 1) == 1 else SPANNING
    return rows


def places_of(
    rows: dict[int, int], chosen: Candidate, place: Sequence[Tables]
) -> tuple[Floats, Floats, NDArray[np.bool_]]:
    """For each place its evidence, 1 or 0 for a new row in truth, NaN where it is open, and what the grid has."""
    scene = chosen.scene
    assert scene is not None
    own = scene.words
    lines = layout_to_lines(chosen.layout, own)
    evidence = to_array(gather_evidence(lines, chosen.layout, scene, rows_of_words(place, scene)))
    truth, found = [], []
    for above, below in pairwise(lines):
        upper, lower = ({rows[id(own[i])] for i in each.words} - {-1, SPANNING} for each in (above, below))
        parted = bool(upper and lower) and max(upper) < min(lower)
        truth.append(1.0 if parted else 0.0 if upper == lower and len(upper) == 1 else np.nan)
        found.append(above.row < below.row)
    return evidence.reshape(len(truth), -1), np.array(truth), np.array(found, bool)


def report(label: str, odds: Floats, truth: Floats, found: NDArray[np.bool_]) -> None:
    """Print how many places would be changed, and how many of these rightly."""
    joined, parted = found & (odds < -_SURE), ~found & (odds > _SURE)
    print(
        f"{label:20} wrong before {int((found != truth).sum())}, "
        f"joined {joined.sum()}, rightly {int((truth[joined] == 0).sum())}, "
        f"parted {parted.sum()}, rightly {int((truth[parted] == 1).sum())}"
    )


def main() -> None:
    """Gather the places, fit, and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", type=Path, nargs="+")
    parser.add_argument("--weights", type=Path, required=True, help="folder of an exported CellNet")
    parser.add_argument("--words", type=Path, help="folder that keeps the OCR engine's words")
    args = parser.parse_args()
    settings = Settings(layout="table")
    reader, network = make_ocr_engine(settings), CellNetDetector(args.weights, layout="table")
    geometric = GeometricDetector("auto", "table")
    truths = [truth for folder in args.folders for truth in find_truths(folder) if not truth.flawed]
    gathered = []
    for number, truth in enumerate(truths, start=1):
        image = next(iter(load_pages(truth.image, settings))).image
        words = words_of(truth, image, reader, args.words)
        picture = image_to_scene(image, words)
        rows = {id(word): int(row) for word, row in zip(words, true_rows(truth, words), strict=True)}
        page = f"{truth.image.parent} {re.sub(r'_t[0-9]+$', '', truth.id)}"
        by_detector = [geometric.detect_in(picture), *detect_candidates(network, image, picture)]
        for place in group_by_place(by_detector):
            _, best = best_tables(place, picture)
            gathered += [(page, *places_of(rows, each, place)) for each in best if not each.is_enclosed]
        print(f"\r{number} of {len(truths)}", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    gathered = [each for each in gathered if len(each[2])]
    pages = [page for page, _, truth, _ in gathered for _ in truth]
    fold = spread_over_folds(pages)
    evidence, truth, found = (np.concatenate([each[i] for each in gathered]) for i in (1, 2, 3))
    clear = ~np.isnan(truth)
    evidence, truth, found, fold = evidence[clear], truth[clear], found[clear], fold[clear]
    others = np.zeros(len(truth))
    for number in range(FOLDS):
        bias, weights = fit_binary(evidence[fold != number], truth[fold != number], SHRINK)
        others[fold == number] = bias + evidence[fold == number] @ weights
    print(f"{len(truth)} places of {len(set(pages))} pages")
    report("weights of the package", _BIAS + evidence @ to_array([_WEIGHTS])[0], truth, found)
    report("fitted, other pages", others, truth, found)
    bias, weights = fit_binary(evidence, truth, SHRINK)
    print(f"_BIAS = {bias:.2f}")
    print(to_source("_WEIGHTS", BorderEvidence(*weights)))


if __name__ == "__main__":
    main()
