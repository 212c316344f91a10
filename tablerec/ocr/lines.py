"""From a picture to lines of text: what all OCR engines with a detector and a recogniser share."""

from __future__ import annotations

import math
import unicodedata
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, pairwise
from statistics import median
from typing import TYPE_CHECKING

import numpy as np

from postprocess.geometry.boxes import box_areas, intersection_areas, quads_to_boxes
from postprocess.word import CharSpans, Word
from tablerec.models.opening.buckets import fit
from tablerec.ocr.ink import crop_to_ink, cut_columns, inner_quad
from tablerec.ocr.line import Line
from tablerec.ocr.signs import settle_hyphens, settle_raised
from tablerec.ocr.unread import UnreadFinder

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from postprocess.arrays import Image

    Quads = NDArray[np.float32]

STRIDE = 32
"""Side of the blocks in which text detectors work: sides of their input are multiples of it."""
MARGIN = 16
"""Ground laid around the picture, in pixels of the detector's input: text that touches the edge is missed."""
FIRST_PIXELS = 2e6
"""Pixels of the detector's input up to which it is cheap: a table of a page at 150 dpi in full."""
MOST_PIXELS = 8e6
"""Pixels of its input for small text; the time and the memory it takes grow with them."""
LEAST_LINE = 18.0
"""Height of a found line, in pixels of the detector's input, below which text is missed at any price ..."""
FAIR_LINE = 27.0
"""... below which blurred print is read worse ..."""
GOOD_LINE = 40.0
"""... and from which nothing is gained: Chinese lines set close together are told apart."""
TALL = 1.5
"""A box this many times as high as wide may be a line that runs upwards or downwards."""
_USUAL_TURNS = 3
"""How often a tall box is turned where nothing is read in any direction."""
_STACKED = 1.15
"""A box this many times as high as wide may hold characters one below another."""
_CRAMPED = 0.5
"""What the score counts of text that hardly fits into a tall box."""
_LINES = 0.25
"""The same of a cell in which nothing was found: it may hold several lines."""
_DOUBLE = 0.6
"""A character is that of another line whose box has this share of it."""
_SURE = 0.8
"""A line with a lower score is read turned as well, or by its parts, where it may be; turned, it needs this score."""


class CropReader(ABC):
    """An OCR engine of single lines, for a second pass over empty cells."""

    name = ""

    @property
    def reads(self) -> frozenset[str]:
        """The scripts that it reads, see ``script.CLASSES``; where none is known, what it reads is believed.

        It is asked after the first line was read.
        """
        return frozenset()

    @cached_property
    def unread(self) -> UnreadFinder | None:
        """Finds what it could not read; None where it does not know what it reads."""
        return UnreadFinder(self.name, self.reads) if self.reads else None

    @abstractmethod
    def recognize(self, crops: Sequence[Image]) -> list[Line]:
        """Read each crop, which shows one line from left to right."""

    def check(self, crops: Sequence[Image], lines: Sequence[Line]) -> list[Line]:
        """Look once more at lines that are in doubt, upright ones, where the OCR engine has a way to."""
        return list(lines)

    def read_quads(self, image: Image, quads: NDArray[np.floating]) -> list[Word]:
        """See ``OcrEngine``."""
        crops, places = [], []
        for quad in np.asarray(quads, np.float32) if image.size else ():
            crop = quad_to_crop(image, quad)
            ink = crop_to_ink(crop)
            if ink is not None:
                crops.append(ink.crop)
                places.append(inner_quad(quad, ink.box_xyxy, (crop.shape[1], crop.shape[0])))
        return read_crops(self, crops, np.array(places, np.float32).reshape(-1, 4, 2), stacked=_LINES)


class LineReader(CropReader):
    """An OCR engine made of a detector of lines and a recogniser of one line."""

    @property
    def sides(self) -> Sequence[int]:
        """What height and width of the detector's input may be, besides multiples of the last."""
        return (STRIDE,)

    @abstractmethod
    def detect(self, image: Image) -> Quads:
        """Find lines: ``(N, 4, 2)`` float32 corners TL, TR, BR, BL in pixels of ``image``, which is not resized."""

    def read(self, image: Image) -> list[Word]:
        """See ``OcrEngine``."""
        return read_found(self, image, find_lines(self, image))


def find_lines(ocr: LineReader, image: Image) -> Quads:
    """Find the lines of a picture at the size that suits its text.

    The first pass takes the picture as it is, shrunk to ``FIRST_PIXELS`` where it is larger. By the
    height of the lines it finds, a second pass takes the picture up to twice as large, or more where
    the lines are lower than ``FAIR_LINE`` even then. A rule by the sides of the picture, as OCR engines
    have it, enlarges a strip of two lines eleven times and leaves the small print of a page as it is.

    Returns:
        ``(N, 4, 2)`` float32 corners in whole pixels of ``image``, inside it.
    """
    height, width = image.shape[:2]
    if image.size == 0:
        return np.empty((0, 4, 2), np.float32)
    scale = min(1.0, (FIRST_PIXELS / (height * width)) ** 0.5)
    quads = _detect_scaled(ocr, image, scale)
    line = float(np.median(_sides(quads)[:, 0])) * scale if len(quads) else LEAST_LINE
    larger = scale * min(GOOD_LINE / line, max(2.0, FAIR_LINE / line))
    larger = min(larger, ((MOST_PIXELS if line < LEAST_LINE else FIRST_PIXELS) / (height * width)) ** 0.5)
    if larger > 1.2 * scale:
        quads = _detect_scaled(ocr, image, larger)
    # Upright boxes on whole pixels are cut out as they are; between pixels small print blurs and is misread.
    quads = np.clip(np.round(quads), 0, np.array([width, height], np.float32))
    return quads[_sides(quads).min(axis=1) >= 1]


def read_found(ocr: CropReader, image: Image, quads: Quads) -> list[Word]:
    """Read the lines that were found in a picture, see ``read_crops``."""
    return read_crops(ocr, [quad_to_crop(image, quad) for quad in quads], quads)


def read_crops(ocr: CropReader, crops: Sequence[Image], quads: Quads, *, stacked: float = _STACKED) -> list[Word]:
    """Read crops; a tall one in the three directions its text may run, and by its characters, of which the best counts.

    A tall box may hold a line that runs upwards or downwards, characters one below another, or a single narrow
    character: a ``1`` reads as a dash when it is turned, so a turned reading needs two characters. A line of which
    the OCR engine says that it is turned is read upside down.

    Args:
        ocr: Whose ``recognize`` reads.
        crops: Pictures of a line each.
        quads: ``(N, 4, 2)`` where they come from.
        stacked: How many times as high as wide a crop is that may hold characters or lines one below another.

    Returns:
        A word for each crop in which text was seen, also where it could not be read; one for each character where
        these stand one below another.
    """
    # np.rot90 turns against the clock: once for text that runs downwards, three times for upwards.
    views = [
        _View(i, crop, quads[i]).turned(turns)
        for i, crop in enumerate(crops)
        for turns in ((0, 1, 3) if _is_tall(crop) else (0,))
    ]
    lines = ocr.recognize([view.crop for view in views]) if views else []
    level = {view.index: (view, line) for view, line in zip(views, lines, strict=True) if not view.turns}
    columns = [
        column
        for view, line in level.values()
        if view.crop.shape[0] >= (stacked if line.score >= _SURE else _LINES) * view.crop.shape[1]
        for column in _columns(view)
    ]
    others = [view.turned(turns) for view, line in level.values() for turns in _other_turns(view, line)]
    again = others + [view for column in columns for view in column]
    lines += ocr.recognize([view.crop for view in again]) if again else []
    read = list(zip(views + again, lines, strict=True))
    in_parts = {column[0].index for column in columns}
    # Where nothing is read, text in a tall crop runs upwards.
    best = {
        i: [(view.turned(_USUAL_TURNS) if _is_tall(view.crop) else view, line)] for i, (view, line) in level.items()
    }
    scores: dict[int, float] = {}
    for place, (view, line) in enumerate(read[: len(views) + len(others)]):
        is_tall = _is_tall(crops[view.index])
        n_chars = len(line.text.strip())
        is_believed = place < len(views) or line.score >= _SURE
        is_cramped = is_tall and not view.turns and (view.index in in_parts or _is_wide(line.text))
        score = _CRAMPED * line.score if is_cramped else line.score
        if n_chars > (view.turns > 0) and is_believed and score > scores.get(view.index, -1.0):
            best[view.index], scores[view.index] = [(view, line)], score
    following = iter(read[len(views) + len(others) :])
    for column in columns:
        parts = [next(following) for _ in column]
        index, score = column[0].index, _column_score([line for _, line in parts])
        if score > scores.get(index, 0.0):
            best[index], scores[index] = parts, score
    chosen = _without_doubles(list(best.values()))
    upright = [view.crop for view, _ in chosen]
    lines = ocr.check(upright, [line for _, line in chosen]) if upright else []
    lines = [settle_hyphens(crop, settle_raised(crop, line)) for crop, line in zip(upright, lines, strict=True)]
    if ocr.unread is not None and lines:
        lines = ocr.unread.mark(upright, lines)
    return [_line_to_word(line, view.quad) for line, (view, _) in zip(lines, chosen, strict=True) if line.text.strip()]


@dataclass(frozen=True, slots=True, eq=False)
class _View:
    """A crop, or a character of it, as it is read.

    Args:
        index: Number of the crop.
        crop: ``(h, w, 3)`` uint8.
        quad: ``(4, 2)`` its corners in reading direction.
        turns: How often it is turned against the clock.
    """

    index: int
    crop: Image
    quad: Quads
    turns: int = 0

    def turned(self, turns: int) -> _View:
        """The view turned so often."""
        crop = np.ascontiguousarray(np.rot90(self.crop, turns))
        return _View(self.index, crop, np.roll(self.quad, -turns, axis=0), self.turns + turns)


def _columns(view: _View) -> list[list[_View]]:
    """Ways to read a crop as characters or lines one below another."""
    index, crop, quad = view.index, view.crop, view.quad
    size_wh = crop.shape[1], crop.shape[0]
    return [
        [
            _View(
                index,
                np.ascontiguousarray(crop[y0:y1, x0:x1]),
                inner_quad(quad, (x0, y0, x1, y1), size_wh).astype(np.float32),
            )
            for x0, y0, x1, y1 in boxes
        ]
        for boxes in cut_columns(crop)
    ]


def _is_wide(text: str) -> bool:
    """Whether a text is too wide for a tall crop: of a line on its side a recogniser may make one character."""
    return any(
        unicodedata.east_asian_width(char) in "WF" or unicodedata.category(char) in ("So", "Sm") for char in text
    )


def _other_turns(view: _View, line: Line) -> tuple[int, ...]:
    """How a crop is turned for a second reading, after what a first one makes of it."""
    if _is_tall(view.crop):
        return ()
    if line.is_turned:
        return (2,)
    height, width = view.crop.shape[:2]
    return (1, 3) if height >= _STACKED * width and line.score < _SURE else ()


def _column_score(lines: Sequence[Line]) -> float:
    """Score of a column as of a line, the mean over its characters; 0 where not all is text."""
    if not all(line.text.strip() for line in lines):
        return 0.0
    if 2 * sum(any(char.isalnum() for char in line.text) for line in lines) < len(lines):
        return 0.0
    n_chars = [len(line.text) for line in lines]
    logs = [math.log(max(line.score, 1e-9)) for line in lines]
    return math.exp(sum(n * each for n, each in zip(n_chars, logs, strict=True)) / sum(n_chars))


def _without_doubles(read: Sequence[list[tuple[_View, Line]]]) -> list[tuple[_View, Line]]:
    """All that was read but those characters of columns that were found as lines of their own."""
    if all(len(views) == 1 for views in read):
        return [view for views in read for view in views]
    lines = [views[0][0].quad for views in read if len(views) == 1 and views[0][1].text.strip()]
    boxes = quads_to_boxes(np.array(lines, np.float64).reshape(-1, 4, 2))
    kept = []
    for views in read:
        own = quads_to_boxes(np.array([view.quad for view, _ in views], np.float64))
        shared = intersection_areas(own, boxes).max(axis=1, initial=0) / np.maximum(box_areas(own), 1e-9)
        kept += [view for view, share in zip(views, shared, strict=True) if len(views) == 1 or share < _DOUBLE]
    return kept


def _is_tall(crop: Image) -> bool:
    return bool(crop.shape[0] >= TALL * crop.shape[1])


def distinct(crops: Sequence[Image]) -> tuple[list[int], list[int]]:
    """Find the crops that are equal, so that they are read once.

    Returns:
        Numbers of the crops that differ from all before them, and for each crop its place among these.

    >>> one, other = np.zeros((2, 3, 3), np.uint8), np.ones((2, 3, 3), np.uint8)
    >>> distinct([one, other, one.copy()])
    ([0, 1], [0, 1, 0])
    """
    places: dict[tuple[tuple[int, ...], bytes], int] = {}
    owners = [places.setdefault((crop.shape, crop.tobytes()), len(places)) for crop in crops]
    firsts = np.unique(owners, return_index=True)[1].tolist() if owners else []
    return firsts, owners


def quad_to_crop(image: Image, quad: Quads) -> Image:
    """Cut a quad out of a picture, straightened.

    Args:
        image: ``(height, width, 3)`` uint8.
        quad: ``(4, 2)`` corners TL, TR, BR, BL in pixels.

    Returns:
        ``(h, w, 3)`` uint8, where h and w are the longer of the quad's opposite sides.
    """
    import cv2

    height, width = image.shape[:2]
    (x0, y0), (x1, y1) = quad[0].tolist(), quad[2].tolist()
    is_upright = quad.tolist() == [[x0, y0], [x1, y0], [x1, y1], [x0, y1]]
    is_inside = 0 <= x0 < x1 <= width and 0 <= y0 < y1 <= height
    if is_upright and is_inside and all(side.is_integer() for side in (x0, y0, x1, y1)):
        return image[int(y0) : int(y1), int(x0) : int(x1)].copy()  # as a warp would have it, and much faster
    low = np.clip(np.floor(quad.min(axis=0)), 0, [width - 1, height - 1]).astype(int)
    high = np.clip(np.ceil(quad.max(axis=0)), low + 1, [width, height]).astype(int)
    # OpenCV warps no picture with a side above 32,767: only the part around the quad is given to it.
    part = image[low[1] : high[1], low[0] : high[0]]
    across, along = _sides(quad[None])[0].round().clip(1, 32_000).astype(int)
    target = np.array([[0, 0], [along, 0], [along, across], [0, across]], np.float32)
    matrix = cv2.getPerspectiveTransform((quad - low).astype(np.float32), target)
    size_wh = int(along), int(across)
    crop = cv2.warpPerspective(part, matrix, size_wh, flags=cv2.INTER_CUBIC, borderMode=cv2.BORDER_REPLICATE)
    return np.asarray(crop, np.uint8)


def centers_to_spans(text: str, centers: Sequence[float]) -> CharSpans | None:
    """Turn the places of the visible characters into spans for all characters.

    A character reaches to the middle between it and its neighbours, but no further than half the
    usual distance, so that one beside a wide gap stays small; spaces fill the gap.

    Args:
        text: Text with spaces.
        centers: Middle of each character that is no space, rising, as fractions of the width.

    Returns:
        Start and end of each character, or None where the numbers do not agree.

    >>> centers_to_spans("a b", [0.25, 0.75])
    ((0.0, 0.5), (0.5, 0.5), (0.5, 1.0))
    >>> centers_to_spans("ab", [0.5]) is None
    True
    """
    visible = [index for index, char in enumerate(text) if not char.isspace()]
    if not visible or len(visible) != len(centers):
        return None
    places = list(accumulate((min(max(center, 0.0), 1.0) for center in centers), max))
    steps = [b - a for a, b in pairwise(places)]
    close = [step for step, (a, b) in zip(steps, pairwise(visible), strict=True) if b - a == 1]
    half = median(close or steps) / 2 if steps else 0.5
    middles = [(a + b) / 2 for a, b in pairwise(places)]
    starts = [max(place - half, middle) for place, middle in zip(places, [0.0, *middles], strict=True)]
    ends = [min(place + half, middle) for place, middle in zip(places, [*middles, 1.0], strict=True)]
    spans: list[tuple[float, float]] = []
    after = 0
    for index in range(len(text)):
        if after < len(visible) and visible[after] == index:
            spans.append((starts[after], ends[after]))
            after += 1
            continue
        gap_start = ends[after - 1] if after else 0.0
        gap_end = starts[after] if after < len(visible) else 1.0
        first = visible[after - 1] + 1 if after else 0
        count = (visible[after] if after < len(visible) else len(text)) - first
        step = (gap_end - gap_start) / count
        spans.append((gap_start + step * (index - first), gap_start + step * (index - first + 1)))
    return tuple(spans)


def _detect_scaled(ocr: LineReader, image: Image, scale: float) -> Quads:
    import cv2

    height, width = image.shape[:2]
    size_wh = max(1, round(width * scale)), max(1, round(height * scale))
    # Sharper ways to enlarge make small print harder to read: cubic less than linear, Lanczos less than cubic.
    resized = cv2.resize(image, size_wh, interpolation=cv2.INTER_LINEAR if scale > 1 else cv2.INTER_AREA)
    right, bottom = (fit(side + 2 * MARGIN, ocr.sides) - side - MARGIN for side in size_wh)
    edge = np.concatenate([resized[0], resized[-1], resized[:, 0], resized[:, -1]])
    ground = [float(value) for value in np.median(edge, axis=0)]
    framed = cv2.copyMakeBorder(resized, MARGIN, bottom, MARGIN, right, cv2.BORDER_CONSTANT, value=ground)
    factors = np.array([width / size_wh[0], height / size_wh[1]], np.float32)
    return (ocr.detect(np.asarray(framed, np.uint8)) - MARGIN) * factors


def _sides(quads: Quads) -> NDArray[np.float32]:
    """Return ``(N, 2)`` the longer of the two sides across the line (height) and along it (width)."""
    top, right, bottom, left = (np.linalg.norm(quads[:, i] - quads[:, (i + 1) % 4], axis=1) for i in range(4))
    return np.stack([np.maximum(left, right), np.maximum(top, bottom)], axis=1).astype(np.float32)


def _line_to_word(line: Line, quad: Quads) -> Word:
    text = line.text.strip()
    start = len(line.text) - len(line.text.lstrip())
    spans = line.char_spans[start : start + len(text)] if line.char_spans else None
    corners = [(float(x), float(y)) for x, y in quad]
    return Word(
        text, (corners[0], corners[1], corners[2], corners[3]), min(1.0, max(0.0, line.score)), spans, line.doubt
    )
