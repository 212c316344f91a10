"""Words that lie beside the cell they belong to.

A superscript reaches above its line, a currency sign or a unit stands left or right of a cell
that was drawn too small: they follow the word they touch. Any other word in no cell goes to the
slot of its row and its column.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
import shapely
from numpy.typing import NDArray

from postprocess.boxes import Floats, quads_to_array, quads_to_boxes
from postprocess.table import Cell, Table

BESIDE = 0.35
"""Distance along the line, in heights of the larger word, up to which two words touch."""
SMALL = 0.8
"""Height, as a share of the word beside it, up to which a word is an index of it."""
INNER = 0.8
"""A word whose corners, drawn in to this share, are in its cell is at home there."""
NEAR = 1.0
"""Distance from the outermost cell of its row, in heights of the word, up to which a word belongs to it."""


def anchors_of_strays(
    texts: Sequence[str],
    corners: Floats,
    areas: NDArray[np.object_],
    owner: NDArray[np.int64],
    is_loose: NDArray[np.bool_],
) -> dict[int, int]:
    """The word that each stray word belongs to.

    A stray is a word in no cell, or a small word or sign that lies across a border; it belongs to a word
    that is in one cell, on the same line, and that it touches.

    Args:
        texts: ``W`` texts.
        corners: ``(W, 4, 2)`` their quads.
        areas: Polygons of the cells.
        owner: ``(W,)`` the cell that holds a word as a whole, or -1.
        is_loose: ``(W,)`` whether a word is in no cell.

    Returns:
        Stray to anchor, both by index.
    """
    across = _heights(corners)
    is_sign = np.array([not any(character.isalnum() for character in text) for text in texts], bool)
    is_low = across <= SMALL * np.median(across)
    crosses = is_loose.copy()
    asked = np.flatnonzero((is_sign | is_low) & ~is_loose)
    crosses[asked] = (owner[asked] < 0) | ~_at_home(corners[asked], areas[owner[asked]])
    strays = np.flatnonzero(crosses)
    found: dict[int, int] = {}
    if not len(strays) or len(strays) == len(texts):
        return found
    boxes = quads_to_boxes(corners)
    tree = shapely.STRtree(shapely.box(*boxes.T))
    reach = BESIDE * across.max()
    stray, near = tree.query(shapely.box(*(boxes[strays] + reach * np.array([-1, -1, 1, 1])).T))
    stray = strays[stray]
    possible = (owner[near] >= 0) & ~crosses[near]
    stray, near = stray[possible], near[possible]
    gap, shared = _beside(corners[stray], corners[near])
    is_index = is_loose[stray] | is_sign[stray] | (across[stray] <= SMALL * across[near])
    fits = is_index & (gap <= BESIDE * np.maximum(across[stray], across[near])) & (shared >= 0.2)
    for index in np.lexsort((-gap, stray)):
        if fits[index]:
            found[int(stray[index])] = int(near[index])
    return found


def _heights(corners: Floats) -> Floats:
    """``(W,)`` lengths across the line."""
    top, bottom = (corners[:, 0] + corners[:, 1]) / 2, (corners[:, 3] + corners[:, 2]) / 2
    return np.asarray(np.linalg.norm(bottom - top, axis=1))


def _at_home(corners: Floats, areas: NDArray[np.object_]) -> NDArray[np.bool_]:
    middle = corners.mean(axis=1, keepdims=True)
    inner = shapely.points(middle + INNER * (corners - middle))
    return np.asarray(shapely.intersects(areas[:, None], inner).all(axis=1))


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


Slot = int | Literal["unclear"] | None


def place_by_row_and_column(tables: Sequence[Table], corners: Floats) -> list[Slot]:
    """Slots of words that are in no cell.

    A word is in a row where a cell of that row lies level with it, and in a column where one lies above or below.
    Left and right of all columns it belongs to the cell beside it if that is near.

    Args:
        tables: Tables of one picture.
        corners: ``(W, 4, 2)`` finite quads of the words.

    Returns:
        For each word the index of a cell, counted through all tables; "unclear" inside a table where row and
        column name no one cell; None outside.
    """
    slots: list[Slot] = [None] * len(corners)
    first = 0
    for table in tables:
        seen = [index for index, cell in enumerate(table.cells) if cell.quad is not None]
        if seen and len(corners):
            _place_in_table(table, seen, first, corners, slots)
        first += len(table.cells)
    return slots


def _place_in_table(table: Table, seen: list[int], first: int, corners: Floats, slots: list[Slot]) -> None:
    quads = quads_to_array([quad for cell in table.cells if (quad := cell.quad) is not None])
    direction = (quads[:, 1] + quads[:, 2] - quads[:, 0] - quads[:, 3]).sum(axis=0)
    x, y = direction / max(float(np.linalg.norm(direction)), 1e-9)
    level = np.array([[x, -y], [y, x]])
    boxes, words = quads_to_boxes(quads @ level), quads_to_boxes(corners @ level)
    cells = [table.cells[index] for index in seen]
    middles = (words[:, :2] + words[:, 2:]) / 2
    heights = _heights(corners)
    hull = np.concatenate([boxes[:, :2].min(axis=0), boxes[:, 2:].max(axis=0)])
    outside = np.maximum(hull[:2] - words[:, 2:], words[:, :2] - hull[2:])
    for index in np.flatnonzero((outside <= NEAR * heights[:, None]).all(axis=1)).tolist():
        if isinstance(slots[index], int):
            continue
        slot = _slot_of(table, cells, boxes, words[index], middles[index], float(heights[index]))
        slots[index] = first + slot if isinstance(slot, int) else slot


def _slot_of(table: Table, cells: list[Cell], boxes: Floats, word: Floats, middle: Floats, height: float) -> Slot:
    low, high = boxes[:, :2], boxes[:, 2:]
    level, upright = ((low <= middle) & (middle <= high)).T[::-1]
    if not level.any():
        return None
    gaps = np.maximum(low - word[2:], word[:2] - high)
    beside = min(np.flatnonzero(level), key=lambda index: gaps[index, 0])
    if not upright.any():
        return _index_of(table, cells[beside]) if gaps[beside, 0] <= NEAR * height else None
    above = min(np.flatnonzero(upright), key=lambda index: gaps[index, 1])
    row, col = cells[beside], cells[above]
    owners = np.unique(table.owner[row.row : row.end_row, col.col : col.end_col])
    return int(owners[0]) if len(owners) == 1 else "unclear"


def _index_of(table: Table, cell: Cell) -> int:
    return int(table.owner[cell.row, cell.col])
