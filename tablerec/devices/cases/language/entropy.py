"""Cross entropy of a softmax: numbers and shares as labels, ignored ones, many classes, in place."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tablerec.devices.cases.case import FLOATS, HALVES, Call, Case, n

_TYPES = FLOATS + HALVES
_REACHED = ("cross_entropy_with_softmax", "cross_entropy_with_softmax_grad")


def cases() -> Iterator[Case]:
    """Yield the cases."""
    for x, labels, axis in (
        (n(6, 5), n(6, 1, low=0, high=5, dtype="int64"), -1),
        (n(6, 40), n(6, 1, low=0, high=40, dtype="int32"), -1),
        (n(2, 5, 9), n(2, 1, 9, low=0, high=5, dtype="int64"), 1),
        (n(3, 1003), n(3, 1, low=0, high=1003, dtype="int64"), -1),  # rows that are not aligned
        (n(2, 3, 4096), n(2, 3, 1, low=0, high=4096, dtype="int64"), -1),
        (n(4, 1), n(4, 1, low=0, high=1, dtype="int64"), -1),
        (n(0, 5), n(0, 1, low=0, high=5, dtype="int64"), -1),
    ):
        for ignored in (-100, 2):
            hard: Call = lambda p, x, t, a=axis, i=ignored: p.nn.functional.softmax_with_cross_entropy(  # noqa: E731
                x, t, ignore_index=i, axis=a
            )
            name = f"cross entropy {x.shape} {labels.dtype}, {ignored} ignored"
            yield Case(name, _REACHED, hard, (x, labels), _TYPES, True, 4, 4)
    some = n(8, 1, low=0, high=3, dtype="int64")
    for reduction in ("none", "mean", "sum"):
        padded: Call = lambda p, x, t, r=reduction: p.nn.functional.cross_entropy(  # noqa: E731
            x, p.where(t == 0, p.full_like(t, -100), t), reduction=r
        )
        yield Case(f"cross entropy, padding, {reduction}", _REACHED, padded, (n(8, 50), some), _TYPES, True, 4, 8)
    steep = n(4, 70, low=-31, high=31), n(4, 1, low=0, high=70, dtype="int64")
    both: Call = lambda p, x, t: p.nn.functional.softmax_with_cross_entropy(x, t, return_softmax=True)  # noqa: E731
    # The CPU takes what lies more than 64 under the largest for 64 under it.
    yield Case("cross entropy, steep", _REACHED[:1], both, steep, _TYPES, False, 4, 4)
    yield Case(
        "cross entropy in place",
        _REACHED,
        _in_place,
        (n(6, 40), n(6, 1, low=0, high=40, dtype="int64")),
        _TYPES,
        True,
        4,
        4,
    )
    for shape, axis in (((6, 40), -1), ((3, 1003), -1), ((2, 5, 9), 1)):
        soft: Call = lambda p, x, t, a=axis: p.nn.functional.softmax_with_cross_entropy(  # noqa: E731
            x, p.nn.functional.softmax(t.detach(), a), soft_label=True, axis=a
        )
        yield Case(f"cross entropy, soft labels {shape}", _REACHED, soft, (n(*shape), n(*shape)), _TYPES, True, 10, 8)
    chances = n(6, 5, low=0.1, high=1.0)
    of_chances: Call = lambda p, x, t: p.nn.functional.cross_entropy(x, t, reduction="none", use_softmax=False)  # noqa: E731
    numbers = n(6, 1, low=0, high=5, dtype="int64")
    yield Case("cross entropy of probabilities", _REACHED, of_chances, (chances, numbers), _TYPES, True, 4, 4)


def _in_place(p: Any, x: Any, labels: Any) -> Any:
    """Let softmax overwrite the logits, and its gradient overwrite the softmax."""
    logits = x * 2
    if p.device.get_device() == "cpu":
        return p.nn.functional.softmax_with_cross_entropy(logits, labels)
    return p._C_ops.cross_entropy_with_softmax_(logits, labels, False, True, True, -100, -1)[1]
