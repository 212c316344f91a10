"""Training of our networks: one loop, for any source of samples.

::

    settings.py      TrainSettings, read_settings
    fields.py        a file's values, checked against the types of the fields
    owners.py        which cell lies at each position, drawn once for each sample
    sources.py       synthetic tables, folders with labels, functions
    samples.py       samples on the canvas, drawn by worker processes
    batches.py       the buffer on the device, and augmentation
    task.py          what the loop has to know of a kind of network
    cellnet_task.py  CellNet as the loop sees it
    cellnet_loss.py  what it should answer, and how far it is off
    rtdetr_task.py   PaddleX's RT-DETR as the loop sees it
    rtdetr_network.py  its layers, with the answers that the loss needs
    rtdetr_loss.py   how far they are off
    matcher.py       which query answers for which cell
    denoising.py     queries that hold noised cells, as many for any picture
    average.py       averaged weights and their statistics
    learning.py      which parameters learn
    lora.py          changes of low rank
    frozen.py        weights that do not learn, in fewer bits
    memory.py        peaks, recomputation, and what to do where memory lacks
    optimizer.py     AdamW, and AdamW with a state of 8 bits
    precision.py     bfloat16 and float16
    measure.py       what a few steps take, in a process of their own
    costs.py         what other settings would take
    tune.py          settings that learn most within a limit
    trainer.py       one step, and the state of a checkpoint
    checkpoint.py    whole checkpoints or none
    ranks.py         several processes that train together
    sharding.py      the state of the optimizer, divided among them
    launch.py        starts them
    meeting.py       lets them wait for each other
    validation.py    F1 on fixed samples, and pictures
    logs.py          a line for each step and each validation
    report.py        what came of a run, and what to worry about
    report_page.py   the same as a page
    loop.py          all together
    command.py       `tablerec train` and `tablerec tune`

The modules that compute import Paddle and are imported late.
"""

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
        TrainingError: The loss is not finite, or samples cannot be drawn.
        OutputError: The output cannot be written; checkpoints that are there are whole.
    """
    from tablerec.devices import parse_device, require_device
    from tablerec.training.launch import is_launched, launch_ranks

    if settings.ranks > 1 and not is_launched():
        return launch_ranks(settings, report, plugin)
    load_device_plugin(plugin)
    for number in range(settings.ranks):
        require_device(parse_device(settings.device_of(number)))
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
