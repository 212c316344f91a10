"""Operators that compute each element by itself."""

from __future__ import annotations

from collections.abc import Iterator

from tablerec.devices.cases.case import BOOL, FLOATS, HALVES, INTEGERS, NUMBERS, Call, Case, n

_PAIRS = (
    (n(2, 3), n(2, 3)),
    (n(4, 1, 3), n(5, 1)),
    (n(2, 3), n()),
    (n(), n()),
    (n(0, 3), n(0, 3)),
    (n(2, 3, 4, 5), n(3, 1, 1)),
)


def cases() -> Iterator[Case]:
    """Yield the cases."""
    for name in ("add", "subtract", "multiply", "maximum", "minimum"):
        for x, y in _PAIRS:
            call: Call = lambda p, x, y, name=name: getattr(p, name)(x, y)  # noqa: E731
            yield Case(f"{name} {x.shape} {y.shape}", (name,), call, (x, y), NUMBERS)
            yield Case(f"{name}_grad {x.shape} {y.shape}", (name, f"{name}_grad"), call, (x, y), FLOATS, True)
    far = [(x, n(*y.shape, low=1, high=3)) for x, y in _PAIRS]
    for x, y in far:
        yield Case(f"divide {x.shape}", ("divide", "divide_grad"), lambda p, x, y: p.divide(x, y), (x, y), FLOATS, True)
        yield Case(f"floor_divide {x.shape}", ("floor_divide",), lambda p, x, y: p.floor_divide(x, y), (x, y), NUMBERS)
        yield Case(f"remainder {x.shape}", ("remainder",), lambda p, x, y: p.remainder(x, y), (x, y), NUMBERS)
        positive = (n(*x.shape, low=1, high=3), y)
        yield Case(f"elementwise_pow {x.shape}", ("elementwise_pow",), lambda p, x, y: p.pow(x, y), positive, NUMBERS)
    yield Case(
        "divide int",
        ("divide",),
        lambda p, x, y: p._C_ops.divide(x, y),
        (n(7, low=-9, high=9), n(7, low=1, high=4)),
        INTEGERS,
    )
    for name in (
        "equal",
        "not_equal",
        "less_than",
        "less_equal",
        "greater_than",
        "greater_equal",
        "logical_and",
        "logical_or",
    ):
        call = lambda p, x, y, name=name: getattr(p, name)(x, y)  # noqa: E731
        yield Case(name, (name,), call, (n(4, 3), n(3)), NUMBERS + BOOL)
    for name in ("bitwise_and", "bitwise_or", "bitwise_xor"):
        call = lambda p, x, y, name=name: getattr(p, name)(x, y)  # noqa: E731
        yield Case(name, (name,), call, (n(4, 3, low=0, high=9), n(3, low=0, high=9)), INTEGERS + BOOL)
    yield Case("bitwise_not", ("bitwise_not",), lambda p, x: p.bitwise_not(x), (n(4, 3, high=9),), INTEGERS + BOOL)
    yield Case("logical_not", ("logical_not",), lambda p, x: p.logical_not(x), (n(4, 3),), NUMBERS + BOOL)
    yield from _unary()


def _unary() -> Iterator[Case]:
    for name in ("tanh", "exp", "sin", "cos", "abs", "square", "floor", "ceil"):
        reached = (name,) if name in ("floor", "ceil") else (name, f"{name}_grad")
        for x in (n(3, 5), n(), n(0, 2)):
            call: Call = lambda p, x, name=name: getattr(p, name)(x)  # noqa: E731
            yield Case(f"{name} {x.shape}", reached, call, (x,), FLOATS, len(reached) > 1)
    for name in ("log", "sqrt", "rsqrt"):
        call = lambda p, x, name=name: getattr(p, name)(x)  # noqa: E731
        yield Case(name, (name, f"{name}_grad"), call, (n(3, 5, low=0.5),), FLOATS, True)
    for name in ("relu", "sigmoid", "silu", "gelu"):
        call = lambda p, x, name=name: getattr(p.nn.functional, name)(x)  # noqa: E731
        yield Case(name, (name, f"{name}_grad"), call, (n(33, 5),), FLOATS, True)
    yield Case("gelu tanh", ("gelu", "gelu_grad"), lambda p, x: p.nn.functional.gelu(x, True), (n(3, 5),), FLOATS, True)
    yield Case("abs int", ("abs",), lambda p, x: p.abs(x), (n(9, low=-9, high=9),), INTEGERS)
    yield Case("square int", ("square",), lambda p, x: p.square(x), (n(9, low=-9, high=9),), INTEGERS)
    yield Case("scale", ("scale",), lambda p, x: p.scale(x, 2.0, 3.0), (n(4, 3),), NUMBERS, False)
    yield Case("scale before", ("scale",), lambda p, x: p.scale(x, 2.0, 3.0, False), (n(4, 3),), NUMBERS, False)
    yield Case("div_scale", ("div_scale",), lambda p, x: p._C_ops.div_scale(x, 3.0), (n(4, 3),))
    yield Case("clip", ("clip", "clip_grad"), lambda p, x: p.clip(x, -1.0, 1.0), (n(4, 9),), FLOATS, True)
    yield Case("clip int", ("clip",), lambda p, x: p.clip(x, -1, 1), (n(4, 9, low=-5, high=5),), INTEGERS)
    yield Case("pow", ("pow", "pow_grad"), lambda p, x: p.pow(x, 3.0), (n(4, 9),), FLOATS, True)
    yield Case("pow int", ("pow",), lambda p, x: p.pow(x, 3), (n(4, 9),), INTEGERS)
    for target in ("float32", "float64", "float16", "bfloat16", "int32", "int64", "bool", "uint8"):
        call = lambda p, x, target=target: p.cast(x, target)  # noqa: E731
        yield Case(f"cast {target}", ("cast",), call, (n(5, low=0, high=9),), NUMBERS + HALVES + BOOL)
    masks = n(4, 3, dtype="bool"), n(4, 3), n(4, 3)
    yield Case("where", ("where", "where_grad"), lambda p, c, x, y: p.where(c, x, y), masks, FLOATS, True)
    yield Case("where int", ("where",), lambda p, c, x, y: p.where(c, x, y), masks, INTEGERS)
    yield Case("add_n", ("add_n",), lambda p, x, y, z: p.add_n([x, y, z]), (n(4, 3), n(4, 3), n(4, 3)), NUMBERS)
