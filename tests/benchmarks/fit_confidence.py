"""The weights of ``postprocess.confidence``: ``fit_confidence.py [TRAIN_DIR...] [--weights DIR] [--test DIR]``.

A developer script, not a test. ``TRAIN_DIR`` holds labelled tables as ``tablerec eval`` reads them, for instance the
optional folder ``../shared/train`` beside the checkout; ``--drawn`` adds so many tables of ``tablerec.synth`` with
their true words, for the kinds that the folder lacks. ``--words`` keeps the reader's words. The package's weights are
fitted and printed, and what they are worth on ``--test``, which the fit does not see: the share of exact tables by
score, and among those above 0.9.

Printed on 2026-11-28 for ``../shared/train`` (400 tables) and 211 drawn ones, with a network that has seen
neither; the scores are of tables from folds that the fit did not see::

    labelled    11 % of the tables above 0.9, 93.2 % of these exact (44 tables)
    drawn       9 % of the tables above 0.9, all of these exact (19 tables)
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from dataclasses import astuple, dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from postprocess.boxes import quads_to_array, quads_to_polygons
from postprocess.confidence import (
    _CELL_WEIGHTS,
    _TABLE_WEIGHTS,
    Evidence,
    cell_evidence,
    gather_evidence,
    to_probability,
)
from postprocess.table import Table
from postprocess.trace import TableTrace
from postprocess.words import Word
from tablerec.config import Settings
from tablerec.errors import TableError
from tablerec.evaluate.files import read_words, write_words
from tablerec.evaluate.metrics import same_cells
from tablerec.evaluate.runner import largest_table
from tablerec.evaluate.truth import find_truths
from tablerec.pipeline import Recognizer
from tablerec.result import PageImage
from tablerec.synth import draw, load_recipe, recipe_names

Floats = NDArray[np.float64]
SEED = 7_000_000_003
"""Of the drawn tables; training uses small ones."""
SHRINK = 0.5
"""Half of it times the squared weights, of evidence in standard deviations, is added to the loss."""
WRONG = 1.15
"""What a wrong table that is called sure costs, in right tables that are doubted; SHRINK and WRONG are those of a
small grid with which most labelled tables of other folds come above 0.9 while 95 % of these are exact."""
STEPS = 4000
FOLDS = 5
BINS = (0.0, 0.2, 0.4, 0.6, 0.7, 0.8, 0.9, 1.0)


@dataclass(frozen=True)
class Finding:
    """A recognized table: what speaks for it and for its cells, and whether they are right."""

    source: str
    trace: TableTrace
    evidence: Floats
    exact: bool
    right: Floats
    """``(N,)`` 1 where a cell has the text of one true cell, and its span; NaN where the truth does not say."""


def labelled(folders: Sequence[Path], kept: Path | None, recognizer: Recognizer) -> Iterator[Finding]:
    """Findings in folders of pictures with their truth."""
    truths = [truth for folder in folders for truth in find_truths(folder) if not truth.flawed]
    for number, truth in enumerate(truths, start=1):
        path = kept / f"{truth.id}.json" if kept else None
        words = read_words(path) if path else None
        page = recognizer.recognize(truth.image, words).pages[0]
        if path and words is None:
            write_words(path, page.words)
        yield from _findings(truth.source, page, truth.table)
        _progress(number, len(truths))


def drawn(count: int, recognizer: Recognizer) -> Iterator[Finding]:
    """Findings in drawn tables of all recipes, with their true words."""
    recipes = [name for name in recipe_names() if name not in ("mixed", "page") and not name.startswith("unseen_")]
    for number in range(count):
        sample = draw(load_recipe(recipes[number % len(recipes)]), SEED, number, "fast")
        quads = sample.words.quads.astype(np.float64).tolist()
        words = [
            Word(text, tuple(map(tuple, quad)))  # type: ignore[arg-type]
            for text, quad in zip(sample.words.texts, quads, strict=True)
        ]
        try:
            tables = sample.to_tables()
        except TableError:
            continue
        if len(tables) == 1:
            picture = PageImage("drawn", 1, np.ascontiguousarray(sample.image[..., ::-1]))
            yield from _findings("drawn", recognizer.recognize(picture, words).pages[0], tables[0])
        _progress(number + 1, count)


def _progress(number: int, count: int) -> None:
    print(f"\r{number} of {count} ", end="", file=sys.stderr, flush=True)


def _findings(source: str, page: Any, truth: Any) -> Iterator[Finding]:
    table = largest_table(page.tables)
    for trace in page.trace.tables:
        if trace.table is table:
            evidence = np.array(astuple(evidence_of(trace)))
            yield Finding(source, trace, evidence, same_cells(table, truth), right_cells(table, truth))


def evidence_of(trace: TableTrace) -> Evidence:
    """The evidence for a table, as the pipeline gathers it."""
    return gather_evidence(
        trace.chosen.table,
        [rival.table for rival in trace.rivals],
        trace.shares,
        n_dropped=len(trace.grid.dropped),
        drawn=trace.chosen.detector == "rulings",
    )


def right_cells(table: Table, truth: Any) -> Floats:
    """``(N,)`` 1 where the boxes of the truth inside a cell are those of one true cell of the same span, else 0.

    NaN where no box lies in it.
    """
    import shapely

    true = [cell for cell in truth.cells if cell.quad is not None]
    right = np.full(len(table), np.nan)
    if not true:
        return right
    cells = [index for index, cell in enumerate(table.cells) if cell.quad is not None]
    shapes = quads_to_polygons(quads_to_array([table.cells[index].quad for index in cells]))
    middles = shapely.points(quads_to_array([cell.quad for cell in true]).mean(axis=1))
    at, inside = shapely.STRtree(shapes).query(middles, "intersects")
    for place in np.unique(inside):
        held = [true[index] for index in at[inside == place]]
        cell = table.cells[cells[int(place)]]
        same = len(held) == 1 and (held[0].rowspan, held[0].colspan) == (cell.rowspan, cell.colspan)
        right[cells[int(place)]] = float(same)
    return right


def fit(evidence: Floats, right: Floats, weight: Floats | None = None) -> Floats:
    """``(K + 1,)`` constant and weights from 0, by logistic regression."""
    mean, deviation = evidence.mean(axis=0), evidence.std(axis=0) + 1e-6
    scaled = (evidence - mean) / deviation
    weight = np.ones(len(right)) if weight is None else weight
    weight = weight / weight.sum()
    theta, bias = np.zeros(evidence.shape[1]), 0.0
    for _ in range(STEPS):
        wrong = weight * (right - to_probability(scaled @ theta + bias))
        theta = np.maximum(theta + 0.5 * (scaled.T @ wrong - SHRINK / len(right) * theta), 0)
        bias += 0.5 * float(wrong.sum())
    theta = theta / deviation
    return np.concatenate([[bias - float(theta @ mean)], theta])


def fit_tables(evidence: Floats, exact: Floats) -> Floats:
    """``fit`` on the safe side."""
    return fit(evidence, exact, np.where(exact > 0, 1.0, WRONG))


def predict_folds(evidence: Floats, exact: Floats) -> Floats:
    """Probabilities of tables that the fit did not see: runs of them are left out in turn, so pages stay together."""
    scores, fold = np.zeros(len(exact)), np.arange(len(exact)) * 4 * FOLDS // max(len(exact), 1) % FOLDS
    for number in range(FOLDS):
        seen = fold != number
        scores[~seen] = predict(fit_tables(evidence[seen], exact[seen]), evidence[~seen])
    return scores


def predict(weights: Floats, evidence: Floats) -> Floats:
    """Probabilities."""
    return to_probability(weights[0] + evidence @ weights[1:])


def report(label: str, scores: Floats, right: Floats) -> None:
    """Print the reliability: by score, the mean score, the share that is right, and the number."""
    high = scores > 0.9
    loss = -np.mean(np.log(np.where(right > 0, scores, 1 - scores).clip(1e-9)))
    print(
        f"{label}: {len(right)}, right {right.mean():.3f}, loss {loss:.3f}; "
        f"above 0.9: {high.mean():.3f}, right of these {right[high].mean() if high.any() else np.nan:.3f}"
    )
    for low, top in pairwise(BINS):
        inside = (scores > low) & (scores <= top)
        if inside.any():
            print(
                f"   {low:.1f} to {top:.1f}: score {scores[inside].mean():.3f}"
                f"  right {right[inside].mean():.3f}  {inside.sum()}"
            )


def cells_of(findings: Sequence[Finding], table_weights: Floats) -> tuple[Floats, Floats, Floats]:
    """Evidence of all cells of which the truth tells, whether they are right, and weights: each table counts one."""
    parts = []
    for each in findings:
        log_odds = float(table_weights[0] + each.evidence @ table_weights[1:])
        rivals = [rival.table for rival in each.trace.rivals]
        known = np.isfinite(each.right)
        evidence = cell_evidence(each.trace.chosen.table, rivals, log_odds)[known]
        parts.append((evidence, each.right[known], np.full(known.sum(), 1 / max(known.sum(), 1))))
    evidence, right, weight = (np.concatenate(part) for part in zip(*parts, strict=True))
    return evidence, right, weight


def report_lines(findings: Sequence[Finding], table_weights: Floats, cell_weights: Floats) -> None:
    """Print the reliability of rows and columns: as sure as the least sure span, right where all spans are."""
    scores, right = [], []
    for each in findings:
        table = each.trace.chosen.table
        log_odds = float(table_weights[0] + each.evidence @ table_weights[1:])
        spans = predict(cell_weights, cell_evidence(table, [rival.table for rival in each.trace.rivals], log_odds))
        sure, good = spans[table.owner], np.where(np.isfinite(each.right), each.right, 1.0)[table.owner]
        for axis in (0, 1):
            scores.append(sure.min(axis=axis))
            right.append(good.min(axis=axis))
    report("rows and columns", np.concatenate(scores), np.concatenate(right))


def to_source(name: str, weights: Floats) -> str:
    """A line of Python for the package."""
    return f"{name} = ({', '.join(f'{weight:.3f}' for weight in weights)})"


def main() -> None:
    """Recognize, fit, and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("train_dir", type=Path, nargs="*", help="none: --test is for the weights of the package")
    parser.add_argument("--words", type=Path, help="folder that keeps the reader's words")
    parser.add_argument("--drawn", type=int, default=216, help="drawn tables to fit on besides")
    parser.add_argument("--test", type=Path, help="folder of labelled tables to report on")
    parser.add_argument("--test-words", type=Path, help="folder that keeps the reader's words of these")
    parser.add_argument("--weights", type=Path, help="CellNet that has not seen TRAIN_DIR, for the fit")
    args = parser.parse_args()
    table_weights, cell_weights = np.array(_TABLE_WEIGHTS), np.array(_CELL_WEIGHTS)
    if args.train_dir:
        table_weights, cell_weights = fit_weights(args)
    if args.test:
        test = list(labelled([args.test], args.test_words, Recognizer(Settings(layout="table", trace=True))))
        print()
        evidence, exact = np.array([each.evidence for each in test]), np.array([float(each.exact) for each in test])
        report("tables, not seen", predict(table_weights, evidence), exact)
        cells, right, _ = cells_of(test, table_weights)
        report("spans of cells", predict(cell_weights, cells), right)
        report_lines(test, table_weights, cell_weights)


def fit_weights(args: argparse.Namespace) -> tuple[Floats, Floats]:
    """Weights for tables and cells, printed with what they are worth on folds that the fit did not see."""
    recognizer = Recognizer(Settings(detector_dir=args.weights, layout="table", trace=True))
    real = list(labelled(args.train_dir, args.words, recognizer))
    findings = real + list(drawn(args.drawn, recognizer))
    evidence, exact = np.array([each.evidence for each in findings]), np.array([float(each.exact) for each in findings])
    table_weights = fit_tables(evidence, exact)
    cell_weights = fit(*cells_of(findings, table_weights))
    print(f"\nfitted on {len(real)} labelled and {len(findings) - len(real)} drawn tables")
    print(to_source("_TABLE_WEIGHTS", table_weights))
    print(to_source("_CELL_WEIGHTS", cell_weights))
    folds = predict_folds(evidence, exact)
    report("labelled tables, other folds", folds[: len(real)], exact[: len(real)])
    if len(findings) > len(real):
        report("drawn tables, other folds", folds[len(real) :], exact[len(real) :])
    return table_weights, cell_weights


if __name__ == "__main__":
    main()
