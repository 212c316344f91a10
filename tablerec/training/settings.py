"""Settings of a training run: one frozen object, read from a YAML or JSON file."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from tablerec.devices import Device, parse_device
from tablerec.errors import InputError, SettingsError
from tablerec.training.fields import to_settings


@dataclass(frozen=True, slots=True)
class Augmentation:
    """How samples change each time they are used; all on the device.

    Args:
        unchanged: Share of samples that keep their geometry.
        zoom: Least and greatest scale.
        aspect: Greatest stretch of the width against the height, as a factor above 1.
        shift: Greatest move, in sides of the canvas.
        degrees: Standard deviation of the rotation.
        tilted: Share of samples that are turned, slanted and seen from the side more, as photographs are.
        tilt: Standard deviation of their rotation, degrees; they are slanted by a third of it.
        depth: Greatest change of their scale from the middle of the canvas to its sides.
        gain: Least and greatest contrast.
        lift: Greatest change of brightness, of 255.
        inverted: Share of samples with black and white swapped.
        noise: Greatest standard deviation of the noise, of 255.
    """

    unchanged: float = 0.25
    zoom: tuple[float, float] = (0.65, 1.4)
    aspect: float = 1.15
    shift: float = 0.2
    degrees: float = 0.6
    tilted: float = 0.2
    tilt: float = 4.0
    depth: float = 0.1
    gain: tuple[float, float] = (0.75, 1.2)
    lift: float = 25.0
    inverted: float = 0.03
    noise: float = 12.0

    def __post_init__(self) -> None:
        check_least(self, {"aspect": 1, **dict.fromkeys(("shift", "degrees", "tilt", "depth", "lift", "noise"), 0)})
        for name in ("unchanged", "tilted", "inverted"):
            if not 0 <= getattr(self, name) <= 1:
                raise SettingsError(f"{name} is {getattr(self, name)}: give a share from 0 to 1")
        for name in ("zoom", "gain"):
            least, greatest = getattr(self, name)
            if not 0 < least <= greatest:
                raise SettingsError(f"{name} is {least}, {greatest}: give two values above 0, the smaller one first")


@dataclass(frozen=True, slots=True)
class LoRA:
    """Changes of low rank, for ``learns: lora``; see ``tablerec.training.lora``.

    Args:
        rank: Columns of the one factor, rows of the other.
        alpha: The change is multiplied by ``alpha / rank``.
        where: Regular expression, searched for in the names of the layers; empty for all.

    Raises:
        SettingsError: The rank is below 1, or ``where`` is no regular expression.
    """

    rank: int = 8
    alpha: float = 16.0
    where: str = ""

    def __post_init__(self) -> None:
        if self.rank < 1:
            raise SettingsError(f"lora: rank is {self.rank}: give 1 or more")
        check_pattern("lora: where", self.where)

    @property
    def scale(self) -> float:
        """Factor of the change.

        >>> LoRA(rank=8, alpha=16).scale
        2.0
        """
        return self.alpha / self.rank


def check_least(settings: Any, least: Mapping[str, float]) -> None:
    """Make sure that fields have at least these values; those that are None pass.

    Raises:
        SettingsError: One has not.
    """
    for name, value in least.items():
        given = getattr(settings, name)
        if given is not None and not given >= value:
            raise SettingsError(f"{name} is {given}: give {value} or more")


def check_pattern(setting: str, pattern: str) -> None:
    """Make sure that a setting is a regular expression.

    Raises:
        SettingsError: It is not.
    """
    try:
        re.compile(pattern)
    except re.error as error:
        raise SettingsError(f"{setting} {pattern!r} is no regular expression ({error}): correct it") from error


_AT_LEAST_ONE = (
    "ranks",
    "batch",
    "accumulate",
    "stack",
    "most_cells",
    "warm",
    "validate_every",
    "checkpoint_every",
    "log_every",
    "steps",
)


_AT_LEAST_ZERO = (
    *(
        "statistics",
        "workers",
        "validation_count",
        "pictures",
        "learning_rate",
        "warmup",
        "weight_decay",
        "stretch_minutes",
    ),
    *("seed", "first", "validation_first"),
)
_AT_MOST = {"side": 8192, "most_cells": 32_767, "workers": 512, "ranks": 1024, "buffer": 10_000_000}
_MOST_BYTES = 1_000_000
"""Of a file of settings."""
_LEARNS = ("all", "head", "norm_bias", "lora")
_CHOICES = {
    "model": ("cellnet", "rtdetr_l"),
    "precision": ("float32", "bfloat16", "float16"),
    "frozen": ("float32", "bfloat16", "float16", "int8"),
    "recompute": ("none", "all", "cost"),
    "optimizer": ("adamw", "adamw8bit"),
    "shard": ("none", "optimizer"),
    "keep": ("device", "host"),
}


@dataclass(frozen=True, slots=True)
class TrainSettings:
    """What is trained, on what, and for how long.

    Args:
        model: ``cellnet`` or ``rtdetr_l``, PaddleX's RT-DETR-L.
        source: Where samples come from, for example ``synth:mixed``; see ``sources.load_source``.
        output: Folder for checkpoints, weights, the log and pictures.
        resume: Folder of an earlier run to go on from where ``output`` holds no checkpoint.
        initial: Weights to start from: a safetensors file, a folder of ``tablerec export``, or
            ``cellnet`` for the weights in the package; of RT-DETR the folder that PaddleX's engine
            ``paddle_dynamic`` loads.
        device: ``cpu``, ``gpu`` or the name of a device of a plugin; ``gpu:2,3`` where several ranks have theirs.
        ranks: Processes that train together, each on a device of its own and on samples of its own, with
            ``workers`` of its own; a step learns from the mean of their gradients. On the CPU they share it. Under
            ``paddle.distributed.launch`` its number counts. A run may go on with another number of ranks, from the
            same weights and the same place in the source; it then is no longer exactly the uninterrupted one.
        shard: ``optimizer`` divides AdamW's moments among the ranks: less memory for one more exchange in each step.
            On the CPU and on GPUs.
        network: Arguments of the network, by name; of RT-DETR those of PaddleX's configuration.
        steps: Length of the schedule in steps.
        minutes: Length of the schedule in minutes of training over all stretches; instead of ``steps``.
        stretch_minutes: End after this long, counted from the start of the process, with a checkpoint.
        batch: Samples that are computed at once.
        accumulate: Batches in a step: their gradients are added.
        side: Height and width of the canvas in pixels, a multiple of 32.
        stack: Pictures on a canvas, at most: small ones are put one below the other.
        most_cells: Canvases hold no more cells; of a picture with more, a part is shown.
        copy_paste: Share of the cells whose contents change places each time a picture is drawn, 0 to 1.
        learning_rate: The greatest.
        warmup: Steps in which the learning rate rises.
        weight_decay: AdamW's, for all but norms and biases.
        clip: Greatest norm of the gradient.
        average: Decay of the averaged weights by step.
        statistics: Batches over which the statistics of the averaged weights are computed, for a validation. 0: all
            norms keep the statistics that they were given, in training too. A few pictures in small batches tell little
            about them: fine-tuning wants 0.
        precision: ``float32``, or ``bfloat16`` or ``float16`` for convolutions and linear layers; float16 scales
            the loss, so that small gradients stay above zero.
        learns: What learns: ``all``, ``head``, ``norm_bias``, ``lora``, several of these joined by ``+``, or
            ``re:PATTERN`` for names of parameters; see ``learning.choose``.
        lora: See ``LoRA``.
        frozen: How weights that do not learn are kept: ``float32``, ``bfloat16``, ``float16`` or ``int8``.
        recompute: Activations that are computed again for the gradients instead of being kept: those of no part of
            the network (``none``), of each (``all``), or of the cheapest parts that make the step fit into
            ``memory`` (``cost``).
        memory: GB of the device's memory for a step, for ``recompute: cost``.
        optimizer: ``adamw``, or ``adamw8bit``, whose state takes a quarter of the memory.
        buffer: Samples kept for reuse.
        keep: Where they wait: on the ``device``, or on the ``host``, which costs a copy for each batch.
        warm: Samples in the buffer before the first step.
        reuse: How often each sample is used on average. The step then decides which samples are in the
            buffer, and waits for them: a resumed run is exactly the uninterrupted one. None: whatever
            the workers have ready is taken, and nothing waits.
        workers: Processes that draw samples; 0 draws in this one.
        seed: Of the initial weights and of the augmentation.
        first: Index of the first sample.
        validation_source: As ``source``; None for the same.
        validation_first: Index of the first sample for validation.
        validation_count: Samples for validation.
        validate_every: Steps between validations; the weights of the last one are kept.
        patience: End after so many validations without a better F1 at 0.8; the weights of the best one are kept.
        checkpoint_every: Steps between checkpoints.
        log_every: Steps between reports; only then the device is waited for, and the log gets its lines.
        pictures: Samples of the validation that are drawn with what was found.
        tensorboard: Also write files for TensorBoard.
        threshold: Least score of a cell in the validation.
        augmentation: See ``Augmentation``.

    Raises:
        SettingsError: A value outside its range.
    """

    source: str
    output: Path
    model: Literal["cellnet", "rtdetr_l"] = "cellnet"
    resume: Path | None = None
    initial: Path | None = None
    device: str = "cpu"
    ranks: int = 1
    shard: Literal["none", "optimizer"] = "none"
    network: Mapping[str, Any] = field(default_factory=dict)
    steps: int | None = None
    minutes: float | None = None
    stretch_minutes: float | None = None
    batch: int = 32
    accumulate: int = 1
    side: int = 960
    stack: int = 4
    most_cells: int = 1024
    copy_paste: float = 0.0
    learning_rate: float = 2.5e-3
    warmup: int = 300
    weight_decay: float = 0.02
    clip: float = 5.0
    average: float = 0.9985
    statistics: int = 40
    precision: Literal["float32", "bfloat16", "float16"] = "float32"
    learns: str = "all"
    lora: LoRA = field(default_factory=LoRA)
    frozen: Literal["float32", "bfloat16", "float16", "int8"] = "float32"
    recompute: Literal["none", "all", "cost"] = "none"
    memory: float | None = None
    optimizer: Literal["adamw", "adamw8bit"] = "adamw"
    buffer: int = 4000
    keep: Literal["device", "host"] = "device"
    warm: int = 800
    reuse: float | None = None
    workers: int = 0
    seed: int = 0
    first: int = 0
    validation_source: str | None = None
    validation_first: int = 1_000_000_000
    validation_count: int = 128
    validate_every: int = 1000
    patience: int | None = None
    checkpoint_every: int = 1000
    log_every: int = 100
    pictures: int = 8
    tensorboard: bool = False
    threshold: float = 0.3
    augmentation: Augmentation = field(default_factory=Augmentation)

    def __post_init__(self) -> None:
        if (self.steps is None) == (self.minutes is None):
            raise SettingsError("the schedule needs a length: give either steps or minutes")
        if self.side % 32 or self.side < 32:
            raise SettingsError(f"side is {self.side}: give a multiple of 32")
        for name, known in _CHOICES.items():
            if getattr(self, name) not in known:
                raise SettingsError(f"{name} {getattr(self, name)!r} is unknown: choose {' or '.join(known)}")
        check_least(self, {**dict.fromkeys(_AT_LEAST_ONE, 1), **dict.fromkeys(_AT_LEAST_ZERO, 0)})
        for name, most in _AT_MOST.items():
            if getattr(self, name) > most:
                raise SettingsError(f"{name} is {getattr(self, name)}: give {most} or less")
        for name in ("minutes", "clip"):
            if getattr(self, name) is not None and not getattr(self, name) > 0:
                raise SettingsError(f"{name} is {getattr(self, name)}: give a value above 0")
        if not 0 <= self.threshold <= 1:
            raise SettingsError(f"threshold is {self.threshold}: give a value from 0 to 1")
        if self.buffer < self.warm:
            raise SettingsError(f"buffer is {self.buffer}, less than warm, which is {self.warm}: make it larger")
        for word in learns_words(self.learns):
            _check_learns(word)
        if self.frozen != "float32" and "all" in learns_words(self.learns):
            raise SettingsError(f"frozen is {self.frozen}, but all learns: set learns, or leave frozen out")
        if self.recompute == "cost" and not (self.memory or 0) > 0:
            raise SettingsError("recompute is cost: give memory too, the GB that a step may take")
        if self.patience is not None and (self.patience < 1 or not self.validation_count):
            raise SettingsError(f"patience is {self.patience}: give 1 or more, and a validation_count above 0")
        if self.shard != "none" and self.optimizer != "adamw":
            raise SettingsError(f"shard divides the moments of adamw, not of {self.optimizer}: change one of the two")
        if self.reuse is not None and not self.reuse > 0:
            raise SettingsError(f"reuse is {self.reuse}: give a value above 0")
        ids = parse_device(self.device).ids
        if self.ranks > 1 and ids and len(ids) != self.ranks:
            raise SettingsError(f"device {self.device!r} names {len(ids)} devices for {self.ranks} ranks")
        if not 0 <= self.copy_paste <= 1:
            raise SettingsError(f"copy_paste is {self.copy_paste}: give a value from 0 to 1")
        if not 0 <= self.average < 1:
            raise SettingsError(f"average is {self.average}: give a value from 0 to below 1")

    def device_of(self, rank: int) -> str:
        """The device of a rank, counted from 0.

        >>> TrainSettings("synth:mixed", Path("out"), steps=1, device="gpu", ranks=2).device_of(1)
        'gpu:1'
        """
        device = parse_device(self.device)
        if self.ranks == 1 or device.kind == "cpu":
            return self.device
        return str(Device(device.kind, ((device.ids or range(rank + 1))[rank],)))


def learns_words(learns: str) -> list[str]:
    """Take ``learns`` apart.

    >>> learns_words("lora + head"), learns_words("re:maps|(up)+4")
    (['lora', 'head'], ['re:maps|(up)+4'])
    """
    return [learns] if learns.startswith("re:") else [word.strip() for word in learns.split("+")]


def _check_learns(word: str) -> None:
    if word.startswith("re:"):
        check_pattern("learns", word.removeprefix("re:"))
    elif word not in _LEARNS:
        raise SettingsError(f"learns {word!r} is unknown: choose {', '.join(_LEARNS)}, joined by +, or re:PATTERN")


def read_settings(path: Path, **changes: Any) -> TrainSettings:
    """Read a YAML or JSON file with the fields of ``TrainSettings``.

    Args:
        path: The file. Folders in it are relative to the working directory.
        **changes: Fields that replace those of the file; None leaves the file's. A length of the schedule replaces
            the other one.

    Raises:
        InputError: The file cannot be read.
        SettingsError: A field is unknown or missing, or a value is outside its range.
    """
    import yaml

    try:
        if path.stat().st_size > _MOST_BYTES:
            raise InputError(f"{path} is too large for settings: give a file below {_MOST_BYTES // 1000} kB")
        read = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError, yaml.YAMLError) as error:
        raise InputError(f"{path} cannot be read ({error}): write the settings as YAML or JSON") from error
    if not isinstance(read, dict):
        raise InputError(f"{path} holds no settings: write a line `name: value` for each")
    given = {name: value for name, value in changes.items() if value is not None}
    if {"steps", "minutes"} & given.keys():
        read = {name: value for name, value in read.items() if name not in ("steps", "minutes")}
    settings: TrainSettings = to_settings(TrainSettings, {**read, **given}, str(path))
    return settings
