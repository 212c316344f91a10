"""``tablerec export``."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import click

from tablerec.errors import MissingDependencyError


@click.command("export", context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.argument("weights", type=click.Path(path_type=Path), metavar="FILE...", nargs=-1, required=True)
@click.option("-o", "--output", type=click.Path(path_type=Path), required=True, help="Folder to write to.")
@click.option("--threshold", default=0.1, show_default=True, help="Least score of a cell that the model returns.")
def command(weights: tuple[Path, ...], output: Path, threshold: float) -> None:
    """Write the network of FILE, a safetensors file of `tablerec train`, as Paddle's static model and as ONNX.

    Several files, of trainings that went on from the same checkpoint, are averaged.
    Use it with `--detector cellnet --detector-dir FOLDER`.
    """
    for package in ("paddle", "onnx", "safetensors", "yaml"):
        if importlib.util.find_spec(package) is None:
            raise MissingDependencyError(f'tablerec export needs {package}: run pip install "tablerec[paddle]"')
    from tablerec.models.export import export_cellnet, load_cellnet

    export_cellnet(load_cellnet(*weights), output, threshold)
    click.echo(output)
