"""Losses."""

from __future__ import annotations

from collections.abc import Iterator

from tablerec.devices.cases.case import FLOATS, Case, n


def cases() -> Iterator[Case]:
    """Yield the cases."""
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
