"""One optimizer step, and the state that a checkpoint keeps."""

from __future__ import annotations

import math
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import paddle
from numpy.typing import NDArray
from paddle import Tensor, nn

from tablerec.errors import InputError
from tablerec.models.weights import arrays_to_network
from tablerec.training.average import WeightAverage, recompute_statistics
from tablerec.training.batches import Batch, SampleBuffer, change_batch, draw_change
from tablerec.training.frozen import keep_frozen
from tablerec.training.learning import Learning
from tablerec.training.memory import choose_parts, measure_step, recompute_parts
from tablerec.training.optimizer import load_optimizer, make_optimizer, optimizer_arrays
from tablerec.training.precision import LossScale, cast_context, check_precision
from tablerec.training.ranks import Ranks
from tablerec.training.settings import TrainSettings
from tablerec.training.task import find_task

ADAPTER = "adapter.safetensors"
"""File in the output with what was learnt, where not everything learns."""


class Trainer:
    """A network, its optimizer and its average, somewhere on the schedule.

    Everything random in a step follows from the seed and the number of the step, so no random
    state has to be kept.

    Args:
        settings: See ``TrainSettings``.
        ranks: The processes that train together: each sees batches of its own.

    Raises:
        SettingsError: The device does not compute with the precision.
        InputError: The initial weights are broken or of another network.
        ModelNotFoundError: The initial weights are a folder without a whole model.
    """

    def __init__(self, settings: TrainSettings, ranks: Ranks | None = None) -> None:
        self.settings = settings
        self.ranks = ranks or Ranks()
        self._key = [self.ranks.number] if self.ranks.number else []
        self.step = 0
        self.seconds = 0.0
        check_precision(settings.precision)
        self.scale = LossScale.of(settings.precision)
        paddle.seed(settings.seed)
        self.task = find_task(settings)
        self.net = self.task.make()
        if settings.initial:
            self.task.load(self.net, settings.initial)
        self.learning = Learning(self.net, settings, self.task.head)
        keep_frozen(self.net, settings.frozen)
        self.recomputed: list[str] | None = None
        if settings.recompute != "cost":
            self._recompute(self.task.parts if settings.recompute == "all" else [])
        self.shown = self.task.make()
        self.learning.freeze_norms_of(self.shown)
        self.average = WeightAverage(self.net, settings.average)
        self._parameters = self.learning.parameters
        self._sharded = settings.shard == "optimizer" and self.ranks.count > 1
        self.optimizer = make_optimizer(self._parameters, settings, sharded=self._sharded)

    def progress(self, seconds: float) -> float:
        """Return the share of the schedule that is done, 0 to 1.

        Args:
            seconds: Training time so far, over all stretches.
        """
        s = self.settings
        done = self.step / s.steps if s.steps is not None else seconds / (60 * (s.minutes or 1.0))
        return min(done, 1.0)

    def learning_rate(self, progress: float) -> float:
        """Rising over the warm-up, then falling along a cosine to a hundredth."""
        rise = min(1.0, (self.step + 1) / max(self.settings.warmup, 1))
        return self.settings.learning_rate * rise * (0.01 + 0.99 * 0.5 * (1 + math.cos(math.pi * progress)))

    def train_step(self, buffer: SampleBuffer, progress: float) -> dict[str, Tensor]:
        """Learn from ``accumulate`` batches of each rank; returns the means of the parts of the loss, on the device.

        A batch counts by its cells, as in one large batch: losses are means over cells.
        """
        s = self.settings
        self.net.train()
        if s.recompute == "cost" and self.recomputed is None:
            self._choose_recomputed(self._draw(buffer, [s.seed, 0, *self._key]))
        total, sums, names = 0.0, paddle.zeros([1]), list[str]()
        for number in range(s.accumulate):
            batch = self._draw(buffer, [s.seed, self.step * s.accumulate + number, *self._key])
            parts = self.task.loss(self.net, batch, lambda: cast_context(s.precision))
            weight = max(float(batch.n_cells.sum()), 1.0) / s.batch if s.accumulate * self.ranks.count > 1 else 1.0
            (parts["total"] * (weight * self.scale.value)).backward()
            total, names = total + weight, list(parts)
            sums = sums + paddle.stack([value.detach() for value in parts.values()]) * weight
        means = self.ranks.mean_gradients(list(self._parameters.values()), total, sums)
        self.optimizer.set_lr(self.learning_rate(progress))
        if self.ranks.count > 1:
            paddle.seed(s.seed + self.step)  # what the optimizer rounds at random is the same in all
        if self.scale.undo(self._parameters.values()):
            self.optimizer.step()
            self.average.update(self.step)
        self.optimizer.clear_grad()
        self.step += 1
        return dict(zip(names, paddle.unbind(means), strict=True))

    def _recompute(self, parts: Iterable[str]) -> None:
        self.recomputed = list(parts)
        recompute_parts(self.net, self.recomputed)

    def _choose_recomputed(self, batch: Batch) -> None:
        """Measure with one picture which parts are worth to be computed again."""
        s = self.settings
        one = Batch(batch.images[:1], batch.owners[:1], batch.quads[:1], batch.n_cells[:1])

        def step() -> None:
            self.task.loss(self.net, one, lambda: cast_context(s.precision))["total"].backward()

        state = (2 if s.optimizer == "adamw8bit" else 8) * sum(each.size for each in self._parameters.values())
        cost = measure_step(self.net, self.task.parts, step, s.device, state)
        self._recompute(choose_parts(cost, s.batch, 1e9 * (s.memory or 0.0)))

    def show(self, buffer: SampleBuffer) -> nn.Layer:
        """Return a network with the averaged weights and statistics of their own, for evaluation."""
        if self.step == 0:  # as it was given
            arrays_to_network(self.learning.plain(self.learning.arrays()), self.shown)
            self.shown.eval()
            return self.shown
        # The average knows nothing of statistics; those that are fixed stay as they are.
        learnt = {**self.learning.arrays(), **self.average.arrays()}
        arrays_to_network(self.learning.plain(learnt), self.shown)
        # The same batches each time: what differs between two validations is the network.
        draw = lambda number: self._draw(buffer, [self.settings.seed, number, 7]).images  # noqa: E731
        recompute_statistics(self.shown, draw, self.settings.statistics)
        return self.shown

    def _draw(self, buffer: SampleBuffer, key: list[int]) -> Batch:
        s = self.settings
        rng = np.random.default_rng(key)
        paddle.seed(int(rng.integers(2**31)))
        batch = buffer.draw(rng, s.batch)
        return change_batch(batch, draw_change(rng, s.batch, s.side, s.augmentation))

    def save(self, shown: nn.Layer) -> Path:
        """Write the network that ``show`` returned into the output, and beside it what alone has learnt.

        Returns:
            The file or folder of the whole network.
        """
        if self.learning.learnt_on is not None:
            learnt = self.learning.arrays()
            self.learning.save(
                self.settings.output / ADAPTER, {**learnt, **(self.average.arrays() if self.step else {})}
            )
        return self.task.save(shown, self.settings.output)

    def arrays(self) -> dict[str, dict[str, NDArray[Any]]]:
        """Return the arrays of a checkpoint that this rank is to write, by group and name."""
        if self.ranks.number and not self._sharded:
            return {}
        state = optimizer_arrays(self.optimizer, self._parameters) if self.step else {}
        if self.ranks.number:
            return state
        return {"network": self.learning.arrays(), "average": self.average.arrays(), **state}

    def state(self) -> dict[str, Any]:
        """Return the rest of a checkpoint, for JSON."""
        return {"loss_scale": [self.scale.value, self.scale.n_good], "learnt_on": self.learning.learnt_on}

    def load(self, groups: dict[str, dict[str, NDArray[Any]]], state: dict[str, Any]) -> None:
        """Take up what ``arrays`` and ``state`` returned, and the counts of the state.

        Raises:
            InputError: It belongs to a training with other settings.
        """
        if state.get("learnt_on") != self.learning.learnt_on:
            raise InputError("the checkpoint was learnt on other weights: set initial and learns as they were")
        arrays_to_network(groups["network"], self.net, "the checkpoint's weights")
        self.average.load(groups["average"])
        load_optimizer(self.optimizer, self._parameters, groups)
        self.scale.value, self.scale.n_good = state.get("loss_scale", [self.scale.value, 0])
        self.step, self.seconds = state["step"], state["seconds"]
