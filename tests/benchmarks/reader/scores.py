"""The reader that writes tokens beside ``auto``: ``python -m tests.benchmarks.reader.scores WEIGHTS --out OUT``.

WEIGHTS is a folder that ``tablerec.language.reader.train`` wrote. Pictures are drawn ones that are in no training, by
level, and of recipes that no training draws; with ``--bench FOLDER`` real ones too (JSON with pictures, as for
``tablerec eval``); both read the same ones. Each result is kept in OUT, so a run that ``--seconds`` ended goes on, and
the reader may run on a card's machine (``--only reader --device tablerec_gpu --plugin LIBRARY``) and ``auto``
elsewhere. Prints, by group and by number of cells: GriTS of topology and content, TEDS, share of tables whose grid is
right, and whose texts are right as well; characters that were invented, misread and lost by an alignment of all texts,
in percent of the true ones; texts in cells that are empty; and seconds a table. Then, on which tables either is right
where the other is not.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from postprocess.table import Table
from tablerec.errors import TablerecError
from tablerec.evaluate.runner import largest_table
from tablerec.evaluate.scoring.cells import same_cells
from tablerec.evaluate.scoring.grits import grits_con, grits_top
from tablerec.evaluate.scoring.teds import teds
from tablerec.evaluate.truth import Grid, normalize
from tablerec.language.reader.data import LEAST_SCALE, levels_named, recipe_of
from tablerec.language.reader.patches import fit
from tablerec.synth import draw
from tests.benchmarks.reading.tables import sample_truths

SEED = 2_000_003
"""Of drawn pictures; a training has other seeds."""
UNSEEN = ("unseen_cards", "unseen_questionnaire", "unseen_rota")
BINS = (6, 20, 60, 120)
"""Cells of a table up to which it is in a group."""


@dataclass(frozen=True)
class Picture:
    """A picture of a table and its truth.

    Args:
        name: Of the picture.
        group: What it belongs to.
        image: ``(H, W, 3)`` uint8 RGB.
        truth: The table; without texts where these are not known.
        has_text: Whether they are.
    """

    name: str
    group: str
    image: NDArray[np.uint8]
    truth: Grid
    has_text: bool = True


def drawn(levels: str, count: int) -> Iterator[Picture]:
    """Draw so many pictures of each level, and of each recipe that no training draws."""
    scripts = {"english": 8, "latin": 1}
    chosen = levels_named(levels)
    groups = [(f"level {number}", level) for number, level in enumerate(chosen)]
    groups += [(name, replace(chosen[-1], recipe=name)) for name in UNSEEN]
    for group, level in groups:
        recipe, index, found = recipe_of(level, scripts), 0, 0
        while found < count and index < 20 * count:
            sample, index = draw(recipe, SEED, index), index + 1
            if len(sample.tables) == 1 and fit(sample.image, level.patches)[1] >= LEAST_SCALE:
                found += 1
                yield Picture(f"{group}-{index}", group, sample.image, sample.to_tables()[0])


def real(folder: Path, count: int | None) -> Iterator[Picture]:
    """Read pictures of a benchmark, its sources in turn."""
    import cv2

    for truth in sample_truths(folder, count, with_text=False):
        image = cv2.imread(str(truth.image))
        if image is not None and not truth.flawed:
            yield Picture(truth.id, truth.source, np.ascontiguousarray(image[:, :, ::-1]), truth.table, truth.has_text)


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
        "in_empty": sum(map(bool, texts[0])) - sum(map(bool, texts[1])) if scores["grid"] else None,
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


def reader(weights: Path, device: str) -> Callable[[Picture], tuple[Table, dict[str, Any]]]:
    """Return what reads a picture by the network."""
    import paddle

    from tablerec.language.reader.generate import read
    from tablerec.language.reader.network import load_reader

    paddle.set_device(device)
    net = load_reader(weights)
    if device != "cpu":
        net.to(dtype="bfloat16")

    def call(picture: Picture) -> tuple[Table, dict[str, Any]]:
        found = read(net, [picture.image])[0]
        chance = float(np.log(np.maximum(found.chances, 1e-9)).mean())
        return found.written.table, {"tokens": len(found.tokens), "cut": found.cut, "log_chance": chance}

    return call


def auto() -> Callable[[Picture], tuple[Table | None, dict[str, Any]]]:
    """Return what reads a picture as the product does."""
    from tablerec.config import Settings
    from tablerec.pipeline import Recognizer

    recognizer = Recognizer(Settings())
    return lambda picture: (
        largest_table(recognizer.recognize(np.ascontiguousarray(picture.image[:, :, ::-1])).pages[0].tables),
        {},
    )


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


def main() -> None:
    """Read and score."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("weights", type=Path)
    parser.add_argument("--levels", default="tables", help="of the training  [default: tables]")
    parser.add_argument("--drawn", type=int, default=12, help="pictures of each level and recipe  [default: 12]")
    parser.add_argument("--bench", type=Path)
    parser.add_argument("--count", type=int, help="pictures of the bench; all by default")
    parser.add_argument("--only", choices=["reader", "auto"])
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
    path = options.out / "pictures.jsonl"
    lines = path.read_text(encoding="utf-8").splitlines() if path.is_file() else []
    results = [json.loads(line) for line in lines]
    known = {(each["name"], each["who"]) for each in results}
    calls: dict[str, Callable[[Picture], tuple[Table | None, dict[str, Any]]]] = {}
    if options.only != "auto":
        calls["reader"] = reader(options.weights, options.device)
    if options.only != "reader":
        calls["auto"] = auto()
    pictures = list(drawn(options.levels, options.drawn))
    pictures += list(real(options.bench, options.count)) if options.bench else []
    if pictures:
        for call in calls.values():
            call(pictures[0])  # what is loaded and chosen at first is no time of a table
    for picture in pictures:
        for who, call in calls.items():
            if (picture.name, who) in known or time.monotonic() > end:
                continue
            begun, problem = time.perf_counter(), ""
            try:
                table, notes = call(picture)
            except TablerecError as error:
                table, notes, problem = None, {}, str(error)
            record = {
                "name": picture.name, "group": picture.group, "who": who, "cells": len(picture.truth.cells),
                "seconds": round(time.perf_counter() - begun, 3), **notes,
                **compare(picture.truth, table, has_text=picture.has_text), **({"problem": problem} if problem else {}),
            }  # fmt: skip
            results.append(record)
            with path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(record) + "\n")
            print(f"{picture.name} {who}: {record}", flush=True)
    text = "\n".join(summary(results))
    (options.out / "scores.md").write_text(text + "\n", encoding="utf-8")
    print(text, flush=True)


if __name__ == "__main__":
    main()
