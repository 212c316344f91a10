"""Where lines end: at the rules beside them, with all of their strokes, and with ground around.

A finder of lines says to a few pixels where its lines are. A recogniser takes a rule in the crop for a letter, guesses
at strokes that the crop cuts, and does not see the colon that stands apart from its word.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from postprocess.geometry.boxes import quantile, word_height
from postprocess.geometry.runs import run_ends
from tablerec.ocr.ink import LEAST_CONTRAST

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from postprocess.arrays import Flags, Image, Ints

    Quads = NDArray[np.float32]

GROUND = 0.12
"""Left at the ends of a line, as a share of its height, as in the training of LineNet."""
TALL = 1.5
"""A box this many times as high as wide, and as the lines of its picture, runs upwards or downwards."""
_USUAL = 1.3
"""Lines are at most so many times as high as those of their picture usually are: others are several lines."""
_RULE = 25
"""Contrast of a rule, of 255."""
_LONG = 1.75
"""A rule is so many times as long as a line is high ..."""
_THICK, _CLEAN = 0.25, 0.15
"""... is no thicker than this share, and has ground beside it, on one side at least."""
_LEAST = 0.3
"""What is left of a line between rules is at least this wide, as a share of its height."""
_CUT, _CUT_ACROSS = 0.6, 0.3
"""A stroke that is cut goes on so far at most, as a share of the height: at an end, and above or below."""
_GAP, _SIGN, _CLEAR = 0.45, 0.65, 0.25
"""A sign belongs to the line before it: it is near, narrow, and has ground behind it, by shares of the height."""
_DOT = 0.2
"""Width of a dot, at most, as a share of the height."""
_SIGNS = 2
"""Most of them at an end."""
_REACH, _BEYOND = 1.5, 0.8
"""How far beside a line, and above and below, is looked, as a share of its height."""
_RULED = 0.9
"""A row with so much ink is a rule."""
_LOWEST = 3
"""Height of a line in pixels below which it stays as it is."""
_SWAPPED = [1, 0, 3, 2]
"""Order of the sides of a box in the picture with rows for columns."""


@dataclass(frozen=True, slots=True)
class _Strip:
    """A line and what is around it, along its direction.

    Args:
        contrast: ``(h, w)`` uint8 difference from the ground of the line.
        least: Ink has more than this contrast.
        top, bottom: Rows of the line.
        start, end: Columns of the line.
        unit: Height of a line in pixels.
        is_turned: It runs downwards or upwards, where no signs are sought behind it: a rule of a row may look like one.
    """

    contrast: NDArray[np.uint8]
    least: int
    top: int
    bottom: int
    start: int
    end: int
    unit: float
    is_turned: bool


def settle(quads: Quads, image: Image) -> Quads:
    """Put the ends of lines where their text ends.

    Args:
        quads: ``(N, 4, 2)`` float32 corners TL, TR, BR, BL in pixels, in whole ones where they are upright.
        image: ``(H, W, 3)`` uint8 BGR in which they were found.

    Returns:
        ``(N', 4, 2)`` float32 in whole pixels, inside the picture. A line across a rule becomes two.

    >>> image = np.full((60, 90, 3), 255, np.uint8)
    >>> image[:, 50:52] = image[24:36, 20:40] = 0  # a rule, and text beside it
    >>> settle(np.array([[[19, 20], [55, 20], [55, 40], [19, 40]]], np.float32), image)[0, ::2].tolist()
    [[17.0, 20.0], [49.0, 40.0]]
    """
    import cv2

    if not len(quads):
        return quads
    low, high = quads.min(axis=1), quads.max(axis=1)
    upright = (quads[:, [0, 2]] == np.stack([low, high], axis=1)).all(axis=(1, 2)) & (quads % 1 == 0).all(axis=(1, 2))
    usual = word_height(quads.astype(np.float64))
    green = np.asarray(cv2.extractChannel(image, 1), np.uint8)
    boxes = np.concatenate([low, high], axis=1).astype(np.int64)
    settled: list[Quads] = []
    for quad, box, is_upright in zip(quads, boxes, upright, strict=True):
        if not is_upright:
            settled.append(_widen(quad, min(usual * _USUAL, _height(quad))))
            continue
        width, height = (box[2:] - box[:2]).tolist()
        unit = min(height, _USUAL * usual)
        parts = _settle_level(box, boxes, green, unit)
        if height >= TALL * max(width, usual):
            parts = [
                again[_SWAPPED]
                for part in parts
                for again in _settle_level(
                    part[_SWAPPED], boxes[:, _SWAPPED], green.T, min(width, unit), is_turned=True
                )
            ]
        settled += map(_corners, parts)
    return np.clip(np.round(np.stack(settled)), 0, image.shape[1::-1]).astype(np.float32)


def _height(quad: Quads) -> float:
    return float(np.linalg.norm(quad[3] - quad[0]))


def _widen(quad: Quads, height: float) -> Quads:
    """Ground at both ends of a line that is askew."""
    along = quad[1] - quad[0]
    step = along / max(float(np.linalg.norm(along)), 1.0) * height * GROUND
    return np.asarray(quad + np.stack([-step, step, step, -step]), np.float32)


def _corners(box: Ints) -> Quads:
    x0, y0, x1, y1 = box.tolist()
    return np.array([[x0, y0], [x1, y0], [x1, y1], [x0, y1]], np.float32)


def _settle_level(
    box: Ints, boxes: Ints, grey: NDArray[np.uint8], unit: float, *, is_turned: bool = False
) -> list[Ints]:
    """The parts between rules of a line that runs from left to right, each with its strokes."""
    import cv2

    x0, y0, x1, y1 = box.tolist()
    core = grey[y0:y1, x0:x1]
    if not core.size or unit < _LOWEST:
        return [box]
    beyond, reach = math.ceil(_BEYOND * unit), round(_REACH * unit)
    left, top = max(0, x0 - reach), max(0, y0 - beyond)
    patch = np.ascontiguousarray(grey[top : y1 + beyond, left : x1 + reach])
    ground = np.full_like(patch, round(float(quantile(core[::2, ::2].ravel(), 0.5))))
    contrast = np.asarray(cv2.absdiff(patch, ground), np.uint8)
    most = int(contrast[y0 - top : y1 - top, x0 - left : x1 - left].max())
    # A whole number: numpy compares bytes with others as float64.
    least = max(LEAST_CONTRAST, math.floor(0.4 * most))
    strip = _Strip(contrast, least, y0 - top, y1 - top, x0 - left, x1 - left, unit, is_turned)
    corner = np.array([left, top, left, top])
    return [corner + _reach(strip, *part, boxes - corner) for part in _between(strip)] or [box]


def _find_rules(strip: _Strip, inked: Flags) -> list[list[int]]:
    """First column of each rule across a strip, and the one after its last.

    Args:
        strip: A line and what is around it.
        inked: ``(w,)`` columns with ink in the rows of the line.
    """
    contrast, top, bottom, unit = strip.contrast, strip.top, strip.bottom, strip.unit
    dark = contrast[top:bottom].min(axis=0) > _RULE
    if not dark.any():
        return []
    rules = []
    clean = max(2, round(_CLEAN * unit))
    for start, end in run_ends(dark).reshape(-1, 2).tolist():
        beside = np.concatenate([inked[max(0, start - clean) : start], inked[end : end + clean]])
        if end - start > max(3, _THICK * unit) or beside.all():
            continue
        column = contrast[:, start:end].max(axis=1) > _RULE
        if _run(column[:top][::-1]) + bottom - top + _run(column[bottom:]) >= _LONG * unit:
            rules.append([start, end])
    return rules


def _between(strip: _Strip) -> list[tuple[int, int, int, int]]:
    """Start and end of each part of a line, and the columns to which it may reach."""
    width = strip.contrast.shape[1]
    columns = strip.contrast[strip.top : strip.bottom].max(axis=0) > strip.least
    rules = _find_rules(strip, columns)
    if not rules:
        return [(strip.start, strip.end, 0, width)]
    bounds = [[0, 0], *rules, [width, width]]
    parts = []
    for (_, first), (last, _) in pairwise(bounds):
        # Beside a rule its blurred edge is no ink.
        low, high = (first + 1 if first else 0), (last - 1 if last < width else width)
        start, end = max(strip.start, low), min(strip.end, high)
        if start < end and columns[start:end].any():
            parts.append((start, end, low, high))
    widest = max((end - start for start, end, _, _ in parts), default=0)
    least = min(widest, _LEAST * strip.unit)
    return [part for part in parts if part[1] - part[0] >= least]


def _reach(strip: _Strip, start: int, end: int, first: int, last: int, boxes: Ints) -> Ints:
    """Box of a part of a line, in pixels of the strip."""
    unit, top, bottom = strip.unit, strip.top, strip.bottom
    import cv2

    ink = strip.contrast[:, first:last] > strip.least
    # For bytes OpenCV sums rows several times as fast as numpy counts flags.
    is_rule = cv2.reduce(ink.view(np.uint8), 1, cv2.REDUCE_SUM, dtype=cv2.CV_32S).ravel() > _RULED * (last - first)
    if is_rule.any():
        ink[is_rule] = False
    columns = np.asarray(ink[top:bottom].any(axis=0))
    near = boxes[(boxes[:, 1] < (top + bottom) / 2) & (boxes[:, 3] > (top + bottom) / 2)][:, [0, 2]] - first
    size = last - first
    mirrored = size - near[:, ::-1]
    start, end = start - first, end - first
    signs = 0 if strip.is_turned else _SIGNS
    end, start = (
        _end_of(columns, _before(columns, end, start, near), unit, near, signs),
        size
        - _end_of(columns[::-1], _before(columns[::-1], size - start, size - end, mirrored), unit, mirrored, signs),
    )
    rows = np.asarray(ink[:, start:end].any(axis=1))
    most, pad = round(_CUT_ACROSS * unit), round(GROUND * unit)
    above, below = _cut_rows(rows[: top + 1][::-1], most), _cut_rows(rows[bottom - 1 :], most)
    return np.array([max(0, start - pad) + first, top - above, min(size, end + pad) + first, bottom + below])


def _before(columns: Flags, end: int, start: int, boxes: Ints) -> int:
    """Where a line ends that reaches into the next one: at the first gap from where that begins."""
    nexts = boxes[(boxes[:, 0] > (start + end) / 2) & (boxes[:, 0] < end) & (boxes[:, 1] > end)]
    if not len(nexts):
        return end
    begin = max(0, int(nexts[:, 0].min()))
    shared = columns[begin:end]
    return end if shared.all() else begin + int(np.argmin(shared))


def _end_of(columns: Flags, end: int, unit: float, boxes: Ints, signs: int) -> int:
    """Where a line ends whose ink by columns is known, when its strokes and the signs behind it are added."""
    width = len(columns)
    run = _run(columns[max(0, end - 1) :])
    if 1 < run <= _CUT * unit:
        end += run - 1
    for _ in range(signs):
        ahead = columns[end : end + round((_GAP + _SIGN + _CLEAR) * unit)]
        edges = run_ends(ahead).tolist()
        if not edges or edges[0] > _GAP * unit or edges[1] - edges[0] > _SIGN * unit:
            break
        if len(edges) > 2 and _is_leader(edges[:4], unit):
            break
        # Beyond the strip is a rule, or the border of the picture.
        clear = edges[2] if len(edges) > 2 else len(ahead) if end + len(ahead) < width else math.inf
        middle = end + (edges[0] + edges[1]) / 2
        if clear - edges[1] < _CLEAR * unit or ((boxes[:, 0] <= middle) & (middle <= boxes[:, 1])).any():
            break
        end += edges[1]
    return min(end, width)


def _is_leader(edges: Sequence[int], unit: float) -> bool:
    """Whether the first two runs of ink behind a line are dots, as those that lead to the next column."""
    first, after, second, end = edges
    return max(after - first, end - second) <= _DOT * unit and second - after <= _GAP * unit


def _cut_rows(rows: Flags, most: int) -> int:
    """How many rows a stroke goes on that is cut at the first; none where it goes on too far."""
    run = _run(rows) - 1
    return run if 0 < run <= most else 0


def _run(flags: Flags) -> int:
    """How many flags are set before the first that is not."""
    run = flags.tobytes().find(b"\0")
    return len(flags) if run < 0 else run
