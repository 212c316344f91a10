"""The reader that writes tokens beside ``auto``: ``python -m tests.benchmarks.reader.scores WEIGHTS FOLDER``.

WEIGHTS is a folder that ``tablerec.language.reader.train`` wrote; FOLDER, and others behind it, hold pictures of a
table with the truth as JSON, as for ``tablerec eval``: those of ``tests.benchmarks.reader.draw``, and
``../shared/bench/dev``. Both read the same pictures. Each table is kept in OUT, so a run that ``--seconds`` ended
goes on, and the reader may run on a card's machine (``--only reader --device tablerec_gpu --plugin LIBRARY``) and
``auto`` elsewhere. Prints, by source and by number of cells: GriTS of topology and content, TEDS, share of tables
whose grid is right, and whose texts are right as well; spanning cells in their place; characters that were invented,
misread and lost by an alignment of all texts, in percent of the true ones; and seconds a table (of a batch, its time
by the number of its tables). Then, on which tables either has the right grid where the other has not.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from postprocess.arrays import Image
from postprocess.cell import Cell
from postprocess.table import Table
from tablerec.errors import MissingDependencyError, TablerecError
from tablerec.evaluate.runner import largest_table
from tablerec.evaluate.scoring.cells import same_cells
from tablerec.evaluate.scoring.grits import grits_con, grits_top
from tablerec.evaluate.scoring.libraries import require_libraries
from tablerec.evaluate.scoring.teds import teds
from tablerec.evaluate.truth import Grid, Truth, normalize
from tests.benchmarks.reading.tables import sample_truths

BINS = (6, 20, 60, 120)
"""Cells of a table up to which it is in a group."""


Read = tuple[Table | None, dict[str, Any]]
"""A table, and what else is noted of it."""
Call = Callable[[Sequence[Image]], list[Read]]
"""What reads pictures, ``(H, W, 3)`` uint8 RGB."""


def compare(true: Grid, table: Table | None, *, has_text: bool) -> dict[str, Any]:
    """Score a table.

    >>> truth = Table.from_texts([["10", "ab"]])
    >>> found = compare(truth, Table.from_texts([["10", "abc"]]), has_text=True)
    >>> found["grid"], found["exact"], found["characters"], found["invented"], found["misread"], found["lost"]
    (1.0, 0.0, 4, 1, 0, 0)
    """
    table = table or Table([])
    scores: dict[str, Any] = {
        "top": grits_top(table, true),
        "struct": teds(table, true, text=False) if len(table) else 0.0,
        "grid": float(same_cells(table, true)),
        "spans": sum(_spans(true)),
        "spans_right": sum(key in _places(table) for key in _places(true) if key[2] * key[3] > 1),
    }
    if not has_text:
        return scores
    texts = [[normalize(cell.text) for cell in grid.cells] for grid in (table, true)]
    invented, misread, lost = aligned(*("".join(some) for some in texts))
    return scores | {
        "con": grits_con(table, true),
        "teds": teds(table, true) if len(table) else 0.0,
        "exact": float(scores["grid"] == 1 and texts[0] == texts[1]),
        "characters": sum(map(len, texts[1])), "invented": invented, "misread": misread, "lost": lost,
    }  # fmt: skip


def aligned(read: str, true: str) -> tuple[int, int, int]:
    """Characters that were invented, misread and lost, by the shortest edit.

    >>> aligned("abxd", "abcde"), aligned("", "ab"), aligned("7", "")
    ((0, 1, 1), (0, 0, 2), (1, 0, 0))
    """
    from rapidfuzz.distance import Levenshtein

    kinds = [each.tag for each in Levenshtein.editops(true, read)]
    return kinds.count("insert"), kinds.count("replace"), kinds.count("delete")


def _places(grid: Grid) -> set[tuple[int, int, int, int]]:
    return {(cell.row, cell.col, cell.rowspan, cell.colspan) for cell in grid.cells}


def _spans(grid: Grid) -> list[bool]:
    return [cell.rowspan * cell.colspan > 1 for cell in grid.cells]


def reader(weights: Path, device: str) -> Call:
    """Return what reads a picture by the network."""
    import paddle

    from tablerec.language.reader.generate import read
    from tablerec.language.reader.network import load_reader

    paddle.set_device(device)
    net = load_reader(weights)
    if device != "cpu":
        net.to(dtype="bfloat16")

    def call(images: Sequence[Image]) -> list[Read]:
        return [
            (
                each.written.table,
                {
                    "tokens": len(each.tokens), "cut": each.cut,
                    "log_chance": round(float(np.log(np.maximum(each.chances, 1e-9)).mean()), 4),
                },
            )
            for each in read(net, images)
        ]  # fmt: skip

    return call


def auto() -> Call:
    """Return what reads a picture as the product does."""
    from tablerec.config import Settings
    from tablerec.pipeline import Recognizer

    recognizer = Recognizer(Settings())

    def call(images: Sequence[Image]) -> list[Read]:
        pages = [recognizer.recognize(np.ascontiguousarray(image[:, :, ::-1])).pages[0] for image in images]
        return [(largest_table(page.tables), {}) for page in pages]

    return call


def to_cells(table: Table | None) -> list[list[Any]]:
    """A table as JSON keeps it."""
    cells = table.from_left().cells if table else ()
    return [[cell.row, cell.col, cell.rowspan, cell.colspan, cell.text] for cell in cells]


def from_cells(cells: Sequence[Sequence[Any]]) -> Table:
    """A table of what ``to_cells`` gave.

    >>> from_cells(to_cells(Table.from_texts([["a", "b"]]))).to_grid()
    [['a', 'b']]
    """
    return Table([Cell(row, col, rowspan, colspan, text=text) for row, col, rowspan, colspan, text in cells])


def score(record: dict[str, Any], truth: Truth) -> dict[str, Any]:
    """Add the scores to what was read."""
    more = {"group": truth.source, "cells": len(truth.table.cells)}
    return record | more | compare(truth.table, from_cells(record["cells"]), has_text=truth.has_text)


def summary(results: Sequence[dict[str, Any]]) -> Iterator[str]:
    """Tables in Markdown: by group, then by number of cells, then who is right where the other is not."""
    yield (
        "| | who | tables | GriTS-Top | GriTS-Con | TEDS-Struct | TEDS | grid | all right | spans | invented | misread "
        "| lost | cut | s a table |"
    )
    yield "| --- " * 15 + "|"
    groups = sorted({each["group"] for each in results})
    for name in [*groups, *(_bin_name(number) for number in range(len(BINS) + 1)), "all"]:
        some = [each for each in results if name in ("all", each["group"], _bin_of(each["cells"]))]
        for who in sorted({each["who"] for each in some}):
            yield _row(name, who, [each for each in some if each["who"] == who])
    by_name: dict[str, dict[str, dict[str, Any]]] = {}
    for each in results:
        by_name.setdefault(each["name"], {})[each["who"]] = each
    both = [(name, who) for name, who in by_name.items() if {"reader", "auto"} <= who.keys()]
    for better, worse in (("reader", "auto"), ("auto", "reader")):
        names = [name for name, who in both if who[better]["grid"] > who[worse]["grid"]]
        yield f"\n{better} alone has the right grid on {len(names)} of {len(both)} tables: {', '.join(names) or '-'}"


def _bin_of(cells: int) -> str:
    return _bin_name(sum(cells > most for most in BINS))


def _bin_name(number: int) -> str:
    return f"up to {BINS[number]} cells" if number < len(BINS) else f"above {BINS[-1]} cells"


def _row(name: str, who: str, some: Sequence[dict[str, Any]]) -> str:
    means = [_mean(some, key) for key in ("top", "con", "struct", "teds", "grid", "exact")]
    spans = sum(each["spans"] for each in some)
    right = f"{sum(each['spans_right'] for each in some)} of {spans}" if spans else "-"
    characters = sum(each.get("characters", 0) for each in some)
    shares = [
        f"{100 * sum(each.get(key, 0) for each in some) / characters:.1f} %" if characters else "-"
        for key in ("invented", "misread", "lost")
    ]
    cut = sum(bool(each.get("cut")) for each in some)
    values = [name, who, len(some), *means, right, *shares, cut, _mean(some, "seconds")]
    return "| " + " | ".join(map(str, values)) + " |"


def _mean(some: Sequence[dict[str, Any]], key: str) -> str:
    values = [each[key] for each in some if each.get(key) is not None]
    return f"{sum(values) / len(values):.3f}" if values else "-"


def read_all(
    truths: Sequence[Truth], calls: dict[str, Call], out: Path, end: float, batch: int
) -> list[dict[str, Any]]:
    """Read what was not read before; what was is taken from OUT."""
    path = out / "read.jsonl"
    records = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.is_file() else []
    known = {(each["name"], each["who"]) for each in records}
    warm = set[str]()
    for start in range(0, len(truths), batch):
        for who, call in calls.items():
            wanted = [truth for truth in truths[start : start + batch] if (truth.id, who) not in known]
            for some in [wanted] if who == "reader" else [[each] for each in wanted]:
                if not some or time.monotonic() > end:
                    continue
                images = [load(truth.image) for truth in some]
                if who not in warm:
                    call(images)  # what is loaded and chosen at first is no time of a table
                    warm.add(who)
                begun = time.perf_counter()
                try:
                    found = call(images)
                except TablerecError as error:
                    found = [(None, {"problem": str(error)})] * len(some)
                seconds = round((time.perf_counter() - begun) / len(some), 3)
                for truth, (table, notes) in zip(some, found, strict=True):
                    record = {"name": truth.id, "who": who, "seconds": seconds, **notes, "cells": to_cells(table)}
                    records.append(record)
                    with path.open("a", encoding="utf-8") as file:
                        file.write(json.dumps(record, ensure_ascii=False) + "\n")
                    print(f"{truth.id} {who}: {len(record['cells'])} cells, {seconds} s {notes}", flush=True)
    return records


def load(path: Path) -> Image:
    """Read a picture, in RGB."""
    import cv2

    image = cv2.imread(str(path))
    if image is None:
        raise SystemExit(f"{path} cannot be read as a picture")
    return np.ascontiguousarray(image[:, :, ::-1])


def main() -> None:
    """Read and score."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("weights", type=Path)
    parser.add_argument("folders", type=Path, nargs="+", metavar="FOLDER")
    parser.add_argument("--count", type=int, help="pictures of each folder, sources in turn; all by default")
    parser.add_argument("--batch", type=int, default=1, help="pictures that the reader reads at once  [default: 1]")
    parser.add_argument("--only", choices=["reader", "auto", "none"], help="who reads; none: what was read is scored")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--plugin", type=Path)
    parser.add_argument("--seconds", type=float, default=3600.0, help="no picture is begun after so many")
    parser.add_argument("--out", type=Path, default=Path("out/reader"))
    options = parser.parse_args()
    end = time.monotonic() + options.seconds
    if options.plugin:
        from tablerec.devices.plugin import load_plugin

        load_plugin(options.plugin)
    options.out.mkdir(parents=True, exist_ok=True)
    every = [each for folder in options.folders for each in sample_truths(folder, options.count, with_text=False)]
    truths = sorted((each for each in every if not each.flawed), key=lambda truth: len(truth.table.cells))
    calls: dict[str, Call] = {}
    if options.only in (None, "reader"):
        calls["reader"] = reader(options.weights, options.device)
    if options.only in (None, "auto"):
        calls["auto"] = auto()
    records = read_all(truths, calls, options.out, end, options.batch)
    try:
        require_libraries("apted", "rapidfuzz")
    except MissingDependencyError as error:
        print(f"{len(records)} tables were read; score them elsewhere with --only none ({error})", flush=True)
        return
    by_id = {truth.id: truth for truth in truths}
    results = [score(record, by_id[record["name"]]) for record in records if record["name"] in by_id]
    text = "\n".join(summary(results))
    (options.out / "scores.md").write_text(text + "\n", encoding="utf-8")
    print(text, flush=True)


if __name__ == "__main__":
    main()
