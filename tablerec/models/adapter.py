"""Adapters: the few weights that a training has changed, a small file that goes with the weights it started from.

Weights in it replace those of the network. With LoRA (Hu et al., "LoRA: Low-Rank Adaptation of Large Language
Models", 2021) it holds two factors with few rows and columns, and a weight W becomes W + s B A.
"""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tablerec.errors import InputError
from tablerec.models.arrays import (
    Arrays,
    arrays_to_network,
    load_arrays,
    load_notes,
    network_to_arrays,
    save_arrays,
)

if TYPE_CHECKING:
    from paddle import nn

DOWN, UP = ".lora_a", ".lora_b"
"""Ends of the names: for ``stage8.0.0.weight`` they are ``stage8.0.0.lora_a`` and ``stage8.0.0.lora_b``."""


def is_adapter(name: str) -> bool:
    """Whether an array of this name belongs to an adapter.

    >>> is_adapter("maps.lora_b"), is_adapter("maps.weight")
    (True, False)
    """
    return name.endswith((DOWN, UP))


def low_rank_change(down: NDArray[Any], up: NDArray[Any], scale: float) -> NDArray[np.float32]:
    """Multiply what an adapter adds to a weight.

    Args:
        down: ``(inputs, rank)`` of a linear layer, or ``(rank, inputs, kh, kw)`` of a convolution.
        up: ``(rank, outputs)``, or ``(outputs, rank, 1, 1)``.
        scale: Factor.

    >>> low_rank_change(np.ones((3, 1)), np.ones((1, 2)), 0.5).shape
    (3, 2)
    """
    if down.ndim == 2:
        return np.asarray(scale * (down @ up), np.float32)
    product = up.reshape(len(up), -1) @ down.reshape(len(down), -1)
    return np.asarray(scale * product.reshape(len(up), *down.shape[1:]), np.float32)


def merge_adapter(
    arrays: Arrays, adapter: Arrays, scale: float, source: str = "the adapter"
) -> dict[str, NDArray[Any]]:
    """Replace weights by those of an adapter, and add its products.

    Args:
        arrays: Weights by name.
        adapter: Arrays by name; for the names of factors see ``DOWN``.
        scale: Factor of the products.
        source: Where the adapter comes from, for the message.

    Raises:
        InputError: It belongs to another network.

    >>> adapter = {"a.lora_a": np.ones((3, 1)), "a.lora_b": np.ones((1, 2))}
    >>> merge_adapter({"a.weight": np.zeros((3, 2))}, adapter, 2.0)["a.weight"].tolist()
    [[2.0, 2.0], [2.0, 2.0], [2.0, 2.0]]
    """
    factors = {name for name in adapter if is_adapter(name)}
    merged = {**arrays, **{name: array for name, array in adapter.items() if name not in factors}}
    strange = [
        name for name in set(adapter) - factors if name not in arrays or arrays[name].shape != adapter[name].shape
    ]
    for layer in sorted({name.rpartition(".")[0] for name in factors}):
        pair = {layer + DOWN, layer + UP}
        if not pair <= factors or f"{layer}.weight" not in arrays:
            strange += pair & factors
            continue
        weight = merged[f"{layer}.weight"]
        change = _checked_change(adapter[layer + DOWN], adapter[layer + UP], scale, weight.shape, layer, source)
        merged[f"{layer}.weight"] = weight + change
    if strange:
        raise InputError(f"{source} does not fit the weights ({min(strange)}): name those that it was trained on")
    return merged


def _checked_change(
    down: NDArray[Any], up: NDArray[Any], scale: float, shape: tuple[int, ...], layer: str, source: str
) -> NDArray[np.float32]:
    rank = down.shape[1:2] if len(shape) == 2 else down.shape[:1]
    convolution = (rank + shape[1:], shape[:1] + rank + (1, 1))
    wanted = (shape[:1] + rank, rank + shape[1:]) if len(shape) == 2 else convolution
    if (down.shape, up.shape) != wanted:
        raise InputError(
            f"{source}: {layer} has factors {list(down.shape)} and {list(up.shape)}, which does not fit a weight of "
            f"{list(shape)}; name the weights that it was trained on"
        )
    return low_rank_change(down, up, scale)


def fingerprint(arrays: Arrays) -> str:
    """Tell weights apart: a short hash of all but the factors of LoRA.

    >>> fingerprint({"a.weight": np.zeros(2)}) == fingerprint({"a.weight": np.ones(2)})
    False
    """
    seen = sha256()
    for name in sorted(arrays):
        if not is_adapter(name):
            seen.update(name.encode() + np.ascontiguousarray(arrays[name], np.float32).tobytes())
    return seen.hexdigest()[:16]


def save_adapter(path: Path, adapter: Arrays, scale: float, base: str) -> None:
    """Write an adapter as safetensors.

    Args:
        path: The file.
        adapter: Its arrays by name.
        scale: Factor of the products.
        base: ``fingerprint`` of the weights that it belongs to.
    """
    save_arrays(path, adapter, {"scale": repr(float(scale)), "base": base})


def load_adapter(path: Path, arrays: Arrays) -> tuple[dict[str, NDArray[Any]], float]:
    """Read an adapter and the factor of its products.

    Args:
        path: File of ``save_adapter``.
        arrays: The weights that it was trained on.

    Raises:
        InputError: The file is broken or no adapter, or it was trained on other weights.
    """
    adapter, notes = load_arrays(path), load_notes(path)
    try:
        scale, base = float(notes["scale"]), notes["base"]
    except (KeyError, ValueError) as error:
        raise InputError(
            f"{path} is no adapter ({error}): name the adapter.safetensors of a training, and "
            "train again if it is of an earlier version"
        ) from error
    if base != fingerprint(arrays):
        raise InputError(f"{path} was trained on other weights: name those that the training had as initial")
    return adapter, scale


def apply_adapter(net: nn.Layer, path: Path) -> None:
    """Give a network the weights of an adapter.

    Args:
        net: A plain network with the weights that the adapter was trained on.
        path: File of ``save_adapter``.

    Raises:
        InputError: The file is broken or no adapter, or it was trained on other weights.
    """
    arrays = network_to_arrays(net)
    arrays_to_network(merge_adapter(arrays, *load_adapter(path, arrays), str(path)), net, str(path))
