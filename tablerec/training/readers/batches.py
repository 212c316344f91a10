"""Batches of lines: a buffer of samples in buckets of like width, and their augmentation on the device.

Samples wait on the host, since they are small: a batch is one copy to the device. All lines of a batch have the width
of their bucket, so that little is computed for nothing.
"""

from __future__ import annotations

from collections import deque
from typing import Any, NamedTuple

import numpy as np
import paddle
from numpy.typing import NDArray
from paddle import Tensor
from paddle.nn import functional as F  # noqa: N812

from tablerec.models.linenet import HEIGHT, PAPER, STRIDE
from tablerec.training.data.batches import arange
from tablerec.training.readers.frames import FramedLine
from tablerec.training.settings import Augmentation

LEAST_WIDTH = 128
"""Pixels of the narrowest bucket; ``batch_size`` counts lines of this width."""


class LineBatch(NamedTuple):
    """Lines stacked.

    Args:
        images: ``(B, 3, 32, W)`` float32 RGB, 0 to 255, on the device.
        labels: ``(B, L)`` int32 classes, on the device.
        lengths: ``(B,)`` int64 characters of each, on the host.
    """

    images: Tensor
    labels: Tensor
    lengths: NDArray[np.int64]

    @property
    def n_objects(self) -> int:
        """How many characters it holds."""
        return int(self.lengths.sum())

    def first(self) -> LineBatch:
        """Return its first line alone."""
        return LineBatch(self.images[:1], self.labels[:1], self.lengths[:1])


def list_widths(width: int) -> list[int]:
    """List the widths of the buckets up to that of the frame.

    >>> list_widths(512), list_widths(320)
    ([128, 256, 512], [128, 256, 320])
    """
    widths: list[int] = []
    while LEAST_WIDTH << len(widths) < width:
        widths.append(LEAST_WIDTH << len(widths))
    return [*widths, width]


class LineBuffer:
    """The newest samples, by width.

    Args:
        capacity: How many in all.
        batch_size: Lines of ``LEAST_WIDTH`` in a batch; of wider ones as many fewer.
        width: Of the frame, px.
        augmentation: How they change in a batch.
    """

    def __init__(self, capacity: int, batch_size: int, width: int, augmentation: Augmentation) -> None:
        self.indices: deque[int] = deque(maxlen=capacity)
        self._batch_size, self._augmentation = batch_size, augmentation
        self._buckets: dict[int, deque[FramedLine]] = {each: deque() for each in list_widths(width)}
        self._order: deque[int] = deque()

    def __len__(self) -> int:
        return len(self._order)

    def put(self, sample: FramedLine, index: int) -> None:
        """Add a sample, in place of the oldest where the buffer is full."""
        if len(self._order) == self.indices.maxlen:
            self._buckets[self._order.popleft()].popleft()
        width = next(each for each in self._buckets if each >= sample.width)
        self._buckets[width].append(
            sample._replace(image=sample.image[:, :width].copy(), label=sample.label[: width // STRIDE].copy())
        )
        self._order.append(width)
        self.indices.append(index)

    def draw(self, rng: np.random.Generator) -> LineBatch:
        """Stack lines of one bucket chosen at random, and change them; each line is as likely as any other."""
        widths = list(self._buckets)
        # A batch of wide lines holds fewer of them, so there must be more such batches.
        shares = np.array([len(bucket) * width for width, bucket in self._buckets.items()], np.float64)
        width = widths[rng.choice(len(widths), p=shares / shares.sum())]
        bucket = self._buckets[width]
        count = max(1, self._batch_size * LEAST_WIDTH // width)
        chosen = [bucket[k] for k in rng.integers(0, len(bucket), count).tolist()]
        change = choose_change(rng, np.array([each.width for each in chosen]), width, self._augmentation)
        return change_lines(stack_lines(chosen), change)


def stack_lines(samples: list[FramedLine]) -> LineBatch:
    """Stack lines whose frames are equally wide."""
    images = paddle.to_tensor(np.stack([each.image for each in samples]))
    labels = paddle.to_tensor(np.stack([each.label for each in samples]))
    lengths = np.array([each.length for each in samples], np.int64)
    return LineBatch(images.transpose([0, 3, 1, 2]).astype("float32"), labels, lengths)


def choose_change(
    rng: np.random.Generator, widths: NDArray[Any], width: int, settings: Augmentation
) -> NDArray[np.float32]:
    """Choose how lines change: moved to the right, stretched along, tinted.

    Args:
        rng: Decides it.
        widths: ``(B,)`` pixels that the lines take.
        width: Of their frame.
        settings: ``aspect_ratio``, ``translation`` in heights of a line, and what is said of tints.

    Returns:
        ``(B, 6)`` width, its factor, move in px, factor of the contrast, brightness, standard deviation of the noise.
    """
    count = len(widths)
    zoom = np.exp(rng.uniform(-1, 1, count) * np.log(settings.aspect_ratio))
    zoom = np.minimum(zoom, np.maximum(width / widths, 1.0))  # what is widened still has room
    room = np.maximum(width - zoom * widths, 0.0)
    move = rng.uniform(0, 1, count) * np.minimum(room, settings.translation * HEIGHT)
    still = rng.random(count) < settings.identity_probability
    zoom[still], move[still] = 1.0, 0.0
    inverted = 1 - 2 * (rng.random(count) < settings.inversion_probability)
    contrast = rng.uniform(*settings.contrast, count) * inverted
    brightness = rng.uniform(-settings.brightness, settings.brightness, count)
    noise = rng.random(count) ** 3 * settings.noise_std
    return np.stack([widths, zoom, move, contrast, brightness, noise], 1).astype(np.float32)


@paddle.no_grad()
def change_lines(batch: LineBatch, change: NDArray[np.float32]) -> LineBatch:
    """Move, stretch and tint lines; the noise comes from Paddle's generator of the device."""
    n, _, height, width = batch.images.shape
    columns = paddle.split(paddle.to_tensor(change).reshape([n, 1, 1, 6]), 6, -1)
    widths, zoom, move, contrast, brightness, noise = columns
    x = (arange(width, "float32").reshape([1, 1, width, 1]) + 0.5 - move) / zoom
    y = arange(height, "float32").reshape([1, height, 1, 1]) + 0.5
    places = paddle.concat([x * (2 / width) - 1 + 0 * y, y * (2 / height) - 1 + 0 * x], -1)
    images = F.grid_sample(batch.images - PAPER, places, align_corners=False)
    images = images * contrast + brightness + paddle.randn([n, 1, height, width]) * noise
    # What fills the frame up stays as it is in recognition.
    inside = paddle.logical_and(x >= 0, x < widths).astype("float32").reshape([n, 1, 1, width])
    return LineBatch(paddle.clip(images * inside + PAPER, 0.0, 255.0), batch.labels, batch.lengths)
