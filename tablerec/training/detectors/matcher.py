"""The assignment of cells to RT-DETR's queries that costs the least, on the host."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

COSTS = {"class": 2.0, "distance": 5.0, "overlap": 2.0}
"""Shares of the class, of the L1 distance and of the generalized overlap in the cost."""
ALPHA, GAMMA = 0.25, 2.0
"""Of the focal cost of the class."""


class Truth(NamedTuple):
    """The cells of a picture.

    Args:
        boxes: ``(N, 4)`` float32 centre x and y, width and height, in sides of the picture.
        labels: ``(N,)`` int64 classes.
    """

    boxes: NDArray[np.float32]
    labels: NDArray[np.int64]


def match_queries(logits: NDArray[np.float32], boxes: NDArray[np.float32], truth: Truth) -> NDArray[np.int64]:
    """Assign cells to queries, at most one to each, so that the costs are the least (DETR, Carion et al. 2020).

    Where there are more cells than queries, the most expensive cells stay without one.

    Args:
        logits: ``(L, Q, C)`` of each layer.
        boxes: ``(L, Q, 4)`` as those of the truth.
        truth: The cells.

    Returns:
        ``(L, Q)`` index of the cell of each query; -1 for none.

    >>> truth = Truth(np.array([[0.2, 0.5, 0.1, 0.1], [0.7, 0.5, 0.1, 0.1]], np.float32), np.zeros(2, np.int64))
    >>> boxes = np.array([[[0.7, 0.5, 0.1, 0.1], [0.4, 0.5, 0.1, 0.1], [0.2, 0.5, 0.1, 0.1]]], np.float32)
    >>> match_queries(np.zeros((1, 3, 1), np.float32), boxes, truth).tolist()
    [[1, -1, 0]]
    """
    found = np.full(boxes.shape[:2], -1, np.int64)
    if not len(truth.boxes):
        return found
    for layer, cost in enumerate(matching_costs(logits, boxes, truth)):
        queries, cells = linear_sum_assignment(cost)
        found[layer, queries] = cells
    return found


@np.errstate(invalid="ignore", over="ignore")
def matching_costs(logits: NDArray[np.float32], boxes: NDArray[np.float32], truth: Truth) -> NDArray[np.float32]:
    """Compute the ``(L, Q, N)`` cost of each pair; what is not finite costs more than all else, so that nothing fails.

    The training says by itself that its loss is not finite.
    """
    p = 1 / (1 + np.exp(-np.clip(logits, -50, 50)))
    found = ALPHA * (1 - p) ** GAMMA * -np.log(p + 1e-8) - (1 - ALPHA) * p**GAMMA * -np.log(1 - p + 1e-8)
    cost = COSTS["class"] * found[..., truth.labels]
    for axis in range(4):  # one by one: pairs of whole boxes are slow to sum up
        cost += COSTS["distance"] * np.abs(boxes[..., axis, None] - truth.boxes[:, axis])
    cost -= COSTS["overlap"] * _generalized_overlaps(boxes, truth.boxes)
    return np.nan_to_num(cost, copy=False, nan=1e6, posinf=1e6, neginf=1e6)


def _generalized_overlaps(boxes: NDArray[np.float32], others: NDArray[np.float32]) -> NDArray[np.float32]:
    """``(L, Q, N)`` generalized intersection over union (Rezatofighi et al. 2019), -1 to 1."""
    both, hull = np.float32(1), np.float32(1)
    for axis in (0, 1):
        middle, half = boxes[..., axis, None], boxes[..., axis + 2, None] / 2
        middle_b, half_b = others[:, axis], others[:, axis + 2] / 2
        ends, starts = (middle + half, middle_b + half_b), (middle - half, middle_b - half_b)
        both = both * np.maximum(np.minimum(*ends) - np.maximum(*starts), 0)
        hull = hull * (np.maximum(*ends) - np.minimum(*starts))
    union = boxes[..., 2, None] * boxes[..., 3, None] + others[:, 2] * others[:, 3] - both
    least = np.float32(1e-12)
    overlaps: NDArray[np.float32] = both / np.maximum(union, least) - 1 + union / np.maximum(hull, least)
    return overlaps
