"""A table as the editor in the browser wants it."""

from __future__ import annotations

import math
from typing import Any

from postprocess.cell import Cell
from postprocess.editing.axes import directions, reading_quads
from postprocess.meaning.roles import stub_width
from postprocess.preview import MARK_BELOW
from postprocess.table import Table, inner_text


def table_to_view(table: Table, size_wh: tuple[int, int]) -> dict[str, Any]:
    """Return what the editor draws, ready for JSON.

    Args:
        table: With a place for each cell.
        size_wh: Width and height of the picture, px.

    >>> from postprocess.editing.placing import complete
    >>> view = table_to_view(complete(Table.from_texts([["a"]]), (40, 20)), (40, 20))
    >>> view["n_rows"], view["cells"][0]["quad"]
    (1, [0.0, 0.0, 40.0, 0.0, 40.0, 20.0, 0.0, 20.0])
    """
    corners = reading_quads(table).reshape(-1, 8).round(2).tolist()
    return {
        "size": list(size_wh),
        "n_rows": table.n_rows,
        "n_cols": table.n_cols,
        "n_header_rows": table.n_header_rows,
        "n_header_cols": stub_width(table),
        "mark_below": MARK_BELOW,
        "direction": table.direction,
        "directions": {axis: vector.tolist() for axis, vector in directions(table).items()},
        "cells": [_cell_to_view(cell, quad) for cell, quad in zip(table.cells, corners, strict=True)],
    }


def _cell_to_view(cell: Cell, quad: list[float]) -> dict[str, Any]:
    return {
        "row": cell.row,
        "col": cell.col,
        "rowspan": cell.rowspan,
        "colspan": cell.colspan,
        "quad": quad,
        "text": cell.text,
        "inside": inner_text(cell),
        "header": cell.header,
        "confidence": _finite(cell.confidence),
        "detector": _finite(cell.detector_score),
        "ocr": _finite(cell.ocr_score),
    }


def _finite(score: float | None) -> float | None:
    return None if score is None or not math.isfinite(score) else round(float(score), 3)
