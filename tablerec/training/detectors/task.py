"""What the training loop has to know of a kind of network."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from paddle import Tensor, nn

from tablerec.training.data.batches import Batch
from tablerec.training.data.samples import Canvas
from tablerec.training.settings import TrainSettings

Cast = Callable[[], AbstractContextManager[None]]
"""Opens the context in which operators compute in the precision of the settings."""


class Detections(NamedTuple):
    """Cells that a network has detected in a picture.

    Args:
        quads: ``(N, 4, 2)`` float64 pixels of the canvas, TL, TR, BR, BL.
        scores: ``(N,)`` float64, 0 to 1.
    """

    quads: NDArray[np.float64]
    scores: NDArray[np.float64]


class Task(ABC):
    """A kind of network: how it is made, its loss, and its detections.

    Attributes:
        stretch: Whether each picture fills the canvas, as where the network sees all pictures so;
            else pictures keep their shape and share a canvas.
        max_cells: The most cells that a picture may show; None for any number.
        needs_owners: Whether its targets are made of an owner map, see ``data.owners``.
        parts: Names of the sublayers that hold all parameters, in the order in which they run.
        head: Those of them that are the head.
    """

    stretch: bool = False
    max_cells: int | None = None
    needs_owners: bool = False
    parts: tuple[str, ...]
    head: tuple[str, ...]

    def canvas(self, settings: TrainSettings) -> Canvas:
        """What samples look like, for this kind of network."""
        s = settings.data
        return Canvas(
            size=s.image_size,
            max_cells=min(s.max_cells, self.max_cells or s.max_cells),
            max_images=s.max_images_per_canvas,
            stretch=self.stretch,
            copy_paste=s.copy_paste,
            with_owners=self.needs_owners,
        )

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
    def detect(self, net: nn.Layer, images: Tensor, threshold: float) -> list[Detections]:
        """Detect cells.

        Args:
            net: The network, in evaluation.
            images: ``(B, 3, S, S)`` float32 RGB, 0 to 255.
            threshold: Least score of a cell.
        """
