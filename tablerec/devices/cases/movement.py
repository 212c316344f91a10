"""Operators that create, copy and rearrange elements."""

from __future__ import annotations

from collections.abc import Iterator

from tablerec.devices.cases.case import BOOL, FLOATS, HALVES, NUMBERS, Case, n


def cases() -> Iterator[Case]:
    """Yield the cases."""
    every = NUMBERS + HALVES + BOOL
    real = FLOATS + HALVES
    no_views = (("FLAGS_use_stride_kernel", False),)
    yield Case(
        "transpose",
        ("transpose", "transpose_grad"),
        lambda p, x: p.transpose(x, [2, 0, 1]),
        (n(2, 3, 4),),
        real,
        True,
        flags=no_views,
    )
    yield Case("contiguous", ("contiguous",), lambda p, x: p.transpose(x, [1, 0]).contiguous(), (n(5, 4),), every)
    yield Case("slices", ("strided_copy", "fill"), lambda p, x: x[1:, ::2] * 2, (n(5, 6),), real, True)
    yield Case(
        "concat", ("concat", "concat_grad"), lambda p, x, y: p.concat([x, y], 1), (n(2, 3, 4), n(2, 1, 4)), real, True
    )
    yield Case("concat empty", ("concat",), lambda p, x, y: p.concat([x, y], 0), (n(0, 4), n(2, 4)), every)
    yield Case("split", ("split",), lambda p, x: p.split(x, [1, 3], 1), (n(2, 4, 2),), every)
    yield Case("split_with_num", ("split_with_num",), lambda p, x: p.split(x, 2, 1), (n(2, 4, 2),), every)
    yield Case("stack", ("stack", "stack_grad"), lambda p, x, y: p.stack([x, y], 1), (n(2, 3), n(2, 3)), real, True)
    yield Case("expand", ("expand", "expand_grad"), lambda p, x: p.expand(x, [4, 2, 3]), (n(2, 1),), real, True)
    yield Case("tile", ("tile",), lambda p, x: p.tile(x, [2, 1, 3]), (n(2, 3),), every)
    yield Case("flip", ("flip",), lambda p, x: p.flip(x, [0, 2]), (n(2, 3, 4),), every)
    yield Case("meshgrid", ("meshgrid",), lambda p, x, y: p.meshgrid(x, y), (n(3), n(4)), NUMBERS + HALVES)
    yield Case("full", ("full",), lambda p, x: p.full([2, 3], 2, x.dtype), (n(1),), every)
    yield Case("full_like", ("full_like",), lambda p, x: p.full_like(x, 1), (n(2, 3),), every)
    yield Case("full_like empty", ("full_like",), lambda p, x: p.full_like(x, 1), (n(2, 0, 3),), every)
    yield Case("assign", ("assign",), lambda p, x: p.assign(x), (n(2, 3),), every)
    yield Case("arange", ("arange_tensor",), lambda p, x: p.arange(1, 9, 3, x.dtype), (n(1),), NUMBERS + HALVES)
    pad = lambda p, x: p.nn.functional.pad(x, [1, 2, 0, 3], value=1.5)  # noqa: E731
    yield Case("pad3d", ("pad3d", "pad3d_grad"), pad, (n(2, 3, 4, 5),), real, True)
