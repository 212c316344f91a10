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
from tablerec.models.arrays import arrays_to_network
from tablerec.training.factory import make_task
from tablerec.training.memory import choose_parts, measure_step, recompute_parts
from tablerec.training.methods.ema import WeightEMA, recompute_statistics
from tablerec.training.methods.frozen import keep_frozen
from tablerec.training.methods.optimizer import load_optimizer, make_optimizer, optimizer_arrays
from tablerec.training.methods.precision import LossScale, cast_context, check_precision
from tablerec.training.methods.trainable import TrainableWeights
from tablerec.training.ranks.collective import Ranks
from tablerec.training.settings import TrainSettings
from tablerec.training.task import Batch, Buffer

ADAPTER = "adapter.safetensors"
"""File in the output with the weights that were trained, where that is not all."""


class Trainer:
    """A network, its optimizer and its averaged weights, somewhere on the schedule.

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
        check_precision(settings.memory.precision)
        self.scale = LossScale.of(settings.memory.precision)
        paddle.seed(settings.seed)
        self.task = make_task(settings)
        self.net = self.task.make()
        if settings.initial:
            self.task.load(self.net, settings.initial)
        self.weights = TrainableWeights(self.net, settings.optimizer, self.task.head)
        keep_frozen(self.net, settings.memory.frozen_precision)
        self.recomputed: list[str] | None = None
        if settings.memory.recompute != "auto":
            self._recompute(self.task.parts if settings.memory.recompute == "all" else [])
        self.shown = self.task.make()
        self.weights.freeze_norms_of(self.shown)
        self.ema = WeightEMA(self.net, settings.optimizer.ema_decay)
        self._parameters = self.weights.parameters
        self._sharded = settings.memory.shard_optimizer and self.ranks.count > 1
        self.optimizer = make_optimizer(self._parameters, settings.optimizer, sharded=self._sharded)

    def progress(self, seconds: float) -> float:
        """Return the share of the schedule that is done, 0 to 1.

        Args:
            seconds: Training time so far, over all runs.
        """
        s = self.settings.schedule
        return min(self.step / s.steps if s.steps is not None else seconds / (60 * (s.minutes or 1.0)), 1.0)

    def learning_rate(self, progress: float) -> float:
        """Rising over the warm-up, then falling along a cosine to a hundredth."""
        rise = min(1.0, (self.step + 1) / max(self.settings.schedule.warmup_steps, 1))
        return self.settings.optimizer.learning_rate * rise * (0.01 + 0.99 * 0.5 * (1 + math.cos(math.pi * progress)))

    def train_step(self, buffer: Buffer, progress: float) -> dict[str, Tensor]:
        """Take a step with ``accumulation_steps`` batches of each rank; returns means of the loss's parts.

        They are on the device. A batch counts by its cells or characters, as in one large batch: losses are means over
        them.
        """
        s, n_batches = self.settings, self.settings.optimizer.accumulation_steps
        self.net.train()
        if s.memory.recompute == "auto" and self.recomputed is None:
            self._choose_recomputed(self._next_batch(buffer, [s.seed, 0, *self._key]))
        total, sums, names = 0.0, paddle.zeros([1]), list[str]()
        for number in range(n_batches):
            batch = self._next_batch(buffer, [s.seed, self.step * n_batches + number, *self._key])
            parts = self.task.loss(self.net, batch, lambda: cast_context(s.memory.precision))
            alone = n_batches * self.ranks.count == 1
            weight = 1.0 if alone else max(batch.n_objects, 1) / s.data.batch_size
            (parts["total"] * (weight * self.scale.value)).backward()
            total, names = total + weight, list(parts)
            sums = sums + paddle.stack([value.detach() for value in parts.values()]) * weight
        means = self.ranks.mean_gradients(list(self._parameters.values()), total, sums)
        self.optimizer.set_lr(self.learning_rate(progress))
        if self.ranks.count > 1:
            paddle.seed(s.seed + self.step)  # what the optimizer rounds at random is the same in all
        if self.scale.undo(self._parameters.values()):
            self.optimizer.step()
            self.ema.update(self.step)
        self.optimizer.clear_grad()
        self.step += 1
        return dict(zip(names, paddle.unbind(means), strict=True))

    def _recompute(self, parts: Iterable[str]) -> None:
        self.recomputed = list(parts)
        recompute_parts(self.net, self.recomputed)

    def _choose_recomputed(self, batch: Batch) -> None:
        """Measure with one sample which parts are worth to be computed again."""
        s, one = self.settings, batch.first()

        def step() -> None:
            self.task.loss(self.net, one, lambda: cast_context(s.memory.precision))["total"].backward()

        state = (2 if s.optimizer.name == "adamw8bit" else 8) * sum(each.size for each in self._parameters.values())
        cost = measure_step(self.net, self.task.parts, step, s.device, state)
        self._recompute(choose_parts(cost, s.data.batch_size, 1e9 * (s.memory.limit_gb or 0.0)))

    def show(self, buffer: Buffer) -> nn.Layer:
        """Return a network with the averaged weights and statistics of their own, for evaluation."""
        if self.step == 0:  # as it was given
            arrays_to_network(self.weights.plain(self.weights.arrays()), self.shown)
            self.shown.eval()
            return self.shown
        # The average knows nothing of statistics; those that are fixed stay as they are.
        arrays_to_network(self.weights.plain({**self.weights.arrays(), **self.ema.arrays()}), self.shown)
        # The same batches each time: what differs between two validations is the network.
        make_batch = lambda number: self._next_batch(buffer, [self.settings.seed, number, 7]).images  # noqa: E731
        recompute_statistics(self.shown, make_batch, self.settings.optimizer.bn_batches)
        return self.shown

    def _next_batch(self, buffer: Buffer, key: list[int]) -> Batch:
        rng = np.random.default_rng(key)
        paddle.seed(int(rng.integers(2**31)))
        return buffer.draw(rng)

    def save(self, shown: nn.Layer) -> Path:
        """Write the network that ``show`` returned into the output, and beside it the weights that were trained.

        Returns:
            The file or folder of the whole network.
        """
        averaged = self.ema.arrays() if self.step else {}
        self.weights.save(self.settings.output / ADAPTER, {**self.weights.arrays(), **averaged})
        return self.task.save(shown, self.settings.output)

    def arrays(self) -> dict[str, dict[str, NDArray[Any]]]:
        """Return the arrays of a checkpoint that this rank is to write, by group and name."""
        if self.ranks.number and not self._sharded:
            return {}
        state = optimizer_arrays(self.optimizer, self._parameters) if self.step else {}
        if self.ranks.number:
            return state
        return {"network": self.weights.arrays(), "ema": self.ema.arrays(), **state}

    def state(self) -> dict[str, Any]:
        """Return the rest of a checkpoint, for JSON."""
        return {"loss_scale": [self.scale.value, self.scale.n_good], "base": self.weights.base}

    def load(self, groups: dict[str, dict[str, NDArray[Any]]], state: dict[str, Any]) -> None:
        """Take up what ``arrays`` and ``state`` returned, and the counts of the state.

        Raises:
            InputError: It belongs to a training with other settings.
        """
        if "ema" not in groups:
            raise InputError("the checkpoint is of an earlier version of tablerec: choose another output to begin anew")
        if state["base"] != self.weights.base:
            raise InputError("the checkpoint has other initial weights: set initial and optimizer.trainable as before")
        arrays_to_network(groups["network"], self.net, "the checkpoint's weights")
        self.ema.load(groups["ema"])
        load_optimizer(self.optimizer, self._parameters, groups)
        self.scale.value, self.scale.n_good = state.get("loss_scale", [self.scale.value, 0])
        self.step, self.seconds = state["step"], state["seconds"]
