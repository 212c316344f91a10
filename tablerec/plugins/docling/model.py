"""The model that docling makes, asks for the tables of pages, and puts into its documents."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from pathlib import Path

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
from docling_core.types.doc import DocItemLabel

from postprocess.word import Unplaced
from tablerec import Page as TablerecPage
from tablerec import PageImage, Recognizer
from tablerec.errors import TablerecError
from tablerec.plugins.docling.options import DOCLING, TablerecOptions
from tablerec.plugins.docling.pictures import Found, found_by_docling, found_in_page, read_page
from tablerec.plugins.docling.tables import to_docling

_LABELS = (DocItemLabel.TABLE, DocItemLabel.DOCUMENT_INDEX)

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
        if enabled:
            self._recognizer = Recognizer(self.settings)

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
        clusters = [each for each in clusters if each.label in _LABELS]
        drawn = self._page_of_document(conv_res, page) if clusters and self.options.reads_documents else None
        sure = []
        for number, cluster in enumerate(clusters, start=1):
            name = f"{conv_res.input.file}: page {page.page_no}, table {number}"
            try:
                found = self._find(str(conv_res.input.file), page, cluster, drawn)
                read = self._recognizer.recognize(found.picture).pages[0]
                table = None
                if read.tables:
                    table = to_docling(read.tables[0], found.crop, cluster, page.page_no, read.turn)
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
            for text, reason in _left_out(read, found.hidden):
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

    def _find(self, source: str, page: Page, cluster: Cluster, drawn: PageImage | None) -> Found:
        if drawn is not None:
            return found_in_page(drawn, page, cluster)
        return found_by_docling(source, page, cluster, takes_ocr=self.options.ocr == DOCLING)

    def _page_of_document(self, conv_res: ConversionResult, page: Page) -> PageImage | None:
        try:
            return read_page(conv_res, page, self.settings, self._recognizer.ocr)
        except TablerecError as error:
            _log.warning("page %d: %s; docling's picture and text are taken instead", page.page_no, error)
            return None


def _left_out(read: TablerecPage, hidden: Sequence[Unplaced]) -> Iterator[tuple[str, str]]:
    """Text of a table that docling does not get from us, and why."""
    for item in (*read.unplaced, *hidden):
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
