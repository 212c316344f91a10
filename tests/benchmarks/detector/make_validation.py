"""The fixed validation set:
``python -m tests.benchmarks.detector.make_validation -o FOLDER [-n 200] [--renderer fast]``.

A developer script, not a test. Pictures of all recipes in equal shares, drawn by Chromium, from a seed that training
does not use: the set is the same wherever browser and fonts are. ``FOLDER`` gets ``<recipe>/<recipe>_<number>.json``
with the picture beside it, as ``tablerec eval FOLDER`` reads it (it leaves out pages with several tables), and
``tablerec.synth.labels.read_sample`` with all quads. A stopped run goes on where it was.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

from tablerec.errors import TablerecError
from tablerec.synth import draw, load_recipe, recipe_names
from tablerec.synth.labels import write_sample

SEED = 5_000_000_011
"""Training uses small seeds: no table of this set is ever drawn there."""


def members(count: int) -> Iterator[tuple[str, int]]:
    """Yield recipe and index of each picture; a larger set holds the smaller one.

    No index comes twice: recipes would make the same table of it in different dress.
    """
    recipes = [name for name in recipe_names() if name != "mixed" and not name.startswith("unseen_")]
    for number in range(count):
        yield recipes[number % len(recipes)], number


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-o", "--output", type=Path, required=True)
    parser.add_argument("-n", "--count", type=int, default=200)
    parser.add_argument("--renderer", choices=["fast", "browser"], default="browser")
    args = parser.parse_args()
    for number, (recipe, index) in enumerate(members(args.count), start=1):
        folder, name = args.output / recipe, f"{recipe}_{index:03}"
        if not (folder / f"{name}.json").exists():
            try:
                sample = draw(load_recipe(recipe), SEED, index, args.renderer)
                write_sample(sample, name, folder, folder, source=recipe)
            except TablerecError as error:
                sys.exit(f"{name}: {error}")
        if sys.stderr.isatty():
            print(f"\r{number} of {args.count}", end="", file=sys.stderr, flush=True)
    print(f"\nwrote {args.output} ({args.count} pictures)", file=sys.stderr)


if __name__ == "__main__":
    main()
