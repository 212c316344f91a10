"""What the training loop has to know of a kind of network."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from paddle import Tensor, nn

from tablerec.training.data.feed import Preparation
from tablerec.training.settings import TrainSettings

Cast = Callable[[], AbstractContextManager[None]]
"""Opens the context in which operators compute in the precision of the settings."""


class Batch(Protocol):
    """Samples on the device."""

    @property
    def images(self) -> Tensor:
        """``(B, 3, H, W)`` float32 RGB, 0 to 255."""

    @property
    def n_objects(self) -> int:
        """How many cells or characters it holds: what the loss is a mean over."""

    def first(self) -> Batch:
        """Return its first sample alone."""


class Buffer(Protocol):
    """Samples that are kept for reuse; the newest ones stay."""

    @property
    def indices(self) -> Sequence[int]:
        """Of its samples, oldest first."""

    def __len__(self) -> int:
        """How many samples it holds."""

    def put(self, sample: Any, index: int) -> None:
        """Add a sample, in place of the oldest where the buffer is full."""

    def draw(self, rng: np.random.Generator) -> Batch:
        """Make a batch of samples chosen and changed at random: by ``rng``, by its content, by the device's seed."""


class Task(ABC):
    """A kind of network: how it is made, what its samples are, its loss, and how well it does.

    Attributes:
        parts: Names of the sublayers that hold all parameters, in the order in which they run.
        head: Those of them that are the head.
    """

    parts: tuple[str, ...]
    head: tuple[str, ...]

    @abstractmethod
    def preparation(self, settings: TrainSettings, *, validation: bool = False) -> Preparation:
        """How samples are prepared, for training or for validation."""

    @abstractmethod
    def buffer(self, settings: TrainSettings, capacity: int) -> Buffer:
        """Make an empty buffer of samples."""

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
    def loss(self, net: nn.Layer, batch: Any, cast: Cast) -> dict[str, Tensor]:
        """Compute the parts of the loss and their weighted sum, ``total``: scalars on the device."""

    @abstractmethod
    def answer(self, net: nn.Layer, samples: Sequence[Any], threshold: float) -> list[Any]:
        """Let a network in evaluation answer samples: detections or texts, one for each sample."""

    @abstractmethod
    def score(self, answers: Sequence[Any], samples: Sequence[Any]) -> dict[str, float]:
        """Score answers; ``scores_of`` says which scores there are at least."""

    @abstractmethod
    def draw(self, path: Path, answers: Sequence[Any], samples: Sequence[Any]) -> None:
        """Write a picture of samples with their answers."""
