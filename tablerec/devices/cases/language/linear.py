"""A product of matrices with a bias and an activation after it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tablerec.devices.cases.case import FLOATS, HALVES, Call, Case, n

_TYPES = FLOATS + HALVES


def cases() -> Iterator[Case]:
    """Yield the cases."""
    name = "fused_gemm_epilogue"
    reached = (name, f"{name}_grad")
    # Before it asks for the kernel Paddle wants as many columns as its own needs.
    for activation, columns in (("none", 5), ("gelu", 8), ("relu", 128)):
        for x, y, turn_x, turn_y in (
            ((3, 4), (4, columns), False, False),
            ((2, 3, 4), (columns, 4), False, True),
            ((4, 3), (4, columns), True, False),
            ((4, 7), (columns, 4), True, True),
        ):
            call: Call = lambda p, x, y, b, a=(turn_x, turn_y, activation): _linear(p, x, y, b, *a)  # noqa: E731
            # A bias so large that rounding opens or closes no rectifier.
            inputs = n(*x), n(*y), n(columns) if activation != "relu" else n(columns, low=17.0, high=18.0)
            yield Case(f"{name} {x} {y} {activation}", reached, call, inputs, _TYPES, True, 8, 8)
    call = lambda p, x, y, b: _linear(p, x, y, b, False, False, "none")  # noqa: E731
    yield Case(f"{name}, empty", reached, call, (n(0, 4), n(4, 5), n(5)), FLOATS, True)


def _linear(p: Any, x: Any, y: Any, bias: Any, turn_x: bool, turn_y: bool, activation: str) -> Any:
    if activation == "relu":
        bias = bias * (2 * (p.arange(len(bias)) % 2) - 1).astype(bias.dtype)
    if p.device.get_device() != "cpu":
        return p._C_ops.fused_gemm_epilogue(x, y, bias, turn_x, turn_y, activation)[0]
    out = p.matmul(x, y, turn_x, turn_y) + bias
    if activation == "none":
        return out
    return p.nn.functional.relu(out) if activation == "relu" else p.nn.functional.gelu(out, approximate=True)
