"""The owner map: which cell, or which line of text, lies where. Only CellNet asks for it.

It is made once for each sample on the CPU and travels with it; from it and the quads all targets are computed where the
network is trained, after the sample has been moved and turned.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

SAMPLE_STRIDE = 2
"""Pixels between two positions of a sample's map; finer than the network's, as the map is moved by its positions."""
MARGIN = 8
"""Pixels around a table that know the nearest cell."""


def quads_to_owners(quads: NDArray[np.floating], size_hw: tuple[int, int], stride: int = 4) -> NDArray[np.int16]:
    """Make the owner map.

    Args:
        quads: ``(N, 4, 2)`` corners TL, TR, BR, BL in pixels, at most 32,767 of them. Where cells
            overlap, the later one is the owner.
        size_hw: Height and width of the picture in pixels, multiples of ``stride``.
        stride: Pixels between two positions.

    Returns:
        ``(H / stride, W / stride)``: the number of the owner, counted from 1; its negative just
        outside the tables; 0 elsewhere.

    >>> quads_to_owners(np.array([[[8, 8], [16, 8], [16, 12], [8, 12]]]), (20, 24)).tolist()
    [[-1, -1, -1, -1, -1, -1], [-1, -1, -1, -1, -1, -1], [-1, -1, 1, 1, -1, -1], [-1, -1, -1, -1, -1, -1], \
[-1, -1, -1, -1, -1, -1]]
    """
    return _fill([quads], size_hw, stride)


def lines_to_owners(quads: NDArray[np.floating], size_hw: tuple[int, int], stride: int = 4) -> NDArray[np.int16]:
    """Make the owner map of lines of text: as of cells, but where lines overlap, each owns its own middle.

    Args:
        quads: As for ``quads_to_owners``, of lines.
        size_hw: As for ``quads_to_owners``.
        stride: As for ``quads_to_owners``.

    >>> lines = np.array([[[0, 0], [24, 0], [24, 12], [0, 12]], [[0, 8], [24, 8], [24, 20], [0, 20]]])
    >>> lines_to_owners(lines, (20, 24))[:, 3].tolist()
    [1, 1, 2, 2, 2]
    """
    corners = np.asarray(quads, np.float64).reshape(-1, 4, 2)
    return _fill([corners, _middles(corners)], size_hw, stride)


def _middles(quads: NDArray[np.float64]) -> NDArray[np.float64]:
    """Quads without a margin of 0.3 of their shorter side."""
    tl, tr, br, bl = (quads[:, k] for k in range(4))
    width, height = (np.linalg.norm(a - b, axis=1).clip(1e-6) for a, b in ((tr, tl), (bl, tl)))
    x, y = ((0.3 * np.minimum(width, height) / each)[:, None] for each in (width, height))

    def inner(corner: NDArray[np.float64], beside: NDArray[np.float64], beyond: NDArray[np.float64]) -> Any:
        return corner + x * (beside - corner) + y * (beyond - corner)

    return np.stack([inner(tl, tr, bl), inner(tr, tl, br), inner(br, bl, tr), inner(bl, br, tl)], axis=1)


def _fill(layers: Sequence[NDArray[np.floating]], size_hw: tuple[int, int], stride: int) -> NDArray[np.int16]:
    """Fill quads with their numbers, layer by layer, and let what is around them know the nearest."""
    import cv2

    height, width = size_hw
    filled = np.zeros((height, width), np.int16)
    for quads in layers:
        # Pixel k is taken for the point k, so that the middle of a position is a pixel; the shift keeps 1/16 px.
        corners = np.rint(np.asarray(quads, np.float64).reshape(-1, 4, 2) * 16).astype(np.int32)
        for number, corner in enumerate(corners, start=1):
            cv2.fillConvexPoly(filled, corner, number, lineType=cv2.LINE_8, shift=4)
    owners = np.ascontiguousarray(filled[stride // 2 :: stride, stride // 2 :: stride])
    return _with_margin(owners, MARGIN // stride) if owners.any() else owners


def _with_margin(owners: NDArray[np.int16], margin: int) -> NDArray[np.int16]:
    import cv2

    free = (owners == 0).astype(np.uint8)
    distance, nearest = cv2.distanceTransformWithLabels(free, cv2.DIST_C, 3, labelType=cv2.DIST_LABEL_PIXEL)
    number_of = np.zeros(int(nearest.max()) + 1, np.int16)
    number_of[nearest[free == 0]] = owners[free == 0]
    return np.where(free & (distance <= margin), -number_of[nearest], owners)
