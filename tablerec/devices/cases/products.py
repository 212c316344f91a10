"""Matrix products and convolutions."""

from __future__ import annotations

from collections.abc import Iterator

from tablerec.devices.cases.case import FLOATS, Call, Case, Options, n


def cases() -> Iterator[Case]:
    """Yield the cases."""
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
