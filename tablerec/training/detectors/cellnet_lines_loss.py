"""Targets of CellNet's maps of text lines, and their loss."""

from __future__ import annotations

from typing import NamedTuple

import paddle
from paddle import Tensor
from paddle.nn import functional as F  # noqa: N812

from tablerec.models.cellnet import CORE, LINE_UNIT, STRIDE
from tablerec.training.data.batches import arange
from tablerec.training.detectors.cellnet_loss import gather_quads

NEAR = 1.5
"""A side of a line is trained within this many shorter sides of it."""
LEAST_HEIGHT = 6.0
"""Lines lower than this, in pixels, are neither expected nor wrong."""
WEIGHTS = {"core": 1.0, "dice": 0.5, "sides": 1.0}
"""Shares of the parts in the loss."""
_HARD = 3.0
"""Positions without text count as many times as those with text, the hardest ones of them."""


class LineTargets(NamedTuple):
    """The truth at each position of the maps.

    Args:
        core: ``(B, 4, h, w)`` 1 where the core of a line is, at the four quarters of the position.
        edge: ``(B, 4, h, w)`` weight of the core: less than 1 right at its edge, where a pixel more or less is no
            matter, 0 around lines that are too low.
        sides: ``(B, 4, h, w)`` pixels to the left, upper, right and lower side of the line.
        scale: ``(B, 1, h, w)`` pixels by which an error is divided: a share of the line's shorter side.
        share: ``(B, 4, h, w)`` weight of the sides.
    """

    core: Tensor
    edge: Tensor
    sides: Tensor
    scale: Tensor
    share: Tensor


@paddle.no_grad()
def make_line_targets(owners: Tensor, quads: Tensor) -> LineTargets:
    """Compute the truth from owner maps and quads.

    Args:
        owners: ``(B, h, w)`` integers, see ``lines_to_owners``.
        quads: ``(B, N, 4, 2)`` float32 pixels; rows without a line may hold anything.
    """
    _, height, width = owners.shape
    owners = owners.astype("int64")
    known, inside = (owners != 0).astype("float32").unsqueeze(1), (owners > 0).astype("float32").unsqueeze(1)
    corners = paddle.split(gather_quads(owners, quads), 8, -1)
    x0, y0, x1, y1, x2, y2, x3, y3 = (each.squeeze(-1) for each in corners)
    x = ((arange(width, "float32") + 0.5) * STRIDE).reshape([1, 1, width])
    y = ((arange(height, "float32") + 0.5) * STRIDE).reshape([1, height, 1])
    lines = [_side(*ends) for ends in ((x3, y3, x0, y0), (x0, y0, x1, y1), (x1, y1, x2, y2), (x2, y2, x3, y3))]

    def distances(dx: float, dy: float) -> Tensor:
        return paddle.stack([along_x * (x + dx) + along_y * (y + dy) + at for along_x, along_y, at in lines], 1)

    sides = distances(0.0, 0.0)
    shorter = paddle.minimum(sides[:, 0] + sides[:, 2], sides[:, 1] + sides[:, 3]).unsqueeze(1)
    is_seen = 1 - known * (shorter < LEAST_HEIGHT).astype("float32")
    shorter = paddle.clip(shorter, min=4.0)
    quarter = STRIDE / 4
    depth = paddle.concat(
        [
            (distances(dx, dy).min(1, keepdim=True) - CORE * shorter)
            for dy in (-quarter, quarter)
            for dx in (-quarter, quarter)
        ],
        1,
    )
    near = (sides < NEAR * shorter).astype("float32")
    deep = paddle.clip(sides.min(1, keepdim=True) / (CORE * shorter), 0.0, 1.0)
    return LineTargets(
        core=(depth > 0).astype("float32") * known * is_seen,
        edge=(0.25 + 0.75 * paddle.clip(depth.abs(), max=1.0)) * is_seen,
        sides=sides,
        scale=0.2 * shorter + 1.0,
        # A large line has more positions: each counts less, though together they count for more than a small one.
        share=near * deep * inside * is_seen * (12.0 / paddle.clip(shorter, min=12.0)),
    )


def lines_loss(maps: Tensor, targets: LineTargets) -> dict[str, Tensor]:
    """Measure how far the maps are from the truth.

    Args:
        maps: ``(B, 8, h, w)``, see ``models.cellnet``.
        targets: The truth.

    Returns:
        ``total``, its parts by the names in ``WEIGHTS``, and ``pixels``: the mean error of a side in px. Scalars;
        nothing is read back from the device.
    """
    maps = maps.astype("float32")
    logits, sides = maps[:, :4], maps[:, 4:] * LINE_UNIT
    error = (sides - targets.sides).abs()
    probability = F.sigmoid(logits)
    seen = probability * (targets.edge > 0).astype("float32")
    both = (seen * targets.core).sum([1, 2, 3])
    either = (seen * seen).sum([1, 2, 3]) + targets.core.sum([1, 2, 3])
    parts = {
        "core": _balanced(logits, probability, targets),
        "dice": (1 - (2 * both + 1) / (either + 1)).mean(),
        "sides": _mean(error / targets.scale, targets.share),
    }
    total = paddle.add_n([weight * parts[name] for name, weight in WEIGHTS.items()])
    return {"total": total, **parts, "pixels": _mean(error.detach(), targets.share)}


def _balanced(logits: Tensor, probability: Tensor, targets: LineTargets) -> Tensor:
    """Cross-entropy where text is and, as far as the network is wrong there, where none is.

    Most of a picture is easy ground: its weight is the square of what the network still believes (Lin et al., "Focal
    Loss for Dense Object Detection", 2017).
    """
    loss = F.binary_cross_entropy_with_logits(logits, targets.core, reduction="none") * targets.edge
    count = paddle.clip(targets.core.sum(), min=1.0)
    with paddle.no_grad():
        ground = (1 - targets.core) * probability * probability
    return ((targets.core * loss).sum() + _HARD * (ground * loss).sum()) / count


def _side(x0: Tensor, y0: Tensor, x1: Tensor, y1: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Factors ``a, b, c`` so that ``a x + b y + c`` is the distance from the line through two points.

    It is positive to the right of the way from one to the other, where the inside of a quad is.
    """
    dx, dy = x1 - x0, y1 - y0
    length = paddle.clip(paddle.sqrt(dx * dx + dy * dy), min=1e-3)
    a, b = -dy / length, dx / length
    return a, b, -(a * x0 + b * y0)


def _mean(values: Tensor, weights: Tensor) -> Tensor:
    return (values * weights).sum() / paddle.clip(weights.sum(), min=1.0)
