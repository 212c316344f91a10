"""Words that lie beside the cell they belong to.

A superscript reaches above its line, a currency sign or a unit stands left or right of a cell
whose borders are too close: they follow the word they touch. Any other word in no cell goes to the
slot of its row and its column.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import shapely
from numpy.typing import NDArray

from postprocess.arrays import Flags, Floats, Ints
from postprocess.geometry.boxes import quads_to_array, quads_to_boxes
from postprocess.table import Table
from postprocess.word import Words

CROSSING, SPLIT, LOOSE, BETWEEN, NOWHERE = -1, -2, -3, -4, -5
"""Instead of the cell of a word: it lies across a border, is split there, lies in no cell, or where its row and its
column do not say in which, or its place is not a number."""
BESIDE = 0.35
"""Distance along the line, in heights of the larger word, up to which two words touch."""
SMALL = 0.8
"""Height, as a share of the word beside it, up to which a word is an index of it."""
INNER = 0.8
"""A word whose corners, moved in to this share, are in its cell is at home there."""
NEAR = 1.0
"""Distance from the outermost cell of its row, in heights of the word, up to which a word belongs to it."""


def follow_anchors(words: Words, areas: NDArray[np.object_], homes: Ints) -> Ints:
    """The cells of words, where each stray word has that of its anchor.

    A stray is a word in no cell, or a small word or sign that lies across a border; its anchor is a word
    that is in one cell, on the same line, and that it touches.

    Args:
        words: ``W`` words.
        areas: Polygons of the cells.
        homes: ``(W,)`` the cell that holds a word as a whole, or ``CROSSING``, ``LOOSE`` or ``NOWHERE``.

    Returns:
        ``(W,)`` as ``homes``.
    """
    corners, across = words.quads, _heights(words.quads)
    is_loose = homes == LOOSE
    is_sign = np.array([not any(map(str.isalnum, text)) for text in words.texts], bool)
    crosses = is_loose.copy()
    is_small = is_sign | (across <= SMALL * np.median(across[homes > NOWHERE]))
    asked = np.flatnonzero(is_small & (homes >= CROSSING))
    crosses[asked] = (homes[asked] < 0) | ~_at_home(corners[asked], areas[homes[asked]])
    strays, anchors = np.flatnonzero(crosses), np.flatnonzero((homes >= 0) & ~crosses)
    followed: Ints = homes.copy()
    if not len(strays) or not len(anchors):
        return followed
    reach = BESIDE * across[:, None] * np.array([-1, -1, 1, 1])
    around = shapely.box(*(quads_to_boxes(corners) + reach).T)
    stray, near = shapely.STRtree(around[anchors]).query(around[strays])
    stray, near = strays[stray], anchors[near]
    gap, shared = _beside(corners[stray], corners[near])
    is_index = is_loose[stray] | is_sign[stray] | (across[stray] <= SMALL * across[near])
    fits = is_index & (gap <= BESIDE * np.maximum(across[stray], across[near])) & (shared >= 0.2)
    nearest_last = np.argsort(-gap[fits], kind="stable")
    followed[stray[fits][nearest_last]] = homes[near[fits][nearest_last]]
    return followed


def _heights(corners: Floats) -> Floats:
    """``(W,)`` lengths across the line."""
    top, bottom = (corners[:, 0] + corners[:, 1]) / 2, (corners[:, 3] + corners[:, 2]) / 2
    return np.asarray(np.linalg.norm(bottom - top, axis=1))


def _at_home(corners: Floats, areas: NDArray[np.object_]) -> Flags:
    middle = corners.mean(axis=1, keepdims=True)
    inner = middle + INNER * (corners - middle)
    return np.asarray(shapely.intersects_xy(areas[:, None], inner[..., 0], inner[..., 1]).all(axis=1))


def _beside(corners: Floats, others: Floats) -> tuple[Floats, Floats]:
    """Distance of each word from the other along the other's line, and the share of its height on that line.

    Words that lie one above the other have no distance along the line; it counts as infinite.
    """
    left, right = (others[:, 0] + others[:, 3]) / 2, (others[:, 1] + others[:, 2]) / 2
    direction = right - left
    length = np.maximum(np.linalg.norm(direction, axis=1, keepdims=True), 1e-9)
    x, y = (direction / length).T[:, :, None]
    u, other_u = (quads[..., 0] * x + quads[..., 1] * y for quads in (corners, others))
    v, other_v = (quads[..., 1] * x - quads[..., 0] * y for quads in (corners, others))
    gap = np.maximum(u.min(axis=1) - other_u.max(axis=1), other_u.min(axis=1) - u.max(axis=1))
    height, other_height = v.max(axis=1) - v.min(axis=1), other_v.max(axis=1) - other_v.min(axis=1)
    shared = np.minimum(v.max(axis=1), other_v.max(axis=1)) - np.maximum(v.min(axis=1), other_v.min(axis=1))
    gap = np.where(gap < -0.5 * other_height, np.inf, gap)
    return gap, shared / np.maximum(height, 1e-9)


def place_by_row_and_column(tables: Sequence[Table], corners: Floats) -> Ints:
    """Slots of words that are in no cell.

    A word is in a row where a cell of that row lies level with it, and in a column where one lies above or below.
    Left and right of all columns it belongs to the cell beside it if that is near.

    Args:
        tables: Tables of one picture.
        corners: ``(W, 4, 2)`` finite quads of the words.

    Returns:
        ``(W,)`` the cell of each word, counted through all tables; ``BETWEEN`` inside a table where row and
        column name no one cell; ``LOOSE`` outside.
    """
    slots = np.full(len(corners), LOOSE, np.int64)
    first = 0
    for table in tables:
        asked = np.flatnonzero(slots < 0)
        near, found = _slots_in_table(table, corners[asked])
        slots[asked[near]] = np.where(found >= 0, found + first, found)
        first += len(table.cells)
    return slots


def _slots_in_table(table: Table, corners: Floats) -> tuple[Ints, Ints]:
    """Indices of the words in or near a table, and the cell of each."""
    cells = [cell for cell in table.cells if cell.quad is not None]
    if not cells or not len(corners):
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    quads = quads_to_array([quad for cell in cells if (quad := cell.quad)])
    direction = (quads[:, 1] + quads[:, 2] - quads[:, 0] - quads[:, 3]).sum(axis=0)
    x, y = direction / max(float(np.linalg.norm(direction)), 1e-9)
    level = np.array([[x, -y], [y, x]])
    boxes, words, heights = quads_to_boxes(quads @ level), quads_to_boxes(corners @ level), _heights(corners)
    hull = np.concatenate([boxes[:, :2].min(axis=0), boxes[:, 2:].max(axis=0)])
    outside = np.maximum(hull[:2] - words[:, 2:], words[:, :2] - hull[2:])
    near = np.flatnonzero((outside <= NEAR * heights[:, None]).all(axis=1))
    words, heights = words[near], heights[near]
    tree = shapely.STRtree(shapely.box(*boxes.T))
    (beside, gaps), (above, _) = (_nearest_along(axis, words, boxes, hull, tree) for axis in (0, 1))
    slots = np.full(len(near), LOOSE, np.int64)
    for index in np.flatnonzero(beside >= 0).tolist():
        row, col = cells[beside[index]], cells[above[index]]
        if above[index] >= 0:
            owners = table.owner[row.row : row.end_row, col.col : col.end_col]
            slots[index] = owners[0, 0] if (owners == owners[0, 0]).all() else BETWEEN
        elif gaps[index] <= NEAR * heights[index]:
            slots[index] = table.owner[row.row, row.col]
    return near, slots


def _nearest_along(axis: int, words: Floats, boxes: Floats, hull: Floats, tree: shapely.STRtree) -> tuple[Ints, Floats]:
    """``(W,)`` the nearest of the cells that a line through the middle of each word along an axis meets, or -1.

    Also the distance to it, below 0 where they overlap.
    """
    middles = (words[:, :2] + words[:, 2:]) / 2
    lines = np.hstack([middles, middles])
    lines[:, [axis, axis + 2]] = hull[[axis, axis + 2]]
    word, cell = tree.query(shapely.box(*lines.T))
    gaps = np.maximum(boxes[cell, axis] - words[word, axis + 2], words[word, axis] - boxes[cell, axis + 2])
    nearest_last = np.lexsort([-cell, -gaps])
    nearest, distance = np.full(len(words), -1, np.int64), np.full(len(words), np.inf)
    nearest[word[nearest_last]], distance[word[nearest_last]] = cell[nearest_last], gaps[nearest_last]
    return nearest, distance
