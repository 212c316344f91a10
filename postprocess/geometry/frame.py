"""The frame in which the rows and columns of a table are straight.

A picture may be turned by any angle, tilted, seen at an angle or slightly bent. Two polynomials of the place, one for
each axis, take that away: ``x' = x - g(x, y)`` and ``y' = y - f(x, y)`` after a turn. They are fitted by least squares,
robustly, so that what lies on one row has one ``y'`` and what lies in one column one ``x'``: the two corners of each
side of a cell, or, where all boxes are upright, neighbours of the same size. Of no bend at all, a slope, a slope that
changes, and a curve the one that describes this best for its number of terms is taken.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import shapely

from postprocess.arrays import Floats, Ints
from postprocess.geometry.boxes import quads_to_boxes, quantile, rotate_points

_TERMS = (0, 1, 3, 7)
"""Numbers of terms of the models: x; x^2, xy; x^3, x^2 y, xy^2, x^4."""
_STEEPEST = (0.8, 0.4)
"""A frame whose lines rise, or are set closer, by more than this, in pixels per pixel, is not believed."""
_UPRIGHT = 1e-3
"""Sides of upright boxes rise less than this, in pixels per pixel."""
_ALIKE = 0.75
"""Neighbours are of the same size where the smaller one is this large for the larger one."""
_BESIDE = 0.5
"""Neighbours are side by side where they share this much of the larger one."""
_SAMPLE = 1200
"""Cells that the frame is fitted to: more of them do not make it better."""
LARGEST = 1e100
"""Coordinates whose squares are numbers still."""
_NEAR = 1e-9
"""Steps below this, in pixels, change nothing."""
_FLOOR = 0.003
"""Deviations of a row that do not matter, as a share of the median size of its cells."""


class StraightFrame(Protocol):
    """Takes points of the picture into a frame where rows and columns are straight, and back.

    ``Frame`` is such, and ``geometry.rulings.Rulings``.
    """

    def to_upright(self, points: Floats) -> Floats:
        """Turn ``(..., 2)`` pixels of the picture into the straight frame."""
        ...

    def to_picture(self, points: Floats) -> Floats:
        """Turn ``(..., 2)`` points of the straight frame into pixels of the picture."""
        ...


@dataclass(frozen=True, slots=True)
class Frame:
    """Takes points of the picture into the straight frame and back.

    Args:
        degrees: Turn of the table, clockwise in the picture.
        center: Point in pixels that the turn leaves in place, in the middle of the cells.
        reach: Half the extent of the cells along both axes, pixels; beyond it the bend stays what it is there.
        rise: ``(7,)`` coefficients of the rows, pixels.
        drift: ``(7,)`` coefficients of the columns, pixels.
        by_corners: Whether the corners of cells tell where their sides are; where not, the cells were given as upright
            boxes, whatever the tilt, and only the middles of the sides do.
    """

    degrees: float
    center: tuple[float, float]
    reach: tuple[float, float]
    rise: Floats
    drift: Floats
    by_corners: bool = True

    def to_upright(self, points: Floats) -> Floats:
        """Turn ``(..., 2)`` pixels of the picture into the straight frame."""
        turned = rotate_points(points, -self.degrees, self.center)
        return np.asarray(turned - self._bend(turned))

    def to_picture(self, points: Floats) -> Floats:
        """Turn ``(..., 2)`` points of the straight frame into pixels of the picture."""
        turned = points
        # A bend is gentle, so each step is nearer.
        for _ in range(40 if self.rise.any() or self.drift.any() else 0):
            before, turned = turned, points + self._bend(turned)
            if np.abs(turned - before).max(initial=0.0) < _NEAR:
                break
        return rotate_points(turned, self.degrees, self.center)

    @property
    def slopes(self) -> tuple[float, float]:
        """Rise of the rows per pixel to the right and drift of the columns per pixel down, in the middle."""
        center = np.array(self.center)
        ends = self.to_picture(self.to_upright(center) + np.array([[-0.5, 0], [0.5, 0], [0, -0.5], [0, 0.5]]))
        (x, y), (u, v) = ends[1] - ends[0], ends[3] - ends[2]
        return float(y / (x or 1e-9)), float(u / (v or 1e-9))

    def _bend(self, turned: Floats) -> Floats:
        if not self.rise.any() and not self.drift.any():
            return np.zeros_like(turned)
        place = np.clip((turned - np.array(self.center)) / self.reach, -1, 1)
        return np.stack([_terms(place[..., ::-1]) @ self.drift, _terms(place) @ self.rise], axis=-1)


UPRIGHT = Frame(0.0, (0.0, 0.0), (1.0, 1.0), np.zeros(7), np.zeros(7))


def quads_to_frame(quads: Floats) -> Frame:
    """The frame in which these cells lie straight.

    Args:
        quads: ``(N, 4, 2)`` cells, pixels; those with NaN are left out.

    >>> from postprocess.geometry.boxes import boxes_to_quads
    >>> cells = rotate_points(boxes_to_quads([[0, 0, 50, 20], [50, 0, 99, 20], [0, 20, 99, 40]]), 30)
    >>> frame = quads_to_frame(cells)
    >>> round(frame.degrees, 6), bool(np.ptp(frame.to_upright(cells)[:2, :2, 1]) < 1e-6)
    (30.0, True)
    """
    quads = quads[(np.abs(quads) < LARGEST).all(axis=(1, 2))]
    if not len(quads):
        return UPRIGHT
    along = quads[:, 1] + quads[:, 2] - quads[:, 0] - quads[:, 3]
    length = np.linalg.norm(along, axis=1, keepdims=True)
    x, y = quantile(along / np.where(length > 0, length, 1), 0.5)
    degrees = float(np.degrees(np.arctan2(y, x)))
    if abs(degrees) < np.degrees(_UPRIGHT):
        degrees = 0.0
    hull = quads_to_boxes(quads)
    low, high = quantile(hull[:, :2], 0.01), quantile(hull[:, 2:], 0.99)
    center = tuple(((low + high) / 2).tolist())
    turned = rotate_points(quads, -degrees, center)
    reach = np.abs(turned - np.array(center)).max(axis=(0, 1))
    if not (reach > 0).all() or not np.isfinite(reach).all():
        return UPRIGHT
    sample = turned[:: -(-len(turned) // _SAMPLE)]
    place = (sample - np.array(center)) / reach
    by_corners = _is_tilted(sample) or bool(degrees)
    sides = _fit_sides if by_corners else _fit_neighbours
    size = quantile(np.linalg.norm(sample - np.roll(sample, 1, axis=1), axis=2), 0.5)  # left, top, right, bottom
    rise = sides(place, reach, sample, _FLOOR * float(min(size[0], size[2])))
    drift = sides(
        place[:, [0, 3, 2, 1], ::-1], reach[::-1], sample[:, [0, 3, 2, 1], ::-1], _FLOOR * float(min(size[1], size[3]))
    )
    return Frame(degrees, center, (float(reach[0]), float(reach[1])), rise, drift, by_corners)


def straighten(quads: Floats, frame: Frame) -> Floats:
    """``(N, 4)`` boxes in the frame where rows and columns are straight; each edge is taken at its middle."""
    if not len(quads):
        return quads_to_boxes(quads)
    ends = np.stack([quads, np.roll(quads, -1, axis=1)])  # of top, right, bottom, left
    middles = frame.to_upright(ends).mean(axis=0) if frame.by_corners else frame.to_upright(ends.mean(axis=0))
    return np.column_stack([middles[:, 3, 0], middles[:, 0, 1], middles[:, 1, 0], middles[:, 2, 1]])


def _terms(place: Floats) -> Floats:
    """``(..., 7)`` terms of the bend along the first axis; all are 0 in the middle, where a line keeps its place."""
    x, y = place[..., 0], place[..., 1]
    return np.stack([x, x * x, x * y, x * x * x, x * x * y, x * y * y, x * x * x * x], axis=-1)


def _is_tilted(quads: Floats) -> bool:
    """Whether the sides say anything: those of upright boxes do not."""
    side = np.roll(quads, -1, axis=1) - quads
    off, length = np.abs(side).min(axis=2), np.abs(side).max(axis=2)
    return bool((off > _UPRIGHT * length).mean() > 0.25)


def _fit_sides(place: Floats, reach: Floats, quads: Floats, floor: float) -> Floats:
    """Coefficients that level the top and bottom sides of cells."""
    terms = _terms(place)
    left, right = np.array([0, 3]), np.array([1, 2])
    step = (terms[:, right] - terms[:, left]).reshape(-1, 7)
    rise = (quads[:, right, 1] - quads[:, left, 1]).ravel()
    return _fit(step, rise, reach, floor)


def _fit_neighbours(place: Floats, reach: Floats, quads: Floats, floor: float) -> Floats:
    """Coefficients that level neighbours of the same height."""
    hull = quads_to_boxes(quads)
    size = hull[:, 2:] - hull[:, :2]
    ahead = hull.copy()
    ahead[:, 2] += size[:, 0] / 2
    a, b = shapely.STRtree(shapely.box(*hull.T)).query(shapely.box(*ahead.T))
    shared = np.minimum(hull[a, 3], hull[b, 3]) - np.maximum(hull[a, 1], hull[b, 1])
    middle = quads.mean(axis=1)
    beyond = middle[b, 0] > hull[a, 2]
    larger, smaller = np.maximum(size[a, 1], size[b, 1]), np.minimum(size[a, 1], size[b, 1])
    chosen = beyond & (shared > _BESIDE * larger) & (smaller > _ALIKE * larger)
    a, b = a[chosen], b[chosen]
    if len(a) < 3:
        return np.zeros(7)
    terms = _terms(place.mean(axis=1))
    return _fit(terms[b] - terms[a], middle[b, 1] - middle[a, 1], reach, floor)


def _fit(step: Floats, rise: Floats, reach: Floats, floor: float) -> Floats:
    """The model with the shortest description of how points rise against each other: -log likelihood and its size."""
    floor, each = floor + 1e-12, np.log(len(rise) + 1)
    sizes = np.array([size for size in _TERMS if size <= len(rise)])
    if not len(rise) or len(rise) * np.log(np.abs(rise).mean() / floor + 1) <= 3 * each:
        return np.zeros(7)  # no model is worth its first term
    fitted = np.vstack([np.zeros(7), _robust_fits(step, rise, sizes[1:])])
    # Laplace's law: the mean distance is what a few wrong pairs disturb least.
    off = np.abs(rise - fitted @ step.T).mean(axis=1)
    order = np.argsort(len(rise) * np.log(off + floor) + 3 * sizes * each, kind="stable")
    return next(fitted[model] for model in order if _is_gentle(fitted[model], reach))


def _robust_fits(step: Floats, rise: Floats, sizes: Ints) -> Floats:
    """``(M, 7)`` coefficients of the first terms, as many as each size says, with about the least sum of distances."""
    columns = np.arange(7) < sizes[:, None]
    left, scale, right = np.linalg.svd(step * columns[:, None], full_matrices=False)
    kept = scale > 1e-6 * scale[:, :1]
    basis, back = left * kept[:, None], right.transpose(0, 2, 1) * (kept / np.where(kept, scale, 1))[:, None]
    turned, unused = basis.transpose(0, 2, 1), np.eye(kept.shape[1]) * ~kept[:, None]
    weight: Floats = np.ones((len(sizes), len(rise)))
    for _ in range(12):
        weighted = turned * weight[:, None]
        fitted = np.linalg.solve(weighted @ basis + unused, (weighted @ rise)[..., None])
        off = np.abs(rise - (basis @ fitted)[..., 0])
        weight = 1 / np.maximum(off, 1e-3 * np.abs(rise).max() + 1e-12)
    return np.asarray((back @ fitted)[..., 0])


def _is_gentle(coefficients: Floats, reach: Floats) -> bool:
    """Whether lines stay apart and in order all over the cells, so that the bend can be undone."""
    bend = _PLACES @ coefficients
    return all(
        bool(np.abs(np.diff(bend, axis=1 - axis)).max() < limit * 0.25 * reach[axis])
        for axis, limit in enumerate(_STEEPEST)
    )


_PLACES = _terms(np.stack(np.meshgrid(np.linspace(-1, 1, 9), np.linspace(-1, 1, 9)), axis=-1))
"""Terms all over the cells."""
