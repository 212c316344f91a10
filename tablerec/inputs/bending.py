"""Bent pages, flattened without a network: what runs along the lines of a page tells how they are bent.

Lines of text, straight strokes (rulings, edges of the page) and the direction in which ink runs are evidence of one
kind: two points that lie on one line of the flat page. By them a smooth surface is fitted: a line that lies at the
height ``level`` in the flat page is at ``y = level + bend(x, level)`` in the picture. Along ``x`` the bend is a cubic
spline whose curvature is held low (P-splines: Eilers and Marx, Statistical Science 11, 1996), and it changes slowly from
line to line. The directions are those of the structure tensor (Bigün and Granlund, ICCV 1987), the strokes those of
LSD (von Gioi et al., IPOL 2012). In the picture that is flattened by a first surface more is found, so the surface is
fitted again, until it stays as it is.

What would be a tilt or the perspective of a flat page stays: that is straightened where the grid is made.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from postprocess.arrays import Floats
from postprocess.geometry.boxes import word_height
from postprocess.geometry.rulings import estimate_text_height
from tablerec.inputs.unwarping import Map, remap
from tablerec.result import PageImage, move_picture

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from postprocess.arrays import Gray

INTERVALS = 10
"""Of the spline along a line."""
ORDERS = 3
"""Of the polynomial from line to line: constant, linear, quadratic."""
_CURVATURE, _SLOPE, _ORDER = 4.0, 0.4, 0.35
"""What is usual, before anything is seen: the second derivative of the bend, both lengths as shares of the width, its
slope, and how much less both are with each order."""
_ERROR = 0.15
"""How far off the two ends of a line are, in text heights."""
_LEAST_SAG = 0.45
"""Pages that are bent by less, in text heights, are left as they are: rows are not mixed up."""
_LEAST_GAIN = 5.0
"""Logarithm of how much more likely the evidence is on a bent page than on a flat one."""
_LONG = 3.0
"""Words so many times as long as high have a direction of their own, and strokes in text heights."""
_FEW = 4
"""Of fewer long words nothing can be said."""
_SPREAD = 0.02
"""Directions of long words on a flat page differ by less, in pixels per pixel."""
_STEEP = 0.8
"""Steeper strokes, in pixels per pixel, do not run along a line."""
_TEXT = 10.0
"""Text height of the picture in which strokes are looked for, pixels ..."""
_LONGEST = 1600
"""... and its longest side."""
_WINDOW = 1.5
"""Side of the windows in which ink has one direction, text heights."""
_ROUNDS = 5
_STILL = 0.1
"""A surface that moves by less, in text heights, is good."""


def flatten(picture: PageImage, quads: Floats) -> tuple[PageImage, Map] | None:
    """Flatten a picture if its page is bent.

    Args:
        picture: With the words that are known of it, which move along.
        quads: ``(W, 4, 2)`` words that were read in it, pixels, in reading direction.

    Returns:
        The flat picture, as large as the one given, and its map; None where the page is flat, also for pages of a PDF
        with words: these were not photographed.
    """
    if picture.layer is not None and picture.words is not None:
        return None
    surface = find_surface(picture.image, quads)
    if surface is None:
        return None
    flat_map = surface.to_map()
    return move_picture(picture, remap(picture.image, flat_map), surface.flatten_points), flat_map


def find_surface(image: NDArray[np.uint8], quads: Floats) -> Surface | None:
    """Say how a page is bent.

    Args:
        image: ``(height, width, 3)`` uint8, BGR.
        quads: ``(W, 4, 2)`` words, pixels, in reading direction.

    Returns:
        The surface; None where the page is flat, or nothing is known of it.

    >>> find_surface(np.zeros((90, 160, 3), np.uint8), np.zeros((0, 4, 2))) is None
    True
    """
    import cv2

    quads = quads[np.isfinite(quads).all(axis=(1, 2))]
    if not len(quads) or min(image.shape[:2]) < 32:
        return None
    height = max(word_height(quads), 1.0)
    words = _word_pairs(quads, height)
    if len(words.ends) >= _FEW and np.ptp(np.quantile(words.slopes, [0.1, 0.9])) < _SPREAD:
        return None
    full = image.shape[1::-1]
    gray = np.asarray(cv2.cvtColor(image, cv2.COLOR_BGR2GRAY), np.uint8)
    # Boxes of words that run askew are too high.
    height = min(height, estimate_text_height(gray))
    scale = min(1.0, _TEXT / height, _LONGEST / max(full))
    if scale < 1:
        gray = np.asarray(cv2.resize(gray, None, fx=scale, fy=scale, interpolation=cv2.INTER_AREA), np.uint8)
    surface = None
    size = (gray.shape[1], gray.shape[0])
    small = height * scale
    words = Pairs(words.ends * scale, words.errors * scale)
    for number in range(_ROUNDS):
        if surface is None:
            pairs = Pairs.joined([words, _ink_pairs(gray, small), _stroke_pairs(gray, small)])
        else:
            flat = remap(gray, surface.to_map())
            pairs = Pairs.joined([_ink_pairs(flat, small), _stroke_pairs(flat, small)])
            pairs = Pairs(surface.unflatten_points(pairs.ends), pairs.errors)
        if len(pairs.ends) < _FEW:
            return None
        before, (surface, gain) = surface, _fit(pairs, size, number == 0)
        places = surface.places
        if before is None:
            sag = surface.sag()
            if DEBUG: print("sag", sag / small, "gain", gain)
            if sag < _LEAST_SAG * small or gain < _LEAST_GAIN:
                return None
        else:
            moved = np.abs(surface.flatten_points(places) - before.flatten_points(places))[..., 1]
            if DEBUG: print("moved", np.quantile(moved, .95) / small)
            if np.quantile(moved, 0.95) < _STILL * small:
                break
    return surface.scaled(1 / scale, full)


DEBUG = False


@dataclass(frozen=True, slots=True)
class Pairs:
    """Points of which two each lie on one line of the page.

    Args:
        ends: ``(N, 2, 2)`` the left and the right one, pixels.
        errors: ``(N,)`` how far they may be off that line, pixels.
    """

    ends: Floats
    errors: Floats

    @property
    def slopes(self) -> Floats:
        """``(N,)`` pixels down per pixel to the right."""
        along = self.ends[:, 1] - self.ends[:, 0]
        return np.asarray(along[:, 1] / along[:, 0])

    @staticmethod
    def joined(several: list[Pairs]) -> Pairs:
        """All of them as one."""
        return Pairs(np.concatenate([each.ends for each in several]), np.concatenate([each.errors for each in several]))


def _word_pairs(quads: Floats, height: float) -> Pairs:
    """Middle lines of long words."""
    middles = (quads[:, [0, 1]] + quads[:, [3, 2]]) / 2
    return _long_pairs(middles, height, np.full(len(quads), _ERROR * height))


def _long_pairs(ends: Floats, height: float, errors: Floats) -> Pairs:
    along = ends[:, 1] - ends[:, 0]
    chosen = (along[:, 0] > _LONG * height) & (np.abs(along[:, 1]) < _STEEP * along[:, 0])
    return Pairs(ends[chosen], errors[chosen])


def _stroke_pairs(gray: Gray, height: float) -> Pairs:
    """Long straight strokes of a grey picture."""
    import cv2

    found, wide, *_ = cv2.createLineSegmentDetector(cv2.LSD_REFINE_NONE).detect(gray)
    ends = np.zeros((0, 2, 2)) if found is None else found.reshape(-1, 2, 2).astype(np.float64)
    errors = np.maximum(np.zeros(0) if wide is None else wide.ravel() / 2, _ERROR / 2 * height)
    return _long_pairs(np.take_along_axis(ends, np.argsort(ends[:, :, :1], axis=1), axis=1), height, errors)


def _ink_pairs(gray: Gray, height: float) -> Pairs:
    """The direction in which lines of ink run in each window of a grey picture."""
    import cv2

    soft = cv2.GaussianBlur(gray, (0, 0), 0.25 * height).astype(np.float32)
    across, down = cv2.Sobel(soft, cv2.CV_32F, 1, 0), cv2.Sobel(soft, cv2.CV_32F, 0, 1)
    down[np.abs(across) > _STEEP * np.abs(down)] = 0
    full = gray.shape[1::-1]
    count = tuple(max(int(side / (_WINDOW * height)), 1) for side in full)
    power, both = (cv2.resize(each, count, interpolation=cv2.INTER_AREA) for each in (down * down, across * down))
    strong = power > 0.1 * np.quantile(power, 0.95)
    slope = -both[strong] / power[strong]
    row, column = np.nonzero(strong)
    middles = (np.stack([column, row], axis=1) + 0.5) / count * full
    half = 0.5 * _WINDOW * height * np.stack([np.ones_like(slope), slope], axis=1)
    return Pairs(np.stack([middles - half, middles + half], axis=1), np.full(len(slope), _ERROR * height))


@dataclass(frozen=True, slots=True)
class Surface:
    """How the lines of a page are bent.

    Args:
        size_wh: Of the picture, pixels.
        bend: ``(INTERVALS + 3, ORDERS)`` coefficients of the bend, pixels.
        tilt: ``(2, ORDERS)`` what of it is straight, and stays: a constant and a slope, pixels.
        places: ``(3, N, 2)`` points in the upper, the middle and the lower part of what is known of the page.
    """

    size_wh: tuple[int, int]
    bend: Floats
    tilt: Floats
    places: Floats

    def flatten_points(self, points: Floats) -> Floats:
        """Take ``(..., 2)`` points of the picture, pixels, to their places in the flat picture."""
        level = self._solve(points, self._bend)
        return np.stack([points[..., 0], level + self._tilt(points[..., 0], level)], axis=-1)

    def unflatten_points(self, points: Floats) -> Floats:
        """Take ``(..., 2)`` points of the flat picture, pixels, to their places in the picture."""
        level = self._solve(points, self._tilt)
        return np.stack([points[..., 0], level + self._bend(points[..., 0], level)], axis=-1)

    def sag(self) -> float:
        """How far what is known of the page departs from straight lines, pixels."""
        off = self.unflatten_points(self.places)[..., 1] - self.places[..., 1]
        return float(np.ptp(off, axis=1).max())

    def scaled(self, factor: float, size_wh: tuple[int, int]) -> Surface:
        """The same page in a picture so many times as large."""
        return Surface(size_wh, self.bend * factor, self.tilt * factor, self.places * factor)

    def to_map(self) -> Map:
        """Where the pixels of the flat picture lie."""
        import cv2

        width, height = self.size_wh
        count = 8 * INTERVALS + 1, 4 * ORDERS + 1
        x, y = (np.linspace(0, side, nodes) for side, nodes in zip(self.size_wh, count, strict=True))
        down = self.unflatten_points(np.stack(np.meshgrid(x, y), axis=-1))[..., 1].astype(np.float32)
        # Between the nodes the surface is straight enough.
        at = [
            np.broadcast_to(((np.arange(side) + 0.5) * ((nodes - 1) / side)).astype(np.float32), (height, width))
            for side, nodes in ((width, count[0]),)
        ]
        rows = np.broadcast_to(
            ((np.arange(height) + 0.5) * ((count[1] - 1) / height)).astype(np.float32)[:, None], (height, width)
        )
        moved = cv2.remap(down, np.ascontiguousarray(at[0]), np.ascontiguousarray(rows), cv2.INTER_LINEAR)
        across = np.broadcast_to(np.arange(width, dtype=np.float32), (height, width))
        return np.stack([across, moved - 0.5], axis=2).astype(np.float32)

    def _bend(self, x: Floats, level: Floats) -> Floats:
        return _product(_spline(x / self.size_wh[0]), self.bend, self._orders(level))

    def _tilt(self, x: Floats, level: Floats) -> Floats:
        return _product(np.stack([np.ones_like(x), x / self.size_wh[0]], axis=-1), self.tilt, self._orders(level))

    def _orders(self, level: Floats) -> Floats:
        return _powers(level, self.size_wh[1])

    def _solve(self, points: Floats, shift: Any) -> Floats:
        """Levels of lines that lie at these points once they are shifted."""
        x, y = np.moveaxis(points, -1, 0)
        level = y
        # What shifts a line changes slowly from line to line, so each step is nearer.
        for _ in range(50):
            before, level = level, y - shift(x, level)
            if np.abs(level - before).max(initial=0.0) < 1e-3:
                break
        return np.asarray(level)


def _product(along: Floats, coefficients: Floats, down: Floats) -> Floats:
    return np.asarray(((along @ coefficients) * down).sum(axis=-1))


def _powers(level: Floats, height: float) -> Floats:
    """``(..., ORDERS)`` powers of a height from -1 at the top to 1 at the bottom; beyond, it stays."""
    place = np.clip(2 * level / height - 1, -1, 1)
    return np.asarray(np.power(place[..., None], np.arange(ORDERS)))


def _spline(share: Floats) -> Floats:
    """``(..., INTERVALS + 3)`` cubic B-splines at a share of the width, 0 to 1."""
    at = np.clip(share, 0, 1) * INTERVALS
    low = np.minimum(at.astype(np.int64), INTERVALS - 1)
    t = at - low
    parts = np.stack([(1 - t) ** 3, 3 * t**3 - 6 * t**2 + 4, -3 * t**3 + 3 * t**2 + 3 * t + 1, t**3], axis=-1) / 6
    values = np.zeros((*share.shape, INTERVALS + 3))
    np.put_along_axis(values, low[..., None] + np.arange(4), parts, axis=-1)
    return values


def _fit(pairs: Pairs, size_wh: tuple[int, int], compare=True) -> tuple[Surface, float]:
    """The most likely surface, and how much more likely than a flat page it makes the pairs, as a logarithm.

    Of Cauchy's law, so that what is no line does not count.
    """
    width, height = size_wh
    left, right = (_spline(pairs.ends[:, end, 0] / width) for end in (0, 1))
    coefficients, off = _most_likely(pairs, size_wh, left, right, _CURVATURE)
    gain = 0.0
    if compare:
        _, off_flat = _most_likely(pairs, size_wh, left, right, 1e-3)
        gain = float(np.log1p(off_flat**2).sum() - np.log1p(off**2).sum())
    x = np.linspace(*np.quantile(pairs.ends[..., 0], [0.02, 0.98]), 4 * INTERVALS)
    places = np.stack(np.meshgrid(x, np.quantile(pairs.ends[..., 1], [0.05, 0.5, 0.95])), axis=-1)
    straight = np.stack([np.ones_like(x), x / width], axis=1)
    tilt = np.linalg.lstsq(straight, _spline(x / width) @ coefficients, rcond=None)[0]
    surface = Surface(size_wh, coefficients, tilt, places)
    return replace(surface, places=surface.flatten_points(places)), gain


def _most_likely(
    pairs: Pairs, size_wh: tuple[int, int], left: Floats, right: Floats, curvature: float
) -> tuple[Floats, Floats]:
    """Coefficients of the bend, and how far off each pair is, in multiples of 1.5 of its error."""
    width, height = size_wh
    count = INTERVALS + 3
    by_curvature = np.diff(np.eye(count), 2, axis=0) * (INTERVALS**2 / curvature)
    by_slope = np.diff(np.eye(count), 1, axis=0) * (INTERVALS / _SLOPE / count**0.5)
    # Where a line lies as a whole is its level: the mean of the bend is nothing.
    usual = (by_curvature.T @ by_curvature + by_slope.T @ by_slope + 100.0) / width**2
    scale = 1 / _ORDER ** (2 * np.arange(ORDERS))
    prior = np.kron(usual, np.diag(scale))
    middle = pairs.ends[:, :, 1].mean(axis=1)
    rise = (pairs.ends[:, 1, 1] - pairs.ends[:, 0, 1]) / pairs.errors
    step = (right - left) / pairs.errors[:, None]
    weight, level = np.ones(len(rise)), middle
    for _ in range(8):
        terms = (step[:, :, None] * _powers(level, height)[:, None]).reshape(len(rise), -1)
        weighted = terms.T * weight
        solved = np.linalg.solve(weighted @ terms + prior, weighted @ rise)
        off = (rise - terms @ solved) / 1.5
        weight = 1 / (1 + off**2)
        level = middle - _product((left + right) / 2, solved.reshape(count, ORDERS), _powers(level, height))
    return solved.reshape(count, ORDERS), np.asarray(off)
