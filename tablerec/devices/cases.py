"""What each operator is tried on: calls in Paddle's own words, with shapes that include the empty and the 0-d.

A case names the operators that it must reach, so that a test can ask whether all registered ones were tried.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

FLOATS = ("float32", "float64")
INTEGERS = ("int32", "int64")
NUMBERS = FLOATS + INTEGERS
BOOL = ("bool",)

Call = Callable[..., Any]
Options = tuple[dict[str, Any], ...]


@dataclass(frozen=True, slots=True)
class Input:
    """Random numbers of a shape, uniform in ``[low, high)``; ``dtype`` where it is not the case's."""

    shape: tuple[int, ...]
    low: float = -2.0
    high: float = 2.0
    dtype: str | None = None

    def draw(self, random: np.random.Generator, dtype: str) -> np.ndarray:
        """Draw the array."""
        dtype = self.dtype or dtype
        if dtype == "bool":
            return random.random(self.shape) < 0.5
        if dtype in INTEGERS:
            return random.integers(int(self.low), max(int(self.high), int(self.low) + 1), self.shape).astype(dtype)
        return random.uniform(self.low, self.high, self.shape).astype(dtype)


@dataclass(frozen=True, slots=True)
class Case:
    """One call.

    Args:
        name: What is tried, for reports.
        operators: The kernels that the call must reach, forward; with ``gradient`` also backward.
        call: Paddle and the tensors -> a tensor, or several.
        inputs: What to draw.
        dtypes: The types to try.
        gradient: Compare gradients too.
        tolerance: Multiplies the type's tolerance, where sums are long.
        flags: Paddle's flags during the call; they are turned round after it.
    """

    name: str
    operators: tuple[str, ...]
    call: Callable[..., Any]
    inputs: tuple[Input, ...]
    dtypes: tuple[str, ...] = FLOATS
    gradient: bool = False
    tolerance: float = 1.0
    flags: tuple[tuple[str, bool], ...] = ()


def n(*shape: int, low: float = -2.0, high: float = 2.0, dtype: str | None = None) -> Input:
    """Abbreviate ``Input``."""
    return Input(shape, low, high, dtype)


def all_cases() -> list[Case]:
    """Return all cases."""
    return [*_elementwise(), *_reductions(), *_movement(), *_indexing(), *_networks(), *_losses()]


_PAIRS = (
    (n(2, 3), n(2, 3)),
    (n(4, 1, 3), n(5, 1)),
    (n(2, 3), n()),
    (n(), n()),
    (n(0, 3), n(0, 3)),
    (n(2, 3, 4, 5), n(3, 1, 1)),
)


def _elementwise() -> Iterator[Case]:
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
    for target in ("float32", "float64", "int32", "int64", "bool", "uint8"):
        call = lambda p, x, target=target: p.cast(x, target)  # noqa: E731
        yield Case(f"cast {target}", ("cast",), call, (n(5, low=0, high=9),), NUMBERS + BOOL)
    masks = n(4, 3, dtype="bool"), n(4, 3), n(4, 3)
    yield Case("where", ("where", "where_grad"), lambda p, c, x, y: p.where(c, x, y), masks, FLOATS, True)
    yield Case("where int", ("where",), lambda p, c, x, y: p.where(c, x, y), masks, INTEGERS)
    yield Case("add_n", ("add_n",), lambda p, x, y, z: p.add_n([x, y, z]), (n(4, 3), n(4, 3), n(4, 3)), NUMBERS)


def _reductions() -> Iterator[Case]:
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


def _movement() -> Iterator[Case]:
    every = NUMBERS + BOOL
    no_views = (("FLAGS_use_stride_kernel", False),)
    yield Case(
        "transpose",
        ("transpose", "transpose_grad"),
        lambda p, x: p.transpose(x, [2, 0, 1]),
        (n(2, 3, 4),),
        FLOATS,
        True,
        flags=no_views,
    )
    yield Case("contiguous", ("contiguous",), lambda p, x: p.transpose(x, [1, 0]).contiguous(), (n(5, 4),), every)
    yield Case("slices", ("strided_copy", "fill"), lambda p, x: x[1:, ::2] * 2, (n(5, 6),), FLOATS, True)
    yield Case(
        "concat", ("concat", "concat_grad"), lambda p, x, y: p.concat([x, y], 1), (n(2, 3, 4), n(2, 1, 4)), FLOATS, True
    )
    yield Case("concat empty", ("concat",), lambda p, x, y: p.concat([x, y], 0), (n(0, 4), n(2, 4)), every)
    yield Case("split", ("split",), lambda p, x: p.split(x, [1, 3], 1), (n(2, 4, 2),), every)
    yield Case("split_with_num", ("split_with_num",), lambda p, x: p.split(x, 2, 1), (n(2, 4, 2),), every)
    yield Case("stack", ("stack", "stack_grad"), lambda p, x, y: p.stack([x, y], 1), (n(2, 3), n(2, 3)), FLOATS, True)
    yield Case("expand", ("expand", "expand_grad"), lambda p, x: p.expand(x, [4, 2, 3]), (n(2, 1),), FLOATS, True)
    yield Case("tile", ("tile",), lambda p, x: p.tile(x, [2, 1, 3]), (n(2, 3),), every)
    yield Case("flip", ("flip",), lambda p, x: p.flip(x, [0, 2]), (n(2, 3, 4),), every)
    yield Case("meshgrid", ("meshgrid",), lambda p, x, y: p.meshgrid(x, y), (n(3), n(4)), NUMBERS)
    yield Case("full", ("full",), lambda p, x: p.full([2, 3], 2, x.dtype), (n(1),), every)
    yield Case("full_like", ("full_like",), lambda p, x: p.full_like(x, 1), (n(2, 3),), every)
    yield Case("full_like empty", ("full_like",), lambda p, x: p.full_like(x, 1), (n(2, 0, 3),), every)
    yield Case("assign", ("assign",), lambda p, x: p.assign(x), (n(2, 3),), every)
    yield Case("arange", ("arange_tensor",), lambda p, x: p.arange(1, 9, 3, x.dtype), (n(1),), NUMBERS)
    pad = lambda p, x: p.nn.functional.pad(x, [1, 2, 0, 3], value=1.5)  # noqa: E731
    yield Case("pad3d", ("pad3d", "pad3d_grad"), pad, (n(2, 3, 4, 5),), FLOATS, True)


def _indexing() -> Iterator[Case]:
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


def _networks() -> Iterator[Case]:
    for x, y, tx, ty in (
        (n(3, 4), n(4, 5), False, False),
        (n(4, 3), n(5, 4), True, True),
        (n(2, 3, 4), n(4, 5), False, False),
        (n(2, 3, 3, 4), n(2, 3, 5, 4), False, True),
        (n(4), n(4), False, False),
        (n(3, 4), n(4), False, False),
        (n(4), n(4, 5), False, False),
    ):
        call: Call = lambda p, x, y, a=tx, b=ty: p.matmul(x, y, a, b)  # noqa: E731
        yield Case(f"matmul {x.shape} {y.shape}", ("matmul", "matmul_grad"), call, (x, y), FLOATS, True, 4)
    convolutions: Options = (
        {},
        {"stride": 2, "padding": 1},
        {"dilation": 2, "padding": [2, 1]},
        {"groups": 2},
        {"padding": "SAME", "stride": 2},
    )
    for options in convolutions:
        groups = int(options.get("groups", 1))
        call = lambda p, x, w, o=options: p.nn.functional.conv2d(x, w, **o)  # noqa: E731
        yield Case(
            f"conv2d {options}",
            ("conv2d", "conv2d_grad"),
            call,
            (n(2, 4, 9, 8), n(6, 4 // groups, 3, 3)),
            FLOATS,
            True,
            20,
        )
    depthwise = lambda p, x, w: p.nn.functional.conv2d(x, w, stride=2, padding=1, groups=4)  # noqa: E731
    reached = ("depthwise_conv2d", "depthwise_conv2d_grad")
    yield Case("depthwise_conv2d", reached, depthwise, (n(2, 4, 9, 8), n(4, 1, 3, 3)), FLOATS, True, 20)
    yield from _normalizations()
    yield from _spatial()


def _normalizations() -> Iterator[Case]:
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


def _spatial() -> Iterator[Case]:
    x = n(2, 3, 9, 8)
    windows: Options = (
        {"kernel_size": 2},
        {"kernel_size": 3, "stride": 2, "padding": 1},
        {"kernel_size": 3, "stride": 1},
    )
    for kind in ("max", "avg"):
        for options in windows:
            call: Call = lambda p, x, k=kind, o=options: getattr(p.nn.functional, f"{k}_pool2d")(x, **o)  # noqa: E731
            # The CPU's averages are in float32 also where the tensor is not.
            dtypes = FLOATS if kind == "max" else ("float32",)
            yield Case(f"{kind}_pool2d {options}", ("pool2d", "pool2d_grad"), call, (x,), dtypes, True, 4)
    for size in (1, 4):
        call = lambda p, x, s=size: p.nn.functional.adaptive_avg_pool2d(x, s)  # noqa: E731
        yield Case(f"adaptive_avg_pool2d {size}", ("pool2d", "pool2d_grad"), call, (x,), ("float32",), True, 4)
    inclusive = lambda p, x: p.nn.functional.avg_pool2d(x, 3, 2, 1, exclusive=False)  # noqa: E731
    yield Case("avg_pool2d inclusive", ("pool2d", "pool2d_grad"), inclusive, (x,), ("float32",), True, 4)
    sizes: Options = ({"scale_factor": 2}, {"scale_factor": 1.5}, {"size": [5, 13]})
    for options in sizes:
        call = lambda p, x, o=options: p.nn.functional.interpolate(x, mode="nearest", **o)  # noqa: E731
        yield Case(f"nearest_interp {options}", ("nearest_interp", "nearest_interp_grad"), call, (x,), FLOATS, True)
    grid = n(2, 4, 5, 2, low=-1.3, high=1.3)
    for align in (True, False):
        call = lambda p, x, g, a=align: p.nn.functional.grid_sample(x, g, align_corners=a)  # noqa: E731
        yield Case(f"grid_sample {align}", ("grid_sample", "grid_sample_grad"), call, (x, grid), FLOATS, True, 50)


def _losses() -> Iterator[Case]:
    logits = ("sigmoid_cross_entropy_with_logits", "sigmoid_cross_entropy_with_logits_grad")
    entropy = lambda p, x, t: p.nn.functional.binary_cross_entropy_with_logits(x, t.detach(), reduction="none")  # noqa: E731
    yield Case(
        "binary cross entropy", logits, entropy, (n(4, 5, low=-9, high=9), n(4, 5, low=0, high=1)), ("float32",), True
    )
    huber = lambda p, x, t: p.nn.functional.smooth_l1_loss(x, t, "none")  # noqa: E731
    yield Case("huber_loss", ("huber_loss", "huber_loss_grad"), huber, (n(4, 5), n(4, 5)), FLOATS, True)
    labels = n(6, 1, low=0, high=5, dtype="int64")
    softmax = lambda p, x, t: p.nn.functional.cross_entropy(x, t, reduction="none")  # noqa: E731
    reached = ("cross_entropy_with_softmax", "cross_entropy_with_softmax_grad")
    yield Case("cross entropy", reached, softmax, (n(6, 5), labels), FLOATS, True, 4)
