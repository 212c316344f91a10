"""``tablerec synth``."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import click

from tablerec.errors import TablerecError

if TYPE_CHECKING:
    from tablerec.synth.recipe import Recipe

_ON_SHEET = 24
_LINES = "lines"


class _Folder(Protocol):
    @property
    def folder(self) -> Path: ...

    @property
    def format(self) -> str: ...

    def draw(self, count: int, jobs: int = 1) -> Iterator[int]: ...


@click.command("synth")
@click.argument("recipe", required=False)
@click.option("-n", "count", type=click.IntRange(1, 10_000_000), default=100, show_default=True, help="Samples.")
@click.option("-o", "--output", type=click.Path(file_okay=False, path_type=Path), help="Folder to write to.")
@click.option("--seed", type=click.IntRange(0, 2**63 - 1), default=0, show_default=True, help="Seed of the whole set.")
@click.option(
    "--format",
    type=click.Choice(["coco", "bench"]),
    default="coco",
    show_default=True,
    help="coco: as PaddleX trains on it. bench: a JSON file beside each picture, as tablerec eval reads it.",
)
@click.option(
    "--sheet",
    type=click.Path(dir_okay=False, path_type=Path),
    help=f"PNG file with the first {_ON_SHEET} samples side by side, cells outlined; also without -o.",
)
@click.option(
    "--renderer",
    type=click.Choice(["fast", "browser"]),
    help="Renderer; browser is Chromium, and needs the extra [browser]. By default as the recipe says.",
)
@click.option("--jobs", type=click.IntRange(1, 512), default=1, show_default=True, help="Number of processes.")
@click.option("--list", "show_list", is_flag=True, help="Print the recipes in the package.")
def command(
    recipe: str | None,
    count: int,
    output: Path | None,
    seed: int,
    format: Any,
    sheet: Path | None,
    renderer: Any,
    jobs: int,
    show_list: bool,
) -> None:
    """Make synthetic tables with exact truth, as RECIPE says: a name of --list, or a YAML file.

    RECIPE may also be lines, or for example lines/cyrillic or lines/unseen: lines of text with rec_gt.txt, the list
    that PaddleOCR's recognizers are trained on.

    The same recipe, seed and fonts, and with --renderer browser the same version of it,
    give the same samples, on any number of processes. A run
    that was stopped continues where it was when it is started again.
    """
    if show_list:
        _print_recipes()
        return
    if recipe is None:
        raise click.UsageError("name a RECIPE; --list prints those in the package")
    if output is None and sheet is None:
        raise click.UsageError("name a folder with -o, or a picture with --sheet")
    from tablerec.synth.dataset import Dataset
    from tablerec.synth.recipe import load_recipe

    kind, _, which = recipe.partition("/")
    if kind == _LINES:
        _draw_lines(which, count, output, seed, jobs, bool(sheet or renderer))
        return
    try:
        loaded = load_recipe(recipe)
        if output is not None:
            _draw_all(Dataset(output, loaded, seed, format, renderer), count, jobs)
        if sheet is not None:
            _draw_sheet(loaded, min(count, _ON_SHEET), seed, renderer, sheet)
    except TablerecError as error:
        raise click.ClickException(str(error)) from error


def _draw_lines(which: str, count: int, output: Path | None, seed: int, jobs: int, other: bool) -> None:
    if output is None or other:
        raise click.UsageError("lines take a folder with -o, and neither --sheet nor --renderer")
    from tablerec.synth.lines.dataset import LineDataset

    try:
        _draw_all(LineDataset(output, which or "mixed", seed), count, jobs)
    except TablerecError as error:
        raise click.ClickException(str(error)) from error


def _draw_all(dataset: _Folder, count: int, jobs: int) -> None:
    drawn = 0
    try:
        with click.progressbar(length=count, label="Drawing", file=sys.stderr) as bar:
            for _ in dataset.draw(count, jobs):
                drawn += 1
                bar.update(1)
    except KeyboardInterrupt:
        click.echo(f"\nStopped: {drawn} of {count} samples are there; the same command goes on from here", err=True)
        sys.exit(130)
    click.echo(f"wrote {dataset.folder} ({count} samples, {dataset.format})")


def _draw_sheet(recipe: Recipe, count: int, seed: int, renderer: Any, path: Path) -> None:
    from tablerec.synth.engine import draw
    from tablerec.synth.sheet import write_sheet

    write_sheet(path, (draw(recipe, seed, index, renderer) for index in range(count)))
    click.echo(f"wrote {path}")


def _print_recipes() -> None:
    from tablerec.synth.recipe import load_recipe, recipe_names

    names = [*recipe_names(), _LINES]
    width = max(map(len, names))
    for name in names:
        about = "Lines of text, for readers." if name == _LINES else load_recipe(name).about
        click.echo(f"{name:<{width}}  {about}")
