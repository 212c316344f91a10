"""Frozen weights in fewer bits: kept as bfloat16, float16 or int8, and made whole where they are used."""

from __future__ import annotations

from typing import Any

import paddle
from paddle import Tensor, nn
from paddle.autograd import PyLayer
from paddle.nn import functional as F  # noqa: N812


def keep_frozen(net: nn.Layer, kept: str) -> int:
    """Keep the weights of linear layers and convolutions that are not trained in fewer bits.

    Gradients pass through them as before; their inputs are no longer kept for that.

    Args:
        net: The network; its trainable parameters are known already.
        kept: ``bfloat16``, ``float16``, or ``int8``: symmetric, with a scale for each output, so that a weight
            is off by a 254th of the largest one of its output at most. ``float32`` changes nothing.

    Returns:
        How many bytes less the weights take.

    >>> net = nn.Sequential(nn.Linear(64, 64))
    >>> net[0].weight.stop_gradient = True
    >>> keep_frozen(net, "int8")  # of 16384 bytes; there are 64 scales
    12032
    """
    if kept == "float32":
        return 0
    saved = 0
    for layer in net.sublayers(include_self=True):
        if type(layer) in _KEPT and layer.weight.stop_gradient and not _is_text_padding(layer):
            saved += _keep(layer, kept)
    return saved


def _is_text_padding(layer: Any) -> bool:
    """Whether a convolution pads by a rule; its gradient is left to Paddle."""
    return isinstance(getattr(layer, "_padding", None), str) or getattr(layer, "_padding_mode", "zeros") != "zeros"


@paddle.no_grad()
def _keep(layer: Any, kept: str) -> int:
    weight = layer._parameters.pop("weight")
    axis = [0] if isinstance(layer, nn.Linear) else [1, 2, 3]
    if kept == "int8":
        scale = paddle.clip(weight.abs().max(axis, keepdim=True), min=1e-30) / 127
        layer.register_buffer("kept", paddle.round(weight / scale).astype("int8"))
        layer.register_buffer("kept_scale", scale)
    else:
        layer.register_buffer("kept", weight.astype(kept))
        layer.kept_scale = None
    layer.__class__ = _KEPT[type(layer)]
    held = [each for each in (layer.kept, layer.kept_scale) if each is not None]
    return int(weight.size * weight.element_size() - sum(each.size * each.element_size() for each in held))


def _whole(layer: Any, dtype: Any = "float32") -> Tensor:
    weight = layer.kept.astype("float32")
    return (weight if layer.kept_scale is None else weight * layer.kept_scale).astype(dtype)


class _Linear(nn.Linear):
    """A linear layer whose weight is kept in fewer bits."""

    @property
    def weight(self) -> Tensor:
        return _whole(self)

    def forward(self, x: Tensor) -> Tensor:
        y = F.linear(x, self.weight) if x.stop_gradient else _Through.apply(x, self)
        return y if self.bias is None else y + self.bias.astype(y.dtype)


class _Conv2D(nn.Conv2D):
    """A convolution whose weight is kept in fewer bits."""

    @property
    def weight(self) -> Tensor:
        return _whole(self)

    def forward(self, x: Tensor) -> Tensor:
        y = _convolve(self, x) if x.stop_gradient else _Through.apply(x, self)
        return y if self.bias is None else y + self.bias.astype(y.dtype).reshape([1, -1, 1, 1])


_KEPT: dict[type, type] = {nn.Linear: _Linear, nn.Conv2D: _Conv2D}


def _convolve(layer: Any, x: Tensor) -> Tensor:
    return F.conv2d(x, _whole(layer), None, layer._stride, layer._padding, layer._dilation, layer._groups)


class _Through(PyLayer):
    """Product with a frozen weight: its gradient needs the weight only, not the input."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, layer: Any) -> Tensor:
        ctx.layer, ctx.dtype, ctx.size = layer, x.dtype, list(x.shape)
        return F.linear(x, _whole(layer)) if isinstance(layer, nn.Linear) else _convolve(layer, x)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        layer, weight = ctx.layer, _whole(ctx.layer, gradient.dtype)
        if isinstance(layer, nn.Linear):
            return paddle.matmul(gradient, weight, transpose_y=True).astype(ctx.dtype)
        found = F.conv2d_transpose(
            gradient,
            weight,
            stride=layer._stride,
            padding=layer._padding,
            dilation=layer._dilation,
            groups=layer._groups,
            output_size=ctx.size[2:],
        )
        return found.astype(ctx.dtype)
