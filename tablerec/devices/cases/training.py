"""Losses, optimizers over several parameters, and loss scaling."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tablerec.devices.cases.case import FLOATS, HALVES, Call, Case, n

_REAL = FLOATS + HALVES


def cases() -> Iterator[Case]:
    """Yield the cases."""
    logits = ("sigmoid_cross_entropy_with_logits", "sigmoid_cross_entropy_with_logits_grad")
    shapes = n(4, 5, low=-9, high=9), n(4, 5, low=0, high=1)
    entropy: Call = lambda p, x, t: p.nn.functional.binary_cross_entropy_with_logits(x, t.detach(), reduction="none")  # noqa: E731
    yield Case("binary cross entropy", logits, entropy, shapes, ("float32", *HALVES), True)
    weighted: Call = lambda p, x, t, w: p.nn.functional.binary_cross_entropy_with_logits(  # noqa: E731
        x, t.detach(), reduction="none", pos_weight=w.detach()
    )
    weights = n(5, low=0.5, high=3)
    yield Case("binary cross entropy weighted", logits, weighted, (*shapes, weights), ("float32", *HALVES), True, 1, 2)
    huber: Call = lambda p, x, t: p.nn.functional.smooth_l1_loss(x, t, "none")  # noqa: E731
    yield Case(
        "huber_loss", ("huber_loss", "huber_loss_grad"), huber, (n(4, 5), n(4, 5)), _REAL, True, half_tolerance=2
    )
    labels = n(6, 1, low=0, high=5, dtype="int64")
    softmax: Call = lambda p, x, t: p.nn.functional.cross_entropy(x, t, reduction="none")  # noqa: E731
    reached = ("cross_entropy_with_softmax", "cross_entropy_with_softmax_grad")
    yield Case("cross entropy", reached, softmax, (n(6, 5), labels), FLOATS, True, 4)
    yield from _other_losses()
    yield from _steps()


def _other_losses() -> Iterator[Case]:
    bce: Call = lambda p, x, t: p.nn.functional.binary_cross_entropy(x, t.detach(), reduction="none")  # noqa: E731
    inside = n(4, 5, low=0.1, high=0.9), n(4, 5, low=0, high=1)
    yield Case("bce_loss", ("bce_loss", "bce_loss_grad"), bce, inside, _REAL, True, 4, 4)
    for log_target in (False, True):
        divergence: Call = lambda p, x, t, log_target=log_target: p.nn.functional.kl_div(  # noqa: E731
            x, t.detach(), "none", log_target
        )
        reached = ("kldiv_loss", "kldiv_loss_grad")
        yield Case(f"kldiv_loss {log_target}", reached, divergence, (n(4, 5), n(4, 5, low=-0.5)), _REAL, True, 1, 2)
    smooth: Call = lambda p, x: p._C_ops.label_smooth(x, None, 0.1)  # noqa: E731
    yield Case("label_smooth", ("label_smooth", "label_smooth_grad"), smooth, (n(4, 5),), _REAL, True)
    prior: Call = lambda p, x, y: p._C_ops.label_smooth(x, y.detach(), 0.1)  # noqa: E731
    yield Case("label_smooth prior", ("label_smooth", "label_smooth_grad"), prior, (n(4, 5), n(1, 5)), _REAL, True)
    for reduction in ("none", "mean", "sum"):
        for shape in ((6, 5), (2, 5, 3, 4)) if reduction == "none" else ((6, 5),):  # the CPU fails at the other
            likelihood: Call = lambda p, x, t, w, reduction=reduction: p.nn.functional.nll_loss(  # noqa: E731
                x, t, w.detach(), 2, reduction
            )
            label = n(shape[0], *shape[2:], low=0, high=5, dtype="int64")
            yield Case(
                f"nll_loss {reduction} {shape}",
                ("nll_loss", "nll_loss_grad"),
                likelihood,
                (n(*shape), label, n(5, low=0.5)),
                _REAL,
                True,
                4,
                4,
            )


def _steps() -> Iterator[Case]:
    for infinite in (False, True):
        unscale: Call = lambda p, x, y, infinite=infinite: _unscaled(p, x, y, infinite)  # noqa: E731
        name = f"check_finite_and_unscale {infinite}"
        yield Case(name, ("check_finite_and_unscale",), unscale, (n(70), n(3)), ("float32", *HALVES))
    for infinite in (False, True):
        for steps in (0, 1):
            scale: Call = lambda p, x, infinite=infinite, steps=steps: _rescaled(p, x, infinite, steps)  # noqa: E731
            name = f"update_loss_scaling {infinite} {steps}"
            yield Case(name, ("update_loss_scaling",), scale, (n(9),), ("float32", *HALVES))


def _unscaled(p: Any, x: Any, y: Any, infinite: bool) -> list[Any]:
    """Divide two tensors by a scale; what follows an infinity is left unwritten on the CPU."""
    first, second = p.assign(x), p.concat([y, y / 0]) if infinite else p.assign(y)
    found = p._C_ops.check_finite_and_unscale_([first, second], p.full([1], 4.0))[-1]
    return [first, found] if infinite else [first, second, found]


def _rescaled(p: Any, x: Any, infinite: bool, steps: int) -> list[Any]:
    gradient, scale = p.assign(x), p.full([1], 8.0)
    good, bad = p.full([1], steps, "int32"), p.full([1], steps, "int32")
    p._C_ops.update_loss_scaling_([gradient], p.full([1], infinite, "bool"), scale, good, bad, 2, 2, 2.0, 0.5, False)
    return [gradient, scale, good, bad]
