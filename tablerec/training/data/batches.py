"""Batches on the device: a buffer of samples, and their augmentation.

Preparing a sample takes longer than a step with it, so samples stay on the device and are used several times, each time
moved, stretched and tinted anew.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import paddle
from numpy.typing import NDArray
from paddle import Tensor
from paddle.nn import functional as F  # noqa: N812

from tablerec.models.cellnet import STRIDE
from tablerec.training.data.owners import SAMPLE_STRIDE
from tablerec.training.data.samples import PAPER, Sample
from tablerec.training.settings import Augmentation


class Batch(NamedTuple):
    """Samples stacked, on the device.

    Args:
        images: ``(B, 3, S, S)`` float32 RGB, 0 to 255.
        quads: ``(B, N, 4, 2)`` float32 pixels.
        n_cells: ``(B,)`` int64, on the host: how many of the quads are cells.
        owners: The owner map, see ``quads_to_owners``: ``(B, S / 2, S / 2)`` int16 as in the samples, and
            ``(B, S / 4, S / 4)`` int32 as CellNet's targets want it; None for other networks.
    """

    images: Tensor
    quads: Tensor
    n_cells: NDArray[np.int64]
    owners: Tensor | None = None

    @property
    def n_objects(self) -> int:
        """How many cells it holds."""
        return int(self.n_cells.sum())

    def first(self) -> Batch:
        """Return its first sample alone."""
        owners = None if self.owners is None else self.owners[:1]
        return Batch(self.images[:1], self.quads[:1], self.n_cells[:1], owners)


class SampleBuffer:
    """The newest samples.

    Args:
        capacity: How many.
        batch_size: Samples in a batch.
        augmentation: How they change in it.
        on_device: Keep them on the device; else they wait on the host, and each batch is copied.
    """

    def __init__(self, capacity: int, batch_size: int, augmentation: Augmentation, *, on_device: bool = True) -> None:
        self.indices: deque[int] = deque(maxlen=capacity)
        self._batch_size, self._augmentation = batch_size, augmentation
        self._on_device = on_device
        self._kept: deque[Sample] = deque(maxlen=capacity)

    def __len__(self) -> int:
        return len(self._kept)

    def put(self, sample: Sample, index: int) -> None:
        """Add a sample, in place of the oldest where the buffer is full."""
        self._kept.append(_to_device(sample) if self._on_device else sample)
        self.indices.append(index)

    def draw(self, rng: np.random.Generator) -> Batch:
        """Stack samples chosen at random, and change them; which ones and how depends on ``rng`` and the content."""
        count = self._batch_size
        batch = stack_samples([self._kept[k] for k in rng.integers(0, len(self._kept), count).tolist()])
        return change_batch(batch, choose_change(rng, count, batch.images.shape[-1], self._augmentation))


def _to_device(sample: Sample) -> Any:
    owners = None if sample.owners is None else paddle.to_tensor(sample.owners)
    return Sample(paddle.to_tensor(sample.image), paddle.to_tensor(sample.quads), sample.n_cells, owners)


def stack_samples(samples: Sequence[Sample]) -> Batch:
    """Stack samples whose arrays are on the host, or already on the device."""
    images, quads = _stack([each.image for each in samples]), _stack([each.quads for each in samples])
    owners = None if samples[0].owners is None else _stack([each.owners for each in samples])
    n_cells = np.array([each.n_cells for each in samples], np.int64)
    return Batch(images.transpose([0, 3, 1, 2]).astype("float32"), quads, n_cells, owners)


def _stack(arrays: list[Any]) -> Tensor:
    return paddle.stack(arrays) if isinstance(arrays[0], Tensor) else paddle.to_tensor(np.stack(arrays))


class Change(NamedTuple):
    """How each sample of a batch changes, chosen on the host.

    Args:
        matrix: ``(B, 3, 3)`` float32, homographies of points in pixels from the middle of the canvas.
        contrast: ``(B,)`` float32 factor.
        brightness: ``(B,)`` float32 change, of 255.
        inverted: ``(B,)`` float32, 1 where black and white are swapped.
        noise: ``(B,)`` float32 standard deviation, of 255.
    """

    matrix: NDArray[np.float32]
    contrast: NDArray[np.float32]
    brightness: NDArray[np.float32]
    inverted: NDArray[np.float32]
    noise: NDArray[np.float32]


def choose_change(rng: np.random.Generator, count: int, size: int, settings: Augmentation) -> Change:
    """Choose at random how the samples of a batch change, on canvases of a size."""
    zoom = np.exp(rng.uniform(np.log(settings.scale[0]), np.log(settings.scale[1]), count))
    aspect = np.exp(rng.uniform(-0.5, 0.5, count) * np.log(settings.aspect_ratio))
    tilted = rng.random(count) < settings.perspective_probability
    degrees = np.where(tilted, settings.perspective_rotation_std, settings.rotation_std)
    angle = np.radians(degrees) * rng.normal(size=count)
    slant = tilted * np.radians(settings.perspective_rotation_std / 3) * rng.normal(size=count)
    shift = rng.uniform(-settings.translation, settings.translation, (count, 2)) * size
    x_axis = np.stack([np.cos(angle + slant), np.sin(angle + slant)], 1) * (zoom * aspect)[:, None]
    y_axis = np.stack([-np.sin(angle - slant), np.cos(angle - slant)], 1) * (zoom / aspect)[:, None]
    depth = rng.uniform(-settings.perspective, settings.perspective, (count, 2)) * tilted[:, None] / (size / 2)
    matrix = np.tile(np.eye(3), (count, 1, 1))
    matrix[:, :2, 0], matrix[:, :2, 1], matrix[:, :2, 2], matrix[:, 2, :2] = x_axis, y_axis, shift, depth
    matrix[rng.random(count) < settings.identity_probability] = np.eye(3)
    values = (
        matrix,
        rng.uniform(*settings.contrast, count),
        rng.uniform(-settings.brightness, settings.brightness, count),
        rng.random(count) < settings.inversion_probability,
        rng.random(count) ** 3 * settings.noise_std,
    )
    return Change(*(np.asarray(value, np.float32) for value in values))


def arange(n: int, dtype: str) -> Tensor:
    """``(n,)`` 0, 1, 2, ...; copied to the device once, as not every device has an operator for it."""
    return _arange(n, dtype, paddle.device.get_device())


@lru_cache(maxsize=64)
def _arange(n: int, dtype: str, device: str) -> Tensor:
    return paddle.to_tensor(np.arange(n), dtype=dtype, place=device)


@paddle.no_grad()
def change_batch(batch: Batch, change: Change) -> Batch:
    """Move, stretch, turn and tint the samples; picture, owner map and quads stay in step.

    The owner map comes out as CellNet's targets want it. The noise comes from Paddle's generator of the device.
    """
    n, _, size, _ = batch.images.shape
    back = np.linalg.inv(change.matrix)
    tint = np.stack([change.contrast * (1 - 2 * change.inverted), change.brightness + PAPER, change.noise], 1)
    # One array for all: each copy to a device may wait for it.
    parts = (change.matrix.transpose(0, 2, 1), back.transpose(0, 2, 1), tint)
    packed = paddle.to_tensor(np.concatenate([part.reshape(n, -1) for part in parts], 1).astype(np.float32))
    columns, back_columns, tints = paddle.split(packed, [9, 9, 3], 1)

    x_from = _source_points(back_columns, size, 1)
    images = F.grid_sample(batch.images - PAPER, x_from / (size / 2), align_corners=False)
    contrast, grey, noise = (tint.reshape([n, 1, 1, 1]) for tint in paddle.split(tints, 3, 1))
    images = images * contrast + grey + paddle.randn([n, 1, size, size]) * noise
    x, y = paddle.split(batch.quads - size / 2, 2, -1)
    moved = _project(columns, x, y) + size / 2
    owners = None
    if batch.owners is not None:
        owners = _nearest(batch.owners, _source_points(back_columns, size, STRIDE) / SAMPLE_STRIDE)
    return Batch(paddle.clip(images, 0.0, 255.0), moved, batch.n_cells, owners)


def _source_points(back: Tensor, size: int, stride: int) -> Tensor:
    """``(B, size / stride, size / stride, 2)`` where each place of the result comes from, in px from the middle."""
    n = size // stride
    line = (arange(n, "float32") + (0.5 - n / 2)) * stride
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
    first = (arange(batch, "int64") * size * size).reshape([batch, 1, 1])
    found = paddle.gather(owners.flatten(), (first + at[..., 1] * size + at[..., 0]).flatten())
    return found.reshape(inside.shape).astype("int32") * inside.astype("int32")
