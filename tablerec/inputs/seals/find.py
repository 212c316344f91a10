"""Where the seals and stamps of a picture are, by colour and shape.

Colours are looked at as shares of the paper's, so that neither a cast nor shade nor a filled row counts as ink. A
group of coloured strokes of one hue is a seal where it is a ring with something in it, a frame with writing in it that
is turned or that print runs through, or strokes in all directions that print runs through in many places. Coloured
text, rules, fills and charts are none of these. Of shapes that share a place, the one with most ink counts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from postprocess.arrays import Floats

if TYPE_CHECKING:
    from postprocess.arrays import Image

Mask = NDArray[np.bool_]
Rect = tuple[Sequence[float], Sequence[float], float]
"""Centre, size and degrees, as OpenCV has them."""

COLOURED = 20
"""Difference between the channels of 255, as shares of the paper's, from which a pixel is coloured."""
LEAST_SIDE = 28
"""Pixels; a smaller ring is a letter, a bullet or a circled digit."""
HUES = 12
"""Half the width of a range of hues, in OpenCV's units of two degrees."""
NO_INK = (12, 36)
"""Hues of brown and yellow: of paper, wood, forms and highlighters, not of seals."""

_PIXELS = 5e5
"""Pixels of the copy in which seals are looked for."""
_LEAST_INK = 160
"""Coloured pixels that a seal has at least."""
_PAPER = 19
"""Side of the window in which the brightest is the paper: wider than strokes, narrower than most fills."""
_LEAST_RULE = 60
"""Pixels; a shorter line is no rule."""
_GAP = 7
"""Pixels of a rule that print may cover."""
_DENSE = 0.66
"""Share of ink in a fill, around the light letters in it."""
_DARK = 150
"""Brightest channel of print, at most."""
_GREY = 60
"""Saturation of print, at most."""
_LEAST_CONTRAST = 40
"""Distance between ink and ground, of 255 in each channel."""
_JOINTS = (5, 11, 19)
"""Gaps in pixels over which strokes are one group, tried one after another."""
_MOST_GROUPS = 10
_CROSSINGS, _CROSSINGS_OF_LINE = 6, 4
"""Places at which print runs through a seal of no known shape, at least ..."""
_OVER = 0.03
"""... the share of it that is print ..."""
_ASLANT, _ASLANT_LINE = 0.5, 0.7
"""... and the share of its edges that are not in the directions of the page."""
_THICK = 11
"""Side of a square that strokes do not hold."""
_LOOSE = 0.6
"""What its ink counts beside that of a known shape."""
_MOST_POINTS = 5000
"""Of a group that are looked at: more show no other shape."""
_FEW_POINTS = 1500
"""By which a direction is found."""
_RING = 0.03
"""Width in which an outer ring is looked for, as a share of the radius of the inner one ..."""
_WIDEST_RING = 1.35
"""... up to this one."""
_SLIMMEST = 0.45
"""Width of an oval, as a share of its length."""
_ROUND = 72
"""Sectors of a ring."""
_PRINTED = 0.005
"""Share of a field of ink that is print, where it lies over some."""
_LARGE = 0.25
"""Share of the picture that a seal which is no ring takes at most."""
_TURNED, _TURNED_FIELD = 3.0, 1.5
"""Degrees from the directions of the page: of a frame, and of a field of ink, whose sides are seen better."""
_VOTES = 30
"""Votes of edges for a circle, in OpenCV's units ..."""
_MOST_CIRCLES = 4
"""... so many of which are looked at ..."""
_LOOSELY = 1.1
"""... with the ink in one so much larger."""
_LEAST_RIM = 0.25
"""Share of ink along such a circle."""
_NOWHERE: Floats = np.empty((0, 2))


@dataclass(frozen=True, slots=True, eq=False)
class Shape:
    """Where a seal is.

    Args:
        corners: ``(4, 2)`` float64 TL, TR, BR, BL in pixels: around an oval, along its axes, or of the frame.
        is_round: Whether it is an oval.
        hue: Of its ink, in OpenCV's units of two degrees.
        is_filled: Whether its letters are left free in a field of ink.
    """

    corners: Floats
    is_round: bool
    hue: int
    is_filled: bool = False


@dataclass(frozen=True, eq=False)
class _Inks:
    """A picture as shares of its paper: hue and coloured pixels, print, rules and fills taken from the coloured."""

    hue: NDArray[np.uint8]
    coloured: Mask
    printed: Mask
    ruled: Mask
    grey: NDArray[np.uint8]

    @cached_property
    def degrees(self) -> float:
        """The direction of the page."""
        return page_degrees(self.grey)


def find_shapes(image: Image) -> list[Shape]:
    """Find seals and stamps of coloured ink.

    Args:
        image: ``(height, width, 3)`` uint8, BGR; may be empty.

    >>> find_shapes(np.full((90, 90, 3), 255, np.uint8))
    []
    """
    import cv2

    if not _has_colour(image):
        return []
    scale = 1 / enlargement(image)
    small = image
    if scale < 1:
        small = np.asarray(cv2.resize(image, None, fx=scale, fy=scale, interpolation=cv2.INTER_AREA), np.uint8)
    inks = _to_inks(small)
    found: list[Shape] = []
    for _, shape, ink in sorted(_candidates(small, inks), key=lambda each: -each[0]):
        if any(_share_place(shape, other) or _share_place(other, shape) for other in found):
            continue
        if shape.is_round:
            shape = _with_outer_rings(shape, ink)
        if shape.is_filled or _lies_on_paper(shape, ink, inks, small):
            found.append(shape)
    return [replace(each, corners=each.corners / scale) for each in found]


def _candidates(image: Image, inks: _Inks) -> Iterator[tuple[float, Shape, Mask]]:
    """Shapes that may be seals, how much ink speaks for each, and all ink of their hue."""

    def rated(shape: Shape, ink: Mask, share: float = 1.0) -> tuple[float, Shape, Mask]:
        return share * np.count_nonzero(ink & region(shape, ink.shape, 1.05)), shape, ink

    for field, ink in _filled(image, inks):
        yield rated(field, ink)
    rules = _rules(inks.coloured)
    free = replace(inks, coloured=inks.coloured & ~rules, ruled=inks.coloured & rules)
    for hue in _hues(free):
        ink = free.coloured & _near(free.hue, hue)
        seen: set[tuple[int, ...]] = set()
        is_known = False
        for joint in _JOINTS:
            for group, (x, y) in _groups(ink, joint):
                same = (x, y, *group.shape, np.count_nonzero(group))
                shape = None if same in seen else _to_shape(group, (x, y), free, hue)
                seen.add(same)
                is_known |= shape is not None
                if shape is not None:
                    yield rated(shape, ink)
                elif joint == _JOINTS[-1] and (corners := _crossed(group, (x, y), free)) is not None:
                    yield rated(Shape(corners, False, hue), ink, _LOOSE)
        for corners in () if is_known else _circles(ink, free):
            yield rated(Shape(corners, True, hue), ink)


def _has_colour(image: Image) -> bool:
    """Whether there may be coloured ink; says no at once for most pictures."""
    import cv2

    if min(image.shape[:2]) < LEAST_SIDE:
        return False
    step = max(1, round((image.shape[0] * image.shape[1] / 250_000) ** 0.5))
    blue, green, red = cv2.split(np.ascontiguousarray(image[::step, ::step]))
    chroma = cv2.subtract(cv2.max(cv2.max(blue, green), red), cv2.min(cv2.min(blue, green), red))
    return bool(cv2.countNonZero(cv2.threshold(chroma, COLOURED, 255, cv2.THRESH_BINARY)[1]) * step**2 >= _LEAST_INK)


def _to_inks(image: Image) -> _Inks:
    import cv2

    hue, chroma, saturation, value = _to_colors(image, near_paper(image))
    is_dark = value < _DARK
    coloured = (chroma > COLOURED) & ~(is_dark & (saturation < _GREY))
    grey = np.asarray(cv2.cvtColor(image, cv2.COLOR_BGR2GRAY), np.uint8)
    return _Inks(hue, coloured, is_dark & ~coloured, np.zeros_like(is_dark), grey)


def _to_colors(image: Image, paper: Image) -> tuple[NDArray[np.uint8], ...]:
    """Hue, difference between the channels, saturation and brightest channel of a picture as shares of its paper."""
    import cv2

    shares = cv2.divide(image, np.maximum(paper, 1), scale=255)
    hue, saturation, value = cv2.split(cv2.cvtColor(shares, cv2.COLOR_BGR2HSV))
    chroma = cv2.multiply(saturation, value, scale=1 / 255)
    return tuple(np.asarray(each, np.uint8) for each in (hue, chroma, saturation, value))


def _hues(inks: _Inks) -> list[int]:
    """The hues of most coloured pixels, the most frequent first."""
    counts = np.bincount(inks.hue[inks.coloured], minlength=180)[:180].astype(float)
    found: list[int] = []
    while len(found) < 4:
        near = np.sum([np.roll(counts, shift) for shift in range(-3, 4)], axis=0)
        hue = int(np.argmax(near))
        if near[hue] < _LEAST_INK / 2:
            break
        if not NO_INK[0] <= hue <= NO_INK[1]:
            found.append(hue)
        counts[(np.arange(hue - HUES, hue + HUES + 1)) % 180] = 0
    return found


def _rules(coloured: Mask) -> Mask:
    """Rules and fills that run through half of the picture."""
    import cv2

    height, width = coloured.shape
    rules = np.zeros((height, width), bool)
    if coloured.sum(axis=1).max() < 0.4 * width and coloured.sum(axis=0).max() < 0.4 * height:
        return rules
    closed = _morph("close", coloured, _GAP)
    for size_wh in ((max(_LEAST_RULE, width // 2), 1), (1, max(_LEAST_RULE, height // 2))):
        rules |= _morph("open", closed, size_wh)
    # Of a fill, the rows with light text in them are left.
    dense = (cv2.blur(coloured.astype(np.float32), (61, 11)) > _DENSE).view(np.uint8)
    _, labels, stats, _ = cv2.connectedComponentsWithStats(dense, connectivity=4)
    wide = stats[:, 2] > width // 2
    wide[0] = False
    if wide.any():
        rules |= _morph("dilate", wide[labels], (31, 11))
    return _morph("dilate", rules, 5) if rules.any() else rules


def _near(hues: NDArray[np.uint8], hue: int) -> Mask:
    distance = np.abs(hues.astype(np.int16) - hue)
    return np.asarray(np.minimum(distance, 180 - distance) <= HUES, bool)


def _morph(how: str, mask: Mask, size_wh: int | tuple[int, int]) -> Mask:
    import cv2

    width, height = (size_wh, size_wh) if isinstance(size_wh, int) else size_wh
    operation = {"close": cv2.MORPH_CLOSE, "open": cv2.MORPH_OPEN, "dilate": cv2.MORPH_DILATE}[how]
    return np.asarray(cv2.morphologyEx(mask.view(np.uint8), operation, np.ones((height, width), np.uint8)), bool)


def enlargement(image: Image) -> float:
    """How many times as large as the copy in which seals are looked for a picture is."""
    return max(1.0, float((image.shape[0] * image.shape[1] / _PIXELS) ** 0.5))


def near_paper(image: Image, enlarged: float = 1.0) -> Image:
    """The ground without strokes; fills that are wider than these are ground up to their edges."""
    import cv2

    side = round(_PAPER * enlarged)
    # JPEG leaves light points around strokes, which are no ground.
    calm = cv2.morphologyEx(image, cv2.MORPH_OPEN, np.ones((3, 3), np.uint8))
    closed = cv2.morphologyEx(calm, cv2.MORPH_CLOSE, np.ones((side, side), np.uint8))
    return np.asarray(cv2.blur(closed, (3, 3)), np.uint8)


def wide_paper(image: Image) -> Image:
    """The ground without anything that is narrower than half of the picture, fills among them."""
    import cv2

    height, width = image.shape[:2]
    small = cv2.resize(image, (max(1, width // 8), max(1, height // 8)), interpolation=cv2.INTER_AREA)
    side = max(3, min(small.shape[:2]) // 2) | 1
    closed = cv2.morphologyEx(small, cv2.MORPH_CLOSE, np.ones((side, side), np.uint8))
    return np.asarray(cv2.resize(closed, (width, height), interpolation=cv2.INTER_LINEAR), np.uint8)


def _filled(image: Image, inks: _Inks) -> Iterator[tuple[Shape, Mask]]:
    """Fields of ink that are turned, with letters left free in them, over print."""
    import cv2

    paper = wide_paper(image)
    coarse = _to_colors(image[::4, ::4], paper[::4, ::4])[1] > _LEAST_CONTRAST
    if not _morph("open", _morph("close", coarse, 3), 3).any():
        return
    hue, chroma, *_ = _to_colors(image, paper)
    inked = chroma > _LEAST_CONTRAST
    for each in _hues(replace(inks, hue=hue, coloured=inked)):
        strokes = inked & _near(hue, each)
        over = strokes | (inks.printed & _morph("dilate", strokes, 5))
        fields = _morph("open", _morph("close", over, 13), LEAST_SIDE // 2)
        _, labels, stats, _ = cv2.connectedComponentsWithStats(fields.view(np.uint8), connectivity=4)
        fitting = (stats[1:, 2:4].min(axis=1) >= LEAST_SIDE) & (stats[1:, 4] <= 0.2 * labels.size)
        for label in np.flatnonzero(fitting) + 1:
            shape = _field(labels == label, stats[label, :4].tolist(), strokes, inks, each)
            if shape is not None:
                yield shape, strokes


def _field(field: Mask, box_xywh: Sequence[int], strokes: Mask, inks: _Inks, hue: int) -> Shape | None:
    """A rectangle of ink with letters left free in it, turned or with print that runs through its sides."""
    import cv2

    points = (np.argwhere(field)[:, ::-1] + 0.5).astype(np.float32)
    hull = cv2.convexHull(points)
    rect = cv2.minAreaRect(hull)
    size = sorted(rect[1])
    if size[1] > 2 * size[0] or cv2.contourArea(hull) < 0.84 * size[0] * size[1]:
        return None
    within = np.zeros(field.shape, np.uint8)
    cv2.fillConvexPoly(within, np.round(hull).astype(np.int32), 1)
    inside = within.view(bool)
    printed = float(np.mean(inks.printed[inside]))
    free = 1 - float(np.mean(strokes[inside])) - printed
    if not 0.05 < free < 0.6:
        return None
    # Print under full ink takes some of its colour.
    darker = float(np.mean(inks.grey[inside] < 0.5 * np.median(inks.grey[inside & strokes])))
    half = np.array(rect[1]) / 2
    x, y, width, height = box_xywh
    dark = _inside(_points(inks.printed, (x, y), (height, width)), _axes(rect[0], rect[1], rect[2]))
    passing = _n_passing(dark, half)
    turned = abs((rect[2] - inks.degrees + 45) % 90 - 45) >= _TURNED_FIELD
    if (turned and (passing >= 1 or max(printed, darker) > _PRINTED)) or (passing >= 2 and printed > 0.02):
        return Shape(_in_order(cv2.boxPoints(rect).astype(np.float64)), False, hue, is_filled=True)
    return None


def _groups(ink: Mask, joint: int) -> Iterator[tuple[Mask, tuple[int, int]]]:
    """Strokes of a group and the corner of their box, the largest first."""
    import cv2

    joined = _morph("dilate", ink, joint).view(np.uint8)
    _, labels, stats, _ = cv2.connectedComponentsWithStats(joined, connectivity=8)
    large = (stats[1:, 2:4].min(axis=1) >= LEAST_SIDE) & (stats[1:, 4] >= _LEAST_INK)
    order = np.flatnonzero(large)[np.argsort(-stats[1:, 4][large])] + 1
    for label in order[:_MOST_GROUPS]:
        x, y, width, height = stats[label, :4].tolist()
        part = np.s_[y : y + height, x : x + width]
        group = ink[part] & (labels[part] == label)
        if np.count_nonzero(group) >= _LEAST_INK:
            rows, columns = np.flatnonzero(group.any(axis=1)), np.flatnonzero(group.any(axis=0))
            yield group[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1], (x + int(columns[0]), y + int(rows[0]))


def _to_shape(group: Mask, at: tuple[int, int], inks: _Inks, hue: int) -> Shape | None:
    if min(group.shape) < 2 * LEAST_SIDE:
        # Small and over no print it is a word, or nothing that disturbs.
        printed = inks.printed[at[1] : at[1] + group.shape[0], at[0] : at[0] + group.shape[1]]
        if not _crossings(group, printed).any():
            return None
    prints, hidden = (_points(mask, at, group.shape) for mask in (inks.printed, inks.ruled))
    # What else lies near, such as red numbers, is no part of a rim or frame.
    whole = np.count_nonzero(group)
    for strokes in (group, _largest(group)):
        if strokes is not group and np.count_nonzero(strokes) == whole:
            break
        points = np.asarray(np.argwhere(strokes)[:, ::-1] + at + 0.5, np.float64)
        corners = _ring(points, prints, 0.75 * max(inks.hue.shape))
        if corners is not None:
            return Shape(corners, True, hue)
        for rect in _rects(points):
            corners = _frame(points, prints, hidden, rect, inks)
            if corners is not None:
                return Shape(corners, False, hue)
    return None


def _circles(ink: Mask, inks: _Inks) -> Iterator[Floats]:
    """Corners around rings that rules and fills cut into pieces, or that touch other ink of their hue."""
    import cv2

    height, width = ink.shape
    blurred = cv2.GaussianBlur(255 * ink.view(np.uint8), (3, 3), 0)
    most = round(0.75 * max(height, width) / 2)
    found = cv2.HoughCircles(
        blurred, cv2.HOUGH_GRADIENT, 1.5, LEAST_SIDE, param1=100, param2=_VOTES, minRadius=LEAST_SIDE, maxRadius=most
    )
    for x, y, radius in [] if found is None else found[0][:_MOST_CIRCLES].tolist():
        reach = round(_LOOSELY * radius)
        left, top = max(0, round(x) - reach), max(0, round(y) - reach)
        part = np.s_[top : round(y) + reach + 1, left : round(x) + reach + 1]
        points, hidden = (
            np.asarray(np.argwhere(mask[part])[:, ::-1] + (left, top) + 0.5, np.float64) for mask in (ink, inks.ruled)
        )
        points = points[np.linalg.norm(points - (x, y), axis=1) <= reach]
        if len(points) >= _LEAST_INK:
            prints = _points(inks.printed, (left, top), ink[part].shape)
            corners = _ring(points, prints, 0.75 * max(height, width), hidden)
            if corners is not None and _has_rim(ink, corners):
                yield corners


def _has_rim(ink: Mask, corners: Floats) -> bool:
    """Whether ink lies along an oval more than in and around it: writing lies on any oval here and there."""
    size, axes = _oval_axes(corners)
    distance = np.linalg.norm(_inside(np.asarray(np.argwhere(ink)[:, ::-1] + 0.5, np.float64), axes), axis=1)
    half = max(_RING, 4 / min(size))
    rim, within, around = (
        np.count_nonzero((low < distance) & (distance < high)) / (np.pi / 4 * size[0] * size[1] * (high**2 - low**2))
        for low, high in ((1 - half, 1 + half), (0.3, 0.85), (1.1, 1.3))
    )
    return bool(rim > max(_LEAST_RIM, 1.5 * within, 2 * around))


def _largest(group: Mask) -> Mask:
    """The largest connected piece, and what lies in its box."""
    import cv2

    _, labels, stats, _ = cv2.connectedComponentsWithStats(_morph("close", group, 5).view(np.uint8), connectivity=8)
    largest = 1 + int(np.argmax(stats[1:, 2] * stats[1:, 3]))
    hull = np.zeros(group.shape, np.uint8)
    rim = np.argwhere(labels == largest)[:, ::-1].astype(np.int32)
    cv2.fillConvexPoly(hull, cv2.convexHull(rim), 1)
    return group & (hull > 0)


def _some(points: Floats) -> Floats:
    return points[:: 1 + len(points) // _MOST_POINTS]


def _points(mask: Mask, at: tuple[int, int], size_hw: tuple[int, ...], margin: int = 8) -> Floats:
    """The middles of the pixels of a mask in a box and around it."""
    low = np.maximum(np.array(at) - margin, 0)
    part = mask[low[1] : at[1] + size_hw[0] + margin, low[0] : at[0] + size_hw[1] + margin]
    return np.asarray(np.argwhere(part)[:, ::-1] + low + 0.5, np.float64)


def _crossings(ink: Mask, printed: Mask) -> Mask:
    """Pixels at which print runs through coloured strokes, whichever lies above."""
    return (_morph("close", ink, 7) & printed) | (_morph("close", printed, 9) & ink & ~printed)


def _count(mask: Mask) -> int:
    import cv2

    stats = cv2.connectedComponentsWithStats(_morph("dilate", mask, 3).view(np.uint8), connectivity=8)[2]
    return int((stats[1:, 4] >= 12).sum())


def _ring(points: Floats, prints: Floats, largest: float, hidden: Floats = _NOWHERE) -> Floats | None:
    """Corners around an oval whose rim is drawn, with something in it.

    Args:
        points: ``(N, 2)`` where its ink is.
        prints: ``(M, 2)`` where print is.
        largest: Its length, at most.
        hidden: ``(K, 2)`` where rules and fills do not let its ink be seen.
    """
    import cv2

    some = _some(points)
    hull = cv2.convexHull(some.astype(np.float32))[:, 0]
    moments = cv2.moments(hull)
    if moments["m00"] < LEAST_SIDE**2 / 2:
        return None
    centre = np.array([moments["m10"], moments["m01"]]) / moments["m00"]
    rim = _farthest(some - centre) + centre
    for _ in range(2):
        if len(rim) < 12:
            return None
        (x, y), (width, height), degrees = cv2.fitEllipseDirect(rim.astype(np.float32))
        shorter, longer = sorted((width, height))
        if shorter < LEAST_SIDE or shorter < _SLIMMEST * longer or longer > largest:
            return None
        axes = _axes((x, y), (width, height), degrees)
        distance = np.linalg.norm(_inside(rim, axes), axis=1)
        rim = rim[np.abs(distance - 1) < 0.1]
    middle = np.array([x, y])
    inner = _inside(points, axes)
    distance, sector = np.linalg.norm(inner, axis=1), _sectors(inner)
    uneven = np.abs(np.linalg.norm(_inside(_farthest(some - middle) + middle, axes), axis=1) - 1)
    if np.median(uneven) > max(0.05, 1.5 / min(width, height)):
        return None
    band = max(0.07, 4 / min(width, height))
    drawn = np.bincount(sector[np.abs(distance - 1) < band], minlength=_ROUND) > 0
    dark = _inside(prints, axes)
    unseen = np.concatenate([dark, _inside(hidden, axes)])
    over = np.bincount(_sectors(unseen)[np.abs(np.linalg.norm(unseen, axis=1) - 1) < band], minlength=_ROUND) > 0
    area = np.pi * width * height / 4
    within = np.count_nonzero(distance < 0.85) / area
    if drawn.mean() < 0.6 or (drawn | over).mean() < 0.75 or np.mean(distance > 1.12) > 0.1 or within > 0.6:
        return None
    beyond = (np.linalg.norm(dark, axis=1) - 1) * min(width, height) / 2
    diameter = min(width, height)
    within_rim = points[distance < 1 - max(0.15, 14 / diameter)]
    is_written = diameter > 2 * LEAST_SIDE and _n_letters(within_rim, 0.06 * diameter) >= 3
    if not is_written and _runs(beyond, _sectors(dark), _ROUND) < 2:
        return None
    if min(width, height) > 0.9 * max(width, height):
        return np.array([x, y]) + np.array([[-1, -1], [1, -1], [1, 1], [-1, 1]]) * (width + height) / 4
    return _in_order(cv2.boxPoints(((x, y), (width, height), degrees)).astype(np.float64))


def _with_outer_rings(shape: Shape, ink: Mask) -> Shape:
    """The oval with the rings around it that are not joined to it."""
    corners = shape.corners
    middle, (_, axes) = corners.mean(axis=0), _oval_axes(corners)
    places = np.argwhere(ink & region(shape, ink.shape, _WIDEST_RING))[:, ::-1] + 0.5
    inner = _inside(np.asarray(places, np.float64), axes)
    ring = np.round((np.linalg.norm(inner, axis=1) - 1) / _RING).astype(int)
    drawn = np.zeros((round((_WIDEST_RING - 1) / _RING) + 2, _ROUND), bool)
    outside = (ring >= 1) & (ring < len(drawn))
    drawn[ring[outside], _sectors(inner)[outside]] = True
    rings = np.flatnonzero((drawn[1:] | drawn[:-1]).mean(axis=1) > 0.7)
    grown = 1 + _RING * (int(rings[-1]) + 1) if len(rings) else 1.0
    return replace(shape, corners=(corners - middle) * grown + middle)


def _n_letters(points: Floats, least: float) -> int:
    """Pieces of ink that are as large as letters."""
    import cv2

    if not len(points):
        return 0
    places = points.astype(int) - points.astype(int).min(axis=0)
    mask = np.zeros(places.max(axis=0)[::-1] + 1, np.uint8)
    mask[places[:, 1], places[:, 0]] = 1
    stats = cv2.connectedComponentsWithStats(mask, connectivity=8)[2][1:]
    return int((stats[:, 2:4].max(axis=1) >= max(4.0, least)).sum())


def _farthest(offsets: Floats) -> Floats:
    """Of each sector the point that is farthest from the centre."""
    distance, sector = np.linalg.norm(offsets, axis=1), _sectors(offsets)
    order = np.lexsort((distance, sector))
    last = np.append(np.diff(sector[order]) > 0, True)
    return offsets[order[last]]


def _sectors(offsets: Floats) -> NDArray[np.int64]:
    turns = np.arctan2(offsets[:, 1], offsets[:, 0]) / (2 * np.pi) + 0.5
    return np.minimum(turns * _ROUND, _ROUND - 1).astype(np.int64)


def _axes(centre: Sequence[float], size_wh: Sequence[float], degrees: float) -> tuple[Floats, Floats]:
    """Centre, and ``(2, 2)`` what takes an offset to one in which the oval or rectangle reaches from -1 to 1."""
    angle = np.deg2rad(degrees)
    turn = np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
    return np.array(centre), turn / (np.array(size_wh)[:, None] / 2)


def _oval_axes(corners: Floats) -> tuple[tuple[float, float], tuple[Floats, Floats]]:
    """Width and height of an oval by the corners around it, and its axes."""
    along, down = corners[1] - corners[0], corners[3] - corners[0]
    size = float(np.linalg.norm(along)), float(np.linalg.norm(down))
    return size, _axes(corners.mean(axis=0), size, np.rad2deg(np.arctan2(along[1], along[0])))


def _inside(points: Floats, axes: tuple[Floats, Floats]) -> Floats:
    return np.asarray((points - axes[0]) @ axes[1].T, np.float64)


def _rects(points: Floats) -> Iterator[Rect]:
    """The smallest rectangle around points, and the one of the outermost long lines among them."""
    import cv2

    some = _some(points)
    yield cv2.minAreaRect(some.astype(np.float32))
    angles = np.deg2rad(np.arange(0, 90, 1.0))
    few = some[:: 1 + len(some) // _FEW_POINTS]
    across = few @ np.stack([np.cos(angles), np.sin(angles)])
    down = few @ np.stack([-np.sin(angles), np.cos(angles)])
    sharpness = _sharpness(across) + _sharpness(down)
    best = int(np.argmax(sharpness))
    sides = []
    turn = np.array([[np.cos(angles[best]), np.sin(angles[best])], [-np.sin(angles[best]), np.cos(angles[best])]])
    for each in (some @ turn.T).T:
        counts = _histogram(each)
        lines = np.flatnonzero(counts > 0.5 * counts.max())
        sides.append((2.0 * lines[0] + each.min(), 2.0 * lines[-1] + 2 + each.min()))
    (x0, x1), (y0, y1) = sides
    x, y = (np.array([x0 + x1, y0 + y1]) / 2 @ turn).tolist()
    yield (x, y), (float(x1 - x0), float(y1 - y0)), float(np.rad2deg(angles[best]))


def _sharpness(places: Floats) -> Floats:
    """Sums of squares of the histograms of columns."""
    bins = ((places - places.min(axis=0)) / 2).astype(np.int64)
    n_bins, n_columns = int(bins.max()) + 1, places.shape[1]
    counts = np.bincount((bins + np.arange(n_columns) * n_bins).ravel(), minlength=n_bins * n_columns)
    return np.square(counts.reshape(n_columns, n_bins).astype(np.float64)).sum(axis=1)


def _histogram(places: Floats) -> NDArray[np.int64]:
    return np.bincount(((places - places.min()) / 2).astype(np.int64))


def _frame(points: Floats, prints: Floats, hidden: Floats, rect: Rect, inks: _Inks) -> Floats | None:
    """Corners of a frame that is drawn on all four sides, with writing in it, see ``_ring``."""
    import cv2

    centre, size, degrees = rect
    half = np.array(size) / 2
    if half.min() < LEAST_SIDE / 2 or half.max() > 6 * half.min():
        return None
    axes = _axes(centre, size, degrees)
    inner, dark = _inside(points, axes), _inside(prints, axes)
    unseen = np.concatenate([dark, _inside(hidden, axes)])
    if np.mean((np.abs(inner) > 1 + 3 / half).any(axis=1)) > 0.15:
        return None
    near = np.minimum(0.2, np.maximum(4.0, 0.08 * half.min()) / half)
    for along in (0, 1):
        for side in (-1, 1):
            drawn, over = (
                np.bincount(
                    np.clip((each[:, along] + 1) * 20, 0, 39).astype(int)[
                        np.abs(each[:, 1 - along] - side) < near[1 - along]
                    ],
                    minlength=40,
                )
                > 0
                for each in (inner, unseen)
            )
            if drawn.mean() < 0.6 or (drawn | over).mean() < 0.8:
                return None
    writing = (np.abs(inner) < 1 - near).all(axis=1)
    share = np.count_nonzero(writing) / (4 * (half * (1 - near)).prod())
    if not 0.01 < share < 0.6:
        return None
    turned = abs((degrees - inks.degrees + 45) % 90 - 45) >= _TURNED
    if not turned and _n_lines(inner[(np.abs(inner) < 1 - 2 * near).all(axis=1)], half, near) > 3:
        return None
    if 4 * half.prod() > _LARGE * inks.hue.size or not (turned or _n_passing(dark, half) >= 2):
        return None
    return _in_order(cv2.boxPoints(rect).astype(np.float64))


def _n_passing(dark: Floats, half: Floats) -> int:
    """Places where print runs through a frame."""
    count = 0
    for along in (0, 1):
        places = ((dark[:, along] + 1) * half[along] / 2).astype(int)
        for side in (-1, 1):
            beyond = (dark[:, 1 - along] * side - 1) * half[1 - along]
            count += _runs(beyond, places, int(half[along]) + 1)
    return count


def _runs(beyond: Floats, places: NDArray[np.int64], n_places: int) -> int:
    """Places along a line where print lies on both sides of it, close to it.

    Args:
        beyond: ``(N,)`` how far in pixels print lies outside the line.
        places: ``(N,)`` where along the line.
        n_places: How many places there are.
    """
    seen = [
        np.bincount(places[(low < beyond) & (beyond < high) & (places >= 0) & (places < n_places)], minlength=n_places)
        for low, high in ((1, 6), (-8, -3))
    ]
    both = ((seen[0] > 0) & (seen[1] > 0)).astype(int)
    return int(np.count_nonzero(np.diff(both, prepend=0) == 1))


def _n_lines(inner: Floats, half: Floats, near: Floats) -> int:
    """Lines inside that run from side to side: a table has many."""
    count = 0
    for along in (0, 1):
        step = 2 / half[1 - along]
        across = np.floor((inner[:, 1 - along] + 1) / step).astype(int)
        places = np.clip((inner[:, along] + 1) * 20, 0, 39).astype(int)
        seen = np.zeros((across.max(initial=0) + 3, 40), bool)
        seen[across + 1, places] = True
        is_line = (seen[1:] | seen[:-1]).mean(axis=1) > 0.8 * (1 - 2 * near[along])
        count += int(np.count_nonzero(np.diff(is_line.astype(int)) == 1))
    return count


def _crossed(group: Mask, at: tuple[int, int], inks: _Inks) -> Floats | None:
    """Corners around strokes in all directions, over more than a line, that print runs through in many places."""
    import cv2

    points = (np.argwhere(group)[:, ::-1] + np.array(at, np.float64) + 0.5).astype(np.float32)
    hull = cv2.convexHull(points)
    rect = cv2.minAreaRect(hull)
    share = len(points) / max(1.0, cv2.contourArea(hull))
    large = rect[1][0] * rect[1][1] > _LARGE * inks.hue.size
    turned = abs((rect[2] - inks.degrees + 45) % 90 - 45) >= _TURNED
    # A line that is turned against the page is a stamp where print runs through it in fewer places.
    is_line = turned and max(rect[1]) > 2 * min(rect[1]) > LEAST_SIDE and share > 0.2
    if large or not (is_line or min(rect[1]) >= 1.5 * LEAST_SIDE) or not 0.05 < share < 0.6:
        return None
    if np.count_nonzero(_morph("open", group, _THICK)) > 0.3 * np.count_nonzero(group):
        return None
    printed = inks.printed[at[1] : at[1] + group.shape[0], at[0] : at[0] + group.shape[1]]
    within = np.zeros(group.shape, np.uint8)
    cv2.fillConvexPoly(within, np.round(hull - at).astype(np.int32), 1)
    if np.mean(printed[within > 0]) < _OVER:
        return None
    # The colours of a ground or of JPEG around print are no ink.
    if np.count_nonzero(group & _morph("dilate", printed, 5)) > 0.6 * np.count_nonzero(group):
        return None
    n_least, aslant = (_CROSSINGS_OF_LINE, _ASLANT_LINE) if is_line else (_CROSSINGS, _ASLANT)
    if _count(_crossings(group, printed)) < n_least or _aslant(group, inks.degrees) < aslant:
        return None
    return _in_order(cv2.boxPoints(rect).astype(np.float64))


def _aslant(strokes: Mask, degrees: float) -> float:
    """Share of the edges of strokes that are not in the directions of the page."""
    import cv2

    grey = cv2.copyMakeBorder(255 * strokes.astype(np.float32), 2, 2, 2, 2, cv2.BORDER_CONSTANT)
    smooth = cv2.GaussianBlur(grey, (5, 5), 1)
    x, y = cv2.Sobel(smooth, cv2.CV_32F, 1, 0), cv2.Sobel(smooth, cv2.CV_32F, 0, 1)
    strength, angle = cv2.cartToPolar(x, y, angleInDegrees=True)
    aside = np.abs((angle - degrees + 45) % 90 - 45) > _TURNED
    return float(strength[aside].sum() / max(1.0, float(strength.sum())))


def page_degrees(grey: NDArray[np.uint8]) -> float:
    """The direction of most edges, in degrees from 0 to 90."""
    import cv2

    x, y = cv2.Sobel(grey, cv2.CV_32F, 1, 0), cv2.Sobel(grey, cv2.CV_32F, 0, 1)
    strength = cv2.magnitude(x, y)
    strong = strength > 200
    degrees = np.rad2deg(np.arctan2(y[strong], x[strong])) % 90
    counts = np.bincount(np.round(2 * degrees).astype(int) % 180, strength[strong], 180)
    return float(np.argmax(sum(np.roll(counts, shift) for shift in (-1, 0, 1)))) / 2


def _in_order(corners: Floats) -> Floats:
    """TL, TR, BR, BL of a rectangle whose text runs along its longer sides, from left to right."""
    sides = np.linalg.norm(np.roll(corners, -1, axis=0) - corners, axis=1)
    first = int(sides[1] > 1.1 * sides[0])
    ordered = np.roll(corners, -first, axis=0)
    along = ordered[1] - ordered[0]
    is_steep = abs(along[1]) > abs(along[0])
    is_back = along[1] > 0 if is_steep else along[0] < 0
    ordered = np.roll(ordered, -2, axis=0) if is_back else ordered
    return np.asarray(ordered, np.float64)


def _share_place(shape: Shape, other: Shape) -> bool:
    """Whether the middle of one lies in the other."""
    low, high = other.corners.min(axis=0), other.corners.max(axis=0)
    middle = shape.corners.mean(axis=0)
    return bool((middle > low).all() and (middle < high).all())


def _lies_on_paper(shape: Shape, ink: Mask, inks: _Inks, image: Image) -> bool:
    """Whether the ground in a shape is that around it, and neither is the ink: else light print on a fill was seen."""
    inside, around = region(shape, ink.shape), region(shape, ink.shape, 1.25)
    bare = ~_morph("dilate", ink, 5)
    grounds, beside, strokes = (
        [np.median(image[mask], axis=0) if mask.any() else np.zeros(3) for mask in masks]
        for masks in (
            (inside & bare, inside & bare & ~inks.coloured & ~inks.printed),
            (around & ~inside,),
            (inside & ink,),
        )
    )
    contrast = np.linalg.norm(strokes[0] - beside[0])
    nearest = min(np.linalg.norm(ground - beside[0]) for ground in grounds)
    return bool(nearest < 0.5 * contrast and contrast > _LEAST_CONTRAST)


def region(shape: Shape, size_hw: tuple[int, ...], grown: float = 1.0) -> Mask:
    """``(height, width)`` the pixels inside a shape, ``grown`` times as large."""
    import cv2

    mask = np.zeros(size_hw[:2], np.uint8)
    centre = shape.corners.mean(axis=0)
    corners = (shape.corners - centre) * grown + centre
    if shape.is_round:
        along, down = corners[1] - corners[0], corners[3] - corners[0]
        size = float(np.linalg.norm(along)), float(np.linalg.norm(down))
        cv2.ellipse(mask, (tuple(centre.tolist()), size, float(np.rad2deg(np.arctan2(along[1], along[0])))), 1, -1)
    else:
        cv2.fillPoly(mask, [np.round(corners).astype(np.int32)], 1)
    return mask.view(bool)
