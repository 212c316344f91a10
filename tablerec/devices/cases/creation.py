"""Operators that create: constants, ranges, random numbers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tablerec.devices.cases.case import BOOL, EVERY, FLOATS, HALVES, INTEGERS, NUMBERS, Call, Case, n


def cases() -> Iterator[Case]:
    """Yield the cases."""
    numbers = NUMBERS + HALVES
    yield Case("full", ("full",), lambda p, x: p.full([2, 3], 2, x.dtype), (n(1),), EVERY)
    yield Case("full_like", ("full_like",), lambda p, x: p.full_like(x, 1), (n(2, 3),), EVERY)
    yield Case("full_like empty", ("full_like",), lambda p, x: p.full_like(x, 1), (n(2, 0, 3),), EVERY)
    yield Case("arange_tensor", ("arange_tensor",), lambda p, x: p.arange(1, 9, 3, x.dtype), (n(1),), numbers)
    for first, last, step in ((0, 7, 1), (5, -4, -2), (3, 3, 1)):
        numbered: Call = lambda p, x, b=(first, last, step): _numbered(p, x, *b)  # noqa: E731
        yield Case(f"arange {first} {last} {step}", ("arange",), numbered, (n(1),), numbers)
    for count in (1, 7, 10):
        linspace: Call = lambda p, x, count=count: p.linspace(-1, 3, count, x.dtype)  # noqa: E731
        yield Case(f"linspace {count}", ("linspace",), linspace, (n(1),), numbers, tolerance=2)
    yield Case("eye", ("eye",), lambda p, x: p.eye(3, 5, x.dtype), (n(1),), numbers)
    for values in ([3.0], [3.0, 0.0, 2.0]):
        assigned: Call = lambda p, x, values=values: p._C_ops.assign_value_(  # noqa: E731
            p.zeros([len(values)], x.dtype), [len(values)], x.dtype, values, x.place
        )
        yield Case(f"assign_value {len(values)}", ("assign_value",), assigned, (n(1),), numbers + BOOL)
    yield Case("one_hot", ("one_hot",), lambda p, x: p.nn.functional.one_hot(x, 5), (n(3, 4, low=0, high=5),), INTEGERS)
    yield from _random()


def _numbered(p: Any, x: Any, first: int, last: int, step: int) -> Any:
    """Count in a static graph, where Paddle asks for another kernel than in dygraph."""

    def count(x: Any) -> Any:
        return p.arange(first, last, step, x.dtype)

    return p.jit.to_static(count, full_graph=True)(x)


def _random() -> Iterator[Case]:
    """Yield random numbers, as far as both devices must agree: their range, or nothing left after an identity."""
    real = FLOATS + HALVES

    def within(p: Any, x: Any, low: float, high: float) -> Any:
        return p.cast(p.logical_and(x >= low, x <= high), "int32")

    yield Case("randint", ("randint",), lambda p, x: within(p, p.randint(2, 7, [40], x.dtype), 2, 6), (n(1),), INTEGERS)
    order: Call = lambda p, x: p.sort(p.randperm(20, x.dtype))  # noqa: E731
    yield Case("randperm", ("randperm",), order, (n(1),), INTEGERS)
    yield Case("bernoulli", ("bernoulli",), lambda p, x: p.bernoulli(x), (n(40, low=1, high=1),), real)
    yield from _multinomial()
    truncated: Call = lambda p, x: within(  # noqa: E731
        p, p._C_ops.truncated_gaussian_random([60], 1.0, 2.0, 0, -1.0, 0.5, x.dtype, x.place), -1.0, 2.0
    )
    yield Case("truncated_gaussian_random", ("truncated_gaussian_random",), truncated, (n(1),), real)
    uniform: Call = lambda p, x: within(p, p.assign(x).uniform_(0.25, 0.75), 0.25, 0.75)  # noqa: E731
    yield Case("uniform_inplace", ("uniform_inplace",), uniform, (n(60),), real)
    drawn: Call = lambda p, x: within(p, p.uniform([60], x.dtype, 0.25, 0.75), 0.25, 0.75)  # noqa: E731
    yield Case("uniform", ("uniform",), drawn, (n(1),), real)
    normal: Call = lambda p, x: within(p, p._C_ops.gaussian([60], 1.0, 2.0, 0, x.dtype, x.place), -19, 21)  # noqa: E731
    yield Case("gaussian", ("gaussian",), normal, (n(1),), real)

    def nothing_left(p: Any, x: Any) -> Any:
        kept = p.nn.functional.dropout(x, 0.5)
        return kept * (kept - 2 * x)

    yield Case("dropout", ("dropout", "dropout_grad"), nothing_left, (n(9, 50),), real, True)
    for mode in ("upscale_in_train", "downscale_in_infer"):
        tested: Call = lambda p, x, mode=mode: p.nn.functional.dropout(x, 0.4, training=False, mode=mode)  # noqa: E731
        reached = ("dropout", "dropout_grad") if mode == "downscale_in_infer" else ()
        yield Case(f"dropout {mode} test", reached, tested, (n(7, 3),), FLOATS, True)


def _multinomial() -> Iterator[Case]:
    """Yield draws that are certain, all classes in some order, and how often each class comes."""
    real, reached = FLOATS + HALVES, ("multinomial",)
    one = n(3, 40, low=0, high=1)

    def certain(p: Any, x: Any) -> Any:
        return p.multinomial((x == x.max(-1, keepdim=True)).astype(x.dtype), 2, True) - x.argmax(-1, keepdim=True)

    def whole(p: Any, x: Any) -> Any:
        return p.sort(p.multinomial(x + 0.1, x.shape[-1]), -1)

    def often(p: Any, x: Any) -> Any:
        share = (
            (p.multinomial(p.assign(p.to_tensor([1.0, 0.0, 3.0], x.dtype)), 4000, True) / 2).astype("float32").mean()
        )
        return p.cast(p.abs(share - 0.75) < 0.05, "int32")

    yield Case("multinomial, certain", reached, certain, (one,), real)
    yield Case("multinomial, all", reached, whole, (one,), real)
    yield Case("multinomial, often", reached, often, (n(1),), real)
