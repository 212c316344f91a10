"""Exponential moving average of the weights: what is validated and kept."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import paddle
from numpy.typing import NDArray
from paddle import Tensor, nn

from tablerec.models.arrays import trainable


class WeightEMA:
    """The exponential moving average of the trainable weights (Polyak and Juditsky, 1992), as one long vector.

    Args:
        net: The network that is trained.
        decay: Share of the average that stays at each step; less in the first steps.
    """

    def __init__(self, net: nn.Layer, decay: float) -> None:
        self._parameters = trainable(net)
        self.decay = decay
        self.vector = self._join()

    @paddle.no_grad()
    def _join(self) -> Tensor:
        return paddle.concat([parameter.flatten() for parameter in self._parameters.values()])

    @paddle.no_grad()
    def update(self, step: int) -> None:
        """Follow the weights after a step, counted from 0."""
        stays = min(self.decay, (1 + step) / (10 + step))
        self.vector = self.vector * stays + self._join() * (1 - stays)

    def arrays(self) -> dict[str, NDArray[np.float32]]:
        """Return the averages by the names of the parameters."""
        values, arrays, start = self.vector.numpy(), {}, 0
        for name, parameter in self._parameters.items():
            count = int(np.prod(parameter.shape))
            arrays[name] = values[start : start + count].reshape(parameter.shape)
            start += count
        return arrays

    def load(self, arrays: dict[str, NDArray[np.float32]]) -> None:
        """Take up the averages that ``arrays`` returned."""
        self.vector = paddle.to_tensor(np.concatenate([arrays[name].ravel() for name in self._parameters]))


@paddle.no_grad()
def recompute_statistics(net: nn.Layer, make_batch: Callable[[int], Tensor], count: int) -> None:
    """Set the running mean and variance of all batch normalizations to those over some batches.

    Averaged weights need statistics of their own; norms that are frozen keep theirs. The network is left in evaluation.

    Args:
        net: The network.
        make_batch: From a number to a batch of pictures.
        count: How many batches.
    """
    norms = [layer for layer in net.sublayers() if isinstance(layer, nn.BatchNorm2D) and not layer._use_global_stats]
    momenta = [norm._momentum for norm in norms]
    net.train()
    for number in range(count if norms else 0):
        for norm in norms:
            norm._momentum = number / (number + 1)
        net(make_batch(number))
    for norm, momentum in zip(norms, momenta, strict=True):
        norm._momentum = momentum
    net.eval()
