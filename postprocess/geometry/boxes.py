"""Boxes and quads as arrays: conversion, overlap, tilt.

Boxes are ``(N, 4)`` float, x0, y0, x1, y1 in pixels, origin top-left, right and
bottom exclusive. Quads are ``(N, 4, 2)`` float in the order TL, TR, BR, BL.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Any

import numpy as np
import shapely
from numpy.typing import ArrayLike, NDArray

from postprocess.arrays import Flags, Floats, Ints
from postprocess.cell import Cell, Quad


def boxes_to_quads(boxes_xyxy: ArrayLike) -> Floats:
    """Corners of upright boxes.

    >>> boxes_to_quads([[0, 0, 2, 1]]).tolist()
    [[[0.0, 0.0], [2.0, 0.0], [2.0, 1.0], [0.0, 1.0]]]
    >>> boxes_to_quads([]).shape
    (0, 4, 2)
    """
    boxes = as_boxes(boxes_xyxy)
    return boxes[:, [0, 1, 2, 1, 2, 3, 0, 3]].reshape(-1, 4, 2)


def quads_to_boxes(quads: ArrayLike) -> Floats:
    """Upright hull of quads.

    >>> quads_to_boxes([[[1, 0], [3, 1], [2, 3], [0, 2]]]).tolist()
    [[0.0, 0.0, 3.0, 3.0]]
    >>> quads_to_boxes([]).shape
    (0, 4)
    """
    corners = as_quads(quads)
    return np.hstack([corners.min(axis=1), corners.max(axis=1)])


def as_boxes(boxes_xyxy: ArrayLike) -> Floats:
    """Boxes as a ``(N, 4)`` float array, also for an empty list."""
    return np.asarray(boxes_xyxy, np.float64).reshape(-1, 4)


def outer_box(boxes_xyxy: Floats) -> Floats:
    """``(4,)`` extent of ``(N, 4)`` boxes, at least one.

    >>> outer_box(np.array([[1, 2, 3, 4], [0, 3, 2, 9]])).tolist()
    [0, 2, 3, 9]
    """
    return np.concatenate([boxes_xyxy[:, :2].min(axis=0), boxes_xyxy[:, 2:].max(axis=0)])


def as_quads(quads: ArrayLike) -> Floats:
    """Quads as a ``(N, 4, 2)`` float array, also for an empty list."""
    return np.asarray(quads, np.float64).reshape(-1, 4, 2)


def array_to_quad(corners: NDArray[Any]) -> Quad:
    """One ``(4, 2)`` array as the plain tuples that Cell and Word keep."""
    (a, b), (c, d), (e, f), (g, h) = corners.tolist()
    return (a, b), (c, d), (e, f), (g, h)


def quads_to_array(quads: Sequence[Quad]) -> Floats:
    """Quads of cells or words as one ``(N, 4, 2)`` array, twice as fast as numpy reads tuples in tuples."""
    numbers = chain.from_iterable(chain.from_iterable(quads))
    return np.fromiter(numbers, np.float64, 8 * len(quads)).reshape(-1, 4, 2)


def spans_to_boxes(spans: Ints, xs: Floats, ys: Floats) -> Floats:
    """``(N, 4)`` boxes of cells between lines.

    Args:
        spans: ``(N, 4)`` row, column, end row, end column.
        xs: ``(C + 1,)`` positions of the lines between columns.
        ys: ``(R + 1,)`` positions of the lines between rows.

    >>> spans_to_boxes(np.array([[0, 0, 1, 2]]), np.array([0.0, 5, 9]), np.array([0.0, 3])).tolist()
    [[0.0, 0.0, 9.0, 3.0]]
    """
    return np.column_stack([xs[spans[:, 1]], ys[spans[:, 0]], xs[spans[:, 3]], ys[spans[:, 2]]])


def drop_unused_lines(spans: Ints, ys: Floats, xs: Floats) -> tuple[Ints, Floats, Floats]:
    """Spans and lines without the rows and columns in which no cell starts: they hold nothing of their own.

    >>> spans, ys, xs = drop_unused_lines(np.array([[0, 0, 2, 1], [0, 1, 2, 2]]), np.arange(3.0), np.arange(3.0))
    >>> spans.tolist(), ys.tolist(), xs.tolist()
    ([[0, 0, 1, 1], [0, 1, 1, 2]], [0.0, 2.0], [0.0, 1.0, 2.0])
    """
    spans = spans.copy()
    lines = []
    for axis, positions in enumerate((ys, xs)):
        starts = np.unique(spans[:, axis])
        used = np.append(starts, spans[:, axis + 2].max(initial=0)) if len(starts) else starts
        spans[:, [axis, axis + 2]] = np.searchsorted(starts, spans[:, [axis, axis + 2]])
        lines.append(positions[used])
    return spans, lines[0], lines[1]


def count_in_spans(flags: Flags, spans: Ints) -> Ints:
    """``(N,)`` number of flagged slots in each span.

    Args:
        flags: ``(R, C)`` slots.
        spans: ``(N, 4)`` rows and columns: first row, first column, end row, end column.

    >>> count_in_spans(np.array([[True, False], [True, True]]), np.array([[0, 0, 2, 2], [0, 1, 1, 2]])).tolist()
    [3, 0]
    """
    sums = np.zeros((flags.shape[0] + 1, flags.shape[1] + 1), np.int64)
    sums[1:, 1:] = flags.cumsum(axis=0).cumsum(axis=1)
    row, col, end_row, end_col = spans.T
    return np.asarray(sums[end_row, end_col] - sums[row, end_col] - sums[end_row, col] + sums[row, col], np.int64)


def cells_to_quads(cells: Iterable[Cell]) -> Floats:
    """``(K, 4, 2)`` corners of those cells that have a place, in their order.

    >>> cells_to_quads([Cell(0, 0), Cell(0, 1, quad=((0, 0), (2, 0), (2, 1), (0, 1)))]).shape
    (1, 4, 2)
    """
    return quads_to_array([cell.quad for cell in cells if cell.quad])


def intersection_areas(boxes_a_xyxy: Floats, boxes_b_xyxy: Floats) -> Floats:
    """``(N, M)`` areas that boxes of two sets share, in square pixels.

    >>> intersection_areas(as_boxes([[0, 0, 2, 2]]), as_boxes([[1, 1, 3, 3], [5, 5, 6, 6]])).tolist()
    [[1.0, 0.0]]
    """
    a, b = boxes_a_xyxy[:, None], boxes_b_xyxy[None]
    width = np.minimum(a[..., 2], b[..., 2]) - np.maximum(a[..., 0], b[..., 0])
    height = np.minimum(a[..., 3], b[..., 3]) - np.maximum(a[..., 1], b[..., 1])
    shared: Floats = np.clip(width, 0, None) * np.clip(height, 0, None)
    return shared


def box_areas(boxes_xyxy: Floats) -> Floats:
    """``(N,)`` areas in square pixels; a box with negative sides has none."""
    areas: Floats = np.prod(np.clip(boxes_xyxy[:, 2:] - boxes_xyxy[:, :2], 0, None), axis=1)
    return areas


def quad_angles(quads: Floats) -> Floats:
    """``(N,)`` direction of the reading line in degrees, clockwise in the picture, -180 to 180.

    >>> quad_angles(as_quads([[[0, 0], [2, 2], [1, 3], [-1, 1]]])).round(1).tolist()
    [45.0]
    """
    along = (quads[:, 1] + quads[:, 2]) - (quads[:, 0] + quads[:, 3])
    degrees: Floats = np.degrees(np.arctan2(along[:, 1], along[:, 0]))
    return degrees


def word_height(word_quads: Floats) -> float:
    """Median of the shorter sides of words, pixels; vertical words count as well."""
    sides = np.linalg.norm(word_quads[:, [1, 3]] - word_quads[:, [0, 0]], axis=2)
    return float(np.median(sides.min(axis=1)))


def inner_quads(quads: Floats, share: float) -> Floats:
    """``(N, 4, 2)`` quads drawn together about their middles to a share of their size: boxes of words are loose.

    >>> inner_quads(boxes_to_quads([[0, 0, 10, 4]]), 0.5)[0].tolist()
    [[2.5, 1.0], [7.5, 1.0], [7.5, 3.0], [2.5, 3.0]]
    """
    middle = quads.mean(axis=1, keepdims=True)
    return np.asarray(middle + share * (quads - middle), np.float64)


def quads_to_polygons(quads: Floats) -> NDArray[np.object_]:
    """``(N,)`` shapely polygons; a quad whose sides cross counts as its convex hull.

    >>> quads_to_polygons(as_quads([[[0, 0], [2, 2], [2, 0], [0, 2]]]))[0].area
    4.0
    """
    polygons = np.atleast_1d(shapely.polygons(quads))
    x, y = np.moveaxis(quads[:, [1, 2, 3, 0]] - quads, 2, 0)
    turns = x * y[:, [1, 2, 3, 0]] - y * x[:, [1, 2, 3, 0]]
    asked = np.flatnonzero(~((turns > 0).all(axis=1) | (turns < 0).all(axis=1)))
    crossed = asked[~shapely.is_valid(polygons[asked])]
    polygons[crossed] = shapely.convex_hull(polygons[crossed])
    return polygons


def merge_doubles(quads: Floats, scores: Floats) -> NDArray[np.int64]:
    """Choose one of several finds of the same cell: the surest.

    Cells do not overlap. Two finds are one cell if each one's middle lies in the other; a wide cell
    may be found at both ends.

    Args:
        quads: ``(N, 4, 2)`` pixels.
        scores: ``(N,)``.

    Returns:
        ``(M,)`` indices of those kept, in their order.

    >>> cell = np.array([[0, 0], [100, 0], [100, 10], [0, 10]], float)
    >>> merge_doubles(np.stack([cell, cell + (0, 10), cell + (30, 1)]), np.array([0.5, 0.9, 0.6])).tolist()
    [1, 2]
    """
    if len(quads) < 2:
        return np.arange(len(quads))
    middles = shapely.points(quads.mean(axis=1))
    points, holders = shapely.STRtree(quads_to_polygons(quads)).query(middles, predicate="intersects")
    holds = set(zip(points.tolist(), holders.tolist(), strict=True))
    doubles: dict[int, list[int]] = {}
    for a, b in holds:
        if a != b and (b, a) in holds:
            doubles.setdefault(a, []).append(b)
    dropped: set[int] = set()
    for a in np.argsort(-scores, kind="stable").tolist():
        if a not in dropped:
            dropped.update(doubles.get(a, ()))
    return np.array([k for k in range(len(quads)) if k not in dropped], np.int64)


def quantile(values: NDArray[Any], share: float) -> Floats:
    """The value below which a share of ``(N, ...)`` values lies, N > 0; ``numpy.quantile`` takes ten times as long.

    >>> float(quantile(np.array([1.0, 5.0, 2.0]), 0.5)), quantile(np.array([[0, 1], [4, 3]]), 0.25).tolist()
    (2.0, [1.0, 1.5])
    """
    ordered = np.sort(values, axis=0)
    low, part = divmod(share * (len(values) - 1), 1)
    below, above = ordered[int(low)], ordered[min(int(low) + 1, len(values) - 1)]
    return np.asarray(below + (above - below) * part, np.float64)


def connected(n: int, first: Ints, second: Ints) -> Ints:
    """``(n,)`` number of the connected part that each of n nodes belongs to, from 0 in the order of their first nodes.

    Args:
        n: Number of nodes.
        first: ``(P,)`` nodes.
        second: ``(P,)`` the node that each of them is tied to.

    >>> connected(4, np.array([1]), np.array([3])).tolist()
    [0, 1, 2, 1]
    """
    label: Ints = np.arange(n)
    while True:
        before = label
        least = np.minimum(label[first], label[second])
        label = label.copy()
        for side in (before[first], before[second]):
            np.minimum.at(label, side, least)
        label = label[label]
        if np.array_equal(label, before):
            return np.cumsum(label == np.arange(n))[label] - 1


def rotate_points(points: Floats, degrees: float, center: tuple[float, float] = (0.0, 0.0)) -> Floats:
    """Turn ``(..., 2)`` points clockwise in the picture around a center.

    >>> rotate_points(np.array([[1.0, 0.0]]), 90).round(6).tolist()
    [[0.0, 1.0]]
    """
    turned = points - np.asarray(center)
    if degrees:
        angle = np.radians(degrees)
        cos, sin = np.cos(angle), np.sin(angle)
        turned = turned @ np.array([[cos, sin], [-sin, cos]])
    return np.asarray(turned + np.asarray(center))
