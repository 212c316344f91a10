"""Which settings learn most within a limit of memory and time: measured, predicted, then tried."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, fields, replace
from hashlib import sha256
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

from tablerec.errors import MissingDependencyError, SettingsError, TrainingError
from tablerec.output import atomic_file
from tablerec.training.costs import CostModel, Point, fit_costs
from tablerec.training.logs import CURVE, read_lines
from tablerec.training.measure import Measured, child_environment, measure_apart, settings_to_json
from tablerec.training.settings import TrainSettings

Report = Callable[[str], None]
Measure = Callable[[TrainSettings], Measured]

SAFETY = 1.05
"""Predicted bytes times this have to fit."""
MEASUREMENTS, TRIALS, CHOSEN = "measurements.jsonl", "trials.journal", "chosen.yaml"
_SHARE_OF_TRIALS = 0.6
_N_TRIALS = 8


class Way(NamedTuple):
    """How a step is made, whatever its batch and side: what has a cost model of its own."""

    learns: str
    recompute: str
    precision: str


@dataclass(frozen=True, slots=True)
class Option:
    """Settings that fit.

    Args:
        way: See ``Way``.
        side: Of the canvas, pixels.
        batch: Pictures at once.
        accumulate: Batches in a step.
        peak_bytes: Predicted.
        seconds: Of a step, predicted.
    """

    way: Way
    side: int
    batch: int
    accumulate: int
    peak_bytes: float
    seconds: float

    @property
    def changes(self) -> dict[str, Any]:
        """The fields of ``TrainSettings`` that it sets."""
        return {**self.way._asdict(), "side": self.side, "batch": self.batch, "accumulate": self.accumulate}

    def __str__(self) -> str:
        """Return it in a few words."""
        return (
            f"learns {self.way.learns}, side {self.side}, batch {self.batch} x {self.accumulate}, "
            f"recompute {self.way.recompute}, {self.way.precision}"
        )


def list_ways(settings: TrainSettings) -> list[Way]:
    """List the ways that are worth a measurement.

    What the file chooses stays; ``learns: all`` with initial weights is compared with ``lora`` and ``head``. Those
    without recomputation come first: where time is short, they are measured.

    >>> ways = list_ways(TrainSettings("a:b", Path("out"), steps=1, initial=Path("cellnet")))
    >>> len(ways), ways[0]
    (6, Way(learns='all', recompute='none', precision='float32'))
    """
    open_choice = settings.learns == "all" and settings.initial is not None and settings.frozen == "float32"
    learns = ["all", "lora", "head"] if open_choice else [settings.learns]
    precisions = [settings.precision]
    if settings.precision == "float32" and settings.device != "cpu":
        precisions.append("bfloat16")
    orders = product(("none", "all"), learns, precisions)
    return [Way(who, recompute, precision) for recompute, who, precision in orders]


def list_sides(settings: TrainSettings) -> list[int]:
    """List the sides: the given one, and where pictures keep their shape three quarters of it.

    A device other than the CPU has time for half as much again: narrow cells of large pictures are seen there only.

    >>> list_sides(TrainSettings("a:b", Path("out"), steps=1, side=640, device="gpu"))
    [640, 480, 960]
    """
    smaller, larger = (settings.side * share // 4 // 32 * 32 for share in (3, 6))
    sides = [settings.side]
    if settings.model == "cellnet":
        sides += [smaller] if smaller >= 320 else []
        sides += [larger] if settings.device != "cpu" and larger <= 1280 else []
    return sides


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
            report(f"{_name(way)}: left out, no time was left to measure it")
            continue
        for sizes in plan_sizes(settings):
            points, problem = _measure_sizes(settings, way, sizes, file, measure)
            if not problem:
                break
        if problem:
            report(f"{_name(way)}: left out, {problem}")
            continue
        models[way], n_cells = fit_costs(points), max(n_cells, *(point.n_cells for point in points))
        one = models[way].peak_bytes(1, settings.side, n_cells), models[way].seconds(1, settings.side, n_cells)
        report(f"{_name(way)}: {one[0] / 1e9:.2f} GB and {one[1]:.2f} s with one picture")
    return models, n_cells


def plan_sizes(settings: TrainSettings) -> list[list[tuple[int, int]]]:
    """Choose batches and sides to measure; the second plan is for a device that is too small for the first.

    Large ones, as with little to keep the peak is not within the network but in the optimizer.

    >>> plan_sizes(TrainSettings("a:b", Path("out"), steps=1, side=640))
    [[(2, 640), (2, 480), (4, 480)], [(1, 640), (1, 480), (2, 480)]]
    """
    smaller = max(32, settings.side * 3 // 4 // 32 * 32)
    many = [(2, settings.side), (2, smaller), (4, smaller)]
    few = [(1, settings.side), (1, smaller), (2, smaller)]
    return [many, few] if settings.batch * settings.accumulate > 1 else [few]


def _measure_sizes(
    settings: TrainSettings, way: Way, sizes: Iterable[tuple[int, int]], file: Path, measure: Measure
) -> tuple[list[Point], str]:
    """Measure a way at some sizes; the text says why one could not be measured."""
    points = []
    for batch, side in sizes:
        changed = replace(settings, **way._asdict(), batch=batch, side=side, accumulate=1, warm=batch)
        found = _measured(replace(changed, buffer=max(batch, settings.buffer)), file, measure)
        if found.problem:
            return [], found.problem
        points.append(Point(batch, side, found.n_cells, found.peak_bytes, found.seconds))
    return points, ""


def _name(way: Way) -> str:
    return f"learns {way.learns}, recompute {way.recompute}, {way.precision}"


def _measured(settings: TrainSettings, file: Path, measure: Measure) -> Measured:
    key = sha256(settings_to_json(settings).encode()).hexdigest()[:16]
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
    """For each choice of what learns and each side, take the fastest step that fits.

    Args:
        settings: ``batch`` times ``accumulate`` pictures make a step; that stays.
        models: Costs by way.
        n_cells: Cells in a picture.
        limit_bytes: What a step may take on the device.
        report: Called with a line for each choice.

    Returns:
        At most one for each pair; the fastest first.
    """
    total = settings.batch * settings.accumulate
    batches = [batch for batch in range(1, total + 1) if total % batch == 0]
    options = []
    for learns, side in product(dict.fromkeys(way.learns for way in models), list_sides(settings)):
        every = [
            Option(way, side, batch, total // batch, model.peak_bytes(batch, side, n_cells),
                   total // batch * model.seconds(batch, side, n_cells))
            for (way, model), batch in product(models.items(), batches)
            if way.learns == learns
        ]  # fmt: skip
        fitting = [option for option in every if SAFETY * option.peak_bytes <= limit_bytes]
        if not fitting:
            least = min(option.peak_bytes for option in every)
            report(f"learns {learns}, side {side}: does not fit, takes {least / 1e9:.2f} GB at least")
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
        score: F1 at 0.8 of its validation; None where it failed.
        problem: Why.
    """

    score: float | None
    problem: str = ""


def try_apart(settings: TrainSettings, plugin: str | None = None) -> Tried:
    """Train in a new process and read the last validation."""
    settings.output.mkdir(parents=True, exist_ok=True)
    path = settings.output / "trial.json"
    path.write_text(settings_to_json(settings), encoding="utf-8")
    command = [sys.executable, "-m", "tablerec", "train", str(path), *(["--plugin", plugin] if plugin else [])]
    done = subprocess.run(command, capture_output=True, text=True, env=child_environment(), check=False)  # noqa: S603
    curve = read_lines(settings.output / CURVE)
    if done.returncode or not curve:
        return Tried(None, (done.stderr.strip().splitlines() or ["no validation"])[-1])
    return Tried(float(curve[-1]["f1_80"]))


def shorten(
    settings: TrainSettings, option: Option, minutes: float, output: Path, learning_rate: float
) -> TrainSettings:
    """Make the settings of a trial: a whole schedule in little time."""
    n_steps = 60 * minutes / option.seconds
    s = replace(settings, **option.changes, steps=None, minutes=minutes, output=output, learning_rate=learning_rate)
    warm = min(s.warm, max(2 * s.batch, 64))
    return replace(
        s, warmup=max(1, min(s.warmup, int(n_steps / 10))), warm=warm, statistics=min(s.statistics, 8), pictures=0,
        validation_count=min(s.validation_count, 32), validate_every=10**9, checkpoint_every=10**9, patience=None,
        log_every=10, tensorboard=False, resume=None,
    )  # fmt: skip


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
    each = minutes / max(_N_TRIALS, len(options))
    finished = lambda: [trial for trial in study.trials if trial.state.is_finished()]  # noqa: E731
    spent = sum(trial.user_attrs.get("minutes", 0.0) for trial in finished())
    while each > 0 and spent + each <= minutes + 1e-9:
        trial = study.ask()
        option = options[names.index(trial.suggest_categorical("option", names))]
        rate = trial.suggest_float("learning_rate", settings.learning_rate / 5, settings.learning_rate * 5, log=True)
        begun = time.monotonic()
        output = folder / f"trial-{trial.number:03d}"
        found = attempt(shorten(settings, option, each, output, rate))
        took = max((time.monotonic() - begun) / 60, each)
        trial.set_user_attr("minutes", took)
        spent += took
        study.tell(trial, found.score, _state(found))
        said = f"failed, {found.problem}" if found.score is None else f"F1 at 0.8 is {found.score:.4f}"
        report(f"trial {trial.number}: {option}, learning rate {rate:.2g}: {said}")
    scored = [trial for trial in finished() if trial.value is not None]
    if not scored:
        if finished():
            raise TrainingError(f"all trials failed, see {folder}: train with CONFIG itself to see why")
        return options[0], settings.learning_rate, "the fastest that fits; no time was left to try it"
    best = max(scored, key=lambda trial: trial.value)
    option = options[names.index(best.params["option"])]
    return option, best.params["learning_rate"], f"F1 at 0.8 of {best.value:.4f}, the best of {len(scored)} trials"


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
    name = sha256("\n".join([settings_to_json(settings), *names]).encode()).hexdigest()[:16]
    storage = optuna.storages.JournalStorage(optuna.storages.journal.JournalFileBackend(str(folder / TRIALS)))
    study = optuna.create_study(storage=storage, study_name=name, direction="maximize", load_if_exists=True)
    study.sampler = optuna.samplers.TPESampler(seed=settings.seed + len(study.trials), n_startup_trials=len(names))
    if not study.trials:
        for each in names:
            study.enqueue_trial({"option": each, "learning_rate": settings.learning_rate})
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
    """Find settings that learn most within a limit of memory, in little time.

    A few steps of each way to learn are measured in processes of their own; a cost model tells which batches,
    sides and recomputations fit and which of them is the fastest; short trainings decide between what is left.
    The same call goes on where an earlier one was stopped.

    Args:
        settings: Where to start from; ``batch`` times ``accumulate`` is kept.
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
    if not settings.validation_count:
        raise SettingsError("validation_count is 0: tune compares trials by their validation, give 32 or more")
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
        raise TrainingError("no way to learn could be measured: see the reasons above")
    options = choose_options(settings, models, n_cells, memory_bytes, report)
    if not options:
        raise SettingsError(
            f"nothing fits into {memory_bytes / 1e9:.2f} GB: lower side or most_cells, or give learns: head"
        )
    option, rate, why = run_trials(settings, options, folder, max(0.0, left(1.0)) / 60, report, attempt)
    chosen = replace(settings, **option.changes, learning_rate=rate)
    path = _write(chosen, folder / CHOSEN, why)
    report(f"chosen: {option}, learning rate {rate:.2g}: {why}. Go on with: tablerec train {path}")
    return path


def _write(settings: TrainSettings, path: Path, why: str) -> Path:
    """Write what differs from the defaults."""
    import yaml

    defaults = asdict(TrainSettings(settings.source, settings.output, steps=1))
    given = json.loads(settings_to_json(settings))
    known = {each.name for each in fields(settings)}
    told = {
        name: value
        for name, value in given.items()
        if name in known and (name in ("source", "output", "steps") or asdict(settings)[name] != defaults[name])
    }
    with atomic_file(path) as file:
        file.write(f"# {why}\n{yaml.safe_dump(told, sort_keys=False)}".encode())
    return path
