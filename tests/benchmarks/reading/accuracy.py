"""What OCR engines read in tables whose texts are known:
``python -m tests.benchmarks.reading.accuracy BENCH --ocr auto --ocr rapidocr [--count N] [--kept DIR]``.

A developer script, not a test. ``BENCH`` holds ``<source>/<id>.json`` with the picture beside it, as
``../shared/bench/dev``. Each picture goes through the whole pipeline with each engine; only cells are compared that
answer to true ones with every engine, so that all are measured by the same cells (see ``tables.pair_cells``), and how
many these are of those with text is told. By source and engine: error rate of characters and cells with exactly right
text, without blanks and with one form of dashes and quotes; right cells where blanks and forms count too; and the
first two of cells that are numbers. ``--kept`` keeps what was read by engine and picture, so that a run goes on where
it was stopped.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tablerec.config import Settings
from tablerec.errors import TablerecError
from tablerec.evaluate.runner import largest_table
from tablerec.evaluate.truth import Truth, normalize
from tablerec.pipeline import Recognizer
from tests.benchmarks.reading.tables import error_count, is_number, pair_cells, plain, sample_truths, with_blanks


@dataclass(frozen=True)
class Reading:
    """A true cell with text, and what was read in it."""

    source: str
    true: str
    read: str


def read_picture(truth: Truth, ocr: str, recognizer: Recognizer, kept: Path | None) -> dict[int, str]:
    """What one engine read in the cells of a picture; taken from the kept file where there is one."""
    path = kept / ocr.replace(":", "_") / f"{truth.id}.json" if kept else None
    if path and path.is_file():
        return {int(index): text for index, text in json.loads(path.read_text(encoding="utf-8"))["cells"].items()}
    try:
        page = recognizer.recognize(truth.image).pages[0]
        cells, seconds = pair_cells(truth, largest_table(page.tables)), dict(page.seconds)
    except TablerecError as error:
        print(f"{truth.image}: {error}", file=sys.stderr)
        cells, seconds = {}, {}
    if path:
        path.parent.mkdir(parents=True, exist_ok=True)
        text = json.dumps({"cells": cells, "seconds": seconds}, ensure_ascii=False)
        path.write_text(text, encoding="utf-8")
    return cells


def common_readings(truth: Truth, read: Mapping[str, Mapping[int, str]]) -> dict[str, list[Reading]]:
    """By engine, the cells that answer with every engine."""
    common = sorted(set.intersection(*(set(cells) for cells in read.values())))
    return {
        ocr: [Reading(truth.source, truth.table.cells[index].text, cells[index]) for index in common]
        for ocr, cells in read.items()
    }


def figures(readings: Sequence[Reading]) -> dict[str, float]:
    """Error rate of characters, and shares of right cells, of all and of numbers; NaN of none."""
    found: dict[str, float] = {}
    for name, some in (("", readings), (" numbers", [each for each in readings if is_number(plain(each.true))])):
        true, read = [plain(each.true) for each in some], [plain(each.read) for each in some]
        n_chars = sum(map(len, true))
        found[f"CER{name}"] = error_count(read, true) / n_chars if n_chars else float("nan")
        found[f"right{name}"] = sum(a == b for a, b in zip(true, read, strict=True)) / max(len(some), 1)
        found[f"cells{name}"] = len(some)
    exact = sum(with_blanks(each.true) == with_blanks(each.read) for each in readings)
    found["right to the sign"] = exact / max(len(readings), 1)
    return found


def rows(readings: Mapping[str, Sequence[Reading]], n_texts: Mapping[str, int]) -> Iterator[dict[str, Any]]:
    """A row for each source and engine, those of all sources last."""
    for source in [*sorted(n_texts), "all"]:
        total = sum(n_texts.values()) if source == "all" else n_texts[source]
        for ocr, some in readings.items():
            chosen = [each for each in some if source in ("all", each.source)]
            yield {"source": source, "ocr": ocr, "texts": total, **figures(chosen)}


def main() -> None:
    """Read, compare, and print a line for each source and engine."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bench", type=Path)
    parser.add_argument("--ocr", action="append", help="as of tablerec; several are compared  [auto and rapidocr]")
    parser.add_argument("--count", type=int, help="so many pictures, sources taking turns  [all]")
    parser.add_argument("--kept", type=Path, help="folder that keeps what was read")
    parser.add_argument("--detector", default=Settings().detector)
    parser.add_argument("--mistakes", type=int, default=0, help="print so many misread cells of each engine")
    options = parser.parse_args()
    engines = options.ocr or ["auto", "rapidocr"]
    recognizers = {
        ocr: Recognizer(Settings(ocr=ocr, detector=options.detector, layout="table", turn=0)) for ocr in engines
    }
    readings: dict[str, list[Reading]] = {ocr: [] for ocr in engines}
    n_texts: dict[str, int] = {}
    truths = sample_truths(options.bench, options.count)
    for number, truth in enumerate(truths, start=1):
        read = {ocr: read_picture(truth, ocr, recognizers[ocr], options.kept) for ocr in engines}
        for ocr, some in common_readings(truth, read).items():
            readings[ocr] += some
        texts = sum(bool(normalize(cell.text)) for cell in truth.table.cells)
        n_texts[truth.source] = n_texts.get(truth.source, 0) + texts
        print(f"\r{number} of {len(truths)} ", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    for row in rows(readings, n_texts):
        print(
            f"{row['source']:18} {row['ocr']:12} cells {row['cells']:5.0f} of {row['texts']:5.0f}  "
            f"CER {row['CER']:.4f}  right {row['right']:.4f}  to the sign {row['right to the sign']:.4f}  "
            f"numbers {row['cells numbers']:5.0f}: CER {row['CER numbers']:.4f}  right {row['right numbers']:.4f}"
        )
    for ocr, some in readings.items():
        wrong = [each for each in some if plain(each.true) != plain(each.read)]
        for each in wrong[:: max(1, len(wrong) // max(options.mistakes, 1))][: options.mistakes]:
            print(f"{ocr}: {each.source}: {each.true!r} read as {each.read!r}")


if __name__ == "__main__":
    main()
