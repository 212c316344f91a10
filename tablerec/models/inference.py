"""Networks made shorter for inference: norms folded, constants computed once, and RT-DETR's sampling in fewer calls."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import paddle


def fold_norms(network: Any) -> int:
    """Put batch norms with fixed statistics into the convolutions before them, for inference.

    A norm is folded where it was defined right after a convolution, as our networks and PaddleX's
    run them in that order.

    Returns:
        How many norms there were.
    """
    n_folded = 0
    for layer in [network, *network.sublayers()]:
        children = list(layer.named_children())
        for (_, convolution), (name, norm) in pairwise(children):
            if not isinstance(convolution, paddle.nn.Conv2D) or not hasattr(norm, "_variance"):
                continue
            deviation = np.sqrt(norm._variance.numpy() + getattr(norm, "_epsilon", 1e-5))
            factor = norm.weight.numpy() / deviation
            shift = norm.bias.numpy() - norm._mean.numpy() * factor
            if convolution.bias is None:
                convolution.bias = convolution.create_parameter([len(shift)], is_bias=True)
            else:
                shift = shift + convolution.bias.numpy() * factor
            convolution.weight.set_value(convolution.weight.numpy() * factor[:, None, None, None])
            convolution.bias.set_value(shift)
            setattr(layer, name, paddle.nn.Identity())
            n_folded += 1
    return n_folded


def prepare_rtdetr(network: Any, size: int) -> None:
    """Shorten RT-DETR for inference at one size: norms folded, constants computed once, sampling in fewer calls.

    It is also what makes a static graph of it possible: PaddleX transposes tensors of rank 5 by four axes,
    which Paddle's views accept and its static graphs do not.

    Args:
        network: A layer that holds PaddleX's ``RTDETRModel`` as ``model``, in evaluation.
        size: The side of the pictures.
    """

    class Constant(paddle.nn.Layer):
        def __init__(self, value: Any) -> None:
            super().__init__()
            self.register_buffer("value", value)

        def forward(self, *_: Any, **__: Any) -> Any:
            return self.value

    class Sampling(paddle.nn.Layer):
        """Values ``[B, S, H, D]``, places ``[B, Q, H, L, P, 2]``, weights ``[B, Q, H, L, P]`` -> ``[B, Q, H D]``."""

        def forward(
            self, value: Any, _shapes: Any, sizes: Any, _starts: Any, places: Any, weights: Any, _step: Any
        ) -> Any:
            batch, n_values, n_heads, depth = value.shape
            _, n_queries, _, n_levels, n_points, _ = places.shape
            value = value.transpose([0, 2, 3, 1]).reshape([batch * n_heads, depth, n_values])
            places = (2 * places - 1).transpose([0, 2, 3, 1, 4, 5])
            places = places.reshape([batch * n_heads, n_levels, n_queries, n_points, 2])
            weights = weights.transpose([0, 2, 1, 3, 4]).reshape([batch * n_heads, 1, n_queries, n_levels * n_points])
            sampled, start = [], 0
            for level in range(n_levels):
                height, width = sizes[level]
                plane = value[:, :, start : start + height * width].reshape([batch * n_heads, depth, height, width])
                sampled.append(paddle.nn.functional.grid_sample(plane, places[:, level], align_corners=False))
                start += height * width
            found = (paddle.concat(sampled, -1) * weights).sum(-1)
            return found.reshape([batch, n_heads * depth, n_queries]).transpose([0, 2, 1])

    fold_norms(network)
    model = network.model
    sides = [size // stride for stride in model.config.feat_strides]
    with paddle.no_grad():
        anchors, valid = model.generate_anchors([(side, side) for side in sides])
        for layer in model.encoder.aifi:
            layer.position_embedding = Constant(layer.position_embedding(sides[-1], sides[-1], "float32"))
    model.register_buffer("anchors", anchors)
    model.register_buffer("valid_anchors", valid)
    model.generate_anchors = lambda *_, **__: (model.anchors, model.valid_anchors)
    for layer in network.sublayers():
        if hasattr(layer, "sampling_offsets"):
            layer.attn = Sampling()
