"""A page as PDFium draws it: a picture, the glyphs of its text, and how much of each glyph is seen.

Whether text is seen is not asked of the document, which has a dozen ways to hide it (behind a picture, by a clip path,
white on white, in a layer that is switched off), but of the picture: the page is drawn once more without its text, and
a glyph is seen where that makes a difference.
"""

from __future__ import annotations

import ctypes
import math
import unicodedata
from collections import defaultdict
from collections.abc import Iterator, Sequence
from ctypes import c_double, c_int
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from postprocess.arrays import Floats, Image, Ints
from tablerec.inputs.pdf.glyphs import DEEP, GENERATED, GLYPH, LINE_END, SPACE, TALL, UNMAPPED, VISIBLE

if TYPE_CHECKING:
    from pypdfium2 import PdfDocument, PdfPage, PdfTextPage

MAX_CHARACTERS = 200_000
"""No printed page has more; reading them one by one would take minutes."""
LEAST_CONTRAST = 3
"""Levels of luminance, of 255; text drawn with less cannot be seen by anyone."""
MOST_SHOWN_PIXELS = 16e6
"""Larger pages are drawn smaller to see what is shown."""
SAME = 0.6
"""Share of their common extent that two glyphs of one character share where one is drawn over the other ..."""
OVER = 0.15
"""... and that a glyph shares with another text from which its ink has to be told apart."""
MOST_LEVELS = 4
"""So many texts over one another are told apart."""
HARDLY, TWIN = 0.2, 0.5
"""Shares of a glyph that is hidden, and of one that is seen in its place."""
OVERLONG, MOST = 0.25, 0.5
"""How far a glyph reaches into the next one, in sizes, and the share of such glyphs in fonts whose boxes are those of
all their glyphs."""
CLEAR = 0.12
"""Share of a glyph up to which it may lie under its neighbours."""
ROUGH = -1.0
"""Stands for a share that is not known yet, where the box is that of the line: it is no measure of what is seen."""
LEAST_PICTURE = 0.003
"""Pictures smaller than this share of the page hold no table."""
LETTER = (4.0, 60.0)
"""Heights in pixels of a path that may be the outline of a letter."""
LEAST_OUTLINES = 12
"""So many make it likely."""
MOST_DEPTH = 8
"""Of forms within forms."""


@dataclass(frozen=True)
class Drawn:
    """One page.

    Args:
        image: ``(height, width, 3)`` uint8, BGR.
        glyphs: ``(N,)`` of ``GLYPH``, in the order in which PDFium reads them.
        areas: ``(A, 4)`` xyxy in pixels: what may hold text that is not in the layer: pictures, outlines of letters,
            text without characters.
        rest: The page without its text where there are such areas, else an empty picture.
    """

    image: Image
    glyphs: NDArray[Any]
    areas: Floats
    rest: Image


def draw_page(document: PdfDocument, index: int, scale: float) -> Drawn:
    """Draw a page and read its text.

    Args:
        document: Open.
        index: Of the page, from 0.
        scale: Pixels per point.

    Raises:
        pypdfium2.PdfiumError: The page is broken.
    """
    page = _flat_page(document, index)
    try:
        return _Reading(page, scale).read()
    finally:
        page.close()


def _flat_page(document: PdfDocument, index: int) -> PdfPage:
    """Return the page with filled-in form fields and notes as part of its text."""
    import pypdfium2.raw as raw

    page = document.get_page(index)
    for number in reversed(range(raw.FPDFPage_GetAnnotCount(page))):
        if _is_hidden(raw, page, number):
            raw.FPDFPage_RemoveAnnot(page, number)
    if raw.FPDFPage_GetAnnotCount(page) > 0 and raw.FPDFPage_Flatten(page, raw.FLAT_NORMALDISPLAY) == 1:
        page.close()
        page = document.get_page(index)
    return page


def _is_hidden(raw: Any, page: PdfPage, number: int) -> bool:
    """Whether a note or field is not shown on screens."""
    annotation = raw.FPDFPage_GetAnnot(page, number)
    if not annotation:
        return False
    flags = raw.FPDFAnnot_GetFlags(annotation)
    raw.FPDFPage_CloseAnnot(annotation)
    return bool(flags & (raw.FPDF_ANNOT_FLAG_HIDDEN | raw.FPDF_ANNOT_FLAG_NOVIEW))


class _Reading:
    """What is asked of one page, step by step."""

    def __init__(self, page: PdfPage, scale: float) -> None:
        import pypdfium2.raw as raw

        self.raw, self.page, self.scale = raw, page, scale
        self.image = self._draw(scale)
        self.to_pixels = _page_to_pixels(page, self.image)
        self.objects = list(_walk(raw, page))

    def read(self) -> Drawn:
        texts = [item for item, kind, _ in self.objects if kind == self.raw.FPDF_PAGEOBJ_TEXT]
        glyphs = self._glyphs({_address(item): number for number, item in enumerate(texts)}) if texts else _no_glyphs()
        glyphs = glyphs[~_doubled(glyphs)]
        rest_image, levels = self._show(glyphs, texts) if texts else (self.image, [])
        areas = self._areas(glyphs, levels)
        return Drawn(self.image, glyphs, areas, rest_image if len(areas) else self.image[:0, :0])

    def _draw(self, scale: float) -> Image:
        return np.ascontiguousarray(self.page.render(scale=scale).to_numpy()[..., :3])

    # Glyphs

    def _glyphs(self, numbers: dict[int, int]) -> NDArray[Any]:
        text_page = self.page.get_textpage()
        try:
            n_characters = text_page.count_chars()
            if not 0 < n_characters <= MAX_CHARACTERS:
                return _no_glyphs()
            fonts: dict[int, int] = {}
            rows = [self._glyph(text_page, index, numbers, fonts) for index in range(n_characters)]
        finally:
            text_page.close()
        glyphs = np.array([row for row in rows if row is not None], GLYPH)
        _cut_overlong(glyphs)
        return glyphs

    def _glyph(self, text_page: PdfTextPage, index: int, numbers: dict[int, int], fonts: dict[int, int]) -> Any:
        raw = self.raw
        code = _code(raw, text_page, index)
        text, generated = chr(code), raw.FPDFText_IsGenerated(text_page, index) == 1
        if not generated and text.isspace() and _has_ink(raw, text_page, index):
            code, text = UNMAPPED, chr(UNMAPPED)  # a sign that is said to be a blank
        if generated or text.isspace():
            kind = LINE_END if text in "\r\n" else GENERATED if generated else SPACE
            return (code, kind, -1, -1, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, (0.0,) * 4)
        place = _place(raw, text_page, index, self.to_pixels)
        if place is None:
            return None
        item = raw.FPDFText_GetTextObject(text_page, index)
        number = numbers.get(_address(item), -1) if item else -1
        return (code, VISIBLE, self._font(item, fonts), number, *place[0], np.nan, place[1])

    def _font(self, item: Any, fonts: dict[int, int]) -> int:
        font = self.raw.FPDFTextObj_GetFont(item) if item else None
        return fonts.setdefault(_address(font), _address(font) & 0x7FFFFFFF) if font else -1

    # What is seen

    def _show(self, glyphs: NDArray[Any], texts: list[Any]) -> tuple[Image, list[NDArray[np.bool_]]]:
        """Fill in ``shown``; return the page without its text, and where each level of text makes a difference."""
        pixels = self.image.shape[0] * self.image.shape[1]
        scale = self.scale * min(1.0, math.sqrt(MOST_SHOWN_PIXELS / max(pixels, 1)))
        whole = self.image if scale == self.scale else self._draw(scale)
        level = _levels(glyphs, len(texts))
        shown: list[NDArray[np.bool_]] = []
        for number in range(int(level.max(initial=0)) + 1):
            with_level_hidden = self._draw_without([texts[k] for k in np.flatnonzero(level == number)], scale)
            shown.append(_differ(whole, with_level_hidden))
        _set_shown(glyphs, level, shown, scale / self.scale)
        glyphs[:] = glyphs[_order_with_twins(glyphs, level, shown, scale / self.scale)]
        rest = with_level_hidden if len(shown) == 1 and scale == self.scale else self._draw_without(texts, self.scale)
        return rest, shown

    def _draw_without(self, texts: list[Any], scale: float) -> Image:
        for item in texts:
            self.raw.FPDFPageObj_SetIsActive(item, False)
        image = self._draw(scale)
        for item in texts:
            self.raw.FPDFPageObj_SetIsActive(item, True)
        return image

    # What else may be text

    def _areas(self, glyphs: NDArray[Any], shown: list[NDArray[np.bool_]]) -> Floats:
        height, width = self.image.shape[:2]
        areas = [*self._pictures(), *self._outlines(), *_unread(glyphs, shown, self.image)]
        boxes = np.array(areas, np.float64).reshape(-1, 4).clip(0, [width, height, width, height])
        return boxes[((boxes[:, 2:] - boxes[:, :2]) >= 1).all(axis=1)]

    def _pictures(self) -> Iterator[Floats]:
        height, width = self.image.shape[:2]
        for item, kind, matrix in self.objects:
            if kind == self.raw.FPDF_PAGEOBJ_IMAGE:
                box = self._box(item, matrix)
                if box is not None and np.prod(box[2:] - box[:2]) >= LEAST_PICTURE * width * height:
                    yield box

    def _outlines(self) -> list[Floats]:
        """The extent of letters that are drawn as paths."""
        boxes = [
            box
            for item, kind, matrix in self.objects
            if kind == self.raw.FPDF_PAGEOBJ_PATH and self.raw.FPDFPath_CountSegments(item) >= 6
            for box in [self._box(item, matrix)]
            if box is not None and LETTER[0] <= box[3] - box[1] <= LETTER[1] and box[2] - box[0] <= 40 * LETTER[1]
        ]
        if len(boxes) < LEAST_OUTLINES:
            return []
        return [np.concatenate([np.min(boxes, axis=0)[:2], np.max(boxes, axis=0)[2:]])]

    def _box(self, item: Any, matrix: Floats) -> Floats | None:
        """Of an object, in pixels; the matrix takes its form to the page."""
        sides = [ctypes.c_float() for _ in range(4)]
        if not self.raw.FPDFPageObj_GetBounds(item, *sides):
            return None
        left, bottom, right, top = (side.value for side in sides)
        corners = np.array([[left, bottom, 1], [right, bottom, 1], [right, top, 1], [left, top, 1]])
        on_page = np.column_stack([corners @ matrix.T, np.ones(4)])
        points = on_page @ self.to_pixels.T
        box = np.concatenate([points.min(axis=0), points.max(axis=0)])
        return box if np.isfinite(box).all() else None


def _no_glyphs() -> NDArray[Any]:
    return np.empty(0, GLYPH)


def _address(pointer: Any) -> int:
    return ctypes.cast(pointer, ctypes.c_void_p).value or 0


def _walk(raw: Any, page: PdfPage) -> Iterator[tuple[Any, int, Floats]]:
    """The objects of a page and of the forms in it, each with its type and the matrix that takes it to the page."""
    pending = [
        (raw.FPDFPage_GetObject(page, index), np.eye(3)[:2], 0) for index in range(raw.FPDFPage_CountObjects(page))
    ][::-1]
    while pending:
        item, matrix, depth = pending.pop()
        kind = raw.FPDFPageObj_GetType(item)
        yield item, kind, matrix
        if kind == raw.FPDF_PAGEOBJ_FORM and depth < MOST_DEPTH:
            inner = _matrix(raw, item, matrix)
            n_objects = raw.FPDFFormObj_CountObjects(item)
            pending += [(raw.FPDFFormObj_GetObject(item, k), inner, depth + 1) for k in reversed(range(n_objects))]


def _matrix(raw: Any, form: Any, outer: Floats) -> Floats:
    own = raw.FS_MATRIX()
    if not raw.FPDFPageObj_GetMatrix(form, own):
        return outer
    inner = np.array([[own.a, own.c, own.e], [own.b, own.d, own.f], [0, 0, 1]])
    return np.asarray(outer @ inner)


def _page_to_pixels(page: PdfPage, image: Image) -> Floats:
    """Return the ``(2, 3)`` affine map from points of the page to pixels, crop box and rotation included."""
    import pypdfium2.raw as raw

    height, width = image.shape[:2]
    # The call rounds to whole pixels, so ask for a picture that is finer than ours.
    finer = max(1, 2**28 // (1000 * max(height, width)))
    corners = []
    for x, y in ((0, 0), (1000, 0), (0, 1000)):
        column, row = c_int(), c_int()
        raw.FPDF_PageToDevice(page, 0, 0, width * finer, height * finer, 0, x, y, column, row)
        corners.append((column.value / finer, row.value / finer))
    origin, along_x, along_y = np.array(corners)
    return np.stack([(along_x - origin) / 1000, (along_y - origin) / 1000, origin], axis=1)


def _has_ink(raw: Any, text_page: PdfTextPage, index: int) -> bool:
    left, right, bottom, top = (c_double() for _ in range(4))
    if not raw.FPDFText_GetCharBox(text_page, index, left, right, bottom, top):
        return False
    least = 0.02 * abs(raw.FPDFText_GetFontSize(text_page, index))
    return bool(right.value - left.value > least and top.value - bottom.value > least > 0)


def _cut_overlong(glyphs: NDArray[Any]) -> None:
    """Cut glyphs off where the next one begins that have the box of all glyphs of their font, as in fonts of Type 3."""
    if len(glyphs) < 2:
        return
    one, two = glyphs[:-1], glyphs[1:]
    follow = (one["kind"] == VISIBLE) & (two["kind"] == VISIBLE) & (one["object"] == two["object"])
    follow &= (one["baseline"] == two["baseline"]) & (two["start"] > one["start"]) & (one["u"] > 0.99)
    overlong = np.flatnonzero(follow & (one["end"] - two["start"] > OVERLONG * one["size"]))
    fonts, counts = np.unique(one["font"][overlong], return_counts=True)
    fonts = fonts[counts >= MOST * np.array([(one["font"][follow] == font).sum() for font in fonts])]
    overlong = overlong[np.isin(one["font"][overlong], fonts)]
    glyphs["end"][overlong] = glyphs["start"][overlong + 1]
    of_font = np.flatnonzero(np.isin(glyphs["font"], fonts) & (glyphs["kind"] == VISIBLE) & (glyphs["u"] > 0.99))
    last = np.setdiff1d(of_font, overlong)
    glyphs["end"][last] = np.minimum(glyphs["end"][last], glyphs["start"][last] + 0.6 * glyphs["size"][last])
    start, end, baseline, size = (glyphs[name][of_font] for name in ("start", "end", "baseline", "size"))
    glyphs["box"][of_font] = np.stack([start, baseline - TALL * size, end, baseline + DEEP * size], axis=1)
    glyphs["shown"][of_font] = ROUGH


def _code(raw: Any, text_page: PdfTextPage, index: int) -> int:
    code = int(raw.FPDFText_GetUnicode(text_page, index))
    if raw.FPDFText_IsHyphen(text_page, index) == 1 or code == 0xAD:
        return ord("-")
    if raw.FPDFText_HasUnicodeMapError(text_page, index) == 1 or 0xD800 <= code < 0xE000 or code > 0x10FFFF:
        return UNMAPPED
    text = chr(code)
    return UNMAPPED if unicodedata.category(text) in ("Cc", "Co", "Cn") and not text.isspace() else code


def _place(raw: Any, text_page: PdfTextPage, index: int, to_pixels: Floats) -> tuple[tuple[float, ...], Any] | None:
    """Direction, size, start, end and baseline of a glyph, and the box of its ink."""
    matrix, box, x, y = raw.FS_MATRIX(), raw.FS_RECTF(), c_double(), c_double()
    left, right, bottom, top = (c_double() for _ in range(4))
    placed = (
        raw.FPDFText_GetMatrix(text_page, index, matrix)
        and raw.FPDFText_GetCharOrigin(text_page, index, x, y)
        and raw.FPDFText_GetLooseCharBox(text_page, index, box)
        and raw.FPDFText_GetCharBox(text_page, index, left, right, bottom, top)
    )
    (xx, xy, x0), (yx, yy, y0) = to_pixels.tolist()
    along = (xx * matrix.a + xy * matrix.b, yx * matrix.a + yy * matrix.b)
    length = math.hypot(*along)
    area = abs(matrix.a * matrix.d - matrix.b * matrix.c) * abs(xx * yy - xy * yx)
    size = raw.FPDFText_GetFontSize(text_page, index) * math.sqrt(area)
    if not placed or not length or not size:
        return None
    # A negative size turns the text round once more.
    length, size = math.copysign(length, size), abs(size)
    u, v = along[0] / length, along[1] / length
    origin = (xx * x.value + xy * y.value + x0, yx * x.value + yy * y.value + y0)
    start, baseline = origin[0] * u + origin[1] * v, origin[1] * u - origin[0] * v
    if min(abs(u), abs(v)) < 0.1:
        ends = [
            (xx * px + xy * py + x0) * u + (yx * px + yy * py + y0) * v
            for px, py in ((box.left, box.bottom), (box.right, box.top))
        ]
        start, end = min(ends), max(ends)
    else:  # PDFium's boxes are upright, so they say little about slanted text: a watermark.
        end = start + 0.6 * size
    corners = [
        (xx * px + xy * py + x0, yx * px + yy * py + y0)
        for px, py in ((left.value, bottom.value), (right.value, top.value))
    ]
    (x0, y0), (x1, y1) = corners
    place = (u, v, size, start, end, baseline)
    if not all(map(math.isfinite, (*place, x0, y0, x1, y1))):
        return None
    return place, (min(x0, x1), min(y0, y1), max(x0, x1), max(y0, y1))


def _doubled(glyphs: NDArray[Any]) -> NDArray[np.bool_]:
    """``(N,)`` whether the same character is drawn once more in nearly the same place, as fake bold is."""
    doubled = np.zeros(len(glyphs), bool)
    first, second, _ = _overlaps(glyphs, SAME)
    same = glyphs["code"][first] == glyphs["code"][second]
    apart = glyphs["object"][first] != glyphs["object"][second]
    doubled[np.minimum(first, second)[same & apart]] = True
    return doubled


def _overlaps(glyphs: NDArray[Any], least: float) -> tuple[Ints, Ints, Floats]:
    """Pairs of glyphs, first below second in the order of drawing, that share so much of the smaller one's box."""
    import shapely

    index = np.flatnonzero(glyphs["kind"] == VISIBLE)
    boxes = glyphs["box"][index].astype(np.float64)
    if len(index) < 2:
        return np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0)
    middles = shapely.points((boxes[:, :2] + boxes[:, 2:]) / 2)
    a, b = shapely.STRtree(middles).query(shapely.box(*boxes.T))
    different = glyphs["object"][index[a]] != glyphs["object"][index[b]]
    a, b = a[different], b[different]
    shared = np.clip(np.minimum(boxes[a, 2:], boxes[b, 2:]) - np.maximum(boxes[a, :2], boxes[b, :2]), 0, None)
    least_area = np.minimum(*(np.prod(boxes[k, 2:] - boxes[k, :2], axis=1) for k in (a, b)))
    shares = np.prod(shared, axis=1) / np.maximum(least_area, 1e-9)
    close = shares >= least
    a, b, shares = index[a[close]], index[b[close]], shares[close]
    below = glyphs["object"][a] < glyphs["object"][b]
    return np.where(below, a, b), np.where(below, b, a), shares


def _levels(glyphs: NDArray[Any], n_texts: int) -> Ints:
    """``(T,)`` level of each text object: one that lies over another has a higher one."""
    first, second, _ = _overlaps(glyphs, OVER)
    over: dict[int, set[int]] = defaultdict(set)
    for below, above in zip(glyphs["object"][first].tolist(), glyphs["object"][second].tolist(), strict=True):
        if below >= 0:
            over[above].add(below)
    level = np.zeros(n_texts, np.int64)
    for above in sorted(over):
        level[above] = min(1 + max(int(level[below]) for below in over[above]), MOST_LEVELS - 1)
    return level


def _differ(one: Image, other: Image) -> NDArray[np.bool_]:
    """``(height, width)`` where two pictures differ so that it can be seen."""
    import cv2

    return np.asarray(cv2.cvtColor(cv2.absdiff(one, other), cv2.COLOR_BGR2GRAY) >= LEAST_CONTRAST)


def _set_shown(glyphs: NDArray[Any], level: Ints, shown: list[NDArray[np.bool_]], scale: float) -> None:
    """Fill in the share of the extent of each glyph in which it is seen."""
    boxes = glyphs["box"].astype(np.float64) * scale
    has_ink = (glyphs["kind"] == VISIBLE) & (boxes[:, 2:] > boxes[:, :2]).all(axis=1)
    is_rough = glyphs["shown"] == ROUGH
    for index in np.flatnonzero(has_ink).tolist():
        share = _share(shown[level[glyphs["object"][index]]], boxes[index].tolist())
        glyphs["shown"][index] = float(share > 0) if is_rough[index] else share


def _share(shown: NDArray[np.bool_], box: Sequence[float]) -> float:
    """Share of a box that what is shown in it spans."""
    x0, y0, x1, y1 = math.floor(box[0]), math.floor(box[1]), math.ceil(box[2]), math.ceil(box[3])
    patch = shown[max(y0, 0) : max(y1, 0), max(x0, 0) : max(x1, 0)]
    across, down = np.flatnonzero(patch.any(axis=0)), np.flatnonzero(patch.any(axis=1))
    if not len(across):
        return 0.0
    return float((across[-1] + 1 - across[0]) / max(x1 - x0, 1) * (down[-1] + 1 - down[0]) / max(y1 - y0, 1))


def _stands_alone(shown: NDArray[np.bool_], box: Sequence[float]) -> bool:
    """Whether something is shown in a box that does not go on around it."""
    if _share(shown, box) < TWIN:
        return False
    x0, y0, x1, y1 = math.floor(box[0]), math.floor(box[1]), math.ceil(box[2]), math.ceil(box[3])
    around = shown[max(y0 - 2, 0) : y1 + 2, max(x0 - 2, 0) : x1 + 2]
    inner = shown[max(y0 - 1, 0) : y1 + 1, max(x0 - 1, 0) : x1 + 1]
    return int(around.sum()) == int(inner.sum())


def _order_with_twins(glyphs: NDArray[Any], level: Ints, shown: list[NDArray[np.bool_]], scale: float) -> Ints:
    """Find signs that two texts over one another have in one place: PDFium tells the hidden one alone.

    Such a sign is marked as seen and comes after the one that it follows.
    """
    order = list(range(len(glyphs)))
    if len(shown) < 2:
        return np.array(order)
    boxes = glyphs["box"].astype(np.float64) * scale
    is_seen = glyphs["shown"] >= TWIN
    for index in np.flatnonzero(glyphs["shown"] < HARDLY).tolist():
        box, others = boxes[index], boxes[is_seen]
        shared = np.minimum(others[:, 2:], box[2:]) - np.maximum(others[:, :2], box[:2])
        is_free = not (shared > CLEAR * (box[2:] - box[:2])).all(axis=1).any()
        if is_free and any(_stands_alone(each, box.tolist()) for each in shown):
            glyphs["shown"][index] = 1.0
            before = np.abs(glyphs["baseline"] - glyphs["baseline"][index]) < 0.2 * glyphs["size"]
            gaps = np.where(before & is_seen, np.abs(glyphs["end"] - glyphs["start"][index]), np.inf)
            host = int(gaps.argmin())
            if gaps[host] < 0.3 * glyphs["size"][host]:
                order.remove(index)
                order.insert(order.index(host) + 1, index)
    return np.array(order)


def _unread(glyphs: NDArray[Any], shown: list[NDArray[np.bool_]], image: Image) -> list[Floats]:
    """Boxes of text that is drawn and has no characters."""
    import cv2

    if not shown:
        return []
    width = shown[0].shape[1]
    scale = image.shape[1] / max(width, 1)
    ink = np.logical_or.reduce(shown).astype(np.uint8)
    for x0, y0, x1, y1 in (glyphs["box"][glyphs["kind"] == VISIBLE] / scale).tolist():
        margin = 2 + 0.3 * (y1 - y0)
        left, top = max(math.floor(x0 - margin), 0), max(math.floor(y0 - margin), 0)
        ink[top : max(math.ceil(y1 + margin), 0), left : max(math.ceil(x1 + margin), 0)] = 0
    if not ink.any():
        return []
    joined = cv2.dilate(ink, np.ones((5, 15), np.uint8))
    boxes = cv2.connectedComponentsWithStats(joined)[2][1:, :4].astype(np.float64)
    return [np.array([x, y, x + w, y + h]) * scale for x, y, w, h in boxes if h >= LETTER[0] + 4]
