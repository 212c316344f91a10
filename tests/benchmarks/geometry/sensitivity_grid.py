"""What the constants of the grid are worth:
``python -m tests.benchmarks.geometry.sensitivity_grid --boxes FOLDER [-n 270] [--only NAME]``.

A developer script, not a test. Each constant is scaled by a few factors, the others stay, and all tables are built
again. Tables are drawn by ``tablerec.synth`` from all recipes in equal shares, with seeds that training does not use,
and the random ones of ``check_noisy_grids``. ``FOLDER`` keeps the boxes: the true ones, and those that the network
in the package finds in the picture, which take longest.

A line has the constant, its value, and the share of tables whose spans are all right: true boxes, true boxes with
Gaussian noise of 1, 2 and 3 pixels at each edge, boxes of the network, random tables that are still determined. The
last column is their sum less that of the package's constants.

On 2026-11-28 no factor from 0.7 to 1.4 of a constant of ``lines`` changed a share by more than its standard error
(0.009 of true boxes, 0.03 of the network's), so all stayed.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import numpy as np
from numpy.typing import NDArray

from postprocess.arrays import Floats
from postprocess.geometry.boxes import array_to_quad, boxes_to_quads, quads_to_boxes
from postprocess.grid import build as grid
from postprocess.grid import edges as settle
from postprocess.grid import line_fit as lines
from postprocess.grid import neighbours
from postprocess.word import Word
from tablerec.detect.cellnet import CellNetDetector
from tablerec.detect.factory import WEIGHTS
from tablerec.synth import draw, load_recipe
from tests.benchmarks.detector.make_validation import members
from tests.helpers.strategies import is_exact, random_noisy_table

SEED = 8_000_000_009
"""Of the drawn tables; training uses small ones."""
FACTORS = (0.5, 0.7, 1.4, 2.0)
NOISES = (0.0, 1.0, 2.0, 3.0)
"""Standard deviations of each edge, pixels."""
CONSTANTS: tuple[tuple[ModuleType, str], ...] = (
    *((lines, name) for name in ("_PRIOR", "_LINE", "_TOGETHER", "_SPREADS[0]", "_SPREADS[1]")),
    *((neighbours, name) for name in ("_REACH", "_BESIDE", "_LEAST_SIZE", "_AT", "_ERRORS")),
    *((neighbours, name) for name in ("_NEAR", "_FAR")),
    (grid, "_FILLED"),
    *((settle, name) for name in ("_TAKEN_TWICE", "_EMPTY_BESIDE")),
)


@dataclass(frozen=True)
class Case:
    """Boxes and the spans that they should have.

    Args:
        spans: ``(N, 4)`` row, column, end row, end column of all cells of the table.
        quads: ``(M, 4, 2)`` pixels.
        scores: ``(M,)``.
        cell: ``(M,)`` cell that each quad shows; None where nobody knows, as for boxes of the network.
    """

    spans: NDArray[np.int64]
    quads: Floats
    scores: Floats
    cell: NDArray[np.int64] | None

    def is_exact(self) -> bool:
        """Whether the grid has these spans, cell by cell where the cells are known."""
        found = grid.quads_to_grid(self.quads, self.scores)
        if self.cell is not None:
            return is_exact(found, self)  # type: ignore[arg-type]  # it has what is asked for
        holes = [(cell.row, cell.col, cell.row + 1, cell.col + 1) for cell in found.empty_cells()]
        return sorted([*map(tuple, found.spans.tolist()), *holes]) == sorted(map(tuple, self.spans.tolist()))


def drawn_cases(count: int, kept: Path) -> Iterator[tuple[Case, Case]]:
    """Each drawn table with its true boxes, and with those of the network."""
    network = CellNetDetector(WEIGHTS)
    for recipe, index in members(count):
        path = kept / f"{recipe}_{index:04}.npz"
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            np.savez(path, **_look(recipe, index, network))
        with np.load(path) as data:
            spans, true, quads, scores = (data[name] for name in ("spans", "true", "quads", "scores"))
        if len(spans):
            yield Case(spans, true, np.ones(len(true)), np.arange(len(spans))), Case(spans, quads, scores, None)


def _look(recipe: str, index: int, network: CellNetDetector) -> dict[str, NDArray[np.generic]]:
    """Spans, true boxes and the network's boxes of one picture; no spans where it has not exactly one table."""
    sample = draw(load_recipe(recipe), SEED, index, "fast")
    cells = sample.cells
    spans = np.column_stack([cells.rows, cells.cols, cells.rows + cells.rowspans, cells.cols + cells.colspans])
    words = [Word(text, array_to_quad(quad)) for text, quad in zip(sample.words.texts, sample.words.quads, strict=True)]
    found = network.detect(np.ascontiguousarray(sample.image[..., ::-1]), words)
    best = max(found, key=lambda each: len(each.quads), default=None)
    none = np.zeros((0, 4, 2)), np.zeros(0)
    quads, scores = (best.quads, best.scores) if best else none
    one = len(sample.tables) == 1
    return {
        "spans": (spans if one else spans[:0]).astype(np.int64),
        "true": cells.quads.astype(np.float64),
        "quads": np.asarray(quads, np.float64),
        "scores": np.asarray(scores, np.float64),
    }


def with_noise(case: Case, deviation: float, seed: int) -> Case:
    """The case with noise at each edge; a box keeps the order of its ends. None means the boxes as they are."""
    if not deviation:
        return case
    boxes = quads_to_boxes(case.quads)
    moved = boxes + np.random.default_rng(seed).normal(0, deviation, boxes.shape)
    quads = boxes_to_quads(np.sort(moved.reshape(-1, 2, 2), axis=1).reshape(-1, 4))
    return Case(case.spans, quads, case.scores, case.cell)


def random_cases(count: int) -> Iterator[Case]:
    """Random tables of ``check_noisy_grids`` with the most noise that are determined."""
    for seed in range(1_000_000, 1_000_000 + count):
        table, noise = random_noisy_table(seed)
        if noise.jitter and table.is_determined:
            yield Case(table.spans, table.quads, table.scores, table.cell)


@contextmanager
def replaced(module: ModuleType, name: str, factor: float) -> Iterator[object]:
    """Scale a constant of a module, or one of a tuple of them, for a while; its value."""
    plain, _, index = name.rstrip("]").partition("[")
    before = getattr(module, plain)
    if index:
        value = tuple(each * (factor if k == int(index) else 1) for k, each in enumerate(before))
    else:
        value = before * factor
    setattr(module, plain, value)
    lines._count_costs.cache_clear()
    try:
        yield value
    finally:
        setattr(module, plain, before)
        lines._count_costs.cache_clear()


def shares(groups: Sequence[Sequence[Case]]) -> Floats:
    """Share of exact tables in each group."""
    return np.array([np.mean([case.is_exact() for case in group]) for group in groups])


def main() -> None:
    """Print a line for each value of each constant."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--boxes", type=Path, required=True, help="folder that keeps the boxes")
    parser.add_argument("-n", "--count", type=int, default=270, help="drawn tables; default: 270")
    parser.add_argument("--random", type=int, default=600, help="random tables; default: 600")
    parser.add_argument("--only", action="append", default=[], help="only this constant; may be repeated")
    args = parser.parse_args()
    true, network = zip(*drawn_cases(args.count, args.boxes), strict=True)
    groups = [[with_noise(case, noise, seed) for seed, case in enumerate(true)] for noise in NOISES]
    groups += [list(network), list(random_cases(args.random))]
    base = shares(groups)
    print(f"{'':26s}" + "".join(f"{name:>9s}" for name in ("true", "1 px", "2 px", "3 px", "network", "random")))
    print(f"{'as they are':26s}" + "".join(f"{share:9.4f}" for share in base), flush=True)
    for module, name in CONSTANTS:
        for factor in FACTORS if not args.only or name in args.only else ():
            with replaced(module, name, factor):
                found = shares(groups)
            title = f"{module.__name__.removeprefix('postprocess.')}.{name} x {factor:g}"
            gain = (found - base).sum()
            print(f"{title:26s}" + "".join(f"{share:9.4f}" for share in found) + f"{gain:+9.4f}", flush=True)


if __name__ == "__main__":
    main()
