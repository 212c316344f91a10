"""Bent pages, flattened without a network: what runs along the lines of a page tells how they are bent.

Lines of text, straight strokes (rulings, edges of the page) and the direction in which ink runs are evidence of one
kind: two points that lie on one line of the flat page. By them a smooth surface is fitted: the line that lies at
``level`` in the flat page runs along ``y = level + shift(x, level)`` in the picture. Along the line the shift is a
cubic spline whose curvature is held low (P-splines: Eilers and Marx, Statistical Science 11, 1996), and it changes
slowly from line to line. Upright strokes tell the same of what is upright. The directions of ink are those of the
structure tensor (Bigün and Granlund, ICCV 1987), the strokes those of LSD (von Gioi et al., IPOL 2012). In the picture
that is flattened by a first surface more is found, so the surface is fitted again, until it stays as it is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from postprocess.arrays import Floats
from postprocess.geometry.boxes import quantile, word_height
from postprocess.geometry.rulings import estimate_text_height
from tablerec.inputs.unwarping import Map, remap, spread
from tablerec.result import PageImage, move_picture

if TYPE_CHECKING:
    from postprocess.arrays import Gray

INTERVALS = 10
"""Of the spline along a line."""
ORDERS = 5
"""Of the polynomial from line to line: up to the fourth power."""
_CURVATURE, _SLOPE, _LATER = 4.0, 0.4, 0.5
"""What is usual before anything is seen: the second derivative of the shift and its slope, lengths as shares of that of
the lines, and how much less they are with each order."""
_ERROR = 0.15
"""How far the ends of a piece of a line are off, in text heights."""
_LEAST_SAG = 0.35
"""Pages that are bent by less, in text heights, are left as they are: no rows are mixed up."""
_MOST_LEFT = 0.7
"""Share of what a straight page leaves of most lines that a bent one may leave: sharp folds and creases are no bend."""
_LEAST_GAIN = 5.0
"""Logarithm of how much likelier the evidence is on a bent page than on a flat one."""
_LONG = 3.0
"""Words so many times as long as high have a direction of their own, and strokes so many text heights long."""
_FEW = 4
"""Of fewer long words nothing is known."""
_SPREAD = 0.02
"""Directions of the long words of a flat page differ by less, in pixels per pixel."""
_STEEP = 0.8
"""Steeper strokes, in pixels per pixel, do not run along a line."""
_TEXT = 10.0
"""Text height of the picture in which strokes are looked for, pixels ..."""
_LONGEST = 1400
"""... and its longest side."""
_WINDOW = 1.5
"""Side of the windows in which ink has one direction, text heights."""
_REACH = 0.4
"""The edge of a stroke is this near to where the stroke is straight, text heights."""
_RIM = 0.5
"""What is nearer to the border of the picture may be that border, text heights."""
_MOST = 700
"""Windows, and strokes, that the surface is fitted to: more of them do not make it better."""
_ROUNDS = 4
_STILL = 0.1
"""A surface that moves by less, in text heights, is good."""
_GROWN = 0.25
"""A flat picture is larger by this share at each side at most."""


def flatten(picture: PageImage, quads: Floats) -> tuple[PageImage, Map] | None:
    """Flatten a picture if its page is bent.

    Args:
        picture: With the words that are known of it, which move along.
        quads: ``(W, 4, 2)`` words that were read in it, pixels, in reading direction.

    Returns:
        The flat picture, which may be larger, and its map; None where the page is flat. So are pages of a PDF with
        words: these were not photographed.
    """
    if picture.layer is not None and picture.words is not None:
        return None
    surface = find_surface(picture.image, quads)
    if surface is None:
        return None
    flat_map = surface.to_map()
    return move_picture(picture, remap(picture.image, flat_map, fill=True), surface.flatten_points), flat_map


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
    words = _long_pairs((quads[:, [0, 1]] + quads[:, [3, 2]]) / 2, np.full(len(quads), _ERROR * height), height)
    if len(words.ends) >= _FEW and quantile(words.slopes, 0.9) - quantile(words.slopes, 0.1) < _SPREAD:
        return None
    gray = np.asarray(cv2.cvtColor(image, cv2.COLOR_BGR2GRAY), np.uint8)
    # Boxes of words that run askew are too high.
    height = min(height, estimate_text_height(gray))
    scale = min(1.0, _TEXT / height, _LONGEST / max(gray.shape))
    if scale < 1:
        gray = np.asarray(cv2.resize(gray, None, fx=scale, fy=scale, interpolation=cv2.INTER_AREA), np.uint8)
    surface = _fit_surface(gray, height * scale, Pairs(words.ends * scale, words.errors * scale))
    return None if surface is None else surface.scaled(1 / scale, (image.shape[1], image.shape[0]))


def _fit_surface(gray: Gray, height: float, words: Pairs) -> Surface | None:
    """The surface of a grey picture by its long words and its ink; None where it is flat. All sizes are in pixels."""
    size = (gray.shape[1], gray.shape[0])
    strokes, _ = _strokes(gray, height)
    pairs = Pairs.joined([words, _ink_pairs(gray, height), strokes]).inside(size, height)
    if len(pairs.ends) < _FEW:
        return None
    bend, off = _fit(pairs, size)
    straight, off_straight = _fit(pairs, size, curvature=1e-3)
    gain = np.log1p(off_straight**2).sum() - np.log1p(off**2).sum()
    places = pairs.places()
    sag = np.ptp(bend.shift(*places) - straight.shift(*places), axis=1).max()
    left, left_straight = (float(np.quantile(np.abs(each), 0.8)) for each in (off, off_straight))
    if sag < _LEAST_SAG * height or gain < _LEAST_GAIN or left > _MOST_LEFT * left_straight:
        return None
    surface = Surface.of(bend, Bend(size[::-1], np.zeros_like(bend.coefficients)))
    lean = None
    for _ in range(_ROUNDS):
        flat = remap(gray, surface.to_map())
        lean = _lean(flat, height) if lean is None else lean
        level, upright = _strokes(flat, height)
        level = Pairs.joined([_ink_pairs(flat, height), level, _traced(flat, level, height)])
        upright = Pairs.joined([upright, _traced(np.ascontiguousarray(flat.T), upright, height)])
        pairs = Pairs(surface.unflatten_points(level.ends), level.errors).inside(size, height)
        before, (bend, _) = bend, _fit(pairs, size)
        upright = Pairs(surface.unflatten_points(upright.ends[..., ::-1]), upright.errors).inside(size, height)
        x, y = np.moveaxis(upright.ends, -1, 0)
        aside, _ = _fit(Pairs(np.stack([bend.level(x, y), x], axis=-1), upright.errors), size[::-1], lean)
        surface = Surface.of(bend, aside)
        places = pairs.places()
        if np.abs(bend.shift(*places) - before.shift(*places)).max() < _STILL * height:
            break
    return surface


@dataclass(frozen=True, slots=True)
class Pairs:
    """Pairs of points that lie on one line of the page.

    Args:
        ends: ``(N, 2, 2)`` places of the two along the line and across it, pixels.
        errors: ``(N,)`` how far they may be off, pixels.
    """

    ends: Floats
    errors: Floats

    @property
    def slopes(self) -> Floats:
        """``(N,)`` pixels across per pixel along."""
        step = self.ends[:, 1] - self.ends[:, 0]
        return np.asarray(step[:, 1] / step[:, 0])

    def inside(self, size: tuple[int, int], height: float) -> Pairs:
        """Those that keep away from the border of the picture: that is straight, whatever the page."""
        near = (self.ends < _RIM * height) | (self.ends > np.array(size) - _RIM * height)
        kept = ~np.all(near.any(axis=2), axis=1)
        return Pairs(self.ends[kept], self.errors[kept])

    def places(self) -> tuple[Floats, Floats]:
        """``(3, 40)`` along and across: three lines through what the pairs cover, but for its rim."""
        ends = self.ends.reshape(-1, 2)
        along = np.linspace(quantile(ends[:, 0], 0.02), quantile(ends[:, 0], 0.98), 40)
        across = np.array([quantile(ends[:, 1], share) for share in (0.05, 0.5, 0.95)])
        return np.tile(along, (3, 1)), np.repeat(across[:, None], 40, axis=1)

    @staticmethod
    def joined(several: list[Pairs]) -> Pairs:
        """All of them as one."""
        return Pairs(np.concatenate([each.ends for each in several]), np.concatenate([each.errors for each in several]))


def _long_pairs(ends: Floats, errors: Floats, height: float) -> Pairs:
    """Of ``(N, 2, 2)`` ends those that lie far apart along a line, the longest ones."""
    step = ends[:, 1] - ends[:, 0]
    chosen = np.flatnonzero((step[:, 0] > _LONG * height) & (np.abs(step[:, 1]) < _STEEP * step[:, 0]))
    chosen = chosen[np.argsort(-step[chosen, 0], kind="stable")[:_MOST]]
    return Pairs(ends[chosen], errors[chosen])


def _strokes(gray: Gray, height: float) -> tuple[Pairs, Pairs]:
    """Long straight strokes of a grey picture: those that run to the right, and those that run down."""
    import cv2

    found, wide, *_ = cv2.createLineSegmentDetector(cv2.LSD_REFINE_NONE).detect(gray)
    if found is None or wide is None:
        nothing = Pairs(np.zeros((0, 2, 2)), np.zeros(0))
        return nothing, nothing
    ends = found.reshape(-1, 2, 2).astype(np.float64)
    errors = np.maximum(wide.ravel() / 2, _ERROR / 2 * height)
    level, upright = (
        _long_pairs(np.take_along_axis(lines, np.argsort(lines[..., :1], axis=1), axis=1), errors, height)
        for lines in (ends, ends[..., ::-1])
    )
    return level, upright


def _traced(gray: Gray, strokes: Pairs, height: float) -> Pairs:
    """Pieces of strokes that run to the right, each where its edge lies: from afar a stroke looks too straight."""
    import cv2

    ends = strokes.ends
    if not len(ends):
        return strokes
    along = ends[:, 1] - ends[:, 0]
    count = np.maximum(along[:, 0] / (_WINDOW * height), 1).astype(np.int64) + 1
    stroke = np.repeat(np.arange(len(ends)), count)
    number = np.arange(len(stroke)) - np.repeat(np.cumsum(count) - count, count)
    places = ends[stroke, 0] + (number / (count[stroke] - 1))[:, None] * along[stroke]
    side = np.ceil(_REACH * height)
    reach = np.arange(-side, side + 1)
    x, y = (np.float32(at - 0.5) for at in np.broadcast_arrays(places[:, :1], places[:, 1:] + reach))
    profiles = cv2.remap(np.float32(gray), x, y, cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE)
    edge = np.gradient(profiles, axis=1) * np.exp(-2 * (reach / (_REACH * height)) ** 2)
    # A stroke is the one edge of a ruling, from light to dark or from dark to light.
    towards = np.sign(np.bincount(stroke, edge.sum(axis=1)))[stroke]
    power = np.maximum(edge * towards[:, None], 0) ** 2
    total = power.sum(axis=1)
    places[:, 1] += (power * reach).sum(axis=1) / np.maximum(total, 1e-9)
    is_drawn = total > 0.3 * (np.bincount(stroke, total) / count)[stroke]
    first = np.flatnonzero((stroke[1:] == stroke[:-1]) & is_drawn[1:] & is_drawn[:-1])
    return Pairs(np.stack([places[first], places[first + 1]], axis=1), np.full(len(first), _ERROR / 3 * height))


def _ink_pairs(gray: Gray, height: float) -> Pairs:
    """The direction in which ink runs to the right, in windows of a grey picture."""
    import cv2

    # Letters become one stroke.
    soft = cv2.GaussianBlur(gray, (0, 0), 0.25 * height)
    middles, slopes = _directions(cv2.Sobel(soft, cv2.CV_32F, 1, 0), cv2.Sobel(soft, cv2.CV_32F, 0, 1), height)
    chosen = np.linspace(0, len(slopes) - 1, min(len(slopes), _MOST)).astype(np.int64)
    half = 0.5 * _WINDOW * height * np.stack([np.ones_like(slopes), slopes], axis=1)[chosen]
    ends = np.stack([middles[chosen] - half, middles[chosen] + half], axis=1)
    return Pairs(ends, np.full(len(chosen), _ERROR * height))


def _lean(gray: Gray, height: float) -> float:
    """Pixels to the right per pixel down of most stems of letters in a grey picture."""
    import cv2

    _, leans = _directions(cv2.Sobel(gray, cv2.CV_32F, 0, 1), cv2.Sobel(gray, cv2.CV_32F, 1, 0), height)
    return float(quantile(leans, 0.5)) if len(leans) else 0.0


def _directions(along: NDArray[Any], across: NDArray[Any], height: float) -> tuple[Floats, Floats]:
    """Where ink runs, by the gradients of a grey picture along lines and across them.

    Returns:
        ``(N, 2)`` middles, x and y, of the windows with much ink, and ``(N,)`` pixels across per pixel along.
    """
    import cv2

    size = along.shape[::-1]
    across = np.where(np.abs(along) > _STEEP * np.abs(across), 0, across)
    count = [max(int(side / (_WINDOW * height)), 1) for side in size]
    power, both = (cv2.resize(each, count, interpolation=cv2.INTER_AREA) for each in (across * across, along * across))
    strong = power > max(0.1 * float(quantile(power.ravel(), 0.95)), 1e-3)
    row, column = np.nonzero(strong)
    middles = (np.stack([column, row], axis=1) + 0.5) * (np.array(size) / count)
    return middles, -np.asarray(both[strong] / power[strong], np.float64)


@dataclass(frozen=True, slots=True)
class Bend:
    """How lines of one direction are bent: the one at ``level`` runs along ``level + shift(along, level)``.

    Args:
        size: Of the picture, along the lines and across them, pixels.
        coefficients: ``(INTERVALS + 3, ORDERS)``, pixels.
    """

    size: tuple[float, float]
    coefficients: Floats

    def shift(self, along: Floats, level: Floats) -> Floats:
        """How far lines are off their levels, pixels."""
        basis = _spline(along / self.size[0]) @ self.coefficients
        return np.asarray((basis * _polynomials(level / self.size[1])).sum(axis=-1))

    def level(self, along: Floats, across: Floats) -> Floats:
        """Levels of the lines through points, pixels."""
        level = across
        # The shift changes slowly from line to line, so each step is nearer.
        for _ in range(50):
            before, level = level, across - self.shift(along, level)
            if np.abs(level - before).max(initial=0.0) < 1e-3:
                break
        return level


@dataclass(frozen=True, slots=True)
class Surface:
    """How a page is bent.

    Args:
        down: How what is level in the flat page is bent in the picture.
        aside: How what is upright is bent, along its places down in the flat page.
        corner: Of the flat picture, in the pixels of ``down`` and ``aside``.
        flat_wh: Its size, pixels.
    """

    down: Bend
    aside: Bend
    corner: tuple[float, float]
    flat_wh: tuple[int, int]

    @staticmethod
    def of(down: Bend, aside: Bend) -> Surface:
        """The surface with a flat picture in which all of the picture is, if that is not much larger."""
        size = np.array(down.size)
        rim = np.stack(np.meshgrid(np.linspace(0, 1, 21), np.linspace(0, 1, 21)), axis=-1).reshape(-1, 2)
        flat = Surface(down, aside, (0.0, 0.0), (0, 0)).flatten_points(rim * size)
        low = np.floor(np.clip(flat.min(axis=0), -_GROWN * size, 0))
        high = np.ceil(np.clip(flat.max(axis=0), size, (1 + _GROWN) * size))
        width, height = (high - low).astype(int).tolist()
        return Surface(down, aside, (float(low[0]), float(low[1])), (width, height))

    def flatten_points(self, points: Floats) -> Floats:
        """Take ``(..., 2)`` points of the picture, pixels, to their places in the flat picture."""
        x, y = np.moveaxis(points, -1, 0)
        level = self.down.level(x, y)
        return np.stack([self.aside.level(level, x), level], axis=-1) - np.array(self.corner)

    def unflatten_points(self, points: Floats) -> Floats:
        """Take ``(..., 2)`` points of the flat picture, pixels, to their places in the picture."""
        place, level = np.moveaxis(points + np.array(self.corner), -1, 0)
        x = place + self.aside.shift(level, place)
        return np.stack([x, level + self.down.shift(x, level)], axis=-1)

    def scaled(self, factor: float, size_wh: tuple[int, int]) -> Surface:
        """The same page in a picture of another size, so many times as large."""
        down, aside = self.down.coefficients * factor, self.aside.coefficients * factor
        return Surface.of(Bend(size_wh, down), Bend(size_wh[::-1], aside))

    def to_map(self) -> Map:
        """Where the pixels of the flat picture lie in the picture."""
        # Between so many nodes the surface is straight.
        places = [np.linspace(0.5, side - 0.5, 8 * INTERVALS + 1) for side in self.flat_wh]
        return spread(self.unflatten_points(np.stack(np.meshgrid(*places), axis=-1)) - 0.5, self.flat_wh)


def _polynomials(share: Floats) -> Floats:
    """``(..., ORDERS)`` Legendre polynomials of a share of the depth, 0 to 1; beyond, they stay."""
    return np.asarray(np.polynomial.legendre.legvander(np.clip(2 * share - 1, -1, 1), ORDERS - 1))


def _spline(share: Floats) -> Floats:
    """``(..., INTERVALS + 3)`` cubic B-splines at a share of the length, 0 to 1; beyond, they stay."""
    at = np.clip(share, 0, 1) * INTERVALS
    low = np.minimum(at.astype(np.int64), INTERVALS - 1)
    t = at - low
    parts = np.stack([(1 - t) ** 3, 3 * t**3 - 6 * t**2 + 4, -3 * t**3 + 3 * t**2 + 3 * t + 1, t**3], axis=-1) / 6
    values = np.zeros((*share.shape, INTERVALS + 3))
    np.put_along_axis(values, low[..., None] + np.arange(4), parts, axis=-1)
    return values


def _fit(pairs: Pairs, size: tuple[int, int], slope: float = 0.0, curvature: float = _CURVATURE) -> tuple[Bend, Floats]:
    """The most likely bend, and how far off each pair is, in 1.5 of its error.

    By Cauchy's law, so that what is no line does not count; with normal laws for what is usual.

    Args:
        pairs: May be none.
        size: Of the picture, along the lines and across them, pixels.
        slope: What is usual, pixels across per pixel along.
        curvature: What is usual, see ``_CURVATURE``.
    """
    length, depth = size
    count = INTERVALS + 3
    by_curvature = np.diff(np.eye(count), 2, axis=0) * (INTERVALS**2 / curvature)
    by_slope = np.diff(np.eye(count), 1, axis=0) * (INTERVALS / _SLOPE / count**0.5)
    # Where a line lies as a whole is its level, so the mean of its shifts is nothing.
    usual = (by_curvature.T @ by_curvature + by_slope.T @ by_slope + 100.0) / length**2
    prior = np.kron(usual, np.diag(1 / _LATER ** (2.0 * np.arange(ORDERS))))
    start = np.zeros((count, ORDERS))
    start[:, 0] = slope * length * ((np.arange(count) - 1) / INTERVALS - 0.5)
    bend = Bend((length, depth), start)
    first, last = (_spline(pairs.ends[:, end, 0] / length) for end in (0, 1))
    step = (last - first) / pairs.errors[:, None]
    middle = pairs.ends.mean(axis=1)
    rise = (pairs.ends[:, 1, 1] - pairs.ends[:, 0, 1]) / pairs.errors
    weight, level = np.ones(len(rise)), middle[:, 1]
    for _ in range(8):
        terms = (step[:, :, None] * _polynomials(level / depth)[:, None]).reshape(len(rise), count * ORDERS)
        weighted = terms.T * weight
        solved = np.linalg.solve(weighted @ terms + prior, weighted @ rise + prior @ start.ravel())
        off = (rise - terms @ solved) / 1.5
        weight = 1 / (1 + off**2)
        bend = Bend((length, depth), solved.reshape(count, ORDERS))
        level = middle[:, 1] - bend.shift(middle[:, 0], level)
    return bend, np.asarray(off)
