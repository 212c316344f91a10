"""What is written on a seal: straight lines, and text along the rim, which is unrolled into a straight strip."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from postprocess.arrays import Floats
from postprocess.geometry.boxes import array_to_quad, boxes_to_quads
from postprocess.text.lines import words_to_text
from postprocess.word import UNREAD, Word
from tablerec.inputs.seals.find import Shape
from tablerec.inputs.seals.inks import Parted
from tablerec.result import Seal

if TYPE_CHECKING:
    from postprocess.arrays import Image
    from tablerec.ocr import OcrEngine

LEAST_SCORE = 0.5
"""Score of a line, below which it is an ornament."""
_LETTER = 40
"""Height in pixels that letters along the rim have in the strip, about."""
_RIM = 0.6
"""Share of the round on which there is ink where a rim is drawn."""
_MARGIN = 1.04
"""How much larger than the seal its picture is."""
_DARK = 140
_LEAST_LETTER = 0.35
"""Height of a letter, as a share of the band that holds the text."""


def read_seal(shape: Shape, parted: Parted, ocr: OcrEngine) -> Seal:
    """Read a seal.

    Args:
        shape: Where it is.
        parted: How it looks without print.
        ocr: Reads lines.
    """
    lines = _read_round(shape, parted, ocr) if shape.is_round else _read_straight(shape, parted, ocr)
    texts = [line.text.strip() for line in lines]
    length = sum(map(len, texts))
    score = sum(line.score * len(text) for line, text in zip(lines, texts, strict=True)) / max(1, length)
    return Seal(
        " ".join(texts), float(score), array_to_quad(shape.corners), "#{:02x}{:02x}{:02x}".format(*parted.color)
    )


def _read_straight(shape: Shape, parted: Parted, ocr: OcrEngine) -> list[Word]:
    return _in_lines(_believed(ocr.read(_straightened(shape, parted))))


def _straightened(shape: Shape, parted: Parted) -> Image:
    """The seal alone, upright."""
    from tablerec.ocr.lines import quad_to_crop

    middle = shape.corners.mean(axis=0)
    quad = (shape.corners - middle) * _MARGIN + middle - parted.box_xyxy[:2]
    return quad_to_crop(parted.seal, quad.astype(np.float32))


def _believed(words: Sequence[Word]) -> list[Word]:
    return [word for word in words if word.score >= LEAST_SCORE and UNREAD not in word.text]


def _in_lines(words: list[Word]) -> list[Word]:
    """The words as one, in reading order."""
    if not words:
        return []
    length = sum(len(word.text) for word in words)
    score = sum(word.score * len(word.text) for word in words) / length
    return [Word(words_to_text(words).replace("\n", " "), words[0].quad, score)]


def _read_round(shape: Shape, parted: Parted, ocr: OcrEngine) -> list[Word]:
    import cv2

    seal = _straightened(shape, parted)
    size_wh = np.array(seal.shape[1::-1], np.float64)
    centre, radii = size_wh / 2, size_wh / 2 / _MARGIN
    ys, xs = np.indices(seal.shape[:2])
    distance = np.hypot((xs + 0.5 - centre[0]) / radii[0], (ys + 0.5 - centre[1]) / radii[1])
    alone = seal.copy()
    alone[distance > 0.9] = 255
    straight = [word for word in _believed(ocr.read(alone)) if _is_straight(word, centre, radii)]
    for word in straight:
        cv2.fillPoly(alone, [np.round(word.quad).astype(np.int32)], (255, 255, 255))
    alone[distance > 0.9] = seal[distance > 0.9]
    return [*_read_strip(_unroll(alone, centre, radii), ocr), *_in_lines(straight)]


def _is_straight(word: Word, centre: Floats, radii: Floats) -> bool:
    """Whether a line is not a piece of the text along the rim."""
    corners = np.array(word.quad)
    along = corners[1] - corners[0]
    offset = (corners.mean(axis=0) - centre) / radii
    # Above the middle, so far out, it is the top of the text along the rim.
    farthest = 0.62 if offset[1] > 0 else 0.45
    is_inside = bool(np.linalg.norm(offset) < farthest and abs(along[1]) < 0.6 * abs(along[0]))
    return len(word.text.strip()) >= 2 and is_inside


def _unroll(image: Image, centre: Floats, radii: Floats) -> NDArray[np.uint8]:
    """``(h, w)`` the outer part of an oval, clockwise from the left, the rim above; letters keep their proportions."""
    import cv2

    height = max(48, round(0.65 * float(radii.min()))) if radii.min() > 120 else 3 * _LETTER
    circumference = np.pi * (3 * radii.sum() - np.sqrt((3 * radii[0] + radii[1]) * (radii[0] + 3 * radii[1])))
    width = round(height / (0.65 * np.sqrt(radii.prod())) * 0.75 * circumference)
    share = np.linspace(1.03, 0.38, height)[:, None]
    angle = _even_angles(radii, width)[None]
    x = centre[0] + share * radii[0] * np.cos(angle) - 0.5
    y = centre[1] + share * radii[1] * np.sin(angle) - 0.5
    grey = np.ascontiguousarray(image[..., 0])
    strip = cv2.remap(grey, x.astype(np.float32), y.astype(np.float32), cv2.INTER_CUBIC, borderValue=255.0)
    return np.asarray(strip, np.uint8)


def _even_angles(radii: Floats, count: int) -> Floats:
    """Angles at even distances along an oval, from the left, clockwise in a picture."""
    angles = np.pi + np.linspace(0, 2 * np.pi, 721)
    steps = np.hypot(*(np.diff(np.cos(angles)) * radii[0], np.diff(np.sin(angles)) * radii[1]))
    length = np.append(0, np.cumsum(steps))
    return np.interp(np.arange(count) / count * length[-1], length, angles)


def _read_strip(strip: NDArray[np.uint8], ocr: OcrEngine) -> list[Word]:
    """Text along the rim: each arc in the direction in which it reads better."""
    band = _text_band(strip < _DARK)
    if band is None:
        return []
    height = len(band)
    ink = strip[band.start : band.stop] < _DARK
    lines = []
    for arc in _arcs(_lettered(ink), height):
        columns = np.concatenate([np.arange(start - 2, stop + 2) for start, stop in arc]) % strip.shape[1]
        piece = strip[band.start : band.stop][:, columns]
        readings = [_read_line(piece, ocr), _read_line(piece[::-1, ::-1], ocr)]
        best = max(readings, key=lambda word: word.score if word else 0.0)
        if best is not None and best.score >= LEAST_SCORE and len(best.text.strip()) >= 2:
            lines.append(best)
    return lines


def _text_band(ink: NDArray[np.bool_]) -> range | None:
    """The outermost rows of the strip that hold letters, between rims and free rows."""
    share = ink.mean(axis=1)
    letters = (share > 0.02) & (share < _RIM)
    edges = np.flatnonzero(np.diff(np.r_[False, letters, False].astype(int)))
    for start, stop in zip(edges[::2], edges[1::2], strict=True):
        if stop - start >= 0.13 * len(ink) and share[start:stop].max() > 0.05:
            return range(int(start), int(stop))
    return None


def _lettered(ink: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Columns of pieces that are as high as letters; what print has left of itself is not."""
    import cv2

    _, labels, stats, _ = cv2.connectedComponentsWithStats(ink.view(np.uint8), connectivity=8)
    high = stats[:, cv2.CC_STAT_HEIGHT] >= _LEAST_LETTER * len(ink)
    high[0] = False
    return np.asarray(high[labels].any(axis=0), bool)


def _arcs(inked: NDArray[np.bool_], height: int) -> list[list[tuple[int, int]]]:
    """Columns with ink, in arcs that are far apart; the space between letters is cut down to what is usual."""
    width = len(inked)
    if not inked.any() or inked.all():
        return [[(2, width - 2)]] if inked.any() else []
    edges = np.flatnonzero(np.diff(np.r_[inked[-1], inked].astype(int)) == 1)
    ends = np.flatnonzero(np.diff(np.r_[inked[-1], inked].astype(int)) == -1)
    ends = np.array([ends[ends > edge].min(initial=ends.min() + width) for edge in edges])
    gaps = np.roll(edges, -1) - ends
    gaps[-1] += width
    far = max(1.2 * height, 2.5 * float(np.median(gaps)))
    first = int(np.argmax(gaps)) + 1
    order = [(first + index) % len(edges) for index in range(len(edges))]
    arcs: list[list[tuple[int, int]]] = [[]]
    for index in order:
        arcs[-1].append((int(edges[index]), int(ends[index] + min(gaps[index], 0.35 * height))))
        if gaps[index] > far and index != order[-1]:
            arcs.append([])
    return [arc for arc in arcs if arc]


def _read_line(piece: NDArray[np.uint8], ocr: OcrEngine) -> Word | None:
    import cv2

    grey = cv2.copyMakeBorder(np.ascontiguousarray(piece), 10, 10, 20, 20, cv2.BORDER_CONSTANT, value=255.0)
    image = np.repeat(np.asarray(grey, np.uint8)[..., None], 3, axis=2)
    height, width = image.shape[:2]
    found = ocr.read_quads(image, boxes_to_quads(np.array([[0, 0, width, height]], np.float64)))
    return found[0] if found and UNREAD not in found[0].text else None
