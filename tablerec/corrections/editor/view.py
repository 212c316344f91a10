"""A table as the editor in the browser wants it."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from postprocess.candidates.confidence import text_score
from postprocess.cell import Cell, is_moved
from postprocess.editing.axes import directions, reading_quads
from postprocess.editing.state import State
from postprocess.geometry.boxes import quads_to_boxes
from postprocess.meaning.roles import stub_width
from postprocess.preview import MARK_BELOW
from postprocess.table import Table, inner_text
from postprocess.word import Words
from tablerec.corrections.proof.doubts import structure_confidence


def state_to_view(state: State, size_wh: tuple[int, int], seen: Table | None = None) -> dict[str, Any]:
    """Return what the editor draws, ready for JSON: the table, and the words that are in no cell of it.

    Words of a title or note are not among them.

    Args:
        state: With a place for each cell.
        size_wh: Width and height of the picture, px.
        seen: What the page shows: then ``changed_cells``, ``moved`` and ``removed`` are in the place of ``cells``.
    """
    parts = state.outside
    words = Words(map(state.part, parts))
    middles = words.middles[:, None]
    beside = quads_to_boxes([caption.quad for caption in state.table.captions if caption.quad is not None])
    is_beside = np.any(np.all((beside[:, :2] <= middles) & (middles < beside[:, 2:]), axis=2), axis=1)
    shown = [
        {"index": part[0], "text": word.text, "quad": quad}
        for part, word, quad, hidden in zip(
            parts, words, words.quads.reshape(-1, 8).round(2).tolist(), np.atleast_1d(is_beside).tolist(), strict=True
        )
        if not hidden
    ]
    return {**table_to_view(state.table, size_wh, seen), "words": shown}


def table_to_view(table: Table, size_wh: tuple[int, int], seen: Table | None = None) -> dict[str, Any]:
    """Return what the editor draws, ready for JSON.

    Args:
        table: With a place for each cell.
        size_wh: Width and height of the picture, px.
        seen: See ``state_to_view``.

    >>> from postprocess.editing.placing import complete
    >>> view = table_to_view(complete(Table.from_texts([["a"]]), (40, 20)), (40, 20))
    >>> view["n_rows"], view["cells"][0]["quad"]
    (1, [0.0, 0.0, 40.0, 0.0, 40.0, 20.0, 0.0, 20.0])
    """
    corners = reading_quads(table).reshape(-1, 8).round(2).tolist()
    if seen is None or seen.direction != table.direction:
        cells = {"cells": [_cell_to_view(cell, quad) for cell, quad in zip(table.cells, corners, strict=True)]}
    else:
        cells = _changes(seen, table, corners)
    return {
        "size": list(size_wh),
        "n_rows": table.n_rows,
        "n_cols": table.n_cols,
        "n_header_rows": table.n_header_rows,
        "n_header_cols": stub_width(table),
        "mark_below": MARK_BELOW,
        "direction": table.direction,
        "title": table.title.text if table.title else "",
        "notes": [note.text for note in table.notes],
        "directions": {axis: vector.tolist() for axis, vector in directions(table).items()},
        **cells,
    }


def _changes(seen: Table, table: Table, corners: list[list[float]]) -> dict[str, list[Any]]:
    known = {(cell.row, cell.col): cell for cell in seen.cells}
    # A cell that only moved in the grid keeps its very place; from right to left it is mirrored, and equal.
    key: Callable[[Any], Any] = id if table.direction == "ltr" else lambda quad: quad
    by_place = {key(cell.quad): cell for cell in seen.cells}
    changed, moved = [], []
    for cell, quad in zip(table.cells, corners, strict=True):
        other, source = known.pop((cell.row, cell.col), None), by_place.get(key(cell.quad))
        if other is cell:
            continue
        if source is not None and is_moved(source, cell):
            if source is not other:
                moved.append([source.row, source.col, cell.row, cell.col])
        elif other != cell:
            changed.append(_cell_to_view(cell, quad))
    return {"changed_cells": changed, "moved": moved, "removed": [list(place) for place in known]}


def _cell_to_view(cell: Cell, quad: list[float]) -> dict[str, Any]:
    return {
        "row": cell.row,
        "col": cell.col,
        "rowspan": cell.rowspan,
        "colspan": cell.colspan,
        "quad": quad,
        "text": cell.text,
        "inside": inner_text(cell) if cell.tables else "",
        "header": cell.header,
        "confidence": _finite(cell.confidence),
        "detector": _finite(cell.detector_score),
        "ocr": _finite(cell.ocr_score),
        "text_confidence": None if cell.ocr_score is None else _finite(text_score(cell)),
        "structure_confidence": _finite(structure_confidence(cell)),
        "doubt": cell.doubt,
        "typed": cell.typed,
        "confirmed": cell.confirmed,
    }


def _finite(score: float | None) -> float | None:
    return None if score is None or not math.isfinite(score) else round(float(score), 3)
