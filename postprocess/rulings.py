"""Ruling lines seen in a picture, and the cells that they enclose.

The stages, each a function::

    image -> tilt -> upright image -> line segments -> lattice of lines -> walls -> cells

A ruling is a thin dark stroke, a thin light stroke, or the straight border of
a filled area. All sizes are fractions of the text height.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise

import cv2
import numpy as np
from numpy.typing import ArrayLike, NDArray

from postprocess.boxes import Floats, as_boxes, as_quads, quads_to_boxes, rotate_points, word_height

Gray = NDArray[np.uint8]
Mask = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class RulingSettings:
    """Tolerances of the search for rulings; lengths are fractions of the text height.

    Args:
        min_contrast: Least difference of a line from its ground, in grey levels of 255.
        min_length: Shortest stroke that counts as a piece of a ruling.
        min_fill_length: Shortest straight border of a filled area.
        max_thickness: Thickest stroke that is a line and not a filled area.
        merge_distance: Parallel lines closer than this are one line.
        min_coverage: Share of a cell border that must be drawn to be a wall, 0 to 1.
        min_drawn: Share of a stroke that must be drawn; the rest are gaps at crossings, 0 to 1.
        dash_gap: Widest gap between the dashes of a line.
        min_dashed: Share of a dashed line that must be drawn, 0 to 1.
        max_ink_beside: Share of the ground along a dashed line that may hold ink, 0 to 1.
        max_tilt: Largest tilt of the picture that is corrected, in degrees.
    """

    min_contrast: int = 12
    min_length: float = 1.15
    min_fill_length: float = 4.0
    max_thickness: float = 0.2
    merge_distance: float = 0.4
    min_coverage: float = 0.85
    min_drawn: float = 0.8
    dash_gap: float = 0.65
    min_dashed: float = 0.45
    max_ink_beside: float = 0.15
    max_tilt: float = 20.0


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

    def to_picture(self, points: Floats) -> Floats:
        """Turn ``(..., 2)`` points of the upright frame into pixels of the picture."""
        flat = points if self.perspective is None else _project(points, np.asarray(np.linalg.inv(self.perspective)))
        return rotate_points(flat, self.degrees, self.center)

    def to_upright(self, points: Floats) -> Floats:
        """Turn ``(..., 2)`` pixels of the picture into the upright frame."""
        turned = rotate_points(points, -self.degrees, self.center)
        return turned if self.perspective is None else _project(np.asarray(turned), self.perspective)


def image_to_rulings(
    image: NDArray[np.uint8], word_quads: ArrayLike | None = None, settings: RulingSettings | None = None
) -> Rulings:
    """Find the ruling lines of a picture.

    Args:
        image: ``(height, width, 3)`` or ``(height, width)`` uint8.
        word_quads: ``(W, 4, 2)`` words in pixels, where a reader was there: their
            height sets the scale, and strokes of letters are not taken for lines.
        settings: Tolerances.

    Returns:
        Segments in the upright frame.

    >>> page = np.full((60, 80), 255, np.uint8)
    >>> page[20:22, 5:75] = 0
    >>> image_to_rulings(page).horizontal.tolist()
    [[5.0, 20.0, 75.0, 22.0]]
    """
    settings = settings or RulingSettings()
    if min(image.shape[:2]) < 3:
        return Rulings(as_boxes([]), as_boxes([]), 0.0, (0.0, 0.0), 1.0)
    gray = image if image.ndim == 2 else _to_gray(image)
    words = as_quads([] if word_quads is None else word_quads)
    letters = estimate_text_height(gray)
    height = word_height(words) if len(words) else letters
    # A reader's boxes are higher than letters: by them, the lines between two columns would be too short to count.
    lines = _long_lines(gray, min(height, letters))
    degrees = _lines_to_tilt(lines, settings.max_tilt)
    center = (gray.shape[1] / 2, gray.shape[0] / 2)
    perspective = _lines_to_perspective(rotate_points(lines, -degrees, center), gray.shape, settings.max_tilt)
    frame = Rulings(as_boxes([]), as_boxes([]), degrees, center, height, perspective)
    upright = _straighten(gray, frame)
    words_xyxy = quads_to_boxes(frame.to_upright(words))
    horizontal = _horizontal_segments(upright, height, settings)
    vertical = _horizontal_segments(np.ascontiguousarray(upright.T), height, settings)
    horizontal = _without_letters(horizontal, words_xyxy)
    vertical = _without_letters(vertical, words_xyxy[:, [1, 0, 3, 2]])[:, [1, 0, 3, 2]]
    return replace(frame, horizontal=horizontal, vertical=vertical)


def _to_gray(image: NDArray[np.uint8]) -> Gray:
    """The channel in which colours stand out most from the ground: the darkest on light ground, else the lightest."""
    return np.asarray(image.min(axis=2) if np.median(image) > 127 else image.max(axis=2), np.uint8)


def estimate_text_height(gray: Gray) -> float:
    """Typical height of letters in pixels, from the connected strokes of a grey picture.

    Falls back to a 40th of the shorter side where there is no text.
    """
    fallback = max(min(gray.shape) / 40, 10.0)
    size = 31
    ground = cv2.blur(gray, (size, size))
    darker = cv2.subtract(ground, gray) if gray.mean() > 127 else cv2.subtract(gray, ground)
    ink = (darker > 40).astype(np.uint8)
    _, _, stats, _ = cv2.connectedComponentsWithStats(ink, connectivity=8)
    width, height = stats[1:, cv2.CC_STAT_WIDTH], stats[1:, cv2.CC_STAT_HEIGHT]
    letters = (height >= 5) & (width >= 2) & (width < 4 * height) & (height < 4 * width) & (height < size * 3)
    return float(np.percentile(height[letters], 70)) * 1.3 if letters.sum() >= 3 else fallback


def estimate_tilt(gray: Gray, text_height: float, max_tilt: float) -> float:
    """Tilt of the long straight lines of a picture in degrees, clockwise; 0 where there are none.

    Uses the line segment detector of OpenCV (von Gioi et al., LSD, IPOL 2012)
    on a reduced picture and the mode of the angles, weighted by length.
    """
    return _lines_to_tilt(_long_lines(gray, text_height), max_tilt)


def _long_lines(gray: Gray, text_height: float) -> Floats:
    """``(N, 2, 2)`` ends of the straight lines that are longer than letters."""
    scale = min(1.0, 1200 / max(gray.shape))
    small = cv2.resize(gray, None, fx=scale, fy=scale, interpolation=cv2.INTER_AREA) if scale < 1 else gray
    found = cv2.createLineSegmentDetector(cv2.LSD_REFINE_NONE).detect(small)[0] if min(small.shape) >= 8 else None
    if found is None:
        return np.zeros((0, 2, 2))
    lines = found.reshape(-1, 2, 2).astype(np.float64) / scale
    long: Floats = lines[np.linalg.norm(lines[:, 1] - lines[:, 0], axis=1) > 4 * text_height]
    return long


def _angles(lines: Floats) -> tuple[Floats, Floats]:
    """Length, and angle in degrees from -45 to 135."""
    along = lines[:, 1] - lines[:, 0]
    angle = (np.degrees(np.arctan2(along[:, 1], along[:, 0])) + 45) % 180 - 45
    return np.linalg.norm(along, axis=1), angle


def _lines_to_tilt(lines: Floats, max_tilt: float) -> float:
    length, angle = _angles(lines)
    angle = (angle + 45) % 90 - 45
    near = np.abs(angle) <= max_tilt
    if not near.any():
        return 0.0
    angle, length = angle[near], length[near]
    votes, edges = np.histogram(angle, bins=np.arange(-max_tilt - 0.25, max_tilt + 0.5, 0.5), weights=length**2)
    mode = edges[int(votes.argmax())] + 0.25
    near = np.abs(angle - mode) < 0.75
    tilt = float(np.average(angle[near], weights=length[near] ** 2))
    return tilt if abs(tilt) > 0.1 else 0.0


def _lines_to_perspective(lines: Floats, shape: tuple[int, ...], max_tilt: float) -> Floats | None:
    """Homography that makes rows and columns perpendicular and parallel; None where they are.

    In a photograph the angle of the rows changes from top to bottom and that of
    the columns from left to right, nearly in proportion. The lines so found at
    the four sides of the picture become its sides.
    """
    length, angle = _angles(lines)
    middle = lines.mean(axis=1) / np.array(shape[1::-1]) - 0.5
    rows = _fit_angle(middle[:, 1], angle, length, max_tilt / 2)
    columns = _fit_angle(middle[:, 0], angle - 90, length, max_tilt / 2)
    if max(np.abs([*rows, *columns])) < 0.35:
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


def _project(points: Floats, homography: Floats) -> Floats:
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


def _horizontal_segments(gray: Gray, text_height: float, settings: RulingSettings) -> Floats:
    """Boxes of the horizontal rulings of an upright grey picture."""
    length = max(int(settings.min_length * text_height), 5)
    thickness = max(int(settings.max_thickness * text_height), 3)
    min_fill = max(int(settings.min_fill_length * text_height), 8)
    dash_gap = max(int(settings.dash_gap * text_height), thickness + 2)
    lines = []
    for ground in (gray, 255 - gray):
        stroke = _thin(ground, (thickness, 1), settings.min_contrast)
        crossing = _crossing(ground, thickness, length, settings)
        # At a crossing line a stroke does not look thin, but goes on.
        passed = _close(stroke, thickness + 2) & (cv2.dilate(crossing.astype(np.uint8), np.ones((1, 3))) > 0)
        solid = _long_runs(stroke | passed, stroke | crossing, thickness + 2, length, thickness, settings.min_drawn)
        dashed = _long_runs(stroke, stroke, dash_gap, min_fill, thickness, settings.min_dashed)
        dashed = _standing_alone(dashed, ground, text_height, settings)
        regular = as_boxes([box for box in dashed if _is_regular(stroke, box)])
        lines += [solid, _parted_at_gaps(regular, solid, thickness + 2, dash_gap)]
    found = np.vstack(lines)
    borders = [
        _long_runs(border, border, thickness + 2, min_fill, thickness, settings.min_drawn)
        for border in _fill_borders(gray, settings.min_contrast)
    ]
    return np.vstack([found, _without_sides(np.vstack(borders), found, thickness + 3)])


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


def _without_sides(fills: Floats, lines: Floats, reach: float) -> Floats:
    """Drop fill borders that are no more than the side of a line already found."""
    if not len(fills) or not len(lines):
        return fills
    middle = (fills[:, 1] + fills[:, 3]) / 2
    beside = (middle[:, None] > lines[:, 1] - reach) & (middle[:, None] < lines[:, 3] + reach)
    shared = np.minimum(fills[:, None, 2], lines[:, 2]) - np.maximum(fills[:, None, 0], lines[:, 0])
    shared = (np.clip(shared, 0, None) * beside).sum(axis=1)
    kept: Floats = fills[shared < 0.9 * (fills[:, 2] - fills[:, 0])]
    return kept


def _thin(gray: Gray, size: tuple[int, int], contrast: int) -> Mask:
    """Dark strokes that are at most ``size`` (height, width) pixels thick in one of the directions."""
    height, width = (side + 1 + side % 2 if side > 1 else 1 for side in size)
    # With its border repeated, a dark edge of the picture, where another line was cut, does not look thin.
    padded = cv2.copyMakeBorder(gray, height, height, width, width, cv2.BORDER_REPLICATE)
    hat = cv2.morphologyEx(padded, cv2.MORPH_BLACKHAT, np.ones((height, width), np.uint8))
    hat = hat[height:-height, width:-width]
    return np.asarray(hat > contrast)


def _is_regular(stroke: Mask, box: Floats) -> bool:
    """Whether a run is made of several dashes of one length with gaps of one length."""
    x0, y0, x1, y1 = box.astype(int)
    drawn = stroke[y0:y1, x0:x1].any(axis=0)
    ends = np.flatnonzero(np.diff(drawn, prepend=False, append=False))
    dashes, gaps = ends[1::2] - ends[::2], ends[2::2] - ends[1:-1:2]
    # Dashes that meet a crossing line are longer, and in low rows these are many: the middle half must agree.
    spread = [np.percentile(sizes, 75) - np.percentile(sizes, 25) for sizes in (dashes, gaps)] if len(gaps) >= 4 else []
    return len(spread) == 2 and max(spread) <= 0.3 * float(np.median(dashes) + np.median(gaps)) + 1


def _standing_alone(boxes: Floats, gray: Gray, text_height: float, settings: RulingSettings) -> Floats:
    """Drop runs with ink close above or below: strokes of letters in a row look like dashes."""
    side = max(int(text_height), 3)
    total = cv2.integral(_thin(gray, (side, side), settings.min_contrast).astype(np.uint8))
    reach = max(int(0.35 * text_height), 2)
    x0, y0, x1, y1 = boxes.astype(int).T

    def share(top: NDArray[np.int_], bottom: NDArray[np.int_]) -> Floats:
        top, bottom = np.clip(top, 0, len(gray)), np.clip(bottom, 0, len(gray))
        ink = total[bottom, x1] - total[top, x1] - total[bottom, x0] + total[top, x0]
        return np.asarray(ink / np.maximum((bottom - top) * (x1 - x0), 1), np.float64)

    above, below = share(y0 - 1 - reach, y0 - 1), share(y1 + 1, y1 + 1 + reach)
    kept: Floats = boxes[np.maximum(above, below) < settings.max_ink_beside]
    return kept


def _crossing(gray: Gray, thickness: int, length: int, settings: RulingSettings) -> Mask:
    """Vertical lines: where they cross a horizontal one it does not look thin, but is drawn."""
    stroke = _thin(gray, (thickness, thickness), settings.min_contrast).astype(np.uint8)
    return np.asarray(cv2.morphologyEx(stroke, cv2.MORPH_OPEN, np.ones((length, 1), np.uint8)) > 0)


def _close(mask: Mask, gap: int) -> Mask:
    """The mask with its horizontal gaps below ``gap`` pixels closed."""
    kernel = np.ones((1, gap), np.uint8)
    return np.asarray(cv2.morphologyEx(mask.astype(np.uint8), cv2.MORPH_CLOSE, kernel) > 0)


def _long_runs(mask: Mask, drawn: Mask, bridge: int, length: int, thickness: int, min_drawn: float) -> Floats:
    """Boxes of the flat runs of a mask of at least ``length``; gaps up to ``bridge`` count as part of a run.

    Letters in a row make such runs too, but their stems interrupt them, so a
    run counts only when most of it is drawn.
    """
    bridged = _close(mask, bridge).astype(np.uint8)
    long = cv2.morphologyEx(bridged, cv2.MORPH_OPEN, np.ones((1, length), np.uint8))
    count, label, stats, _ = cv2.connectedComponentsWithStats(long, connectivity=8)
    x, y, width, height, area = stats[1:].T
    share = np.bincount(label.ravel(), drawn.ravel(), count)[1:] / np.maximum(area, 1)
    # A slightly bent line is taller than it is thick, so judge the mean thickness.
    flat = (area <= (thickness + 1) * width) & (height <= np.maximum(width / 4, thickness + 1))
    boxes: Floats = np.column_stack([x, y, x + width, y + height])[flat & (share >= min_drawn)].astype(np.float64)
    return boxes


def _fill_borders(gray: Gray, contrast: int) -> list[Mask]:
    """Pixels at the border to a darker area below, and to a brighter one."""
    step = np.zeros(gray.shape, np.int16)
    step[1:-2] = gray[3:].astype(np.int16) - gray[:-3]
    return [step > contrast, step < -contrast]


def _without_letters(segments: Floats, words_xyxy: Floats) -> Floats:
    """Drop horizontal segments that run through the middle of words and nowhere else."""
    if not len(segments) or not len(words_xyxy):
        return segments
    height = words_xyxy[:, 3] - words_xyxy[:, 1]
    letter = np.minimum(height, words_xyxy[:, 2] - words_xyxy[:, 0])
    # A long line at the rim of a word underlines it, a short one is the foot of a letter.
    rim = np.where((segments[:, 2] - segments[:, 0])[:, None] > 2 * letter, 0.08, -0.05) * letter
    top, bottom = words_xyxy[:, 1] + rim, words_xyxy[:, 3] - rim
    slack = 0.15 * letter
    middle = (segments[:, 1] + segments[:, 3]) / 2
    through = (middle[:, None] > top) & (middle[:, None] < bottom)
    starts = np.maximum(segments[:, None, 0], words_xyxy[:, 0] - slack)
    ends = np.minimum(segments[:, None, 2], words_xyxy[:, 2] + slack)
    covered = (np.clip(ends - starts, 0, None) * through).sum(axis=1)
    kept: Floats = segments[covered < 0.8 * (segments[:, 2] - segments[:, 0])]
    return kept
