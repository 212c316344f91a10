"""Connectionist temporal classification: labels of all lengths, possible or not."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tablerec.devices.cases.case import FLOATS, Case, n

_REACHED = ("warpctc", "warpctc_paths", "warpctc_softmax", "warpctc_posterior", "warpctc_grad")


def cases() -> Iterator[Case]:
    """Yield the cases."""
    # Name, steps and places of a label, classes, the blank, and the lengths of each sample's logits and label.
    shapes: tuple[tuple[str, int, int, int, int, tuple[int, ...], tuple[int, ...]], ...] = (
        ("labels of all lengths", 9, 4, 7, 0, (9, 9, 9, 9, 5), (0, 1, 2, 3, 4)),
        ("the blank last", 8, 3, 6, 5, (8, 7), (3, 2)),
        ("more steps than fit", 6, 4, 5, 0, (4, 3, 1, 6), (4, 4, 2, 4)),
        ("one step", 1, 2, 5, 0, (1, 1, 1), (0, 1, 2)),
        ("no step", 5, 3, 4, 0, (0, 0, 5), (1, 2, 1)),
        ("two classes: repeated labels", 12, 5, 2, 0, (12, 9, 10), (5, 5, 4)),
        ("many classes", 40, 12, 700, 0, (40, 25), (12, 9)),
        ("long labels", 90, 40, 11, 0, (90, 90), (40, 33)),
    )
    for name, steps, places, classes, blank, step_counts, label_counts in shapes:
        low, high = (0, classes - 1) if blank else (1, classes)
        inputs = (
            n(steps, len(step_counts), classes, low=-4, high=4),
            n(len(step_counts), places, low=low, high=high, dtype="int32"),
        )

        def loss(
            p: Any,
            x: Any,
            labels: Any,
            blank: int = blank,
            step_counts: tuple[int, ...] = step_counts,
            label_counts: tuple[int, ...] = label_counts,
            by_times: bool = False,
        ) -> Any:
            lengths = (p.to_tensor(list(counts), "int64") for counts in (step_counts, label_counts))
            return p.nn.functional.ctc_loss(x, labels, *lengths, blank, "none", by_times)

        yield Case(f"ctc_loss {name}", _REACHED, loss, inputs, FLOATS, True, 16)
        if 0 not in step_counts:  # by which the CPU divides

            def shared(p: Any, x: Any, labels: Any, loss: Any = loss) -> Any:
                return loss(p, x, labels, by_times=True)

            yield Case(f"ctc_loss by times, {name}", _REACHED, shared, inputs, FLOATS, True, 16)
