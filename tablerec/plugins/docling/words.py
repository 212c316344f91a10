"""The text that docling knows of a page, as words in the picture of a table."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from docling.datamodel.base_models import Cluster, Page
from docling_core.types.doc import BoundingBox
from docling_core.types.doc.page import TextCell

from postprocess.arrays import Floats
from postprocess.geometry.boxes import array_to_quad
from postprocess.word import Word

_INVISIBLE = (3, 7)
"""Text rendering modes of PDF that draw nothing."""


@dataclass(frozen=True, slots=True)
class Crop:
    """A part of a page as a picture.

    Args:
        box: The part, in docling's units with the origin at the top left.
        width: Of the picture in pixels.
        height: Of the picture in pixels.
    """

    box: BoundingBox
    width: int
    height: int

    @property
    def scale(self) -> Floats:
        """``(2,)`` pixels for each unit of docling, across and down."""
        return np.array([self.width / (self.box.r - self.box.l), self.height / (self.box.b - self.box.t)])

    @property
    def origin(self) -> Floats:
        """``(2,)`` where the picture begins, in docling's units."""
        return np.array([self.box.l, self.box.t])

    def to_pixels(self, points: Floats) -> Floats:
        """``(N, 2)`` points of the page, in the picture."""
        return np.asarray((points - self.origin) * self.scale, np.float64)

    def to_page(self, points: Floats) -> Floats:
        """``(N, 2)`` points of the picture, on the page."""
        return np.asarray(points / self.scale + self.origin, np.float64)


def text_of_document(page: Page, cluster: Cluster) -> tuple[list[TextCell], list[TextCell]]:
    """The pieces of text in a table that the document itself holds: its words, or its lines where there are no words.

    Returns:
        Those that the page shows, and those that are there and draw nothing, as in a searchable scan.
    """
    assert page.size is not None
    words = page.parsed_page.word_cells if page.parsed_page is not None else []
    inside = [cell for cell in words if _is_written(cell) and _is_inside(cell, cluster.bbox, page.size.height)]
    written = inside or list(filter(_is_written, cluster.cells))
    return [cell for cell in written if _is_shown(cell)], [cell for cell in written if not _is_shown(cell)]


def text_of_ocr(cluster: Cluster) -> list[TextCell]:
    """The lines of a table that docling's OCR engine has read."""
    return [cell for cell in cluster.cells if cell.from_ocr and cell.text.strip()]


def cell_to_word(cell: TextCell, crop: Crop, page_height: float) -> Word:
    """A piece of text at its place in the picture.

    docling counts the corners of text from the start of its lower side, and some of its OCR engines from that of the
    upper side: here they are TL, TR, BR, BL in reading direction.
    """
    rect = cell.rect.to_top_left_origin(page_height)
    corners = np.array([(p.x, p.y) for p in rect.to_polygon()], np.float64)
    (along_x, along_y), (up_x, up_y) = corners[1] - corners[0], corners[3] - corners[0]
    if along_x * up_y - along_y * up_x < 0:
        corners = corners[[3, 2, 1, 0]]
    score = min(max(float(cell.confidence), 0.0), 1.0)
    return Word(cell.text.strip().replace("\x02", "-"), array_to_quad(crop.to_pixels(corners)), score)


def _is_written(cell: TextCell) -> bool:
    return bool(cell.text.strip()) and not cell.from_ocr


def _is_shown(cell: TextCell) -> bool:
    return getattr(cell, "rendering_mode", None) not in _INVISIBLE


def _is_inside(cell: TextCell, box: BoundingBox, page_height: float) -> bool:
    inner = cell.rect.to_top_left_origin(page_height).to_bounding_box()
    outer = box.to_top_left_origin(page_height)
    x, y = (inner.l + inner.r) / 2, (inner.t + inner.b) / 2
    return bool(outer.l <= x <= outer.r and outer.t <= y <= outer.b)
