"""Ruling lines seen in a picture, and the cells that they enclose.

The stages, each a function::

    image -> tilt -> upright image -> line segments -> lattice of lines -> walls -> cells

A ruling is a thin dark stroke, a thin light stroke, or the straight border of
a filled area. All sizes are fractions of the text height.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import cv2
import numpy as np
import shapely
from numpy.typing import ArrayLike, NDArray

from postprocess.arrays import Flags, Floats, Gray, Ints
from postprocess.geometry.boxes import (
    as_boxes,
    as_quads,
    boxes_to_quads,
    quads_to_boxes,
    quantile,
    rotate_points,
    word_height,
)
from postprocess.geometry.frame import StraightFrame
from postprocess.geometry.runs import Runs, mask_to_runs, run_ends

# Lengths are fractions of the text height.
_CONTRAST = 12
"""Least difference of a line from its ground, in grey levels of 255."""
_SEAM = np.clip(0.4 * (255.0 - np.arange(256)) - _CONTRAST, 0, 26).astype(np.uint8)
"""Where two fills meet, white shines through: how much more contrast a light line on a ground must have than others."""
_LENGTH = 1.15
"""Shortest stroke that counts as a piece of a ruling."""
_FILL_LENGTH = 4.0
"""Shortest straight border of a filled area, and shortest dashed line."""
_THICKNESS = 0.2
"""Thickest stroke that is a line and not a filled area."""
_DRAWN = 0.8
"""Share of a stroke that must be drawn; the rest are gaps at crossings."""
_DASH_GAP = 0.65
"""Widest gap between the dashes of a line."""
_DOT_GAP = 0.2
"""Widest gap between the dots of a line; the dots of a leader in text are farther apart."""
_DASHED = 0.3
"""Share of a dashed line that must be drawn."""
_GAPS = 0.3
"""Share of a line that is blank from which it is dashed."""
_IN_GAPS = 0.1
"""Share of a dashed line's way between words that is drawn, at least."""
_BESIDE, _INK_BESIDE = 0.35, 0.15
"""How far the ground along a dashed line reaches, and the share of it that may hold ink."""
_BESIDE_EVEN, _INK_BESIDE_EVEN = 0.2, 0.2
"""The same where the dashes are more alike than strokes of letters; low rows have as much ink in crossing lines."""
_BESIDE_WORD = 0.15
"""A ruling goes on this far beyond both ends of a word that it crosses."""
_BLANK = 0.5
"""Where a ruling stands out less than this share of what it does elsewhere, it is not drawn."""
_INSET = 0.5
"""Fills end this near the rulings that frame them, with a margin of the page between."""
_STACKED = 3
"""A stroke through so many words above each other is no letter's; two ones may stand above each other."""
_MET, _BEYOND = 3, (0.5, 2.0)
"""A line past so many others, so far on one side and on the other, in text heights, ends at none of them."""
_TOUCH = 0.1
"""A ruling ends at another one this near."""
_TILT = 20.0
"""Largest tilt of the picture that is corrected, in degrees."""
_LEAST_TILT, _LEAST_PERSPECTIVE = 0.1, 0.35
"""Smallest ones that are corrected: the tilt, and what the angle of lines changes between two sides, in degrees."""
_TALLEST = 120.0
"""Text height in pixels from which a picture is made smaller before lines are looked for: they are as clear then."""
_MOST_PIXELS = 40e6
"""Larger pictures are made smaller too, as masks of noise take a hundred bytes a pixel."""
_HATS = (cv2.MORPH_BLACKHAT, cv2.MORPH_TOPHAT)
"""Dark and light strokes."""


TiltAndPerspective = tuple[float, Floats | None]
"""``degrees`` and ``perspective`` of ``Rulings``."""


@dataclass(frozen=True, slots=True)
class Rulings:
    """Line segments in the upright frame of a picture.

    Args:
        horizontal: ``(N, 4)`` boxes of the horizontal segments.
        vertical: ``(M, 4)`` boxes of the vertical segments.
        degrees: Tilt of the picture; ``to_picture`` turns upright points back by it.
        center: Point in pixels that the turn leaves in place.
        text_height: Text height that the tolerances refer to, pixels.
        perspective: ``(3, 3)`` homography that makes the turned picture rectangular, None where it is.
    """

    horizontal: Floats
    vertical: Floats
    degrees: float
    center: tuple[float, float]
    text_height: float
    perspective: Floats | None = None

    def scaled(self, factor: float) -> Rulings:
        """The same lines in a picture so many times as large.

        >>> Rulings(as_boxes([[0, 4, 9, 5]]), as_boxes([]), 0.0, (5.0, 5.0), 10.0).scaled(2).horizontal.tolist()
        [[0.0, 8.0, 18.0, 10.0]]
        """
        x, y = self.center
        _, perspective = _scaled((self.degrees, self.perspective), factor)
        return Rulings(
            self.horizontal * factor,
            self.vertical * factor,
            self.degrees,
            (x * factor, y * factor),
            self.text_height * factor,
            perspective,
        )

    def to_picture(self, points: Floats) -> Floats:
        """Turn ``(..., 2)`` points of the upright frame into pixels of the picture."""
        flat = points if self.perspective is None else project(points, np.asarray(np.linalg.inv(self.perspective)))
        return rotate_points(flat, self.degrees, self.center)

    def to_upright(self, points: Floats) -> Floats:
        """Turn ``(..., 2)`` pixels of the picture into the upright frame."""
        turned = rotate_points(points, -self.degrees, self.center)
        return turned if self.perspective is None else project(np.asarray(turned), self.perspective)

    def to_frame(self, boxes_xyxy: Floats, frame: StraightFrame) -> Floats:
        """``(N, 4)`` boxes of the upright frame in that of a grid."""
        return quads_to_boxes(frame.to_upright(self.to_picture(boxes_to_quads(boxes_xyxy))))


def _scaled(seen: TiltAndPerspective, factor: float) -> TiltAndPerspective:
    degrees, perspective = seen
    grown = np.diag([factor, factor, 1.0])
    return degrees, None if perspective is None else grown @ perspective @ np.linalg.inv(grown)


def image_to_rulings(
    image: NDArray[np.uint8], word_quads: ArrayLike | None = None, of_text: TiltAndPerspective = (0.0, None)
) -> Rulings:
    """Find the ruling lines of a picture.

    Args:
        image: ``(height, width, 3)`` or ``(height, width)`` uint8.
        word_quads: ``(W, 4, 2)`` words in pixels, where an OCR engine was there: their
            height sets the scale, and strokes of letters are not taken for lines.
        of_text: Degrees and ``perspective`` by the lines of text, around the middle of the picture; taken
            where it has no long lines.

    Returns:
        Segments in the upright frame.

    >>> page = np.full((60, 80), 255, np.uint8)
    >>> page[20:22, 5:75] = 0
    >>> image_to_rulings(page).horizontal.tolist()
    [[5.0, 20.0, 75.0, 22.0]]
    """
    if min(image.shape[:2]) < 4:
        return Rulings(as_boxes([]), as_boxes([]), 0.0, (0.0, 0.0), 1.0)
    gray = image if image.ndim == 2 else _to_gray(image)
    words = as_quads([] if word_quads is None else word_quads)
    scale = (_MOST_PIXELS / gray.size) ** 0.5
    if scale < 0.99:  # not for the rounding of its sides
        return image_to_rulings(_resized(gray, scale), words * scale, _scaled(of_text, scale)).scaled(1 / scale)
    letters = estimate_text_height(gray)
    height = float(np.clip(word_height(words) if len(words) else letters, 1.0, min(gray.shape)))
    if height > _TALLEST:
        scale = _TALLEST / 2 / height
        return image_to_rulings(_resized(gray, scale), words * scale, _scaled(of_text, scale)).scaled(1 / scale)
    center = (gray.shape[1] / 2, gray.shape[0] / 2)
    # An OCR engine's boxes are higher than letters: by them, the lines between two columns would be too short to count.
    degrees, perspective = _tilt_and_perspective(gray, center, min(height, letters), of_text)
    frame = Rulings(as_boxes([]), as_boxes([]), degrees, center, height, perspective)
    upright = _straighten(gray, frame)
    words_xyxy = quads_to_boxes(frame.to_upright(words))
    turned = [1, 0, 3, 2]
    words_of = words_xyxy, words_xyxy[:, turned]
    thickness = max(int(_THICKNESS * height), 3)
    length = max(int(_LENGTH * min(height, letters)), 5)
    thick = [_thin(upright, (thickness, thickness), hat) for hat in _HATS]
    sizes = thickness, height, length
    horizontal = _horizontal_segments(upright, thick, *sizes, words_of[0])
    vertical = _horizontal_segments(_transposed(upright), [_transposed(mask) for mask in thick], *sizes, words_of[1])
    horizontal = _without_letters(horizontal, words_of[0])
    vertical = _without_letters(vertical, words_of[1], horizontal[:, turned])
    vertical = _without_streaks(vertical, horizontal[:, turned], upright.shape[0], height)[:, turned]
    return replace(frame, horizontal=horizontal, vertical=vertical)


def _to_gray(image: NDArray[np.uint8]) -> Gray:
    """One channel in which colours stand out from the ground, and ink of any colour from fills.

    A pale colour is as far from the ground as its farthest channel, so that pale lines are seen. For a saturated one
    that channel is as far as ink, so it moves half the way to the mean of the nearest channel and the luminance.
    """
    is_light = 2 * np.count_nonzero(image > 127) >= image.size
    toward_white = image if is_light else cv2.bitwise_not(image)
    blue, green, red = cv2.split(toward_white)
    farthest = cv2.min(cv2.min(blue, green), red)
    nearest = cv2.max(cv2.max(blue, green), red)
    luminance = cv2.cvtColor(toward_white, cv2.COLOR_BGR2GRAY)
    colour = cv2.subtract(cv2.addWeighted(nearest, 0.5, luminance, 0.5, 0), farthest)
    gray = cv2.add(farthest, cv2.multiply(colour, cv2.bitwise_not(farthest), scale=0.5 / 255))
    return np.asarray(gray if is_light else cv2.bitwise_not(gray), np.uint8)


def _resized(gray: Gray, scale: float) -> Gray:
    """The picture made smaller, at least one pixel wide and high."""
    size = [max(round(scale * side), 1) for side in gray.shape[::-1]]
    return np.asarray(cv2.resize(gray, size, interpolation=cv2.INTER_AREA), np.uint8)


def estimate_text_height(gray: Gray) -> float:
    """Typical height of letters in pixels, from the connected strokes of a grey picture.

    Falls back to a 40th of the shorter side where there is no text.
    """
    fallback = max(min(gray.shape) / 40, 10.0)
    size = 31
    ground = cv2.blur(gray, (size, size))
    darker = cv2.subtract(ground, gray) if cv2.mean(gray)[0] > 127 else cv2.subtract(gray, ground)
    ink = (darker > 40).astype(np.uint8)
    _, _, stats, _ = cv2.connectedComponentsWithStats(ink, connectivity=8)
    width, height = stats[1:, cv2.CC_STAT_WIDTH], stats[1:, cv2.CC_STAT_HEIGHT]
    letters = (height >= 5) & (width >= 2) & (width < 4 * height) & (height < 4 * width) & (height < size * 3)
    return float(quantile(height[letters], 0.7)) * 1.3 if letters.sum() >= 3 else fallback


def _tilt_and_perspective(
    gray: Gray, center: tuple[float, float], text_height: float, of_text: TiltAndPerspective
) -> TiltAndPerspective:
    """Tilt in degrees, clockwise, and homography of the turned picture; 0 and None where the picture is upright.

    A small copy tells most upright pictures. Where there are no lines, those of the text count.
    """
    for longest_side, least in ((600, 0.5), (1200, 1.0)):
        lines = _long_lines(gray, text_height, longest_side)
        if not len(lines):
            return of_text
        tilt = _lines_to_tilt(lines)
        degrees = tilt if abs(tilt) > least * _LEAST_TILT else 0.0
        turned = rotate_points(lines, -degrees, center)
        perspective = _lines_to_perspective(turned, gray.shape, least * _LEAST_PERSPECTIVE)
        if not degrees and perspective is None:
            break
    return degrees, perspective


def _long_lines(gray: Gray, text_height: float, longest_side: int) -> Floats:
    """``(N, 2, 2)`` ends of the straight lines that are longer than letters.

    Uses the line segment detector of OpenCV (von Gioi et al., LSD, IPOL 2012) on a reduced picture.
    """
    scale = min(1.0, longest_side / max(gray.shape))
    small = _resized(gray, scale) if scale < 1 else gray
    found = cv2.createLineSegmentDetector(cv2.LSD_REFINE_NONE).detect(small)[0] if min(small.shape) >= 8 else None
    lines = as_boxes([] if found is None else found).reshape(-1, 2, 2) / scale
    long: Floats = lines[np.linalg.norm(lines[:, 1] - lines[:, 0], axis=1) > 4 * text_height]
    return long


def _angles(lines: Floats) -> tuple[Floats, Floats]:
    """Length, and angle in degrees from -45 to 135."""
    along = lines[:, 1] - lines[:, 0]
    angle = (np.degrees(np.arctan2(along[:, 1], along[:, 0])) + 45) % 180 - 45
    return np.linalg.norm(along, axis=1), angle


def _lines_to_tilt(lines: Floats) -> float:
    """Tilt of lines in degrees, clockwise: the mode of their angles, weighted by length; 0 where there are none."""
    length, angle = _angles(lines)
    angle = (angle + 45) % 90 - 45
    near = np.abs(angle) <= _TILT
    if not near.any():
        return 0.0
    angle, length = angle[near], length[near]
    votes, edges = np.histogram(angle, bins=np.arange(-_TILT - 0.25, _TILT + 0.5, 0.5), weights=length**2)
    mode = edges[int(votes.argmax())] + 0.25
    near = np.abs(angle - mode) < 0.75
    return float(np.average(angle[near], weights=length[near] ** 2))


def _lines_to_perspective(lines: Floats, shape: tuple[int, ...], least: float) -> Floats | None:
    """Homography that makes rows and columns perpendicular and parallel; None where they are but for ``least`` degrees.

    In a photograph the angle of the rows changes from top to bottom and that of
    the columns from left to right, nearly in proportion. The lines so found at
    the four sides of the picture become its sides.
    """
    length, angle = _angles(lines)
    middle = lines.mean(axis=1) / np.array(shape[1::-1]) - 0.5
    rows = _fit_angle(middle[:, 1], angle, length, _TILT / 2)
    columns = _fit_angle(middle[:, 0], angle - 90, length, _TILT / 2)
    if max(np.abs([*rows, *columns])) < least:
        return None
    height, width = shape[:2]
    sides = []
    for side in (-0.5, 0.5):
        sides.append(_line((width / 2, (side + 0.5) * height), rows[0] + rows[1] * side))
        sides.append(_line(((side + 0.5) * width, height / 2), columns[0] + columns[1] * side + 90))
    top, left, bottom, right = sides
    corners = np.array([np.cross(a, b) for a, b in ((top, left), (top, right), (bottom, right), (bottom, left))])
    flat = np.array([[0, 0], [width, 0], [width, height], [0, height]], np.float32)
    return np.asarray(cv2.getPerspectiveTransform((corners[:, :2] / corners[:, 2:]).astype(np.float32), flat))


def _fit_angle(position: Floats, angle: Floats, length: Floats, most: float) -> tuple[float, float]:
    """Angle in the middle of the picture and its change from side to side, degrees; zeros where lines disagree."""
    near = np.abs(angle) < most
    for _ in range(3):
        if near.sum() < 4 or position[near].std() < 0.12:
            return 0.0, 0.0
        change, start = np.polyfit(position[near], angle[near], 1, w=length[near])
        near = np.abs(angle - start - change * position) < 1.0
    share = length[near].sum() / length[np.abs(angle) < most].sum()
    return (float(start), float(change)) if share > 0.7 and abs(change) < 2 * most else (0.0, 0.0)


def _line(point: tuple[float, float], degrees: float) -> Floats:
    """Homogeneous line through a point."""
    x, y = np.cos(np.radians(degrees)), np.sin(np.radians(degrees))
    return np.array([-y, x, y * point[0] - x * point[1]])


def project(points: Floats, homography: Floats) -> Floats:
    """``(..., 2)`` points where a ``(3, 3)`` homography takes them.

    >>> project(np.array([[2.0, 4.0]]), np.diag([1.0, 1.0, 2.0])).tolist()
    [[1.0, 2.0]]
    """
    mapped = points @ homography[:, :2].T + homography[:, 2]
    flat: Floats = mapped[..., :2] / mapped[..., 2:]
    return flat


def _straighten(gray: Gray, frame: Rulings) -> Gray:
    """The picture in the upright frame."""
    if not frame.degrees and frame.perspective is None:
        return gray
    matrix = np.vstack([cv2.getRotationMatrix2D(frame.center, frame.degrees, 1.0), [0, 0, 1]])
    if frame.perspective is not None:
        matrix = frame.perspective @ matrix
    size = gray.shape[::-1]
    upright = cv2.warpPerspective(gray, matrix, size, flags=cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE)
    return np.asarray(upright, np.uint8)


def _horizontal_segments(
    gray: Gray, thick: Sequence[Gray], thickness: int, text_height: float, length: int, words_xyxy: Floats
) -> Floats:
    """Boxes of the horizontal rulings of an upright grey picture.

    Args:
        gray: ``(height, width)`` uint8.
        thick: Masks of the dark and of the light strokes that are thin in any direction.
        thickness: Of the thickest line, pixels.
        text_height: Pixels.
        length: Of the shortest line, pixels.
        words_xyxy: ``(W, 4)`` words, whose letters are no rulings.
    """
    min_fill = max(int(_FILL_LENGTH * text_height), 8)
    dash_gap = max(int(_DASH_GAP * text_height), thickness + 2)
    lines = []
    for hat, strokes in zip(_HATS, thick, strict=True):
        contrast = _contrast(gray, (thickness, 1), hat)
        stroke = _is_stroke(gray, contrast, hat)
        whole = inked = drawn = mask_to_runs(stroke)
        # Vertical lines: where they cross a horizontal one it does not look thin, but goes on.
        crossing = cv2.morphologyEx(strokes, cv2.MORPH_OPEN, _kernel(length, 1))
        if cv2.countNonZero(crossing):
            closed = cv2.morphologyEx(stroke, cv2.MORPH_CLOSE, _kernel(1, thickness + 2))
            passed = cv2.bitwise_and(closed, cv2.dilate(crossing, _kernel(1, 3)))
            whole, inked = (mask_to_runs(cv2.bitwise_or(stroke, more)) for more in (passed, crossing))
        solid = _flat_boxes(whole, inked, thickness + 2, length, thickness, _DRAWN)
        dashed = _flat_boxes(drawn, drawn, dash_gap, min_fill, thickness, _DASHED)
        dashed = as_boxes([box for box in dashed if _is_regular(contrast, box, text_height)])
        dashed = _without_leaders(_standing_alone(dashed, contrast, gray, hat, text_height), words_xyxy)
        dashed = _without_stems(dashed, contrast, words_xyxy)
        found = np.vstack([solid, _parted_at_gaps(dashed, solid, thickness + 2, dash_gap)])
        lines.append(_parted_at_letters(found, np.maximum(contrast, crossing), words_xyxy))
    found = np.vstack(lines)
    borders = [_flat_boxes(runs, runs, thickness + 2, min_fill, thickness, _DRAWN) for runs in _fill_borders(gray)]
    return np.vstack([found, _without_sides(np.vstack(borders), found, max(thickness + 3, _INSET * text_height))])


def _transposed(gray: Gray) -> Gray:
    return np.asarray(cv2.transpose(gray), np.uint8)


def _kernel(height: int, width: int) -> Gray:
    return np.ones((height, width), np.uint8)


def _parted_at_gaps(dashed: Floats, solid: Floats, reach: float, dash_gap: float) -> Floats:
    """Part dashed lines where the solid ones that they consist of end for longer than a gap between dashes.

    A solid line looks dashed where others cross it, and a letter's stem in its gap would join its ends.
    """
    middle = (dashed[:, 1] + dashed[:, 3]) / 2
    beside = (middle[:, None] > solid[:, 1] - reach) & (middle[:, None] < solid[:, 3] + reach)
    parts = []
    for (x0, y0, x1, y1), near in zip(dashed.tolist(), beside, strict=True):
        pieces = [(max(a, x0), min(b, x1)) for a, b in sorted(solid[near][:, [0, 2]].tolist()) if a < x1 and b > x0]
        start = x0
        if sum(b - a for a, b in pieces) > (x1 - x0) / 2:
            for (_, end), (begin, _) in pairwise(pieces):
                if begin - end > dash_gap:
                    parts.append([start, y0, end, y1])
                    start = begin
        parts.append([start, y0, x1, y1])
    return as_boxes(parts)


def _parted_at_letters(segments: Floats, contrast: Gray, words_xyxy: Floats) -> Floats:
    """Part segments where nothing but strokes of a word, with blanks at both ends, joins them or makes them longer.

    Args:
        segments: ``(N, 4)`` boxes of horizontal lines.
        contrast: ``(height, width)`` of the strokes that they consist of.
        words_xyxy: ``(W, 4)`` words.
    """
    if not len(segments) or not len(words_xyxy):
        return segments
    width, height = (words_xyxy[:, 2:] - words_xyxy[:, :2]).T
    letter = np.minimum(width, height)
    rim = np.where(width > height, 0.2, 0.02) * letter  # a line at the rim of a word underlines it
    inside = words_xyxy + np.column_stack([0 * rim, rim, 0 * rim, -rim])
    cuts: dict[int, list[tuple[float, float]]] = {}
    for index, word in zip(*(each.tolist() for each in _meeting(segments, inside)), strict=True):
        x0, y0, x1, y1 = segments[index].astype(int).tolist()
        margin = max(round(_BESIDE_WORD * letter[word]), 1)
        low, high = int(words_xyxy[word, 0]) - margin, int(words_xyxy[word, 2]) + margin
        line = contrast[y0:y1, x0:x1].max(axis=0)
        drawn = line[line > _CONTRAST]
        is_blank = line < _BLANK * float(quantile(drawn, 0.5)) if len(drawn) else np.ones(len(line), np.bool_)
        if is_blank.mean() > _GAPS:
            continue  # a dashed line has blanks everywhere
        blanks = np.flatnonzero(is_blank[max(low - x0, 0) : high - x0]) + max(low, x0)
        ends = [*([x0] if x0 > low else []), *blanks.tolist(), *([x1] if x1 < high else [])]
        if len(blanks) and len(ends) > 1:
            cuts.setdefault(index, []).append((ends[0], ends[-1] + 1))
    parts = np.delete(segments, list(cuts), axis=0).tolist()
    for index, gaps in cuts.items():
        start, y0, end, y1 = segments[index].tolist()
        for low, high in [*sorted(gaps), (end, end)]:
            if low > start:
                parts.append([start, y0, low, y1])
            start = max(start, high)
    return as_boxes(parts)


def _without_sides(fills: Floats, lines: Floats, reach: float) -> Floats:
    """Drop fill borders that are no more than the side of a line already found, or leave a margin along it."""
    if not len(fills) or not len(lines):
        return fills
    grown = lines + np.array([0, -reach, 0, reach])
    fill, line = _meeting(fills, grown)
    kept: Floats = fills[_shared(fills, fill, grown[line]) < 0.9 * (fills[:, 2] - fills[:, 0])]
    return kept


def _meeting(segments: Floats, boxes: Floats) -> tuple[Ints, Ints]:
    """Pairs of a segment whose middle line meets a box and this box."""
    middle = (segments[:, 1] + segments[:, 3]) / 2
    lines = shapely.box(segments[:, 0], middle, segments[:, 2], middle)
    first, second = shapely.STRtree(shapely.box(*boxes.T)).query(lines)
    return first, second


def _shared(segments: Floats, index: Ints, boxes: Floats) -> Floats:
    """``(N,)`` length of each segment within the boxes that it is paired with by ``index``."""
    return np.bincount(index, _lengths_within(segments[index], boxes), len(segments)).astype(np.float64)


def _lengths_within(segments: Floats, boxes: Floats) -> Floats:
    """``(N,)`` length of each segment within the box of the same number."""
    middle = (segments[:, 1] + segments[:, 3]) / 2
    shared = np.minimum(segments[:, 2], boxes[:, 2]) - np.maximum(segments[:, 0], boxes[:, 0])
    return np.asarray(shared * ((middle > boxes[:, 1]) & (middle < boxes[:, 3]) & (shared > 0)))


def _thin(gray: Gray, size: tuple[int, int], hat: int) -> Gray:
    """Mask, 0 and 255, of strokes that are at most ``size`` (height, width) pixels thick in one of the directions."""
    return _is_stroke(gray, _contrast(gray, size, hat), hat)


def _contrast(gray: Gray, size: tuple[int, int], hat: int) -> Gray:
    """How far what is at most ``size`` (height, width) pixels thick in one of the directions is from its ground."""
    height, width = (side + 1 + side % 2 if side > 1 else 1 for side in size)
    # With its border repeated, a dark edge of the picture, where another line was cut, does not look thin.
    padded = cv2.copyMakeBorder(gray, height, height, width, width, cv2.BORDER_REPLICATE)
    return np.asarray(cv2.morphologyEx(padded, hat, _kernel(height, width))[height:-height, width:-width], np.uint8)


def _is_stroke(gray: Gray, contrast: Gray, hat: int) -> Gray:
    """Mask, 0 and 255, of what is far enough from its ground, and if it is lighter, from the seam of two fills."""
    if hat == cv2.MORPH_TOPHAT:
        contrast = np.asarray(cv2.subtract(contrast, cv2.LUT(cv2.subtract(gray, contrast), _SEAM)), np.uint8)
    return np.asarray(cv2.threshold(contrast, _CONTRAST, 255, cv2.THRESH_BINARY)[1], np.uint8)


def _is_regular(contrast: Gray, box: Floats, text_height: float) -> bool:
    """Whether a run is made of dashes of one length with gaps of one length, closer than the dots of leaders."""
    dashes, gaps = _dashes_and_gaps(contrast, box)
    if len(gaps) < 4:
        return False
    # Dashes that meet a crossing line are longer, and in low rows these are many: the middle half must agree.
    quarters = (sizes[[(len(sizes) + 2) // 4, -1 - (len(sizes) + 2) // 4]] for sizes in (dashes, gaps))
    (low, high), (short, long) = quarters
    is_close = short + long <= 2 * max(_DOT_GAP * text_height, 0.9 * (low + high))
    return bool(is_close and max(high - low, long - short) <= 0.15 * (low + high + short + long) + 1)


def _is_even(contrast: Gray, box: Floats) -> bool:
    """Whether the gaps of a regular run are alike, and no dashes shorter than most, but for an eighth at either end."""
    dashes, gaps = _dashes_and_gaps(contrast, box)
    low, high = dashes[[(len(dashes) + 4) // 8, len(dashes) // 2]]
    short, long = gaps[[(len(gaps) + 4) // 8, -1 - (len(gaps) + 4) // 8]]
    return bool(max(high - low, long - short) <= 0.15 * (low + high + short + long) + 1)


def _dashes_and_gaps(contrast: Gray, box: Floats) -> tuple[Ints, Ints]:
    """Lengths of the dashes of a run, and of the gaps between them, from the shortest to the longest."""
    x0, y0, x1, y1 = box.astype(int)
    line = contrast[y0:y1, x0:x1].max(axis=0)
    ends = run_ends(line > _BLANK * line.max())
    return np.sort(ends[1::2] - ends[::2]), np.sort(ends[2::2] - ends[1:-1:2])


def _standing_alone(boxes: Floats, contrast: Gray, gray: Gray, hat: int, text_height: float) -> Floats:
    """Drop runs with ink close above or below: strokes of letters in a row look like dashes."""
    if not len(boxes):
        return boxes
    side = max(int(text_height), 3)
    inked = _thin(gray, (side, side), hat)
    is_even = np.array([_is_even(contrast, box) for box in boxes])
    reach = np.maximum(np.where(is_even, _BESIDE_EVEN, _BESIDE) * text_height, 2).astype(int)
    beside = []
    for (x0, y0, x1, y1), away in zip(boxes.astype(int).tolist(), reach.tolist(), strict=True):
        strips = inked[max(y0 - 1 - away, 0) : max(y0 - 1, 0), x0:x1], inked[y1 + 1 : y1 + 1 + away, x0:x1]
        beside.append(max(cv2.countNonZero(strip) / strip.size if strip.size else 0.0 for strip in strips))
    kept: Floats = boxes[np.array(beside) < np.where(is_even, _INK_BESIDE_EVEN, _INK_BESIDE)]
    return kept


def _without_leaders(dashed: Floats, words_xyxy: Floats) -> Floats:
    """Drop dotted lines that go on where a word ends, at the foot of its letters."""
    width, height = (words_xyxy[:, 2:] - words_xyxy[:, :2]).T
    words, letter = words_xyxy[width > height], height[width > height]
    if not len(dashed) or 2 * len(words) < max(len(words_xyxy), 1):  # the text runs the other way
        return dashed
    # The dots stand on the base line, which is a little above the end of the box.
    feet = words + np.column_stack([0 * letter, 0.55 * letter, 1.5 * letter, -0.1 * letter])
    return np.delete(dashed, _meeting(dashed, feet)[0], axis=0)


def _without_stems(dashed: Floats, contrast: Gray, words_xyxy: Floats) -> Floats:
    """Drop dashed lines that are blank wherever they are in no word: the stems of letters above each other."""
    segment, word = _meeting(dashed, words_xyxy)
    stems = []
    for index in np.unique(segment).tolist():
        x0, y0, x1, y1 = dashed[index].astype(int).tolist()
        line = contrast[y0:y1, x0:x1].max(axis=0)
        outside = np.ones(len(line), np.bool_)
        for low, high in words_xyxy[word[segment == index]][:, [0, 2]].round().astype(int).tolist():
            outside[max(low - x0, 0) : max(high - x0, 0)] = False
        if outside.any() and (line > _BLANK * line.max())[outside].mean() < _IN_GAPS:
            stems.append(index)
    return np.delete(dashed, stems, axis=0)


def _flat_boxes(mask: Runs, drawn: Runs, bridge: int, length: int, thickness: int, min_drawn: float) -> Floats:
    """Boxes of the flat parts of a mask of at least ``length``; gaps up to ``bridge`` count as part of a run.

    Letters in a row make such parts too, but their stems interrupt them, so a
    part counts only when most of it is drawn.
    """
    runs = mask.closed(bridge).opened(length)
    part = runs.part()
    order = np.argsort(part, kind="stable")
    first = np.flatnonzero(np.diff(part[order], prepend=-1))
    if not len(first):
        return as_boxes([])
    x0, y0 = (np.minimum.reduceat(values[order], first) for values in (runs.start, runs.row))
    x1, y1 = (np.maximum.reduceat(values[order], first) for values in (runs.end, runs.row + 1))
    area, inked = np.bincount(part, runs.end - runs.start), np.bincount(part, runs.count(drawn))
    # A slightly bent line is taller than it is thick, so judge the mean thickness.
    flat = (area <= (thickness + 1) * (x1 - x0)) & (y1 - y0 <= np.maximum((x1 - x0) / 4, thickness + 1))
    return as_boxes(np.column_stack([x0, y0, x1, y1])[flat & (inked / area >= min_drawn)])


def _fill_borders(gray: Gray) -> list[Runs]:
    """Pixels at the border to a darker area below, and to a brighter one."""
    above, below = gray[:-3], gray[3:]
    borders = []
    for step in (cv2.subtract(below, above), cv2.subtract(above, below)):
        # The side of a line one pixel thick is a step of one pixel, a blurred border begins and ends with small steps.
        is_step = cv2.morphologyEx((step > _CONTRAST).view(np.uint8), cv2.MORPH_OPEN, _kernel(2, 1))
        is_steep = step >= cv2.convertScaleAbs(cv2.dilate(step, _kernel(3, 1)), alpha=0.5)
        runs = mask_to_runs(np.asarray(is_step, np.bool_) & is_steep)
        borders.append(replace(runs, row=runs.row + 1))
    return borders


def _without_letters(segments: Floats, words_xyxy: Floats, lines: Floats | None = None) -> Floats:
    """Drop horizontal segments that run through the middle of words and nowhere else.

    Args:
        segments: ``(N, 4)`` boxes.
        words_xyxy: ``(W, 4)`` words.
        lines: ``(M, 4)`` boxes of the segments that run across these and along the words, None where these do. A
            stroke that crosses several words, or goes from one such line to the next one, is no letter's.
    """
    if not len(segments) or not len(words_xyxy):
        return segments
    letter = (words_xyxy[:, 2:] - words_xyxy[:, :2]).min(axis=1)[:, None]
    segment, word = _meeting(segments, words_xyxy + letter * np.array([-0.15, -0.05, 0.15, 0.05]))
    # A long line at the rim of a word underlines it, a short one is the foot of a letter.
    length = segments[:, 2] - segments[:, 0]
    rim = np.where(length[segment] > 2 * letter[word, 0], 0.08, -0.05)
    boxes = words_xyxy[word] + letter[word] * np.column_stack([[-0.15] * len(rim), rim, [0.15] * len(rim), -rim])
    if lines is None:
        return np.asarray(segments[_shared(segments, segment, boxes) < 0.8 * length], np.float64)
    within = _shared(segments, segment, boxes) >= 0.8 * length
    places = np.unique(np.column_stack([segment, words_xyxy[word, 0]]), axis=0)[:, 0].astype(np.int64)
    within &= np.bincount(places, minlength=len(segments)) < _STACKED
    within[within] = ~_joins(segments[within], lines, max(_TOUCH * float(np.median(letter)), 1.0))
    return np.asarray(segments[~within], np.float64)


def _without_streaks(segments: Floats, across: Floats, length: int, text_height: float) -> Floats:
    """Drop lines from one edge of the picture to the other, past all that they meet: streaks of a scanner, and folds.

    Lines of a table end at its frame; where as many do not, the picture is cut out of a larger one.

    Args:
        segments: ``(N, 4)`` boxes of horizontal lines.
        across: ``(M, 4)`` boxes of vertical ones.
        length: From edge to edge, pixels.
        text_height: Pixels.
    """
    middle, places = (segments[:, 1] + segments[:, 3]) / 2, (across[:, 0] + across[:, 2]) / 2
    order = np.argsort(middle, kind="stable")
    lines = np.split(order, np.flatnonzero(np.diff(middle[order]) > _TOUCH * text_height) + 1) if len(order) else []
    streaks = []
    for own in lines:
        start, end, y = segments[own, 0].min(), segments[own, 2].max(), middle[own[0]]
        met = places[(across[:, 1] < y + text_height) & (across[:, 3] > y - text_height)]
        if max(start, length - end) < text_height and len(met) > _MET:
            near, far = sorted((met.min() - start, end - met.max()))
            if near > _BEYOND[0] * text_height and far > _BEYOND[1] * text_height:
                streaks.append(own)
    if not streaks or 2 * len(streaks) >= len(lines):
        return segments
    return np.delete(segments, np.concatenate(streaks), axis=0)


def _joins(segments: Floats, across: Floats, near: float) -> Flags:
    """``(N,)`` whether horizontal segments go from one vertical segment to another one, both as near as that."""
    middle = (segments[:, 1] + segments[:, 3]) / 2
    touched = np.zeros((2, len(segments)), bool)
    if len(across):
        tree = shapely.STRtree(shapely.box(*(across + np.array([-near, 0, near, 0])).T))
        for end, x in zip(touched, (segments[:, 0], segments[:, 2]), strict=True):
            end[tree.query(shapely.points(x, middle))[0]] = True
    return np.asarray(touched.all(axis=0))
