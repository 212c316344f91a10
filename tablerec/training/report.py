"""What came of a run: ``summary.json`` for programs, ``report.html`` for people.

Both are made from what the run left in its output, so that a run that was stopped or failed has them too.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from tablerec.outputs.files import atomic_file
from tablerec.training.logs import CURVE, LOG, read_lines
from tablerec.training.memory import process_peak_bytes
from tablerec.training.scores import ScoreNames, scores_of
from tablerec.training.settings import TrainSettings

SUMMARY = "summary.json"
"""In the output: what was trained, on what, and what came of it."""
PAGE = "report.html"
"""In the output: the same as a page with curves and pictures."""

_FEW_STEPS = 30
"""Below these the losses say nothing about where they go."""
_NOTEWORTHY = 0.005
"""A smaller difference of two scores is chance on a validation of usual size."""

Line = Mapping[str, Any]
Ended = Literal["finished", "stopped", "failed"]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What the files of a run do not say.

    Args:
        ended: ``finished`` the schedule, ``stopped`` before its end, or ``failed``.
        weights: The weights to use; None where there are none yet.
        checkpoint: The newest whole checkpoint, from which the same command goes on; None without one.
        seconds: Training time over all runs.
        n_samples: Samples that were prepared.
        n_parameters: Numbers in the weights.
        n_trainable: Those of them that are trained.
        peak_bytes: Most memory that Paddle's tensors took on the device; 0 where it is not counted.
        problem: Why it failed.
    """

    ended: Ended
    weights: Path | None
    checkpoint: Path | None
    seconds: float
    n_samples: int
    n_parameters: int
    n_trainable: int
    peak_bytes: int = 0
    problem: str = ""


def write_report(settings: TrainSettings, outcome: Outcome) -> Path:
    """Write summary and page into the output of a run; returns the page.

    Raises:
        OutputError: One of them cannot be written; an earlier one is left as it was.
    """
    from tablerec.training.report_page import page

    output = settings.output
    losses, curve = read_lines(output / LOG), read_lines(output / CURVE)
    summary = summarize(settings, outcome, losses, curve)
    with atomic_file(output / SUMMARY) as file:
        file.write((json.dumps(summary, indent=1, default=str) + "\n").encode())
    with atomic_file(output / PAGE) as file:
        file.write(page(summary, scores_of(settings), losses, curve, pictures_of(output, summary)).encode())
    return output / PAGE


def summarize(
    settings: TrainSettings, outcome: Outcome, losses: Sequence[Line], curve: Sequence[Line]
) -> dict[str, Any]:
    """Put together what ``summary.json`` holds.

    Args:
        settings: Of the run.
        outcome: See ``Outcome``.
        losses: Lines of ``log.jsonl``.
        curve: Lines of ``curve.jsonl``; that of step 0 tells how good the weights were as they were given.

    Returns:
        Values for JSON. ``before`` and ``after`` hold scores, 0 to 1, and are None where nothing was
        validated; ``after`` is of the weights that were kept.
    """
    steps = int(losses[-1]["step"]) if losses else 0
    before = curve[0] if curve and curve[0]["step"] == 0 else None
    names = scores_of(settings)
    after = _kept(curve, names, best=settings.validation.patience is not None)
    images = steps * settings.samples_per_step * settings.ranks
    return {
        "ended": outcome.ended,
        "problem": outcome.problem,
        "model": settings.model,
        "trainable": settings.optimizer.trainable,
        "n_parameters": outcome.n_parameters,
        "n_trainable": outcome.n_trainable,
        "device": settings.device,
        "source": settings.data.source,
        "samples": outcome.n_samples,
        "steps": steps,
        "minutes": round(outcome.seconds / 60, 2),
        "images_per_second": round(images / outcome.seconds, 2) if outcome.seconds else None,
        "peak_bytes": outcome.peak_bytes,
        "process_bytes": process_peak_bytes(),
        "before": None if before is None else {name: before[name] for name in names.headings},
        "after": None if after is None else {"step": after["step"], **{name: after[name] for name in names.headings}},
        "weights": outcome.weights,
        "checkpoint": outcome.checkpoint,
        "warnings": list_warnings(settings, outcome, losses, curve),
        "settings": asdict(settings),
    }


def list_warnings(
    settings: TrainSettings, outcome: Outcome, losses: Sequence[Line], curve: Sequence[Line]
) -> list[str]:
    """Say what an engineer should look at before using the weights, each with what to do."""
    names = scores_of(settings)
    checks = (
        _few_samples(settings, outcome),
        _no_validation(settings, curve),
        _no_progress(curve, names),
        _overfitting(losses, curve, names, kept_best=settings.validation.patience is not None),
        _loss_stays(losses),
    )
    return [warning for warning in checks if warning]


def _few_samples(settings: TrainSettings, outcome: Outcome) -> str:
    if 0 < outcome.n_samples < settings.samples_per_step:
        return (
            f"Only {outcome.n_samples} samples were prepared, fewer than one step takes: raise data.min_buffer, or "
            "lower data.batch_size."
        )
    return ""


def _no_validation(settings: TrainSettings, curve: Sequence[Line]) -> str:
    if not curve:
        return "Nothing was validated: set validation.source and validation.samples to know whether it became better."
    if settings.validation.samples < 10:
        return (
            f"The scores are over {settings.validation.samples} samples only: they say little. Validate on 30 or more."
        )
    return ""


def _no_progress(curve: Sequence[Line], names: ScoreNames) -> str:
    if len(curve) < 2 or curve[0]["step"] != 0:
        return ""
    before, best = curve[0], max(curve[1:], key=names.rank)
    gain = names.rank(best) - names.rank(before)
    if gain >= _NOTEWORTHY:
        return ""
    change = "It became worse" if gain <= -_NOTEWORTHY else "No progress"
    return (
        f"{change}: {names.title} was {before[names.best]:.3f} before and {best[names.best]:.3f} at best. "
        f"{names.advice}; then train longer, or with another optimizer.learning_rate."
    )


def _overfitting(losses: Sequence[Line], curve: Sequence[Line], names: ScoreNames, *, kept_best: bool) -> str:
    """The validation gets worse while the loss falls: the network overfits."""
    best = _kept(curve, names, best=True)
    if best is None or best is curve[-1] or best["step"] == 0:
        return ""
    if names.rank(best) - names.rank(curve[-1]) < _NOTEWORTHY:
        return ""
    totals = [line["total"] for line in losses if line["step"] > best["step"]]
    early, late = _mean(totals[: len(totals) // 2]), _mean(totals[len(totals) // 2 :])
    if len(totals) < 2 or not late < early:
        return ""
    kept = (
        "Those of the best step were kept." if kept_best else "Set validation.patience, which keeps the best weights."
    )
    return (
        f"Overfitting: after step {best['step']} {names.title} went from {best[names.best]:.3f} to "
        f"{curve[-1][names.best]:.3f} while the loss went on falling. {kept} {names.more} help."
    )


def _loss_stays(losses: Sequence[Line]) -> str:
    totals = [line["total"] for line in losses]
    third = len(totals) // 3
    if len(totals) < _FEW_STEPS or _mean(totals[-third:]) < 0.98 * _mean(totals[:third]):
        return ""
    return "The loss does not fall: raise optimizer.learning_rate where the scores do not rise either, or train longer."


def _kept(curve: Sequence[Line], names: ScoreNames, *, best: bool) -> Line | None:
    """The validation of the weights that were kept: the first best one, or the last."""
    if not curve:
        return None
    return max(curve, key=lambda line: (names.rank(line), -line["step"])) if best else curve[-1]


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values) if values else math.nan


def pictures_of(output: Path, summary: Mapping[str, Any]) -> list[tuple[int, Path]]:
    """Return the pictures of the weights as they were given and as they were kept: step and file, at most two.

    >>> pictures_of(Path("nowhere"), {"before": {"f1_80": 0.5}, "after": None})
    []
    """
    steps = ([0] if summary["before"] else []) + ([summary["after"]["step"]] if summary["after"] else [])
    paths = {step: output / f"pictures/step-{step:08d}.jpg" for step in steps}
    return [(step, path) for step, path in paths.items() if path.is_file()]
