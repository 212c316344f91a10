"""How well words reach their cells when the cells are known:
``python -m tests.benchmarks.text.words GT_DIR --words DIR``.

A developer script, not a test. ``GT_DIR`` holds labelled tables with texts as ``tablerec eval`` reads them, ``--words``
the OCR engine's words that ``tablerec eval --words`` kept. The words are written into the true cells, so whatever is
wrong is a matter of placement or of reading; ``--predictions`` takes the folder of an evaluation instead and writes
them again into the cells found there, without detecting anything; cells are compared where the grid is exact.

By source: tables, cells with text, share of the cells whose text is exact (blanks aside, order included), the share
whose text is exact but for its order, the share that lost or gained characters which a cell beside it gained or lost,
that with characters no cell has, and TEDS. ``--list`` prints the cells that are a matter of placement.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

from postprocess.cell import Cell
from postprocess.table import Table
from postprocess.text.assignment import words_to_table
from postprocess.word import Word
from tablerec.config import Settings
from tablerec.evaluate.files import read_prediction, read_words
from tablerec.evaluate.scores import mean_of
from tablerec.evaluate.scoring.cells import same_cells
from tablerec.evaluate.scoring.teds import teds
from tablerec.evaluate.truth import Truth, find_truths, normalize
from tablerec.fields import read_json

KINDS = ("exact", "order", "moved", "unplaced", "read")


def kinds_of_misses(truth: Table, filled: Table, lost: Counter[str]) -> Iterator[tuple[str, Cell, Cell]]:
    """For each cell that has a text in truth or reading: the kind of miss, the true and the filled cell."""
    found = {(cell.row, cell.col): cell for cell in filled.cells}
    pairs = [(cell, found[cell.row, cell.col]) for cell in truth.cells]
    counts = {(a.row, a.col): (Counter(normalize(a.text)), Counter(normalize(b.text))) for a, b in pairs}
    for true, cell in pairs:
        if not normalize(true.text + cell.text):
            continue
        wanted, got = counts[true.row, true.col]
        missing, extra = wanted - got, got - wanted
        if normalize(true.text) == normalize(cell.text):
            yield "exact", true, cell
        elif wanted == got:
            yield "order", true, cell
        elif any(
            missing & (b - a) or extra & (a - b)
            for place, (a, b) in counts.items()
            if place != (true.row, true.col) and _are_near(true, found[place])
        ):
            yield "moved", true, cell
        else:
            yield "unplaced" if missing & lost else "read", true, cell


def _are_near(a: Cell, b: Cell) -> bool:
    return max(a.row, b.row) <= min(a.end_row, b.end_row) and max(a.col, b.col) <= min(a.end_col, b.end_col)


def fill(truth: Truth, words: list[Word], predictions: Path | None) -> tuple[Table, list[Word]] | None:
    """The true cells, or the found ones, with the words in them; None where there is no table."""
    table = truth.table
    if predictions:
        path = predictions / f"{truth.id}.json"
        prediction = read_prediction(path, read_json(path)["made_with"])
        table = prediction.table if prediction else None
    if not isinstance(table, Table):
        return None
    filled, unplaced = words_to_table(table, words)
    return filled, [item.word for item in unplaced]


def main() -> None:
    """Print one line a source."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("gt_dir", type=Path)
    parser.add_argument("--words", type=Path, required=True, help="folder with the OCR engine's words")
    parser.add_argument("--predictions", type=Path, help="folder with the predictions of an evaluation")
    parser.add_argument("--list", action="store_true", help="print the cells that are a matter of placement")
    args = parser.parse_args()
    least = Settings().min_ocr_score
    misses: dict[str, Counter[str]] = defaultdict(Counter)
    scores: dict[str, list[float | None]] = defaultdict(list)
    seconds = 0.0
    for truth in find_truths(args.gt_dir):
        words = read_words(args.words / f"{truth.id}.json")
        if not truth.has_text or truth.flawed or words is None:
            continue
        started = time.process_time()
        made = fill(truth, [word for word in words if word.score >= least], args.predictions)
        seconds += time.process_time() - started
        if made is None:
            continue
        filled, lost = made
        scores[truth.source].append(teds(filled, truth.table))
        if not same_cells(filled, truth.table):
            continue
        for kind, true, cell in kinds_of_misses(truth.table, filled, Counter("".join(word.text for word in lost))):
            misses[truth.source][kind] += 1
            if args.list and kind in ("order", "moved", "unplaced"):
                print(f"{truth.id} ({true.row}, {true.col}) {kind:8} {true.text!r} | {cell.text!r}")
        if args.list and lost:
            print(f"{truth.id} in no cell: {[word.text for word in lost]}")
    print(f"{'source':18}{'tables':>7}{'cells':>7}" + "".join(f"{kind:>10}" for kind in KINDS) + f"{'TEDS':>8}")
    misses["all"] = sum(misses.values(), Counter())
    for source, values in [*scores.items(), ("all", [value for each in scores.values() for value in each])]:
        n_cells = sum(misses[source].values())
        shares = "".join(f"{misses[source][kind] / max(n_cells, 1):10.4f}" for kind in KINDS)
        print(f"{source:18}{len(values):7}{n_cells:7}{shares}{mean_of(values) or 0:8.4f}")
    print(f"{seconds:.1f} s")


if __name__ == "__main__":
    main()
