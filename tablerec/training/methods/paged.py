"""The optimizer's state in the host's memory between steps: it and the activations are never on the device together."""

from __future__ import annotations

from typing import Any

import paddle
from paddle import Tensor

from tablerec.training.methods.optimizer import AdamW8bit


class PagedOptimizer:
    """An optimizer whose state lies on the host but while it steps.

    A step begins when the activations are free again, so the most that is taken is the larger of two sums: weights,
    gradients and activations; or weights, gradients and the state. Each step copies the state there and back, on the
    host to the same memory, as fresh memory costs the system as much time as the copy. It is pageable: the CPU wheel of
    Paddle has no pinned memory, and copies wait for the device.

    Args:
        optimizer: AdamW of Paddle, or ``AdamW8bit``.
    """

    def __init__(self, optimizer: Any) -> None:
        self.inner = optimizer
        self._place = paddle.framework._current_expected_place()
        self._away: list[tuple[dict[str, Tensor], str]] = []
        self._kept: dict[str, Tensor] = {}  # on the host, by name
        self.page_out()

    def set_lr(self, value: float) -> None:
        """Set the learning rate."""
        self.inner.set_lr(value)

    def clear_grad(self) -> None:
        """Forget the gradients."""
        self.inner.clear_grad()

    def step(self) -> None:
        """Follow the gradients."""
        self.page_in()
        self.inner.step()
        self.page_out()

    def page_in(self) -> None:
        """Copy the state to the device."""
        if isinstance(self.inner, AdamW8bit):
            self.inner.move(self._place)
        for group, name in self._away:
            group[name] = _moved(group[name], self._place)
        self._away = []

    def page_out(self) -> None:
        """Copy the state to the host, and free it on the device."""
        if isinstance(self.inner, AdamW8bit):
            self.inner.move(paddle.CPUPlace())
            return
        for group in (*self.inner._accumulators.values(), self.inner._master_weights):
            # The powers of the betas may lie on the host anyway.
            for name in [name for name, tensor in group.items() if not tensor.place.is_cpu_place()]:
                group[name] = self._to_host(group[name])
                self._away.append((group, name))

    def _to_host(self, tensor: Tensor) -> Tensor:
        kept = self._kept.get(tensor.name)
        if kept is None:
            kept = self._kept[tensor.name] = _moved(tensor, paddle.CPUPlace())
        else:
            kept.copy_(tensor, True)
        return kept


def _moved(tensor: Tensor, place: Any) -> Tensor:
    """Copy a tensor to a place, under its name."""
    copy = tensor._copy_to(place, True)
    copy.name = tensor.name
    return copy
