"""CellNet's targets at each position, and its loss."""

from __future__ import annotations

from typing import NamedTuple

import paddle
from paddle import Tensor
from paddle.nn import functional as F  # noqa: N812

from tablerec.models.cellnet import REACH, STRIDE, UNIT, split_maps
from tablerec.training.data.batches import arange

SPREAD = 0.3
"""Standard deviation of the heat, in halves of the cell's width and height."""
WIDEST = 48.0
"""The same in pixels, at most: in a very wide cell the heat would be flat, and its peak doubled."""
SURE = 0.25
"""Corners are trained where the heat is above this."""
WEIGHTS = {"heat": 1.0, "corners": 1.5, "near": 0.5, "border": 0.5, "table": 1.0}
"""Shares of the parts in the loss."""


class Targets(NamedTuple):
    """The truth at each position of the maps.

    Args:
        heat: ``(B, h, w)`` 1 at the centre of a cell, falling to its sides, 0 outside.
        centre: ``(B, h, w)`` bool, the one position that holds a cell's centre.
        corners: ``(B, h, w, 4, 2)`` pixels from here to the corners of the cell.
        scale: ``(B, h, w, 2)`` pixels by which an error in x and y is divided: a share of the cell's size.
        share: ``(B, h, w)`` weight of the corners.
        border: ``(B, 2, h, w)`` pixels to the nearest side of the cell, along x and along y.
        known: ``(B, h, w)`` bool, in a cell or beside a table.
        inside: ``(B, h, w)`` bool, in a cell.
    """

    heat: Tensor
    centre: Tensor
    corners: Tensor
    scale: Tensor
    share: Tensor
    border: Tensor
    known: Tensor
    inside: Tensor


def gather_quads(owners: Tensor, quads: Tensor) -> Tensor:
    """Look up the quad that owns each position; where none does, any quad.

    Args:
        owners: ``(B, h, w)`` int64, see ``quads_to_owners``.
        quads: ``(B, N, 4, 2)`` float32 pixels.

    Returns:
        ``(B, h, w, 8)`` float32 pixels: x, y of TL, TR, BR, BL.
    """
    batch = owners.shape[0]
    first = arange(batch, "int64").reshape([batch, 1, 1]) * quads.shape[1]
    index = paddle.clip(paddle.abs(owners) - 1, min=0) + first
    return paddle.gather(quads.reshape([-1, 8]), index.flatten()).reshape([*owners.shape, 8])


@paddle.no_grad()
def make_targets(owners: Tensor, quads: Tensor) -> Targets:
    """Compute the truth from owner maps and quads.

    Args:
        owners: ``(B, h, w)`` integers, see ``quads_to_owners``.
        quads: ``(B, N, 4, 2)`` float32 pixels; rows without a cell may hold anything.
    """
    batch, height, width = owners.shape
    owners = owners.astype("int64")
    inside, known = owners > 0, owners != 0
    q = gather_quads(owners, quads).reshape([batch, height, width, 4, 2])
    x = ((arange(width, "float32") + 0.5) * STRIDE).reshape([1, 1, width])
    y = ((arange(height, "float32") + 0.5) * STRIDE).reshape([1, height, 1])
    here = paddle.stack([x.expand([batch, height, width]), y.expand([batch, height, width])], -1)

    tl, tr, br, bl = (q[..., k, :] for k in range(4))
    right, down = (tr + br - tl - bl) / 4, (bl + br - tl - tr) / 4  # half of the cell's width and height
    offset = here - (tl + tr + br + bl) / 4
    turn = paddle.clip(_cross(right, down), min=1.0)
    length = paddle.sqrt(paddle.stack([(right * right).sum(-1), (down * down).sum(-1)], -1))
    spread = paddle.clip(WIDEST / paddle.clip(length, min=1.0), max=SPREAD)
    u, v = _cross(offset, down) / turn / spread[..., 0], _cross(right, offset) / turn / spread[..., 1]
    heat = paddle.exp(-0.5 * (u * u + v * v)) * inside.astype("float32")
    within = paddle.logical_and(offset > -STRIDE / 2, offset <= STRIDE / 2)
    centre = paddle.logical_and(inside, paddle.logical_and(within[..., 0], within[..., 1]))
    # A large cell has more positions: by the root of their number it still counts for more than a small one.
    share = heat * (heat > SURE).astype("float32") / paddle.sqrt(paddle.clip(4 * turn, min=STRIDE**2)) * STRIDE

    return Targets(
        heat=paddle.where(centre, paddle.ones_like(heat), paddle.clip(heat, max=0.999)),
        centre=centre,
        corners=q - here.unsqueeze(-2),
        scale=paddle.stack([0.5 * length[..., 0] + 6.0, 0.5 * length[..., 1] + 2.5], -1),
        share=share,
        border=paddle.stack([_nearest_side(tl, bl, tr, br, here, 0), _nearest_side(tl, tr, bl, br, here, 1)], 1),
        known=known,
        inside=inside,
    )


def cellnet_loss(maps: Tensor, targets: Targets) -> dict[str, Tensor]:
    """Measure how far the maps are from the truth.

    Args:
        maps: ``(B, 14, h, w)``, the network's output, of any floating type.
        targets: The truth.

    Returns:
        ``total``, its parts by the names in ``WEIGHTS``, and ``pixels``: the mean error of a corner along
        an axis, in px. Scalars; nothing is read back from the device.
    """
    out = split_maps(maps.astype("float32"))
    known, inside = targets.known.astype("float32"), targets.inside.astype("float32")
    parts = {
        "heat": _focal(out.heat.squeeze(1), targets),
        "near": _mean(_cross_entropy(out.near, targets.border.abs() <= REACH), known.unsqueeze(1)),
        "border": _border(out.border, targets, known.unsqueeze(1)),
        "table": F.binary_cross_entropy_with_logits(out.table.squeeze(1), inside),
    }
    batch, height, width = inside.shape
    corners = (out.corners * UNIT).transpose([0, 2, 3, 1]).reshape([batch, height, width, 4, 2])
    error = (corners - targets.corners).abs().mean(-2)  # (B, h, w, 2)
    share = targets.share.unsqueeze(-1)
    parts["corners"] = _mean(error / targets.scale, share)
    total = paddle.add_n([weight * parts[name] for name, weight in WEIGHTS.items()])
    return {"total": total, **parts, "pixels": _mean(error.detach(), share)}


def _focal(logits: Tensor, targets: Targets) -> Tensor:
    """CenterNet's penalty-reduced focal loss, by cell."""
    p = F.sigmoid(logits)
    weight = paddle.where(targets.centre, (1 - p) ** 2, (1 - targets.heat) ** 4 * p**2)
    count = paddle.clip(targets.centre.astype("float32").sum(), min=1.0)
    return (weight * _cross_entropy(logits, targets.centre)).sum() / count


def _border(border: Tensor, targets: Targets, known: Tensor) -> Tensor:
    near = (targets.border.abs() <= REACH).astype("float32") * known
    return _mean((border - targets.border / REACH).abs(), near)


def _cross_entropy(logits: Tensor, labels: Tensor) -> Tensor:
    return F.binary_cross_entropy_with_logits(logits, labels.astype("float32"), reduction="none")


def _mean(values: Tensor, weights: Tensor) -> Tensor:
    """Mean of ``values`` under ``weights``, which are repeated where a dimension of theirs is 1."""
    weights = weights.expand(values.shape)
    return (values * weights).sum() / paddle.clip(weights.sum(), min=1.0)


def _cross(a: Tensor, b: Tensor) -> Tensor:
    return a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0]


def _nearest_side(from_a: Tensor, to_a: Tensor, from_b: Tensor, to_b: Tensor, here: Tensor, axis: int) -> Tensor:
    """Signed pixels along an axis to the nearer of two sides of a quad, each given by its two ends."""
    a, b = (_along(*side, here, axis) for side in ((from_a, to_a), (from_b, to_b)))
    return paddle.where(a.abs() < b.abs(), a, b)


def _along(start: Tensor, end: Tensor, here: Tensor, axis: int) -> Tensor:
    """Signed pixels along an axis from a point to the line from ``start`` to ``end``, which crosses that axis."""
    other = 1 - axis
    length = (end - start)[..., other]
    t = (here - start)[..., other] / paddle.where(length.abs() < 1.0, paddle.ones_like(length), length)
    return (start + paddle.clip(t, 0.0, 1.0).unsqueeze(-1) * (end - start) - here)[..., axis]
