"""Our tables as docling's."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from docling.datamodel.base_models import Cluster
from docling.datamodel.base_models import Table as DoclingTable
from docling_core.types.doc import BoundingBox, TableCell

from postprocess.cell import Cell, HeaderKind
from postprocess.table import Table, flatten
from tablerec.plugins.docling.words import Crop

_TOKENS: dict[HeaderKind, str] = {"column": "ched", "row": "rhed", "section": "srow"}


def to_docling(table: Table, crop: Crop, cluster: Cluster, page_no: int, turn: int = 0) -> DoclingTable:
    """Write a table as docling does: columns from the left, texts of tables in cells as lines of these.

    Args:
        table: In pixels of the picture.
        crop: Where the picture is on the page.
        cluster: Where docling has found the table.
        page_no: Number of its page.
        turn: Degrees clockwise by which the picture was turned to be read.
    """
    shown = flatten(table).from_left()
    # Later versions of docling also say how a table lies on its page, in degrees counterclockwise.
    lies = {"orientation": f"rot_{turn}"} if turn and "orientation" in DoclingTable.model_fields else {}
    return DoclingTable(
        otsl_seq=list(_tokens(shown)),
        table_cells=[_to_cell(cell, crop) for cell in shown.cells],
        num_rows=shown.n_rows,
        num_cols=shown.n_cols,
        id=cluster.id,
        page_no=page_no,
        cluster=cluster,
        label=cluster.label,
        **lies,
    )


def _to_cell(cell: Cell, crop: Crop) -> TableCell:
    return TableCell(
        bbox=None if cell.quad is None else _to_box(np.array(cell.quad, np.float64), crop),
        row_span=cell.rowspan,
        col_span=cell.colspan,
        start_row_offset_idx=cell.row,
        end_row_offset_idx=cell.end_row,
        start_col_offset_idx=cell.col,
        end_col_offset_idx=cell.end_col,
        text=cell.text,
        column_header=cell.header == "column",
        row_header=cell.header == "row",
        row_section=cell.header == "section",
    )


def _to_box(corners: np.ndarray, crop: Crop) -> BoundingBox:
    on_page = crop.to_page(corners)
    (left, top), (right, bottom) = on_page.min(axis=0).tolist(), on_page.max(axis=0).tolist()
    return BoundingBox(l=left, t=top, r=right, b=bottom)


def _tokens(table: Table) -> Iterator[str]:
    """The table as OTSL: a token for each slot, and one at the end of each row."""
    for row in range(table.n_rows):
        for col in range(table.n_cols):
            cell = table[row, col]
            if row > cell.row:
                yield "xcel" if col > cell.col else "ucel"
            elif col > cell.col:
                yield "lcel"
            elif cell.header is not None:
                yield _TOKENS[cell.header]
            else:
                yield "fcel" if cell.text else "ecel"
        yield "nl"
