"""Pooling, resizing, sampling on a grid."""

from __future__ import annotations

from collections.abc import Iterator

from tablerec.devices.cases.case import FLOATS, HALVES, INTEGERS, Call, Case, Options, n


def cases() -> Iterator[Case]:
    """Yield the cases."""
    yield from _pools()
    yield from _resizes()
    for mode in ("bilinear", "nearest"):
        for padding in ("zeros", "border"):
            for align in (True, False):
                call: Call = lambda p, x, g, m=mode, b=padding, a=align: p.nn.functional.grid_sample(x, g, m, b, a)  # noqa: E731
                given = n(2, 3, 9, 8), n(2, 4, 5, 2, low=-1.3, high=1.3)
                reached = ("grid_sample", "grid_sample_grad")
                yield Case(f"grid_sample {mode} {padding} {align}", reached, call, given, FLOATS + HALVES, True, 50, 4)


def _pools() -> Iterator[Case]:
    x = n(2, 3, 9, 8)
    windows: Options = (
        {"kernel_size": 2},
        {"kernel_size": 3, "stride": 2, "padding": 1},
        {"kernel_size": 3, "stride": 1},
        {"kernel_size": 5, "stride": 1, "padding": 2},
        {"kernel_size": 3, "stride": 2, "padding": 1, "ceil_mode": True},
    )
    reached = ("pool2d", "pool2d_grad")
    # The CPU's averages are in float32 also where the tensor is not.
    averaged = ("float32", *HALVES)
    for kind in ("max", "avg"):
        for options in windows:
            call: Call = lambda p, x, k=kind, o=options: getattr(p.nn.functional, f"{k}_pool2d")(x, **o)  # noqa: E731
            dtypes = FLOATS + HALVES if kind == "max" else averaged
            yield Case(f"{kind}_pool2d {options}", reached, call, (x,), dtypes, True, 4, 2)
    # Few different numbers: of equal ones the first is the maximum.
    call = lambda p, x: p.nn.functional.max_pool2d(p.nn.functional.relu(x), 3, 2, 1)  # noqa: E731
    yield Case("max_pool2d ties", reached, call, (n(2, 3, 9, 8, high=0.5),), FLOATS + HALVES, True, 4, 2)
    for size in (1, 4):
        call = lambda p, x, s=size: p.nn.functional.adaptive_avg_pool2d(x, s)  # noqa: E731
        yield Case(f"adaptive_avg_pool2d {size}", reached, call, (x,), averaged, True, 4, 2)
    call = lambda p, x: p.nn.functional.adaptive_avg_pool2d(x, 1)  # noqa: E731
    yield Case("global average", reached, call, (n(2, 3, 60, 70),), averaged, True, 20, 2)
    call = lambda p, x: p.nn.functional.avg_pool2d(x, 3, 2, 1, exclusive=False)  # noqa: E731
    yield Case("avg_pool2d inclusive", reached, call, (x,), averaged, True, 4, 2)
    last = n(2, 9, 8, 3)
    call = lambda p, x: p.nn.functional.max_pool2d(x, 3, 2, 1, data_format="NHWC")  # noqa: E731
    yield Case("max_pool2d NHWC", reached, call, (last,), FLOATS + HALVES, True, 4, 2)
    call = lambda p, x: p.nn.functional.avg_pool2d(x, 2, 2, data_format="NHWC")  # noqa: E731
    yield Case("avg_pool2d NHWC", reached, call, (last,), averaged, True, 4, 2)
    reached = ("max_pool2d_with_index", "max_pool2d_with_index_grad")
    for options in windows[:3]:
        # The gradient of an index means nothing: it is taken of the values alone.
        call = lambda p, x, o=options: p.nn.functional.max_pool2d(x, return_mask=True, **o)[0]  # noqa: E731
        yield Case(f"max_pool2d_with_index {options}", reached, call, (x,), FLOATS + HALVES, True, 4, 2)
        call = lambda p, x, o=options: p.nn.functional.max_pool2d(x, return_mask=True, **o)  # noqa: E731
        yield Case(f"max_pool2d_with_index both {options}", reached[:1], call, (x,), FLOATS + HALVES)
    for size in (1, 4):
        call = lambda p, x, s=size: p.nn.functional.adaptive_max_pool2d(x, s)  # noqa: E731
        yield Case(f"adaptive_max_pool2d {size}", reached, call, (x,), FLOATS + HALVES, True, 4, 2)


def _resizes() -> Iterator[Case]:
    x = n(2, 3, 9, 8)
    options: Options = (
        {"scale_factor": 2},
        {"scale_factor": 1.5},
        {"scale_factor": 0.5},
        {"size": [5, 13]},
        {"size": [1, 8]},
    )
    ways: Options = (
        {"mode": "nearest"},
        {"mode": "bilinear"},
        {"mode": "bilinear", "align_mode": 1},
        {"mode": "bilinear", "align_corners": True},
    )
    for way in ways:
        name = f"{way['mode']}_interp"
        reached = (name, f"{name}_grad")
        for option in options:
            call: Call = lambda p, x, o=option, w=way: p.nn.functional.interpolate(x, **w, **o)  # noqa: E731
            # The CPU's places of rows are rounded otherwise forward than backward.
            uneven = way == {"mode": "bilinear"} and option in ({"scale_factor": 1.5}, {"size": [5, 13]})
            dtypes = ("float32", *HALVES) if uneven else FLOATS + HALVES
            yield Case(f"{name} {way} {option}", reached, call, (x,), dtypes, True, 20, 2)
    for mode in ("nearest", "bilinear"):
        name = f"{mode}_interp"
        reached = (name, f"{name}_grad")
        call = lambda p, x, m=mode: p.nn.functional.interpolate(x, p.to_tensor([5, 13]), mode=m)  # noqa: E731
        yield Case(f"{name} size of a tensor", reached, call, (x,), ("float32",), True, 20)
        call = lambda p, x, m=mode: p.nn.functional.interpolate(x, list(p.shape(x)[2:] * 2), mode=m)  # noqa: E731
        yield Case(f"{name} size of tensors", reached, call, (x,), FLOATS, True, 20)
    call = lambda p, x: p.nn.functional.interpolate(x, scale_factor=2, mode="nearest")  # noqa: E731
    yield Case("nearest_interp int", ("nearest_interp",), call, (x,), INTEGERS)
    call = lambda p, x: p._C_ops.nearest_interp(x, None, None, None, "NCHW", 0, 5, 13, [], "nearest", True, 1)  # noqa: E731
    yield Case("nearest_interp corners", ("nearest_interp", "nearest_interp_grad"), call, (x,), FLOATS, True, 4)
