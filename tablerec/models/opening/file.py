"""A network and where it runs, as this or another process opens it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from tablerec.devices import parse_device
from tablerec.errors import ModelNotFoundError

Network = Callable[[NDArray[Any]], Sequence[NDArray[Any]]]
"""``(B, 3, H, W)`` to the network's outputs. Pictures of our networks are RGB from 0 to 255, float32; what is opened
here takes them as uint8 too, which is a quarter of the bytes."""


@dataclass(frozen=True, slots=True)
class NetworkFile:
    """A network and where it runs: all that this or another process must know to open it.

    Args:
        path: Its ONNX model, or the folder of Paddle's static model.
        device: As ``parse_device`` takes it; the first of several numbers.
        name: Of the network, as ``inference.yml`` has it.
        outputs: Names of its outputs; empty for any.
        threads: Of ONNX Runtime on the CPU; None takes as many as pay.
    """

    path: Path
    device: str
    name: str
    outputs: tuple[str, ...] = ()
    threads: int | None = None

    @property
    def card(self) -> int | None:
        """Number of the card on which ONNX Runtime runs it; None elsewhere."""
        device = parse_device(self.device)
        return (device.ids or (0,))[0] if device.kind == "gpu" and self.path.is_file() else None


def not_opened(path: Path, name: str, error: Exception) -> ModelNotFoundError:
    """Return the error for a file that a runtime refuses, with the last line of its reason."""
    cause = str(error).strip().splitlines()[-1:] or [type(error).__name__]
    return ModelNotFoundError(f"{path} cannot be opened ({cause[0]}): name the folder of an exported {name}")


def check_outputs(file: NetworkFile, found: Sequence[str]) -> None:
    """Make sure that a model has the outputs of the network that it is taken for.

    Raises:
        ModelNotFoundError: It has others.
    """
    if file.outputs and tuple(found) != file.outputs:
        raise ModelNotFoundError(f"{file.path} holds no {file.name}: name the folder of an exported {file.name}")
