"""Numbers of one byte: rounding to them, and moving them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tablerec.devices.cases.case import FLOAT8, HALVES, Call, Case, n


def cases() -> Iterator[Case]:
    """Yield the cases."""
    for to in FLOAT8:
        # Ties, numbers below the smallest normal one, and saturation; the values between 464 and 480 in which Paddle's
        # own two classes differ, on the host and on a card, are left out.
        for low, high in ((-2.0, 2.0), (-440.0, 440.0), (-0.03, 0.03), (500.0, 50000.0)):
            yield Case(
                f"cast to {to} [{low}, {high})",
                ("cast",),
                lambda p, x, to=to: x.astype(to).astype("float32"),
                (n(7, 33, low=low, high=high),),
                ("float32", "float64", *HALVES),
            )
        yield Case(
            f"cast integers to {to}",
            ("cast",),
            lambda p, x, to=to: x.astype(to).astype("int32"),
            (n(40, low=-40, high=40),),
            ("int32", "int64"),
        )
        yield Case(f"cast to {to}, empty", ("cast",), lambda p, x, to=to: x.astype(to), (n(0, 3),))
        yield Case(f"cast to {to} exactly", ("cast",), lambda p, x, to=to: _every_number(p, to), (n(1),), ("float32",))
    yield from _moved()


def _moved() -> Iterator[Case]:
    wide = n(6, 32)
    for name, reached, call, inputs in (
        ("assign", "assign", lambda p, x: p.assign(x), (wide,)),
        ("assign, empty", "assign", lambda p, x: p.assign(x), (n(0, 3),)),
        ("reshape", "cast", lambda p, x: p.reshape(x, [4, -1]), (wide,)),
        ("transpose", "contiguous", lambda p, x: p.transpose(x, [1, 0]).contiguous(), (wide,)),
        ("concat", "concat", lambda p, x, y: p.concat([x, y], 1), (wide, n(6, 5))),
        ("split", "split", lambda p, x: p.split(x, [8, 24], 1), (wide,)),
        ("split evenly", "split_with_num", lambda p, x: p.split(x, 2, 1), (wide,)),
        ("stack", "stack", lambda p, x, y: p.stack([x, y], 1), (wide, wide)),
        ("unstack", "unstack", lambda p, x: p.unstack(x, 1), (wide,)),
        ("expand", "expand", lambda p, x: p.expand(x, [3, 6, 32]), (wide,)),
        ("slice", "contiguous", lambda p, x: x[1:4, ::2].contiguous(), (wide,)),
        ("full", "full", lambda p, x: p.full([2, 3], 1.5, x.dtype), (wide,)),
        ("full_like", "full_like", lambda p, x: p.full_like(x, 1.5), (wide,)),
        ("fill", "fill", lambda p, x: p.assign(x).fill_(3), (wide,)),
        ("fill a view", "strided_copy", _fill_a_view, (wide,)),
        ("copy to the host and back", "cast", _there_and_back, (wide,)),
    ):
        yield Case(f"{name} of float8", (reached,), call, inputs, FLOAT8)
    no_views = (("FLAGS_use_stride_kernel", False),)
    turn: Call = lambda p, x: p.transpose(x, [1, 0])  # noqa: E731
    yield Case("transpose of float8, no views", ("transpose",), turn, (wide,), FLOAT8, flags=no_views)


def _fill_a_view(p: Any, x: Any) -> Any:
    copy = p.assign(x)
    copy[1:, ::2].fill_(3)
    return copy


def _every_number(p: Any, to: str) -> Any:
    """Return what half-way numbers and their neighbours are rounded to, and all numbers that the type has."""
    steps = p.arange(0, 64, dtype="float32")
    powers = 2.0 ** p.arange(-20, 6, dtype="float32")
    return (powers.unsqueeze(1) * steps / 8).clip(0, 440).astype(to).astype("float32")


def _there_and_back(p: Any, x: Any) -> Any:
    device = p.device.get_device()
    return x if device == "cpu" else x.cpu()._copy_to(p.base.framework._get_paddle_place(device), True)
