"""Weights of 8 and 4 bits: quantizing, making whole again, products with them. The CPU computes in single operators."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tablerec.devices.cases.case import HALVES, Call, Case, n

_TYPES = ("float32", *HALVES)
_STEP = 2.0**-5
"""Between codes: a power of two, so that no type rounds."""


_ARCH = 90
"""Paddle lets the gradient pass for some of NVIDIA's alone; the plugin has one layout whatever it is."""


def cases() -> Iterator[Case]:
    """Yield the cases."""
    for bits in (8, 4):
        largest = 127 if bits == 8 else 7
        for inputs, outputs, group in ((64, 32, -1), (192, 96, 64), (160, 32, 64), (256, 32, 128), (48, 64, -1)):
            title = f"{bits} bits, {inputs} x {outputs}, groups of {group}"
            codes = n(inputs, outputs, low=-largest, high=largest + 1, dtype="int64")
            groups = 1 if group == -1 else -(-inputs // group)
            quantize: Call = lambda p, like, codes, a=(bits, group): _quantize(p, like, codes, *a)  # noqa: E731
            reached = ("weight_quantize", "weight_dequantize")
            yield Case(f"weight_quantize {title}", reached, quantize, (n(1), codes), _TYPES)
            if inputs == 48:  # no multiple of 16: Paddle lets it be quantized, not multiplied
                odd = n(22, outputs, low=-largest, high=largest + 1, dtype="int64")
                yield Case(f"weight_quantize {title}, 22 inputs", reached, quantize, (n(1), odd), _TYPES)
            product: Call = lambda p, x, scales, codes, bias=None, a=(bits, group): _product(  # noqa: E731
                p, x, scales, codes, bias, *a
            )
            gradient = group == -1  # Paddle refuses it of groups
            multiplied = ("weight_only_linear", *(("weight_only_linear_grad",) if gradient else ()))
            scales = n(groups, outputs, low=0.01, high=0.03)
            for x in (n(2, 5, inputs), n(1, inputs), n(40, inputs)):
                name = f"weight_only_linear {x.shape} {title}"
                yield Case(name, multiplied, product, (x, scales, codes), _TYPES, gradient, 8, 4)
            name = f"weight_only_linear with a bias, {title}"
            yield Case(name, multiplied, product, (n(3, inputs), scales, codes, n(outputs)), _TYPES, gradient, 8, 4)
            name = f"weight_only_linear without rows, {title}"
            yield Case(name, multiplied, product, (n(2, 0, inputs), scales, codes), _TYPES, gradient)


def _quantize(p: Any, like: Any, codes: Any, bits: int, group: int) -> list[Any]:
    """Quantize a weight whose codes are known; they, their scales and the weight come back."""
    largest, algorithm = (127, "weight_only_int8") if bits == 8 else (7, "weight_only_int4")
    codes = codes.clone()
    codes[:: codes.shape[0] if group == -1 else group] = largest  # the largest of its group
    weight = codes.astype(like.dtype) * _STEP
    if p.device.get_device() != "cpu":
        found, scales = p.nn.quant.weight_quantize(weight, algorithm, group_size=group)
        return [found, scales, p.nn.quant.weight_dequantize(found, scales, algorithm, group_size=group)]
    groups = [] if group == -1 else [-(-codes.shape[0] // group)]
    scales = p.full([*groups, codes.shape[1]], _STEP).astype(like.dtype)
    return [p.to_tensor(pack(codes.numpy(), bits)).astype("int32"), scales, weight]


def _product(p: Any, x: Any, scales: Any, codes: Any, bias: Any, bits: int, group: int) -> Any:
    scales, bias = scales.detach(), None if bias is None else bias.detach()
    if p.device.get_device() != "cpu":
        packed = p.to_tensor(pack(codes.numpy(), bits))
        of_group = scales if group != -1 else scales[0]
        return p.nn.quant.weight_only_linear(x, packed, bias, of_group, f"int{bits}", _ARCH, group)
    each = scales.repeat_interleave(codes.shape[0] if group == -1 else group, 0)[: codes.shape[0]]
    found = x @ (codes.astype(x.dtype) * each)
    return found if bias is None else found + bias


def pack(codes: NDArray[Any], bits: int) -> NDArray[np.int8]:
    """Arrange the codes of a weight as the plugin's devices do.

    Args:
        codes: ``(inputs, outputs)`` whole numbers from -127 to 127, or from -7 to 7.
        bits: 8 or 4.

    Returns:
        8 bits: ``(outputs, inputs)``. 4 bits: a row of ``inputs / 2`` bytes for each output, the even input in the
        lower half, under the shape that Paddle gives it, ``(outputs / 2, inputs)``.

    >>> pack(np.array([[1, -1], [2, 3]]), 4).tolist()
    [[33, 63]]
    """
    rows = np.ascontiguousarray(codes.T)
    if bits == 8:
        return rows.astype(np.int8)
    both = (rows[:, ::2] & 15) | (rows[:, 1::2] & 15) << 4
    return both.astype(np.uint8).view(np.int8).reshape(len(rows) // 2, -1)
