"""What dygraph does by views, with Paddle's views off, as in a static graph."""

from __future__ import annotations

from collections.abc import Iterator

from tablerec.devices.cases.case import EVERY, FLOATS, HALVES, Case, n


def cases() -> Iterator[Case]:
    """Yield the cases."""
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
