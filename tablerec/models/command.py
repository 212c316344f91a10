"""``tablerec export``."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import click

from tablerec.detect import WEIGHTS
from tablerec.detect.paddlex import OFFICIAL
from tablerec.errors import MissingDependencyError


@click.command("export", context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.argument("weights", type=click.Path(path_type=Path), metavar="[FILE...]", nargs=-1)
@click.option("-o", "--output", type=click.Path(path_type=Path), required=True, help="Folder to write to.")
@click.option("--threshold", default=0.1, show_default=True, help="Least score of a cell that the model returns.")
@click.option(
    "--as",
    "paddlex_name",
    type=click.Choice(OFFICIAL),
    help="Write it in the form of PaddleX's detector of this name, whose place it takes in PaddleX's own pipelines.",
)
def command(weights: tuple[Path, ...], output: Path, threshold: float, paddlex_name: str | None) -> None:
    """Write the network of FILE, a safetensors file of `tablerec train`, as Paddle's static model and as ONNX.

    Several files, of trainings that went on from the same checkpoint, are averaged; without any it is the
    package's network. Use it with `--detector cellnet --detector-dir FOLDER`.
    """
    for package in ("paddle", "onnx", "safetensors", "yaml"):
        if importlib.util.find_spec(package) is None:
            raise MissingDependencyError(f'tablerec export needs {package}: run pip install "tablerec[paddle]"')
    from tablerec.models.export import export_cellnet, export_for_paddlex, load_cellnet

    net = load_cellnet(*(weights or (WEIGHTS,)))
    if paddlex_name:
        export_for_paddlex(net, output, paddlex_name, threshold)
    else:
        export_cellnet(net, output, threshold)
    click.echo(output)
