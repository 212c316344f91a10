"""The training loop: samples in, checkpoints, a curve and pictures out; stops and goes on at any step."""

from __future__ import annotations

import math
import signal
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import paddle
from paddle import Tensor

from tablerec.errors import OutputError, SettingsError, TablerecError, TrainingError
from tablerec.models.adapter import is_adapter
from tablerec.models.arrays import STATISTICS, trainable
from tablerec.training.checkpoint import checkpoints, load_newest, save_checkpoint
from tablerec.training.data.feed import SampleFeed
from tablerec.training.logs import CURVE, TrainingLog, read_lines
from tablerec.training.memory import peak_memory, remedies, reset_peak_memory
from tablerec.training.ranks.collective import Ranks, join_ranks
from tablerec.training.ranks.launch import LOGS, WEIGHTS, is_deserted
from tablerec.training.report import Ended, Outcome, write_report
from tablerec.training.scores import scores_of
from tablerec.training.settings import DataSettings, TrainSettings
from tablerec.training.trainer import Trainer

Report = Callable[[str], None]


class Run:
    """A run of a training, from its start or a checkpoint to its end or the next one.

    Args:
        settings: See ``TrainSettings``.
        report: Called with each line for the user.
        ranks: The processes that train together; only the first one validates and reports.
    """

    def __init__(self, settings: TrainSettings, report: Report, ranks: Ranks) -> None:
        self.settings, self.report, self.ranks = settings, report, ranks
        self.started = time.monotonic()
        settings.output.mkdir(parents=True, exist_ok=True)
        reset_peak_memory(paddle.get_device())
        self.trainer = Trainer(settings, ranks)
        self.log = TrainingLog(settings.output, tensorboard=settings.tensorboard and not ranks.number)
        self.buffer = self.trainer.task.buffer(settings, settings.data.buffer_size)
        self.n_taken = 0  # samples so far in all runs
        self.validation: list[Any] = []
        self.names = scores_of(settings)
        self.best = Best()
        self.saved = -1  # the step of the last checkpoint
        self.weights = settings.output
        preparation = self.trainer.task.preparation(settings)
        self.feed = SampleFeed(settings.data.source, self._resume(), preparation, settings.data.workers, ranks.count)

    def _resume(self) -> int:
        """Load the newest checkpoint; return the index of the first sample to prepare."""
        s = self.settings
        found = load_newest(s.output, self.report) or (load_newest(s.resume, self.report) if s.resume else None)
        if found is None:
            if s.resume:
                raise SettingsError(f"resume: {s.resume} holds no checkpoint; leave it out to begin anew")
            if self.ranks.number == 0:
                self.log.take_over(s.output, -1)  # a run that was killed before its first checkpoint
            return s.data.first_index + self.ranks.number
        path, groups, state = found
        self.trainer.load(groups, state)
        if self.ranks.number == 0:
            self.log.take_over(path.parent, self.trainer.step)
            for line in read_lines(s.output / CURVE):
                self.best = self.best.after(line["step"], self.names.rank(line))
        first, length, self.n_taken = find_place(state, self.ranks.number, self.ranks.count, s.data)
        self.report(f"going on from {path.name}, preparing {length} samples again")
        return first

    def close(self) -> None:
        """End the processes that prepare samples."""
        self.feed.close()

    def go(self, should_stop: Callable[[], bool]) -> bool:
        """Train until the schedule, the time of the run or the user ends; returns whether the schedule did.

        Args:
            should_stop: Whether the user wants to.
        """
        s, trainer, leads = self.settings, self.trainer, self.ranks.number == 0
        earlier = trainer.seconds
        if leads:
            self._load_validation()
        self._fill(self._n_for_step() or s.data.min_buffer)
        begun = time.monotonic()
        if leads and s.initial and trainer.step == 0:
            self._validate()
        while not self._ends(should_stop):
            progress = trainer.progress(trainer.seconds)
            self._fill(self._n_for_step())
            parts = trainer.train_step(self.buffer, progress)
            trainer.seconds = earlier + time.monotonic() - begun
            if leads:
                self._note(parts, trainer.learning_rate(progress))
            if trainer.step % s.validation.every == 0:
                self.ranks.mean_statistics(trainer.net)
                if leads and trainer.progress(trainer.seconds) < 1:
                    self._validate()
            if trainer.step % s.schedule.checkpoint_every == 0:
                self._save()
        finished = trainer.progress(trainer.seconds) >= 1
        if self.saved != trainer.step:
            self._save()
        if leads and self.best.latest != trainer.step:
            self._validate()
        self.log.close()
        return finished or self._is_no_better()

    def _ends(self, should_stop: Callable[[], bool]) -> bool:
        """Whether no step follows; the ranks decide it together, by the first one's clock."""
        wants_to = should_stop() or is_deserted()
        if self.ranks.number == 0:
            done = self.trainer.progress(self.trainer.seconds) >= 1 or self._is_no_better()
            wants_to = wants_to or done or self._is_over()
        said = self.ranks.exchange([wants_to, self.trainer.seconds])
        self.trainer.seconds = said[0][1]
        return any(wants for wants, _ in said)

    def _note(self, parts: dict[str, Any], learning_rate: float) -> None:
        """Put a step into the log, and report now and then."""
        ranks = self.ranks
        shared = {"all_reduces": ranks.n_reduced, "all_reduced_bytes": ranks.n_bytes} if ranks.count > 1 else {}
        self.log.add(parts, step=self.trainer.step, learning_rate=learning_rate, **shared)
        if self.trainer.step % self.settings.schedule.log_every == 0:
            self._report_losses()

    def _n_for_step(self) -> int | None:
        """Samples that must have been taken before the next step, where ``uses_per_sample`` says so."""
        s = self.settings
        if s.data.uses_per_sample is None:
            return None
        return s.data.min_buffer + int(self.trainer.step * s.samples_per_step / s.data.uses_per_sample)

    def _fill(self, n_wanted: int | None) -> None:
        """Put samples into the buffer: up to a number in all, waiting for them, or what is ready."""
        while n_wanted is None or self.n_taken < n_wanted or len(self.buffer) == 0:
            sample = self.feed.take(wait=n_wanted is not None)
            if sample is None:
                break
            self.buffer.put(sample, self.feed.next_index - self.feed.stride)
            self.n_taken += 1
            if n_wanted is None and not self.settings.data.workers:
                break  # prepared here and now, one for each step

    def _load_validation(self) -> None:
        s, workers = self.settings.validation, self.settings.data.workers
        if not s.samples:
            return
        preparation = self.trainer.task.preparation(self.settings, validation=True)
        feed = SampleFeed(s.source or self.settings.data.source, s.first_index, preparation, workers)
        try:
            while len(self.validation) < s.samples:
                sample = feed.take(wait=True)
                self.validation.append(sample)
        finally:
            feed.close()

    def _is_over(self) -> bool:
        limit = self.settings.schedule.max_minutes_per_run
        return limit is not None and time.monotonic() - self.started > 60 * limit

    def _is_no_better(self) -> bool:
        """Whether the validation has not become better for as long as ``patience`` allows."""
        patience = self.settings.validation.patience
        return patience is not None and self.best.n_since >= patience

    def _report_losses(self) -> None:
        means = self.log.read()
        if means is None:
            return
        if not all(abs(value) < float("inf") for value in means.values.values()):
            raise self._not_finite(f"the loss is not finite at step {self.trainer.step}: {means.values}")
        s, step = self.settings, self.trainer.step
        parts = " ".join(f"{name} {value:.4g}" for name, value in means.values.items())
        speed = means.steps * s.samples_per_step * self.ranks.count / means.seconds
        left = self._seconds_left(means.seconds / means.steps) / 60
        skipped = f" skipped {self.feed.n_failed}" if self.feed.n_failed else ""
        self.report(
            f"step {step} {parts} lr {self.trainer.learning_rate(self.trainer.progress(self.trainer.seconds)):.2g} "
            f"{speed:.1f} images/s samples {self.n_taken}{skipped} buffer {len(self.buffer)} left {left:.1f} min"
        )

    def _not_finite(self, what: str) -> TrainingError:
        output = self.settings.output
        return TrainingError(f"{what}; lower optimizer.learning_rate and go on from the last checkpoint in {output}")

    def _seconds_left(self, seconds_a_step: float) -> float:
        s = self.settings.schedule
        if s.steps is not None:
            return (s.steps - self.trainer.step) * seconds_a_step
        return max(0.0, 60 * (s.minutes or 0.0) - self.trainer.seconds)

    def _validate(self) -> None:
        """Score the averaged weights, and keep them where they are the best so far or all are kept."""
        s, step = self.settings.validation, self.trainer.step
        net = self.trainer.show(self.buffer)
        if not self.validation:
            self.weights = self.trainer.save(net)
            return
        task = self.trainer.task
        answers = task.answer(net, self.validation, s.score_threshold)
        scores = task.score(answers, self.validation)
        self.log.scores(step, {"seconds": round(self.trainer.seconds, 1), **scores})
        self.best = self.best.after(step, self.names.rank(scores))
        if s.patience is None or self.best.step == step:
            self.weights = self.trainer.save(net)
        if s.pictures:
            path = self.settings.output / f"pictures/step-{step:08d}.jpg"
            task.draw(path, answers[: s.pictures], self.validation[: s.pictures])
            self.log.picture(step, "validation", path)
        self.report(f"step {step} validation " + " ".join(f"{name} {value:.4f}" for name, value in scores.items()))

    def _save(self) -> None:
        self._report_losses()  # nothing is saved after a loss that is not finite
        trainer, ranks = self.trainer, self.ranks
        if not paddle.isfinite(trainer.ema.vector).all():
            raise self._not_finite(f"the weights are not finite at step {trainer.step}")
        begun, self.saved = time.monotonic(), trainer.step
        state = {
            "seconds": trainer.seconds,
            **trainer.state(),
            "n_taken": self.n_taken,
            "buffer": list(self.buffer.indices),
            "settings": asdict(self.settings),
            "paddle": paddle.__version__,
        }
        ranks.mean_statistics(trainer.net)
        own = ranks.number, ranks.count, ranks.meet
        path = save_checkpoint(self.settings.output, trainer.step, trainer.arrays(), state, *own)
        self.report(f"step {trainer.step} saved as {path.name} in {time.monotonic() - begun:.2f} s")

    def outcome(self, ended: Ended, problem: str = "") -> Outcome:
        """Return what the report says besides the files of the run."""
        net, whole = self.trainer.net, checkpoints(self.settings.output)
        weights = (each for name, each in net.named_parameters() if not (name.endswith(STATISTICS) or is_adapter(name)))
        return Outcome(
            ended,
            weights=None if self.weights == self.settings.output else self.weights,
            checkpoint=whole[-1] if whole else None,
            seconds=self.trainer.seconds,
            n_samples=self.n_taken,
            n_parameters=_size(weights),
            n_trainable=_size(trainable(net).values()),
            peak_bytes=peak_memory(paddle.get_device()),
            problem=problem,
        )


def _size(parameters: Iterable[Tensor]) -> int:
    return sum(int(each.size) for each in parameters)


def find_place(state: Mapping[str, Any], number: int, count: int, settings: DataSettings) -> tuple[int, int, int]:
    """Tell where a rank goes on in the source.

    The samples of the buffer are prepared again: all of them where the steps depend on them.

    Args:
        state: Of a checkpoint.
        number: Which rank this is, from 0.
        count: How many there are now; where the checkpoint had another number, each prepares as many samples again
            as one of them had, from the places before the last one.
        settings: See ``DataSettings``.

    Returns:
        Index of the first sample, how many are prepared again, and how many were taken before them.

    >>> state, chosen = {"ranks": 1, "n_taken": 9, "buffer": [6, 7, 8, 9]}, DataSettings("a:b", uses_per_sample=2.0)
    >>> find_place(state, 0, 1, chosen), find_place(state, 1, 2, chosen)
    ((6, 4, 5), (3, 4, 5))
    """
    states = state.get("of_ranks", [state])
    mine = states[number] if len(states) == count else state
    again = mine["buffer"] if settings.uses_per_sample is not None else mine["buffer"][-settings.min_buffer :]
    first, length = int(again[0]), len(again)
    if len(states) != count:
        last = max(int(each["buffer"][-1]) for each in states)
        first = max(settings.first_index, last + 1 - length * count) + number
    return first, length, int(mine["n_taken"]) - length


@dataclass(frozen=True, slots=True)
class Best:
    """The best validation so far.

    Args:
        step: When.
        score: Its best score, as ``ScoreNames.rank`` has it.
        n_since: Validations since then.
        latest: When the last one was.
    """

    step: int = -1
    score: float = -math.inf
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


def run(settings: TrainSettings, report: Report) -> Path:
    """Train; returns the file of weights. See ``tablerec.training.train``.

    Args:
        settings: See ``TrainSettings``.
        report: Called with each line for the user.
    """
    with join_ranks(settings) as ranks, _writing(settings), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "When training, we now always track")  # of each batch normalization
        current = Run(replace(settings, ranks=ranks.count), report, ranks)
        try:
            with _stop_on_signals(report, again=ranks.count == 1) as should_stop, remedies(settings):
                finished = current.go(should_stop)
        except TablerecError as error:
            if ranks.number == 0:
                with suppress(OutputError):  # of the two, the user must hear of the first one
                    write_report(settings, current.outcome("failed", str(error)))
            raise
        finally:
            current.close()
        if ranks.number == 0:
            how = "finished" if finished else "stopped; the same command goes on"
            page = write_report(settings, current.outcome("finished" if finished else "stopped"))
            report(f"{how}: {current.weights}, report {page}")
            if ranks.count > 1:
                (settings.output / LOGS).mkdir(exist_ok=True)
                (settings.output / LOGS / WEIGHTS).write_text(str(current.weights), encoding="utf-8")
    return current.weights


@contextmanager
def _writing(settings: TrainSettings) -> Iterator[None]:
    """Name what cannot be written: a full disk, a folder that is closed, a file where a folder should be."""
    try:
        yield
    except ConnectionError:  # between ranks
        raise
    except OSError as error:
        if error.errno is None:  # Paddle's, for what went wrong outside of it
            raise
        raise OutputError(
            f"{error.filename or settings.output} cannot be written ({error.strerror or error}): make room, or choose "
            "another output; checkpoints that are there are whole"
        ) from error


@contextmanager
def _stop_on_signals(report: Report, *, again: bool) -> Iterator[Callable[[], bool]]:
    """The first SIGINT or SIGTERM ends the loop after its step; the second one ends the process as usual.

    Args:
        report: Called with a line.
        again: Whether a second one counts; Paddle's launcher sends one beside that of the terminal.
    """
    received: list[int] = []
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

    def restore() -> None:
        for number, handler in before.items():
            signal.signal(number, handler)

    def receive(number: int, frame: Any) -> None:
        received.append(number)
        if again:
            restore()
            report("stopping after this step; once more to stop at once")

    for number in before:
        signal.signal(number, receive)
    try:
        yield lambda: bool(received)
    finally:
        restore()
