"""``tablerec labels``."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tablerec.inputs.images import display_name

if TYPE_CHECKING:
    from tablerec.labels.check import Summary
    from tablerec.labels.label import Label, Problem
    from tablerec.pipeline import Recognizer

_BINS = (0, 10, 50, 200, 1000)


@click.group("labels")
def command() -> None:
    """Check, convert and propose labels of cells.

    PATH is a folder or a label file: COCO as PaddleX has it, PPOCRLabel, labelme, PubTabNet's lines, or our JSON
    beside each picture. The format is recognized.
    """


@command.command("check")
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


@command.command("convert")
@click.argument("path", type=click.Path(path_type=Path))
@click.option("--to", "format", type=click.Choice(["coco", "bench", "ppocrlabel", "labelme"]), required=True)
@click.option("-o", "--output", type=click.Path(path_type=Path), required=True, help="New folder to write to.")
@click.option("--split", type=click.FloatRange(0, 1), help="Share for training; the others are for validation.")
@click.pass_context
def convert(ctx: click.Context, path: Path, format: Any, output: Path, split: float | None) -> None:
    """Write labels and pictures in another format; exit code 1 if some were left out, which are named."""
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


@command.command("propose")
@click.argument("pictures", nargs=-1, required=True, metavar="PICTURE...")
@click.option("-o", "--output", type=click.Path(path_type=Path), required=True, help="New folder to write to.")
@click.option(
    "--min-confidence",
    type=click.FloatRange(0, 1),
    default=0.8,
    show_default=True,
    help="Lowest score of a table that is kept.",
)
@click.option("--ocr", "ocr", default="auto", show_default=True, help="What reads the text, as for recognition.")
@click.option("--detector", default="auto", show_default=True, help="Cell detector, as for recognition.")
@click.option("--recursive", is_flag=True, help="Also read the folders inside a folder.")
@click.pass_context
def propose(
    ctx: click.Context,
    pictures: tuple[str, ...],
    output: Path,
    min_confidence: float,
    ocr: str,
    detector: str,
    recursive: bool,
) -> None:
    """Recognize tables, and keep as labels those that are explained perfectly: to train on, once you have checked them.

    PICTURE is a picture, a folder or a glob. A picture is kept as a whole or not at all, and each one that is not
    is named with the reason. Exit code 1 if a picture could not be read, or none was kept.
    """
    from tablerec.config import Settings
    from tablerec.errors import InputError
    from tablerec.inputs.images import expand_inputs
    from tablerec.labels.convert import convert_labels
    from tablerec.labels.label import Label, Problem

    reasons: Counter[str] = Counter()
    failed: list[InputError] = []

    def proposals() -> Iterator[Label | Problem]:
        from tablerec.pipeline import Recognizer

        recognizer = Recognizer(Settings(ocr=ocr, detector=detector))
        for source in expand_inputs(pictures, recursive, on_error=failed.append):
            try:
                found, reason = _propose(recognizer, source, min_confidence)
            except InputError as error:
                failed.append(error)
                continue
            if reason:
                reasons[re.sub(r"[\d.]+", "N", reason)] += 1
                yield Problem(str(source), reason, is_error=False)
            elif found is not None:
                yield found

    kept = 0
    for each in convert_labels(proposals(), output, "bench"):
        kept += isinstance(each, Label)
        if isinstance(each, Problem):
            click.echo(display_name(str(each)), err=True)
    for error in failed:
        click.echo(f"Error: {display_name(str(error))}", err=True)
    click.echo(f"wrote {output} ({kept} of {kept + sum(reasons.values())} pictures)")
    for reason, count in reasons.most_common():
        click.echo(f"{count:5d} not kept: {reason}")
    ctx.exit(1 if failed or not kept else 0)


def _propose(recognizer: Recognizer, source: Any, min_confidence: float) -> tuple[Label | None, str]:
    from tablerec.labels.propose import page_to_label, why_not

    pages = recognizer.recognize(source).pages
    if not isinstance(source, str) or len(pages) != 1 or pages[0].picture.words is not None:
        return None, "no picture of one page: save the pages of a document as pictures"
    reason = why_not(pages[0], min_confidence)
    return (None, reason) if reason else (page_to_label(pages[0], Path(source)), "")
