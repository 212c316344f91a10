"""The training loop: samples in, checkpoints, a curve and pictures out; stops and goes on at any step."""

from __future__ import annotations

import json
import shutil
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import Any

import paddle
from paddle import Tensor

from tablerec.errors import SettingsError, TrainingError
from tablerec.models.weights import network_to_arrays, save_arrays
from tablerec.training.batches import SampleBuffer
from tablerec.training.checkpoint import checkpoints, load_checkpoint, save_checkpoint
from tablerec.training.members import Member, other_members
from tablerec.training.samples import Sample, SampleFeed
from tablerec.training.settings import TrainSettings
from tablerec.training.trainer import Trainer
from tablerec.training.validation import draw_cells, find_cells, score_cells

WEIGHTS = "cellnet.safetensors"
"""In the output: the averaged weights with their statistics, as of the last validation."""

LOG = "log.jsonl"
"""In the output: the losses, a line every ``log_every`` steps."""
CURVE = "curve.jsonl"
"""In the output: the validations, a line each."""

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
        self.buffer = SampleBuffer(settings.buffer)
        self.n_taken = 0  # samples so far in all stretches
        self.validation: list[Sample] = []
        first = self._resume()
        s = settings
        self.feed = SampleFeed(s.source, first + number, s.side, s.most_cells, s.workers, s.stack, s.members)

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
        for name in (LOG, CURVE):
            if self.number == 0 and found[-1].parent != s.output and (found[-1].parent / name).is_file():
                shutil.copyfile(found[-1].parent / name, s.output / name)
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
        begun, sums = time.monotonic(), _Sums()
        while not self._ends(should_stop, member):
            progress = trainer.progress(trainer.seconds)
            self._fill(None if s.reuse is None else s.warm + self._n_for_step())
            sums.add(trainer.train_step(self.buffer, progress))
            trainer.seconds = earlier + time.monotonic() - begun
            if self.number:
                continue
            if trainer.step % s.log_every == 0:
                self._log(sums, progress)
            finished = trainer.progress(trainer.seconds) >= 1
            if trainer.step % s.validate_every == 0 and not finished:
                self._validate()
            if trainer.step % s.checkpoint_every == 0 and not finished:
                self._save()
        trainer.seconds = earlier + time.monotonic() - begun
        if self.number == 0:
            self._save()
            self._validate()
        return trainer.progress(trainer.seconds) >= 1

    def _ends(self, should_stop: Callable[[], bool], member: Member | None) -> bool:
        """Whether no step follows; members decide it together when they meet to average their weights."""
        ends = self.trainer.progress(self.trainer.seconds) >= 1 or should_stop() or self._is_over()
        if member is None:
            return ends
        if self.trainer.step % self.settings.meet_every:
            return False
        mean, ends = member.meet(self.trainer.values(), ends=ends)
        self.trainer.take_values(mean)
        return ends

    def _n_for_step(self) -> int:
        """Samples that the steps so far have used up, where ``reuse`` says so."""
        return int(self.trainer.step * self.settings.batch / (self.settings.reuse or 1.0))

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
        feed = SampleFeed(source, s.validation_first, s.side, s.most_cells, s.workers)
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

    def _log(self, sums: _Sums, progress: float) -> None:
        values, steps, seconds = sums.read()
        if not all(abs(value) < float("inf") for value in values.values()):
            raise TrainingError(
                f"the loss is not finite at step {self.trainer.step}: {values}; lower learning_rate "
                f"and go on from the last checkpoint in {self.settings.output}"
            )
        left = self._seconds_left(seconds / steps)
        line = {
            "step": self.trainer.step,
            "seconds": round(self.trainer.seconds, 1),
            "learning_rate": self.trainer.learning_rate(progress),
            "images_per_second": round(steps * self.settings.batch / seconds, 1),
            "samples": self.n_taken,
            "passed_over": self.feed.n_failed,
            "minutes_left": round(left / 60, 1),
            **values,
        }
        self._append(LOG, line)
        parts = " ".join(f"{name} {value:.4g}" for name, value in values.items())
        self.report(
            f"step {line['step']} {parts} lr {line['learning_rate']:.2g} {line['images_per_second']} images/s "
            f"samples {self.n_taken} buffer {len(self.buffer)} left {line['minutes_left']} min"
        )

    def _seconds_left(self, seconds_a_step: float) -> float:
        s = self.settings
        if s.steps is not None:
            return (s.steps - self.trainer.step) * seconds_a_step
        return 60 * (s.minutes or 0.0) - self.trainer.seconds

    def _validate(self) -> None:
        s, step = self.settings, self.trainer.step
        net = self.trainer.show(self.buffer)
        save_arrays(s.output / WEIGHTS, network_to_arrays(net), {"network": json.dumps(dict(s.network))})
        if not self.validation:
            return
        found = find_cells(net, self.validation, s.batch, s.threshold)
        scores = asdict(score_cells(found, self.validation))
        self._append(CURVE, {"step": step, "seconds": round(self.trainer.seconds, 1), **scores})
        if s.pictures:
            draw_cells(s.output / f"pictures/step-{step:08d}.jpg", found[: s.pictures], self.validation[: s.pictures])
        self.report(f"step {step} validation " + " ".join(f"{name} {value:.4f}" for name, value in scores.items()))

    def _save(self) -> None:
        state = {
            "seconds": self.trainer.seconds,
            "n_taken": self.n_taken,
            "buffer": list(self.buffer.indices),
            "settings": asdict(self.settings),
            "paddle": paddle.__version__,
        }
        path = save_checkpoint(self.settings.output, self.trainer.step, self.trainer.arrays(), state)
        self.report(f"step {self.trainer.step} saved as {path.name}")

    def _append(self, name: str, line: dict[str, Any]) -> None:
        with (self.settings.output / name).open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")


class _Sums:
    """Sums of the parts of the loss on the device, read when the log asks."""

    def __init__(self) -> None:
        self._names: list[str] = []
        self._sum: Tensor | None = None
        self._steps = 0
        self._since = time.monotonic()

    def add(self, parts: dict[str, Tensor]) -> None:
        values = paddle.stack(list(parts.values()))
        self._names = list(parts)
        self._sum = values if self._sum is None else self._sum + values
        self._steps += 1

    def read(self) -> tuple[dict[str, float], int, float]:
        """Means by name, the number of steps, and the seconds since the last reading; begins anew."""
        assert self._sum is not None
        means = (self._sum.numpy() / self._steps).tolist()
        now = time.monotonic()
        result = dict(zip(self._names, means, strict=True)), self._steps, max(now - self._since, 1e-9)
        self._sum, self._steps, self._since = None, 0, now
        return result


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
    report(f"{how}: {settings.output / WEIGHTS}")
    return settings.output / WEIGHTS


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
