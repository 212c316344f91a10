"""Matrix products and convolutions."""

from __future__ import annotations

from collections.abc import Iterator

from tablerec.devices.cases.case import FLOATS, HALVES, Call, Case, Input, Options, n

_TYPES = FLOATS + HALVES


def cases() -> Iterator[Case]:
    """Yield the cases."""
    yield from _products()
    yield from _convolutions()
    yield from _depthwise()
    yield from _transposed()


def _products() -> Iterator[Case]:
    for x, y, tx, ty in (
        (n(3, 4), n(4, 5), False, False),
        (n(4, 3), n(5, 4), True, True),
        (n(2, 3, 4), n(4, 5), False, False),
        (n(2, 3, 3, 4), n(2, 3, 5, 4), False, True),
        (n(4), n(4), False, False),
        (n(3, 4), n(4), False, False),
        (n(4), n(4, 5), False, False),
        # Few rows, as when tokens are decoded: in one kernel on a card.
        (n(1, 1, 64), n(64, 128), False, False),
        (n(8, 1, 40), n(40, 64), False, False),
        (n(3, 600), n(600, 192), False, False),
    ):
        call: Call = lambda p, x, y, a=tx, b=ty: p.matmul(x, y, a, b)  # noqa: E731
        yield Case(f"matmul {x.shape} {y.shape}", ("matmul", "matmul_grad"), call, (x, y), _TYPES, True, 4, 4)
    call = lambda p, x, y: p.matmul(x, y)  # noqa: E731
    yield Case("matmul, empty", ("matmul", "matmul_grad"), call, (n(0, 4), n(4, 5)), FLOATS, True)
    call = lambda p, x, y: p.bmm(x, y)  # noqa: E731
    yield Case("bmm", ("bmm", "bmm_grad"), call, (n(3, 4, 5), n(3, 5, 2)), _TYPES, True, 4, 4)
    for added in (n(3, 5), n(1, 5), n(5)):
        call = lambda p, i, x, y: p.addmm(i, x, y, 0.5, 2.0)  # noqa: E731
        inputs = added, n(3, 4), n(4, 5)
        yield Case(f"addmm {added.shape}", ("addmm", "addmm_grad"), call, inputs, _TYPES, True, 4, 4)


def _convolutions() -> Iterator[Case]:
    convolutions: Options = (
        {},
        {"stride": 2, "padding": 1},
        {"dilation": 2, "padding": [2, 1]},
        {"groups": 2},
        {"padding": "SAME", "stride": 2},
        {"padding": [1, 0, 0, 2]},
    )
    for options in convolutions:
        x, w = n(2, 4, 9, 8), n(6, 4 // int(options.get("groups", 1)), 3, 3)
        yield _convolution(f"conv2d {options}", x, w, **options)
    for x, w, padding in (
        (n(3, 5, 6, 7), n(4, 5, 1, 1), 0),  # products of matrices
        (n(2, 5, 1, 20), n(4, 5, 1, 9), [0, 4]),  # conv1d
        (n(0, 4, 9, 8), n(6, 4, 3, 3), 1),
    ):
        yield _convolution(f"conv2d {x.shape} {w.shape}", x, w, padding=padding)


def _convolution(name: str, x: Input, w: Input, **options: object) -> Case:
    call: Call = lambda p, x, w: p.nn.functional.conv2d(x, w, **options)  # noqa: E731
    return Case(name, ("conv2d", "conv2d_grad"), call, (x, w), _TYPES, True, 20, 4)


def _depthwise() -> Iterator[Case]:
    # Several tiles of 32, cut ones among them; kernels of 3, 5, 7 and 9 have code of their own, 4 has not.
    for kernel, stride, shape, padding in (
        (3, 1, (2, 3, 37, 29), 1),
        (5, 1, (2, 3, 37, 29), 2),
        (7, 1, (2, 3, 37, 70), 3),
        (9, 1, (1, 3, 37, 29), 4),
        (3, 2, (2, 3, 37, 29), 1),
        (5, 2, (2, 3, 38, 69), 2),
        (7, 2, (1, 3, 37, 29), 3),
        (9, 2, (1, 2, 20, 21), 4),
        (3, 1, (12, 5, 4, 3), [1, 0, 2, 1]),
        (5, 2, (3, 2, 10, 9), 0),
        (3, 1, (2, 3, 6, 7), 4),  # padded by more than the kernel
        (4, 2, (2, 3, 9, 8), 1),
    ):
        call: Call = lambda p, x, w, s=stride, m=padding, g=shape[1]: p.nn.functional.conv2d(  # noqa: E731
            x, w, stride=s, padding=m, groups=g
        )
        yield Case(
            f"depthwise_conv2d {kernel} / {stride} {shape}",
            ("depthwise_conv2d", "depthwise_conv2d_grad"),
            call,
            (n(*shape), n(shape[1], 1, kernel, kernel)),
            _TYPES,
            True,
            20,
            4,
        )
    # Low planes and rows, in whole strips of 8.
    for size, shape in (
        ((5, 5), (5, 3, 8, 32)),
        ((5, 5), (2, 3, 16, 8)),
        ((5, 5), (2, 3, 1, 16)),
        ((3, 3), (3, 2, 4, 24)),
        ((1, 9), (4, 3, 1, 32)),
        ((1, 9), (2, 3, 20, 8)),
    ):
        low: Call = lambda p, x, w, m=(size[0] // 2, size[1] // 2): p.nn.functional.conv2d(  # noqa: E731
            x, w, padding=m, groups=x.shape[1]
        )
        yield Case(
            f"depthwise_conv2d {size} {shape}",
            ("depthwise_conv2d", "depthwise_conv2d_grad"),
            low,
            (n(*shape), n(shape[1], 1, *size)),
            _TYPES,
            True,
            20,
            4,
        )
    twice: Call = lambda p, x, w: p.nn.functional.conv2d(x, w, stride=2, padding=1, groups=4)  # noqa: E731
    reached = ("depthwise_conv2d", "depthwise_conv2d_grad")
    yield Case("depthwise_conv2d, two for each", reached, twice, (n(2, 4, 9, 8), n(8, 1, 3, 3)), _TYPES, True, 20, 4)


def _transposed() -> Iterator[Case]:
    transposed: Options = (
        {},
        {"stride": 2, "padding": 1},
        {"stride": 2, "padding": 1, "output_padding": 1},
        {"stride": 2, "padding": "SAME"},
        {"groups": 2, "padding": [1, 0, 0, 1]},
        {"dilation": 2},
    )
    for options in transposed:
        call: Call = lambda p, x, w, o=options: p.nn.functional.conv2d_transpose(x, w, **o)  # noqa: E731
        inputs = n(2, 4, 5, 6), n(4, 6 // int(options.get("groups", 1)), 3, 3)
        reached = ("conv2d_transpose", "conv2d_transpose_grad")
        yield Case(f"conv2d_transpose {options}", reached, call, inputs, _TYPES, True, 20, 4)
    for stride in (1, 2):
        call = lambda p, x, w, s=stride: p.nn.functional.conv2d_transpose(x, w, stride=s, padding=1, groups=4)  # noqa: E731
        reached = ("depthwise_conv2d_transpose", "depthwise_conv2d_transpose_grad")
        inputs = n(2, 4, 5, 6), n(4, 1, 3, 3)
        yield Case(f"depthwise_conv2d_transpose / {stride}", reached, call, inputs, _TYPES, True, 20, 4)
