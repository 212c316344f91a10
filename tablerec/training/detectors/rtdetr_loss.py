"""RT-DETR's loss, with shapes that do not depend on the number of cells."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import paddle
from numpy.typing import NDArray
from paddle import Tensor
from paddle.nn import functional as F  # noqa: N812

from tablerec.training.data.batches import arange
from tablerec.training.detectors.denoising import NoisedQueries
from tablerec.training.detectors.matcher import Truth, match_queries

WEIGHTS = {"class": 1.0, "distance": 5.0, "overlap": 2.0}
"""Shares of the parts in the loss, as RT-DETR has them (Zhao et al. 2023)."""
ALPHA, GAMMA = 0.75, 2.0
"""Of the varifocal loss: weight of a query without a cell, and how little one counts that is sure of it."""


class Outputs(NamedTuple):
    """What RT-DETR returns in training.

    Args:
        logits: ``(B, L, Q, C)`` of the encoder's proposals, then of each layer of the decoder.
        boxes: ``(B, L, Q, 4)`` centre x and y, width and height, 0 to 1.
        noised_logits: ``(B, L - 1, D, C)`` of the noised queries in the layers of the decoder; None without them.
        noised_boxes: ``(B, L - 1, D, 4)``; None without them.
    """

    logits: Tensor
    boxes: Tensor
    noised_logits: Tensor | None = None
    noised_boxes: Tensor | None = None


def rtdetr_loss(outputs: Outputs, truths: Sequence[Truth], noised: NoisedQueries | None) -> dict[str, Tensor]:
    """Compute the loss.

    Args:
        outputs: Of the network.
        truths: The cells of each picture.
        noised: The noised queries that the network was given.

    Returns:
        ``total``, its parts by the names in ``WEIGHTS``, and ``noised``, that of the noised queries, all summed
        over the layers and divided by the number of cells. Scalars; the outputs are copied to the host once, for the
        matching.
    """
    n_queries = outputs.boxes.shape[2]
    n_cells = max(float(sum(min(len(truth.boxes), n_queries) for truth in truths)), 1.0)
    logits, boxes = outputs.logits.astype("float32"), outputs.boxes.astype("float32")
    parts = detection_loss(logits, boxes, _match(logits, boxes, truths), truths, n_cells)
    total = paddle.add_n([WEIGHTS[name] * value for name, value in parts.items()])
    of_noised = paddle.zeros([])
    if noised is not None and outputs.noised_logits is not None and outputs.noised_boxes is not None:
        logits, boxes = outputs.noised_logits.astype("float32"), outputs.noised_boxes.astype("float32")
        cells = np.repeat(noised.cells[:, None], logits.shape[1], 1)
        each = detection_loss(logits, boxes, cells, truths, n_cells * noised.n_groups)
        of_noised = paddle.add_n([WEIGHTS[name] * value for name, value in each.items()])
    return {"total": total + of_noised, **parts, "noised": of_noised}


@paddle.no_grad()
def _match(logits: Tensor, boxes: Tensor, truths: Sequence[Truth]) -> NDArray[np.int64]:
    outputs = paddle.concat([boxes, logits], -1).numpy()
    return np.stack([match_queries(each[..., 4:], each[..., :4], t) for each, t in zip(outputs, truths, strict=True)])


def detection_loss(
    logits: Tensor, boxes: Tensor, cells: NDArray[np.int64], truths: Sequence[Truth], n_cells: float
) -> dict[str, Tensor]:
    """Compare each query with its cell.

    Args:
        logits: ``(B, L, Q, C)`` float32.
        boxes: ``(B, L, Q, 4)`` float32 centre x and y, width and height.
        cells: ``(B, L, Q)`` index of the target cell of each query; -1 for none.
        truths: The cells of each picture.
        n_cells: By how many cells the sums are divided.

    Returns:
        ``class``, the varifocal loss (Zhang et al. 2021): a query with a cell shall be as sure as its box overlaps
        that; ``distance``, L1; ``overlap``, 1 - generalized intersection over union. Scalars.
    """
    wanted, label = _targets(cells, truths, logits.shape[-1])
    has_cell = wanted[..., 4]
    overlap, generalized = overlaps(boxes, wanted[..., :4])
    of_class = (label.unsqueeze(-1) == arange(logits.shape[-1], "int64")).astype("float32")
    sure = overlap.detach().unsqueeze(-1) * of_class
    p = F.sigmoid(logits.detach())
    weight = ALPHA * p * p * (1 - of_class) + sure
    varifocal = weight * F.binary_cross_entropy_with_logits(logits, sure, reduction="none")
    return {
        "class": varifocal.sum() / n_cells,
        "distance": ((boxes - wanted[..., :4]).abs().sum(-1) * has_cell).sum() / n_cells,
        "overlap": ((1 - generalized) * has_cell).sum() / n_cells,
    }


def _targets(cells: NDArray[np.int64], truths: Sequence[Truth], n_classes: int) -> tuple[Tensor, Tensor]:
    """``(B, L, Q, 5)`` box of the cell of each query and 1, or any and 0; ``(B, L, Q)`` its class or ``n_classes``."""
    wanted = np.tile(np.array([0.5, 0.5, 1, 1, 0], np.float32), (*cells.shape, 1))
    label = np.full(cells.shape, n_classes, np.int64)
    for row, (of_row, truth) in enumerate(zip(cells, truths, strict=True)):
        chosen = of_row >= 0
        wanted[row, chosen, :4], wanted[row, chosen, 4] = truth.boxes[of_row[chosen]], 1
        label[row, chosen] = truth.labels[of_row[chosen]]
    return paddle.to_tensor(wanted), paddle.to_tensor(label)


def overlaps(boxes: Tensor, others: Tensor) -> tuple[Tensor, Tensor]:
    """Intersection over union of each box with its other one, and the generalized one (Rezatofighi et al. 2019).

    Args:
        boxes: ``(..., 4)`` float32 centre x and y, width and height.
        others: ``(..., 4)``.

    Returns:
        ``(...)`` 0 to 1, and ``(...)`` -1 to 1.

    >>> box, other = paddle.to_tensor([0.5, 0.5, 1.0, 1.0]), paddle.to_tensor([1.0, 0.5, 1.0, 1.0])
    >>> [round(float(value), 3) for value in overlaps(box, other)]
    [0.333, 0.333]
    """
    low, high = boxes[..., :2] - boxes[..., 2:] / 2, boxes[..., :2] + boxes[..., 2:] / 2
    low_b, high_b = others[..., :2] - others[..., 2:] / 2, others[..., :2] + others[..., 2:] / 2
    both = _area(paddle.clip(paddle.minimum(high, high_b) - paddle.maximum(low, low_b), min=0.0))
    hull = _area(paddle.maximum(high, high_b) - paddle.minimum(low, low_b))
    union = _area(boxes[..., 2:]) + _area(others[..., 2:]) - both
    overlap = both / paddle.clip(union, min=1e-12)
    return overlap, overlap - 1 + union / paddle.clip(hull, min=1e-12)


def _area(width_height: Tensor) -> Tensor:
    return width_height[..., 0] * width_height[..., 1]
