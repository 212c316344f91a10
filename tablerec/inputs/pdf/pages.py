"""The pages of a PDF: drawn pictures and the words of the text layer, in the same pixels."""

from __future__ import annotations

import io
import logging
import math
import os
from collections.abc import Iterator
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from postprocess.word import UNREAD, Unplaced
from tablerec.config import Settings
from tablerec.errors import InputError
from tablerec.inputs.passwords import password_error
from tablerec.inputs.pdf.glyphs import UNMAPPED, VISIBLE
from tablerec.inputs.pdf.process import Renderer, RenderError, give_back, take_renderer
from tablerec.inputs.pdf.shapes import doubtful_fonts
from tablerec.inputs.pdf.words import HIDDEN, SHOWN, WATERMARK, find_watermarks, glyphs_to_pieces
from tablerec.result import PageImage, TextLayer

_POINTS_PER_INCH = 72
_MIN_DPI = 36
"""Below this a page of text cannot be read, so a larger page is refused."""
_MAX_UNMAPPED = 0.1
"""With a larger share of characters without a meaning, the text layer is not used."""
_BYTES_PER_PIXEL = 16
"""Of the largest page: the pictures that are compared."""
_UPRIGHT = 0.7
"""Cosine from which a glyph stands upright, and the share of such glyphs on an upright page."""

_logger = logging.getLogger(__name__)


def pdf_pages(file: BinaryIO, source: str, name: str, settings: Settings, first: int = 1) -> Iterator[PageImage]:
    """Draw the pages of a PDF, one at a time, and read their text layers.

    Args:
        file: The document, readable and seekable.
        source: Name of the input that the pages carry.
        name: The same name as messages show it.
        settings: ``pages``, ``pdf_dpi``, ``max_megapixels``, ``max_page_seconds``, ``max_page_memory``,
            ``password`` and ``text_layer`` count here. A page that would be larger than ``max_megapixels`` is drawn
            at a lower resolution, and the log says so.
        first: Number of the page to begin with.

    Yields:
        A picture for each page. Its words are those of the text layer that the page shows, or None where there are
        none or they have no meaning; ``layer`` has what else is known of the text.

    Raises:
        InputError: The document or a page is broken, encrypted, empty, too large, or takes more time or memory to
            draw than the settings allow.
    """
    renderer = take_renderer()
    try:
        n_pages = _open(renderer, file, name, settings)
        known_fonts: set[int] = set()
        for number in settings.page_numbers.within(n_pages, name):
            if number >= first:
                yield _read_page(renderer, number, source, name, settings, known_fonts)
    finally:
        give_back(renderer)


def pdf_page_numbers(file: BinaryIO, name: str, settings: Settings) -> list[int]:
    """Return the numbers of the pages that ``pdf_pages`` would draw.

    Args:
        file: See ``pdf_pages``.
        name: See ``pdf_pages``.
        settings: See ``pdf_pages``.

    Raises:
        InputError: The document cannot be opened, or has none of the pages that are asked for.
    """
    renderer = take_renderer()
    try:
        return settings.page_numbers.within(_open(renderer, file, name, settings), name)
    finally:
        give_back(renderer)


def _open(renderer: Renderer, file: BinaryIO, name: str, settings: Settings) -> int:
    path = _path_of(file)
    memory = int(settings.max_page_memory * 2**30 + _BYTES_PER_PIXEL * settings.max_megapixels * 1e6)
    request = {"open": path, "password": settings.password, "memory": memory}
    try:
        answer, _ = renderer.ask(request, [] if path else [np.frombuffer(file.read(), np.uint8)])
    except RenderError as error:
        if error.kind == "password":
            raise password_error(name, settings.password) from error
        raise InputError(f"{name}: {_refusal(error, settings)}") from error
    except OSError as error:
        raise InputError(f"{name}: cannot be read ({error.strerror}); copy it and try again") from error
    return int(answer["n_pages"])


def _path_of(file: BinaryIO) -> str | None:
    """Where a document lies, so that the other process opens it; None for one that is in memory."""
    path = getattr(file, "name", None)
    if isinstance(file, io.BytesIO) or not isinstance(path, (str, bytes, os.PathLike)):
        return None
    path = os.path.abspath(os.fsdecode(path))
    try:
        path.encode()
    except UnicodeEncodeError:
        return None
    return path if os.path.isfile(path) else None


def _refusal(error: RenderError, settings: Settings) -> str:
    return {
        "time": f"opening it takes too long; {_REPAIR}",
        "memory": f"opening it takes more memory than max_page_memory = {settings.max_page_memory:g} GiB; {_REPAIR}",
    }.get(error.kind, "broken or incomplete PDF; open it in a viewer and save it again")


_REPAIR = "open it in a viewer and print it to a new one"


def _read_page(
    renderer: Renderer, number: int, source: str, name: str, settings: Settings, known_fonts: set[int]
) -> PageImage:
    page = f"{name}: page {number}"
    try:
        answer, _ = renderer.ask({"size": number - 1})
        scale = _page_scale(answer["size_wh"], page, settings)
        request = {"draw": number - 1, "scale": scale}
        _, (image, glyphs, areas, rest) = renderer.ask(request, seconds=settings.max_page_seconds)
    except RenderError as error:
        if error.kind == "time":
            raise InputError(
                f"{page} takes longer to draw than max_page_seconds = {settings.max_page_seconds:g}; "
                f"{_REPAIR}, or raise max_page_seconds"
            ) from error
        if error.kind == "memory":
            raise InputError(
                f"{page} takes more memory to draw than max_page_memory = {settings.max_page_memory:g} GiB "
                f"({error.reason}); {_REPAIR}, or raise max_page_memory"
            ) from error
        raise InputError(f"{page} cannot be drawn ({error.reason}); {_REPAIR}") from error
    if settings.text_layer == "ignore":
        return PageImage(source, number, image)
    if settings.text_layer == "use":
        glyphs["shown"] = 1.0
        return PageImage(source, number, image, tuple(piece.word for piece in glyphs_to_pieces(glyphs)) or None)
    pieces = glyphs_to_pieces(glyphs)
    marks = find_watermarks(pieces)
    shown = [piece for piece in pieces if piece.is_shown and piece not in marks]
    layer = TextLayer(
        fonts=tuple(piece.font for piece in shown),
        doubtful_fonts=doubtful_fonts(glyphs, image, known_fonts),
        hidden=tuple(Unplaced(piece.word, HIDDEN) for piece in pieces if not piece.is_shown)
        + tuple(Unplaced(piece.word, WATERMARK) for piece in marks),
        areas=areas,
        rest=rest,
        is_upright=_is_upright(glyphs),
    )
    words = tuple(piece.word for piece in shown)
    return PageImage(source, number, image, words if _have_meaning(glyphs) else None, layer)


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


def _have_meaning(glyphs: NDArray[Any]) -> bool:
    """Whether the page shows glyphs, and most of them have a character."""
    codes = glyphs["code"][(glyphs["kind"] == VISIBLE) & ~(glyphs["shown"] < SHOWN)]
    return len(codes) > 0 and (codes == UNMAPPED).mean() <= _MAX_UNMAPPED


def _is_upright(glyphs: NDArray[Any]) -> bool:
    seen = glyphs[glyphs["kind"] == VISIBLE]
    return len(seen) > 0 and float((seen["u"] > _UPRIGHT).mean()) > _UPRIGHT


assert chr(UNMAPPED) == UNREAD
