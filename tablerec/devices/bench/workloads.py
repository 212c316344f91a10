"""The operators that CellNet and RT-DETR-L ask for in training and inference, at their real shapes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Given:
    """An input: a shape, and a type where it is not the one that is measured.

    Floats are drawn between 0 and 1, integers below ``below``.
    """

    shape: tuple[int, ...]
    dtype: str | None = None
    below: int = 2


@dataclass(frozen=True, slots=True)
class Workload:
    """A call to measure.

    Args:
        name: The operator and what tells this call from others.
        call: Paddle and the tensors -> a tensor, or several.
        inputs: What it is given.
        operations: Multiplications and additions of the forward pass; the gradient has twice as many.
        gradient: Whether the gradient is measured too.
        reads_inputs: Whether the gradient has to read the inputs again.
        in_halves: Whether it is measured in half precision too.
    """

    name: str
    call: Callable[..., Any]
    inputs: tuple[Given, ...]
    operations: float = 0.0
    gradient: bool = True
    reads_inputs: bool = True
    in_halves: bool = True


@dataclass(frozen=True, slots=True)
class Scale:
    """Sizes of the workloads.

    Args:
        cellnet: Batch and side of the pictures, in pixels.
        rtdetr: The same.
        language: Tokens, numbers of a token, and classes of a language model.
    """

    cellnet: tuple[int, int]
    rtdetr: tuple[int, int]
    language: tuple[int, int, int]


FULL = Scale((32, 960), (16, 640), (4096, 2048, 150_000))
TINY = Scale((1, 64), (1, 96), (64, 32, 100))
"""For the simulated device."""

# Channels in and out, kernel, stride, groups; the stride at which the input lies.
CELLNET_CONVOLUTIONS = (
    (3, 16, 3, 2, 1, 1),
    (16, 32, 3, 2, 1, 2),
    (32, 32, 5, 1, 32, 4),
    (32, 64, 1, 1, 1, 4),
    (64, 32, 1, 1, 1, 4),
    (32, 48, 3, 2, 1, 4),
    (48, 48, 5, 1, 48, 8),
    (48, 96, 1, 1, 1, 8),
    (96, 48, 1, 1, 1, 8),
    (48, 96, 3, 2, 1, 8),
    (96, 96, 5, 1, 96, 16),
    (96, 192, 1, 1, 1, 16),
    (192, 96, 1, 1, 1, 16),
    (96, 48, 1, 1, 1, 16),
    (96, 192, 3, 2, 1, 16),
    (192, 192, 5, 1, 192, 32),
    (192, 384, 1, 1, 1, 32),
    (384, 192, 1, 1, 1, 32),
    (192, 48, 1, 1, 1, 32),
    (192, 64, 1, 1, 1, 32),
    (96, 64, 1, 1, 1, 16),
    (64, 64, 5, 1, 64, 16),
    (64, 128, 1, 1, 1, 16),
    (128, 64, 1, 1, 1, 16),
    (48, 64, 1, 1, 1, 8),
    (64, 64, 5, 1, 64, 8),
    (64, 128, 1, 1, 1, 8),
    (128, 64, 1, 1, 1, 8),
    (64, 32, 1, 1, 1, 8),
    (64, 48, 1, 1, 1, 8),
    (32, 48, 1, 1, 1, 4),
    (48, 24, 1, 1, 1, 4),
    (48, 48, 5, 1, 48, 4),
    (48, 48, 1, 1, 1, 4),
    (48, 14, 1, 1, 1, 4),
)
# Channels in and out; the stride at which the strip lies. Nine places along it, in both directions.
CELLNET_STRIPS = (
    (96, 48, 16),
    (48, 96, 16),
    (96, 48, 32),
    (48, 192, 32),
    (64, 32, 8),
    (32, 64, 8),
    (48, 24, 4),
    (24, 48, 4),
)
# Those that differ in kind.
RTDETR_CONVOLUTIONS = (
    (3, 32, 3, 2, 1, 1),
    (32, 16, 2, 1, 1, 2),
    (64, 32, 3, 2, 1, 2),
    (48, 48, 3, 1, 1, 4),
    (336, 64, 1, 1, 1, 4),
    (128, 128, 3, 2, 128, 4),
    (128, 96, 3, 1, 1, 8),
    (704, 256, 1, 1, 1, 8),
    (256, 512, 1, 1, 1, 8),
    (512, 512, 3, 2, 512, 8),
    (512, 192, 1, 1, 1, 16),
    (192, 192, 5, 1, 192, 16),
    (1664, 512, 1, 1, 1, 16),
    (1024, 1024, 3, 2, 1024, 16),
    (384, 384, 5, 1, 384, 32),
    (3328, 1024, 1, 1, 1, 32),
    (2048, 256, 1, 1, 1, 32),
    (256, 256, 3, 1, 1, 8),
    (256, 256, 3, 2, 1, 8),
)


def workloads(scale: Scale = FULL) -> Iterator[Workload]:
    """Yield what is measured."""
    yield from _convolutions(*scale.cellnet, CELLNET_CONVOLUTIONS)
    yield from _strips(*scale.cellnet)
    yield from _of_cellnet(*scale.cellnet)
    yield from _convolutions(*scale.rtdetr, RTDETR_CONVOLUTIONS)
    yield from _of_rtdetr(*scale.rtdetr)


def _convolutions(batch: int, side: int, rows: tuple[tuple[int, ...], ...]) -> Iterator[Workload]:
    for into, out, kernel, stride, groups, at in rows:
        size = max(side // at, kernel)
        pad = kernel // 2 if kernel % 2 else 0
        made = (size + 2 * pad - kernel) // stride + 1
        kind = "depthwise_conv2d" if groups == into else "conv2d"

        def call(paddle: Any, x: Any, w: Any, stride: int = stride, pad: int = pad, groups: int = groups) -> Any:
            return paddle.nn.functional.conv2d(x, w, stride=stride, padding=pad, groups=groups)

        yield Workload(
            f"{kind} {kernel}x{kernel}/{stride} {into}>{out} {batch}x{size}",
            call,
            (Given((batch, into, size, size)), Given((out, into // groups, kernel, kernel))),
            2.0 * batch * out * made * made * (into // groups) * kernel * kernel,
        )


def _strips(batch: int, side: int) -> Iterator[Workload]:
    for into, out, at in CELLNET_STRIPS:
        size = side // at
        for kernel, shape in (((9, 1), (size, 1)), ((1, 9), (1, size))):

            def call(paddle: Any, x: Any, w: Any, pad: tuple[int, int] = (kernel[0] // 2, kernel[1] // 2)) -> Any:
                return paddle.nn.functional.conv2d(x, w, padding=pad)

            yield Workload(
                f"conv2d {kernel[0]}x{kernel[1]}/1 {into}>{out} {batch}x{shape[0]}x{shape[1]}",
                call,
                (Given((batch, into, *shape)), Given((out, into, *kernel))),
                2.0 * batch * out * size * into * 9,
            )


def _of_cellnet(batch: int, side: int) -> Iterator[Workload]:
    quarter, eighth, sixteenth = side // 4, side // 8, side // 16
    wide, reduced = Given((batch, 48, quarter, quarter)), Given((batch, 24, quarter, quarter))
    strip, small = Given((batch, 48, quarter, 1)), f"{batch}x24x{quarter}"
    maps, large = Given((batch, quarter, quarter)), f"{batch}x48x{quarter}"
    yield Workload(
        f"scale pictures {batch}x3x{side}",
        lambda p, x: p.scale(x, 1 / 128, -1.0),
        (Given((batch, 3, side, side)),),
        gradient=False,
    )
    yield Workload(f"relu {large}", lambda p, x: p.nn.functional.relu(x), (wide,))
    yield Workload(f"add {large}", lambda p, x, y: x + y, (wide, wide), reads_inputs=False)
    yield Workload(f"add strip to {large}", lambda p, x, y: x + y, (wide, strip), reads_inputs=False)
    yield Workload(f"cast {large}", lambda p, x: x.astype("bfloat16"), (wide,), reads_inputs=False, in_halves=False)
    for channels, size in ((16, side // 2), (64, quarter), (96, eighth), (192, sixteenth)):
        yield Workload(
            f"batch_norm {batch}x{channels}x{size}",
            lambda p, x, mean, variance, w, b: p.nn.functional.batch_norm(x, mean, variance, w, b, training=True),
            (Given((batch, channels, size, size)), *(Given((channels,), "float32") for _ in range(4))),
        )
    for axis in (3, 2):
        yield Workload(
            f"mean axis {axis} {small}",
            lambda p, x, axis=axis: x.mean(axis, keepdim=True),
            (reduced,),
            reads_inputs=False,
        )
        yield Workload(f"max axis {axis} {small}", lambda p, x, axis=axis: x.max(axis, keepdim=True), (reduced,))
    yield Workload(
        f"concat strips {batch}x24x{quarter}",
        lambda p, x, y: p.concat([x, y], 1),
        tuple(Given((batch, 24, quarter, 1)) for _ in range(2)),
        reads_inputs=False,
    )
    yield Workload(
        f"mean channels of strip {batch}x48x{quarter}",
        lambda p, x: x.mean(1, keepdim=True),
        (strip,),
        reads_inputs=False,
    )
    of_channels = Given((batch, 1, quarter, 1))
    for name, call in (
        ("subtract", lambda p, x, y: x - y),
        ("divide", lambda p, x, y: x / y),
    ):
        yield Workload(f"{name} strip {batch}x48x{quarter}", call, (strip, of_channels))
    yield Workload(f"sqrt strip {batch}x{quarter}", lambda p, x: p.sqrt(x), (of_channels,))
    yield Workload(
        f"nearest_interp {batch}x48x{eighth}",
        lambda p, x: p.nn.functional.interpolate(x, scale_factor=2.0, mode="nearest"),
        (Given((batch, 48, eighth, eighth)),),
        reads_inputs=False,
    )
    yield from _of_cellnet_loss(batch, maps)
    yield Workload(
        f"max_pool2d 3x3/1 {batch}x1x{quarter}",
        lambda p, x: p.nn.functional.max_pool2d(x, 3, 1, 1),
        (Given((batch, 1, quarter, quarter)),),
        gradient=False,
    )
    yield Workload(
        f"nonzero {batch}x{quarter}", lambda p, x: p.nonzero(x), (Given(maps.shape, "bool"),), gradient=False
    )
    cells = Given((batch * 200, 3), "int64", min(batch, quarter))
    yield Workload(
        f"gather_nd {batch * 200} of {batch}x{quarter}",
        lambda p, x, at: p.gather_nd(x, at),
        (Given((*maps.shape, 14)), cells),
        gradient=False,
    )


def _of_cellnet_loss(batch: int, maps: Given) -> Iterator[Workload]:
    quarter = maps.shape[1]
    what = f"maps {batch}x{quarter}"
    yield Workload(f"sigmoid {what}", lambda p, x: p.nn.functional.sigmoid(x), (maps,))
    yield Workload(f"pow {what}", lambda p, x: x**2, (maps,))
    yield Workload(f"clip {what}", lambda p, x: x.clip(0.1, 0.9), (maps,))
    yield Workload(f"multiply {what}", lambda p, x, y: x * y, (maps, maps))
    yield Workload(f"divide {what}", lambda p, x, y: x / y, (maps, maps))
    yield Workload(f"abs {what}", lambda p, x: x.abs(), (maps,))
    yield Workload(f"exp {what}", lambda p, x: x.exp(), (maps,))
    yield Workload(f"sum {what}", lambda p, x: x.sum(), (maps,), reads_inputs=False)
    yield Workload(
        f"where {what}",
        lambda p, c, x, y: p.where(c, x, y),
        (Given(maps.shape, "bool"), maps, maps),
        reads_inputs=False,
    )
    yield Workload(
        f"sigmoid_cross_entropy {what}",
        lambda p, x, y: p.nn.functional.binary_cross_entropy_with_logits(x, y, reduction="none"),
        (maps, Given(maps.shape, "float32")),
        in_halves=False,
    )
    yield Workload(
        f"transpose {batch}x8x{quarter}",
        lambda p, x: p.transpose(x, [0, 2, 3, 1]).contiguous(),
        (Given((batch, 8, quarter, quarter)),),
        reads_inputs=False,
    )
    yield Workload(f"mean corners {batch}x{quarter}", lambda p, x: x.mean(-2), (Given((*maps.shape, 4, 2)),))
    yield Workload(
        f"gather quads {batch}x{quarter}",
        lambda p, x, i: p.gather(x, i),
        (Given((batch * 512, 8), "float32"), Given((batch * quarter * quarter,), "int64", batch * 512)),
        gradient=False,
        in_halves=False,
    )


def _of_rtdetr(batch: int, side: int) -> Iterator[Workload]:
    n, queries, heads = sum((side // stride) ** 2 for stride in (8, 16, 32)), 300, 8
    queries = min(queries, n)
    top, fine = side // 32, side // 8
    tokens, asked = Given((batch, n, 256)), Given((batch, queries, 256))
    maps = Given((batch, 256, fine, fine))
    yield Workload(f"silu {batch}x256x{fine}", lambda p, x: p.nn.functional.silu(x), (maps,))
    yield Workload(
        f"gelu {batch}x{top * top}x1024", lambda p, x: p.nn.functional.gelu(x), (Given((batch, top * top, 1024)),)
    )
    frozen = Given((1, 128, 1, 1), "float32")
    yield Workload(
        f"multiply by channel {batch}x128x{side // 4}",
        lambda p, x, w: x * w.astype(x.dtype),
        (Given((batch, 128, side // 4, side // 4)), frozen),
    )
    yield Workload(
        f"concat 48 seven times {batch}x{side // 4}",
        lambda p, *x: p.concat(list(x), 1),
        tuple(Given((batch, 48, side // 4, side // 4)) for _ in range(7)),
        reads_inputs=False,
    )
    yield Workload(
        f"pad3d {batch}x32x{side // 2}",
        lambda p, x: p.nn.functional.pad(x, [0, 1, 0, 1]),
        (Given((batch, 32, side // 2, side // 2)),),
        reads_inputs=False,
    )
    yield Workload(
        f"max_pool2d 2x2/1 {batch}x32x{side // 2}",
        lambda p, x: p.nn.functional.max_pool2d(x, 2, 1, ceil_mode=True),
        (Given((batch, 32, side // 2 + 1, side // 2 + 1)),),
    )
    yield Workload(
        f"nearest_interp {batch}x256x{side // 16}",
        lambda p, x: p.nn.functional.interpolate(x, scale_factor=2.0, mode="nearest"),
        (Given((batch, 256, side // 16, side // 16)),),
        reads_inputs=False,
    )
    for name, rows, columns in (("encoder", top * top, top * top), ("decoder", queries, queries)):
        yield Workload(
            f"softmax {name} {batch}x{heads}x{rows}x{columns}",
            lambda p, x: p.nn.functional.softmax(x, -1),
            (Given((batch, heads, rows, columns)),),
            reads_inputs=False,
        )
        yield Workload(
            f"matmul {name} {batch}x{heads}x{rows}x32x{columns}",
            lambda p, x, y: p.matmul(x, y),
            (Given((batch, heads, rows, 32)), Given((batch, heads, 32, columns))),
            2.0 * batch * heads * rows * 32 * columns,
        )
    for label, given, out in (("tokens", tokens, 256), ("queries", asked, 256), ("queries", asked, 1024)):
        yield Workload(
            f"matmul {label} {batch}x{given.shape[1]}x256x{out}",
            lambda p, x, w: p.matmul(x, w),
            (given, Given((256, out))),
            2.0 * batch * given.shape[1] * 256 * out,
        )
    for label, given in (("tokens", tokens), ("queries", asked)):
        yield Workload(
            f"layer_norm {label} {batch}x{given.shape[1]}x256",
            lambda p, x, w, b: p.nn.functional.layer_norm(x, 256, w, b),
            (given, Given((256,), "float32"), Given((256,), "float32")),
        )
    yield Workload(
        f"transpose {batch}x{n}x8x32",
        lambda p, x: p.transpose(x, [0, 2, 3, 1]).contiguous(),
        (Given((batch, n, heads, 32)),),
        reads_inputs=False,
    )
    yield Workload(
        f"grid_sample {batch * heads}x32x{fine}",
        lambda p, x, grid: p.nn.functional.grid_sample(x, grid, align_corners=False),
        (Given((batch * heads, 32, fine, fine)), Given((batch * heads, queries, 4, 2))),
    )
    yield Workload(
        f"sum last {batch * heads}x32x{queries}x12",
        lambda p, x: x.sum(-1),
        (Given((batch * heads, 32, queries, 12)),),
        reads_inputs=False,
    )
    yield Workload(f"max last {batch}x{n}x80", lambda p, x: x.max(-1), (Given((batch, n, 80)),))
    yield Workload(
        f"topk {queries} of {batch}x{n}", lambda p, x: p.topk(x, queries, 1), (Given((batch, n)),), 0.0, False
    )
    index = Given((batch, queries, 256), "int64", n)
    yield Workload(
        f"take_along_axis {batch}x{queries}x256",
        lambda p, x, i: p.take_along_axis(x, i, 1),
        (tokens, index),
        0.0,
        False,
    )
    numbers = Given((batch * queries,), "int64", batch * n)
    flat = Given((batch * n, 256))
    yield Workload(f"gather {batch * queries}x256", lambda p, x, i: p.gather(x, i), (flat, numbers), 0.0, False)
    yield Workload(
        f"scatter {batch * queries}x256",
        lambda p, x, i, y: p.scatter(x, i, y),
        (flat, numbers, Given((batch * queries, 256))),
        0.0,
        False,
    )
    yield Workload(f"pow {batch}x{queries}x80", lambda p, x: x.pow(2.0), (Given((batch, queries, 80)),))
