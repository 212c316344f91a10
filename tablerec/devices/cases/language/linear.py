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
    for x, y, turn_x, turn_y in (
        ((3, 4), (4, 5), False, False),
        ((2, 3, 4), (5, 4), False, True),
        ((4, 3), (4, 5), True, False),
        ((4, 7), (5, 4), True, True),
    ):
        for activation in ("none", "relu", "gelu"):
            call: Call = lambda p, x, y, b, a=(turn_x, turn_y, activation): _linear(p, x, y, b, *a)  # noqa: E731
            inputs = n(*x), n(*y), n(5)
            yield Case(f"{name} {x} {y} {activation}", reached, call, inputs, _TYPES, True, 8, 8)
    call = lambda p, x, y, b: _linear(p, x, y, b, False, False, "none")  # noqa: E731
    yield Case(f"{name}, empty", reached, call, (n(0, 4), n(4, 5), n(5)), FLOATS, True)


def _linear(p: Any, x: Any, y: Any, bias: Any, turn_x: bool, turn_y: bool, activation: str) -> Any:
    if p.device.get_device() != "cpu":
        return p._C_ops.fused_gemm_epilogue(x, y, bias, turn_x, turn_y, activation)[0]
    out = p.matmul(x, y, turn_x, turn_y) + bias
    if activation == "none":
        return out
    return p.nn.functional.relu(out) if activation == "relu" else p.nn.functional.gelu(out, approximate=True)
