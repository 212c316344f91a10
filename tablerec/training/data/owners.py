"""The owner map: which cell lies where. Only CellNet asks for it.

It is made once for each sample on the CPU and travels with it; from it and the quads all targets are computed where the
network is trained, after the sample has been moved and turned.
"""

from __future__ import annotations

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
    import cv2

    height, width = size_hw
    filled = np.zeros((height, width), np.int16)
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
