"""Batches on the device: a buffer of samples, and their augmentation.

Drawing a sample takes longer than learning from it, so samples stay on the device and are used
several times, each time moved, stretched and tinted anew.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import paddle
from numpy.typing import NDArray
from paddle import Tensor
from paddle.nn import functional as F  # noqa: N812

from tablerec.models.cellnet import STRIDE
from tablerec.training.cellnet_loss import count
from tablerec.training.samples import OWNER_STRIDE, PAPER, Sample
from tablerec.training.settings import Augmentation


class Batch(NamedTuple):
    """Samples stacked, on the device.

    Args:
        images: ``(B, 3, S, S)`` float32 RGB, 0 to 255.
        owners: The owner map, see ``quads_to_owners``: ``(B, S / 2, S / 2)`` int16 as drawn, and
            ``(B, S / 4, S / 4)`` int32 as the network's targets want it.
        quads: ``(B, N, 4, 2)`` float32 pixels.
        n_cells: ``(B,)`` int64, on the host: how many of the quads are cells.
    """

    images: Tensor
    owners: Tensor
    quads: Tensor
    n_cells: NDArray[np.int64]


class SampleBuffer:
    """The newest samples.

    Args:
        capacity: How many.
        on_device: Keep them on the device; else they wait on the host, and each batch is copied.
    """

    def __init__(self, capacity: int, *, on_device: bool = True) -> None:
        self.indices: deque[int] = deque(maxlen=capacity)
        self._on_device = on_device
        self._kept: deque[tuple[Any, ...]] = deque(maxlen=capacity)

    def __len__(self) -> int:
        return len(self._kept)

    def put(self, sample: Sample, index: int) -> None:
        """Add a sample, in place of the oldest where the buffer is full."""
        arrays = sample.image, sample.owners, sample.quads
        kept = tuple(paddle.to_tensor(array) for array in arrays) if self._on_device else arrays
        self._kept.append((*kept, int(sample.n_cells)))
        self.indices.append(index)

    def draw(self, rng: np.random.Generator, count: int) -> Batch:
        """Stack samples chosen at random; which ones depends on ``rng`` and the content only."""
        return stack_samples([self._kept[k] for k in rng.integers(0, len(self._kept), count).tolist()])


def stack_samples(samples: Sequence[tuple[Any, ...]]) -> Batch:
    """Stack samples given as image, owners, quads, all tensors or all arrays, and the number of cells."""
    *stacks, n_cells = zip(*samples, strict=True)
    images, owners, quads = (
        paddle.stack(list(each)) if isinstance(each[0], Tensor) else paddle.to_tensor(np.stack(each)) for each in stacks
    )
    return Batch(images.transpose([0, 3, 1, 2]).astype("float32"), owners, quads, np.array(n_cells, np.int64))


class Change(NamedTuple):
    """How each sample of a batch changes, drawn on the host.

    Args:
        matrix: ``(B, 3, 3)`` float32, homographies of points in pixels from the middle of the canvas.
        gain: ``(B,)`` float32 factor of the contrast.
        lift: ``(B,)`` float32 change of the brightness, of 255.
        inverted: ``(B,)`` float32, 1 where black and white are swapped.
        noise: ``(B,)`` float32 standard deviation, of 255.
    """

    matrix: NDArray[np.float32]
    gain: NDArray[np.float32]
    lift: NDArray[np.float32]
    inverted: NDArray[np.float32]
    noise: NDArray[np.float32]


def draw_change(rng: np.random.Generator, count: int, side: int, settings: Augmentation) -> Change:
    """Draw how the samples of a batch change."""
    zoom = np.exp(rng.uniform(np.log(settings.zoom[0]), np.log(settings.zoom[1]), count))
    aspect = np.exp(rng.uniform(-0.5, 0.5, count) * np.log(settings.aspect))
    tilted = rng.random(count) < settings.tilted
    degrees = np.where(tilted, settings.tilt, settings.degrees)
    angle = np.radians(degrees) * rng.normal(size=count)
    slant = tilted * np.radians(settings.tilt / 3) * rng.normal(size=count)
    shift = rng.uniform(-settings.shift, settings.shift, (count, 2)) * side
    x_axis = np.stack([np.cos(angle + slant), np.sin(angle + slant)], 1) * (zoom * aspect)[:, None]
    y_axis = np.stack([-np.sin(angle - slant), np.cos(angle - slant)], 1) * (zoom / aspect)[:, None]
    depth = rng.uniform(-settings.depth, settings.depth, (count, 2)) * tilted[:, None] / (side / 2)
    matrix = np.tile(np.eye(3), (count, 1, 1))
    matrix[:, :2, 0], matrix[:, :2, 1], matrix[:, :2, 2], matrix[:, 2, :2] = x_axis, y_axis, shift, depth
    matrix[rng.random(count) < settings.unchanged] = np.eye(3)
    values = (
        matrix,
        rng.uniform(*settings.gain, count),
        rng.uniform(-settings.lift, settings.lift, count),
        rng.random(count) < settings.inverted,
        rng.random(count) ** 3 * settings.noise,
    )
    return Change(*(np.asarray(value, np.float32) for value in values))


@paddle.no_grad()
def change_batch(batch: Batch, change: Change) -> Batch:
    """Move, stretch, turn and tint the samples; picture, owner map and quads stay in step.

    The owner map comes out as the targets want it. The noise comes from Paddle's generator of the device.
    """
    n, _, size, _ = batch.images.shape
    back = np.linalg.inv(change.matrix)
    tint = np.stack([change.gain * (1 - 2 * change.inverted), change.lift + PAPER, change.noise], 1)
    # One array for all: each copy to a device may wait for it.
    parts = (change.matrix.transpose(0, 2, 1), back.transpose(0, 2, 1), tint)
    packed = paddle.to_tensor(np.concatenate([part.reshape(n, -1) for part in parts], 1).astype(np.float32))
    columns, back_columns, tints = paddle.split(packed, [9, 9, 3], 1)

    x_from = _source_points(back_columns, size, 1)
    images = F.grid_sample(batch.images - PAPER, x_from / (size / 2), align_corners=False)
    contrast, grey, noise = (tint.reshape([n, 1, 1, 1]) for tint in paddle.split(tints, 3, 1))
    images = images * contrast + grey + paddle.randn([n, 1, size, size]) * noise
    points = _source_points(back_columns, size, STRIDE)
    x, y = paddle.split(batch.quads - size / 2, 2, -1)
    moved = _project(columns, x, y) + size / 2
    owners = _nearest(batch.owners, points / OWNER_STRIDE)
    return Batch(paddle.clip(images, 0.0, 255.0), owners, moved, batch.n_cells)


def _source_points(back: Tensor, size: int, stride: int) -> Tensor:
    """``(B, size / stride, size / stride, 2)`` where each place of the result comes from, in px from the middle."""
    n = size // stride
    line = (count(n, "float32") + (0.5 - n / 2)) * stride
    return _project(back, line.reshape([1, 1, n, 1]), line.reshape([1, n, 1, 1]))


def _project(columns: Tensor, x: Tensor, y: Tensor) -> Tensor:
    """Points ``(B, ..., 2)`` after homographies, whose columns follow one another in ``(B, 9)``."""
    of_x, of_y, one = (column.reshape([-1, 1, 1, 3]) for column in paddle.split(columns, 3, 1))
    place, depth = paddle.split(x * of_x + y * of_y + one, [2, 1], -1)
    return place / depth


def _nearest(owners: Tensor, points: Tensor) -> Tensor:
    """Owner at each point, given in positions from the middle; 0 outside."""
    batch, size, _ = owners.shape
    at = paddle.floor(points + size / 2)
    inside = paddle.logical_and(at >= 0, at < size).all(-1)
    at = paddle.clip(at, 0, size - 1).astype("int64")
    first = (count(batch, "int64") * size * size).reshape([batch, 1, 1])
    found = paddle.gather(owners.flatten(), (first + at[..., 1] * size + at[..., 0]).flatten())
    return found.reshape(inside.shape).astype("int32") * inside.astype("int32")
