"""Operators that compute each element by itself."""

from __future__ import annotations

from collections.abc import Iterator

from tablerec.devices.cases.case import BOOL, EVERY, FLOATS, HALVES, INTEGERS, NUMBERS, Call, Case, n

_REAL = FLOATS + HALVES
_PAIRS = (
    (n(2, 3), n(2, 3)),
    (n(4, 1, 3), n(5, 1)),
    (n(2, 3), n()),
    (n(), n()),
    (n(0, 3), n(0, 3)),
    (n(2, 3, 4, 5), n(3, 1, 1)),
    (n(2, 3, 4, 4), n(1, 3, 1, 1)),
    (n(16), n(5, 16)),
)


def cases() -> Iterator[Case]:
    """Yield the cases."""
    for name in ("add", "subtract", "multiply", "maximum", "minimum"):
        for x, y in _PAIRS:
            call: Call = lambda p, x, y, name=name: getattr(p, name)(x, y)  # noqa: E731
            yield Case(f"{name} {x.shape} {y.shape}", (name,), call, (x, y), NUMBERS)
            yield Case(f"{name}_grad {x.shape} {y.shape}", (name, f"{name}_grad"), call, (x, y), _REAL, True)
    far = [(x, n(*y.shape, low=1, high=3)) for x, y in _PAIRS]
    for x, y in far:
        yield Case(
            f"divide {x.shape} {y.shape}",
            ("divide", "divide_grad"),
            lambda p, x, y: p.divide(x, y),
            (x, y),
            _REAL,
            True,
            half_tolerance=2,
        )
        yield Case(
            f"floor_divide {x.shape} {y.shape}",
            ("floor_divide",),
            lambda p, x, y: p.floor_divide(x, y),
            (x, y),
            NUMBERS,
        )
        yield Case(f"remainder {x.shape} {y.shape}", ("remainder",), lambda p, x, y: p.remainder(x, y), (x, y), NUMBERS)
        positive = (n(*x.shape, low=1, high=3), y)
        power = lambda p, x, y: p.pow(x, y)  # noqa: E731
        yield Case(f"elementwise_pow {x.shape} {y.shape}", ("elementwise_pow",), power, positive, NUMBERS)
        reached = ("elementwise_pow", "elementwise_pow_grad")
        yield Case(f"elementwise_pow_grad {x.shape} {y.shape}", reached, power, positive, _REAL, True, 4, 2)
    for name in ("floor_divide", "remainder"):
        call = lambda p, x, y, name=name: getattr(p, name)(x, y)  # noqa: E731
        yield Case(f"{name} half", (name,), call, (n(4, 9), n(9, low=1, high=3)), HALVES)
    yield Case(
        "divide int",
        ("divide",),
        lambda p, x, y: p._C_ops.divide(x, y),
        (n(7, low=-9, high=9), n(7, low=1, high=4)),
        INTEGERS,
    )
    compared = ("equal", "not_equal", "less_than", "less_equal", "greater_than", "greater_equal")
    for name in (*compared, "logical_and", "logical_or", "logical_xor"):
        call = lambda p, x, y, name=name: getattr(p, name)(x, y)  # noqa: E731
        yield Case(name, (name,), call, (n(4, 3), n(3)), EVERY)
    close = lambda p, x, y: p.isclose(x, y, 0.1, 0.25)  # noqa: E731
    yield Case("isclose", ("isclose",), close, (n(4, 30), n(4, 30)), _REAL)
    nan = lambda p, x: p.isclose(p.concat([x / 0, x]), p.concat([x / 0, x]), equal_nan=True)  # noqa: E731
    yield Case("isclose nan", ("isclose",), nan, (n(9, low=-1, high=1),), FLOATS)
    for name in ("bitwise_and", "bitwise_or", "bitwise_xor"):
        call = lambda p, x, y, name=name: getattr(p, name)(x, y)  # noqa: E731
        yield Case(name, (name,), call, (n(4, 3, low=0, high=9), n(3, low=0, high=9)), INTEGERS + BOOL)
    yield Case("bitwise_not", ("bitwise_not",), lambda p, x: p.bitwise_not(x), (n(4, 3, high=9),), INTEGERS + BOOL)
    yield Case("logical_not", ("logical_not",), lambda p, x: p.logical_not(x), (n(4, 3),), EVERY)
    yield from _unary()
    yield from _with_numbers()
    yield from _others()


def _unary() -> Iterator[Case]:
    for name in ("tanh", "exp", "sin", "cos", "abs", "square", "floor", "ceil", "round", "trunc", "atan", "erf"):
        for x in (n(3, 5), n(), n(0, 2), n(67)):
            call: Call = lambda p, x, name=name: getattr(p, name)(x)  # noqa: E731
            yield Case(f"{name} {x.shape}", (name, f"{name}_grad"), call, (x,), _REAL, True, 1, 2)
    for name in ("log", "log2", "log1p", "sqrt", "rsqrt", "reciprocal"):
        call = lambda p, x, name=name: getattr(p, name)(x)  # noqa: E731
        yield Case(name, (name, f"{name}_grad"), call, (n(3, 5, low=0.5),), _REAL, True, 1, 2)
    activations = ("relu", "sigmoid", "silu", "gelu", "relu6", "hardswish", "hardsigmoid", "leaky_relu", "swish", "elu")
    for name in (*activations, "softplus", "mish", "hardtanh"):
        call = lambda p, x, name=name: getattr(p.nn.functional, name)(x)  # noqa: E731
        yield Case(name, (name, f"{name}_grad"), call, (n(33, 5, low=-8, high=8),), _REAL, True, 2, 2)
    sigmoid = lambda p, x: p.nn.functional.log_sigmoid(x)  # noqa: E731
    yield Case("logsigmoid", ("logsigmoid", "logsigmoid_grad"), sigmoid, (n(33, low=-30, high=30),), _REAL, True, 2, 2)
    gelu = lambda p, x: p.nn.functional.gelu(x, True)  # noqa: E731
    yield Case("gelu tanh", ("gelu", "gelu_grad"), gelu, (n(3, 5),), _REAL, True, half_tolerance=2)
    softplus = lambda p, x: p.nn.functional.softplus(x, 2.0, 5.0)  # noqa: E731
    yield Case("softplus beta", ("softplus", "softplus_grad"), softplus, (n(33, low=-9, high=9),), _REAL, True, 2, 2)
    leaky = lambda p, x: p.nn.functional.leaky_relu(x, 0.1)  # noqa: E731
    yield Case("leaky_relu slope", ("leaky_relu", "leaky_relu_grad"), leaky, (n(33),), _REAL, True)
    yield Case("abs int", ("abs",), lambda p, x: p.abs(x), (n(9, low=-9, high=9),), INTEGERS)
    yield Case("square int", ("square",), lambda p, x: p.square(x), (n(9, low=-9, high=9),), INTEGERS)
    yield Case("sign", ("sign",), lambda p, x: p.sign(p.cast(p.cast(x, "int32"), x.dtype)), (n(19),), _REAL)
    yield Case("sign int", ("sign",), lambda p, x: p.sign(x), (n(19),), INTEGERS)
    yield Case("round decimals", ("round",), lambda p, x: p.round(x, 1), (n(19),), FLOATS)
    for name in ("isnan", "isinf", "isfinite"):
        call = lambda p, x, name=name: getattr(p, name)(p.concat([x / 0, x]))  # noqa: E731
        yield Case(name, (name,), call, (n(9, low=-1, high=1),), _REAL)
        call = lambda p, x, name=name: getattr(p, name)(x)  # noqa: E731
        yield Case(f"{name} int", (name,), call, (n(9),), INTEGERS)


def _with_numbers() -> Iterator[Case]:
    every = NUMBERS + HALVES
    yield Case("scale", ("scale",), lambda p, x: p.scale(x, 2.0, 3.0), (n(4, 3),), every, half_tolerance=2)
    yield Case(
        "scale before", ("scale",), lambda p, x: p.scale(x, 2.0, 3.0, False), (n(4, 3),), every, half_tolerance=2
    )
    yield Case("div_scale", ("div_scale",), lambda p, x: p._C_ops.div_scale(x, 3.0), (n(4, 3),), _REAL)
    yield Case("increment", ("increment",), lambda p, x: p.increment(x, 2.0), (n(1),), NUMBERS)
    yield Case("clip", ("clip", "clip_grad"), lambda p, x: p.clip(x, -1.0, 1.0), (n(4, 9),), _REAL, True)
    yield Case("clip int", ("clip",), lambda p, x: p.clip(x, -1, 1), (n(4, 9, low=-5, high=5),), INTEGERS)
    yield Case("pow", ("pow", "pow_grad"), lambda p, x: p.pow(x, 3.0), (n(4, 9),), _REAL, True, half_tolerance=2)
    yield Case("pow int", ("pow",), lambda p, x: p.pow(x, 3), (n(4, 9),), INTEGERS)


def _others() -> Iterator[Case]:
    for target in ("float32", "float64", "float16", "bfloat16", "int32", "int64", "bool", "uint8", "int8", "int16"):
        call = lambda p, x, target=target: p.cast(x, target)  # noqa: E731
        yield Case(f"cast {target}", ("cast",), call, (n(37, low=0, high=9),), EVERY)
    masks = n(4, 3, dtype="bool"), n(4, 3), n(4, 3)
    where: Call = lambda p, c, x, y: p.where(c, x, y)  # noqa: E731
    yield Case("where", ("where", "where_grad"), where, masks, EVERY, True)
    stretched = n(4, 1, dtype="bool"), n(4, 8), n(8)
    direct: Call = lambda p, c, x, y: p._C_ops.where(c.expand([4, 8]), x, y.expand([4, 8]))  # noqa: E731
    yield Case("where broadcast", ("where", "where_grad"), direct, stretched, _REAL, True, half_tolerance=2)
    add_n: Call = lambda p, *x: p.add_n(list(x))  # noqa: E731
    for count in (1, 3, 4, 6, 8):
        yield Case(f"add_n {count}", ("add_n",), add_n, (n(4, 7),) * count, NUMBERS + HALVES, half_tolerance=2)
