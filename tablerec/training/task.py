"""What the loop has to know of a kind of network."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from paddle import Tensor, nn

from tablerec.training.batches import Batch
from tablerec.training.samples import Canvas
from tablerec.training.settings import TrainSettings

Cast = Callable[[], AbstractContextManager[None]]
"""Opens the context in which operators compute in the precision of the settings."""


class Found(NamedTuple):
    """Cells that a network found in a picture.

    Args:
        quads: ``(N, 4, 2)`` float64 pixels of the canvas, TL, TR, BR, BL.
        scores: ``(N,)`` float64, 0 to 1.
    """

    quads: NDArray[np.float64]
    scores: NDArray[np.float64]


class Task(ABC):
    """A kind of network: how it is made, what it should answer, and what it found.

    Attributes:
        stretch: Whether each picture fills the canvas, as where the network sees all pictures so;
            else pictures keep their shape and share a canvas.
        most_cells: The most cells that a picture may show; None for any number.
        parts: Names of the sublayers that hold all parameters, in the order in which they run.
        head: Those of them that are the head.
    """

    stretch: bool = False
    most_cells: int | None = None
    parts: tuple[str, ...]
    head: tuple[str, ...]

    def canvas(self, settings: TrainSettings) -> Canvas:
        """What samples look like, for this kind of network."""
        most_cells = min(settings.most_cells, self.most_cells or settings.most_cells)
        return Canvas(settings.side, most_cells, settings.stack, self.stretch, settings.copy_paste)

    @abstractmethod
    def make(self) -> nn.Layer:
        """Make the network, with random weights."""

    @abstractmethod
    def load(self, net: nn.Layer, path: Path) -> None:
        """Give it the weights of ``initial``.

        Raises:
            InputError: They are broken or of another network.
        """

    @abstractmethod
    def save(self, net: nn.Layer, output: Path) -> Path:
        """Write a network as recognition and ``tablerec export`` want it; returns the file or folder."""

    @abstractmethod
    def loss(self, net: nn.Layer, batch: Batch, cast: Cast) -> dict[str, Tensor]:
        """Compute the parts of the loss and their weighted sum, ``total``: scalars on the device."""

    @abstractmethod
    def find(self, net: nn.Layer, images: Tensor, threshold: float) -> list[Found]:
        """Find cells.

        Args:
            net: The network, in evaluation.
            images: ``(B, 3, S, S)`` float32 RGB, 0 to 255.
            threshold: Least score of a cell.
        """


def find_task(settings: TrainSettings) -> Task:
    """Make the task that ``model`` names."""
    if settings.model == "rtdetr_l":
        from tablerec.training.rtdetr_task import RTDETRTask

        return RTDETRTask(settings)
    from tablerec.training.cellnet_task import CellNetTask

    return CellNetTask(settings)
