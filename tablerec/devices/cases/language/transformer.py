"""What decoders fuse: the gated activation, rotary positions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tablerec.devices.cases.case import FLOATS, HALVES, Call, Case, n

_TYPES = FLOATS + HALVES


def cases() -> Iterator[Case]:
    """Yield the cases."""
    reached = ("swiglu", "swiglu_grad")
    for shape in ((4, 70), (2, 3, 5), (0, 6)):
        gated: Call = lambda p, x, y: p.incubate.nn.functional.swiglu(x, y)  # noqa: E731
        yield Case(f"swiglu {shape}", reached, gated, (n(*shape), n(*shape)), _TYPES, True, 2, 2)
    halves: Call = lambda p, x: p.incubate.nn.functional.swiglu(x)  # noqa: E731
    yield Case("swiglu of halves", reached, halves, (n(3, 4, 70),), _TYPES, True, 2, 2)
    steep = n(4, 70, low=-90, high=90)
    yield Case("swiglu, steep", reached, halves, (steep,), _TYPES, True, 2, 2)
    yield from _rotary()


def _rotary() -> Iterator[Case]:
    name = "fused_rotary_position_embedding"
    reached = (name, f"{name}_grad")
    for side_by_side in (True, False):
        for time_first in (True, False):
            how = f"{'pairs' if side_by_side else 'halves'}{', time first' if time_first else ''}"
            call: Call = lambda p, q, k, v, s, c, a=(side_by_side, time_first): _turn(p, (q, k, v), s, c, None, *a)  # noqa: E731
            of_positions: Call = lambda p, q, k, i, s, c, a=(side_by_side, time_first): _turn(  # noqa: E731
                p, (q, k), s, c, i, *a
            )
            of_base: Call = lambda p, q, a=(side_by_side, time_first): _turn(p, (q,), None, None, None, *a)  # noqa: E731
            batch, steps = (3, 2) if time_first else (2, 3)  # of tensors of 2 x 3
            q, k = n(2, 3, 4, 8), n(2, 3, 1, 8)
            tables = n(steps, 8), n(steps, 8)
            positions = n(batch, steps, low=0, high=9, dtype="int64")
            part = n(1, steps, 1, 6), n(1, steps, 1, 6)
            yield Case(f"{name} {how}", reached, call, (q, k, k, *tables), _TYPES, True, 4, 4)
            given = q, k, positions, n(9, 8), n(9, 8)
            yield Case(f"{name} {how}, positions", reached, of_positions, given, _TYPES, True, 4, 4)
            yield Case(f"{name} {how}, a part", reached, call, (q, k, k, *part), _TYPES, True, 4, 4)
            if side_by_side:  # halves without tables Paddle refuses
                yield Case(f"{name} {how}, no tables", reached, of_base, (q,), _TYPES, True, 4, 4)


def _turn(
    p: Any, tensors: tuple[Any, ...], sines: Any, cosines: Any, positions: Any, side_by_side: bool, time_first: bool
) -> Any:
    """Turn tensors; they come back beside one another, as Paddle's gradient must have one for the first."""
    sines, cosines = (None if table is None else table.detach() for table in (sines, cosines))
    if p.device.get_device() != "cpu":
        given = (*tensors, None, None)[:3]
        results = p.incubate.nn.functional.fused_rotary_position_embedding(
            *given, sines, cosines, positions, side_by_side, time_first
        )
        return p.concat(list(results[: len(tensors)]), 2)
    # A kernel of GPUs alone: on the CPU in single operators.
    steps, size = tensors[0].shape[0 if time_first else 1], tensors[0].shape[3]
    if sines is None:
        angles = np.arange(steps)[:, None] / 10000.0 ** ((np.arange(size) // 2 * 2) / size)
        sines, cosines = (
            p.to_tensor(table(angles).astype("float64")).astype(tensors[0].dtype) for table in (np.sin, np.cos)
        )
    rotated = sines.shape[-1]
    sines, cosines = sines.reshape([-1, rotated]), cosines.reshape([-1, rotated])
    if positions is None:
        sines, cosines = sines[:steps, None, None], cosines[:steps, None, None]  # [steps, 1, 1, size]
        if not time_first:
            sines, cosines = sines.transpose([1, 0, 2, 3]), cosines.transpose([1, 0, 2, 3])
    else:
        sines, cosines = sines[positions].unsqueeze(2), cosines[positions].unsqueeze(2)  # [batch, steps, 1, size]
        if time_first:
            sines, cosines = sines.transpose([1, 0, 2, 3]), cosines.transpose([1, 0, 2, 3])
    return p.concat([_turned(p, x, sines, cosines, rotated, side_by_side) for x in tensors], 2)


def _turned(p: Any, x: Any, sines: Any, cosines: Any, rotated: int, side_by_side: bool) -> Any:
    turned, kept = x[..., :rotated], x[..., rotated:]
    if side_by_side:
        other = p.stack([-turned[..., 1::2], turned[..., ::2]], -1).reshape(turned.shape)
    else:
        other = p.concat([-turned[..., rotated // 2 :], turned[..., : rotated // 2]], -1)
    turned = turned * cosines + other * sines
    return p.concat([turned, kept], -1) if kept.shape[-1] else turned
