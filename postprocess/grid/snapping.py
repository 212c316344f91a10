"""Edges of cells put on the rulings beside them.

A detector is off by a pixel or two. Where a ruling lies beside an edge, along most of it, the edge belongs on the
line. The grid is known by then and stays as it is.
"""

from __future__ import annotations

import numpy as np
import shapely
from numpy.typing import NDArray

from postprocess.arrays import Floats
from postprocess.geometry.rulings import Rulings

_REACH = 0.2
"""Distance from a line up to which an edge belongs on it, as a share of the cell."""
_RULED = 0.85
"""Share of an edge that must be ruled."""
_LONG = 4.0
"""Shortest line, in text heights: a stroke of a letter is as long as a low cell is high."""
_STRAIGHT = 0.35
"""Thickest box of a line that does not bend, as a share of the text height: of others the middle says little."""


def snap_quads(quads: Floats, rulings: Rulings) -> Floats:
    """Put the edges of cells on rulings.

    Args:
        quads: ``(N, 4, 2)`` cells in pixels of the picture.
        rulings: Of the same picture.

    Returns:
        ``(N, 4, 2)`` the cells; what has no ruling beside it is where it was.

    >>> from postprocess.geometry.boxes import as_boxes, boxes_to_quads, quads_to_boxes
    >>> rulings = Rulings(as_boxes([[0, 9, 60, 11]]), as_boxes([]), 0.0, (0.0, 0.0), 10.0)
    >>> quads_to_boxes(snap_quads(boxes_to_quads([[0, 12, 30, 30], [30, 30, 60, 50]]), rulings)).tolist()
    [[0.0, 10.0, 30.0, 30.0], [30.0, 30.0, 60.0, 50.0]]
    """
    upright = rulings.to_upright(quads)
    thickest, shortest = _STRAIGHT * rulings.text_height, _LONG * rulings.text_height
    moved = upright.copy()
    # The upper edge has the corners 0 and 1, the left one 0 and 3.
    for axis, segments, edges in (
        (0, rulings.horizontal, ((0, 1), (3, 2))),
        (1, rulings.vertical[:, [1, 0, 3, 2]], ((0, 3), (1, 2))),
    ):
        lines = segments[(segments[:, 3] - segments[:, 1] <= thickest) & (segments[:, 2] - segments[:, 0] >= shortest)]
        corners = upright[..., [axis, 1 - axis]]
        size = np.abs(corners[:, edges[1], 1].mean(axis=1) - corners[:, edges[0], 1].mean(axis=1))
        for edge in edges:
            shift = _way_to_line(corners[:, edge], _REACH * size, lines)
            moved[:, edge, 1 - axis] += shift[:, None]
    is_moved = (moved != upright).any(axis=(1, 2))
    snapped = quads.copy()
    snapped[is_moved] = rulings.to_picture(moved[is_moved])
    return np.asarray(snapped)


def _way_to_line(edges: Floats, reach: Floats, segments: Floats) -> Floats:
    """``(N,)`` distance from each edge to the line along it, 0 where most of the edge has none.

    Args:
        edges: ``(N, 2, 2)`` both ends of each edge, along the line and across it.
        reach: ``(N,)`` distance of the line, pixels.
        segments: ``(S, 4)`` boxes of the rulings along the same axis.
    """
    start, end = edges[..., 0].min(axis=1), edges[..., 0].max(axis=1)
    across = edges[..., 1].mean(axis=1)
    middle = (segments[:, 1] + segments[:, 3]) / 2
    shapes = shapely.box(segments[:, 0], middle, segments[:, 2], middle)
    finite = np.flatnonzero(np.isfinite(edges).all(axis=(1, 2)))
    around = shapely.box(*np.stack([start, across - reach, end, across + reach])[:, finite])
    edge, segment = shapely.STRtree(shapes).query(around)
    edge = finite[edge]
    ruled = np.minimum(end[edge], segments[segment, 2]) - np.maximum(start[edge], segments[segment, 0])
    # Of several lines side by side the nearest is that of the edge: pieces of it count, no other line.
    off = np.abs(middle[segment] - across[edge])
    nearest: Floats = np.full(len(edges), np.inf)
    long = ruled > 0
    np.minimum.at(nearest, edge[long], off[long])
    thickness = segments[segment, 3] - segments[segment, 1]
    same = long & (off <= nearest[edge] + thickness)
    length = np.bincount(edge[same], ruled[same], len(edges))
    place = np.bincount(edge[same], (ruled * middle[segment])[same], len(edges)) / np.where(length > 0, length, 1)
    is_ruled: NDArray[np.bool_] = length > _RULED * (end - start)
    return np.where(is_ruled & (length > 0), place - across, 0.0)
