"""One optimizer step, and the state that a checkpoint keeps."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
import paddle
from numpy.typing import NDArray
from paddle import Tensor, nn

from tablerec.errors import SettingsError
from tablerec.models.weights import arrays_to_network, network_to_arrays, trainable
from tablerec.training.average import WeightAverage, recompute_statistics
from tablerec.training.batches import Batch, SampleBuffer, change_batch, draw_change
from tablerec.training.ranks import Ranks
from tablerec.training.settings import TrainSettings
from tablerec.training.task import find_task

_MOMENTS = ("moment1", "moment2", "beta1_pow_acc", "beta2_pow_acc")


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
        _check_precision(settings.precision)
        paddle.seed(settings.seed)
        self.task = find_task(settings)
        self.net = self.task.make()
        if settings.initial:
            self.task.load(self.net, settings.initial)
        self.shown = self.task.make()
        self.average = WeightAverage(self.net, settings.average)
        self._parameters = trainable(self.net)
        self._state_names = {name: each.name for name, each in self._parameters.items()}
        decays = {each.name for each in self._parameters.values() if sum(n > 1 for n in each.shape) > 1}
        self.optimizer = paddle.optimizer.AdamW(
            settings.learning_rate,
            parameters=list(self._parameters.values()),
            weight_decay=settings.weight_decay,
            apply_decay_param_fun=decays.__contains__,
            grad_clip=paddle.nn.ClipGradByGlobalNorm(settings.clip),
        )

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
        total, sums, names = 0.0, paddle.zeros([1]), list[str]()
        for number in range(s.accumulate):
            batch = self._draw(buffer, [s.seed, self.step * s.accumulate + number, *self._key])
            parts = self.task.loss(self.net, batch, lambda: _precision(s.precision))
            weight = max(float(batch.n_cells.sum()), 1.0) / s.batch if s.accumulate * self.ranks.count > 1 else 1.0
            (parts["total"] * weight).backward()
            total, names = total + weight, list(parts)
            sums = sums + paddle.stack([value.detach() for value in parts.values()]) * weight
        means = self.ranks.mean_gradients(list(self._parameters.values()), total, sums)
        self.optimizer.set_lr(self.learning_rate(progress))
        self.optimizer.step()
        self.optimizer.clear_grad()
        self.average.update(self.step)
        self.step += 1
        return dict(zip(names, paddle.unbind(means), strict=True))

    def show(self, buffer: SampleBuffer) -> nn.Layer:
        """Return a network with the averaged weights and statistics of their own, for evaluation."""
        if self.step == 0:  # as it was given
            arrays_to_network(network_to_arrays(self.net), self.shown)
            self.shown.eval()
            return self.shown
        arrays_to_network(self.average.arrays(), self.shown)
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

    def arrays(self) -> dict[str, dict[str, NDArray[Any]]]:
        """Return all arrays of a checkpoint, by group and name."""
        state = self.optimizer.state_dict()  # empty before the first step
        moments = {
            kind: {name: state[f"{ours}_{kind}_0"].numpy() for name, ours in self._state_names.items()}
            for kind in (_MOMENTS if self.step else ())
        }
        return {"network": network_to_arrays(self.net), "average": self.average.arrays(), **moments}

    def load(self, groups: dict[str, dict[str, NDArray[Any]]], state: dict[str, Any]) -> None:
        """Take up what ``arrays`` returned, and the counts of the state."""
        arrays_to_network(groups["network"], self.net, "the checkpoint's weights")
        self.average.load(groups["average"])
        moments = {
            f"{ours}_{kind}_0": paddle.to_tensor(groups[kind][name])
            for kind in _MOMENTS
            if kind in groups
            for name, ours in self._state_names.items()
        }
        if moments:
            self.optimizer.set_state_dict(moments)
        self.step, self.seconds = state["step"], state["seconds"]


def _precision(name: str) -> Any:
    return paddle.amp.auto_cast(enable=name != "float32", dtype="bfloat16", level="O1")


def _check_precision(name: str) -> None:
    """Paddle only warns, and goes on in float32."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with _precision(name):
            pass
    if caught:
        raise SettingsError(
            f"precision {name!r}: {caught[0].message} Choose float32; a device plugin can take a name for which "
            "Paddle allows it, such as TABLEREC_DEVICE_NAME=iluvatar_gpu"
        )
