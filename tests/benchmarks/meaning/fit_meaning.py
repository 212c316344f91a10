"""The weights of ``postprocess.meaning.header_rows``, ``stub`` and ``sections``:
``python -m tests.benchmarks.meaning.fit_meaning [-n COUNT]``.

A developer script, not a test. The tables are those of all recipes of ``tablerec.synth``, as data; the weights are
printed as the modules hold them. ``headers`` measures them on tables of another seed.

Of each table a part is taken too, see ``varied``. Printed on 2026-11-28, in two minutes: of 10,291 numbers of header
rows 0.933 are right, of 9,248 numbers of stub columns 0.863, of 4,119 rows of one label 0.799.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from postprocess.arrays import Floats
from postprocess.cell import Cell
from postprocess.meaning.header_rows import HeaderEvidence, candidates, gather_header_evidence
from postprocess.meaning.kinds import Slots, table_to_slots
from postprocess.meaning.sections import SectionEvidence, gather_section_evidence, section_candidates
from postprocess.meaning.stub import StubEvidence, gather_stub_evidence
from postprocess.table import Table
from tests.benchmarks.fitting import fit_binary, fit_choices, to_array, to_source
from tests.benchmarks.meaning.headers import Meaning, drawn_meanings

Choice = tuple[Floats, int]
"""Evidence of each candidate, and which one is right."""
SEED = 7_100_000_001
SHRINK = {HeaderEvidence: 0.5, StubEvidence: 0.5, SectionEvidence: 1.0}
"""Half of it times the squared weights is added to the loss, so that no weight grows on a few tables."""


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
    return to_array([gather_header_evidence(slots, depth) for depth in depths]), depths.index(meaning.depth)


def stub_choice(meaning: Meaning, slots: Slots) -> Choice | None:
    """The number of stub columns, with the true header rows and sections."""
    heads = [cell.header == "section" for cell in meaning.table.cells]
    sections = np.array(heads)[meaning.table.owner].any(axis=1)
    evidence = to_array(gather_stub_evidence(meaning.table, slots, meaning.depth, sections))
    width = max((cell.end_col for cell in meaning.table.cells if cell.header == "row"), default=0)
    return (evidence, width) if width < len(evidence) else None


def sections_of(meaning: Meaning, slots: Slots) -> list[tuple[SectionEvidence, bool]]:
    """For each row that can head others, whether it does."""
    able = section_candidates(slots, meaning.depth)
    true = {cell.row for cell in meaning.table.cells if cell.header == "section"}
    return [
        (gather_section_evidence(slots, meaning.depth, able, row), row in true) for row in np.flatnonzero(able).tolist()
    ]


def show_choices(kind: type, choices: Sequence[Choice]) -> None:
    """Fit and print the weights of one module."""
    weights = fit_choices(choices, SHRINK[kind]).round(2)
    exact = np.mean([int((evidence @ weights).argmax()) == right for evidence, right in choices])
    print(f"{kind.__name__}: {len(choices)} choices, {exact:.3f} right")
    print(to_source("_WEIGHTS", kind(*weights)))


def show_sections(sections: Sequence[tuple[SectionEvidence, bool]]) -> None:
    """Fit and print the weights of rows of one label."""
    evidence, right = to_array([each for each, _ in sections]), np.array([float(yes) for _, yes in sections])
    bias, weights = fit_binary(evidence, right, SHRINK[SectionEvidence])
    exact = np.mean((bias + evidence @ weights > 0) == (right > 0))
    print(f"SectionEvidence: {len(sections)} rows, {exact:.3f} right")
    print(f"_BIAS = {bias:.2f}")
    print(to_source("_WEIGHTS", SectionEvidence(*weights)))


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
        sections += sections_of(meaning, slots)
    show_choices(HeaderEvidence, [each for each in heads if each])
    show_choices(StubEvidence, [each for each in stubs if each])
    show_sections(sections)


if __name__ == "__main__":
    main()
