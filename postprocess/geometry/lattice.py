"""From ruling segments to the cells they enclose.

Segments are grouped into lines, the lines into a lattice of slots, and slots
without a wall between them are one cell.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import shapely
from numpy.typing import NDArray

from postprocess.arrays import Flags, Floats, Ints
from postprocess.geometry.boxes import as_boxes, boxes_to_quads, connected, drop_unused_lines, spans_to_boxes
from postprocess.geometry.rulings import Rulings

_MERGE = 0.4
"""Parallel lines closer than this, in text heights, are one line."""
_DOUBLE = 0.7
"""Lines closer than this, in text heights, leave no room for text; with no line across them they are a double one."""
_COVERAGE = 0.85
"""Share of a cell border that must be drawn to be a wall."""


@dataclass(frozen=True, slots=True)
class RuledArea:
    """Connected rulings and their cells.

    Args:
        quads: ``(N, 4, 2)`` cells in pixels of the picture.
        scores: ``(N,)`` drawn share of the least drawn side of each cell, 0 to 1.
        xs: ``(C + 1,)`` positions of the lines between columns, in the upright frame of the rulings, increasing.
        ys: ``(R + 1,)`` positions of the lines between rows, likewise.
        spans: ``(N, 4)`` row, column, end row, end column of each cell. They tile the area, and in each row and each
            column a cell starts.
    """

    quads: Floats
    scores: Floats
    xs: Floats
    ys: Floats
    spans: Ints

    @property
    def box_xyxy(self) -> Floats:
        """``(4,)`` extent in the upright frame."""
        return np.array([self.xs[0], self.ys[0], self.xs[-1], self.ys[-1]])


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

    def free_slots(self) -> Ints:
        """``(R, C)`` number of the slots that no wall separates, from 0; the outer border is a wall."""
        return _flood(*_walls(self))


def rulings_to_lattices(rulings: Rulings, nearest: float, least: int = 3) -> list[Lattice]:
    """The lattice of each group of rulings that touch, with all that lies within its extent.

    A group that lies within another one is seen as a part of that one only.

    Args:
        rulings: Segments of one picture.
        nearest: Parallel lines closer than this, in pixels, are one line.
        least: Segments across and down without which a group is left out.

    >>> from postprocess.geometry.boxes import as_boxes
    >>> rulings_to_lattices(Rulings(as_boxes([]), as_boxes([]), 0.0, (0.0, 0.0), 10.0), 2.0)
    []
    """
    groups = [np.vstack(group) for group in _touching(rulings) if min(map(len, group)) >= least]
    boxes = as_boxes([[*each[:, :2].min(axis=0), *each[:, 2:].max(axis=0)] for each in groups])
    lattices = []
    for index, box in enumerate(boxes):
        if _lie_in(np.delete(boxes, index, axis=0), box[None]).any():
            continue
        horizontal, vertical = (each[_lie_in(box, each)] for each in (rulings.horizontal, rulings.vertical))
        lattices.append(segments_to_lattice(horizontal, vertical, rulings.text_height, nearest))
    return lattices


def _lie_in(boxes_xyxy: Floats, inner_xyxy: Floats) -> Flags:
    """``(N,)`` which boxes lie in boxes, pair by pair."""
    begins, ends = inner_xyxy[..., :2] >= boxes_xyxy[..., :2], inner_xyxy[..., 2:] <= boxes_xyxy[..., 2:]
    return np.asarray((begins & ends).all(axis=-1), np.bool_)


def rulings_to_areas(rulings: Rulings, *, whole: bool = False) -> list[RuledArea]:
    """Group rulings that touch and find the cells of each group.

    Args:
        rulings: Segments of one picture.
        whole: Take all rulings of the picture as one table.

    Returns:
        Areas with at least one cell, from top to bottom.

    >>> from postprocess.geometry.rulings import image_to_rulings
    >>> page = np.full((80, 120), 255, np.uint8)
    >>> for y in (10, 40, 70): page[y, 10:111] = 0
    >>> for x in (10, 60, 110): page[10:71, x] = 0
    >>> [area] = rulings_to_areas(image_to_rulings(page))
    >>> area.quads.shape
    (4, 4, 2)
    """
    groups = [(rulings.horizontal, rulings.vertical)] if whole else _touching(rulings)
    areas = []
    for horizontal, vertical in groups:
        lattice = segments_to_lattice(horizontal, vertical, rulings.text_height)
        spans, scores = lattice_to_spans(lattice)
        if len(spans):
            quads = rulings.to_picture(boxes_to_quads(spans_to_boxes(spans, lattice.xs, lattice.ys)))
            spans, ys, xs = drop_unused_lines(spans, lattice.ys, lattice.xs)
            areas.append(RuledArea(quads, scores, xs, ys, spans))
    return sorted(areas, key=lambda area: (area.box_xyxy[1], area.box_xyxy[0]))


def segments_to_lattice(
    horizontal: Floats, vertical: Floats, text_height: float, nearest: float | None = None
) -> Lattice:
    """Lines and walls of segments that belong together.

    Args:
        horizontal: ``(N, 4)`` boxes.
        vertical: ``(M, 4)`` boxes.
        text_height: Pixels.
        nearest: Parallel lines closer than this, in pixels, are one line; by the text height where None.
    """
    slack = _MERGE * text_height
    merge = slack if nearest is None else nearest
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
    walls_h = _coverage(horizontal[:, [0, 2]], row_of, len(ys), xs, slack)
    walls_v = _coverage(vertical[:, [1, 3]], column_of, len(xs), ys, slack).T
    if nearest is not None:
        # Between lines that are close together, the slack alone would make a wall: lines end within one another there.
        narrow_h, narrow_v = np.diff(xs) < 2 * slack, np.diff(ys) < 2 * slack
        slack = max(nearest, 2 * float(np.median((both[:, 2:] - both[:, :2]).min(axis=1))))
        walls_h[:, narrow_h] = _coverage(horizontal[:, [0, 2]], row_of, len(ys), xs, slack)[:, narrow_h]
        walls_v[narrow_v] = _coverage(vertical[:, [1, 3]], column_of, len(xs), ys, slack).T[narrow_v]
        return Lattice(xs, ys, walls_h, walls_v)
    drawn_h = _coverage(horizontal[:, [0, 2]], row_of, len(ys), xs, 0.0)
    drawn_v = _coverage(vertical[:, [1, 3]], column_of, len(xs), ys, 0.0).T
    double_y, double_x = (_doubles(*each, _DOUBLE * text_height) for each in ((ys, drawn_v), (xs, drawn_h.T)))
    ys, walls_h, walls_v = _joined(double_y, ys, walls_h, walls_v)
    xs, across, along = _joined(double_x, xs, walls_v.T, walls_h.T)
    return Lattice(xs, ys, along.T, across.T)


def _doubles(lines: Floats, across: Floats, near: float) -> Ints:
    """Lines near the next one, with nothing drawn between the two but at the ends; from the last to the first.

    Args:
        lines: ``(L,)`` positions.
        across: ``(L - 1, C + 1)`` drawn share of what crosses from each line to the next one.
        near: Distance in pixels.
    """
    if len(lines) < 3 or across.shape[1] < 3:
        return np.zeros(0, np.int64)
    return np.flatnonzero((np.diff(lines) < near) & (across[:, 1:-1] < _COVERAGE).all(axis=1))[::-1]


def _joined(double: Ints, lines: Floats, along: Floats, across: Floats) -> tuple[Floats, Floats, Floats]:
    """Lines, walls along and walls across them, where each of some lines is one with the next one."""
    for line in double.tolist():
        middle, walls = (lines[line] + lines[line + 1]) / 2, np.maximum(along[line], along[line + 1])
        lines = np.concatenate([lines[:line], [middle], lines[line + 2 :]])
        along = np.concatenate([along[:line], [walls], along[line + 2 :]])
        across = np.delete(across, line, axis=0)
    return lines, along, across


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
    # For each line the ends of what is covered, one after the other.
    ends: list[list[float]] = [[] for _ in range(n_lines)]
    for line, start, end in sorted(zip(line_of.tolist(), *spans.T.tolist(), strict=True)):
        # Lines may end short of a crossing; a letter's stem must not reach one that way.
        extra = min(slack / 2, 0.1 * (end - start))
        # Overlapping segments (both sides of a thick line) must not count twice.
        reached = ends[line][-1] if ends[line] else -np.inf
        ends[line] += max(start - extra, reached), max(reached, end + extra)
    upto = np.zeros((n_lines, len(crossings)))
    for line in np.flatnonzero([len(each) for each in ends]):
        steps = np.diff(ends[line], prepend=ends[line][0]) * (np.arange(len(ends[line])) % 2)
        upto[line] = np.interp(crossings, ends[line], np.cumsum(steps))
    return np.minimum(np.diff(upto, axis=1) / np.maximum(np.diff(crossings), 1e-9), 1.0)


def lattice_to_spans(lattice: Lattice) -> tuple[Ints, Floats]:
    """``(N, 4)`` row, column, end row, end column of the cells of a lattice, and ``(N,)`` how far they are closed.

    The outer border always counts as a wall. Slots that no wall separates form
    one cell; where such a group is not a rectangle it is cut along its walls.
    """
    n_rows, n_cols = len(lattice.ys) - 1, len(lattice.xs) - 1
    if n_rows < 1 or n_cols < 1:
        return np.zeros((0, 4), np.int64), np.zeros(0)
    wall_h, wall_v = _walls(lattice)
    label = _flood(wall_h, wall_v)
    rows, cols = np.indices(label.shape).reshape(2, -1)
    order = np.argsort(label, axis=None, kind="stable")
    rectangles: list[tuple[int, int, int, int]] = []
    for slots in np.split(order, np.flatnonzero(np.diff(label.ravel()[order])) + 1):
        row, col = rows[slots], cols[slots]
        # The slots are in order, so that the first and the last one say where the rows begin and end.
        box = int(row[0]), int(col.min()), int(row[-1]) + 1, int(col.max()) + 1
        if (box[2] - box[0]) * (box[3] - box[1]) == len(slots):
            rectangles.append(box)
        else:
            rectangles += _cut(label == label[row[0], col[0]], wall_h, wall_v, *box)
    spans = np.array(rectangles, np.int64)
    return spans, _drawn_shares(lattice, spans)


def _walls(lattice: Lattice) -> tuple[Flags, Flags]:
    wall_h, wall_v = lattice.walls_h >= _COVERAGE, lattice.walls_v >= _COVERAGE
    wall_h[[0, -1]] = True
    wall_v[:, [0, -1]] = True
    return wall_h, wall_v


def _flood(wall_h: Flags, wall_v: Flags) -> Ints:
    """``(R, C)`` number of the slots that no wall separates."""
    slots = np.arange(len(wall_v) * wall_h.shape[1]).reshape(len(wall_v), -1)
    down, right = ~wall_h[1:-1], ~wall_v[:, 1:-1]
    first = np.concatenate([slots[:-1][down], slots[:, :-1][right]])
    second = np.concatenate([slots[1:][down], slots[:, 1:][right]])
    return connected(slots.size, first, second).reshape(slots.shape)


def _cut(
    inside: Flags,
    wall_h: Flags,
    wall_v: Flags,
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


def _drawn_shares(lattice: Lattice, spans: Ints) -> Floats:
    """``(N,)`` drawn share of the side of each cell that is drawn least."""
    row, col, end_row, end_col = spans.T
    upto_h = np.pad(np.cumsum(lattice.walls_h * np.diff(lattice.xs), axis=1), ((0, 0), (1, 0)))
    upto_v = np.pad(np.cumsum(lattice.walls_v * np.diff(lattice.ys)[:, None], axis=0), ((1, 0), (0, 0)))
    across = [upto_h[line, end_col] - upto_h[line, col] for line in (row, end_row)]
    down = [upto_v[end_row, line] - upto_v[row, line] for line in (col, end_col)]
    width, height = lattice.xs[end_col] - lattice.xs[col], lattice.ys[end_row] - lattice.ys[row]
    least = np.minimum(np.minimum(*across) / width, np.minimum(*down) / height)
    return np.asarray(np.clip(least, 0.0, 1.0), np.float64)


def _touching(rulings: Rulings) -> list[tuple[Floats, Floats]]:
    """Groups of segments that touch, as (horizontal, vertical)."""
    both = np.vstack([rulings.horizontal, rulings.vertical])
    if not len(both):
        return []
    slack = _MERGE * rulings.text_height
    grown = np.hstack([both[:, :2] - slack, both[:, 2:] + slack])
    origin = grown[:, :2].min(axis=0)
    grown = np.round(grown - np.tile(origin, 2))
    boxes = shapely.box(*grown.T)
    group = connected(len(both), *shapely.STRtree(boxes).query(boxes))
    order = np.argsort(group, kind="stable")
    groups = np.split(order, np.flatnonzero(np.diff(group[order])) + 1)
    n = len(rulings.horizontal)
    return [(both[each[each < n]], both[each[each >= n]]) for each in groups]
