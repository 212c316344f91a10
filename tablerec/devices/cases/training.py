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
    yield Case("binary cross entropy", logits, entropy, shapes, _REAL, True)
    weighted: Call = lambda p, x, t, w: p.nn.functional.binary_cross_entropy_with_logits(  # noqa: E731
        x, t.detach(), reduction="none", pos_weight=w.detach()
    )
    weights = n(5, low=0.5, high=3)
    yield Case("binary cross entropy weighted", logits, weighted, (*shapes, weights), _REAL, True, 1, 2)
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
    yield from _optimizers()


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
        yield Case(name, ("check_finite_and_unscale",), unscale, (n(70), n(3)), _REAL)
    for infinite in (False, True):
        for steps in (0, 1):
            scale: Call = lambda p, x, infinite=infinite, steps=steps: _rescaled(p, x, infinite, steps)  # noqa: E731
            name = f"update_loss_scaling {infinite} {steps}"
            yield Case(name, ("update_loss_scaling",), scale, (n(9),), _REAL)


def _optimizers() -> Iterator[Case]:
    """Yield steps of two parameters."""
    # Parameter, gradient, first and second moment.
    given = [n(*shape, low=low) for shape in ((3, 5), (70,)) for low in (-2.0, -2.0, -2.0, 0.0)]
    for name in ("sgd", "momentum", "merged_momentum", "adam", "adamw", "merged_adam", "fused_adam"):
        plain: Call = lambda p, *x, name=name: _stepped(p, name, x)  # noqa: E731
        yield Case(name, (name,), plain, tuple(given), _REAL, False, 4, 2)
        # A master makes the step in float32, whatever the type of the gradient.
        for wide in (False, True):
            exact: Call = lambda p, *x, name=name, wide=wide: _stepped(p, name, x, True, wide)  # noqa: E731
            yield Case(f"{name} master {wide}", (name,), exact, tuple(given), HALVES, False, 1, 0.01)


def _unscaled(p: Any, x: Any, y: Any, infinite: bool) -> list[Any]:
    """Divide two tensors by a scale; what follows an infinity is left unwritten on the CPU."""
    first, second = p.assign(x), p.concat([y, y / 0]) if infinite else p.assign(y)
    found = p._C_ops.check_finite_and_unscale_([first, second], p.full([1], 4.0, _state_type(x)))[-1]
    return [first, found] if infinite else [first, second, found]


def _rescaled(p: Any, x: Any, infinite: bool, steps: int) -> list[Any]:
    gradient, scale = p.assign(x), p.full([1], 8.0, _state_type(x))
    good, bad = p.full([1], steps, "int32"), p.full([1], steps, "int32")
    p._C_ops.update_loss_scaling_([gradient], p.full([1], infinite, "bool"), scale, good, bad, 2, 2, 2.0, 0.5, False)
    return [gradient, scale, good, bad]


def _state_type(x: Any) -> str:
    """Return the type of what is kept beside a tensor: float32 for half precision."""
    return "float64" if str(x.dtype) == "paddle.float64" else "float32"


def _stepped(p: Any, name: str, given: Any, master: bool = False, wide: bool = False) -> list[Any]:
    """Make a step of each parameter, and return what it changed.

    With ``master`` the parameters have masters in float32, and with ``wide`` their gradients are in it too.
    The CPU, which computes in float32, needs neither.
    """
    how: tuple[Any, ...]
    ops, cpu, state = p._C_ops, p.device.get_device() == "cpu", _state_type(given[0])
    parameters, gradients, first, second = ([p.assign(x) for x in given[k::4]] for k in range(4))
    masters = [x.astype(state) for x in parameters] if master and not cpu else None
    multi = masters is not None
    if wide:
        gradients = [x.astype(state) for x in gradients]
    if multi or "adam" in name:
        first, second = [x.astype(state) for x in first], [x.astype(state) for x in second]
    rates = [p.full([1], 0.25, state) for _ in parameters]
    # Which Paddle keeps on the host.
    power1, power2 = ([p.full([1], beta, state, device="cpu") for _ in parameters] for beta in (0.9, 0.99))
    betas, moments = (0.9, 0.99, 1e-6), (first, second, None, power1, power2)
    if "momentum" in name and cpu:  # which ignores the number that gradients are multiplied by
        gradients = [0.5 * x for x in gradients]
    if name == "merged_momentum":
        how = ["l2_decay", ""], [0.1, 0.0], multi, 0.5
        ops.merged_momentum_(parameters, gradients, first, rates, masters, 0.9, True, *how)
    elif name == "merged_adam":
        ops.merged_adam_(parameters, gradients, rates, *moments, masters, *betas, multi, False, False)
    elif name == "fused_adam" and not cpu:  # which has adamw alone
        how = True, multi, False, False
        ops.fused_adam_(parameters, gradients, rates[0], *moments, masters, None, *betas, 4096, 0.1, *how)
    else:
        own = masters or [None] * len(parameters)
        every = zip(parameters, gradients, rates, first, second, power1, power2, own, strict=True)
        for x, g, rate, m, v, a, b, mine in every:
            if name == "sgd":
                ops.sgd_(x, rate, g, mine, multi)
            elif name == "momentum":
                ops.momentum_(x, g, m, rate, mine, 0.9, True, "l2_decay", 0.1, multi, 0.5)
            elif name == "adam":
                ops.adam_(x, g, rate, m, v, None, a, b, mine, None, *betas, False, 1000, multi, False, False)
            else:
                how = 1.0, 0.1, True, False, 1000, multi, False, False
                ops.adamw_(x, g, rate, m, v, None, a, b, mine, None, *betas, *how)
    if not master:
        return [*parameters, *first, *second, *power1, *power2]
    kept = masters or parameters
    rounded = [p.all(x == own.astype(x.dtype)) for x, own in zip(parameters, kept, strict=True)]
    return [*kept, *rounded, *first, *second, *power1, *power2]
