"""Large plain tables, complete or not: ``python -m tests.benchmarks.outputs.complete [MODEL_DIR] [--seeds N]``.

A developer script, not a test. Draws tables of 30 x 30 and 60 x 20 cells, with all rulings and with none, at a
comfortable font and at a small one, and lets the detectors find their cells: ``auto`` from rulings and words alone,
``cellnet``, and ``auto`` with the network of MODEL_DIR (an exported CellNet; by default the package's). The words are
those that were drawn, in boxes as OCR engines have them, so that errors of reading do not count; ``--read`` adds
RapidOCR for one seed.

A line for each kind of table and detector: in how many tables the grid has its size, in how many it is complete (every
cell in its row and column with its text), the mean share of such cells, the mean number of detected cells per true one,
and seconds. ``--show FOLDER`` writes the pictures of those that are not complete, with what was found.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path

import numpy as np

from postprocess.cell import Cell
from postprocess.geometry.boxes import array_to_quad, boxes_to_quads, quads_to_boxes
from postprocess.table import Table
from postprocess.word import Word
from tablerec import Recognizer, Settings, save
from tablerec.detect.factory import WEIGHTS
from tablerec.detect.geometric import GeometricDetector
from tablerec.result import Page, PageImage, Result
from tablerec.synth.content.texts import Writer
from tablerec.synth.description import WHITE, CellSpec, ColumnSpec, Placed, RowSpec, Rule, TableSpec, TextStyle
from tablerec.synth.description import Page as PageSpec
from tablerec.synth.drawing.fonts import families_for
from tablerec.synth.drawing.render import render
from tablerec.synth.sample import Sample

SIZES = ((30, 30), (60, 20))
FONTS = {"comfortable": 15.0, "small": 9.0}
READER_MARGIN = 0.15
"""Readers' boxes reach this share of the height of the ink beyond it."""


@dataclass(frozen=True)
class Outcome:
    """How much of one table was found."""

    has_size: bool
    share: float
    seen: float
    seconds: float


def draw_table(
    n_rows: int, n_cols: int, *, is_ruled: bool, font_size: float, seed: int, family: str | None = None
) -> Sample:
    """Draw a plain table: headers, labels, numbers of one format a column, one cell in thirty empty.

    The font is of the family of this name, or where there is none of that name, of any that this machine has.
    """
    rng = np.random.default_rng([seed, n_rows, is_ruled])
    writer = Writer(rng, "english")
    families = families_for("latin")
    any_name = families[int(rng.integers(len(families)))].name
    style = TextStyle(family if family in {each.name for each in families} else any_name, font_size)
    rule = Rule(1.0) if is_ruled else None
    # One number a cell: of two, nobody could say whether they are a column or two where nothing is drawn.
    formats = [replace(writer.number_format(), extra="", suffix="", separator=",") for _ in range(n_cols)]
    labels = [writer.label("items") for _ in range(n_rows)]

    def text(row: int, col: int) -> str:
        if row == 0:
            return "Item" if col == 0 else str(1990 + col) if seed % 2 else f"No. {col}"
        if col == 0:
            return labels[row].split()[0]
        return "" if rng.random() < 1 / 30 else writer.number(formats[col]).text

    cells = [
        CellSpec(row, col, text(row, col), style, align="left" if col == 0 else "right", wraps=False,
                 top=rule, right=rule, bottom=rule, left=rule)
        for row in range(n_rows) for col in range(n_cols)
    ]  # fmt: skip
    across, down = font_size * rng.uniform(0.4, 0.8), font_size * rng.uniform(0.2, 0.4)
    table = TableSpec(tuple(cells), (RowSpec(down, down),) * n_rows, (ColumnSpec(across, across),) * n_cols)
    return render(PageSpec((Placed(table),), margin=2 * font_size, background=WHITE, framing="page"))


def sample_to_words(sample: Sample) -> tuple[Word, ...]:
    """The drawn words in boxes as an OCR engine has them."""
    boxes = quads_to_boxes(sample.words.quads)
    margin = READER_MARGIN * (boxes[:, 3:] - boxes[:, 1:2])
    grown = np.hstack([boxes[:, :2] - margin, boxes[:, 2:] + margin])
    return tuple(
        Word(text, array_to_quad(quad)) for text, quad in zip(sample.words.texts, boxes_to_quads(grown), strict=True)
    )


def judge(sample: Sample, page: Page, seconds: float) -> Outcome:
    """Compare the largest table of a page with the truth, cell by cell."""
    [truth] = sample.to_tables()
    found = max(page.tables, key=len, default=Table([]))
    texts = {_place(cell): "".join(cell.text.split()) for cell in found.cells}
    right = sum(texts.get(_place(cell)) == "".join(cell.text.split()) for cell in truth.cells)
    seen = sum(cell.detector_score is not None for cell in found.cells)
    return Outcome(found.shape == truth.shape, right / len(truth), seen / len(truth), seconds)


def _place(cell: Cell) -> tuple[int, int, int, int]:
    return cell.row, cell.col, cell.rowspan, cell.colspan


def make_recognizers(model_dir: Path) -> dict[str, Recognizer]:
    """One recognizer for each detector to measure."""
    recognizers = {"auto, no network": Recognizer(Settings(detector="auto"), detector=GeometricDetector("auto"))}
    for name in ("cellnet", "auto"):
        recognizers[name] = Recognizer(Settings(detector=name, detector_dir=model_dir))
    return recognizers


def measure(
    name: str, recognizer: Recognizer, sample: Sample, words: tuple[Word, ...] | None, show: Path | None
) -> Outcome:
    """Recognize one table."""
    picture = PageImage(name, 1, np.ascontiguousarray(sample.image[..., ::-1]), words)
    start = time.perf_counter()
    [page] = recognizer.recognize(picture).pages
    outcome = judge(sample, page, time.perf_counter() - start)
    if show and outcome.share < 1:
        show.mkdir(parents=True, exist_ok=True)
        save(Result(name, (page,)), show / f"{name}.png".replace(" ", "_").replace(",", ""))
    return outcome


def report(kind: str, outcomes: list[Outcome]) -> None:
    count = len(outcomes)
    sizes, complete = (sum(flags) for flags in zip(*((o.has_size, o.share == 1) for o in outcomes), strict=True))
    share, seen, seconds = np.mean([(o.share, o.seen, o.seconds) for o in outcomes], axis=0)
    print(
        f"{kind:<62} size {sizes}/{count}  complete {complete}/{count}  cells {share:.4f}  "
        f"detected {seen:.3f}  {seconds:.2f} s", flush=True,
    )  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model_dir", type=Path, nargs="?", default=WEIGHTS, help="folder of an exported CellNet")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--read", action="store_true", help="also with RapidOCR, for the first seed")
    parser.add_argument("--show", type=Path, help="folder for pictures of what is not complete")
    args = parser.parse_args()
    recognizers = make_recognizers(args.model_dir)
    for (n_rows, n_cols), is_ruled, (font, font_size) in product(SIZES, (True, False), FONTS.items()):
        kind = f"{n_rows} x {n_cols} {'ruled' if is_ruled else 'lineless'}, {font} font"
        samples = [
            draw_table(n_rows, n_cols, is_ruled=is_ruled, font_size=font_size, seed=seed) for seed in range(args.seeds)
        ]
        for name, recognizer in recognizers.items():
            outcomes = [
                measure(f"{kind}, {name}, seed {seed}", recognizer, sample, sample_to_words(sample), args.show)
                for seed, sample in enumerate(samples)
            ]
            report(f"{kind}, {name}", outcomes)
            if args.read:
                report(
                    f"{kind}, {name}, RapidOCR",
                    [measure(f"{kind}, {name}, read", recognizer, samples[0], None, args.show)],
                )


if __name__ == "__main__":
    main()
