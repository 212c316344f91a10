"""The weights of ``postprocess.captions.edge_rows``:
``python -m tests.benchmarks.captions.fit_edge_rows [DIR..] [--drawn 240]``.

A developer script, not a test. ``DIR`` holds pictures with the truth beside them, for instance the optional folder
``../shared/train`` beside the checkout; ``--words`` keeps the OCR engine's words. There the rows at both edges of the
grid that ``auto`` finds are told from outside in: a row beside the true table, or one of it. A truth whose first row is
one lone text above an empty first column is left out: some of these are titles, and some are labels.

Beside drawn tables, on which it was trained, the detector seldom errs so. ``--drawn`` takes the true grids of pages of
``tablerec.synth`` with text around them, and adds lines above and below as rows, as a worse detector would. Words are
those of a text layer, or whole lines as OCR engines read them. Pages are split in five to test the weights on others.

Printed on 2026-11-29 for ``../shared/train`` and 240 drawn pages; wrong are mostly sections inside drawn tables::

    TOP
      fitted, other pages  183 beside, taken 172, rightly 163
    FOOT
      fitted, other pages  130 beside, taken 131, rightly 128
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

import numpy as np

from postprocess.arrays import Floats
from postprocess.candidates.candidate import Candidate, quads_to_candidate
from postprocess.candidates.scene import image_to_scene
from postprocess.captions.blocks import pieces_of_text
from postprocess.captions.edge_rows import (
    _FOOT_BIAS,
    _FOOT_WEIGHTS,
    _TOP_BIAS,
    _TOP_WEIGHTS,
    MIN_SCORE,
    MOST_ROWS,
    RowEvidence,
    gather_evidence,
)
from postprocess.geometry.boxes import array_to_quad, boxes_to_quads, quads_to_array, quads_to_boxes
from postprocess.table import Table
from postprocess.text.lines import words_to_text
from postprocess.word import Word
from tablerec.config import Settings
from tablerec.detect.factory import make_detector
from tablerec.errors import TableError
from tablerec.evaluate.truth import find_truths
from tablerec.inputs.images import load_pages
from tablerec.ocr import make_ocr_engine
from tablerec.synth import load_recipe
from tablerec.synth.drawing.render import render
from tablerec.synth.engine import describe
from tests.benchmarks.candidates.fit_explanation import words_of
from tests.benchmarks.captions.fit_captions import RECIPES, with_strays
from tests.benchmarks.fitting import FOLDS, fit_binary, predict, spread_over_folds, to_array, to_source

DRAWN = (*RECIPES, "textbook", "census", "horizontal", "register", "schedule", "sparse", "partial", "webpage")
LINES = 0.6
"""Share of the pages on which a line beside a table is one word."""
REACH = 2.5
"""A detector takes in lines that are no further away than so many of their heights."""
SHRINK = 1.0
"""Half of it times the squared weights, of evidence in standard deviations, is added to the loss."""
SEED = 7_000_000_017
"""Of the drawn pages; training uses small ones."""


@dataclass(frozen=True)
class Example:
    """A row at the edge of a grid, and whether it stands beside the table."""

    evidence: RowEvidence
    is_top: bool
    is_beside: bool
    page: str
    text: str


def labelled(folders: list[Path], kept: Path | None) -> Iterator[Example]:
    """Rows of labelled tables: beside is what lies above or below all boxes of the truth."""
    settings = Settings(layout="table")
    reader, detector = make_ocr_engine(settings), make_detector(settings)
    truths = [truth for folder in folders for truth in find_truths(folder)]
    for number, truth in enumerate(truths, start=1):
        quads = truth.table.quads
        if len(quads):
            image = next(iter(load_pages(truth.image, settings))).image
            words = words_of(truth, image, reader, kept)
            low, high = quads[..., 1].min(), quads[..., 1].max()
            outside = {id(word) for word in words if not low <= np.mean(word.quad, axis=0)[1] <= high}
            for candidate in detector.detect(image, words):
                if isinstance(candidate, Candidate):
                    yield from (each for each in rows_of(candidate, outside, truth.id) if not is_open(each))
        print(f"\r{number} of {len(truths)} ", end="", file=sys.stderr, flush=True)


def is_open(example: Example) -> bool:
    """Whether truths of one source say both of such a row."""
    seen = example.evidence
    return bool(not example.is_beside and example.is_top and seen.left and seen.free)


def rows_of(candidate: Candidate, outside: set[int], page: str) -> Iterator[Example]:
    """The rows at the edges of a grid, from outside in as long as they stand beside the table."""
    scene, layout = candidate.scene, candidate.layout
    assert scene is not None
    contents = candidate.contents
    row_of_word = np.searchsorted(layout.row_lines, layout.frame.to_upright(scene.words.middles)[:, 1]) - 1
    is_outside = np.array([id(word) in outside for word in scene.words], bool)
    first, end = 0, len(layout.owner)
    for is_top in (True, False):
        for _ in range(MOST_ROWS):
            own = row_of_word == (first if is_top else end - 1)
            evidence = gather_evidence(contents, first, end, is_top)
            if evidence is None or not own.any():
                break
            is_beside = bool(is_outside[own].all())
            text = " ".join(scene.words.texts[index] for index in np.flatnonzero(own))
            yield Example(evidence, is_top, is_beside, page, text)
            if not is_beside:
                break
            first, end = (first + 1, end) if is_top else (first, end - 1)


def rows_within(candidate: Candidate, page: str) -> Iterator[Example]:
    """The inner rows of a table as if it began and ended there, as the part of one on another page does."""
    contents, n_rows = candidate.contents, len(candidate.layout.owner)
    for row in range(1, n_rows - 1):
        for is_top in (True, False):
            evidence = gather_evidence(contents, *((row, n_rows) if is_top else (0, row + 1)), is_top)
            if evidence is not None:
                yield Example(evidence, is_top, False, page, f"row {row}")


def drawn(count: int) -> Iterator[Example]:
    """Rows of true grids that hold the lines around them too: beside is what is in no cell."""
    for number in range(count):
        rng = np.random.default_rng([SEED, number])
        recipe = replace(load_recipe(DRAWN[number % len(DRAWN)]), surroundings=0.95, framing={"page": 1})
        sample = render(with_strays(describe(recipe, SEED, number), rng))
        try:
            tables = sample.to_tables()
        except TableError:
            continue
        quads = sample.words.quads.astype(np.float64)
        words = [Word(text, array_to_quad(quad)) for text, quad in zip(sample.words.texts, quads, strict=True)]
        loose = np.flatnonzero(sample.words.cells < 0)
        free = [words[index] for index in loose]
        if rng.random() < LINES:
            free = to_lines(free)
        own = [words[index] for index in np.flatnonzero(sample.words.cells >= 0)]
        picture = image_to_scene(np.ascontiguousarray(sample.image[..., ::-1]), [*own, *free])
        outside = {id(word) for word in free}
        for table in tables:
            candidate = with_lines_beside(table, free, rng).in_scene(picture)
            yield from rows_of(candidate, outside, f"drawn {number}")
            yield from rows_within(quads_to_candidate(table.quads).in_scene(picture), f"drawn {number}")
        print(f"\r{number + 1} of {count} ", end="", file=sys.stderr, flush=True)


def to_lines(words: list[Word]) -> list[Word]:
    """The pieces of text between wide gaps, as one word each."""
    quads = quads_to_array([word.quad for word in words])
    boxes = quads_to_boxes(quads)
    return [
        Word(
            words_to_text([words[index] for index in piece]),
            array_to_quad(boxes_to_quads([[*boxes[piece, :2].min(axis=0), *boxes[piece, 2:].max(axis=0)]])[0]),
        )
        for piece in pieces_of_text(boxes)
    ]


def with_lines_beside(table: Table, free: list[Word], rng: np.random.Generator) -> Candidate:
    """The grid of a true table with up to two lines of text on each side as rows of it."""
    plain = quads_to_candidate(table.quads)
    layout = plain.layout
    boxes = quads_to_boxes(layout.frame.to_upright(quads_to_array([word.quad for word in free])))
    middles = (boxes[:, :2] + boxes[:, 2:]) / 2
    x0, x1 = layout.col_lines[[0, -1]]
    near = (boxes[:, 2] > x0) & (boxes[:, 0] < x1)
    added = [plain.quads]
    for is_above in (True, False):
        edge = float(layout.row_lines[0 if is_above else -1])
        for _ in range(int(rng.integers(0, 3))):
            gaps = edge - boxes[:, 3] if is_above else boxes[:, 1] - edge
            beyond = middles[:, 1] < edge if is_above else middles[:, 1] > edge
            reachable = np.flatnonzero(near & beyond & (gaps < REACH * (boxes[:, 3] - boxes[:, 1])))
            if not len(reachable):
                break
            closest = boxes[reachable[np.argmin(gaps[reachable])]]
            end = float(closest[1] if is_above else closest[3])
            top, bottom = sorted((edge, end))
            row = [[left, top, right, bottom] for left, right in pairwise(layout.col_lines.tolist())]
            added.append(layout.frame.to_picture(boxes_to_quads(row)))
            edge = end
    return quads_to_candidate(np.concatenate(added))


def report(label: str, scores: Floats, right: Floats) -> None:
    """Print how many rows are taken away, and how many of them rightly."""
    taken = scores >= MIN_SCORE
    print(f"  {label:20} {int(right.sum())} beside, taken {int(taken.sum())}, rightly {int(right[taken].sum())}")


def main() -> None:
    """Gather the rows, fit, and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", type=Path, nargs="*")
    parser.add_argument("--drawn", type=int, default=240)
    parser.add_argument("--words", type=Path, help="folder that keeps the OCR engine's words")
    parser.add_argument("--list", action="store_true", help="print the rows that the fitted weights judge wrongly")
    args = parser.parse_args()
    found = [*labelled(args.folders, args.words), *drawn(args.drawn)]
    for is_top, name, package in (
        (True, "TOP", (_TOP_BIAS, _TOP_WEIGHTS)),
        (False, "FOOT", (_FOOT_BIAS, _FOOT_WEIGHTS)),
    ):
        fit([each for each in found if each.is_top == is_top], name, package, args.list)


def fit(found: list[Example], name: str, package: tuple[float, RowEvidence], is_listed: bool) -> None:
    """Fit one edge, and print its weights."""
    evidence, right = to_array([each.evidence for each in found]), np.array([float(each.is_beside) for each in found])
    fold = spread_over_folds([each.page for each in found])
    shrink = SHRINK * evidence.std(axis=0) ** 2
    others = np.zeros(len(found))
    for number in range(FOLDS):
        seen = fold != number
        others[~seen] = predict(*fit_binary(evidence[seen], right[seen], shrink), evidence[~seen])
    bias, weights = fit_binary(evidence, right, shrink)
    print(f"\n_{name}_BIAS = {bias:.2f}")
    print(to_source(f"_{name}_WEIGHTS", RowEvidence(*weights)))
    report("package", predict(package[0], to_array(package[1:])[0], evidence), right)
    report("fitted, other pages", others, right)
    if is_listed:
        for index in np.flatnonzero((others >= MIN_SCORE) != (right > 0)):
            print(f"  {others[index]:.2f} {found[index].page} {found[index].text[:70]!r}")


if __name__ == "__main__":
    main()
