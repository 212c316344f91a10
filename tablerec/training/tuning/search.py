"""The settings with the best score within a limit of memory and time: measured, predicted, then tried."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from hashlib import sha256
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

from tablerec.errors import MissingDependencyError, SettingsError, TrainingError
from tablerec.outputs.files import atomic_file
from tablerec.settings_fields import change, to_json, to_values
from tablerec.training.logs import CURVE, read_lines
from tablerec.training.scores import scores_of
from tablerec.training.settings import TrainSettings, name_imports
from tablerec.training.tuning.costs import CostModel, Point, fit_costs
from tablerec.training.tuning.measure import Measured, child_environment, measure_apart

Report = Callable[[str], None]
Measure = Callable[[TrainSettings], Measured]

SAFETY = 1.05
"""Predicted bytes times this have to fit."""
MEASUREMENTS, TRIALS, CHOSEN = "measurements.jsonl", "trials.journal", "chosen.yaml"
_SHARE_OF_TRIALS = 0.6
_N_TRIALS = 8


class Way(NamedTuple):
    """How a step is made, whatever its batch size and image size: what has a cost model of its own."""

    trainable: str
    recompute: str
    precision: str

    @property
    def changes(self) -> dict[str, Any]:
        """The settings that it sets, by path."""
        return {
            "optimizer.trainable": self.trainable,
            "memory.recompute": self.recompute,
            "memory.precision": self.precision,
        }

    def __str__(self) -> str:
        """Return it in a few words."""
        return f"{self.trainable} trained, recompute {self.recompute}, {self.precision}"


@dataclass(frozen=True, slots=True)
class Option:
    """Settings that fit.

    Args:
        way: See ``Way``.
        image_size: Of the canvas, pixels.
        batch_size: Canvases at once.
        accumulation_steps: Batches in a step.
        peak_bytes: Predicted.
        seconds: Of a step, predicted.
    """

    way: Way
    image_size: int
    batch_size: int
    accumulation_steps: int
    peak_bytes: float
    seconds: float

    @property
    def changes(self) -> dict[str, Any]:
        """The settings that it sets, by path."""
        return {
            **self.way.changes,
            "data.image_size": self.image_size,
            "data.batch_size": self.batch_size,
            "optimizer.accumulation_steps": self.accumulation_steps,
        }

    def __str__(self) -> str:
        """Return it in a few words."""
        return f"{self.way}, image size {self.image_size}, batch size {self.batch_size} x {self.accumulation_steps}"


def list_ways(settings: TrainSettings) -> list[Way]:
    """List the ways that are worth a measurement.

    What the file chooses stays; ``trainable: all`` with initial weights is compared with ``lora`` and ``head``. Those
    without recomputation come first: where time is short, they are measured.

    >>> from tablerec.training.settings import DataSettings, ScheduleSettings
    >>> ways = list_ways(TrainSettings("out", DataSettings("a:b"), ScheduleSettings(steps=1), initial="cellnet"))
    >>> len(ways), ways[0]
    (6, Way(trainable='all', recompute='none', precision='float32'))
    """
    given, memory = settings.optimizer.trainable, settings.memory
    open_choice = given == "all" and settings.initial is not None and memory.frozen_precision == "float32"
    trainable = ["all", "lora", "head"] if open_choice else [given]
    precisions = [memory.precision]
    if memory.precision == "float32" and settings.device != "cpu":
        precisions.append("bfloat16")
    orders = product(("none", "all"), trainable, precisions)
    return [Way(who, recompute, precision) for recompute, who, precision in orders]


def list_image_sizes(settings: TrainSettings) -> list[int]:
    """List the image sizes: the given one, and where pictures keep their shape three quarters of it.

    A device other than the CPU has time for half as much again: narrow cells of large pictures are seen there only.

    >>> from tablerec.training.settings import DataSettings, ScheduleSettings
    >>> data = DataSettings("a:b", image_size=640)
    >>> list_image_sizes(TrainSettings("out", data, ScheduleSettings(steps=1), device="gpu"))
    [640, 480, 960]
    """
    smaller, larger = (settings.data.image_size * share // 4 // 32 * 32 for share in (3, 6))
    sizes = [settings.data.image_size]
    if settings.model == "cellnet":
        sizes += [smaller] if smaller >= 320 else []
        sizes += [larger] if settings.device != "cpu" and larger <= 1280 else []
    return sizes


def measure_ways(
    settings: TrainSettings,
    ways: Iterable[Way],
    file: Path,
    until: Callable[[], bool],
    report: Report,
    measure: Measure,
) -> tuple[dict[Way, CostModel], int]:
    """Measure each way at three sizes and fit its costs; what ``file`` holds already is not measured again.

    Args:
        settings: What is trained.
        ways: The ways.
        file: JSON lines, one for each measurement.
        until: Whether time is up: ways that are left are not measured.
        report: Called with a line for each way.
        measure: Measures settings.

    Returns:
        Costs of the ways that could be measured, and the cells of a picture.
    """
    models: dict[Way, CostModel] = {}
    n_cells = 0
    for way in ways:
        if until() and models:
            report(f"{way}: left out, no time was left to measure it")
            continue
        for sizes in plan_sizes(settings):
            points, problem = _measure_sizes(settings, way, sizes, file, measure)
            if not problem:
                break
        if problem:
            report(f"{way}: left out, {problem}")
            continue
        models[way], n_cells = fit_costs(points), max(n_cells, *(point.n_cells for point in points))
        one = 1, settings.data.image_size, n_cells
        peak, seconds = models[way].peak_bytes(*one) / 1e9, models[way].seconds(*one)
        report(f"{way}: {peak:.2f} GB and {seconds:.2f} s with one canvas")
    return models, n_cells


def plan_sizes(settings: TrainSettings) -> list[list[tuple[int, int]]]:
    """Choose batch sizes and image sizes to measure; the second plan is for a device that is too small for the first.

    Large ones, as with little to keep the peak is not within the network but in the optimizer.

    >>> from tablerec.training.settings import DataSettings, ScheduleSettings
    >>> plan_sizes(TrainSettings("out", DataSettings("a:b", image_size=640), ScheduleSettings(steps=1)))
    [[(2, 640), (2, 480), (4, 480)], [(1, 640), (1, 480), (2, 480)]]
    """
    size = settings.data.image_size
    if settings.model == "linenet":  # lines of one batch are of one width, whatever the longest may be
        return [[(count, size), (2 * count, size), (4 * count, size)] for count in (16, 4)]
    smaller = max(32, size * 3 // 4 // 32 * 32)
    many = [(2, size), (2, smaller), (4, smaller)]
    few = [(1, size), (1, smaller), (2, smaller)]
    return [many, few] if settings.samples_per_step > 1 else [few]


def _measure_sizes(
    settings: TrainSettings, way: Way, sizes: Iterable[tuple[int, int]], file: Path, measure: Measure
) -> tuple[list[Point], str]:
    """Measure a way at some sizes; the text says why one could not be measured."""
    points = []
    for batch_size, image_size in sizes:
        option = Option(way, image_size, batch_size, 1, 0, 0)
        buffer = {"data.min_buffer": batch_size, "data.buffer_size": max(batch_size, settings.data.buffer_size)}
        found = _measured(change(settings, {**option.changes, **buffer}), file, measure)
        if found.problem:
            return [], found.problem
        points.append(Point(batch_size, image_size, found.n_cells, found.peak_bytes, found.seconds))
    return points, ""


def _measured(settings: TrainSettings, file: Path, measure: Measure) -> Measured:
    key = sha256(to_json(settings).encode()).hexdigest()[:16]
    known = {line["key"]: line for line in read_lines(file)}
    if key in known:
        return Measured(**known[key]["measured"])
    begun = time.monotonic()
    found = measure(settings)
    known[key] = {"key": key, "seconds": time.monotonic() - begun, "measured": asdict(found)}
    with atomic_file(file) as whole:
        whole.write("".join(json.dumps(line) + "\n" for line in known.values()).encode())
    return found


def choose_options(
    settings: TrainSettings, models: Mapping[Way, CostModel], n_cells: int, limit_bytes: float, report: Report
) -> list[Option]:
    """For each choice of what is trained and each image size, take the fastest step that fits.

    Args:
        settings: ``samples_per_step`` stays.
        models: Costs by way.
        n_cells: Cells in a picture.
        limit_bytes: What a step may take on the device.
        report: Called with a line for each choice.

    Returns:
        At most one for each pair; the fastest first.
    """
    total = settings.samples_per_step
    batches = [batch for batch in range(1, total + 1) if total % batch == 0]
    options = []
    for trainable, size in product(dict.fromkeys(way.trainable for way in models), list_image_sizes(settings)):
        every = [
            Option(way, size, batch, total // batch, model.peak_bytes(batch, size, n_cells),
                   total // batch * model.seconds(batch, size, n_cells))
            for (way, model), batch in product(models.items(), batches)
            if way.trainable == trainable
        ]  # fmt: skip
        fitting = [option for option in every if SAFETY * option.peak_bytes <= limit_bytes]
        if not fitting:
            least = min(option.peak_bytes for option in every)
            report(f"{trainable} trained, image size {size}: does not fit, takes {least / 1e9:.2f} GB at least")
            continue
        best = min(fitting, key=lambda option: (option.seconds, option.peak_bytes))
        report(
            f"{best}: {best.peak_bytes / 1e9:.2f} GB and {best.seconds:.2f} s a step predicted, "
            f"the fastest of {len(fitting)} that fit; {len(every) - len(fitting)} do not"
        )
        options.append(best)
    return sorted(options, key=lambda option: option.seconds)


class Tried(NamedTuple):
    """A short training.

    Args:
        score: Of its validation, as ``ScoreNames.rank`` has it; None where it failed.
        problem: Why.
    """

    score: float | None
    problem: str = ""


def try_apart(settings: TrainSettings, plugin: str | None = None) -> Tried:
    """Train in a new process and read the last validation."""
    settings.output.mkdir(parents=True, exist_ok=True)
    path = settings.output / "trial.json"
    path.write_text(to_json(settings), encoding="utf-8")
    command = [sys.executable, "-m", "tablerec", "train", str(path), "--allow-import"]
    command += ["--plugin", plugin] if plugin else []
    done = subprocess.run(command, capture_output=True, text=True, env=child_environment(), check=False)  # noqa: S603
    curve = read_lines(settings.output / CURVE)
    if done.returncode or not curve:
        return Tried(None, (done.stderr.strip().splitlines() or ["no validation"])[-1])
    return Tried(scores_of(settings).rank(curve[-1]))


def shorten(
    settings: TrainSettings, option: Option, minutes: float, output: Path, learning_rate: float
) -> TrainSettings:
    """Make the settings of a trial: a whole schedule in little time."""
    n_steps = 60 * minutes / option.seconds
    return change(settings, {
        **option.changes, "output": output, "tensorboard": False, "resume": None,
        "data.min_buffer": min(settings.data.min_buffer, max(2 * option.batch_size, 64)),
        "schedule.steps": None, "schedule.minutes": minutes,
        "schedule.warmup_steps": max(1, min(settings.schedule.warmup_steps, int(n_steps / 10))),
        "schedule.checkpoint_every": 10**9, "schedule.log_every": 10,
        "optimizer.learning_rate": learning_rate, "optimizer.bn_batches": min(settings.optimizer.bn_batches, 8),
        "validation.samples": min(settings.validation.samples, 32), "validation.every": 10**9,
        "validation.patience": None, "validation.pictures": 0,
    })  # fmt: skip


def run_trials(
    settings: TrainSettings,
    options: list[Option],
    folder: Path,
    minutes: float,
    report: Report,
    attempt: Callable[[TrainSettings], Tried],
) -> tuple[Option, float, str]:
    """Try options and learning rates with short trainings.

    Optuna's TPE proposes them, after each option was tried with the learning rate of the file. The study lies in
    ``folder``, so that what was tried is not tried again.

    Args:
        settings: What is trained.
        options: What fits.
        folder: For the study and the trials.
        minutes: For all trials, those of earlier calls included.
        report: Called with a line for each.
        attempt: Trains.

    Returns:
        The best option, its learning rate, and why it was taken.

    Raises:
        MissingDependencyError: Optuna is not installed.
        TrainingError: All trials failed.
    """
    study, names = _open_study(settings, options, folder)
    title = scores_of(settings).title
    given = settings.optimizer.learning_rate
    each = minutes / max(_N_TRIALS, len(options))
    finished = lambda: [trial for trial in study.trials if trial.state.is_finished()]  # noqa: E731
    spent = sum(trial.user_attrs.get("minutes", 0.0) for trial in finished())
    while each > 0 and spent + each <= minutes + 1e-9:
        trial = study.ask()
        option = options[names.index(trial.suggest_categorical("option", names))]
        rate = trial.suggest_float("learning_rate", given / 5, given * 5, log=True)
        begun = time.monotonic()
        output = folder / f"trial-{trial.number:03d}"
        found = attempt(shorten(settings, option, each, output, rate))
        took = max((time.monotonic() - begun) / 60, each)
        trial.set_user_attr("minutes", took)
        spent += took
        study.tell(trial, found.score, _state(found))
        said = f"failed, {found.problem}" if found.score is None else f"{title} is {abs(found.score):.4f}"
        report(f"trial {trial.number}: {option}, learning rate {rate:.2g}: {said}")
    scored = [trial for trial in finished() if trial.value is not None]
    if not scored:
        if finished():
            raise TrainingError(f"all trials failed, see {folder}: train with CONFIG itself to see why")
        return options[0], given, "the fastest that fits; no time was left to try it"
    best = max(scored, key=lambda trial: trial.value)
    option = options[names.index(best.params["option"])]
    return option, best.params["learning_rate"], f"{title} of {abs(best.value):.4f}, the best of {len(scored)} trials"


def _state(found: Tried) -> Any:
    from optuna.trial import TrialState

    return TrialState.FAIL if found.score is None else TrialState.COMPLETE


def _open_study(settings: TrainSettings, options: list[Option], folder: Path) -> tuple[Any, list[str]]:
    try:
        import optuna
    except ImportError as error:
        message = f'tablerec tune needs optuna ({error}): run pip install "tablerec[train]"'
        raise MissingDependencyError(message) from error
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    names = [str(option) for option in options]
    name = sha256("\n".join([to_json(settings), *names]).encode()).hexdigest()[:16]
    storage = optuna.storages.JournalStorage(optuna.storages.journal.JournalFileBackend(str(folder / TRIALS)))
    study = optuna.create_study(storage=storage, study_name=name, direction="maximize", load_if_exists=True)
    study.sampler = optuna.samplers.TPESampler(seed=settings.seed + len(study.trials), n_startup_trials=len(names))
    if not study.trials:
        for each in names:
            study.enqueue_trial({"option": each, "learning_rate": settings.optimizer.learning_rate})
    return study, names


def tune(
    settings: TrainSettings,
    memory_bytes: float,
    minutes: float,
    report: Report = lambda line: None,
    plugin: str | None = None,
    measure: Measure | None = None,
    attempt: Callable[[TrainSettings], Tried] | None = None,
) -> Path:
    """Choose the settings with the best score within a limit of memory, in little time.

    A few steps of each way are measured in processes of their own; a cost model tells which batch sizes, image sizes
    and recomputations fit and which of them is the fastest; short trainings decide between what is left.
    The same call goes on where an earlier one was stopped.

    Args:
        settings: Where to start from; ``samples_per_step`` is kept.
        memory_bytes: What Paddle's tensors may take on the device.
        minutes: For measurements and trials.
        report: Called with each line for the user: what was left out, and why.
        plugin: Device plugin that the processes load.
        measure: Measures settings; None for ``measure_apart``.
        attempt: Trains; None for ``try_apart``.

    Returns:
        ``tune/chosen.yaml`` in ``output``, for ``tablerec train``.

    Raises:
        SettingsError: Nothing fits, or there is no validation to compare trials by.
        MissingDependencyError: Optuna is not installed.
        TrainingError: Steps or trials fail for another reason than memory.
    """
    if not settings.validation.samples:
        raise SettingsError("validation.samples is 0: tune compares trials by their validation, give 32 or more")
    measure = measure or (lambda changed: measure_apart(changed, steps=2, timeout=60 * minutes, plugin=plugin))
    attempt = attempt or (lambda changed: try_apart(changed, plugin))
    folder = settings.output / "tune"
    folder.mkdir(parents=True, exist_ok=True)
    begun = time.monotonic() - sum(line["seconds"] for line in read_lines(folder / MEASUREMENTS))
    left = lambda share: 60 * minutes * share - (time.monotonic() - begun)  # noqa: E731
    ways = list_ways(settings)
    models, n_cells = measure_ways(
        settings, ways, folder / MEASUREMENTS, lambda: left(1 - _SHARE_OF_TRIALS) < 0, report, measure
    )
    if not models:
        raise TrainingError("nothing could be measured: see the reasons above")
    options = choose_options(settings, models, n_cells, memory_bytes, report)
    if not options:
        raise SettingsError(
            f"nothing fits into {memory_bytes / 1e9:.2f} GB: lower data.image_size or data.max_cells, "
            "or give optimizer.trainable: head"
        )
    option, rate, why = run_trials(settings, options, folder, max(0.0, left(1.0)) / 60, report, attempt)
    chosen = change(settings, {**option.changes, "optimizer.learning_rate": rate})
    path = _write(chosen, folder / CHOSEN, why)
    allowing = " --allow-import" if name_imports(chosen) else ""
    report(f"chosen: {option}, learning rate {rate:.2g}: {why}. Go on with: tablerec train {path}{allowing}")
    return path


def _write(settings: TrainSettings, path: Path, why: str) -> Path:
    """Write what differs from the defaults."""
    import yaml

    with atomic_file(path) as file:
        file.write(f"# {why}\n{yaml.safe_dump(to_values(settings), sort_keys=False)}".encode())
    return path
