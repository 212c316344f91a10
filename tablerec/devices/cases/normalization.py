"""Batch norm, layer norm, softmax."""

from __future__ import annotations

from collections.abc import Iterator

from tablerec.devices.cases.case import FLOATS, Call, Case, n


def cases() -> Iterator[Case]:
    """Yield the cases."""
    stats = n(3), n(3, low=0.5), n(3), n(3)
    for shape in ((4, 3, 5, 6), (2, 3, 90, 70), (6, 3)):
        norm: Call = lambda p, x, m, v, s, b: p.nn.functional.batch_norm(x, m, v, s, b, training=True)  # noqa: E731
        yield Case(
            f"batch_norm {shape}", ("batch_norm", "batch_norm_grad"), norm, (n(*shape), *stats), ("float32",), True, 50
        )
        given: Call = lambda p, x, m, v, s, b: p.nn.functional.batch_norm(x, m, v, s, b)  # noqa: E731
        yield Case(
            f"batch_norm given {shape}",
            ("batch_norm", "batch_norm_grad"),
            given,
            (n(*shape), *stats),
            ("float32",),
            True,
            50,
        )
    for x, w in ((n(4, 70), n(70)), (n(2, 3, 5), n(5))):
        norm = lambda p, x, w, b: p.nn.functional.layer_norm(x, w.shape, w, b)  # noqa: E731
        yield Case(f"layer_norm {x.shape}", ("layer_norm", "layer_norm_grad"), norm, (x, w, w), FLOATS, True, 20)
    for x, axis in ((n(4, 70), 1), (n(2, 5, 3), 1), (n(0, 4), 1)):
        call: Call = lambda p, x, a=axis: p._C_ops.softmax(x, a)  # noqa: E731
        yield Case(f"softmax {x.shape}", ("softmax", "softmax_grad"), call, (x,), FLOATS, True, 4)
