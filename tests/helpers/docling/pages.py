"""Pages as docling hands them over: a picture, the text that it knows, and where it has found tables."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any

import numpy as np
from docling.backend.image_backend import ImageDocumentBackend
from docling.datamodel.base_models import Cluster, InputFormat, LayoutPrediction, Page
from docling.datamodel.document import ConversionResult, InputDocument
from docling_core.types.doc import BoundingBox, DocItemLabel, TableItem
from docling_core.types.doc.document import DoclingDocument, TableData
from docling_core.types.doc.page import BoundingRectangle, PdfTextCell, TextCell
from PIL import Image

from postprocess.word import Word


class DrawnPage:
    """A page that is drawn at the scale that is asked for, as a PDF is."""

    def __init__(self, picture: Image.Image, scale: float) -> None:
        self.picture, self.scale = picture, scale

    def is_valid(self) -> bool:
        return True

    def get_page_image(self, scale: float = 1, cropbox: BoundingBox | None = None) -> Image.Image:
        width, height = self.picture.width / self.scale, self.picture.height / self.scale
        box = cropbox or BoundingBox(l=0, t=0, r=width, b=height)
        size = round((box.r - box.l) * scale), round((box.b - box.t) * scale)
        return self.picture.resize(size, Image.Resampling.BICUBIC, box.scaled(self.scale).as_tuple())


def make_page(image: np.ndarray, clusters: Sequence[Cluster], scale: float | None = None) -> Page:
    """One page without text: a picture file, or, where a scale is given, drawn at so many pixels for each unit."""
    picture = Image.fromarray(image[..., ::-1])
    backend = _image_document(picture)._backend.load_page(0)
    page = Page(page_no=1, size=backend.get_size())
    page.parsed_page = backend.get_segmented_page()
    page._backend = backend
    if scale is not None:
        page._backend = DrawnPage(picture, scale)
        page.size = page.size.model_copy(update={"width": picture.width / scale, "height": picture.height / scale})
    page.predictions.layout = LayoutPrediction(clusters=list(clusters))
    return page


def make_result() -> ConversionResult:
    """What docling writes its findings into."""
    return ConversionResult(input=_image_document(Image.new("RGB", (8, 8))))


def _image_document(picture: Image.Image) -> InputDocument:
    stream = io.BytesIO()
    picture.save(stream, "PNG")
    stream.seek(0)
    return InputDocument(
        path_or_stream=stream, filename="page.png", format=InputFormat.IMAGE, backend=ImageDocumentBackend
    )


def open_pdf(content: bytes, clusters: Sequence[Cluster], number: int = 1) -> tuple[ConversionResult, Page]:
    """A page of a PDF with what docling knows of its text through PDFium: lines, no words."""
    from docling.backend.pypdfium2_backend import PyPdfiumDocumentBackend

    document = InputDocument(
        path_or_stream=io.BytesIO(content), filename="file.pdf", format=InputFormat.PDF, backend=PyPdfiumDocumentBackend
    )
    backend = document._backend.load_page(number - 1)
    page = Page(page_no=number, size=backend.get_size())
    page._backend = backend
    page.parsed_page = backend.get_segmented_page()
    for cluster in clusters:
        cluster.cells = [cell for cell in page.cells if _overlaps(cell, cluster.bbox, page.size.height)]
    page.predictions.layout = LayoutPrediction(clusters=list(clusters))
    return ConversionResult(input=document), page


def _overlaps(cell: TextCell, box: BoundingBox, height: float) -> bool:
    return cell.rect.to_top_left_origin(height).to_bounding_box().get_intersection_bbox(box) is not None


def make_cluster(
    box: tuple[float, float, float, float],
    cells: Sequence[TextCell] = (),
    number: int = 1,
    label: DocItemLabel = DocItemLabel.TABLE,
) -> Cluster:
    """A table at ``(left, top, right, bottom)``."""
    left, top, right, bottom = box
    return Cluster(id=number, label=label, bbox=BoundingBox(l=left, t=top, r=right, b=bottom), cells=list(cells))


def make_cell(word: Word, scale: float = 1.0, page_height: float | None = None, mode: int | None = None) -> TextCell:
    """A piece of text at its place.

    Args:
        word: In pixels of the page.
        scale: Pixels for each unit.
        page_height: In units; where it is given the origin is at the bottom left, as in a PDF, else at the top left.
        mode: Rendering mode of a PDF's text; without it OCR has read the text.
    """
    corners = np.array(word.quad)[[3, 2, 1, 0]] / scale
    if page_height is not None:
        corners[:, 1] = page_height - corners[:, 1]
    names = [f"r_{axis}{number}" for number in range(4) for axis in "xy"]
    rect = BoundingRectangle(
        **dict(zip(names, corners.ravel().tolist(), strict=True)),
        coord_origin="TOPLEFT" if page_height is None else "BOTTOMLEFT",
    )
    said: dict[str, Any] = {"rect": rect, "text": word.text, "orig": word.text}
    if mode is None:
        return TextCell(**said, from_ocr=True, confidence=word.score)
    return PdfTextCell(**said, from_ocr=False, rendering_mode=mode, widget=False, font_key="F1", font_name="Helvetica")


def to_html(table: Any) -> str:
    """A table of docling as its document exports it."""
    document = DoclingDocument(name="page")
    data = TableData(num_rows=table.num_rows, num_cols=table.num_cols, table_cells=table.table_cells)
    item: TableItem = document.add_table(data=data)
    return item.export_to_html(doc=document)
