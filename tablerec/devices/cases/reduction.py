"""Sums, means, extremes, and searches along an axis."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tablerec.devices.cases.case import BOOL, FLOATS, HALVES, INTEGERS, NUMBERS, Call, Case, Input, n

_WITH_GRADIENT = ("mean", "max", "min", "amax", "amin", "prod", "logsumexp")


def cases() -> Iterator[Case]:
    """Yield the cases."""
    floats = FLOATS + HALVES
    # By what is contiguous: rows, columns, everything, in one go and in pieces.
    shapes: tuple[tuple[Input, Any], ...] = (
        (n(2, 3, 4), [1]),
        (n(2, 3, 4), [0, 2]),
        (n(2, 3, 4), None),
        (n(), None),
        (n(0, 3), [0]),
        (n(3, 4100), [1]),
        (n(9000), None),
        (n(2, 5, 3, 40), [0, 2, 3]),
        (n(2, 5, 3, 40), [1]),
        (n(600, 70), [0]),
        (n(3, 50, 2, 9), [1, 2]),
        (n(4, 3, 5, 2, 11), [0, 2, 4]),
    )
    for x, axes in shapes:
        for keep in (False, True):
            where = f"{x.shape} {axes} {keep}"
            call: Call = lambda p, x, a=axes, k=keep: p.sum(x, a, keepdim=k)  # noqa: E731
            yield Case(f"sum {where}", ("sum", "sum_grad"), call, (x,), floats, True, 20)
            yield Case(f"sum int {where}", ("sum",), call, (x,), INTEGERS + BOOL)
            if 0 in x.shape:
                continue
            for name in _WITH_GRADIENT:
                if name == "logsumexp" and len(x.shape) > 4:
                    continue  # Paddle refuses it
                call = lambda p, x, name=name, a=axes, k=keep: getattr(p, name)(x, a, keepdim=k)  # noqa: E731
                near_one = n(*x.shape, low=0.9, high=1.1) if name == "prod" else x
                # The CPU's product of many rounded numbers leaves the range of half precision.
                dtypes: tuple[str, ...] = FLOATS if name == "prod" and x.shape == (9000,) else floats
                # Beyond four dimensions the CPU's gradients of an extreme are what lay in memory.
                backward = len(x.shape) <= 4 or name == "mean"
                reached = (name, f"{name}_grad") if backward else (name,)
                yield Case(f"{name} {where}", reached, call, (near_one,), dtypes, backward, 20, 4)
            for name in ("max", "min"):
                call = lambda p, x, name=name, a=axes, k=keep: getattr(p, name)(x, a, keepdim=k)  # noqa: E731
                yield Case(f"{name} int {where}", (name,), call, (x,), INTEGERS)
        for name in ("all", "any"):
            call = lambda p, x, name=name, a=axes: getattr(p, name)(x, a)  # noqa: E731
            yield Case(f"{name} {x.shape} {axes}", (name,), call, (x,), BOOL)
    for name in ("all", "any"):
        call = lambda p, x, name=name: getattr(p._C_ops, name)(x, [1], False)  # noqa: E731
        yield Case(f"{name} of numbers", (name,), call, (n(9, 3, low=0, high=2),), INTEGERS + FLOATS)
    yield Case("prod int", ("prod",), lambda p, x: p.prod(x, 1), (n(4, 5, low=1, high=4),), INTEGERS)
    for target in ("float32", "float64", "int64"):
        call = lambda p, x, target=target: p.sum(x, 1, dtype=target)  # noqa: E731
        dtypes = INTEGERS + BOOL + ("float32",) if target != "int64" else INTEGERS + BOOL
        yield Case(f"sum into {target}", ("sum",), call, (n(4, 50),), dtypes, False, 20)
    yield Case(
        "mean_all", ("mean_all", "mean_all_grad"), lambda p, x: p._C_ops.mean_all(x), (n(70, 90),), floats, True, 20
    )
    squares: Call = lambda p, x: p._C_ops.squared_l2_norm(x)  # noqa: E731
    yield Case("squared_l2_norm", ("squared_l2_norm",), squares, (n(70, 90),), floats, False, 20)
    yield Case(
        "squared_l2_norm_grad", ("squared_l2_norm", "squared_l2_norm_grad"), squares, (n(7, 9),), floats, True, 20
    )
    for order in (2.0, 1.0, 3.0, float("inf")):
        for axis in (None, 1, -1):
            call = lambda p, x, o=order, a=axis: p._C_ops.p_norm(x, o, -1 if a is None else a, 1e-12, False, a is None)  # noqa: E731
            # The CPU takes a third in single precision.
            dtypes = ("float32", *HALVES) if order == 3 else floats
            yield Case(f"p_norm {order} {axis}", ("p_norm", "p_norm_grad"), call, (n(4, 30, 5),), dtypes, True, 20, 4)
    for name in ("max", "min", "amax", "amin"):
        # Few different numbers: the gradient is shared by those that are equal.
        ties: Call = lambda p, x, name=name: _gradient_of(p, p.floor(x), name)  # noqa: E731
        yield Case(f"{name} ties", (name, f"{name}_grad"), ties, (n(6, 50),), ("float32",))
        nan: Call = lambda p, x, name=name: _is_nan(getattr(p, name)(p.sqrt(x), 1))  # noqa: E731
        yield Case(f"{name} of what is not a number", (name,), nan, (n(6, 50, low=-0.1),), FLOATS)
    for x, axis in ((n(4, 70), 1), (n(4, 5, 6), 1), (n(7), None), (n(70, 9), 0), (n(9000), None)):
        for name in ("argmax", "argmin"):
            call = lambda p, x, name=name, a=axis: getattr(p, name)(x, a)  # noqa: E731
            yield Case(f"{name} {x.shape}", (name,), call, (x,), NUMBERS + HALVES)
    call = lambda p, x: p.argmax(x, 1, dtype="int32")  # noqa: E731
    yield Case("argmax int32", ("argmax",), call, (n(4, 70),), NUMBERS)
    scanned = (
        ((4, 70), 1),
        ((4, 5, 6), 1),
        ((300, 20), 0),
        ((70, 100, 80), 1),
        ((9000,), 0),
        ((2, 5000), 1),
        ((0, 3), 1),
    )
    for shape, axis in scanned:
        call = lambda p, x, a=axis: p.cumsum(x, a)  # noqa: E731
        yield Case(f"cumsum {shape}", ("cumsum",), call, (n(*shape),), NUMBERS, False, 60)
        yield Case(f"cumsum_grad {shape}", ("cumsum", "cumsum_grad"), call, (n(*shape),), floats, True, 60)
    for exclusive, reverse in ((True, False), (False, True), (True, True)):
        call = lambda p, x, e=exclusive, r=reverse: p._C_ops.cumsum(x, 1, False, e, r)  # noqa: E731
        where = f"exclusive {exclusive}, reverse {reverse}"
        yield Case(f"cumsum {where}", ("cumsum", "cumsum_grad"), call, (n(3, 5000),), floats, True, 60)
    flat: Call = lambda p, x: p.cumsum(x)  # noqa: E731
    yield Case("cumsum of all", ("cumsum", "cumsum_grad"), flat, (n(3, 50),), floats, True, 20)


def _is_nan(value: Any) -> Any:
    return value != value


def _gradient_of(p: Any, x: Any, name: str) -> Any:
    given = x.detach()
    given.stop_gradient = False
    return p.grad([getattr(p, name)(given, 1).sum()], [given])
