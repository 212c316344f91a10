"""Mixed precision: casts, and a scale of the loss that keeps small float16 gradients above zero."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from typing import Any

import paddle
from paddle import Tensor

from tablerec.errors import SettingsError, TrainingError

_MIN_SCALE = 2.0**-10


def cast_context(precision: str) -> Any:
    """Open a context in which convolutions and products compute in a precision: ``paddle.amp`` at level O1."""
    dtype = precision if precision != "float32" else "bfloat16"
    return paddle.amp.auto_cast(enable=precision != "float32", dtype=dtype, level="O1")


def check_precision(precision: str) -> None:
    """Make sure that the device computes in a precision: Paddle only warns, and goes on in float32.

    Raises:
        SettingsError: It does not.
    """
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with cast_context(precision):
            pass
    if caught:
        raise SettingsError(
            f"memory.precision {precision!r}: {caught[0].message} Choose float32; a device plugin can take a name for "
            "which Paddle allows it, such as TABLEREC_DEVICE_NAME=iluvatar_gpu"
        )


class LossScale:
    """A factor of the loss that grows while gradients stay finite and shrinks where they do not.

    Micikevicius et al., "Mixed Precision Training", 2018. Plain operators, so that any device has it.

    Args:
        value: The first one; 1 leaves all as it is and looks at nothing.
        patience: Steps with finite gradients after which it doubles.

    >>> scale, weight = LossScale(8.0), paddle.to_tensor([1.0], stop_gradient=False)
    >>> (weight * scale.value).sum().backward()
    >>> scale.undo([weight]), weight.grad.tolist()
    (True, [1.0])
    >>> (weight * float("inf")).sum().backward()
    >>> scale.undo([weight]), scale.value
    (False, 4.0)
    """

    def __init__(self, value: float = 65536.0, patience: int = 1000) -> None:
        self.value, self.n_good, self._patience = value, 0, patience
        self._active = value != 1

    @classmethod
    def of(cls, precision: str) -> LossScale:
        """Return what a precision needs."""
        return cls(65536.0 if precision == "float16" else 1.0)

    @paddle.no_grad()
    def undo(self, parameters: Iterable[Tensor]) -> bool:
        """Divide the gradients by the factor; returns whether they are finite, and a step may follow.

        This waits for the device where the factor was not 1.

        Raises:
            TrainingError: They are finite at no scale.
        """
        if not self._active:
            return True
        trained = [each for each in parameters if each.grad is not None]
        for each in trained:
            each.grad = each.grad / self.value
        finite = bool(paddle.isfinite(paddle.add_n([each.grad.abs().sum() for each in trained])))
        if not finite and self.value < _MIN_SCALE:
            raise TrainingError(
                "the gradients are finite at no scale of the loss: set memory.precision to bfloat16 or float32, "
                "or lower optimizer.learning_rate, and go on from the last checkpoint"
            )
        self.n_good = self.n_good + 1 if finite else 0
        if not finite:
            self.value /= 2
        elif self.n_good % self._patience == 0:
            self.value *= 2
        return finite
