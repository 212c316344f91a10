"""Pictures for ``scores.py`` that are in no training: ``python -m tests.benchmarks.reader.draw OUT [--count 24]``.

For each level of the training so many, with a seed of their own, and so many of each recipe that no training draws, as
large as the last level allows. Each is a PNG with its truth as JSON beside it, as ``tablerec eval`` reads them.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from tablerec.language.reader.data import LEAST_SCALE, Level, levels_named, recipe_of
from tablerec.language.reader.patches import fit
from tablerec.synth import Sample, draw

SEED = 2_000_003
"""Of these pictures; a training has other seeds."""
UNSEEN = ("unseen_cards", "unseen_questionnaire", "unseen_rota")


def groups() -> Iterator[tuple[str, Level]]:
    """Yield the groups of pictures and how large these may be."""
    chosen = levels_named("tables")
    for number, level in enumerate(chosen):
        yield f"level_{number}", level
    for name in UNSEEN:
        yield name, replace(chosen[-1], recipe=name)


def samples(level: Level, count: int) -> Iterator[Sample]:
    """Draw so many tables that fit a level, or as many as there are among twenty times as many."""
    recipe = recipe_of(level, {"english": 8, "latin": 1})
    found = 0
    for index in range(20 * count):
        sample = draw(recipe, SEED, index)
        if found < count and len(sample.tables) == 1 and fit(sample.image, level.patches)[1] >= LEAST_SCALE:
            found += 1
            yield sample


def to_json(sample: Sample, name: str, group: str) -> dict[str, Any]:
    """The truth of a sample, as ``tablerec.evaluate.truth`` reads it."""
    cells = [
        {
            "row": cell.row, "col": cell.col, "rowspan": cell.rowspan, "colspan": cell.colspan, "text": cell.text,
            "bbox": None,
        }
        for cell in sample.to_tables()[0].cells
    ]  # fmt: skip
    return {"id": name, "source": group, "image": f"{name}.png", "cells": cells, "meta": {"has_text": True}}


def main() -> None:
    """Draw."""
    import cv2

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--count", type=int, default=24, help="pictures of each level and recipe  [default: 24]")
    options = parser.parse_args()
    for group, level in groups():
        folder = options.out / group
        folder.mkdir(parents=True, exist_ok=True)
        for number, sample in enumerate(samples(level, options.count)):
            name = f"{group}_{number}"
            cv2.imwrite(str(folder / f"{name}.png"), sample.image[:, :, ::-1])
            (folder / f"{name}.json").write_text(json.dumps(to_json(sample, name, group)), encoding="utf-8")
        print(f"{group}: {len(list(folder.glob('*.json')))} pictures", flush=True)


if __name__ == "__main__":
    main()
