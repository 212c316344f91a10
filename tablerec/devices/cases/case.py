"""A call of an operator, and what it is given."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

FLOATS = ("float32", "float64")
HALVES = ("float16", "bfloat16")
FLOAT8 = ("float8_e4m3fn", "float8_e5m2")
ROUNDED = HALVES + FLOAT8
"""Types that NumPy lacks: made from float32 on the device."""
INTEGERS = ("int32", "int64")
NUMBERS = FLOATS + INTEGERS
BOOL = ("bool",)
BYTES = ("uint8", "int8", "int16")
EVERY = NUMBERS + BOOL + HALVES + BYTES
STAND_INS = dict.fromkeys(ROUNDED, "float32") | dict.fromkeys(BYTES, "int32")
"""Types in which the CPU has few kernels, and the type in which it computes instead."""

Call = Callable[..., Any]
Options = tuple[dict[str, Any], ...]


@dataclass(frozen=True, slots=True)
class Input:
    """Random numbers of a shape, uniform in ``[low, high)``, from 0 for uint8; ``dtype`` where it is not the case's."""

    shape: tuple[int, ...]
    low: float = -2.0
    high: float = 2.0
    dtype: str | None = None

    def draw(self, random: np.random.Generator, dtype: str) -> np.ndarray:
        """Draw the array; numbers for a type that has a stand-in come in that."""
        dtype = self.dtype or dtype
        low = max(self.low, 0) if dtype == "uint8" else self.low
        dtype = STAND_INS.get(dtype, dtype)
        if dtype == "bool":
            return random.random(self.shape) < 0.5
        if dtype in INTEGERS:
            return random.integers(int(low), max(int(self.high), int(low) + 1), self.shape).astype(dtype)
        return random.uniform(self.low, self.high, self.shape).astype(dtype)


@dataclass(frozen=True, slots=True)
class Case:
    """One call.

    Args:
        name: What is tried, for reports.
        operators: The kernels that the call must reach, forward; where gradients are compared also backward.
        call: Paddle and the tensors -> a tensor, or several.
        inputs: What to draw.
        dtypes: The types to try.
        gradient: Compare gradients too, where the type has them.
        tolerance: Multiplies the tolerance of float32 and float64, where sums are long.
        half_tolerance: Multiplies that of float16 and bfloat16, where several roundings add up.
        flags: Paddle's flags during the call; they are turned round after it.
    """

    name: str
    operators: tuple[str, ...]
    call: Callable[..., Any]
    inputs: tuple[Input, ...]
    dtypes: tuple[str, ...] = FLOATS
    gradient: bool = False
    tolerance: float = 1.0
    half_tolerance: float = 1.0
    flags: tuple[tuple[str, bool], ...] = ()

    def gradient_in(self, dtype: str) -> bool:
        """Return whether gradients are compared in a type."""
        return self.gradient and dtype in FLOATS + HALVES

    def operators_in(self, dtype: str) -> set[str]:
        """Return the kernels that the call must reach in a type."""
        return {name for name in self.operators if self.gradient_in(dtype) or not name.endswith("_grad")}


def n(*shape: int, low: float = -2.0, high: float = 2.0, dtype: str | None = None) -> Input:
    """Abbreviate ``Input``."""
    return Input(shape, low, high, dtype)
