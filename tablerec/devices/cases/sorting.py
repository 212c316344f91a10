"""Sorting and what follows from it: ties, what is not a number, long rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tablerec.devices.cases.case import FLOATS, HALVES, INTEGERS, NUMBERS, Call, Case, n


def cases() -> Iterator[Case]:
    """Yield the cases."""
    every = NUMBERS + HALVES
    shapes = (((4, 70), 1), ((4, 5, 6), 1), ((600, 3), 0), ((57600,), 0), ((3, 8400), 1), ((2, 0), 1))
    for shape, axis in shapes:
        few = min(3, shape[axis]) if shape[axis] < 1000 else 300
        for down in (True, False):
            where = f"{shape} {'down' if down else 'up'}"
            # The CPU breaks ties anyhow: values and what the indices lead to.
            call: Call = lambda p, x, a=axis, d=down, k=few: _values(p, x, p.topk(x, k, a, d), a)  # noqa: E731
            if few:
                yield Case(f"topk {where}", ("topk",), call, (n(*shape, low=-90, high=90),), every)
                call = lambda p, x, a=axis, d=down, k=few: p.topk(x, k, a, d)[0]  # noqa: E731
                yield Case(f"topk_grad {where}", ("topk", "topk_grad"), call, (n(*shape),), ("float64",), True)
            # Many ties: the smaller index first.
            call = lambda p, x, a=axis, d=down: p.argsort(x, a, d, True)  # noqa: E731
            yield Case(f"argsort {where}", ("argsort",), call, (n(*shape, low=-9, high=9),), every)
            call = lambda p, x, a=axis, d=down: p.sort(x, a, d, True)  # noqa: E731
            yield Case(f"sort {where}", ("argsort", "argsort_grad"), call, (n(*shape),), FLOATS, True)
    small = n(4, 3)
    yield Case("topk_grad", ("topk", "topk_grad"), lambda p, x: p.topk(x, 2, 1)[0], (small,), FLOATS + HALVES, True)
    yield Case("sort half", ("argsort", "argsort_grad"), lambda p, x: p.sort(x, 1), (small,), HALVES, True)
    yield Case("topk 1500", ("topk",), lambda p, x: p.topk(x, 1500)[0], (n(2, 57600),), ("float32",))
    for down in (True, False):
        # The square root of a negative number is not a number; 0 and -0 are one.
        call = lambda p, x, d=down: p.argsort(p.sqrt(x), 1, d, True)  # noqa: E731
        yield Case(f"argsort of what is not a number {down}", ("argsort",), call, (n(5, 60),), FLOATS)
        call = lambda p, x, d=down: _is_nan(p.topk(p.sqrt(x), 40, 1, d)[0])  # noqa: E731
        yield Case(f"topk of what is not a number {down}", ("topk",), call, (n(5, 60),), FLOATS)
        call = lambda p, x, d=down: p.argsort(x * 0.0, 1, d, True)  # noqa: E731
        yield Case(f"argsort of zeros {down}", ("argsort",), call, (n(5, 60),), FLOATS)
    long: Call = lambda p, x: p.argsort(x, stable=True)  # noqa: E731
    yield Case(
        "argsort 100000", ("argsort",), long, (n(100_000, low=-999, high=999),), ("float32", "int64", "bfloat16")
    )
    for right in (False, True):
        call = lambda p, s, v, r=right: p.searchsorted(p.sort(s), v, right=r)  # noqa: E731
        given = n(50, low=-9, high=9), n(3, 40, low=-12, high=12)
        yield Case(f"searchsorted {right}", ("searchsorted",), call, given, NUMBERS)
        call = lambda p, s, v, r=right: p.searchsorted(p.sort(s, -1), v, True, r)  # noqa: E731
        given = n(3, 50, low=-9, high=9), n(3, 40, low=-12, high=12)
        yield Case(f"searchsorted by rows {right}", ("searchsorted",), call, given, NUMBERS)
    different: Call = lambda p, x: p.unique(p.floor(x), True, True, True)  # noqa: E731
    yield Case("unique", ("unique",), different, (n(9, 100, low=-9, high=9),), FLOATS)
    different = lambda p, x: p.unique(x, True, True, True)  # noqa: E731
    yield Case("unique int", ("unique",), different, (n(6000, low=-900, high=900),), INTEGERS)
    different = lambda p, x: p.unique(x, return_inverse=True, dtype="int32")  # noqa: E731
    yield Case("unique int32", ("unique",), different, (n(60, low=-9, high=9),), INTEGERS)
    yield Case("nms", ("nms",), _nms, (n(40, 2, low=0, high=20), n(40, 2, low=4, high=9)), FLOATS)
    yield Case("nms many", ("nms",), _nms, (n(700, 2, low=0, high=90), n(700, 2, low=4, high=9)), FLOATS)
    yield Case("nms of one", ("nms",), _nms, (n(1, 2), n(1, 2, low=4, high=9)), FLOATS)


def _values(p: Any, x: Any, found: Any, axis: int) -> tuple[Any, Any]:
    values, indices = found
    return values, p.take_along_axis(x, indices, axis, False)


def _is_nan(value: Any) -> Any:
    return value != value


def _nms(p: Any, corner: Any, size: Any) -> Any:
    return p._C_ops.nms(p.concat([corner, corner + size], 1), 0.4)
