"""Several processes that train one network together, each on a device of its own and on samples of its own.

They are data parallel under ``paddle.distributed.launch``: each computes the gradient of its samples, and one
all-reduce for each step of the optimizer adds the gradients of all, however many batches were accumulated before it.
Paddle's DataParallel would reduce after each batch.

The device's own collective is used where Paddle brings one (NCCL). Any other device goes through the host and Gloo,
so that a plugin needs no collectives. Gloo waits 30 seconds at most, and NCCL for a dead process without end. So the
ranks first meet through Paddle's key-value store, where waiting may take long and ends when one has failed.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import paddle
from paddle import Tensor, nn

from tablerec.devices import parse_device
from tablerec.errors import SettingsError, TrainingError
from tablerec.training.launch import is_launched
from tablerec.training.settings import TrainSettings

_PATIENCE = 1800.0
"""Seconds that ranks wait for each other: longer than a validation, in case one vanishes without a word."""
_FAREWELL = 20.0
"""Seconds that the first rank, who keeps the store, waits for the others at the end."""


class Ranks:
    """This process among those that train together; without others it does what one process would.

    Args:
        number: From 0; the first one reports, validates and saves.
        count: How many there are.
        store: Paddle's store, which all share; None for one.
        through_host: Whether vectors are reduced on the host.

    Attributes:
        n_reduced: All-reduces so far.
        n_bytes: Their bytes, of this rank.
    """

    def __init__(self, number: int = 0, count: int = 1, store: Any = None, *, through_host: bool = True) -> None:
        self.number, self.count = number, count
        self.n_reduced = self.n_bytes = 0
        self._store, self._through_host = store, through_host
        self._n_met = 0

    def exchange(self, value: Any = None) -> list[Any]:
        """Wait for all; return what each one brought, in the order of the ranks.

        Args:
            value: For JSON.

        Raises:
            TrainingError: Another one has failed or vanished.
        """
        if self.count == 1:
            return [value]
        # Nobody comes to the next meeting but one before all have read what this one brought: two keys are enough.
        turn = self._n_met % 2
        self._n_met += 1
        try:
            self._store.set(f"brought-{turn}-{self.number}", json.dumps(value))
            self._store.add("met", 1)
            self._wait(self._n_met * self.count)
            return [json.loads(self._store.get(f"brought-{turn}-{number}")) for number in range(self.count)]
        except RuntimeError as error:  # the first one is gone, with the store
            raise TrainingError(_FAILED) from error

    def meet(self) -> None:
        """Wait for all."""
        self.exchange()

    def _wait(self, n_arrivals: int) -> None:
        begun = time.monotonic()
        while self._store.add("met", 0) < n_arrivals:
            waited = time.monotonic() - begun
            if self._store.add("failed", 0) or waited > _PATIENCE:
                raise TrainingError(_FAILED)
            time.sleep(min(0.05, waited / 10))

    def sum(self, vector: Tensor) -> Tensor:
        """Add a vector of all ranks, with one all-reduce.

        Args:
            vector: ``(n,)`` float32.

        Raises:
            TrainingError: Another one has failed.
        """
        if self.count == 1:
            return vector
        self.meet()
        self.n_reduced, self.n_bytes = self.n_reduced + 1, self.n_bytes + 4 * vector.shape[0]
        place = vector.place
        summed = vector.cpu() if self._through_host else vector
        try:
            paddle.distributed.all_reduce(summed)
        except RuntimeError as error:
            raise TrainingError(f"{_FAILED} ({str(error).strip().splitlines()[-1]})") from error
        return summed if summed.place._equals(place) else paddle.to_tensor(summed, place=place)

    @paddle.no_grad()
    def mean_gradients(self, parameters: Sequence[Tensor], weight: float, values: Tensor) -> Tensor:
        """Replace the gradients by their mean over all ranks; the only all-reduce of a step.

        Args:
            parameters: Those that learn; their gradients are sums under weights, such as the numbers of boxes.
            weight: The sum of these weights in this rank.
            values: ``(n,)`` float32 sums under the same weights, such as losses.

        Returns:
            ``(n,)`` the means of the values.
        """
        if self.count == 1:
            for each in parameters:
                if each.grad is not None and weight != 1.0:
                    each.grad = each.grad / weight
            return values / weight
        own = [each.grad if each.grad is not None else paddle.zeros_like(each) for each in parameters]
        flat = [each.flatten().astype("float32") for each in own]
        total = self.sum(paddle.concat([*flat, values, paddle.to_tensor([weight], dtype="float32")]))
        *means, of_values, _ = paddle.split(total / total[-1], [*(each.shape[0] for each in flat), values.shape[0], 1])
        for parameter, mean in zip(parameters, means, strict=True):
            parameter.grad = mean.reshape(parameter.shape).astype(parameter.dtype)
        return of_values

    @paddle.no_grad()
    def mean_statistics(self, net: nn.Layer) -> None:
        """Replace running means and variances, which no gradient reaches, by their means over all ranks."""
        learnt = {name for name, each in net.named_parameters() if not each.stop_gradient}
        kept = [each for name, each in net.state_dict().items() if name not in learnt and each.dtype == paddle.float32]
        if self.count == 1 or not kept:
            return
        mean = self.sum(paddle.concat([each.flatten() for each in kept])) / self.count
        sizes = [int(np.prod(each.shape)) for each in kept]
        for each, part in zip(kept, paddle.split(mean, sizes), strict=True):
            each.set_value(part.reshape(each.shape))

    def leave(self, *, failed: bool) -> None:
        """Say that this rank is done; nobody waits for one that has failed.

        Args:
            failed: Whether an error ends it.
        """
        if self.count == 1:
            return
        until = time.monotonic() + _FAREWELL
        with contextlib.suppress(RuntimeError):  # the first one may be gone, with the store
            self._store.add("failed", int(failed))
            self._store.add("left", 1)
            while self.number == 0 and self._store.add("left", 0) < self.count and time.monotonic() < until:
                time.sleep(0.02)


_FAILED = (
    "another process of this training has failed, see its message above or in the folder of logs; the same command "
    "goes on from the last checkpoint"
)


@contextmanager
def join_ranks(settings: TrainSettings) -> Iterator[Ranks]:
    """Find the other ranks, and set the device of this one.

    Args:
        settings: What trains.

    Raises:
        SettingsError: Paddle was built without what the ranks need.
    """
    if not is_launched():
        paddle.set_device(settings.device_of(0))
        yield Ranks()
        return
    ranks = _connect(settings)
    failed = True
    try:
        yield ranks
        failed = False
    finally:
        ranks.leave(failed=failed)


def _connect(settings: TrainSettings) -> Ranks:
    device = parse_device(settings.device)
    own_collective = device.kind == "gpu" or (
        device.kind != "cpu" and os.environ.get("PADDLE_DISTRI_BACKEND") == "xccl"
    )
    if not own_collective:
        os.environ["PADDLE_DISTRI_BACKEND"] = "gloo"
    try:
        with contextlib.redirect_stderr(io.StringIO()):  # it lists flags that differ from Paddle's defaults
            paddle.distributed.init_parallel_env()
        store = paddle.base.core.create_or_get_global_tcp_store()
    except (RuntimeError, NotImplementedError, AttributeError) as error:
        raise SettingsError(f"ranks: Paddle cannot connect the processes ({error}); train with ranks: 1") from error
    # Paddle leaves the host as the device where it reduces there.
    local = int(os.environ.get("PADDLE_LOCAL_RANK", os.environ.get("PADDLE_RANK_IN_NODE", "0")))
    chosen = f"gpu:{paddle.distributed.ParallelEnv().device_id}" if device.kind == "gpu" and not device.ids else None
    paddle.set_device(chosen or settings.device_of(local))
    number, count = paddle.distributed.get_rank(), paddle.distributed.get_world_size()
    return Ranks(number, count, store, through_host=not own_collective)
