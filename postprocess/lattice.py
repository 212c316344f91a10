"""From ruling segments to the cells they enclose.

Segments are grouped into lines, the lines into a lattice of slots, and slots
without a wall between them are one cell.
"""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from postprocess.boxes import Floats, as_boxes, boxes_to_quads
from postprocess.rulings import Rulings, RulingSettings


@dataclass(frozen=True, slots=True)
class RuledArea:
    """Connected rulings and their cells.

    Args:
        quads: ``(N, 4, 2)`` cells in pixels of the picture.
        scores: ``(N,)`` drawn share of the least drawn side of each cell, 0 to 1.
        box_xyxy: ``(4,)`` extent in the upright frame.
    """

    quads: Floats
    scores: Floats
    box_xyxy: Floats


@dataclass(frozen=True, slots=True)
class Lattice:
    """Lines of a ruled area and the walls between its slots, in the upright frame.

    Args:
        xs: ``(C + 1,)`` positions of the vertical lines.
        ys: ``(R + 1,)`` positions of the horizontal lines.
        walls_h: ``(R + 1, C)`` drawn share of each horizontal slot border, 0 to 1.
        walls_v: ``(R, C + 1)`` drawn share of each vertical slot border, 0 to 1.
    """

    xs: Floats
    ys: Floats
    walls_h: Floats
    walls_v: Floats


def rulings_to_areas(
    rulings: Rulings, settings: RulingSettings | None = None, *, whole: bool = False
) -> list[RuledArea]:
    """Group rulings that touch and find the cells of each group.

    Args:
        rulings: Segments of one picture.
        settings: Tolerances.
        whole: Take all rulings of the picture as one table.

    Returns:
        Areas with at least one cell, from top to bottom.

    >>> from postprocess.rulings import image_to_rulings
    >>> page = np.full((80, 120), 255, np.uint8)
    >>> for y in (10, 40, 70): page[y, 10:111] = 0
    >>> for x in (10, 60, 110): page[10:71, x] = 0
    >>> [area] = rulings_to_areas(image_to_rulings(page))
    >>> area.quads.shape
    (4, 4, 2)
    """
    settings = settings or RulingSettings()
    groups = [(rulings.horizontal, rulings.vertical)] if whole else _touching(rulings, settings)
    areas = []
    for horizontal, vertical in groups:
        lattice = segments_to_lattice(horizontal, vertical, rulings.text_height, settings)
        boxes, scores = lattice_to_boxes(lattice, settings)
        if len(boxes):
            extent = np.array([*boxes[:, :2].min(axis=0), *boxes[:, 2:].max(axis=0)])
            areas.append(RuledArea(rulings.to_picture(boxes_to_quads(boxes)), scores, extent))
    return sorted(areas, key=lambda area: (area.box_xyxy[1], area.box_xyxy[0]))


def segments_to_lattice(horizontal: Floats, vertical: Floats, text_height: float, settings: RulingSettings) -> Lattice:
    """Lines and walls of segments that belong together."""
    merge = settings.merge_distance * text_height
    if len(horizontal) == 0 and len(vertical) == 0:
        return Lattice(np.zeros(0), np.zeros(0), np.zeros((0, 0)), np.zeros((0, 0)))
    both = np.vstack([horizontal, vertical])
    x0, y0 = both[:, :2].min(axis=0)
    x1, y1 = both[:, 2:].max(axis=0)
    xs, column_of = _lines(
        (vertical[:, 0] + vertical[:, 2]) / 2, vertical[:, 3] - vertical[:, 1], merge, x0, x1, text_height
    )
    ys, row_of = _lines(
        (horizontal[:, 1] + horizontal[:, 3]) / 2, horizontal[:, 2] - horizontal[:, 0], merge, y0, y1, text_height
    )
    walls_h = _coverage(horizontal[:, [0, 2]], row_of, len(ys), xs, merge)
    walls_v = _coverage(vertical[:, [1, 3]], column_of, len(xs), ys, merge).T
    return Lattice(xs, ys, walls_h, walls_v)


def _lines(
    positions: Floats, lengths: Floats, merge: float, start: float, end: float, text_height: float
) -> tuple[Floats, NDArray[np.intp]]:
    """Group parallel segments into lines; add the outer border where nothing is drawn."""
    order = np.argsort(positions)
    group = np.zeros(len(positions), np.intp)
    group[order] = np.concatenate([[0], np.cumsum(np.diff(positions[order]) > merge)])[: len(order)]
    n_groups = int(group.max()) + 1 if len(group) else 0
    weight = np.bincount(group, lengths, n_groups)
    lines = np.bincount(group, positions * lengths, n_groups) / np.maximum(weight, 1e-9)
    if n_groups == 0 or lines[0] - start > text_height:
        lines, group = np.concatenate([[start], lines]), group + 1
    if end - lines[-1] > text_height:
        lines = np.concatenate([lines, [end]])
    return lines, group


def _coverage(spans: Floats, line_of: NDArray[np.intp], n_lines: int, crossings: Floats, slack: float) -> Floats:
    """``(n_lines, len(crossings) - 1)`` share of each piece of each line that segments cover."""
    covered = np.zeros((n_lines, max(len(crossings) - 1, 0)))
    starts, ends = crossings[:-1], crossings[1:]
    for line in range(n_lines):
        reached = -np.inf
        for start, end in sorted(spans[line_of == line].tolist()):
            # Lines may end short of a crossing; a letter's stem must not reach one that way.
            extra = min(slack / 2, 0.1 * (end - start))
            # Overlapping segments (both sides of a thick line) must not count twice.
            start, reached = max(start - extra, reached), max(reached, end + extra)
            covered[line] += np.clip(np.minimum(ends, reached) - np.maximum(starts, start), 0, None)
    return np.minimum(covered / np.maximum(ends - starts, 1e-9), 1.0)


def lattice_to_boxes(lattice: Lattice, settings: RulingSettings) -> tuple[Floats, Floats]:
    """``(N, 4)`` cells of a lattice and how far they are closed.

    The outer border always counts as a wall. Slots that no wall separates form
    one cell; where such a group is not a rectangle it is cut along its walls.
    """
    n_rows, n_cols = len(lattice.ys) - 1, len(lattice.xs) - 1
    if n_rows < 1 or n_cols < 1:
        return as_boxes([]), np.zeros(0)
    wall_h, wall_v = lattice.walls_h >= settings.min_coverage, lattice.walls_v >= settings.min_coverage
    wall_h[[0, -1]] = True
    wall_v[:, [0, -1]] = True
    label = _flood(wall_h, wall_v)
    rectangles: list[tuple[int, int, int, int]] = []
    for index in range(1, int(label.max()) + 1):
        rows, cols = np.nonzero(label == index)
        if len(rows):
            rectangles += _cut(label == index, wall_h, wall_v, rows.min(), cols.min(), rows.max() + 1, cols.max() + 1)
    boxes = as_boxes(
        [[lattice.xs[c0], lattice.ys[r0], lattice.xs[c1], lattice.ys[r1]] for r0, c0, r1, c1 in rectangles]
    )
    scores = np.array([_drawn_share(lattice, *rectangle) for rectangle in rectangles])
    return boxes, scores


def _flood(wall_h: NDArray[np.bool_], wall_v: NDArray[np.bool_]) -> NDArray[np.int32]:
    """``(R, C)`` label of the slots that no wall separates, from 1."""
    n_rows, n_cols = wall_v.shape[0], wall_h.shape[1]
    canvas = np.zeros((2 * n_rows + 1, 2 * n_cols + 1), np.uint8)
    canvas[1::2, 1::2] = 1
    canvas[0::2, 1::2] = ~wall_h
    canvas[1::2, 0::2] = ~wall_v
    _, label = cv2.connectedComponents(canvas, connectivity=4)
    return np.asarray(label[1::2, 1::2], np.int32)


def _cut(
    inside: NDArray[np.bool_],
    wall_h: NDArray[np.bool_],
    wall_v: NDArray[np.bool_],
    row0: int,
    col0: int,
    row1: int,
    col1: int,
) -> list[tuple[int, int, int, int]]:
    """Rectangles (r0, c0, r1, c1) of a group of slots, cut along the line with the most walls."""
    block = inside[row0:row1, col0:col1]
    if not block.any():
        return []
    rows, cols = np.nonzero(block)
    row0, row1, col0, col1 = row0 + rows.min(), row0 + rows.max() + 1, col0 + cols.min(), col0 + cols.max() + 1
    block = inside[row0:row1, col0:col1]
    if block.all():
        return [(int(row0), int(col0), int(row1), int(col1))]
    across = wall_h[row0 + 1 : row1, col0:col1].mean(axis=1)
    down = wall_v[row0:row1, col0 + 1 : col1].mean(axis=0)
    if across.size and (not down.size or across.max() >= down.max()):
        middle = row0 + 1 + int(across.argmax())
        parts = [(row0, col0, middle, col1), (middle, col0, row1, col1)]
    else:
        middle = col0 + 1 + int(down.argmax())
        parts = [(row0, col0, row1, middle), (row0, middle, row1, col1)]
    return [rectangle for part in parts for rectangle in _cut(inside, wall_h, wall_v, *part)]


def _drawn_share(lattice: Lattice, row0: int, col0: int, row1: int, col1: int) -> float:
    """Drawn share of the side of a cell that is drawn least."""
    widths, heights = np.diff(lattice.xs[col0 : col1 + 1]), np.diff(lattice.ys[row0 : row1 + 1])
    across = lattice.walls_h[[row0, row1], col0:col1] @ widths / widths.sum()
    down = heights @ lattice.walls_v[row0:row1, [col0, col1]] / heights.sum()
    return float(min(across.min(), down.min()))


def _touching(rulings: Rulings, settings: RulingSettings) -> list[tuple[Floats, Floats]]:
    """Groups of segments that touch, as (horizontal, vertical)."""
    both = np.vstack([rulings.horizontal, rulings.vertical])
    if not len(both):
        return []
    slack = settings.merge_distance * rulings.text_height
    grown = np.hstack([both[:, :2] - slack, both[:, 2:] + slack])
    origin = grown[:, :2].min(axis=0)
    grown = np.round(grown - np.tile(origin, 2)).astype(int)
    canvas = np.zeros((grown[:, 3].max() + 1, grown[:, 2].max() + 1), np.uint8)
    for x0, y0, x1, y1 in grown:
        canvas[y0:y1, x0:x1] = 1
    _, label = cv2.connectedComponents(canvas, connectivity=8)
    group = label[(grown[:, 1] + grown[:, 3]) // 2, (grown[:, 0] + grown[:, 2]) // 2]
    is_horizontal = np.arange(len(both)) < len(rulings.horizontal)
    return [(both[(group == g) & is_horizontal], both[(group == g) & ~is_horizontal]) for g in np.unique(group)]
