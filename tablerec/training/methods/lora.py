"""LoRA: each weight is trained by a change of low rank only (Hu et al., 2021).

A linear layer y = x W becomes y = x W + s (x A) B. A convolution does the same with two convolutions: A has its
kernel, stride, padding and dilation and ``rank`` outputs, B is 1 x 1; their product is again a kernel of its shape.
Grouped and depthwise convolutions are left as they are: they hold few weights. B is zero at first, so that the first
step starts from the network as it was. The factors are float32 whatever the layer computes in, as the changes of a step
are too small for fewer bits.
"""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np
from numpy.typing import NDArray
from paddle import Tensor, nn
from paddle.nn import functional as F  # noqa: N812

from tablerec.errors import SettingsError
from tablerec.models.adapter import is_adapter
from tablerec.models.arrays import network_to_arrays
from tablerec.training.settings import LoRA


def add_lora(net: nn.Layer, settings: LoRA) -> list[str]:
    """Give layers the two factors of their change; their own parameters keep their names.

    Args:
        net: The network. Its linear layers and ungrouped 2-D convolutions whose names match ``target_modules`` get
            ``lora_a`` and ``lora_b``.
        settings: See ``LoRA``.

    Returns:
        Names of the layers.

    Raises:
        SettingsError: No layer matches.

    >>> net = nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 1))
    >>> add_lora(net, LoRA(rank=2, target_modules="0"))
    ['0']
    >>> [name for name, _ in net.named_parameters()]
    ['0.weight', '0.bias', '0.lora_a', '0.lora_b', '2.weight', '2.bias']
    """
    chosen = [
        (name, layer)
        for name, layer in net.named_sublayers()
        if _takes(layer) and re.search(settings.target_modules, name)
    ]
    if not chosen:
        names = ", ".join(name for name, layer in net.named_sublayers() if _takes(layer))[:100]
        raise SettingsError(
            f"optimizer.lora.target_modules {settings.target_modules!r} matches no layer: leave it out, or write a "
            f"regular expression for names such as {names}"
        )
    for _, layer in chosen:
        _add_factors(layer, settings)
    return [name for name, _ in chosen]


def _takes(layer: nn.Layer) -> bool:
    """Whether a layer can have a change of low rank."""
    if isinstance(layer, nn.Conv2D):
        return bool(layer._groups == 1 and layer._padding_mode == "zeros")
    return isinstance(layer, nn.Linear)


def _add_factors(layer: Any, settings: LoRA) -> None:
    shape, rank = getattr(layer, "kept_shape", None) or layer.weight.shape, settings.rank
    if isinstance(layer, nn.Linear):
        down, up, fan_in = [shape[0], rank], [rank, shape[1]], shape[0]
    else:
        down, up, fan_in = [rank, *shape[1:]], [shape[0], rank, 1, 1], math.prod(shape[1:])
    bound = 1 / math.sqrt(fan_in)
    uniform, zero = nn.initializer.Uniform(-bound, bound), nn.initializer.Constant(0.0)
    layer.lora_a = layer.create_parameter(down, dtype="float32", default_initializer=uniform)
    layer.lora_b = layer.create_parameter(up, dtype="float32", default_initializer=zero)
    layer.lora_scale = settings.scale
    layer.lora_hook = layer.register_forward_post_hook(_add_change)


def _add_change(layer: Any, inputs: tuple[Tensor, ...], output: Tensor) -> Tensor:
    x = inputs[0]
    if isinstance(layer, nn.Linear):
        a, b = (each if each.dtype == x.dtype else each.astype(x.dtype) for each in (layer.lora_a, layer.lora_b))
        return output + layer.lora_scale * F.linear(F.linear(x, a), b)
    few = F.conv2d(x, layer.lora_a, None, layer._stride, layer._padding, layer._dilation)
    return output + layer.lora_scale * F.conv2d(few, layer.lora_b)


def adapter_arrays(net: nn.Layer) -> dict[str, NDArray[np.float32]]:
    """Copy the factors to the host, by name."""
    return {name: array for name, array in network_to_arrays(net).items() if is_adapter(name)}
