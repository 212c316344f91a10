"""ERNIE's mixtures of experts where Paddle has no operators for them, as in its CPU wheel.

PaddleFormers' code for them calls operators that Paddle has for GPUs alone, and the plugin for its device. On the CPU
they are computed by single operators and NumPy, slowly, so that a device can be compared with it.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
from collections.abc import Callable
from typing import Any

from tablerec.devices.cases.language.experts import count_numbers, dispatch_chosen, expand_kinds, source_ranks

_PACKAGE = "paddleformers.nn.moe"


def provide_expert_operators() -> None:
    """Let PaddleFormers' mixtures of experts run on the CPU too; elsewhere Paddle's operators are called as before.

    Before a replacement is used the operator is asked for: ``tablerec device coverage`` sees that in Paddle's log.
    """
    aux_loss = importlib.import_module("paddle.incubate.nn.functional.cal_aux_loss").math_cal_aux_loss
    utilities = importlib.import_module(f"{_PACKAGE}.utils")
    if not hasattr(utilities, "async_loader"):
        utilities.async_loader = None  # it is forgotten where there is no fleet
    for module, name, replacement in (
        ("moe_allgather_layer", "get_async_loader", lambda: None),
        ("moe_allgather_layer", "async_offload", lambda tensor, _: (tensor, None)),
        ("moe_allgather_layer", "moe_gate_dispatch_partial_nosoftmaxtopk", _dispatch),
        ("moe_allgather_layer", "expand_modality_expert_id", _expand),
        ("moe_allgather_layer", "build_src_rank_and_local_expert_id", _rank),
        ("moe_alltoall_layer", "combining", _combine),
        ("topk_gate", "int_bincount", _count),
        ("topk_gate", "cal_aux_loss", aux_loss),
    ):
        home = importlib.import_module(f"{_PACKAGE}.{module}")
        operator = getattr(home, name)
        if not hasattr(operator, "__wrapped__"):
            setattr(home, name, _on_cpu_too(operator, replacement))


def _on_cpu_too(operator: Callable[..., Any], replacement: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(operator)  # whose parameters PaddleFormers looks at
    def run(*given: Any, **options: Any) -> Any:
        import paddle

        if paddle.get_device() == "cpu":
            with contextlib.suppress(RuntimeError, AttributeError):
                return operator(*given, **options)
            return replacement(*given, **options)
        return operator(*given, **options)

    return run


def _dispatch(
    x: Any,
    weights: Any,
    chosen: Any,
    k: int,
    capacity: int,
    experts: int,
    padded: bool,
    expert_start_index: int,
    expert_end_index: int,
    reverse_token_drop: bool,
) -> Any:
    import paddle

    own = expert_start_index, expert_end_index
    return dispatch_chosen(paddle, x, weights, chosen, k, capacity, experts, padded, *own, reverse_token_drop)


def _expand(
    chosen: Any, num_expert_per_modality: int, group_size: int, modality_offset: int, is_group_expert: bool
) -> Any:
    import paddle

    return expand_kinds(paddle, chosen, num_expert_per_modality, group_size, modality_offset, is_group_expert)


def _rank(_: Any, counts: list[int], of_rank: int) -> Any:
    import paddle

    return source_ranks(paddle, counts, of_rank)


def _combine(x: Any, weights: Any, places: Any) -> Any:
    return (x[places] * weights.unsqueeze(-1)).sum(1)


def _count(x: Any, low: int, high: int, _: Any) -> Any:
    import paddle

    return count_numbers(paddle, x, low, high, "int64")
