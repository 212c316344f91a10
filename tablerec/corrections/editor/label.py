"""The label of a corrected table, in the form that ``tablerec eval`` and ``tablerec train`` read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from postprocess.arrays import Floats
from postprocess.export import table_to_html
from postprocess.geometry.boxes import quads_to_boxes
from postprocess.table import Table
from postprocess.word import Word
from tablerec.corrections.editor.dealt import word_to_dict
from tablerec.corrections.editor.head import Head
from tablerec.corrections.proof import share_proved
from tablerec.errors import InputError
from tablerec.inputs.images import display_name
from tablerec.labels.check import outside_faults, shape_faults


def table_to_label(head: Head, table: Table, split: str, words: Sequence[Word] = ()) -> dict[str, Any]:
    """Return the label of a picture, ready for JSON; see ``tablerec.evaluate.truth``.

    Args:
        head: Of the correction.
        table: With a place for each cell. A label says what a picture shows, so it counts columns from the left.
        split: ``train`` or ``val``.
        words: Of the picture, as they were read.
    """
    table, cells = table.from_left(), []
    for cell, quad in zip(table.cells, _into_picture(table.quads, head.size_wh), strict=True):
        entry: dict[str, Any] = {key: getattr(cell, key) for key in ("row", "col", "rowspan", "colspan", "text")}
        entry |= {"bbox": quads_to_boxes([quad])[0].tolist(), "quad": quad.tolist()}
        entry |= {key: True for key in ("typed", "confirmed") if getattr(cell, key)}
        cells.append(entry if cell.header is None else {**entry, "header": cell.header})
    content = {"n_rows": table.n_rows, "n_cols": table.n_cols, "cells": cells, "html": table_to_html(table)}
    meta: dict[str, Any] = {"width": head.size_wh[0], "height": head.size_wh[1]}
    meta |= {"bbox_kind": "cell", "has_text": True, "page": head.page, "split": split}
    meta["share_proved"] = round(share_proved([table]), 4)
    if head.text_height:
        meta["text_height"] = round(head.text_height, 2)
    place = {"id": head.name, "source": "corrections", "image": f"{head.name}.png"}
    if words:
        content["words"] = [word_to_dict(word) for word in words]
    return {**place, "original": display_name(head.source), **content, "meta": meta}


def find_fault(table: Table, size_wh: tuple[int, int]) -> InputError | None:
    """Return why the places of a table cannot be trained on; None where they can.

    A row that was added because the picture ends before it belongs into the workbook, but is nowhere in the picture.

    >>> from postprocess.editing.placing import complete
    >>> find_fault(complete(Table.from_texts([["a"]]), (40, 20)), (40, 10))
    InputError('row 1, column 1 reaches 10 px outside the picture (40 x 10 px)')
    """
    quads = table.quads
    outside = outside_faults(quads, size_wh)
    faults = outside or shape_faults(_into_picture(quads, size_wh))
    if not faults:
        return None
    cell, what = faults[0]
    place = (table.cells[cell].row + 1, table.cells[cell].col + 1) if cell >= 0 else ("?", "?")
    where = f"row {place[0]}, column {place[1]}" if cell >= 0 else "it"
    fault = InputError(f"{where} {what.partition(': ')[0]}")
    if not outside:
        return fault.named("bad_shape", *place)
    box = quads_to_boxes(quads[cell : cell + 1])[0]
    beyond = float(max(-box[:2].min(), (box[2:] - size_wh).max()))
    return fault.named("outside", *place, f"{beyond:.0f}", *size_wh)


def _into_picture(quads: Floats, size_wh: tuple[int, int]) -> Floats:
    """Corners moved into the picture: a label may not leave it."""
    return np.asarray(np.clip(quads, 0, size_wh).round(2), np.float64)
