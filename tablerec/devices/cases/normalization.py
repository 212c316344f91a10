"""Batch norm, group norm, instance norm, layer norm, softmax."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tablerec.devices.cases.case import FLOATS, HALVES, Call, Case, n

_TYPES = FLOATS + HALVES
_FLOAT32 = ("float32", *HALVES)


def cases() -> Iterator[Case]:
    """Yield the cases."""
    yield from _batch_norm()
    yield from _group_norm()
    yield from _layer_norm()
    yield from _rms_norm()
    yield from _softmax()
    yield from _causal_softmax()


def _batch_norm() -> Iterator[Case]:
    stats = tuple(n(3, low=low, dtype="float32") for low in (-2.0, 0.5, -2.0, -2.0))
    reached = ("batch_norm", "batch_norm_grad")
    # Planes that hold packs of 8, of 4, of 2 and of 1; several teams to a channel; images without planes.
    for shape in ((4, 3, 5, 6), (2, 3, 6, 6), (2, 3, 90, 70), (2, 3, 64, 64), (6, 3), (5, 3, 8)):
        trained: Call = lambda p, x, m, v, s, b: p.nn.functional.batch_norm(x, m, v, s, b, training=True)  # noqa: E731
        yield Case(f"batch_norm {shape}", reached, trained, (n(*shape), *stats), _FLOAT32, True, 50, 8)
        own = tuple(n(*given.shape, low=given.low) for given in stats)
        yield Case(f"batch_norm float64 {shape}", reached, trained, (n(*shape), *own), ("float64",), True, 50)
        given: Call = lambda p, x, m, v, s, b: p.nn.functional.batch_norm(x, m, v, s, b)  # noqa: E731
        yield Case(f"batch_norm given {shape}", reached, given, (n(*shape), *stats), _FLOAT32, True, 50, 8)
    kept: Call = lambda p, x, m, v, s, b: (p.nn.functional.batch_norm(x, m, v, s, b, training=True), m, v)[1:]  # noqa: E731
    yield Case("batch_norm, running statistics", reached[:1], kept, (n(4, 3, 5, 6), *stats), _FLOAT32, False, 10)
    large = n(4, 3, 16, 16, low=99.0, high=101.0)
    yield Case("batch_norm, large mean", reached[:1], trained, (large, *stats), ("float32",), False, 50)


def _group_norm() -> Iterator[Case]:
    reached = ("group_norm", "group_norm_grad")
    for shape, groups in (((2, 6, 5, 7), 3), ((2, 6, 4, 4), 2), ((2, 4, 48, 48), 2), ((3, 4), 2)):
        norm: Call = lambda p, x, w, b, g=groups: p.nn.functional.group_norm(x, g, 1e-5, w, b)  # noqa: E731
        inputs = n(*shape), n(shape[1]), n(shape[1])
        yield Case(f"group_norm {shape}", reached, norm, inputs, _TYPES, True, 50, 8)
    bare: Call = lambda p, x: p.nn.functional.group_norm(x, 3)  # noqa: E731
    # Forward only: without a scale the CPU's gradient is wrong (Paddle 3.3.1), as one with a scale of ones shows.
    yield Case("group_norm, no scale", reached[:1], bare, (n(2, 6, 5, 7),), _TYPES, False, 50, 8)
    norm = lambda p, x, w, b: p.nn.functional.instance_norm(x, weight=w, bias=b)  # noqa: E731
    reached = ("instance_norm", "instance_norm_grad")
    yield Case("instance_norm", reached, norm, (n(2, 3, 5, 7), n(3), n(3)), _TYPES, True, 50, 8)


def _layer_norm() -> Iterator[Case]:
    reached = ("layer_norm", "layer_norm_grad")
    for x, w in ((n(4, 70), n(70)), (n(2, 3, 5), n(5)), (n(70, 33), n(33)), (n(0, 5), n(5))):
        norm: Call = lambda p, x, w, b: p.nn.functional.layer_norm(x, w.shape, w, b)  # noqa: E731
        yield Case(f"layer_norm {x.shape}", reached, norm, (x, w, w), _TYPES, True, 20, 8)
    bare: Call = lambda p, x: p.nn.functional.layer_norm(x, [5])  # noqa: E731
    yield Case("layer_norm, no scale", reached, bare, (n(2, 3, 5),), _TYPES, True, 20, 8)
    mixed: Call = lambda p, x, w, b: p.nn.functional.layer_norm(x, w.shape, w, b)  # noqa: E731
    floats = n(70, dtype="float32"), n(70, dtype="float32")
    yield Case("layer_norm, float32 scale", reached, mixed, (n(4, 70), *floats), _FLOAT32, True, 20, 8)


def _rms_norm() -> Iterator[Case]:
    # On the CPU in single operators, as these are kernels of GPUs alone.
    def norm(p: Any, x: Any, w: Any) -> Any:
        if p.device.get_device() == "cpu":
            return _by_squares(p, x, w.ndim) * w.astype(x.dtype)
        return p._C_ops.rms_norm(x, w, w.shape, 1e-5)[0]

    def bare(p: Any, x: Any) -> Any:
        return _by_squares(p, x, 1) if p.device.get_device() == "cpu" else p._C_ops.rms_norm(x, None, [5], 1e-5)[0]

    def fused(p: Any, x: Any, w: Any) -> Any:
        if p.device.get_device() == "cpu":
            return norm(p, x, w)
        return p.incubate.nn.functional.fused_rms_norm_ext(x, w, 1e-5)[0]

    reached = ("rms_norm", "rms_norm_grad")
    for x, w in ((n(4, 70), n(70)), (n(2, 3, 5), n(5)), (n(70, 33), n(33)), (n(2, 3, 4, 5), n(4, 5)), (n(0, 5), n(5))):
        yield Case(f"rms_norm {x.shape}", reached, norm, (x, w), _TYPES, True, 20, 8)
        if len(w.shape) == 1:
            fused_reached = ("fused_rms_norm_ext", "fused_rms_norm_ext_grad")
            yield Case(f"fused_rms_norm_ext {x.shape}", fused_reached, fused, (x, w), _FLOAT32, True, 20, 8)
    yield Case("rms_norm, no scale", reached, bare, (n(2, 3, 5),), _TYPES, True, 20, 8)
    float_scale = n(70, dtype="float32")
    yield Case("rms_norm, float32 scale", reached, norm, (n(4, 70), float_scale), _FLOAT32, True, 20, 8)


def _by_squares(p: Any, x: Any, dimensions: int) -> Any:
    axes = list(range(x.ndim - dimensions, x.ndim))
    return x * p.rsqrt((x * x).mean(axes, keepdim=True) + 1e-5)


def _causal_softmax() -> Iterator[Case]:
    # On the CPU, where Paddle's refuses, by a mask.
    def causal(p: Any, x: Any) -> Any:
        if p.device.get_device() != "cpu":
            return p.incubate.softmax_mask_fuse_upper_triangle(x)
        mask = p.triu(p.full(x.shape[-2:], -1e30, x.dtype), 1)
        return p.nn.functional.softmax(x + mask)

    reached = ("fused_softmax_mask_upper_triangle", "fused_softmax_mask_upper_triangle_grad")
    for shape in ((2, 3, 5, 5), (1, 2, 40, 40), (1, 1, 1, 1), (0, 2, 4, 4)):
        yield Case(f"causal softmax {shape}", reached, causal, (n(*shape),), _TYPES, True, 4, 4)


def _softmax() -> Iterator[Case]:
    for name in ("softmax", "log_softmax"):
        # Short rows, long rows, and rows that lie side by side.
        for x, axis in ((n(4, 70), 1), (n(3, 9), 1), (n(2, 5, 3), 1), (n(2, 20, 9), 1), (n(2, 1500), -1), (n(0, 4), 1)):
            call: Call = lambda p, x, a=axis, f=name: getattr(p._C_ops, f)(x, a)  # noqa: E731
            yield Case(f"{name} {x.shape}", (name, f"{name}_grad"), call, (x,), _TYPES, True, 4, 4)
