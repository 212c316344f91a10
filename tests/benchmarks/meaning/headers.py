"""How right headers, stubs, sections and totals of drawn tables are:
``python -m tests.benchmarks.meaning.headers [-n COUNT] [--seed SEED]``.

A developer script, not a test. The tables are those of all recipes of ``tablerec.synth``, as data: nothing is drawn.
Printed are the share of tables with exactly the right header rows and exactly the right stub cells, precision and
recall of the cells by kind, and how often cells are what their scores say.

Printed on 2026-11-28; in brackets the hard rules that these headers replaced::

    header rows exact 0.910 (0.781)  stub exact 0.692 (0.525)
    column   precision 0.993 (0.991)  recall 0.833 (0.724)
    row      precision 0.911 (0.908)  recall 0.904 (0.734)
    section  precision 0.838 (0.770)  recall 0.839 (0.823)
    total    precision 0.976          recall 0.580   balances and profits are totals there
    score from 0.60  0.854 right, 0.70  0.835, 0.80  0.873, 0.90  0.902, 0.95  0.963, 0.99  0.994
"""

from __future__ import annotations

import argparse
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from unittest.mock import patch

import numpy as np

from postprocess.cell import Cell
from postprocess.errors import TableError
from postprocess.meaning.headers import mark_headers
from postprocess.table import Table
from tablerec.synth import describe, load_recipe, recipe_names

SEED = 7_200_000_001
"""Not that of ``fit_meaning``."""
KINDS = ("column", "row", "section", "total")


@dataclass(frozen=True)
class Meaning:
    """A drawn table: what it is, and its truth as ``mark_headers`` should mark it."""

    structure: str
    table: Table

    @property
    def depth(self) -> int:
        """Number of header rows at the top."""
        return self.table.n_header_rows

    @property
    def bare(self) -> Table:
        """The table without its marks."""
        return Table([replace(cell, header=None, is_total=False) for cell in self.table.cells])


def drawn_meanings(seed: int, count: int) -> Iterator[Meaning]:
    """Tables of all recipes but mixtures, with their meaning; Chinese ones also where no font could draw them."""
    recipes = [
        load_recipe(name) for name in recipe_names() if name not in ("mixed", "page") and not name.startswith("unseen_")
    ]
    for number in range(count):
        with warnings.catch_warnings(), patch("tablerec.synth.pages.can_write", return_value=True):
            warnings.simplefilter("ignore")
            page = describe(recipes[number % len(recipes)], seed, number)
        cells = [
            Cell(
                *(spec.row, spec.col, spec.rowspan, spec.colspan),
                text=spec.full_text,
                header=None if spec.kind in ("body", "total") else spec.kind,
                is_total=spec.kind == "total",
            )
            for spec in page.tables[0].cells
        ]
        try:
            yield Meaning(dict(page.about)["structure"], name_stub(Table(cells)))
        except TableError:
            continue  # cells that overlap cannot be drawn either


def name_stub(table: Table) -> Table:
    """Let a whole column be stub or not: with its totals where most cells say so, and then only left of all others."""
    width = 0
    for col in range(table.n_cols):
        body = [cell for cell in table.cells if cell.col == col and cell.text.strip() and cell.colspan < table.n_cols]
        body = [cell for cell in body if cell.header in (None, "row") and not cell.is_total]
        if not body or 2 * sum(cell.header == "row" for cell in body) < len(body):
            break
        width += 1

    def mark(cell: Cell) -> Cell:
        if cell.header in ("column", "section"):
            return cell
        is_stub = cell.col < width and bool(cell.text.strip()) and cell.colspan < max(table.n_cols, 2)
        return replace(cell, header="row" if is_stub else None)

    return Table([mark(cell) for cell in table.cells])


def kinds_of(table: Table) -> list[set[str]]:
    """What each cell with a text is, of ``KINDS``; totals are those in rows, drawn tables do not tell of columns."""
    in_rows = {row for row, cells in enumerate(table.rows()) if all(cell.is_total for cell in cells)}
    return [
        ({"total"} if cell.row in in_rows else set()) | ({cell.header} if cell.header else set())
        if cell.text.strip()
        else set()
        for cell in table.cells
    ]


def report(name: str, meanings: list[Meaning], mark: Callable[[Table], Table]) -> None:
    """Print what a way to mark headers is worth."""
    seen: Counter[str] = Counter()
    scored: list[tuple[float, bool]] = []
    exact = np.zeros(2)
    for meaning in meanings:
        found = mark(meaning.bare)
        pairs = list(zip(kinds_of(found), kinds_of(meaning.table), strict=True))
        exact += [found.n_header_rows == meaning.depth, all(("row" in a) == ("row" in b) for a, b in pairs)]
        for ours, truth in pairs:
            seen.update(f"found {kind}" for kind in ours)
            seen.update(f"true {kind}" for kind in truth)
            seen.update(f"right {kind}" for kind in ours & truth)
        scored += [
            (cell.header_score, cell.header in truth)
            for cell, (_, truth) in zip(found.cells, pairs, strict=True)
            if cell.header_score is not None and cell.text.strip()
        ]
    rows, stubs = exact / len(meanings)
    print(f"{name:12} {len(meanings):5} tables  header rows exact {rows:.3f}  stub exact {stubs:.3f}")
    for kind in KINDS:
        right, found, true = (seen[f"{word} {kind}"] for word in ("right", "found", "true"))
        print(f"    {kind:8} precision {right / max(found, 1):.3f}  recall {right / max(true, 1):.3f}  of {true}")
    for low, high in ((0.6, 0.7), (0.7, 0.8), (0.8, 0.9), (0.9, 0.95), (0.95, 0.99), (0.99, 1.01)):
        within = [right for score, right in scored if low <= score < high]
        if within:
            print(f"    score from {low:.2f}  {np.mean(within):.3f} right  of {len(within)}")


def main() -> None:
    """Draw, mark and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-n", "--count", type=int, default=1300)
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--by-structure", action="store_true", help="also for each kind of table")
    args = parser.parse_args()
    meanings = list(drawn_meanings(args.seed, args.count))
    report("all", meanings, mark_headers)
    for structure in sorted({meaning.structure for meaning in meanings}) if args.by_structure else ():
        report(structure, [meaning for meaning in meanings if meaning.structure == structure], mark_headers)


if __name__ == "__main__":
    main()
