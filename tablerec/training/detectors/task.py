"""What the training loop has to know of a network that detects cells."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import NamedTuple

import numpy as np
import paddle
from numpy.typing import NDArray
from paddle import Tensor, nn

from postprocess.arrays import Floats
from tablerec.training.data.batches import SampleBuffer
from tablerec.training.data.samples import Canvas, Sample
from tablerec.training.detectors.validation import draw_cells, score_cells
from tablerec.training.settings import TrainSettings
from tablerec.training.task import Task


class Detections(NamedTuple):
    """Cells that a network has detected in a picture.

    Args:
        quads: ``(N, 4, 2)`` float64 pixels of the canvas, TL, TR, BR, BL.
        scores: ``(N,)`` float64, 0 to 1.
    """

    quads: NDArray[np.float64]
    scores: NDArray[np.float64]


class DetectionTask(Task):
    """A kind of network that detects cells.

    Attributes:
        stretch: Whether each picture fills the canvas, as where the network sees all pictures so;
            else pictures keep their shape and share a canvas.
        max_cells: The most cells that a picture may show; None for any number.
        needs_owners: Whether its targets are made of an owner map, see ``data.owners``.
    """

    stretch: bool = False
    max_cells: int | None = None
    needs_owners: bool = False

    def preparation(self, settings: TrainSettings, *, validation: bool = False) -> Canvas:
        """Samples are pictures on a canvas; for validation one alone, as it is, without a map that is for the loss."""
        s = settings.data
        return Canvas(
            size=s.image_size,
            max_cells=min(s.max_cells, self.max_cells or s.max_cells),
            max_images=1 if validation else s.max_images_per_canvas,
            stretch=self.stretch,
            copy_paste=0.0 if validation else s.copy_paste,
            with_owners=self.needs_owners and not validation,
        )

    def buffer(self, settings: TrainSettings, capacity: int) -> SampleBuffer:
        """Make an empty buffer of canvases."""
        s = settings.data
        return SampleBuffer(capacity, s.batch_size, s.augmentation, on_device=not settings.memory.offload_buffer)

    @paddle.no_grad()
    def answer(self, net: nn.Layer, samples: Sequence[Sample], threshold: float) -> list[Floats]:
        """Detect cells: ``(N, 4, 2)`` px for each sample.

        One at a time: that takes less memory than a step of training does, whatever the batch.
        """
        detections: list[Floats] = []
        for sample in samples:
            images = paddle.to_tensor(sample.image[None]).transpose([0, 3, 1, 2]).astype("float32")
            detections += [each.quads for each in self.detect(net, images, threshold)]
        return detections

    def score(self, answers: Sequence[Floats], samples: Sequence[Sample]) -> dict[str, float]:
        """See ``validation.score_cells``."""
        return asdict(score_cells(answers, samples))

    def draw(self, path: Path, answers: Sequence[Floats], samples: Sequence[Sample]) -> None:
        """See ``validation.draw_cells``."""
        draw_cells(path, answers, samples)

    @abstractmethod
    def detect(self, net: nn.Layer, images: Tensor, threshold: float) -> list[Detections]:
        """Detect cells.

        Args:
            net: The network, in evaluation.
            images: ``(B, 3, S, S)`` float32 RGB, 0 to 255.
            threshold: Least score of a cell.
        """
