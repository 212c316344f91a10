"""``tablerec labels``."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from tablerec.labels.check import Summary
    from tablerec.labels.label import Problem

_SETTINGS = {"help_option_names": ["-h", "--help"], "max_content_width": 100}
_BINS = (0, 10, 50, 200, 1000)


@click.group("labels", context_settings=_SETTINGS)
def command() -> None:
    """Check, convert and propose labels of cells.

    PATH is a folder or a label file: COCO as PaddleX has it, PPOCRLabel, labelme, PubTabNet's lines, or our JSON
    beside each picture. The format is recognized.
    """


@command.command("check", context_settings=_SETTINGS)
@click.argument("path", type=click.Path(path_type=Path))
@click.option("--most", type=click.IntRange(0), default=1000, show_default=True, help="Problems that are printed.")
@click.pass_context
def check(ctx: click.Context, path: Path, most: int) -> None:
    """Name each bad label with its file, and count pictures and cells; exit code 1 if there are errors."""
    from tablerec.labels.check import Summary, check_labels
    from tablerec.labels.read import read_labels

    summary = Summary()
    _print(check_labels(read_labels(path), summary), most)
    for line in _summary_lines(summary):
        click.echo(line)
    ctx.exit(1 if summary.n_errors else 0)


def _print(problems: Iterable[Problem], most: int) -> None:
    from tablerec.images import display_name

    count = 0
    for count, problem in enumerate(problems, start=1):
        if count <= most:
            click.echo(display_name(str(problem)))
    if count > most:
        click.echo(f"... and {count - most} more")


def _summary_lines(summary: Summary) -> list[str]:
    count = len(summary.cells)
    lines = [f"{count} pictures, {sum(summary.cells)} cells, {summary.n_errors} errors, {summary.n_notes} notes"]
    if count:
        edges = [*_BINS, max(_BINS[-1], *summary.cells)]
        shares = [sum(low < n <= high for n in summary.cells) for low, high in pairwise((-1, *edges))]
        names = ["none", *(f"{low + 1} to {high}" for low, high in pairwise(_BINS)), "more"]
        lines.append(
            "cells a picture: " + ", ".join(f"{n} with {name}" for n, name in zip(shares, names, strict=True) if n)
        )
    if summary.sizes:
        sides = sorted(max(size) for size in summary.sizes)
        lines.append(f"longer sides: {sides[0]} to {sides[-1]} px, half of them up to {sides[len(sides) // 2]}")
    if set(summary.splits) - {""}:
        lines.append("splits: " + ", ".join(f"{n} {name or 'without'}" for name, n in sorted(summary.splits.items())))
    return lines


@command.command("convert", context_settings=_SETTINGS)
@click.argument("path", type=click.Path(path_type=Path))
@click.option("--to", "format", type=click.Choice(["coco", "bench", "ppocrlabel", "labelme"]), required=True)
@click.option("-o", "--output", type=click.Path(path_type=Path), required=True, help="New folder to write to.")
@click.option("--split", type=click.FloatRange(0, 1), help="Share for training; the others are for validation.")
@click.pass_context
def convert(ctx: click.Context, path: Path, format: Any, output: Path, split: float | None) -> None:
    """Write labels and pictures in another format; exit code 1 if some were left out, which are named."""
    from tablerec.images import display_name
    from tablerec.labels.convert import convert_labels
    from tablerec.labels.label import Problem
    from tablerec.labels.read import read_labels

    n_written = n_errors = 0
    for each in convert_labels(read_labels(path), output, format, split):
        if isinstance(each, Problem):
            n_errors += each.is_error
            click.echo(display_name(str(each)), err=True)
        else:
            n_written += 1
    click.echo(f"wrote {output} ({n_written} pictures, {format})")
    ctx.exit(1 if n_errors or not n_written else 0)
