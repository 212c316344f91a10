"""Pictures for the benchmarks of throughput: drawn ones, and those of the benchmark where it is there."""

from __future__ import annotations

import itertools
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from random import Random

ROOT = Path(__file__).resolve().parents[3]
BENCH = ROOT.parent / "shared" / "bench" / "dev"
RECIPES = ("thumbnail", "ruled", "lineless", "sparse")
MOST_BYTES = 150_000
"""Larger pictures are left out: a soak is about many pages."""


def make_inputs(folder: Path, n_inputs: int, n_drawn: int = 24, bench: Path = BENCH, seed: int = 0) -> list[Path]:
    """Write pictures that all differ, at least by some bytes behind their end.

    Args:
        folder: Where to; what is there of an earlier call is kept.
        n_inputs: How many.
        n_drawn: How many of them are drawn by each recipe; with those of the benchmark they come again and again.
        bench: Folder with pictures of the benchmark, if it is there.
        seed: Of their order.
    """
    folder.mkdir(parents=True, exist_ok=True)
    pictures = [*draw(folder.parent / "drawn", n_drawn), *pictures_in(bench)]
    Random(seed).shuffle(pictures)
    made = []
    for number, picture in zip(range(n_inputs), itertools.cycle(pictures), strict=False):
        path = folder / f"{number:06}{picture.suffix}"
        if not path.exists():
            path.write_bytes(picture.read_bytes() + f"{number}".encode())
        made.append(path)
    return made


def draw(folder: Path, n_drawn: int) -> Iterator[Path]:
    """Yield pictures of ``tablerec synth``."""
    for recipe in RECIPES if n_drawn else ():
        target = folder / recipe
        command = [sys.executable, "-m", "tablerec", "synth", recipe, "-n", f"{n_drawn}", "-o", str(target)]
        if not pictures_in(target):
            subprocess.run([*command, "--format", "bench"], check=True, cwd=ROOT, stdout=subprocess.DEVNULL)
        yield from pictures_in(target)[:n_drawn]


def pictures_in(folder: Path) -> list[Path]:
    """The small pictures of a folder, if it is there."""
    found = (path for path in sorted(folder.rglob("*")) if path.suffix in (".png", ".jpg"))
    return [path for path in found if path.stat().st_size <= MOST_BYTES]


def split_options(arguments: list[str]) -> tuple[list[str], list[str]]:
    """Return what stands before ``--``, and what behind it."""
    at = arguments.index("--") if "--" in arguments else len(arguments)
    return arguments[:at], arguments[at + 1 :]
