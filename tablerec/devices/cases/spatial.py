"""Pooling, resizing, sampling on a grid."""

from __future__ import annotations

from collections.abc import Iterator

from tablerec.devices.cases.case import FLOATS, Call, Case, Options, n


def cases() -> Iterator[Case]:
    """Yield the cases."""
    x = n(2, 3, 9, 8)
    windows: Options = (
        {"kernel_size": 2},
        {"kernel_size": 3, "stride": 2, "padding": 1},
        {"kernel_size": 3, "stride": 1},
    )
    for kind in ("max", "avg"):
        for options in windows:
            call: Call = lambda p, x, k=kind, o=options: getattr(p.nn.functional, f"{k}_pool2d")(x, **o)  # noqa: E731
            # The CPU's averages are in float32 also where the tensor is not.
            dtypes = FLOATS if kind == "max" else ("float32",)
            yield Case(f"{kind}_pool2d {options}", ("pool2d", "pool2d_grad"), call, (x,), dtypes, True, 4)
    for size in (1, 4):
        call = lambda p, x, s=size: p.nn.functional.adaptive_avg_pool2d(x, s)  # noqa: E731
        yield Case(f"adaptive_avg_pool2d {size}", ("pool2d", "pool2d_grad"), call, (x,), ("float32",), True, 4)
    inclusive = lambda p, x: p.nn.functional.avg_pool2d(x, 3, 2, 1, exclusive=False)  # noqa: E731
    yield Case("avg_pool2d inclusive", ("pool2d", "pool2d_grad"), inclusive, (x,), ("float32",), True, 4)
    sizes: Options = ({"scale_factor": 2}, {"scale_factor": 1.5}, {"size": [5, 13]})
    for options in sizes:
        call = lambda p, x, o=options: p.nn.functional.interpolate(x, mode="nearest", **o)  # noqa: E731
        yield Case(f"nearest_interp {options}", ("nearest_interp", "nearest_interp_grad"), call, (x,), FLOATS, True)
    grid = n(2, 4, 5, 2, low=-1.3, high=1.3)
    for align in (True, False):
        call = lambda p, x, g, a=align: p.nn.functional.grid_sample(x, g, align_corners=a)  # noqa: E731
        yield Case(f"grid_sample {align}", ("grid_sample", "grid_sample_grad"), call, (x, grid), FLOATS, True, 50)
