"""What the steps of a tuning take on the device, by Paddle's count of its tensors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tablerec.language.method import Tuned


@dataclass(frozen=True, slots=True)
class Taken:
    """Most bytes that were taken in a part of a step, weights and all else included.

    Args:
        before: Before the step: weights, and the optimizer's state where it stays on the device.
        forward: Until the loss is there.
        kept: At the loss: what gradients need.
        backward: Until the gradients are there.
        update: While the optimizer steps.
    """

    before: int
    forward: int
    kept: int
    backward: int
    update: int

    @property
    def peak(self) -> int:
        """The most of the whole step."""
        return max(self.forward, self.backward, self.update)


def measure_steps(tuned: Tuned, ids: Any, labels: Any, steps: int = 2) -> Taken:
    """Take steps, and measure the last one; the first makes the optimizer's state.

    Args:
        tuned: The model, on the device that is set.
        ids: ``(batch, length)`` int64, the tokens.
        labels: The same, what is to follow each.
        steps: 2 or more.
    """
    import paddle

    from tablerec.training.memory import current_memory, peak_memory, reset_peak_memory

    device = paddle.device.get_device()

    def peak() -> int:
        found = peak_memory(device)
        reset_peak_memory(device)
        return found

    for _ in range(steps):
        before = current_memory(device)
        peak()
        found = tuned.net(input_ids=ids, labels=labels)
        loss = found[0] if isinstance(found, (tuple, list)) else found.loss
        del found  # it holds the logits
        forward, kept = peak(), current_memory(device)
        loss.backward()
        backward = peak()
        tuned.step()
        del loss
        update = peak()
    return Taken(before, forward, kept, backward, update)
