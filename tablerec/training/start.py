"""Starts a training: in this process, or in several."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tablerec.training.settings import TrainSettings


def train(
    settings: TrainSettings, report: Callable[[str], None] = lambda line: None, plugin: str | Path | None = None
) -> Path:
    """Train, or go on with a training that was stopped.

    Args:
        settings: What is trained, on what, for how long. Where ``output`` holds a checkpoint, it goes on.
        report: Called with each line for the user, for example ``print``.
        plugin: Device plugin to load first: ``simulated``, ``cuda`` or a library; Paddle must not have been imported.

    Returns:
        The file of the averaged weights. Beside it lie checkpoints, ``log.jsonl`` with the losses,
        ``curve.jsonl`` with the validation, pictures, and ``report.html`` with all of it.

    Raises:
        SettingsError: The device, the source or the plugin cannot be used.
        InputError: A checkpoint or the initial weights are broken or of another network.
        TrainingError: The loss is not finite, or too many samples fail.
        OutputError: The output cannot be written; checkpoints that are there are whole.
    """
    from tablerec.devices import parse_device, require_paddle
    from tablerec.training.ranks.launch import is_launched, launch_ranks

    if settings.ranks > 1 and not is_launched():
        return launch_ranks(settings, report, plugin)
    load_device_plugin(plugin)
    for number in range(settings.ranks):
        require_paddle(parse_device(settings.device_of(number)))
    from tablerec.training.loop import run

    return run(settings, report)


def load_device_plugin(plugin: str | Path | None) -> None:
    """Load a device plugin; Paddle must not have been imported.

    Args:
        plugin: ``simulated``, ``cuda`` or a library; None for none.

    Raises:
        SettingsError: It cannot be used.
    """
    if plugin is not None:
        from tablerec.devices.build import KINDS, build_plugin
        from tablerec.devices.plugin import load_plugin

        load_plugin(build_plugin(str(plugin)) if plugin in KINDS else Path(plugin))
