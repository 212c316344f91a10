"""Rows and columns that nothing shows leave the table: what is drawn determines the truth."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tablerec.synth.description import CellSpec, Rule, TableSpec
from tablerec.synth.drawing.layout import shown_sides

_WIDEST_GAP = 2.0
"""Most space that rows leave behind, in font sizes."""

_NAMES = (("col", "colspan", "left", "right"), ("row", "rowspan", "top", "bottom"))
"""Start, span, and the rules before and after a cell along each axis."""


def drop_hidden(spec: TableSpec) -> TableSpec:
    """Take out the rows and columns that no OCR engine can see.

    A row stays where a cell of its own says something, or where rules or fills show both of its sides;
    columns likewise. A merged cell over rows that go becomes lower. A gap stays behind a row.

    >>> from tablerec.synth.description import *
    >>> cells = tuple(CellSpec(row, 0, text, TextStyle("Sans", 10)) for row, text in enumerate(("a", "", "b")))
    >>> spec = drop_hidden(TableSpec(cells, (RowSpec(2, 2),) * 3, (ColumnSpec(3, 3),)))
    >>> [(cell.row, cell.text) for cell in spec.cells], spec.rows[0].padding_bottom
    ([(0, 'a'), (1, 'b')], 18.0)
    """
    for axis in (1, 0):
        spec = _drop(spec, axis)
    return spec


def _drop(spec: TableSpec, axis: int) -> TableSpec:
    count = len((spec.columns, spec.rows)[axis])
    shown: list[bool] | None = None
    index = count - 1
    while index >= 0 and count > 1:
        if not _speaks(spec.cells, index, axis):
            shown = shown_sides(spec, axis).tolist() if shown is None else shown
            if not (shown[index] and shown[index + 1]):
                spec = _without(spec, index, axis)
                shown[index : index + 2] = [shown[index] or shown[index + 1]]
                count -= 1
        index -= 1
    return spec


def _speaks(cells: Sequence[CellSpec], index: int, axis: int) -> bool:
    """Return whether a cell that lies in this row or column alone shows something."""
    start, span, *_ = _NAMES[axis]
    return any(
        getattr(cell, start) == index and getattr(cell, span) == 1 and (cell.full_text or cell.is_checkbox)
        for cell in cells
    )


def _without(spec: TableSpec, index: int, axis: int) -> TableSpec:
    """Take out one row or column; the rules at its sides go to its neighbours."""
    start, span, before, after = _NAMES[axis]
    cross_start, cross_span, *_ = _NAMES[1 - axis]
    rules: dict[int, Rule] = {}
    for cell in spec.cells:
        first = getattr(cell, start)
        if first <= index < first + getattr(cell, span):
            rule = (getattr(cell, before) if first == index else None) or (
                getattr(cell, after) if first + getattr(cell, span) == index + 1 else None
            )
            if rule is not None:
                cross = getattr(cell, cross_start)
                rules.update(dict.fromkeys(range(cross, cross + getattr(cell, cross_span)), rule))
    cells = []
    for cell in spec.cells:
        first, length = getattr(cell, start), getattr(cell, span)
        end = first + length
        changes: dict[str, object] = {}
        if first == index and length == 1:
            continue
        rule = rules.get(getattr(cell, cross_start))
        if end == index and getattr(cell, after) is None:
            changes[after] = rule
        elif index == 0 and first == 1 and getattr(cell, before) is None:
            changes[before] = rule
        if first > index:
            changes[start] = first - 1
        elif end > index:
            changes[span] = length - 1
        cells.append(replace(cell, **changes) if changes else cell)  # type: ignore[arg-type]
    if axis == 0:
        return replace(spec, cells=tuple(cells), columns=spec.columns[:index] + spec.columns[index + 1 :])
    rows, gone = list(spec.rows), spec.rows[index]
    size = max(cell.style.size for cell in spec.cells)
    gap = max(gone.min_height, gone.padding_top + gone.padding_bottom + size * spec.line_height)
    if index > 0:
        above = rows[index - 1]
        rows[index - 1] = replace(
            above, padding_bottom=max(above.padding_bottom, min(above.padding_bottom + gap, _WIDEST_GAP * size))
        )
    del rows[index]
    return replace(spec, cells=tuple(cells), rows=tuple(rows))
