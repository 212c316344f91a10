"""``tablerec train`` and ``tablerec tune``."""

from __future__ import annotations

import importlib.util
import re
import shutil
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import click

from tablerec.errors import MissingDependencyError, SettingsError

_PROGRESS = re.compile(r"(step \d+) (total .*) (left \S+ min)")
_PATHS = {"max_minutes_per_run": "schedule.max_minutes_per_run", "workers": "data.workers"}
_SET = click.option(
    "--set", "fields", multiple=True, metavar="PATH=VALUE", help="Another value for a field, such as data.batch_size=8."
)
_ALLOW_IMPORT = click.option(
    "--allow-import", is_flag=True, help="Let a source MODULE:FUNCTION in CONFIG import Python code and run it."
)
_EXPLAIN = "Print every field that CONFIG may have: type, range, default and what it is for."


def _print_settings(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted and not ctx.resilient_parsing:
        from tablerec.settings_fields import describe
        from tablerec.training.settings import TrainSettings

        click.echo(describe(TrainSettings))
        ctx.exit()


@click.command("train")
@click.argument("config", type=click.Path(path_type=Path))
@click.option("-o", "--output", type=click.Path(path_type=Path), help="Folder to write to, instead of the file's.")
@click.option("--resume", type=click.Path(path_type=Path), help="Folder of an earlier run to continue from.")
@click.option("--max-minutes-per-run", type=float, metavar="N", help="Stop after N minutes, with a checkpoint.")
@click.option("--device", metavar="NAME", help="cpu, gpu, or the name of a device of a plugin.")
@click.option("--ranks", type=int, metavar="N", help="Processes that train together, each on a device of its own.")
@click.option("--workers", type=int, metavar="N", help="Processes that prepare samples.")
@click.option("--plugin", metavar="KIND|PATH", help="Device plugin to load: simulated, cuda or a library.")
@_SET
@_ALLOW_IMPORT
@click.option("--settings", is_flag=True, is_eager=True, expose_value=False, callback=_print_settings, help=_EXPLAIN)
def command(config: Path, plugin: str | None, fields: tuple[str, ...], allow_import: bool, **changes: Any) -> None:
    """Train a cell detector or the line reader as CONFIG says, a YAML or JSON file.

    The same command continues a run that was stopped, from the last checkpoint in its output folder.
    --settings explains each field of CONFIG.
    """
    from tablerec.training import train
    from tablerec.training.settings import read_settings

    _require("train", "paddle", "safetensors", "yaml")
    lines = Lines(sys.stdout.isatty())
    try:
        chosen = {**_read_fields(fields), **_given(changes)}
        train(read_settings(config, chosen, allow_import=allow_import), lines.print, plugin)
    finally:
        lines.close()


@click.command("tune")
@click.argument("config", type=click.Path(path_type=Path))
@click.option("--memory", required=True, metavar="SIZE", help="Of the device, for example 4GB or 800MB.")
@click.option(
    "--minutes", type=click.FloatRange(min=0, min_open=True), help="For measurements and trials; detectors need it."
)
@click.option("-o", "--output", type=click.Path(path_type=Path), help="Folder to write to, instead of the file's.")
@click.option("--device", metavar="NAME", help="cpu, gpu, or the name of a device of a plugin.")
@click.option("--plugin", metavar="KIND|PATH", help="Device plugin to load: simulated, cuda or a library.")
@click.option("--length", type=click.IntRange(min=1), help="Of a language model: tokens of a sequence; it needs this.")
@click.option(
    "--sequences", type=click.IntRange(1, 4096), default=8, show_default=True, help="Of a language model: in a step."
)
@_SET
@_ALLOW_IMPORT
def tune_command(
    config: Path,
    memory: str,
    minutes: float | None,
    plugin: str | None,
    length: int | None,
    sequences: int,
    fields: tuple[str, ...],
    allow_import: bool,
    **changes: Any,
) -> None:
    """Choose how to train within a limit of memory, and say why.

    CONFIG is the settings of `tablerec train`: a few steps of each way to train are measured; what cannot fit is left
    out; short trainings decide between the rest. OUTPUT/tune/chosen.yaml is written. The same command continues a
    tuning that was stopped.

    Or CONFIG is the config.json of a language model, or its folder: what each method takes is predicted, and
    OUTPUT/method.yaml, by default beside CONFIG, has the first that fits.
    """
    if config.is_dir() or config.name == "config.json":
        given = {"minutes": minutes, "device": changes["device"], "plugin": plugin, "set": fields}
        _refuse_for_decoders({**given, "allow-import": allow_import})
        if length is None:
            raise SettingsError("tune of a language model needs --length, the tokens of a sequence")
        _require("tune", "yaml")
        from tablerec.language.choose import tune_decoder

        output = changes["output"] or (config if config.is_dir() else config.parent)
        tune_decoder(config, output, read_bytes(memory), length, sequences, click.echo)
        return
    if not config.exists() and config.suffix not in (".yaml", ".yml"):
        raise SettingsError(f"{config} is missing: name the settings of a detector, or a language model's folder")
    if minutes is None:
        raise SettingsError("tune needs --minutes, the time for measurements and trials")
    from tablerec.training.settings import read_settings

    _require("tune", "paddle", "safetensors", "yaml")
    from tablerec.training.tuning.search import tune

    settings = read_settings(config, {**_read_fields(fields), **_given(changes)}, allow_import=allow_import)
    tune(settings, read_bytes(memory), minutes, click.echo, plugin)


def _refuse_for_decoders(options: Mapping[str, Any]) -> None:
    given = [f"--{name}" for name, value in options.items() if value]
    if given:
        raise SettingsError(f"tune of a language model only predicts: leave out {', '.join(given)}")


def _given(changes: Mapping[str, Any]) -> dict[str, Any]:
    """Options that were given, by path."""
    return {_PATHS.get(name, name): value for name, value in changes.items() if value is not None}


def _require(verb: str, *packages: str) -> None:
    for package in packages:
        if importlib.util.find_spec(package) is None:
            raise MissingDependencyError(f'tablerec {verb} needs {package}: run pip install "tablerec[paddle]"')


def read_bytes(text: str) -> float:
    """Read a size of memory.

    Raises:
        SettingsError: It is none.

    >>> read_bytes("4GB"), read_bytes("1.5 GiB"), read_bytes("800mb")
    (4000000000.0, 1610612736.0, 800000000.0)
    """
    match = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)\s*([gm])(i?)b?", text.strip().lower())
    if match is None or not float(match[1]):
        raise SettingsError(f"memory {text!r} is no size: write for example 4GB or 800MB")
    return float(match[1]) * (1024 if match[3] else 1000) ** (3 if match[2] == "g" else 2)


class Lines:
    """Lines for the user; on a terminal the progress is one line that changes.

    Args:
        changing: Whether it is a terminal.
    """

    def __init__(self, changing: bool) -> None:
        self._changing, self._open = changing, False

    def print(self, line: str) -> None:
        """Show a line; one of a step gives way to the next."""
        progress = _PROGRESS.fullmatch(line) if self._changing else None
        self.close(keep=False)
        if progress is None:
            click.echo(line)
            return
        step, losses, left = progress.groups()
        click.echo(f"{step} {left} {losses}"[: shutil.get_terminal_size().columns - 1], nl=False)
        self._open = True

    def close(self, *, keep: bool = True) -> None:
        """End the line that changes, or clear it."""
        if self._open:
            click.echo("" if keep else "\r" + " " * (shutil.get_terminal_size().columns - 1) + "\r", nl=keep)
        self._open = False


def _read_fields(fields: Iterable[str]) -> dict[str, Any]:
    """Read ``PATH=VALUE``, with values as YAML has them.

    >>> _read_fields(["schedule.steps=20", "optimizer.lora={rank: 2}", "data.source=synth:mixed*3, folder:mine"])
    {'schedule.steps': 20, 'optimizer.lora': {'rank': 2}, 'data.source': 'synth:mixed*3, folder:mine'}
    """
    from tablerec.fields import parse_yaml

    values = {}
    for each in fields:
        name, sign, value = each.partition("=")
        try:
            values[name.strip()] = parse_yaml(value)
        except ValueError as error:
            raise SettingsError(f"--set {each}: the value is no YAML ({error})") from error
        if not sign:
            raise SettingsError(f"--set {each}: write PATH=VALUE")
    return values
