"""Sums, means, extremes, and searches along an axis."""

from __future__ import annotations

from collections.abc import Iterator

from tablerec.devices.cases.case import BOOL, FLOATS, INTEGERS, NUMBERS, Call, Case, n


def cases() -> Iterator[Case]:
    """Yield the cases."""
    shapes = (
        (n(2, 3, 4), [1]),
        (n(2, 3, 4), [0, 2]),
        (n(2, 3, 4), None),
        (n(), None),
        (n(0, 3), [0]),
        (n(3, 4100), [1]),
        (n(9000), None),
    )
    for x, axes in shapes:
        for keep in (False, True):
            where = f"{x.shape} {axes} {keep}"
            call: Call = lambda p, x, a=axes, k=keep: p.sum(x, a, keepdim=k)  # noqa: E731
            yield Case(f"sum {where}", ("sum", "sum_grad"), call, (x,), FLOATS, True, 20)
            yield Case(f"sum int {where}", ("sum",), call, (x,), INTEGERS + BOOL)
            if 0 in x.shape:
                continue
            for name in ("mean", "max", "min", "prod"):
                call = lambda p, x, name=name, a=axes, k=keep: getattr(p, name)(x, a, keepdim=k)  # noqa: E731
                reached = (name, f"{name}_grad") if name == "mean" else (name,)
                near_one = n(*x.shape, low=0.9, high=1.1) if name == "prod" else x
                yield Case(f"{name} {where}", reached, call, (near_one,), FLOATS, name == "mean", 20)
        for name in ("all", "any"):
            call = lambda p, x, name=name, a=axes: getattr(p, name)(x, a)  # noqa: E731
            yield Case(f"{name} {x.shape} {axes}", (name,), call, (x,), BOOL)
    yield Case(
        "mean_all", ("mean_all", "mean_all_grad"), lambda p, x: p._C_ops.mean_all(x), (n(70, 90),), FLOATS, True, 20
    )
    yield Case("mean keep", ("mean", "mean_grad"), lambda p, x: p.mean(x, [0], True), (n(4, 3),), FLOATS, True)
    yield Case(
        "squared_l2_norm",
        ("squared_l2_norm",),
        lambda p, x: p._C_ops.squared_l2_norm(x),
        (n(70, 90),),
        FLOATS,
        False,
        20,
    )
    for x, axis in ((n(4, 70), 1), (n(4, 5, 6), 1), (n(7), None)):
        yield Case(f"argmax {x.shape}", ("argmax",), lambda p, x, a=axis: p.argmax(x, a), (x,), NUMBERS)
        yield Case(f"argmin {x.shape}", ("argmin",), lambda p, x, a=axis: p.argmin(x, a), (x,), NUMBERS)
    for shape, axis in (((4, 70), 1), ((4, 5, 6), 1)):
        yield Case(f"topk {shape}", ("topk",), lambda p, x, a=axis: p.topk(x, 3, a), (n(*shape),), FLOATS)
        yield Case(
            f"topk smallest {shape}", ("topk",), lambda p, x, a=axis: p.topk(x, 3, a, False), (n(*shape),), FLOATS
        )
        yield Case(f"argsort {shape}", ("argsort",), lambda p, x, a=axis: p.argsort(x, a), (n(*shape),), FLOATS)
        yield Case(f"sort {shape}", ("argsort",), lambda p, x, a=axis: p.sort(x, a, True), (n(*shape),), FLOATS)
        yield Case(f"cumsum {shape}", ("cumsum",), lambda p, x, a=axis: p.cumsum(x, a), (n(*shape),), NUMBERS, False, 4)
