"""Operators that copy and rearrange elements, and views as kernels."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tablerec.devices.cases.case import EVERY, FLOATS, HALVES, NUMBERS, Call, Case, n


def cases() -> Iterator[Case]:
    """Yield the cases."""
    yield from _slices()
    real = FLOATS + HALVES
    no_views = (("FLAGS_use_stride_kernel", False),)
    yield Case(
        "transpose",
        ("transpose", "transpose_grad"),
        lambda p, x: p.transpose(x, [2, 0, 1]),
        (n(2, 3, 4),),
        EVERY,
        True,
        flags=no_views,
    )
    yield Case("contiguous", ("contiguous",), lambda p, x: p.transpose(x, [1, 0]).contiguous(), (n(5, 4),), EVERY)
    yield Case("slices", ("strided_copy", "fill"), lambda p, x: x[1:, ::2] * 2, (n(5, 6),), real, True)
    yield Case("strided_copy", ("fill", "strided_copy"), _fill_a_view, (n(5, 6),), EVERY)
    yield Case("fill", ("fill",), lambda p, x: p.assign(x).fill_(3), (n(5, 6),), EVERY)
    yield Case(
        "concat", ("concat", "concat_grad"), lambda p, x, y: p.concat([x, y], 1), (n(2, 3, 4), n(2, 1, 4)), EVERY, True
    )
    yield Case("concat empty", ("concat",), lambda p, x, y: p.concat([x, y], 0), (n(0, 4), n(2, 4)), EVERY)
    yield Case("split", ("split",), lambda p, x: p.split(x, [1, 3], 1), (n(2, 4, 2),), EVERY)
    yield Case("split_with_num", ("split_with_num",), lambda p, x: p.split(x, 2, 1), (n(2, 4, 2),), EVERY)
    yield Case("stack", ("stack", "stack_grad"), lambda p, x, y: p.stack([x, y], 1), (n(2, 3), n(2, 3)), EVERY, True)
    for shape, axis in (((2, 3, 4), 1), ((4, 3), -1), ((3, 5, 16), 0), ((1,), 0)):
        apart: Call = lambda p, x, axis=axis: _unstacked(p, x, axis)  # noqa: E731
        yield Case(f"unstack {shape} {axis}", ("unstack", "unstack_grad"), apart, (n(*shape),), EVERY, True)
    yield Case("unstack empty", ("unstack",), lambda p, x: _unstacked(p, x, 0), (n(2, 0, 3),), EVERY)
    yield Case("expand", ("expand", "expand_grad"), lambda p, x: p.expand(x, [4, 2, 3]), (n(2, 1),), EVERY, True)
    yield Case("tile", ("tile",), lambda p, x: p.tile(x, [2, 1, 3]), (n(2, 3),), EVERY)
    yield Case("flip", ("flip",), lambda p, x: p.flip(x, [0, 2]), (n(2, 3, 4),), EVERY)
    yield Case("meshgrid", ("meshgrid",), lambda p, x, y: p.meshgrid(x, y), (n(3), n(4)), NUMBERS + HALVES)
    yield Case("assign", ("assign",), lambda p, x: p.assign(x), (n(2, 3),), EVERY)
    pad = lambda p, x: p.nn.functional.pad(x, [1, 2, 0, 3], value=1.5)  # noqa: E731
    yield Case("pad3d", ("pad3d", "pad3d_grad"), pad, (n(2, 3, 4, 5),), NUMBERS + HALVES, True)
    yield Case("pad3d half", ("pad3d",), pad, (n(2, 3, 4, 8),), HALVES)
    yield from _wide()
    yield from _moved()


def _wide() -> Iterator[Case]:
    """Yield rows whose elements are moved sixteen bytes at a time."""
    real = FLOATS + HALVES
    concat: Call = lambda p, x, y: p.concat([x, y], 1)  # noqa: E731
    yield Case("concat wide", ("concat", "concat_grad"), concat, (n(3, 8, 4), n(3, 16, 4)), real, True)
    yield Case("split wide", ("split",), lambda p, x: p.split(x, [8, 24], 1), (n(3, 32),), real)
    yield Case("expand wide", ("expand",), lambda p, x: p.expand(x, [3, 5, 16]), (n(5, 16),), real)
    inner: Call = lambda p, x: p.transpose(x, [1, 0, 2]).contiguous()  # noqa: E731
    yield Case("contiguous rows", ("contiguous",), inner, (n(5, 4, 16),), real)
    offset: Call = lambda p, x: x[1:, 3:19].contiguous()  # noqa: E731
    yield Case("contiguous unaligned", ("contiguous",), offset, (n(5, 24),), real)


def _moved() -> Iterator[Case]:
    real = FLOATS + HALVES
    expand_as: Call = lambda p, x, y: x.expand_as(y)  # noqa: E731
    yield Case(
        "expand_as", ("expand_as", "expand_as_grad"), expand_as, (n(3, 1), n(2, 3, 4)), EVERY, True, half_tolerance=2
    )
    tile: Call = lambda p, x: p.tile(x, [2, 1, 3])  # noqa: E731
    yield Case("tile_grad", ("tile", "tile_grad"), tile, (n(2, 4),), EVERY, True, half_tolerance=2)
    for axis in (0, -1):
        repeat: Call = lambda p, x, axis=axis: _repeated(p, x, axis)  # noqa: E731
        reached = ("repeat_interleave", "repeat_interleave_grad")
        yield Case(f"repeat_interleave {axis}", reached, repeat, (n(4, 5),), EVERY, True, half_tolerance=2)
    shuffle: Call = lambda p, x: p.nn.functional.pixel_shuffle(x, 2)  # noqa: E731
    yield Case("pixel_shuffle", ("pixel_shuffle", "pixel_shuffle_grad"), shuffle, (n(2, 8, 3, 4),), real, True)
    for shifts, axes in (([1], [0]), ([-1, 2], [0, 2]), ([5], None)):
        roll: Call = lambda p, x, shifts=shifts, axes=axes: p.roll(x, shifts, axes)  # noqa: E731
        yield Case(f"roll {shifts} {axes}", ("roll", "roll_grad"), roll, (n(3, 4, 5),), EVERY, True)
    for name in ("tril", "triu"):
        for diagonal in (-1, 0, 2):
            triangle: Call = lambda p, x, name=name, diagonal=diagonal: getattr(p, name)(x, diagonal)  # noqa: E731
            yield Case(f"{name} {diagonal}", (name, f"{name}_grad"), triangle, (n(2, 4, 5),), EVERY, True)
        yield Case(f"{name} any", (name,), lambda p, x, name=name: getattr(p, name)(x), (n(4, 5),), EVERY)
    pad: Call = lambda p, x: p.nn.functional.pad(x, [1, 2, 0, 3], value=1.5)  # noqa: E731
    yield Case("pad", ("pad", "pad_grad"), pad, (n(3, 4),), NUMBERS + HALVES, True)


def _repeated(p: Any, x: Any, axis: int) -> Any:
    if x.dtype == p.bool and p.device.get_device() == "cpu":  # which lacks this one
        return p.repeat_interleave(x.astype("int32"), 3, axis).astype("bool")
    return p.repeat_interleave(x, 3, axis)


def _unstacked(p: Any, x: Any, axis: int) -> Any:
    """Return the parts in one, last one first: Paddle's gradient crashes where one of them has none."""
    if x.dtype == p.bool and p.device.get_device() == "cpu":  # which lacks this one
        return _unstacked(p, x.astype("int32"), axis).astype("bool")
    return p.stack(p.unstack(x, axis)[::-1])


def _fill_a_view(p: Any, x: Any) -> Any:
    copy = p.assign(x)
    copy[1:, ::2].fill_(3)
    return copy


def _slices() -> Iterator[Case]:
    """Yield what dygraph does by views, with Paddle's views off, as in a static graph."""
    no_views = (("FLAGS_use_stride_kernel", False),)
    slice_two = lambda p, x: p.slice(x, [0, 2], [1, -3], [9, -1])  # noqa: E731
    yield Case("slice", ("slice",), slice_two, (n(3, 2, 5),), EVERY, flags=no_views)
    yield Case(
        "slice grad", ("slice", "slice_grad"), slice_two, (n(3, 2, 5),), FLOATS + HALVES, gradient=True, flags=no_views
    )
    yield Case(
        "slice one", ("slice", "slice_grad"), lambda p, x: x[:, 1], (n(3, 2, 5),), FLOATS + HALVES, True, flags=no_views
    )
    yield Case("slice empty", ("slice",), lambda p, x: x[2:2], (n(3, 2),), EVERY, flags=no_views)
    yield Case("slice of nothing", ("slice",), lambda p, x: x[:, 1:], (n(0, 2),), EVERY, flags=no_views)
