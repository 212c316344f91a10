"""Weights of 8 and 4 bits are those of Paddle's own CPU kernel, in another layout."""

from __future__ import annotations

import numpy as np

from tablerec.devices.cases.language.quantized import pack
from tests.helpers.devices.plugin_process import ask, needs_device

# For an architecture of NVIDIA's from 2017 Paddle keeps the order of rows: the codes plus 128 or 8, of which each four
# or eight change places.
READ = """
import numpy as np
from tablerec.devices.cases.language.quantized import pack
def codes_of(found, bits, inputs, outputs):
    flat = found.numpy().view(np.uint8).reshape(-1)
    if bits == 8:
        return (flat.reshape(-1, 4)[:, [0, 2, 1, 3]].astype(int) - 128).reshape(inputs, outputs)
    halves = np.stack([flat & 15, flat >> 4], 1).reshape(-1, 8).astype(int) - 8
    codes = np.empty_like(halves)
    codes[:, [0, 2, 4, 6, 1, 3, 5, 7]] = halves
    return codes.reshape(inputs, outputs)
"""


@needs_device
def test_codes_and_scales_are_those_of_paddles_cpu() -> None:
    code = f"""{READ}
found = []
for dtype in ("float16", "bfloat16"):
    for bits in (8, 4):
        for group in (-1, 64, 128):
            algorithm = f"weight_only_int{{bits}}"
            paddle.set_device("cpu")
            numbers = np.random.default_rng(bits).normal(0, 0.02, (192, 64)).astype("float32")
            weight = paddle.to_tensor(numbers).astype(dtype)
            expected, scales = paddle.nn.quant.weight_quantize(weight, algorithm, 70, group)
            paddle.set_device(plugin.device)
            ours, our_scales = paddle.nn.quant.weight_quantize(
                paddle.to_tensor(weight, place=plugin.device), algorithm, group_size=group
            )
            packed = pack(codes_of(expected, bits, 192, 64), bits)
            whole = paddle.nn.quant.weight_dequantize(ours, our_scales, algorithm, group_size=group)
            off = (whole.astype("float32") - paddle.to_tensor(weight.astype("float32").numpy())).abs().max()
            found.append([
                bool((ours.numpy() == packed).all()),
                bool((our_scales.astype("float32").numpy() == scales.astype("float32").numpy()).all()),
                float(off / weight.astype("float32").abs().max()),
                bits,
            ])
zeros, scales = paddle.nn.quant.weight_quantize(paddle.zeros([64, 32]), "weight_only_int4")
answer([found, int(zeros.astype("int32").abs().sum()), float(scales.abs().sum())])
"""
    found, codes_of_zeros, scales_of_zeros = ask(code)
    assert len(found) == 12
    for codes, scales, off, bits in found:
        assert codes and scales
        assert off < (0.006 if bits == 8 else 0.09)
    assert codes_of_zeros == 0 and scales_of_zeros == 0


@needs_device
def test_what_is_not_supported_is_said() -> None:
    code = """
quant = paddle.nn.quant
paddle.set_device(plugin.device)
weight, scales = quant.weight_quantize(paddle.rand([64, 32]))
def said(call):
    try:
        call()
    except Exception as error:
        return str(error)
answer([
    said(lambda: quant.weight_quantize(paddle.rand([64, 32]), "llm.int8")),
    said(lambda: quant.weight_only_linear(paddle.rand([2, 64]), weight, None, scales.astype("bfloat16"))),
    said(lambda: quant.weight_only_linear(paddle.rand([2, 64]), weight, paddle.rand([32]).astype("bfloat16"), scales)),
])
"""
    algorithm, scales, bias = ask(code)
    assert "llm.int8 is not supported" in algorithm
    assert "the scales must have the type of the result" in scales
    assert "the bias has another type" in bias


def test_packing_loses_nothing() -> None:
    codes = np.random.default_rng(0).integers(-7, 8, (32, 64))
    packed = pack(codes, 4)
    assert packed.shape == (32, 32) and packed.dtype == np.int8
    rows = packed.reshape(64, 16)
    low, high = (rows << 4).astype(np.int8) >> 4, rows >> 4
    np.testing.assert_array_equal(np.stack([low, high], 2).reshape(64, 32).T, codes)
    np.testing.assert_array_equal(pack(codes, 8).T, codes)
    assert pack(np.zeros((0, 2), int), 8).shape == (2, 0)
