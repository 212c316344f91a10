"""PDF pages: the drawn picture and the words of the text layer, in the same pixels."""

from __future__ import annotations

import logging
import math
import threading
import unicodedata
from collections.abc import Iterator, Sequence
from ctypes import c_double, c_int
from dataclasses import dataclass, replace
from itertools import groupby
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from postprocess.arrays import Image
from postprocess.cell import Quad
from postprocess.word import Word
from tablerec.config import Settings
from tablerec.errors import InputError, MissingDependencyError
from tablerec.inputs.passwords import password_error
from tablerec.result import PageImage

if TYPE_CHECKING:
    from pypdfium2 import PdfDocument, PdfPage, PdfTextPage

Array = NDArray[np.float64]

_POINTS_PER_INCH = 72
_MIN_DPI = 36
"""Below this a page of text cannot be read, so a larger page is refused."""
_WIDE_GAP = 0.5
"""Characters further apart than this share of the text size start a new word."""
_BASELINE_SHIFT = 0.5
"""A baseline that moves by more than this share of the text size starts a new word: indices move less."""
_ASCENT, _DESCENT = 0.88, 0.22
"""Height of a word above and below its baseline, as shares of the text size."""
_MAX_UNMAPPED = 0.1
"""With a larger share of characters without a meaning, the text layer is not used."""
_MIN_TEXT_AREA = 0.01
"""A page that is mostly picture and less text than this share of its area counts as a scan with a stamp."""
_SCAN_AREA = 0.5
_MAX_CHARACTERS = 200_000
"""No printed page has more; reading them one by one would take minutes."""
_MIN_CONTRAST = 8
"""Grey levels, of 255; text drawn with less cannot be seen by anyone."""

_INVISIBLE = 3
"""Text render mode 3 of ISO 32000-1, 9.3.6: neither filled nor stroked."""

_pdfium = threading.Lock()
"""PDFium must not be entered by two threads at a time."""

_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Character:
    """One glyph in pixels: ``start`` and ``end`` along its reading direction, ``baseline`` across it."""

    text: str
    direction: tuple[float, float]
    size: float
    start: float
    end: float
    baseline: float


def pdf_pages(file: BinaryIO, source: str, name: str, settings: Settings, first: int = 1) -> Iterator[PageImage]:
    """Draw the pages of a PDF, one at a time, and read their text layers.

    Args:
        file: The document, readable and seekable.
        source: Name of the input that the pages carry.
        name: The same name as messages show it.
        settings: ``pdf_dpi`` and ``max_megapixels`` count here. A page that would be
            larger is drawn at a lower resolution, and the log says so.
        first: Number of the page to begin with.

    Yields:
        A picture for each page. Its words are those of the text layer, or None where
        the page has no text that can be trusted: a scan, invisible text put behind a
        scan, or characters without a meaning.

    Raises:
        InputError: The document or a page is broken, encrypted, empty or too large.
    """
    with _pdfium:
        document = _open(file, name, settings)
    try:
        for number in settings.page_numbers.within(len(document), name):
            if number < first:
                continue
            with _pdfium:
                page = _read_page(document, number, source, name, settings)
            yield page
    finally:
        with _pdfium:
            document.close()


def _open(file: BinaryIO, name: str, settings: Settings) -> PdfDocument:
    try:
        import pypdfium2
    except ImportError as error:
        raise MissingDependencyError(f"{name}: PDF needs pypdfium2; run: pip install pypdfium2") from error
    try:
        document = _open_with(file, None)
        if document is None and settings.password:
            # Second, as a document that needs none takes no other.
            document = _open_with(file, settings.password)
    except pypdfium2.PdfiumError as error:
        raise InputError(f"{name}: broken or incomplete PDF; open it in a viewer and save it again") from error
    if document is None:
        raise password_error(name, settings.password)
    document.init_forms()
    return document


def _open_with(file: BinaryIO, password: str | None) -> PdfDocument | None:
    """Open a document; None where the password does not."""
    import pypdfium2

    try:
        return pypdfium2.PdfDocument(file, password=password)
    except pypdfium2.PdfiumError as error:
        if error.err_code == pypdfium2.raw.FPDF_ERR_PASSWORD:
            return None
        raise


def _read_page(document: PdfDocument, number: int, source: str, name: str, settings: Settings) -> PageImage:
    from pypdfium2 import PdfiumError

    try:
        page = _flat_page(document, number - 1)
        scale = _page_scale(page.get_size(), f"{name}: page {number}", settings)
        image: Image = page.render(scale=scale).to_numpy()[..., :3].copy()
        text_page = page.get_textpage()
        words = _read_words(page, text_page, image)
        text_page.close()
        page.close()
    except (PdfiumError, ValueError, MemoryError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(
            f"{name}: page {number} cannot be drawn ({error}); open the PDF in a viewer and print it to a new one"
        ) from error
    return PageImage(source, number, image, words)


def _flat_page(document: PdfDocument, index: int) -> PdfPage:
    """Return the page with filled-in form fields and notes as part of its text."""
    import pypdfium2.raw as raw

    page = document.get_page(index)
    if raw.FPDFPage_GetAnnotCount(page) > 0 and raw.FPDFPage_Flatten(page, raw.FLAT_NORMALDISPLAY) == 1:
        page.close()
        page = document.get_page(index)
    return page


def _page_scale(size_wh: tuple[float, float], name: str, settings: Settings) -> float:
    """Return pixels per point, lowered where the page would exceed ``max_megapixels``."""
    width, height = size_wh
    if not (math.isfinite(width * height) and width > 0 and height > 0):
        raise InputError(f"{name} has no size; open the PDF in a viewer and print it to a new one")
    scale = settings.pdf_dpi / _POINTS_PER_INCH
    limit = math.sqrt(settings.max_megapixels * 1e6 / (width * height))
    if scale <= limit:
        return scale
    if limit * _POINTS_PER_INCH < _MIN_DPI:
        inches = f"{width / _POINTS_PER_INCH:.0f} x {height / _POINTS_PER_INCH:.0f} inches"
        raise InputError(
            f"{name} measures {inches}, too much for max_megapixels = {settings.max_megapixels:g}; "
            "cut out the table or raise max_megapixels"
        )
    _logger.warning("%s is large: drawn at %.0f dpi instead of %d", name, limit * 72, settings.pdf_dpi)
    return limit


def _read_words(page: PdfPage, text_page: PdfTextPage, image: Image) -> tuple[Word, ...] | None:
    n_characters = text_page.count_chars()
    if not 0 < n_characters <= _MAX_CHARACTERS:
        return None
    to_pixels = _page_to_pixels(page, image)
    drawn, n_hidden = _read_characters(text_page, n_characters, to_pixels)
    glyphs = [character for character in drawn if character.text.strip()]
    if not glyphs or n_hidden > len(glyphs):
        return None
    if sum(_is_unmapped(glyph.text) for glyph in glyphs) > _MAX_UNMAPPED * len(glyphs):
        return None
    if _is_scan(page, glyphs, image):
        return None
    words = [_join(piece) for piece in split_at_gaps(_share_ligatures(drawn))]
    return tuple(word for word in words if _is_seen(word, image)) or None


def _page_to_pixels(page: PdfPage, image: Image) -> Array:
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


def _read_characters(text_page: PdfTextPage, n_characters: int, to_pixels: Array) -> tuple[list[_Character], int]:
    """Return the visible characters in the order of the page, and the number of invisible ones."""
    import pypdfium2.raw as raw

    characters: list[_Character] = []
    n_hidden = 0
    for index in range(n_characters):
        text = _character_text(text_page, index, raw)
        if raw.FPDFText_IsGenerated(text_page, index) == 1 or not text.strip():
            # Size 0: a separator whose place is that of its neighbours.
            characters.append(_Character("\n" if text in "\r\n" else " ", (1.0, 0.0), 0.0, 0.0, 0.0, 0.0))
            continue
        text_object = raw.FPDFText_GetTextObject(text_page, index)
        if text_object and raw.FPDFTextObj_GetTextRenderMode(text_object) == _INVISIBLE:
            n_hidden += 1
            continue
        character = _place(text_page, index, text, to_pixels, raw)
        if character is not None:
            characters.append(character)
    return characters, n_hidden


def _character_text(text_page: PdfTextPage, index: int, raw: Any) -> str:
    code = raw.FPDFText_GetUnicode(text_page, index)
    if raw.FPDFText_IsHyphen(text_page, index) == 1 or code == 0xAD:
        return "-"
    if raw.FPDFText_HasUnicodeMapError(text_page, index) == 1 or 0xD800 <= code < 0xE000 or code > 0x10FFFF:
        return "\ufffd"
    text = chr(code)
    return "\ufffd" if unicodedata.category(text) == "Cc" and not text.isspace() else text


def _place(text_page: PdfTextPage, index: int, text: str, to_pixels: Array, raw: Any) -> _Character | None:
    matrix, box, x, y = raw.FS_MATRIX(), raw.FS_RECTF(), c_double(), c_double()
    placed = (
        raw.FPDFText_GetMatrix(text_page, index, matrix)
        and raw.FPDFText_GetCharOrigin(text_page, index, x, y)
        and raw.FPDFText_GetLooseCharBox(text_page, index, box)
    )
    (xx, xy, x0), (yx, yy, y0) = to_pixels.tolist()
    along = (xx * matrix.a + xy * matrix.b, yx * matrix.a + yy * matrix.b)
    length = math.hypot(*along)
    area = abs(matrix.a * matrix.d - matrix.b * matrix.c) * abs(xx * yy - xy * yx)
    size = raw.FPDFText_GetFontSize(text_page, index) * math.sqrt(area)
    if not placed or not length or not size:
        return None
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
    return _Character(text, (u, v), size, start, end, baseline)


def _is_unmapped(text: str) -> bool:
    return text == "\ufffd" or unicodedata.category(text) in ("Co", "Cn")


def _is_scan(page: PdfPage, glyphs: Sequence[_Character], image: Image) -> bool:
    """Whether pictures cover most of the page and its text is no more than a stamp or a page number."""
    import pypdfium2.raw as raw

    height, width = image.shape[:2]
    text_area = sum((glyph.end - glyph.start) * glyph.size for glyph in glyphs)
    if text_area >= _MIN_TEXT_AREA * width * height:
        return False
    picture_area = 0.0
    for picture in page.get_objects(filter=[raw.FPDF_PAGEOBJ_IMAGE], max_depth=3):
        left, bottom, right, top = picture.get_bounds()
        picture_area += max(0.0, right - left) * max(0.0, top - bottom)
    page_width, page_height = page.get_size()
    return picture_area >= _SCAN_AREA * page_width * page_height


def _share_ligatures(characters: Sequence[_Character]) -> list[_Character]:
    """Give each letter of a ligature its share of the one glyph; PDFium gives all of them the whole."""
    shared: list[_Character] = []
    for _, group in groupby(characters, key=lambda c: (c.start, c.end, c.baseline, c.size)):
        letters = list(group)
        if len(letters) > 1 and letters[0].size:
            edges = np.linspace(letters[0].start, letters[0].end, len(letters) + 1).tolist()
            letters = [
                replace(letter, start=start, end=end)
                for letter, start, end in zip(letters, edges[:-1], edges[1:], strict=True)
            ]
        shared += letters
    return shared


def split_at_gaps(characters: Sequence[_Character]) -> list[list[_Character]]:
    """Split characters at line ends, wide gaps and turns, so that no piece spans two columns.

    Spaces inside a piece stay, one at a time, as wide as the gap that they fill.
    """
    pieces: list[list[_Character]] = []
    space, line_ends = False, True
    for character in characters:
        if not character.size:
            space, line_ends = True, line_ends or character.text == "\n"
            continue
        last = None if line_ends else pieces[-1][-1]
        if last is None or not _continues(last, character):
            pieces.append([character])
        else:
            if space:
                start, end = sorted((last.end, character.start))
                pieces[-1].append(_Character(" ", last.direction, last.size, start, end, last.baseline))
            pieces[-1].append(character)
        space = line_ends = False
    return pieces


def _continues(last: _Character, character: _Character) -> bool:
    size = max(last.size, character.size)
    same_direction = sum(a * b for a, b in zip(last.direction, character.direction, strict=True)) > 0.99
    gap = character.start - last.end
    shift = abs(character.baseline - last.baseline)
    return same_direction and abs(gap) <= _WIDE_GAP * size and shift <= _BASELINE_SHIFT * size


def _join(piece: Sequence[_Character]) -> Word:
    u, v = piece[0].direction
    left, right = min(c.start for c in piece), max(c.end for c in piece)
    top = min(c.baseline - _ASCENT * c.size for c in piece)
    bottom = max(c.baseline + _DESCENT * c.size for c in piece)
    width = max(right - left, 1e-6)

    def to_point(along: float, across: float) -> tuple[float, float]:
        return along * u - across * v, along * v + across * u

    quad: Quad = (to_point(left, top), to_point(right, top), to_point(right, bottom), to_point(left, bottom))
    spans = tuple(((c.start - left) / width, (c.end - left) / width) for c in piece)
    return Word("".join(c.text for c in piece), quad, 1.0, spans)


def _is_seen(word: Word, image: Image) -> bool:
    """Whether anything is drawn where the word is: white text, hidden layers and text off the page are not seen."""
    corners = np.array(word.quad)
    height, width = image.shape[:2]
    left, top = np.floor(corners.min(axis=0)).astype(int).clip(0, (width, height))
    right, bottom = np.ceil(corners.max(axis=0)).astype(int).clip(0, (width, height))
    patch = image[top:bottom, left:right]
    return bool(patch.size) and int(np.ptp(patch)) >= _MIN_CONTRAST
