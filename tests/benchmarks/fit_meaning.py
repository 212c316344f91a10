"""The weights of ``postprocess.header_rows``, ``stub`` and ``sections``: ``fit_meaning.py [-n COUNT]``.

A developer script, not a test. The tables are those of all recipes of ``tablerec.synth``, as data; the weights are
printed as the modules hold them. ``benchmark_meaning.py`` measures them on tables of another seed.

Of each table a part is taken too, see ``varied``. Printed on 2026-11-28, in two minutes: of 10,291 numbers of header
rows 0.933 are right, of 9,248 numbers of stub columns 0.863, of 4,119 rows of one label 0.799.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import astuple, fields, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from postprocess.header_rows import HeaderEvidence, candidates, gather_header_evidence
from postprocess.kinds import Slots, table_to_slots
from postprocess.sections import SectionEvidence, gather_section_evidence, section_candidates
from postprocess.stub import StubEvidence, gather_stub_evidence
from postprocess.table import Cell, Table
from tests.benchmarks.benchmark_meaning import Meaning, drawn_meanings

Floats = NDArray[np.float64]
Choice = tuple[Floats, int]
"""Evidence of each candidate, and which one is right."""
SEED = 7_100_000_001
SHRINK = {HeaderEvidence: 0.5, StubEvidence: 0.5, SectionEvidence: 1.0}
"""Half of it times the squared weights is added to the loss, so that no weight grows on a few tables."""
STEPS = 30


def varied(meanings: Iterable[Meaning], rng: np.random.Generator) -> Iterator[Meaning]:
    """The tables, and of each a part as pages and small tables show them: the first rows, or rows of the body alone.

    In every tenth one the rows have years for names, which drawn tables hardly have.
    """
    for number, meaning in enumerate(meanings):
        if number % 10 == 0:
            meaning = _name_by_years(meaning, int(rng.integers(1950, 2010)))
        yield meaning
        n_body = meaning.table.n_rows - meaning.depth
        count = int(min(n_body, 1 + rng.geometric(0.3)))
        if number % 3 and count:
            yield _cut(meaning, 0, meaning.depth + count)
        elif count:
            first = meaning.depth + int(rng.integers(n_body - count + 1))
            yield _cut(meaning, first, first + count)


def _cut(meaning: Meaning, first: int, end: int) -> Meaning:
    cells = []
    for cell in meaning.table.cells:
        top, bottom = max(cell.row, first), min(cell.end_row, end)
        if top < bottom:
            cells.append(
                replace(cell, row=top - first, rowspan=bottom - top, text=cell.text if top == cell.row else "")
            )
    return replace(meaning, table=Table(cells))


def _name_by_years(meaning: Meaning, first: int) -> Meaning:
    def name(cell: Cell) -> Cell:
        is_name = cell.header == "row" and cell.col == 0 and not cell.is_total
        return replace(cell, text=str((first + cell.row) % 2030)) if is_name else cell

    return replace(meaning, table=Table([name(cell) for cell in meaning.table.cells]))


def header_choice(meaning: Meaning, slots: Slots) -> Choice | None:
    """The number of header rows, where it is a candidate."""
    depths = candidates(slots)
    if meaning.depth not in depths:
        return None
    evidence = [astuple(gather_header_evidence(slots, depth)) for depth in depths]
    return np.array(evidence, float), depths.index(meaning.depth)


def stub_choice(meaning: Meaning, slots: Slots) -> Choice | None:
    """The number of stub columns, with the true header rows and sections."""
    heads = [cell.header == "section" for cell in meaning.table.cells]
    sections = np.array(heads)[meaning.table.owner].any(axis=1)
    evidence = [astuple(each) for each in gather_stub_evidence(meaning.table, slots, meaning.depth, sections)]
    width = max((cell.end_col for cell in meaning.table.cells if cell.header == "row"), default=0)
    return (np.array(evidence, float), width) if width < len(evidence) else None


def section_choices(meaning: Meaning, slots: Slots) -> list[Choice]:
    """For each row that can head others, whether it does."""
    able = section_candidates(slots, meaning.depth)
    true = {cell.row for cell in meaning.table.cells if cell.header == "section"}
    made = []
    for row in np.flatnonzero(able).tolist():
        evidence = astuple(gather_section_evidence(slots, meaning.depth, able, row))
        made.append((np.array([[0.0] * len(evidence), evidence]), int(row in true)))
    return made


def fit(choices: Sequence[Choice], shrink: float) -> Floats:
    """Weights of the softmax with which the right candidates are most probable, by Newton's method."""
    n_kinds, most = choices[0][0].shape[1], max(len(evidence) for evidence, _ in choices)
    padded = np.zeros((len(choices), most, n_kinds))
    absent = np.full((len(choices), most), -1e9)
    right = np.array([index for _, index in choices])
    for place, (evidence, _) in enumerate(choices):
        padded[place, : len(evidence)], absent[place, : len(evidence)] = evidence, 0
    true = padded[np.arange(len(choices)), right].sum(axis=0)
    weights = np.zeros(n_kinds)
    for _ in range(STEPS):
        scores = padded @ weights + absent
        odds = np.exp(scores - scores.max(axis=1, keepdims=True))
        chances = odds / odds.sum(axis=1, keepdims=True)
        means = np.einsum("nk,nkf->nf", chances, padded)
        slope = means.sum(axis=0) - true + shrink * weights
        curve = np.einsum("nk,nkf,nkg->fg", chances, padded, padded, optimize=True) - means.T @ means
        weights = weights - np.linalg.solve(curve + shrink * np.eye(n_kinds), slope)
    return weights


def show(kind: type, choices: Sequence[Choice]) -> None:
    """Fit and print the weights of one module."""
    weights = fit(choices, SHRINK[kind]).round(2) + 0.0
    exact = np.mean([int((evidence @ weights).argmax()) == right for evidence, right in choices])
    print(f"{kind.__name__}: {len(choices)} choices, {exact:.3f} right")
    for field, weight in zip(fields(kind), weights, strict=True):
        print(f"    {field.name:16} {weight:6.2f}")
    print(f"_WEIGHTS = ({', '.join(f'{weight:.2f}' for weight in weights)})")


def main() -> None:
    """Draw, gather the evidence, fit and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-n", "--count", type=int, default=5200)
    args = parser.parse_args()
    heads, stubs, sections = [], [], []
    for meaning in varied(drawn_meanings(SEED, args.count), np.random.default_rng(0)):
        slots = table_to_slots(meaning.table)
        heads.append(header_choice(meaning, slots))
        stubs.append(stub_choice(meaning, slots))
        sections += section_choices(meaning, slots)
    show(HeaderEvidence, [each for each in heads if each])
    show(StubEvidence, [each for each in stubs if each])
    show(SectionEvidence, sections)


if __name__ == "__main__":
    main()
