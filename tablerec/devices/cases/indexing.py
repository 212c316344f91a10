"""Operators that read or write where indices say."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from tablerec.devices.cases.case import BOOL, FLOATS, INTEGERS, NUMBERS, Case, n


def cases() -> Iterator[Case]:
    """Yield the cases."""
    every = NUMBERS + BOOL
    index = n(5, low=0, high=4, dtype="int64")
    yield Case("gather", ("gather", "gather_grad"), lambda p, x, i: p.gather(x, i, 0), (n(4, 3), index), FLOATS, True)
    yield Case(
        "gather axis",
        ("gather",),
        lambda p, x, i: p.gather(x, i, 1),
        (n(2, 4, 3), n(5, low=0, high=4, dtype="int32")),
        every,
    )
    yield Case(
        "gather_nd",
        ("gather_nd",),
        lambda p, x, i: p.gather_nd(x, i),
        (n(4, 4, 3), n(5, 2, low=0, high=4, dtype="int64")),
        every,
    )
    along = n(2, 3, low=0, high=4, dtype="int64")
    yield Case(
        "take_along_axis",
        ("take_along_axis",),
        lambda p, x, i: p.take_along_axis(x, i, 1, False),
        (n(2, 4), along),
        NUMBERS,
    )
    unique = lambda p, x, u: p.scatter(x, p.to_tensor([3, 0]), u)  # noqa: E731
    yield Case("scatter", ("scatter",), unique, (n(4, 3), n(2, 3)), NUMBERS)
    twice = lambda p, x, u: p.scatter(x, p.to_tensor([3, 3]), u, False)  # noqa: E731
    yield Case("scatter add", ("scatter",), twice, (n(4, 3), n(2, 3)), NUMBERS)
    yield Case("index_elementwise_get", ("index_elementwise_get",), lambda p, x, i: x[i], (n(4, 3), index), every)
    yield Case("index by two", ("index_elementwise_get",), lambda p, x, i: x[i, i], (n(4, 4, 2), index), every)
    yield Case("index by mask", (), lambda p, x, m: x[m], (n(6, 2), n(6, dtype="bool")), every)
    yield Case("nonzero", ("nonzero",), lambda p, x: p.nonzero(x), (n(5, 6),), INTEGERS + BOOL)
    yield Case("nonzero none", ("nonzero",), lambda p, x: p.nonzero(x), (n(3, low=0, high=0),), INTEGERS)
    yield Case(
        "set_value",
        ("set_value",),
        _set(lambda p, x, v: (slice(1, 3), slice(None, None, 2)), 7),
        (n(4, 5), n(1)),
        every,
    )
    yield Case("set_value row", ("set_value",), _set(lambda p, x, v: 2, 7), (n(4, 5), n(1)), every)
    with_tensor = _set(lambda p, x, v: (slice(1, 3), slice(None, None, -1)), None)
    yield Case("set_value_with_tensor", ("set_value_with_tensor",), with_tensor, (n(4, 5), n(2, 5)), every)
    yield Case("nms", ("nms",), _nms, (n(40, 2, low=0, high=20), n(40, 2, low=4, high=9)), ("float32",))


def _set(where: Callable[..., Any], value: Any) -> Callable[..., Any]:
    def call(p: Any, x: Any, v: Any) -> Any:
        copy = p.assign(x)
        copy[where(p, x, v)] = v if value is None else value
        return copy

    return call


def _nms(p: Any, corner: Any, size: Any) -> Any:
    return p._C_ops.nms(p.concat([corner, corner + size], 1), 0.4)
