"""Weights of a PyTorch network in its Paddle conversion."""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tablerec.errors import InputError
from tablerec.models.arrays import trainable

if TYPE_CHECKING:
    from paddle import nn

RENAMED = {"running_mean": "_mean", "running_var": "_variance"}
"""Last part of the name of a running statistic: PyTorch's and Paddle's."""


def draw_weights(shapes: Mapping[str, Sequence[int]], seed: int = 0) -> dict[str, NDArray[np.float32]]:
    """Draw weights that keep a network alive: what goes through it neither dies nor explodes, and no two scores tie.

    Fresh weights will not do for a comparison: a bias of -4.6 in all scores hides everything below the fifth digit. The
    numbers depend on seed, name and shape alone, so that nobody needs to store them.

    Args:
        shapes: Of parameters and running statistics, by PyTorch's names.
        seed: For other weights.

    >>> draw_weights({"a.weight": (2, 3)})["a.weight"].shape
    (2, 3)
    """
    drawn = {}
    for name, shape in shapes.items():
        rng = np.random.default_rng([seed, zlib.crc32(name.encode())])
        if name.endswith("running_var"):
            values = rng.uniform(0.5, 1.5, shape)
        elif len(shape) > 1:
            values = rng.normal(0, 1.4 / np.sqrt(np.prod(shape[1:])), shape)
        elif name.endswith(("weight", "scale")):
            values = rng.uniform(0.7, 1.3, shape)
        else:
            values = rng.normal(0, 0.1, shape)
        drawn[name] = values.astype(np.float32)
    return drawn


def load_weights(arrays: Mapping[str, NDArray[Any]], net: nn.Layer) -> list[str]:
    """Set the weights of a converted network.

    Running statistics have other names in Paddle; PyTorch's counter of batches has no counterpart. The weight of
    ``paddle.nn.Linear`` is ``(in, out)``, PyTorch's ``(out, in)``; ``paddle.compat.nn.Linear`` is as PyTorch's.

    Args:
        arrays: By PyTorch's names.
        net: Its conversion; a part of it that no array is for must not learn.

    Returns:
        Names of the weights that were transposed.

    Raises:
        InputError: A weight is missing, unknown, or of another shape.
    """
    tensors = net.state_dict()
    given = {_rename(name): array for name, array in arrays.items() if not name.endswith("num_batches_tracked")}
    missing, unknown = sorted(set(trainable(net)) - set(given)), sorted(set(given) - set(tensors))
    if missing or unknown:
        raise InputError(
            f"the weights are of another network: missing {', '.join(missing[:3]) or 'none'}, "
            f"unknown {', '.join(unknown[:3]) or 'none'}; make both networks with the same settings"
        )
    turned = _linear_weights(net) & set(given)
    for name, array in given.items():
        values = array.T if name in turned else array
        if list(values.shape) != list(tensors[name].shape):
            raise InputError(f"{name} is {list(values.shape)}, in the converted network {list(tensors[name].shape)}")
        tensors[name].set_value(values.astype(tensors[name].numpy().dtype))
    return sorted(turned)


def spreads_of(arrays: Mapping[str, NDArray[Any]]) -> dict[str, float]:
    """Return the standard deviation of weights by Paddle's names; of fewer than 100 numbers it says nothing.

    >>> spreads_of({"a": np.ones(200), "b": np.ones(2)})
    {'a': 0.0}
    """
    large = {name: array for name, array in arrays.items() if array.size >= 100 and array.dtype.kind == "f"}
    return {_rename(name): float(array.std()) for name, array in large.items()}


def compare_fresh(reference: Mapping[str, float], converted: Mapping[str, float]) -> list[str]:
    """Return the weights that two fresh networks draw from different distributions: by a quarter and more.

    Nothing else shows it. Every comparison of outputs starts from the same weights, and a training from fresh ones
    merely ends a little worse.

    Args:
        reference: ``spreads_of`` a fresh network.
        converted: The same of its conversion.

    >>> compare_fresh({"a": 1.0, "b": 1.0}, {"a": 0.9, "b": 0.5})
    ['b']
    """
    common = [name for name in converted if name in reference]
    return [name for name in common if _unlike(reference[name], converted[name])]


def _unlike(a: float, b: float) -> bool:
    return abs(a - b) > 0.25 * max(a, b)


def _rename(name: str) -> str:
    before, dot, last = name.rpartition(".")
    return before + dot + RENAMED.get(last, last)


def _linear_weights(net: nn.Layer) -> set[str]:
    from paddle import nn

    return {f"{name}.weight".lstrip(".") for name, layer in _layers(net) if type(layer) is nn.Linear}


def _layers(net: nn.Layer) -> list[tuple[str, nn.Layer]]:
    return list(net.named_sublayers(include_self=True))
