"""The weights of ``postprocess.candidates.confidence``:
``python -m tests.benchmarks.candidates.fit_confidence ../shared/train --test ../shared/bench/dev``.

A developer script, not a test. The first folders hold labelled tables as ``tablerec eval`` reads them; about as many
are drawn with their true words, for the kinds that the folders lack. ``--words`` and ``--test-words`` keep what was
read. The package's weights are fitted and printed, and what they are worth on ``--test``, which the fit does not see:
the share of exact tables by score, and among those above 0.9.

Printed on 2026-11-29 by this command (400 labelled tables, 0.885 of the labels right, and 399 drawn ones), for the 329
audited tables of ``../shared/bench/dev`` with one fair reading::

    of these SOUND: 329, right 0.970, loss 0.253; above 0.9: 0.584, right of these 1.000
    of the exact ones of SOUND above 0.9: 0.602

With 216 drawn tables the last line is 0.54, with 300 0.56, with 360 0.59; all above 0.9 are exact each time.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from postprocess.arrays import Flags, Floats
from postprocess.candidates.confidence import (
    _CELL_BIAS,
    _CELL_WEIGHTS,
    _TABLE_BIAS,
    _TABLE_WEIGHTS,
    CellEvidence,
    TableEvidence,
    gather_cell_evidence,
    gather_evidence,
)
from postprocess.candidates.trace import TableTrace
from postprocess.geometry.boxes import quads_to_array, quads_to_polygons
from postprocess.table import Table
from postprocess.word import Word, Words
from tablerec.config import Settings
from tablerec.errors import TableError
from tablerec.evaluate.files import read_words, write_words
from tablerec.evaluate.runner import largest_table
from tablerec.evaluate.scoring.cells import same_cells
from tablerec.evaluate.truth import find_truths
from tablerec.pipeline import Recognizer
from tablerec.result import PageImage
from tablerec.synth import draw, load_recipe, recipe_names
from tests.benchmarks.fitting import FOLDS, fit_binary, predict, report_reliability, to_array, to_source

SEED = 7_000_000_003
"""Of the drawn tables; training uses small ones."""
SHRINK = 1.0
"""Half of it times the squared weights, of evidence in standard deviations, is added to the loss."""
ROUNDS = 40
"""In which weights and the share of right labels settle."""

Weights = tuple[float, Floats]
"""Bias, and the weights of the evidence."""


@dataclass(frozen=True)
class Finding:
    """A recognized table: what speaks for it and for its cells, and whether they are right."""

    source: str
    is_sound: bool
    trace: TableTrace
    words: Words
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
        yield from _findings(truth.source, not truth.is_convention, page, truth.table, truth.in_its_order)
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
            yield from _findings("drawn", True, recognizer.recognize(picture, words).pages[0], tables[0])
        _progress(number + 1, count)


def _progress(number: int, count: int) -> None:
    print(f"\r{number} of {count} ", end="", file=sys.stderr, flush=True)


def _findings(
    source: str, is_sound: bool, page: Any, truth: Any, order: Callable[[Table], Table] = lambda table: table
) -> Iterator[Finding]:
    table = largest_table(page.tables)
    for trace in page.trace.tables:
        if trace.table is table:
            evidence = to_array([gather_evidence(trace.chosen, page.trace.words)])[0]
            exact, right = same_cells(order(table), truth), right_cells(table, truth)
            yield Finding(source, is_sound, trace, page.trace.words, evidence, exact, right)


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


def fit(evidence: Floats, right: Floats, counts: Floats) -> Weights:
    """Bias and weights of a logistic regression, none of them negative."""
    shrink = SHRINK / counts.sum() * (evidence.std(axis=0) + 1e-6) ** 2
    return fit_binary(evidence, right, shrink, counts=counts / counts.sum(), nonnegative=True)


def fit_tables(evidence: Floats, exact: Floats, labelled: Flags) -> tuple[Weights, float]:
    """Weights for tables whose labels may be wrong, and the share of right labels, by expectation maximization.

    A label made by script or by the habits of one collection denies right tables too. How often is estimated with
    the weights: of a table that its label calls wrong, the part that was probably right counts as right.

    Args:
        evidence: ``(N, F)``.
        exact: ``(N,)`` 1 where a table is as its label says.
        labelled: ``(N,)`` which tables have such a label; those of drawn tables are right.
    """
    denied = np.flatnonzero(exact == 0)
    unjust = np.where(labelled, 0.05, 0.0)[denied]  # of the first round: chance that a denied table is right
    for _ in range(ROUNDS):
        counts = np.ones(len(exact))
        counts[denied] -= unjust
        both = np.concatenate([evidence, evidence[denied]]), np.concatenate([exact, np.ones(len(denied))])
        weights = fit(*both, np.concatenate([counts, unjust]))
        right_labels = exact[labelled].sum() / max(exact[labelled].sum() + unjust.sum(), 1e-9)
        chance = predict(*weights, evidence)[denied]
        unjust = np.where(labelled[denied], (1 - right_labels) * chance / (1 - right_labels * chance), 0.0)
    return weights, float(right_labels)


def predict_folds(evidence: Floats, exact: Floats, labelled: Flags) -> Floats:
    """Probabilities of tables that the fit did not see: runs of them are left out in turn, so pages stay together."""
    scores, fold = np.zeros(len(exact)), np.arange(len(exact)) * 4 * FOLDS // max(len(exact), 1) % FOLDS
    for number in range(FOLDS):
        seen = fold != number
        weights, _ = fit_tables(evidence[seen], exact[seen], labelled[seen])
        scores[~seen] = predict(*weights, evidence[~seen])
    return scores


def _cells_of(each: Finding, table_weights: Weights) -> Floats:
    bias, weights = table_weights
    log_odds = float(bias + each.evidence @ weights)
    return to_array(gather_cell_evidence(each.trace.chosen, each.words, log_odds))


def cells_of(findings: Sequence[Finding], table_weights: Weights) -> tuple[Floats, Floats, Floats]:
    """Evidence of all cells of which the truth tells, whether they are right, and weights: each table counts one."""
    parts = []
    for each in findings:
        known = np.isfinite(each.right)
        cells = _cells_of(each, table_weights)[known]
        parts.append((cells, each.right[known], np.full(len(cells), 1 / max(len(cells), 1))))
    evidence, right, weight = (np.concatenate(part) for part in zip(*parts, strict=True))
    return evidence, right, weight


def report_lines(findings: Sequence[Finding], table_weights: Weights, cell_weights: Weights) -> None:
    """Print the reliability of rows and columns: as sure as the least sure span, right where all spans are."""
    scores, right = [], []
    for each in findings:
        table = each.trace.table
        spans = predict(*cell_weights, _cells_of(each, table_weights))
        sure, good = spans[table.owner], np.where(np.isfinite(each.right), each.right, 1.0)[table.owner]
        for axis in (0, 1):
            scores.append(sure.min(axis=axis))
            right.append(good.min(axis=axis))
    report_reliability("rows and columns", np.concatenate(scores), np.concatenate(right))


def main() -> None:
    """Recognize, fit, and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("train_dir", type=Path, nargs="*", help="none: --test is for the weights of the package")
    parser.add_argument("--words", type=Path, help="folder that keeps the OCR engine's words")
    parser.add_argument("--drawn", type=int, default=420, help="drawn tables to fit on besides; default: 420")
    parser.add_argument("--test", type=Path, help="folder of labelled tables to report on")
    parser.add_argument("--test-words", type=Path, help="folder that keeps the OCR engine's words of these")
    parser.add_argument("--weights", type=Path, help="CellNet that has not seen TRAIN_DIR, for the fit")
    args = parser.parse_args()
    table_weights = _TABLE_BIAS, to_array([_TABLE_WEIGHTS])[0]
    cell_weights = _CELL_BIAS, to_array([_CELL_WEIGHTS])[0]
    if args.train_dir:
        table_weights, cell_weights = fit_weights(args)
    if args.test:
        test = list(labelled([args.test], args.test_words, Recognizer(Settings(layout="table", trace=True))))
        print()
        evidence, exact = np.array([each.evidence for each in test]), np.array([float(each.exact) for each in test])
        scores = predict(*table_weights, evidence)
        report_reliability("tables, not seen", scores, exact)
        sound = np.array([each.is_sound for each in test])
        report_reliability("of these SOUND", scores[sound], exact[sound])
        sure = scores[sound & (exact > 0)] > 0.9
        print(f"of the exact ones of SOUND above 0.9: {sure.mean():.3f}")
        cells, right, _ = cells_of(test, table_weights)
        report_reliability("spans of cells", predict(*cell_weights, cells), right)
        report_lines(test, table_weights, cell_weights)


def fit_weights(args: argparse.Namespace) -> tuple[Weights, Weights]:
    """Weights for tables and cells, printed with what they are worth on folds that the fit did not see."""
    # Read by the package's own weights, whatever else is installed.
    recognizer = Recognizer(Settings(detector_dir=args.weights, layout="table", ocr="tablerec", trace=True))
    real = list(labelled(args.train_dir, args.words, recognizer))
    findings = real + list(drawn(args.drawn, recognizer))
    evidence, exact = np.array([each.evidence for each in findings]), np.array([float(each.exact) for each in findings])
    labelled_ones = np.arange(len(findings)) < len(real)
    table_weights, right_labels = fit_tables(evidence, exact, labelled_ones)
    cell_weights = fit(*cells_of(findings, table_weights))
    print(f"\nfitted on {len(real)} labelled and {len(findings) - len(real)} drawn tables")
    print(f"share of right labels: {right_labels:.3f}")
    print(f"_TABLE_BIAS = {table_weights[0]:.3f}")
    print(to_source("_TABLE_WEIGHTS", TableEvidence(*table_weights[1]), 3))
    print(f"_CELL_BIAS = {cell_weights[0]:.3f}")
    print(to_source("_CELL_WEIGHTS", CellEvidence(*cell_weights[1]), 3))
    folds = predict_folds(evidence, exact, labelled_ones)
    report_reliability("labelled tables, other folds", folds[: len(real)], exact[: len(real)])
    if len(findings) > len(real):
        report_reliability("drawn tables, other folds", folds[len(real) :], exact[len(real) :])
    return table_weights, cell_weights


if __name__ == "__main__":
    main()
