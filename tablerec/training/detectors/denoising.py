"""Queries of RT-DETR that hold noised cells: its decoder is trained to repair boxes without a matching.

Contrastive denoising, as in DINO (Zhang et al. 2022): beside each cell that is off a little stands one that
is off too far and must be refused. However many cells a picture has, the queries are as many.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tablerec.training.detectors.matcher import Truth

HIDDEN = -1e4
"""Added to an attention that must not be: its share is 0 in every precision."""


@dataclass(frozen=True, slots=True)
class Noise:
    """How much noise, in how many queries.

    Args:
        cells: Noised cells in all groups; with those to be refused there are twice as many queries.
        boxes: Greatest move of a side, in halves of the width or height; from there to twice as far, it is refused.
        labels: Share of the labels that are chosen anew, times 2.
    """

    cells: int = 100
    boxes: float = 1.0
    labels: float = 0.5


NOISE = Noise()
"""That of RT-DETR (Zhao et al. 2023)."""


class NoisedQueries(NamedTuple):
    """Noised cells in groups; each group holds the cells to be repaired, then those to be refused.

    Args:
        labels: ``(B, D)`` int64; the number of classes where a picture has no more cells.
        boxes: ``(B, D, 4)`` float32 centre x and y, width and height, 0 to 1.
        cells: ``(B, D)`` int64 index of the target cell, -1 for none.
        n_groups: Groups.
    """

    labels: NDArray[np.int64]
    boxes: NDArray[np.float32]
    cells: NDArray[np.int64]
    n_groups: int


def noise_cells(
    truths: Sequence[Truth], n_classes: int, rng: np.random.Generator, noise: Noise = NOISE
) -> NoisedQueries | None:
    """Choose noised cells for a batch.

    Every group shows each cell once. Of a picture with more than ``noise.cells`` cells, so many are chosen.

    Args:
        truths: The cells of each picture.
        n_classes: Classes of the network.
        rng: Decides the noise.
        noise: See ``Noise``.

    Returns:
        None where no picture has a cell.

    >>> truth = Truth(np.full((3, 4), 0.5, np.float32), np.zeros(3, np.int64))
    >>> noise_cells([truth], 1, np.random.default_rng(0), Noise(cells=7)).cells.tolist()
    [[0, 1, 2, -1, -1, -1, 0, 1, 2, -1, -1, -1]]
    """
    width = min(max((len(truth.boxes) for truth in truths), default=0), noise.cells)
    if not width:
        return None
    n_groups = noise.cells // width
    cells = np.full((len(truths), width), -1, np.int64)
    labels = np.full((len(truths), width), n_classes, np.int64)
    boxes = np.zeros((len(truths), width, 4), np.float32)
    for row, truth in enumerate(truths):
        n = len(truth.boxes)
        chosen = np.sort(rng.choice(n, width, replace=False)) if n > width else np.arange(n)
        cells[row, : len(chosen)] = chosen
        labels[row, : len(chosen)], boxes[row, : len(chosen)] = truth.labels[chosen], truth.boxes[chosen]
    refused = np.tile(np.arange(2 * width) >= width, n_groups)
    labels, cells = np.tile(labels, 2 * n_groups), np.tile(cells, 2 * n_groups)
    labels = _noise_labels(labels, n_classes, rng, noise.labels)
    boxes = _noise_boxes(np.tile(boxes, (2 * n_groups, 1)), refused, rng, noise.boxes)
    return NoisedQueries(labels, boxes, np.where(refused, -1, cells), n_groups)


def _noise_labels(
    labels: NDArray[np.int64], n_classes: int, rng: np.random.Generator, share: float
) -> NDArray[np.int64]:
    changed = (rng.random(labels.shape) < 0.5 * share) & (labels < n_classes)
    return np.where(changed, rng.integers(0, n_classes, labels.shape), labels)


def _noise_boxes(
    boxes: NDArray[np.float32], refused: NDArray[np.bool_], rng: np.random.Generator, scale: float
) -> NDArray[np.float32]:
    """Move each side by up to half of the width or height; where it is to be refused, by half to the whole."""
    half = boxes[..., 2:] / 2
    corners = np.concatenate([boxes[..., :2] - half, boxes[..., :2] + half], -1)
    sign = 2.0 * rng.integers(0, 2, corners.shape) - 1
    far = rng.random(corners.shape) + refused[:, None]
    moved = np.clip(corners + sign * far * np.tile(half, 2) * scale, 0, 1)
    low, high = moved[..., :2], moved[..., 2:]
    return np.concatenate([(low + high) / 2, high - low], -1).astype(np.float32)


def hide_groups(n_noised: int, n_groups: int, n_queries: int) -> NDArray[np.float32]:
    """What is added to the attention: groups see themselves and the plain queries, these see themselves alone.

    Returns:
        ``(D + Q, D + Q)``, row by row what a query sees: 0, or ``HIDDEN``.

    >>> (hide_groups(2, 2, 1) < 0).astype(int).tolist()
    [[0, 1, 0], [1, 0, 0], [1, 1, 0]]
    """
    group = np.concatenate([np.arange(n_noised) * n_groups // max(n_noised, 1), np.full(n_queries, -1)])
    seen = (group[:, None] == group) | (group == -1)
    return np.where(seen, 0.0, HIDDEN).astype(np.float32)
