"""Operators that read or write where indices say."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from tablerec.devices.cases.case import BOOL, EVERY, FLOATS, HALVES, INTEGERS, NUMBERS, Call, Case, n

_FLOATS = FLOATS + HALVES


def cases() -> Iterator[Case]:
    """Yield the cases."""
    index = n(5, low=0, high=4, dtype="int64")
    narrow = n(5, low=-4, high=4, dtype="int32")
    for name in ("gather", "index_select"):
        call: Call = lambda p, x, i, name=name: getattr(p, name)(x, i, 0)  # noqa: E731
        yield Case(name, (name, f"{name}_grad"), call, (n(4, 3), index), _FLOATS, True)
        call = lambda p, x, i, name=name: getattr(p, name)(x, i, 1)  # noqa: E731
        positive = n(5, low=0, high=4, dtype="int32")
        yield Case(
            f"{name} axis",
            (name,),
            call,
            (n(2, 4, 3), positive),
            EVERY if name == "gather" else NUMBERS + BOOL + HALVES,
        )
        yield Case(f"{name} none", (name,), call, (n(2, 4, 3), n(0, dtype="int64")), FLOATS, True)
    yield Case("gather empty", ("gather",), lambda p, x, i: p.gather(x, i, 1), (n(0, 4), index), FLOATS, True)
    call = lambda p, x, i, v: p.index_add(x, i, 1, v)  # noqa: E731
    yield Case("index_add", ("index_add",), call, (n(2, 4, 3), index, n(2, 5, 3)), NUMBERS)
    yield Case(
        "index_add_grad", ("index_add", "index_add_grad"), call, (n(2, 4, 3), index, n(2, 5, 3)), _FLOATS, True, 1, 2
    )
    pairs = n(5, 2, low=0, high=4, dtype="int64")
    yield Case("gather_nd", ("gather_nd",), lambda p, x, i: p.gather_nd(x, i), (n(4, 4, 3), pairs), EVERY)
    for name, at, shape in (("pairs", pairs, (4, 4, 3)), ("places", n(2, 6, 1, low=0, high=4, dtype="int32"), (4, 3))):
        call = lambda p, x, i: p.gather_nd(x, i)  # noqa: E731
        yield Case(f"gather_nd {name}", ("gather_nd", "gather_nd_grad"), call, (n(*shape), at), _FLOATS, True, 1, 2)
    call = lambda p, x, i, u: p.scatter_nd_add(x, i, u)  # noqa: E731
    given = n(4, 4, 3), pairs, n(5, 3)
    yield Case("scatter_nd_add", ("scatter_nd_add",), call, given, NUMBERS)
    yield Case("scatter_nd_add_grad", ("scatter_nd_add", "scatter_nd_add_grad"), call, given, _FLOATS, True, 1, 2)
    along = n(2, 3, low=0, high=4, dtype="int64")
    call = lambda p, x, i: p.take_along_axis(x, i, 1, False)  # noqa: E731
    yield Case("take_along_axis", ("take_along_axis",), call, (n(2, 4), along), NUMBERS)
    reached = ("take_along_axis", "take_along_axis_grad")
    yield Case("take_along_axis_grad", reached, call, (n(2, 4), along), _FLOATS, True, 1, 2)
    call = lambda p, x, i: p.take_along_axis(x, i, 0, False)  # noqa: E731
    yield Case(
        "take_along_axis 0", reached, call, (n(4, 3, 2), n(5, 3, 2, low=0, high=4, dtype="int64")), _FLOATS, True, 1, 2
    )
    call = lambda p, x, i: p.index_sample(x, i)  # noqa: E731
    yield Case("index_sample", ("index_sample", "index_sample_grad"), call, (n(2, 4), along), _FLOATS, True, 1, 2)
    yield Case("index_sample int", ("index_sample",), call, (n(2, 4), along), INTEGERS)
    yield from _tables()
    yield from _repeats()
    yield from _puts(along)
    yield from _scatters()
    yield from _by_tensors(index, narrow)
    yield from _masks()
    yield from _slices()


def _tables() -> Iterator[Case]:
    reached = ("embedding", "embedding_grad")
    for ids, padding in (
        (n(3, 40, low=0, high=7, dtype="int64"), None),
        (n(5, low=0, high=7, dtype="int32"), None),
        (n(3, 40, low=0, high=7, dtype="int64"), 2),
        (n(0, 4, dtype="int64"), None),
        (n(low=0, high=7, dtype="int64"), -1),
    ):
        call: Call = lambda p, i, w, k=padding: p.nn.functional.embedding(i, w, k)  # noqa: E731
        yield Case(f"embedding {ids.shape} {ids.dtype} {padding}", reached, call, (ids, n(7, 6)), _FLOATS, True, 4, 4)


def _repeats() -> Iterator[Case]:
    name = "repeat_interleave_with_tensor_index"
    reached = (name, f"{name}_grad")
    for shape, axis, counts in (
        ((4, 3), 0, n(4, low=0, high=4, dtype="int64")),
        ((2, 5, 3), 1, n(5, low=0, high=4, dtype="int32")),
        ((2, 40), -1, n(40, low=0, high=4, dtype="int64")),
        ((3, 2), 0, n(3, low=0, high=1, dtype="int64")),
    ):
        call: Call = lambda p, x, r, a=axis: p.repeat_interleave(x, r, a)  # noqa: E731
        called = f"repeat_interleave {shape} {counts.shape} {counts.high}"
        yield Case(called, reached[:1], call, (n(*shape), counts), INTEGERS)
        yield Case(f"{called} grad", reached, call, (n(*shape), counts), _FLOATS, True, 1, 2)


def _puts(along: Any) -> Iterator[Case]:
    name = "put_along_axis"
    for how, dtypes in (("assign", NUMBERS + HALVES), ("add", NUMBERS + HALVES)):
        # An index twice: the later value stays.
        call: Call = lambda p, x, i, v, how=how: p.put_along_axis(x, i, v, 1, how, True, False)  # noqa: E731
        yield Case(f"{name} {how}", (name,), call, (n(2, 4), along, n(2, 3)), dtypes, False, 1, 2)
        once: Call = lambda p, x, v, how=how: p.put_along_axis(  # noqa: E731
            x, p.to_tensor([[2, 0, 1], [3, 1, 0]]), v, 1, how, True, False
        )
        yield Case(f"{name}_grad {how}", (name, f"{name}_grad"), once, (n(2, 4), n(2, 3)), _FLOATS, True)


def _scatters() -> Iterator[Case]:
    given = n(4, 3), n(2, 3)
    once: Call = lambda p, x, u: p.scatter(x, p.to_tensor([3, 0]), u)  # noqa: E731
    yield Case("scatter", ("scatter",), once, given, NUMBERS + HALVES)
    yield Case("scatter_grad", ("scatter", "scatter_grad"), once, given, _FLOATS, True)
    # An index twice: the later rows stay, or are added to zero.
    many = n(50, low=0, high=4, dtype="int64")
    for overwrite in (True, False):
        call: Call = lambda p, x, i, u, o=overwrite: p.scatter(x, i, u, o)  # noqa: E731
        yield Case(
            f"scatter twice {overwrite}", ("scatter",), call, (n(4, 3), many, n(50, 3)), NUMBERS + HALVES, False, 4
        )
    yield Case(
        "scatter none",
        ("scatter",),
        lambda p, x, i, u: p.scatter(x, i, u),
        (n(4, 3), n(0, dtype="int64"), n(0, 3)),
        FLOATS,
    )


def _by_tensors(index: Any, narrow: Any) -> Iterator[Case]:
    get, put = "index_elementwise_get", "index_elementwise_put"
    ways: tuple[tuple[str, Callable[..., Any], tuple[int, ...]], ...] = (
        ("one", lambda i: i, (4, 3)),
        ("two", lambda i: (i, i), (4, 4, 2)),
        ("inner", lambda i: (slice(None), i), (2, 4, 3)),
        ("cut", lambda i: (slice(1, 3), i), (3, 4, 3)),
    )
    for name, where, shape in ways:
        call: Call = lambda p, x, i, w=where: x[w(i)]  # noqa: E731
        yield Case(f"{get} {name}", (get,), call, (n(*shape), index), EVERY)
        yield Case(f"{get}_grad {name}", (get, f"{get}_grad"), call, (n(*shape), index), _FLOATS, True, 1, 2)
        number: Call = lambda p, x, i, w=where: _put(p, x, w(i), 7)  # noqa: E731
        yield Case(f"{put} {name}", (put,), number, (n(*shape), index), EVERY)
        yield Case(f"{put}_grad {name}", (put, f"{put}_grad"), number, (n(*shape), index), _FLOATS, True)
        # On the CPU by another way, as its gradient of the value is wrong where an index comes twice.
        rows: Call = lambda p, x, i, v, w=where: _put_values(p, x, w(i), v)  # noqa: E731
        reached = (f"{put}_with_tensor", f"{put}_with_tensor_grad")
        for what, size in (("all", 5), ("repeated", 1)):
            given = n(*shape), index, n(*_value_shape(name, size, shape[-1]))
            yield Case(f"{put}_with_tensor {name} {what}", reached[:1], rows, given, EVERY)
            yield Case(f"{put}_with_tensor_grad {name} {what}", reached, rows, given, _FLOATS, True, 4, 4)
    for accumulate in (False, True):
        called = f"index_put {accumulate}"
        at: Call = lambda p, x, v, a=accumulate: p.index_put(  # noqa: E731
            x, (p.to_tensor([[2], [0]]), p.to_tensor([1, 3, -2])), v, a
        )
        x, values = n(4, 5, 3), n(2, 3, 3)
        yield Case(called, ("index_put",), at, (x, values), NUMBERS + HALVES)
        yield Case(f"{called} grad", ("index_put", "index_put_grad"), at, (x, values), _FLOATS, True, 1, 2)
        yield Case(f"{called} one value", ("index_put", "index_put_grad"), at, (x, n(1)), _FLOATS, True, 1, 4)
    twice: Call = lambda p, x, i, v: p.index_put(x, (i,), v, True)  # noqa: E731
    yield Case("index_put twice", ("index_put",), twice, (n(4, 3), index, n(5, 3)), NUMBERS + HALVES, False, 1, 2)
    twice = lambda p, x, i, v: p.index_put(x, (i,), v)  # noqa: E731
    yield Case("index_put int32", ("index_put",), twice, (n(4, 3), narrow, n(1)), FLOATS)


def _value_shape(way: str, size: int, last: int) -> tuple[int, ...]:
    outer = {"inner": (2,), "cut": (2,)}.get(way, ())
    return (*outer, size, last) if size > 1 else (last,)


def _put_values(p: Any, x: Any, where: Any, value: Any) -> Any:
    if not _on_cpu(p):
        return _put(p, x, where, value)
    places = p.arange(x.size).reshape(x.shape)[where]
    values = p.broadcast_to(value.astype("float32") if value.dtype == p.bool else value, places.shape)
    values = values.astype(value.dtype)
    if value.dtype == p.bool:  # scatter has not this one
        wide = p.scatter(x.astype("int64").flatten(), places.flatten(), values.astype("int64").flatten())
        return wide.reshape(x.shape).astype(x.dtype)
    return p.scatter(x.flatten(), places.flatten(), values.flatten()).reshape(x.shape)


def _masks() -> Iterator[Case]:
    rows, whole = n(6, dtype="bool"), n(6, 2, dtype="bool")
    yield Case("index by mask", (), lambda p, x, m: x[m], (n(6, 2), rows), NUMBERS + BOOL)
    yield Case("nonzero", ("nonzero",), lambda p, x: p.nonzero(x), (n(5, 6),), EVERY)
    yield Case("nonzero none", ("nonzero",), lambda p, x: p.nonzero(x), (n(3, low=0, high=0),), INTEGERS)
    yield Case("nonzero many", ("nonzero",), lambda p, x: p.nonzero(x), (n(60, 500),), INTEGERS + BOOL)
    yield Case("nonzero empty", ("nonzero",), lambda p, x: p.nonzero(x), (n(0, 5),), INTEGERS)
    select: Call = lambda p, x, m: p.masked_select(x, m)  # noqa: E731
    yield Case("masked_select", ("masked_select",), select, (n(6, 2), whole), EVERY)
    yield Case("masked_select_grad", ("masked_select", "masked_select_grad"), select, (n(6, 2), whole), _FLOATS, True)
    many = n(90, 300), n(90, 300, dtype="bool")
    yield Case("masked_select many", ("masked_select", "masked_select_grad"), select, many, FLOATS, True)
    fill: Call = lambda p, x, m: p.masked_fill(x, m, 3)  # noqa: E731
    yield Case("masked_fill", ("masked_fill",), fill, (n(6, 2), whole), EVERY)
    yield Case("masked_fill_grad", ("masked_fill", "masked_fill_grad"), fill, (n(6, 2), whole), _FLOATS, True)
    # On the CPU by another way, as its gradient of the value is zero.
    fill = lambda p, x, m, v: p.where(m, v, x) if _on_cpu(p) else p._C_ops.masked_fill(x, m, v)  # noqa: E731
    yield Case(
        "masked_fill value",
        ("masked_fill", "masked_fill_grad"),
        fill,
        (n(6, 2), n(6, 1, dtype="bool"), n()),
        _FLOATS,
        True,
        4,
    )
    fill = lambda p, x, m: _put(p, x, m, 3)  # noqa: E731
    yield Case("fill by mask", ("masked_fill",), fill, (n(6, 2), rows), NUMBERS + HALVES)


def _slices() -> Iterator[Case]:
    inner = (slice(1, 3), slice(None, None, 2))
    turned = (slice(1, 3), slice(None, None, -1))
    scalar, tensor = "set_value", "set_value_with_tensor"
    yield Case("set_value", (scalar,), lambda p, x: _put(p, x, inner, 7), (n(4, 5),), EVERY)
    yield Case("set_value row", (scalar,), lambda p, x: _put(p, x, 2, 7), (n(4, 5),), EVERY)
    yield Case(tensor, (tensor,), lambda p, x, v: _put(p, x, turned, v), (n(4, 5), n(2, 5)), EVERY)
    reached = (scalar, "set_value_with_scalar_grad")
    yield Case("set_value_with_scalar_grad", reached, lambda p, x: _put(p, x, inner, 7), (n(4, 5),), _FLOATS, True)
    ways: tuple[tuple[str, Any, tuple[int, ...]], ...] = (
        ("whole", turned, (2, 5)),
        ("repeated", turned, (5,)),
        ("one", inner, (1,)),
        ("row", 2, (5,)),
    )
    for name, where, shape in ways:
        call: Call = lambda p, x, v, w=where: _put(p, x, w, v)  # noqa: E731
        yield Case(
            f"set_value_grad {name}", (tensor, "set_value_grad"), call, (n(4, 5), n(*shape)), _FLOATS, True, 4, 4
        )
    # On the CPU by another way, as its gradient of the value is wrong with None.
    yield Case(
        "set_value_grad none", (tensor, "set_value_grad"), _put_inserted, (n(4, 5), n(2, 1, 5)), _FLOATS, True, 4, 4
    )


def _put_inserted(p: Any, x: Any, value: Any) -> Any:
    if _on_cpu(p):
        return _put(p, x, slice(1, 3), value[:, 0])
    return _put(p, x, (slice(1, 3), None), value)


def _on_cpu(p: Any) -> bool:
    return bool(p.device.get_device() == "cpu")


def _put(p: Any, x: Any, where: Any, value: Any) -> Any:
    copy = p.assign(x)
    copy[where] = value
    return copy
