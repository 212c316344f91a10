"""The training loop: samples in, checkpoints, a curve and pictures out; stops and goes on at any step."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import paddle

from tablerec.errors import SettingsError, TrainingError
from tablerec.training.batches import SampleBuffer
from tablerec.training.checkpoint import checkpoints, load_checkpoint, save_checkpoint
from tablerec.training.logs import CURVE, TrainingLog, read_lines
from tablerec.training.members import Member, other_members
from tablerec.training.samples import Canvas, Sample, SampleFeed
from tablerec.training.settings import TrainSettings
from tablerec.training.trainer import Trainer
from tablerec.training.validation import draw_cells, find_cells, score_cells

Report = Callable[[str], None]


class Run:
    """A stretch of training.

    Args:
        settings: See ``TrainSettings``.
        report: Called with each line for the user.
        number: Which of the members it is, from 0; only the first one validates and writes.
    """

    def __init__(self, settings: TrainSettings, report: Report, number: int = 0) -> None:
        self.settings, self.report, self.number = settings, report, number
        self.started = time.monotonic()
        paddle.set_device(settings.device_of(number))
        settings.output.mkdir(parents=True, exist_ok=True)
        self.trainer = Trainer(settings, number)
        self.log = TrainingLog(settings.output, tensorboard=settings.tensorboard)
        self.buffer = SampleBuffer(settings.buffer, on_device=settings.keep == "device")
        self.n_taken = 0  # samples so far in all stretches
        self.validation: list[Sample] = []
        self.best = Best()
        self.weights = settings.output
        first = self._resume()
        s, task = settings, self.trainer.task
        self.canvas = Canvas(s.side, min(s.most_cells, task.most_cells or s.most_cells), s.stack, task.stretch)
        self.feed = SampleFeed(s.source, first + number, self.canvas, s.workers, s.members)

    def _resume(self) -> int:
        """Load the newest checkpoint; return the index of the first sample to draw."""
        s = self.settings
        found = checkpoints(s.output) or (checkpoints(s.resume) if s.resume else [])
        if not found:
            if s.resume:
                raise SettingsError(f"resume: {s.resume} holds no checkpoint; leave it out to begin anew")
            return s.first
        groups, state = load_checkpoint(found[-1])
        self.trainer.load(groups, state)
        if self.number == 0:
            self.log.take_over(found[-1].parent, self.trainer.step)
            for line in read_lines(s.output / CURVE):
                self.best = self.best.after(line["step"], line["f1_80"])
        # The samples of the buffer are drawn again: all of them where the steps depend on them.
        refill = state["buffer"] if s.reuse is not None else state["buffer"][-s.warm :]
        self.n_taken = state["n_taken"] - len(refill)
        self.report(f"going on from {found[-1].name}, drawing {len(refill)} samples again")
        return int(refill[0])

    def close(self) -> None:
        """End the processes that draw samples."""
        self.feed.close()

    def go(self, should_stop: Callable[[], bool], member: Member | None = None) -> bool:
        """Train until the schedule, the stretch or the user ends; returns whether the schedule did.

        Args:
            should_stop: Whether the user wants to.
            member: The tie to the other members, where there are some.
        """
        s, trainer = self.settings, self.trainer
        earlier = trainer.seconds
        if self.number == 0:
            self._load_validation()
        self._fill(s.warm + self._n_for_step() if s.reuse is not None else s.warm)
        begun = time.monotonic()
        if self.number == 0 and s.initial and trainer.step == 0:
            self._validate()
        while not self._ends(should_stop, member):
            progress = trainer.progress(trainer.seconds)
            self._fill(None if s.reuse is None else s.warm + self._n_for_step())
            parts = trainer.train_step(self.buffer, progress)
            trainer.seconds = earlier + time.monotonic() - begun
            if self.number:
                continue
            self.log.add(parts, step=trainer.step, learning_rate=trainer.learning_rate(progress))
            if trainer.step % s.log_every == 0:
                self._report_losses()
            finished = trainer.progress(trainer.seconds) >= 1
            if trainer.step % s.validate_every == 0 and not finished:
                self._validate()
            if trainer.step % s.checkpoint_every == 0 and not finished:
                self._save()
        trainer.seconds = earlier + time.monotonic() - begun
        finished = trainer.progress(trainer.seconds) >= 1
        if self.number == 0:
            self._save()
            if self.best.latest != trainer.step:
                self._validate()
            self.log.close()
        return finished or self._is_no_better()

    def _ends(self, should_stop: Callable[[], bool], member: Member | None) -> bool:
        """Whether no step follows; members decide it together when they meet to average their weights."""
        done = self.trainer.progress(self.trainer.seconds) >= 1 or self._is_no_better()
        ends = done or should_stop() or self._is_over()
        if member is None:
            return ends
        if self.trainer.step % self.settings.meet_every:
            return False
        mean, ends = member.meet(self.trainer.values(), ends=ends)
        self.trainer.take_values(mean)
        return ends

    def _n_for_step(self) -> int:
        """Samples that the steps so far have used up, where ``reuse`` says so."""
        s = self.settings
        return int(self.trainer.step * s.batch * s.accumulate / (s.reuse or 1.0))

    def _fill(self, n_wanted: int | None) -> None:
        """Put samples into the buffer: up to a number in all, waiting for them, or what is ready."""
        while n_wanted is None or self.n_taken < n_wanted or len(self.buffer) == 0:
            sample = self.feed.take(wait=n_wanted is not None)
            if sample is None:
                break
            self.buffer.put(sample, self.feed.next_index - self.feed.stride)
            self.n_taken += 1
            if n_wanted is None and not self.settings.workers:
                break  # drawn here and now, one for each step

    def _load_validation(self) -> None:
        s = self.settings
        if not s.validation_count:
            return
        source = s.validation_source or s.source
        feed = SampleFeed(source, s.validation_first, self.canvas._replace(stack=1), s.workers)
        try:
            while len(self.validation) < s.validation_count:
                sample = feed.take(wait=True)
                assert sample is not None
                self.validation.append(sample)
        finally:
            feed.close()

    def _is_over(self) -> bool:
        limit = self.settings.stretch_minutes
        return limit is not None and time.monotonic() - self.started > 60 * limit

    def _is_no_better(self) -> bool:
        """Whether the validation has not become better for as long as ``patience`` allows."""
        patience = self.settings.patience
        return patience is not None and self.best.n_since >= patience

    def _report_losses(self) -> None:
        means = self.log.read()
        if means is None:
            return
        if not all(abs(value) < float("inf") for value in means.values.values()):
            raise TrainingError(
                f"the loss is not finite at step {self.trainer.step}: {means.values}; lower learning_rate "
                f"and go on from the last checkpoint in {self.settings.output}"
            )
        s, step = self.settings, self.trainer.step
        parts = " ".join(f"{name} {value:.4g}" for name, value in means.values.items())
        speed = means.steps * s.batch * s.accumulate / means.seconds
        left = self._seconds_left(means.seconds / means.steps) / 60
        passed_over = f" passed over {self.feed.n_failed}" if self.feed.n_failed else ""
        self.report(
            f"step {step} {parts} lr {self.trainer.learning_rate(self.trainer.progress(self.trainer.seconds)):.2g} "
            f"{speed:.1f} images/s samples {self.n_taken}{passed_over} buffer {len(self.buffer)} left {left:.1f} min"
        )

    def _seconds_left(self, seconds_a_step: float) -> float:
        s = self.settings
        if s.steps is not None:
            return (s.steps - self.trainer.step) * seconds_a_step
        return 60 * (s.minutes or 0.0) - self.trainer.seconds

    def _validate(self) -> None:
        """Score the averaged weights, and keep them where they are the best so far or all are kept."""
        s, step = self.settings, self.trainer.step
        net = self.trainer.show(self.buffer)
        if not self.validation:
            self.weights = self.trainer.task.save(net, s.output)
            return
        found = find_cells(self.trainer.task, net, self.validation, s.batch, s.threshold)
        scores = asdict(score_cells(found, self.validation))
        self.log.scores(step, {"seconds": round(self.trainer.seconds, 1), **scores})
        self.best = self.best.after(step, scores["f1_80"])
        if s.patience is None or self.best.step == step:
            self.weights = self.trainer.task.save(net, s.output)
        if s.pictures:
            path = s.output / f"pictures/step-{step:08d}.jpg"
            draw_cells(path, found[: s.pictures], self.validation[: s.pictures])
            self.log.picture(step, "cells", path)
        self.report(f"step {step} validation " + " ".join(f"{name} {value:.4f}" for name, value in scores.items()))

    def _save(self) -> None:
        self._report_losses()  # nothing is saved after a loss that is not finite
        state = {
            "seconds": self.trainer.seconds,
            "n_taken": self.n_taken,
            "buffer": list(self.buffer.indices),
            "settings": asdict(self.settings),
            "paddle": paddle.__version__,
        }
        path = save_checkpoint(self.settings.output, self.trainer.step, self.trainer.arrays(), state)
        self.report(f"step {self.trainer.step} saved as {path.name}")


@dataclass(frozen=True, slots=True)
class Best:
    """The best validation so far.

    Args:
        step: When.
        score: Its F1 at 0.8.
        n_since: Validations since then.
        latest: When the last one was.
    """

    step: int = -1
    score: float = -1.0
    n_since: int = 0
    latest: int = -1

    def after(self, step: int, score: float) -> Best:
        """Return the best after one more validation.

        >>> Best().after(10, 0.5).after(20, 0.4)
        Best(step=10, score=0.5, n_since=1, latest=20)
        """
        if score > self.score:
            return Best(step, score, 0, step)
        return replace(self, n_since=self.n_since + 1, latest=step)


def run(settings: TrainSettings, report: Report, plugin: Path | None = None) -> Path:
    """Train; returns the file of weights. See ``tablerec.training.train``.

    Args:
        settings: See ``TrainSettings``.
        report: Called with each line for the user.
        plugin: The library that is loaded, for the other members to load too.
    """
    stretch = Run(settings, report)
    try:
        with _stop_on_signals(report) as should_stop, _others(stretch, plugin) as member:
            finished = stretch.go(should_stop, member)
    finally:
        stretch.close()
    how = "finished" if finished else "stopped; the same command goes on"
    report(f"{how}: {stretch.weights}")
    return stretch.weights


def _others(stretch: Run, plugin: Path | None) -> AbstractContextManager[Member | None]:
    if stretch.settings.members == 1:
        return nullcontext()
    return other_members(stretch.settings, plugin, len(stretch.trainer.values()))


def train_beside(settings: TrainSettings, member: Member) -> None:
    """What all members but the first do."""
    stretch = Run(settings, lambda line: None, member.number)
    try:
        stretch.go(lambda: False, member)
    finally:
        stretch.close()


@contextmanager
def _stop_on_signals(report: Report) -> Iterator[Callable[[], bool]]:
    """The first SIGINT or SIGTERM ends the loop after its step; the second one ends the process as usual."""
    received: list[int] = []
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

    def restore() -> None:
        for number, handler in before.items():
            signal.signal(number, handler)

    def receive(number: int, frame: Any) -> None:
        received.append(number)
        restore()
        report("stopping after this step; once more to stop at once")

    for number in before:
        signal.signal(number, receive)
    try:
        yield lambda: bool(received)
    finally:
        restore()
