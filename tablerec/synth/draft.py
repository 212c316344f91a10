"""A table while it is being composed: content and meaning, not yet style."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from tablerec.synth.content.texts import Value
from tablerec.synth.description import Align, Direction
from tablerec.synth.sample import CellKind

RowKind = Literal["header", "body", "section", "total", "blank"]
ColumnKind = Literal["label", "text", "long", "code", "number"]
Fill = Literal["", "band", "shade", "accent"]


@dataclass(slots=True)
class DraftCell:
    """A cell of a draft; see ``CellSpec`` for what the fields mean.

    ``align`` and ``bold`` None leave it to the column and the row. ``size`` is that of the font,
    relative to the table's. ``level`` counts steps of indentation. ``sum_rule`` draws a short rule
    above, ``final_rule`` a double one below.
    """

    row: int
    col: int
    text: str = ""
    rowspan: int = 1
    colspan: int = 1
    kind: CellKind = "body"
    align: Align | None = None
    bold: bool | None = None
    italic: bool = False
    size: float = 1
    lead: str = ""
    trail: str = ""
    mark: str = ""
    level: int = 0
    has_leader: bool = False
    sum_rule: bool = False
    final_rule: bool = False
    direction: Direction = "horizontal"
    is_checkbox: bool = False
    fill: Fill = ""
    """A colour of the theme behind the cell, whatever the style of the table fills."""
    is_centred: bool = False
    """Whether the text stands in the middle of its rows; else at the first or last of them, by style."""


@dataclass(slots=True)
class Draft:
    """Cells by their first slot, and what rows and columns are.

    Args:
        columns: Kind of each column.
    """

    columns: list[ColumnKind]
    rows: list[RowKind] = field(default_factory=list)
    cells: list[DraftCell] = field(default_factory=list)
    groups: list[tuple[int, int, int]] = field(default_factory=list)
    """Headers over several columns: row, first column, column after the last."""
    gaps: set[int] = field(default_factory=set)
    """Rows with free space above."""
    current: tuple[int, int] | None = None
    """Columns of the current year, first and one after the last: often bold or shaded."""
    widths: dict[int, float] = field(default_factory=dict)
    """Columns in which text is wrapped to a width of their own, in font sizes."""
    heights: dict[int, float] = field(default_factory=dict)
    """Rows that are at least so high, in font sizes."""
    _taken: set[tuple[int, int]] = field(default_factory=set)

    @property
    def n_header(self) -> int:
        """Number of header rows at the top."""
        return next((index for index, kind in enumerate(self.rows) if kind != "header"), len(self.rows))

    def add_row(self, kind: RowKind = "body", *, gap: bool = False) -> int:
        """Append a row and return its index."""
        self.rows.append(kind)
        if gap:
            self.gaps.add(len(self.rows) - 1)
        return len(self.rows) - 1

    def put(self, cell: DraftCell) -> DraftCell:
        """Place a cell; where a slot is taken, it is made smaller until it fits."""
        cell.rowspan = min(cell.rowspan, len(self.rows) - cell.row)
        cell.colspan = min(cell.colspan, len(self.columns) - cell.col)
        while cell.colspan > 1 and not self._is_free(cell):
            cell.colspan -= 1
        while cell.rowspan > 1 and not self._is_free(cell):
            cell.rowspan -= 1
        if self._is_free(cell):
            self._taken.update(_slots(cell))
            self.cells.append(cell)
        return cell

    def release(self, cell: DraftCell) -> None:
        """Free the slots of a cell, so that another one can be placed there."""
        self._taken.difference_update(_slots(cell))

    def put_value(self, row: int, col: int, value: Value, kind: CellKind = "body") -> DraftCell:
        """Place a value."""
        return self.put(DraftCell(row, col, value.text, kind=kind, lead=value.lead, trail=value.trail))

    def finish(self) -> Draft:
        """Fill all free slots with empty cells and sort."""
        for row, row_kind in enumerate(self.rows):
            for col in range(len(self.columns)):
                if (row, col) not in self._taken:
                    self.put(DraftCell(row, col, kind=self._default_kind(row_kind, col)))
        self.cells.sort(key=lambda cell: (cell.row, cell.col))
        return self

    def add_title(self, text: str) -> None:
        """Put a header over the whole table on top."""
        for cell in self.cells:
            cell.row += 1
        self.rows.insert(0, "header")
        self.cells.insert(0, DraftCell(0, 0, text, colspan=len(self.columns), kind="column", align="center"))
        self._take_slots()
        self.groups = [(row + 1, first, end) for row, first, end in self.groups]
        self.gaps = {row + 1 for row in self.gaps}
        self.heights = {row + 1: height for row, height in self.heights.items()}

    def drop_row(self, row: int) -> None:
        """Remove a row: its single cells go, and merged ones become shorter."""
        kept = []
        for cell in self.cells:
            if cell.row <= row < cell.row + cell.rowspan:
                cell.rowspan -= 1
            elif cell.row > row:
                cell.row -= 1
            if cell.rowspan:
                kept.append(cell)
        self.cells = kept
        self._take_slots()
        del self.rows[row]
        self.groups = [(at - (at > row), first, end) for at, first, end in self.groups if at != row]
        self.gaps = {at - (at > row) for at in self.gaps}
        self.heights = {at - (at > row): height for at, height in self.heights.items() if at != row}

    def split(self, cell: DraftCell, text_row: int) -> list[DraftCell]:
        """Return single cells in place of a merged one, with the text in one row of its first column."""
        parts = [
            DraftCell(row, col, kind=cell.kind, bold=cell.bold, align=cell.align, fill=cell.fill)
            for row in range(cell.row, cell.row + cell.rowspan)
            for col in range(cell.col, cell.col + cell.colspan)
        ]
        first = next(part for part in parts if part.row == text_row and part.col == cell.col)
        names = ("text", "size", "lead", "trail", "mark", "italic", "level", "has_leader", "direction", "is_checkbox")
        for name in names:
            setattr(first, name, getattr(cell, name))
        return parts

    def _default_kind(self, row_kind: RowKind, col: int) -> CellKind:
        if row_kind == "header":
            return "column"
        if row_kind == "total":
            return "total"
        return "row" if self.columns[col] == "label" else "body"

    def _take_slots(self) -> None:
        """Take the slots of all cells, after rows have moved."""
        self._taken = {slot for cell in self.cells for slot in _slots(cell)}

    def _is_free(self, cell: DraftCell) -> bool:
        return self._taken.isdisjoint(_slots(cell))


def _slots(cell: DraftCell) -> Sequence[tuple[int, int]]:
    rows, cols = range(cell.row, cell.row + cell.rowspan), range(cell.col, cell.col + cell.colspan)
    return [(row, col) for row in rows for col in cols]
