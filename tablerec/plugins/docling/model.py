"""The model that docling makes, asks for the tables of pages, and puts into its documents."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from docling.datamodel.accelerator_options import AcceleratorOptions
from docling.datamodel.base_models import (
    Cluster,
    DoclingComponentType,
    ErrorItem,
    Page,
    Table,
    TableStructurePrediction,
)
from docling.datamodel.document import ConversionResult
from docling.models.base_table_model import BaseTableStructureModel
from docling.utils.profiling import TimeRecorder
from docling_core.types.doc import BoundingBox, DocItemLabel

from postprocess.word import Unplaced
from tablerec import Page as TablerecPage
from tablerec import PageImage, Recognizer, Settings
from tablerec.errors import InputError, TablerecError
from tablerec.inputs.pdf.words import HIDDEN
from tablerec.plugins.docling.options import OWN_OCR, TablerecOptions
from tablerec.plugins.docling.tables import to_docling
from tablerec.plugins.docling.words import Crop, cell_to_word, text_of_document, text_of_ocr

_LABELS = (DocItemLabel.TABLE, DocItemLabel.DOCUMENT_INDEX)
_POINTS = 72.0
"""docling's units in an inch."""
_MARGIN = 2.0
"""Units around a table: its outer rulings lie on the edge of what docling has found."""

_log = logging.getLogger(__name__)


class TablerecModel(BaseTableStructureModel):
    """tablerec behind docling's interface.

    Args:
        enabled: Whether documents are to have the structure of tables.
        artifacts_path: Folder of docling's models, which are not used.
        options: What users say.
        accelerator_options: Where models run.
        enable_remote_services: Not used: nothing leaves the machine.

    Raises:
        TablerecError: An option is not possible, or a model is missing.
    """

    def __init__(
        self,
        enabled: bool,
        artifacts_path: Path | None,
        options: TablerecOptions,
        accelerator_options: AcceleratorOptions,
        enable_remote_services: bool = False,
    ) -> None:
        self.enabled = enabled
        self.options = options
        self.settings = options.to_settings(accelerator_options)
        self._recognizer = Recognizer(self.settings) if enabled else None

    @classmethod
    def get_options_type(cls) -> type[TablerecOptions]:
        """The class of the options, by which docling finds this model."""
        return TablerecOptions

    def predict_tables(self, conv_res: ConversionResult, pages: Sequence[Page]) -> list[TableStructurePrediction]:
        """Read the tables that docling has found.

        Args:
            conv_res: The document, which is told of tables that could not be read.
            pages: With their layout.

        Returns:
            For each page its tables by the number of their cluster.
        """
        predictions = []
        for page in pages:
            found = page.predictions.tablestructure or TableStructurePrediction()
            if self.enabled and page._backend is not None and page._backend.is_valid():
                with TimeRecorder(conv_res, "table_structure"):
                    found = TableStructurePrediction(table_map=dict(self._tables(conv_res, page)))
            page.predictions.tablestructure = found
            predictions.append(found)
        return predictions

    def _tables(self, conv_res: ConversionResult, page: Page) -> Iterator[tuple[int, Table]]:
        clusters = page.predictions.layout.clusters if page.predictions.layout is not None else []
        sure = []
        for number, cluster in enumerate([each for each in clusters if each.label in _LABELS], start=1):
            name = f"{conv_res.input.file}: page {page.page_no}, table {number}"
            try:
                crop, read = self._read(str(conv_res.input.file), page, cluster)
                table = to_docling(read.tables[0], crop, cluster, page.page_no, read.turn) if read.tables else None
            except Exception as error:  # one table must not cost the page, or the document
                is_ours = isinstance(error, TablerecError)
                message = f"{name} has no structure: {error if is_ours else repr(error)}"
                _log.error(message, exc_info=not is_ours)
                conv_res.errors.append(
                    ErrorItem(
                        component_type=DoclingComponentType.MODEL,
                        module_name=type(self).__name__,
                        error_message=message,
                    )
                )
                continue
            for text, reason in _left_out(read):
                _log.warning("%s: %r is in no cell: %s", name, text, reason)
            if table is None:
                _log.warning("%s has no structure: no cells were found", name)
                continue
            if (confidence := read.tables[0].confidence) is not None:
                sure.append(confidence.table)
                if confidence.table < self.options.min_confidence:
                    _log.warning("%s is not sure (%.2f): %s", name, confidence.table, confidence.weakest)
            yield cluster.id, table
        if sure:
            conv_res.confidence.pages[page.page_no].table_score = float(np.mean(sure))

    def _read(self, source: str, page: Page, cluster: Cluster) -> tuple[Crop, TablerecPage]:
        """One table of a page, and where its picture is."""
        assert self._recognizer is not None and page.size is not None
        crop, image = _cut_out(page, cluster.bbox)
        shown, hidden = text_of_document(page, cluster)
        words = None
        if shown or self.options.ocr == OWN_OCR:
            # Between the words of a document docling's OCR engine has read what is a picture.
            words = tuple(cell_to_word(cell, crop, page.size.height) for cell in shown + text_of_ocr(cluster))
        read = self._recognizer.recognize(PageImage(source, page.page_no, image, words)).pages[0]
        if shown:  # else it is a scan, whose hidden text is another reading
            lost = [Unplaced(cell_to_word(cell, crop, page.size.height), HIDDEN) for cell in hidden]
            read = replace(read, unplaced=(*read.unplaced, *lost))
        return crop, read


def _left_out(read: TablerecPage) -> Iterator[tuple[str, str]]:
    """Text of a table that docling does not get from us, and why."""
    for item in read.unplaced:
        yield item.word.text, item.reason
    for table in read.tables[:1]:
        if table.title is not None:
            yield table.title.text, "it is the title"
        for note in table.notes:
            yield note.text, "it is a note"
    for table in read.tables[1:]:
        for cell in table.cells:
            if cell.text:
                yield cell.text, "it belongs to a table beside this one"


def _cut_out(page: Page, box: BoundingBox) -> tuple[Crop, Any]:
    """The part of a page around a table, and its ``(H, W, 3)`` uint8 BGR picture.

    Raises:
        InputError: The table is not on the page, or the page cannot be drawn.
    """
    assert page.size is not None
    width, height = page.size.width, page.size.height
    scale = _scale(page)
    inside = box.to_top_left_origin(height)
    # On whole pixels, so that the picture begins where it is said to.
    left, top = (max(np.floor((side - _MARGIN) * scale) / scale, 0.0) for side in (inside.l, inside.t))
    right = min(np.ceil((inside.r + _MARGIN) * scale) / scale, width)
    bottom = min(np.ceil((inside.b + _MARGIN) * scale) / scale, height)
    if right - left <= 2 * _MARGIN or bottom - top <= 2 * _MARGIN:
        raise InputError(f"the table that docling has found is not on the page: {inside.as_tuple()}; check its layout")
    part = BoundingBox(l=left, t=top, r=right, b=bottom)
    picture = page.get_image(scale=scale, cropbox=part)
    if picture is None:
        raise InputError("docling has no picture of the page; keep its backend until tables are read")
    return Crop(part, *picture.size), np.ascontiguousarray(np.asarray(picture.convert("RGB"))[..., ::-1])


def _scale(page: Page) -> float:
    """Pixels for each of docling's units: those of a picture as it was given, else as tablerec itself draws PDFs."""
    assert page.size is not None
    given = getattr(page._backend, "_image", None)
    return given.width / page.size.width if given is not None else Settings().pdf_dpi / _POINTS
