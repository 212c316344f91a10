"""Settings of a training: one frozen object in groups, read from a YAML or JSON file with the same groups.

Default, range and help stand beside each field; ``tablerec train --settings`` prints them.
"""
# ruff: noqa: RUF009  ``setting`` makes a field

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from tablerec.devices import Device, parse_device
from tablerec.errors import InputError, SettingsError
from tablerec.fields import read_yaml
from tablerec.settings_fields import REQUIRED, check_fields, list_fields, merge, setting, to_settings


def _check_pattern(name: str, pattern: str) -> None:
    try:
        re.compile(pattern)
    except re.error as error:
        raise SettingsError(f"{name} {pattern!r} is no regular expression ({error}): correct it") from error


@dataclass(frozen=True, slots=True)
class Augmentation:
    """How samples change each time they are used; all on the device.

    Lines of text are only moved to the right, stretched along, and tinted.
    """

    identity_probability: float = setting(0.25, "Share of samples that keep their geometry.", low=0, high=1)
    scale: tuple[float, float] = setting((0.65, 1.4), "Least and greatest scale.", above=0)
    aspect_ratio: float = setting(1.15, "Greatest stretch of the width against the height, a factor.", low=1)
    translation: float = setting(0.2, "Greatest move, in sides of the canvas; of a line in its heights.", low=0)
    rotation_std: float = setting(0.6, "Standard deviation of the rotation, degrees.", low=0)
    perspective_probability: float = setting(
        0.2,
        "Share of samples that are turned, slanted and seen from the side more, as photographs are.",
        low=0,
        high=1,
    )
    perspective_rotation_std: float = setting(
        4.0, "Standard deviation of their rotation, degrees; they are slanted by a third of it.", low=0
    )
    perspective: float = setting(
        0.1, "Greatest change of their scale from the middle of the canvas to its sides.", low=0
    )
    contrast: tuple[float, float] = setting((0.75, 1.2), "Least and greatest factor of the contrast.", above=0)
    brightness: float = setting(25.0, "Greatest change of brightness, of 255.", low=0)
    inversion_probability: float = setting(0.03, "Share of samples with black and white swapped.", low=0, high=1)
    noise_std: float = setting(12.0, "Greatest standard deviation of the noise, of 255.", low=0)

    def __post_init__(self) -> None:
        check_fields(self)
        for name in ("scale", "contrast"):
            low, high = getattr(self, name)
            if low > high:
                raise SettingsError(f"{name} is {low}, {high}: give the smaller value first")


@dataclass(frozen=True, slots=True)
class DataSettings:
    """Samples: where they come from, and how many make a batch."""

    source: str = setting(
        REQUIRED,
        "Where samples come from: synth:RECIPE, synthetic tables; folder:PATH, labelled pictures; crops:PATH, the "
        "same, cropped, scaled and compressed anew each time; MODULE:FUNCTION, Python code that is imported and run if "
        "--allow-import is given; or several with shares, as in "
        "`synth:mixed*3, crops:tables#train*1`. Of cellnet_lines: lines:PATH, crops of pictures with labels of text "
        "lines. Of LineNet: synth:lines, synthetic lines; lines:PATH, recognition "
        "lists as PaddleOCR has them; crops:PATH, cells with one line of labelled tables.",
    )
    batch_size: int = setting(32, "Canvases, or lines of 128 px, that are computed at once.", low=1)
    image_size: int = setting(
        960,
        "Height and width of a canvas in pixels, a multiple of 32; of LineNet the width of the longest line, 512.",
        low=32,
        high=8192,
    )
    max_images_per_canvas: int = setting(4, "Small pictures are put one below the other, at most so many.", low=1)
    max_cells: int = setting(
        1024, "Cells on a canvas, at most; of a picture with more, a part is shown.", low=1, high=32_767
    )
    copy_paste: float = setting(
        0.0, "Share of the cells whose contents change places each time that a picture is prepared.", low=0, high=1
    )
    buffer_size: int = setting(4000, "Samples that are kept for reuse.", high=10_000_000)
    min_buffer: int = setting(800, "Samples in the buffer before the first step.", low=1)
    uses_per_sample: float | None = setting(
        None,
        "How often each sample is used on average. The step then decides which samples are in the buffer, and waits "
        "for them: a resumed run is exactly the uninterrupted one. None: whatever the workers have ready is taken, and "
        "nothing waits.",
        above=0,
    )
    workers: int = setting(0, "Processes that prepare samples, for each rank; 0: the training itself.", low=0, high=512)
    first_index: int = setting(0, "Index of the first sample in the source.", low=0)
    augmentation: Augmentation = setting(Augmentation(), "How samples change each time they are used.")

    def __post_init__(self) -> None:
        check_fields(self)
        if self.image_size % 32:
            raise SettingsError(f"image_size is {self.image_size}: give a multiple of 32")
        if self.buffer_size < self.min_buffer:
            raise SettingsError(
                f"buffer_size is {self.buffer_size}, less than min_buffer, which is {self.min_buffer}: make it larger"
            )


@dataclass(frozen=True, slots=True)
class ScheduleSettings:
    """Length of the schedule, and what happens on the way."""

    steps: int | None = setting(None, "Length in steps; instead of minutes.", low=1)
    minutes: float | None = setting(None, "Length in minutes of training over all runs; instead of steps.", above=0)
    max_minutes_per_run: float | None = setting(
        None, "Stop so long after the start of the process, with a checkpoint; the same command goes on.", low=0
    )
    warmup_steps: int = setting(300, "Steps in which the learning rate rises; then it falls along a cosine.", low=0)
    checkpoint_every: int = setting(1000, "Steps between checkpoints.", low=1)
    log_every: int = setting(
        100, "Steps between reports; only then the device is waited for, and the log gets its lines.", low=1
    )

    def __post_init__(self) -> None:
        check_fields(self)
        if (self.steps is None) == (self.minutes is None):
            raise SettingsError("steps or minutes is the length of the schedule: give one of the two")


@dataclass(frozen=True, slots=True)
class LoRA:
    """Changes of low rank, for ``trainable: lora``; see ``tablerec.training.methods.lora``."""

    rank: int = setting(8, "Columns of the one factor, rows of the other.", low=1)
    alpha: float = setting(16.0, "The change is multiplied by alpha / rank.")
    target_modules: str = setting("", "Regular expression that is searched for in the names of layers; empty: all.")

    def __post_init__(self) -> None:
        check_fields(self)
        _check_pattern("target_modules", self.target_modules)

    @property
    def scale(self) -> float:
        """Factor of the change.

        >>> LoRA(rank=8, alpha=16).scale
        2.0
        """
        return self.alpha / self.rank


_TRAINABLE = ("all", "head", "norm_bias", "lora")


@dataclass(frozen=True, slots=True)
class OptimizerSettings:
    """Which parameters change, and how."""

    name: Literal["adamw", "adamw8bit"] = setting(
        "adamw", "AdamW, or AdamW whose state is kept in 8 bits and takes a quarter of the memory."
    )
    trainable: str = setting(
        "all",
        "Which parameters are trained: all, head, norm_bias, lora, several of these joined by +, or re:PATTERN for "
        "names of parameters.",
    )
    lora: LoRA = setting(LoRA(), "Changes of low rank.")
    learning_rate: float = setting(2.5e-3, "The greatest.", low=0)
    weight_decay: float = setting(0.02, "For all parameters but norms and biases.", low=0)
    max_grad_norm: float = setting(5.0, "Gradients are clipped to this norm.", above=0)
    accumulation_steps: int = setting(1, "Batches in a step: their gradients are added.", low=1)
    ema_decay: float = setting(
        0.9985, "Decay by step of the averaged weights, which are validated and kept.", low=0, below=1
    )
    bn_batches: int = setting(
        40,
        "Batches over which batch normalizations get statistics for the averaged weights. 0: all keep the statistics "
        "that they have, in training too, as fine-tuning wants it: few pictures tell little about them.",
        low=0,
    )

    def __post_init__(self) -> None:
        check_fields(self)
        for word in self.trainable_words:
            if word.startswith("re:"):
                _check_pattern("trainable", word.removeprefix("re:"))
            elif word not in _TRAINABLE:
                raise SettingsError(
                    f"trainable {word!r} is unknown: choose {', '.join(_TRAINABLE)}, joined by +, or re:PATTERN"
                )

    @property
    def trainable_words(self) -> list[str]:
        """The parts of ``trainable``.

        >>> OptimizerSettings(trainable="lora + head").trainable_words
        ['lora', 'head']
        >>> OptimizerSettings(trainable="re:maps|(up)+4").trainable_words
        ['re:maps|(up)+4']
        """
        whole = self.trainable.startswith("re:")
        return [self.trainable] if whole else [word.strip() for word in self.trainable.split("+")]


@dataclass(frozen=True, slots=True)
class MemorySettings:
    """What saves memory."""

    precision: Literal["float32", "bfloat16", "float16"] = setting(
        "float32", "Of convolutions and linear layers. With float16 the loss is scaled, so that small gradients remain."
    )
    frozen_precision: Literal["float32", "bfloat16", "float16", "int8"] = setting(
        "float32", "How weights that are not trained are kept."
    )
    recompute: Literal["none", "all", "auto"] = setting(
        "none",
        "Activations that are computed again for the gradients instead of being kept: those of no part of the network, "
        "of all parts, or of the cheapest parts with which a step fits into limit_gb.",
    )
    limit_gb: float | None = setting(None, "Memory of the device for a step, in GB, for `recompute: auto`.", above=0)
    offload_buffer: bool = setting(
        False,
        "Keep the samples in the host's memory, not in the device's; costs a copy for each batch. Lines always are.",
    )
    shard_optimizer: bool = setting(
        False, "Divide AdamW's moments among the ranks, for one more exchange in each step. On the CPU and on GPUs."
    )

    def __post_init__(self) -> None:
        check_fields(self)
        if self.recompute == "auto" and self.limit_gb is None:
            raise SettingsError("recompute is auto: give limit_gb too, the GB that a step may take")


@dataclass(frozen=True, slots=True)
class ValidationSettings:
    """How the averaged weights are judged on the way."""

    source: str | None = setting(None, "As data.source; none: the same.")
    first_index: int = setting(
        1_000_000_000, "Index of the first sample in the source; 0 for labelled pictures.", low=0
    )
    samples: int = setting(128, "How many. With fewer than 30 the scores are a matter of luck; 0: none.", low=0)
    every: int = setting(1000, "Steps between validations; the weights of the last one are kept.", low=1)
    patience: int | None = setting(
        None,
        "End after so many validations without a better F1 at 0.8, or character error rate; the best weights are kept.",
        low=1,
    )
    pictures: int = setting(8, "Samples that are shown with their detections.", low=0)
    score_threshold: float = setting(0.3, "Least score of a cell.", low=0, high=1)

    def __post_init__(self) -> None:
        check_fields(self)
        if self.patience is not None and not self.samples:
            raise SettingsError(f"patience is {self.patience}: give samples too, or leave patience out")


@dataclass(frozen=True, slots=True)
class TrainSettings:
    """What is trained, on what, and for how long.

    Raises:
        SettingsError: A value outside its range.

    >>> TrainSettings("out", DataSettings("synth:mixed"), ScheduleSettings(steps=10)).samples_per_step
    32
    """

    output: Path = setting(REQUIRED, "Folder for checkpoints, weights, the log and pictures; a run in it goes on.")
    data: DataSettings = setting(REQUIRED, "Samples: where they come from, and how many make a batch.")
    schedule: ScheduleSettings = setting(REQUIRED, "Length of the schedule, and what happens on the way.")
    optimizer: OptimizerSettings = setting(OptimizerSettings(), "Which parameters change, and how.")
    memory: MemorySettings = setting(MemorySettings(), "What saves memory.")
    validation: ValidationSettings = setting(ValidationSettings(), "How the averaged weights are judged on the way.")
    model: Literal["cellnet", "cellnet_lines", "rtdetr_l", "linenet"] = setting(
        "cellnet",
        "The network: CellNet or PaddleX's RT-DETR-L, which detect cells; cellnet_lines, the branch of CellNet that "
        "finds lines of text, the rest of it as it is; LineNet, which reads lines of text.",
    )
    network: Mapping[str, Any] = setting(
        {},
        "Arguments of the network; of RT-DETR those of PaddleX's configuration. Of LineNet also `characters`: extend, "
        "what the initial weights know and whatever else labels hold; keep; or all characters as one text.",
    )
    initial: Path | None = setting(
        None,
        "Weights to start from: a safetensors file, a folder of `tablerec export`, or `cellnet` or `linenet`, those in "
        "the package; "
        "of RT-DETR the folder that PaddleX's engine paddle_dynamic loads.",
    )
    resume: Path | None = setting(None, "Folder of an earlier run to go on from where output holds no checkpoint.")
    device: str = setting("cpu", "cpu, gpu, or a device of a plugin; gpu:2,3 where several ranks have theirs.")
    ranks: int = setting(
        1,
        "Processes that train together, each on a device of its own and on samples of its own; a step follows the mean "
        "of their gradients. Under paddle.distributed.launch its number counts. A run may go on with another number of "
        "ranks; it then is no longer exactly the uninterrupted one.",
        low=1,
        high=1024,
    )
    seed: int = setting(0, "Of the initial weights and of the augmentation.", low=0)
    tensorboard: bool = setting(False, "Also write files for TensorBoard.")

    def __post_init__(self) -> None:
        check_fields(self)
        frozen = self.memory.frozen_precision
        if frozen != "float32" and "all" in self.optimizer.trainable_words:
            raise SettingsError(
                f"memory.frozen_precision is {frozen}, but all weights are trained: set optimizer.trainable"
            )
        if self.memory.shard_optimizer and self.optimizer.name != "adamw":
            raise SettingsError(f"memory.shard_optimizer is for adamw, and optimizer.name is {self.optimizer.name}")
        ids = parse_device(self.device).ids
        if self.ranks > 1 and ids and len(ids) != self.ranks:
            raise SettingsError(f"device {self.device!r} names {len(ids)} devices for {self.ranks} ranks")

    @property
    def samples_per_step(self) -> int:
        """Canvases in a step of one rank."""
        return self.data.batch_size * self.optimizer.accumulation_steps

    def device_of(self, rank: int) -> str:
        """The device of a rank, counted from 0.

        >>> two = TrainSettings("out", DataSettings("a:b"), ScheduleSettings(steps=1), device="gpu", ranks=2)
        >>> two.device_of(1)
        'gpu:1'
        """
        device = parse_device(self.device)
        if self.ranks == 1 or device.kind == "cpu":
            return self.device
        return str(Device(device.kind, ((device.ids or range(rank + 1))[rank],)))


_OLD_NAMES = {
    "data": (
        "source, copy_paste, workers, augmentation, batch: batch_size, side: image_size, stack: "
        "max_images_per_canvas, most_cells: max_cells, buffer: buffer_size, warm: min_buffer, reuse: "
        "uses_per_sample, first: first_index"
    ),
    "data.augmentation": (
        "unchanged: identity_probability, zoom: scale, aspect: aspect_ratio, shift: translation, "
        "degrees: rotation_std, tilted: perspective_probability, tilt: perspective_rotation_std, depth: "
        "perspective, gain: contrast, lift: brightness, inverted: inversion_probability, noise: "
        "noise_std"
    ),
    "schedule": (
        "steps, minutes, checkpoint_every, log_every, stretch_minutes: max_minutes_per_run, warmup: warmup_steps"
    ),
    "optimizer": (
        "optimizer: name, learns: trainable, lora, learning_rate, weight_decay, clip: max_grad_norm, "
        "accumulate: accumulation_steps, average: ema_decay, statistics: bn_batches"
    ),
    "optimizer.lora": "where: target_modules",
    "memory": (
        "precision, frozen: frozen_precision, recompute, memory: limit_gb, keep: offload_buffer, shard: shard_optimizer"
    ),
    "validation": (
        "validation_source: source, validation_first: first_index, validation_count: samples, "
        "validate_every: every, patience, pictures, threshold: score_threshold"
    ),
}
"""Names that settings had before they were in groups, by the group where they are now: ``old: new``, or as before."""
RENAMED = {
    pair.partition(": ")[0]: f"{group}.{pair.rpartition(': ')[2]}"
    for group, names in _OLD_NAMES.items()
    for pair in names.split(", ")
}


def _refuse_old_names(values: Mapping[Any, Any], prefix: str = "") -> None:
    """Refuse a name of before; its message names the new place.

    Raises:
        SettingsError: There is one.
    """
    known = {path for path, _, _ in list_fields(TrainSettings)}
    groups = {path.rpartition(".")[0] for path in known}
    for name, value in values.items():
        path = f"{prefix}{name}"
        if path in groups and isinstance(value, Mapping):
            _refuse_old_names(value, f"{path}.")
        elif RENAMED.get(name, path) != path and (path in groups or path not in known):
            raise SettingsError(f"{path} has another place: it is {RENAMED[name]} now, see tablerec train --settings")


def name_imports(settings: TrainSettings) -> dict[str, str]:
    """Return what the sources of samples import, by setting: ``MODULE:FUNCTION`` runs the code that it names.

    Args:
        settings: Of a training.

    >>> name_imports(TrainSettings(Path("out"), DataSettings("synth:mixed, mine:draw*2"), ScheduleSettings(steps=1)))
    {'data.source': 'mine:draw'}
    """
    sources = {"data.source": settings.data.source, "validation.source": settings.validation.source}
    parts = [
        (name, part.partition("*")[0].strip()) for name, text in sources.items() if text for part in text.split(",")
    ]
    return {name: part for name, part in parts if part.partition(":")[0] not in ("synth", "folder", "crops", "lines")}


def read_settings(path: Path, changes: Mapping[str, Any] | None = None, *, allow_import: bool = False) -> TrainSettings:
    """Read a YAML or JSON file with the groups and fields of ``TrainSettings``.

    Args:
        path: The file. Folders in it are relative to the working directory.
        changes: Values that replace those of the file, by path such as ``optimizer.learning_rate``. A length of the
            schedule replaces the other one.
        allow_import: Whether a source may be ``MODULE:FUNCTION``, which imports Python code and runs it.

    Raises:
        InputError: The file cannot be read.
        SettingsError: A field is unknown, of another version or missing, or a value is outside its range.
    """
    changes = changes or {}
    try:
        read = read_yaml(path)
    except ValueError as error:
        raise InputError(f"{path} cannot be read ({error}): write the settings as YAML or JSON") from error
    if not isinstance(read, dict):
        raise InputError(f"{path} holds no settings: write a line `name: value` for each")
    lengths = {"schedule.steps": None, "schedule.minutes": None}
    try:
        _refuse_old_names(read)
        if any(changes.get(name) is not None for name in lengths):
            read = merge(read, lengths)
        read = merge(read, changes)
        _refuse_old_names(read)
        settings: TrainSettings = to_settings(TrainSettings, read)
    except SettingsError as error:
        raise SettingsError(f"{path}: {error}") from error
    for name, source in name_imports(settings).items() if not allow_import else ():
        raise SettingsError(
            f"{path}: {name} imports and runs the Python code {source!r}: "
            "if you trust it, give --allow-import, or allow_import=True in Python"
        )
    return settings
