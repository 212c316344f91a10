"""Frozen linear layers in 8 or 4 bits, which the device multiplies as they are: ``weight_only_linear`` of Paddle.

``frozen`` makes a weight whole before each product, with operators that every device has. Here the device does so
within the product, in registers or small tiles. Only for the gradient where scales have groups is a weight made whole,
one at a time, as Paddle refuses its own kernel there.
"""

from __future__ import annotations

import re
from typing import Any, Literal

import paddle
from paddle import Tensor, nn
from paddle.autograd import PyLayer
from paddle.nn import quant

from tablerec.devices import parse_device
from tablerec.errors import SettingsError

Bits = Literal["int8", "int4"]
_MULTIPLES = {"int8": (16, 16), "int4": (16, 32)}
"""Paddle asks for inputs and outputs in multiples of these."""
_ARCH = 90
"""Paddle lets gradients pass for some architectures of NVIDIA's alone; the plugin has one layout for all."""


def quantize_frozen(
    net: nn.Layer, kept: Bits, group_size: int = 64, target: str = "", precision: str = ""
) -> list[str]:
    """Keep the weights of linear layers in 8 or 4 bits, on the device that is set; they are no longer trained.

    Symmetric: the largest weight of a group becomes 127 or 7, so that a weight is off by a 254th or a 14th of it at
    most. Weights may still lie on the host: each goes to the device by itself, and its float values are freed. Layers
    whose inputs and outputs are no multiples of 16, or 32 for outputs in 4 bits, stay as they are; embeddings do too.

    Args:
        net: The network. Its layers keep their names; ``weight`` is then made whole when it is asked for.
        kept: ``int8`` or ``int4``.
        group_size: Inputs that share a scale: 64, 128, or -1 for all.
        target: Regular expression that is searched for in the names of layers; empty: all.
        precision: What the products compute in, ``bfloat16`` for example; empty: as the weights are.

    Returns:
        Names of the layers.

    Raises:
        SettingsError: The device has no such products, or no layer is left.
    """
    require_products(paddle.device.get_device())
    if group_size not in (-1, 64, 128):
        raise SettingsError(f"group_size is {group_size}: give 64, 128 or -1")
    chosen = [
        (name, layer)
        for name, layer in net.named_sublayers()
        if type(layer) is nn.Linear
        and re.search(target, name)
        and all(size and size % step == 0 for size, step in zip(layer.weight.shape, _MULTIPLES[kept], strict=True))
    ]
    if not chosen:
        raise SettingsError(
            f"no linear layer can be kept as {kept}: inputs and outputs must be multiples of {_MULTIPLES[kept]}, and "
            f"names must match {target!r}"
        )
    for _, layer in chosen:
        _quantize(layer, kept, group_size, precision)
    return [name for name, _ in chosen]


def require_products(device: str) -> None:
    """Make sure that a device multiplies with weights of 8 and 4 bits.

    Raises:
        SettingsError: It has no kernel for it.
    """
    from tablerec.devices.plugin import registered_kernels

    kind = parse_device(device).kind
    if "weight_only_linear" not in registered_kernels(kind):
        raise SettingsError(
            f"{kind} has no products with weights of 8 or 4 bits (weight_only_linear): choose a device of the plugin, "
            "or keep the weights as float32 or bfloat16"
        )


@paddle.no_grad()
def _quantize(layer: Any, kept: Bits, group_size: int, precision: str) -> None:
    weight = layer._parameters.pop("weight")
    layer.kept_shape, layer.kept_as, layer.group_size = list(weight.shape), kept, group_size
    whole = weight._copy_to(paddle.framework._current_expected_place(), True)
    whole = whole.astype(precision) if precision else whole
    codes, scales = quant.weight_quantize(whole, f"weight_only_{kept}", group_size=group_size)
    layer.register_buffer("codes", codes)
    layer.register_buffer("scales", scales)
    if layer.bias is not None:
        layer.bias.stop_gradient = True
    layer.__class__ = QuantizedLinear


class QuantizedLinear(nn.Linear):
    """A linear layer whose weight is frozen in 8 or 4 bits; made by ``quantize_frozen``.

    Gradients go to its input, and to nothing else. The input itself is not kept for them.
    """

    codes: Tensor
    scales: Tensor
    kept_shape: list[int]
    kept_as: Bits
    group_size: int

    @property
    def weight(self) -> Tensor:
        """Make the weight whole: ``[inputs, outputs]`` in the type of the scales."""
        return quant.weight_dequantize(
            self.codes, self.scales, f"weight_only_{self.kept_as}", group_size=self.group_size
        )

    def forward(self, x: Tensor) -> Tensor:
        """Multiply ``[..., inputs]``, in the type of the scales."""
        x = x if x.dtype == self.scales.dtype else x.astype(self.scales.dtype)
        by_operator = self.group_size == -1 or x.stop_gradient or not paddle.is_grad_enabled()
        y = _multiply(x, self) if by_operator else _Through.apply(x, self)
        return y if self.bias is None else y + self.bias.astype(y.dtype)

    def extra_repr(self) -> str:
        """Describe the layer."""
        inputs, outputs = self.kept_shape
        return f"in_features={inputs}, out_features={outputs}, kept={self.kept_as}, group_size={self.group_size}"


def _multiply(x: Tensor, layer: QuantizedLinear) -> Tensor:
    return quant.weight_only_linear(x, layer.codes, None, layer.scales, layer.kept_as, _ARCH, layer.group_size)


class _Through(PyLayer):
    """The product, with a gradient where the scales have groups: for these Paddle refuses its own."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, layer: QuantizedLinear) -> Tensor:
        ctx.layer = layer
        return _multiply(x, layer)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        return paddle.matmul(gradient, ctx.layer.weight, transpose_y=True)
