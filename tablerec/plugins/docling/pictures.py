"""Tables as pictures with words: as docling draws a page and knows its text, or as tablerec reads the document."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from docling.datamodel.base_models import Cluster, InputFormat, Page
from docling.datamodel.document import ConversionResult
from docling_core.types.doc import BoundingBox

from postprocess.arrays import Image
from postprocess.word import Unplaced, Word
from tablerec import PageImage, Settings
from tablerec.errors import InputError
from tablerec.inputs.images import load_pages
from tablerec.inputs.pdf.words import HIDDEN
from tablerec.inputs.text_layer import hidden_words, trust_layer
from tablerec.plugins.docling.words import Crop, cell_to_word, text_of_document, text_of_ocr
from tablerec.result import move_word

if TYPE_CHECKING:
    from tablerec.ocr import OcrEngine

_POINTS = 72.0
"""docling's units in an inch."""
_MARGIN = 2.0
"""Units around a table: its outer rulings lie on the edge of what docling has found."""

_ALIKE = 0.02
"""By which share the proportions of a page may differ."""


@dataclass(frozen=True, slots=True)
class Found:
    """A table that docling has found.

    Args:
        crop: Where its picture is on the page.
        picture: The picture and its words; None where it has to be read.
        hidden: Text that is there and not shown.
    """

    crop: Crop
    picture: PageImage
    hidden: Sequence[Unplaced]


def found_by_docling(source: str, page: Page, cluster: Cluster, *, takes_ocr: bool) -> Found:
    """A table as docling draws it, with what docling knows of its text.

    Args:
        source: Name of the document.
        page: With its backend.
        cluster: The table.
        takes_ocr: Whether a picture has the words that docling's OCR engine has read.

    Raises:
        InputError: The table is not on the page, or the page cannot be drawn.
    """
    assert page.size is not None
    crop, image = _draw(page, _box_around(page, cluster, _scale(page)))
    shown, hidden = text_of_document(page, cluster)
    words = None
    if shown or takes_ocr:
        # Between the words of a document docling's OCR engine has read what is a picture.
        words = tuple(cell_to_word(cell, crop, page.size.height) for cell in shown + text_of_ocr(cluster))
    # Where no words are shown it is a scan, whose hidden text is another reading.
    lost = [Unplaced(cell_to_word(cell, crop, page.size.height), HIDDEN) for cell in hidden if shown]
    return Found(crop, PageImage(source, page.page_no, image, words), lost)


def read_page(result: ConversionResult, page: Page, settings: Settings, ocr: OcrEngine) -> PageImage | None:
    """A page of a PDF as tablerec draws it, with those words of its text layer that can be trusted.

    Args:
        result: Of the document.
        page: One of its pages.
        settings: How PDFs are drawn.
        ocr: Reads what can only be judged by reading.

    Returns:
        The page; None where the document is no PDF.

    Raises:
        InputError: The page cannot be read, or is not the part that docling shows.
    """
    if result.input.format != InputFormat.PDF:
        return None
    source = result.input._backend.path_or_stream
    # Others may be reading from the stream: its position must stay.
    content = source.getvalue() if isinstance(source, io.BytesIO) else source
    (picture,) = load_pages(content, replace(settings, pages=str(page.page_no)))
    assert page.size is not None
    height, width = picture.image.shape[:2]
    if abs(width * page.size.height / (height * page.size.width) - 1) > _ALIKE:
        raise InputError(
            f"docling's page is {page.size.width:.0f} x {page.size.height:.0f}, ours has the sides {width} x {height}: "
            "choose text='docling' for this document"
        )
    return trust_layer(picture, ocr)


def found_in_page(picture: PageImage, page: Page, cluster: Cluster) -> Found:
    """A table of a page that tablerec has read.

    Raises:
        InputError: The table is not on the page.
    """
    assert page.size is not None
    height, width = picture.image.shape[:2]
    across, down = width / page.size.width, height / page.size.height
    box = _box_around(page, cluster, across)
    left, top = round(box.l * across), round(box.t * down)
    right, bottom = round(box.r * across), round(box.b * down)
    crop = Crop(
        BoundingBox(l=left / across, t=top / down, r=right / across, b=bottom / down), right - left, bottom - top
    )
    inside = cluster.bbox.to_top_left_origin(page.size.height)
    corners = np.array([[inside.l, inside.t], [inside.r, inside.b]]) * [across, down]

    def is_inside(word: Word) -> bool:
        middle = np.mean(word.quad, axis=0)
        return bool((corners[0] <= middle).all() and (middle <= corners[1]).all())

    def moved(word: Word) -> Word:
        return move_word(word, lambda points: points - np.array([left, top]))

    words = picture.words and tuple(moved(word) for word in picture.words if is_inside(word))
    lost = [replace(item, word=moved(item.word)) for item in hidden_words(picture) if is_inside(item.word)]
    image = np.ascontiguousarray(picture.image[top:bottom, left:right])
    return Found(crop, PageImage(picture.source, picture.number, image, words or None), lost if words else [])


def _box_around(page: Page, cluster: Cluster, scale: float) -> BoundingBox:
    """The part of a page that is drawn, from one whole pixel to another, so that it begins where it is said to."""
    assert page.size is not None
    inside = cluster.bbox.to_top_left_origin(page.size.height)
    left, top = (max(np.floor((side - _MARGIN) * scale) / scale, 0.0) for side in (inside.l, inside.t))
    right = min(np.ceil((inside.r + _MARGIN) * scale) / scale, page.size.width)
    bottom = min(np.ceil((inside.b + _MARGIN) * scale) / scale, page.size.height)
    if right - left <= 2 * _MARGIN or bottom - top <= 2 * _MARGIN:
        raise InputError(f"the table that docling has found is not on the page: {inside.as_tuple()}; check its layout")
    return BoundingBox(l=left, t=top, r=right, b=bottom)


def _draw(page: Page, box: BoundingBox) -> tuple[Crop, Image]:
    picture = page.get_image(scale=_scale(page), cropbox=box)
    if picture is None:
        raise InputError("docling has no picture of the page; keep its backend until tables are read")
    return Crop(box, *picture.size), np.ascontiguousarray(np.asarray(picture.convert("RGB"))[..., ::-1])


def _scale(page: Page) -> float:
    """Pixels for each of docling's units: those of a picture as it was given, else as tablerec itself draws PDFs."""
    assert page.size is not None
    given = getattr(page._backend, "_image", None)
    return given.width / page.size.width if given is not None else Settings().pdf_dpi / _POINTS
