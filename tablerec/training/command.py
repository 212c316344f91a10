"""``tablerec train``."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import click

from tablerec.errors import MissingDependencyError, SettingsError


@click.command("train", context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.argument("config", type=click.Path(path_type=Path))
@click.option("--output", type=click.Path(path_type=Path), help="Folder to write to, instead of the file's.")
@click.option("--resume", type=click.Path(path_type=Path), help="Folder of an earlier run to go on from.")
@click.option("--stretch-minutes", type=float, metavar="N", help="End after N minutes, with a checkpoint.")
@click.option("--device", metavar="NAME", help="cpu, gpu, or the name of a device of a plugin.")
@click.option("--ranks", type=int, metavar="N", help="Processes that train together, each on a device of its own.")
@click.option("--workers", type=int, metavar="N", help="Processes that draw samples.")
@click.option("--plugin", metavar="KIND|PATH", help="Device plugin to load: simulated, cuda or a library.")
@click.option("--set", "fields", multiple=True, metavar="NAME=VALUE", help="Another value for a field of CONFIG.")
def command(config: Path, plugin: str | None, fields: tuple[str, ...], **changes: Any) -> None:
    """Train a cell detector as CONFIG says, a YAML or JSON file.

    A run that was stopped goes on where its output holds a checkpoint: with the same command.
    The fields of CONFIG are those of tablerec.training.settings.TrainSettings.
    """
    from tablerec.training import train
    from tablerec.training.settings import read_settings

    for package in ("paddle", "safetensors", "yaml"):
        if importlib.util.find_spec(package) is None:
            raise MissingDependencyError(f'tablerec train needs {package}: run pip install "tablerec[paddle]"')
    train(read_settings(config, **_read_fields(fields), **changes), click.echo, plugin)


def _read_fields(fields: Iterable[str]) -> dict[str, Any]:
    """Read ``NAME=VALUE``, with values as YAML has them.

    >>> _read_fields(["steps=20", "augmentation={tilt: 2}", "source=synth:mixed*3, folder:mine"])
    {'steps': 20, 'augmentation': {'tilt': 2}, 'source': 'synth:mixed*3, folder:mine'}
    """
    import yaml

    values = {}
    for each in fields:
        name, sign, value = each.partition("=")
        try:
            values[name.strip()] = yaml.safe_load(value)
        except yaml.YAMLError as error:
            raise SettingsError(f"--set {each}: the value is no YAML ({error})") from error
        if not sign:
            raise SettingsError(f"--set {each}: write NAME=VALUE")
    return values
