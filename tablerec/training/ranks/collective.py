"""Several processes that train one network together, each on a device of its own and on samples of its own.

They are data parallel under ``paddle.distributed.launch``: each computes the gradient of its samples, and one
all-reduce for each step of the optimizer adds the gradients of all, however many batches were accumulated before it.
Paddle's DataParallel would reduce after each batch.

The device's own collective is used where Paddle brings one (NCCL) or the plugin does (XCCL). Any other device goes
through the host and Gloo, so that a plugin needs no collectives. Gloo waits for 30 seconds at most, and NCCL for a dead
process without end: so the ranks meet before, see ``meeting``.
"""

from __future__ import annotations

import contextlib
import io
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
import paddle
from paddle import Tensor, nn

from tablerec.devices import parse_device
from tablerec.devices.plugin import has_collectives
from tablerec.errors import SettingsError, TrainingError
from tablerec.models.arrays import STATISTICS
from tablerec.training.ranks.launch import is_launched
from tablerec.training.ranks.meeting import FAILED, Meeting, open_meeting
from tablerec.training.ranks.sharding import connect_shards
from tablerec.training.settings import TrainSettings


class Ranks:
    """This process among those that train together; without others it does what one process would.

    Args:
        number: From 0; the first one reports, validates and saves.
        count: How many there are.
        meeting: Where they exchange words; None for one.
        through_host: Whether vectors are reduced on the host.

    Attributes:
        n_reduced: All-reduces so far.
        n_bytes: Their bytes, of this rank.
    """

    def __init__(
        self, number: int = 0, count: int = 1, meeting: Meeting | None = None, *, through_host: bool = True
    ) -> None:
        self.number, self.count = number, count
        self.n_reduced = self.n_bytes = 0
        self._meeting, self._through_host = meeting, through_host

    def exchange(self, value: Any = None) -> list[Any]:
        """Wait for all; return what each one said, in the order of the ranks.

        Args:
            value: For JSON.

        Raises:
            TrainingError: Another one has failed or vanished.
        """
        return [value] if self._meeting is None else self._meeting.exchange(value)

    def meet(self) -> None:
        """Wait for all."""
        self.exchange()

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
            raise TrainingError(f"{FAILED} ({str(error).strip().splitlines()[-1]})") from error
        return summed if summed.place._equals(place) else paddle.to_tensor(summed.numpy(), place=place)

    @paddle.no_grad()
    def mean_gradients(self, parameters: Sequence[Tensor], weight: float, values: Tensor) -> Tensor:
        """Replace the gradients by their mean over all ranks; the only all-reduce of a step.

        Args:
            parameters: The trainable ones; their gradients are sums under weights, such as the numbers of boxes.
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
        kept = [each for name, each in net.state_dict().items() if name.endswith(STATISTICS)]
        if self.count == 1 or not kept:
            return
        mean = self.sum(paddle.concat([each.flatten() for each in kept])) / self.count
        sizes = [int(np.prod(each.shape)) for each in kept]
        for each, part in zip(kept, paddle.split(mean, sizes), strict=True):
            each.set_value(part.reshape(each.shape))


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
    number, count, meeting, through_host = _connect(settings)
    try:
        yield Ranks(number, count, meeting, through_host=through_host)
    finally:
        meeting.close()


def _connect(settings: TrainSettings) -> tuple[int, int, Meeting, bool]:
    device = parse_device(settings.device)
    by_plugin = device.kind not in ("cpu", "gpu") and (
        os.environ.get("PADDLE_DISTRI_BACKEND") == "xccl" or has_collectives(device.kind)
    )
    own_collective = device.kind == "gpu" or by_plugin
    local = int(os.environ.get("PADDLE_LOCAL_RANK", os.environ.get("PADDLE_RANK_IN_NODE", "0")))
    mine = replace(settings, ranks=int(os.environ["PADDLE_TRAINERS_NUM"])).device_of(local)
    if not own_collective:
        os.environ["PADDLE_DISTRI_BACKEND"] = "gloo"
    elif by_plugin:
        os.environ["PADDLE_DISTRI_BACKEND"] = "xccl"
        os.environ[f"FLAGS_selected_{device.kind}s"] = str(parse_device(mine).ids[0])
    if settings.memory.shard_optimizer and not own_collective and device.kind != "cpu":
        raise SettingsError(
            f"memory.shard_optimizer: Paddle has no collectives of its own for {device.kind}: leave it out"
        )
    try:
        with contextlib.redirect_stderr(io.StringIO()):  # it lists flags that differ from Paddle's defaults
            if settings.memory.shard_optimizer:
                connect_shards(int(os.environ["PADDLE_TRAINERS_NUM"]))
            else:
                paddle.distributed.init_parallel_env()
        store = paddle.base.core.create_or_get_global_tcp_store()
    except (RuntimeError, NotImplementedError, AttributeError) as error:
        raise SettingsError(f"ranks: Paddle cannot connect the processes ({error}); train with ranks: 1") from error
    told = paddle.distributed.ParallelEnv()
    number, count = told.rank, told.world_size
    host = os.environ.get("PADDLE_MASTER", told.trainer_endpoints[0]).rpartition(":")[0]
    key = "tablerec-meeting"
    meeting = open_meeting(number, count, host, lambda said: store.set(key, said), lambda: store.get(key).decode())
    # Paddle leaves the host as the device where it reduces there.
    paddle.set_device(mine if device.ids or device.kind != "gpu" else f"gpu:{told.device_id}")
    return number, count, meeting, not own_collective
