"""Large pictures in tiles: each cell, and each line of text, is taken from the one tile whose core holds its middle."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from postprocess.arrays import Floats
from postprocess.geometry.boxes import merge_doubles, quads_to_boxes

LARGEST = 1920
"""Longest side of a tile in pixels: what one pass may take in memory."""
MARGIN = 256
"""What a tile sees around its core, pixels. A cell of up to nearly twice this size is wholly seen by its tile."""


@dataclass(frozen=True, slots=True)
class Tile:
    """A part of a picture.

    Args:
        box_xyxy: What it shows, in pixels.
        core_xyxy: What it answers for; the cores of all tiles cover the picture without overlap.
    """

    box_xyxy: tuple[int, int, int, int]
    core_xyxy: tuple[int, int, int, int]


Detect = Callable[[Tile, float], tuple[Floats, Floats, NDArray[Any]]]
"""A tile and a scale of at most 1 to quads in pixels of the picture, scores, and the table map of the tile."""


def plan_tiles(size_hw: tuple[int, ...], largest: int = LARGEST, margin: int = MARGIN) -> list[Tile]:
    """Cut a picture into tiles.

    Args:
        size_hw: Height and width in pixels.
        largest: Longest side of a tile, more than twice the margin.
        margin: Pixels that a tile shows beyond its core.

    >>> plan_tiles((100, 200))
    [Tile(box_xyxy=(0, 0, 200, 100), core_xyxy=(0, 0, 200, 100))]
    >>> [tile.box_xyxy for tile in plan_tiles((100, 200), largest=120, margin=20)]
    [(0, 0, 120, 100), (80, 0, 200, 100)]
    """
    spans = [_cut(size, largest, margin) for size in size_hw[:2]]
    return [
        Tile((x0, y0, x1, y1), (left, top, right, bottom))
        for y0, y1, top, bottom in spans[0]
        for x0, x1, left, right in spans[1]
    ]


def _cut(size: int, largest: int, margin: int) -> list[tuple[int, int, int, int]]:
    """Start and end of each tile along an axis, and of its core."""
    if size <= largest:
        return [(0, size, 0, size)]
    # The first and the last tile have nothing to show on one side.
    count = -(-(size - 2 * margin) // (largest - 2 * margin))
    cuts = [0, *(margin + k * (size - 2 * margin) // count for k in range(1, count)), size]
    return [(max(start - margin, 0), min(end + margin, size), start, end) for start, end in pairwise(cuts)]


def detect_in_tiles(
    detect: Detect, tiles: Sequence[Tile], largest: int = LARGEST, margin: int = MARGIN
) -> tuple[Floats, Floats, NDArray[Any]]:
    """Detect the cells of a picture tile by tile.

    A cell that is too large for a tile's margin is taken from a pass over the whole picture, made
    smaller; so is the table map.

    Args:
        detect: Detects the cells of a tile.
        tiles: As ``plan_tiles`` made them, with the same ``largest`` and ``margin``.
        largest: Longest side of a tile.
        margin: Pixels that a tile shows beyond its core.

    Returns:
        ``(N, 4, 2)`` quads in pixels of the picture, ``(N,)`` scores, and the table map of the whole picture.
    """
    if len(tiles) == 1:
        quads, scores, tables = detect(tiles[0], 1.0)
        kept = merge_doubles(quads, scores)
        return quads[kept], scores[kept], tables
    x1, y1 = tiles[-1].box_xyxy[2:]
    whole = Tile((0, 0, x1, y1), (0, 0, x1, y1))
    quads, scores, tables = detect(whole, largest / max(x1, y1))
    # No two passes agree to the pixel: both keep what lies near the limit between them, and one of the two goes.
    slack = margin / 16
    large = ~_fits(quads, 0.9 * (margin - slack))
    parts = [(quads[large], scores[large])]
    for tile in tiles:
        quads, scores, _ = detect(tile, 1.0)
        mine = _fits(quads, margin - slack) & _in_core(quads, tile, slack) & _is_whole(quads, tile, (x1, y1), slack)
        parts.append((quads[mine], scores[mine]))
    quads, scores = np.concatenate([part[0] for part in parts]), np.concatenate([part[1] for part in parts])
    kept = merge_doubles(quads, scores)
    return quads[kept], scores[kept], tables


def join_lines(lines: Mapping[Tile, Floats]) -> Floats:
    """Join the lines of text that tiles have seen.

    A line that goes on beyond a tile is cut at the tile's core, so that each tile has its part.

    Args:
        lines: ``(N, 4, 2)`` of each tile, in pixels of the picture.

    Returns:
        ``(M, 4, 2)`` lines of the whole picture.

    >>> left, right = plan_tiles((10, 200), largest=120, margin=20)
    >>> lines = {left: np.array([[[4, 2], [119, 2], [119, 8], [4, 8]]]),
    ...     right: np.array([[[81, 2], [150, 2], [150, 8], [81, 8]], [[90, 0], [95, 0], [95, 2], [90, 2]]])}
    >>> join_lines(lines)[..., 0].tolist()
    [[4.0, 100.0, 100.0, 4.0], [100.0, 150.0, 150.0, 100.0]]
    """
    tiles, parts = list(lines), []
    size_wh = tuple(max((tile.box_xyxy[2 + axis] for tile in tiles), default=0) for axis in (0, 1))
    for tile in tiles:
        quads = np.asarray(lines[tile], np.float64)
        if len(tiles) > 1 and len(quads):
            whole = _is_whole(quads, tile, (size_wh[0], size_wh[1]), MARGIN / 64)
            low, high = np.array(tile.core_xyxy, np.float64).reshape(2, 2)
            cut = quads[~whole].clip(low, high)
            shown = (cut.max(axis=1) - cut.min(axis=1)).min(axis=1) > 1
            quads = np.concatenate([quads[whole & _in_core(quads, tile, 0.0)], cut[shown]])
        parts.append(quads)
    return np.concatenate(parts) if parts else np.empty((0, 4, 2))


def inner_cells(quads: Floats, size_hw: tuple[int, ...]) -> NDArray[np.bool_]:
    """Cells of which something is left when they are clipped to the picture."""
    boxes = quads_to_boxes(quads)
    limit = np.array(size_hw[1::-1])
    return np.asarray((np.minimum(boxes[:, 2:], limit) - np.maximum(boxes[:, :2], 0) > 1).all(axis=1))


def _fits(quads: Floats, half: float) -> NDArray[np.bool_]:
    boxes = quads_to_boxes(quads)
    return np.asarray((boxes[:, 2:] - boxes[:, :2] <= 2 * half).all(axis=1))


def _is_whole(quads: Floats, tile: Tile, size_wh: tuple[int, int], slack: float) -> NDArray[np.bool_]:
    """Whether a cell ends before the tile does: of a larger one, the part that a tile sees may fit."""
    boxes = quads_to_boxes(quads)
    low, high = np.array(tile.box_xyxy).reshape(2, 2)
    ends = ((boxes[:, :2] > low + slack) | (low == 0)) & ((boxes[:, 2:] < high - slack) | (high == size_wh))
    return np.asarray(ends.all(axis=1))


def _in_core(quads: Floats, tile: Tile, slack: float) -> NDArray[np.bool_]:
    boxes = quads_to_boxes(quads)
    middles = (boxes[:, :2] + boxes[:, 2:]) / 2
    core = np.array(tile.core_xyxy)
    return np.asarray(((middles >= core[:2] - slack) & (middles < core[2:] + slack)).all(axis=1))
