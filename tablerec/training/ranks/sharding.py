"""AdamW whose moments are divided among the ranks: each keeps those of a part of the parameters, and updates these.

Paddle's own sharding of optimizer states, the first stage of ZeRO (Rajbhandari et al., "ZeRO: Memory Optimizations
Toward Training Trillion Parameter Models", 2020). The gradients of a step are added by one all-reduce as without it,
see ``ranks``; after the step each rank sends its part of the parameters to all.

Paddle's second stage, ``group_sharded_parallel`` with the level ``os_g``, also divides gradients. It takes no CPU, and
it reduces them after each batch, which is what accumulation is to avoid.
"""

from __future__ import annotations

import warnings
from typing import Any

import paddle
from paddle import Tensor

from tablerec.errors import SettingsError


def connect_shards(count: int) -> None:
    """Connect the ranks as ``init_parallel_env`` does, for sharding among all of them."""
    from paddle.distributed import fleet

    strategy = fleet.DistributedStrategy()
    strategy.hybrid_configs = {"dp_degree": 1, "mp_degree": 1, "pp_degree": 1, "sharding_degree": count}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of groups for kinds of parallelism that are not wanted
        fleet.init(is_collective=True, strategy=strategy)


class ShardedOptimizer:
    """An optimizer of Paddle, with a part of the state in each rank.

    Args:
        optimizer: Made for all parameters, before its first step; it must not clip by itself.
        parameters: The trainable ones.
        clip: Clips ``(parameter, gradient)`` pairs by the norm of all.

    Raises:
        SettingsError: This Paddle cannot share it.
    """

    def __init__(self, optimizer: Any, parameters: list[Tensor], clip: Any) -> None:
        self._parameters, self._clip = parameters, clip
        try:
            from paddle.distributed import fleet
            from paddle.distributed.fleet.meta_optimizers.dygraph_optimizer import DygraphShardingOptimizer

            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # means of NCCL, which are not used
                self._sharded = DygraphShardingOptimizer(optimizer, fleet.get_hybrid_communicate_group())
        except (ImportError, AttributeError, AssertionError, RuntimeError) as error:
            raise SettingsError(
                f"memory.shard_optimizer: this Paddle cannot divide the optimizer ({error}): leave it out"
            ) from error
        self._inner = optimizer

    def set_lr(self, value: float) -> None:
        """Set the learning rate."""
        self._inner.set_lr(value)

    @paddle.no_grad()
    def step(self) -> None:
        """Follow the gradients, which are the same in all ranks; then all parameters are."""
        pairs = [(each, each.grad) for each in self._parameters if each.grad is not None]
        for each, gradient in self._clip(pairs) if pairs else ():
            each.grad = gradient
        self._sharded.step()

    def clear_grad(self) -> None:
        """Forget the gradients."""
        for each in self._parameters:
            each.clear_gradient(set_to_zero=False)

    def state_dict(self) -> dict[str, Any]:
        """Return the state of this rank's part."""
        return dict(self._inner.state_dict())

    def set_state_dict(self, state: dict[str, Any]) -> None:
        """Take up this rank's part of the state of all."""
        self._sharded.set_state_dict(state)
