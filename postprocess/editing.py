"""Corrections of a table by a person: each takes a valid table and returns a valid one.

Every cell has a place in the picture (`complete` sees to that), so that a line can be moved, a cell be divided where
the picture shows it, and the corrected table be the label of its picture. Rows and columns are treated alike: an
``axis`` says which are meant. A line has the number of the row or column that begins at it. What a person touched
loses its scores: nothing measured it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from postprocess.boxes import Floats, array_to_quad, as_quads, boxes_to_quads, quads_to_array
from postprocess.errors import TableError
from postprocess.frame import UPRIGHT, quads_to_frame, straighten
from postprocess.table import Cell, HeaderKind, Quad, Table

Axis = Literal["row", "col"]

_SIDES: dict[Axis, tuple[list[int], list[int]]] = {"row": ([0, 1], [3, 2]), "col": ([0, 3], [1, 2])}
"""Corners of the first and the last side of a cell, in the same order along the side."""
_ACROSS: dict[Axis, Axis] = {"row": "col", "col": "row"}
_WORD: dict[Axis, str] = {"row": "row", "col": "column"}
_THINNEST = 1.0
"""Pixels that a cell keeps: it must be seen to be moved back."""
_MOST_STEPS = 1000


@dataclass(frozen=True, slots=True)
class History:
    """All states of a table, so that each step can be undone and done again.

    Args:
        tables: The states, oldest first; a thousand at most.
        place: Index of the present one.

    >>> history = History((Table.from_texts([["a"]]),)).add(Table.from_texts([["b"]]))
    >>> history.now.to_grid(), history.undo().now.to_grid(), history.undo().redo().now.to_grid()
    ([['b']], [['a']], [['b']])
    """

    tables: tuple[Table, ...]
    place: int = 0

    @property
    def now(self) -> Table:
        """The present state."""
        return self.tables[self.place]

    def add(self, table: Table) -> History:
        """Go on to a new state; what had been undone is gone."""
        tables = (*self.tables[: self.place + 1], table)[-_MOST_STEPS:]
        return History(tables, len(tables) - 1)

    def undo(self) -> History:
        """Go one state back, where there is one."""
        return replace(self, place=self.place - 1) if self.place else self

    def redo(self) -> History:
        """Go one state on, where there is one."""
        return replace(self, place=self.place + 1) if self.place + 1 < len(self.tables) else self


def complete(table: Table, size_wh: tuple[int, int]) -> Table:
    """Give each cell a place in the picture.

    A cell that was not seen lies between the lines of those that were; a line that nobody saw, between its neighbours.

    Args:
        table: Any table.
        size_wh: Width and height of the picture, px; a table without a place fills it.

    >>> seen = Cell(0, 0, quad=((0, 0), (40, 0), (40, 10), (0, 10)))
    >>> complete(Table([seen, Cell(0, 1)]), (90, 30))[0, 1].quad
    ((40.0, 0.0), (80.0, 0.0), (80.0, 10.0), (40.0, 10.0))
    """
    seen = [cell for cell in table.cells if cell.quad is not None and np.isfinite(cell.quad).all()]
    if len(seen) == len(table) or not len(table):
        return _rebuild(table, table.cells)
    quads = quads_to_array([cell.quad for cell in seen if cell.quad])
    frame = quads_to_frame(quads) if seen else UPRIGHT
    boxes = straighten(quads, frame) if seen else np.zeros((0, 4))
    whole = _bounds(table, size_wh)
    rows, cols = (_lines(seen, boxes, axis, table, whole) for axis in _SIDES)
    kept = {(cell.row, cell.col) for cell in seen}
    cells = []
    for cell in table.cells:
        box = cols[cell.col], rows[cell.row], cols[cell.end_col], rows[cell.end_row]
        quad = array_to_quad(frame.to_picture(boxes_to_quads([box]))[0])
        cells.append(cell if (cell.row, cell.col) in kept else replace(cell, quad=quad))
    return _rebuild(table, cells)


def move_line(table: Table, axis: Axis, line: int, offset: float, at: int | None = None) -> Table:
    """Move a line, or one border on it.

    Args:
        table: With a place for each cell.
        axis: ``"row"``: the line above row ``line``, moved down; ``"col"``: left of the column, moved to the right.
        line: From 0 to the number of rows or columns.
        offset: Pixels; it ends where a cell would be thinner than a pixel.
        at: Column (or row) whose border alone is moved, as far as both sides of the line share it; None: all.

    Raises:
        TableError: There is no such line.

    >>> table = complete(Table.from_texts([["a"], ["b"]]), (40, 20))
    >>> move_line(table, "row", 1, 4.0)[1, 0].quad
    ((0.0, 14.0), (40.0, 14.0), (40.0, 20.0), (0.0, 20.0))
    """
    _check(0 <= line <= _count(table, axis), f"there is no line {line} between the {_WORD[axis]}s")
    first, last = _run(table, axis, line, at)
    direction = directions(table)[axis]
    touched = [
        (cell, side)
        for cell in table.cells
        for side in (0, 1)
        if _span(cell, axis)[side] == line and first <= _span(cell, _ACROSS[axis])[0] < last
    ]
    low, high = -np.inf, np.inf
    for cell, side in touched:
        room = _THINNEST - float((_sides(cell, axis)[1] - _sides(cell, axis)[0]).dot(direction).min())
        low, high = (max(low, min(room, 0.0)), high) if side else (low, min(high, max(-room, 0.0)))
    step = float(np.clip(offset, low, high)) * direction
    moved = {(cell.row, cell.col): _shift_side(cell, axis, side, step) for cell, side in touched}
    return _rebuild(table, [moved.get((cell.row, cell.col), cell) for cell in table.cells])


def divide(table: Table, axis: Axis, index: int, fraction: float = 0.5, at: int | None = None) -> Table:
    """Draw a new line through a row or column.

    Cells that cover more than this row cover the new one as well. Lines of text stay on their side of the new line.

    Args:
        table: With a place for each cell.
        axis: ``"row"``: the line divides row ``index``.
        index: Row or column.
        fraction: Where, from 0 to 1 of its extent.
        at: Column (or row) whose cell alone is divided, while its neighbours cover both parts; None: all.

    Raises:
        TableError: There is no such row, or it is too thin.

    >>> divide(complete(Table.from_texts([["a\\nb"]]), (40, 20)), "row", 0).to_grid()
    [['a'], ['b']]
    """
    _check(0 <= index < _count(table, axis), f"there is no {_WORD[axis]} {index}")
    cells: list[Cell] = []
    for cell in table.cells:
        start, end = _span(cell, axis)
        across = _span(cell, _ACROSS[axis])
        if not start <= index < end:
            cells.append(_with_span(cell, axis, start + (start > index), end + (start > index)))
        elif end - start > 1 or (at is not None and not across[0] <= at < across[1]):
            cells.append(_with_span(cell, axis, start, end + 1))
        else:
            cells += _cut(cell, axis, [(index, index + 1), (index + 1, index + 2)], [0.0, fraction, 1.0])
    _check(len(cells) > len(table), f"no cell ends with {_WORD[axis]} {index}: nothing to divide")
    return _rebuild(table, cells)


def extend(table: Table, axis: Axis, *, at_end: bool = True) -> Table:
    """Add a row or column outside, as large and divided as its neighbour, without text.

    Raises:
        TableError: The table has no cells.

    >>> table = extend(complete(Table.from_texts([["a"]]), (40, 20)), "row")
    >>> table.to_grid(), table[1, 0].quad
    ([['a'], ['']], ((0.0, 20.0), (40.0, 20.0), (40.0, 40.0), (0.0, 40.0)))
    """
    _check(len(table) > 0, "the table has no cells")
    count = _count(table, axis)
    neighbours = [cell for cell in table.cells if _span(cell, axis)[int(at_end)] == (count if at_end else 0)]
    moved = (
        table.cells if at_end else [_with_span(cell, axis, *(v + 1 for v in _span(cell, axis))) for cell in table.cells]
    )
    place = count if at_end else 0
    sizes = [np.diff(_sides(cell, axis), axis=0)[0] / np.diff(_span(cell, axis)) for cell in neighbours]
    size = np.median(np.concatenate(sizes), axis=0)
    added = []
    for cell in neighbours:
        edge = _sides(cell, axis)[int(at_end)]
        sides = (edge, edge + size) if at_end else (edge - size, edge)
        blank = Cell(cell.row, cell.col, cell.rowspan, cell.colspan, quad=_quad(axis, *sides))
        header = cell.header if cell.header == ("column" if axis == "col" else "row") else None
        added.append(_with_span(replace(blank, header=header), axis, place, place + 1))
    return _rebuild(table, [*moved, *added])


def remove_line(table: Table, axis: Axis, line: int) -> Table:
    """Take out a line: the cells on both sides of it become one, with the texts of both.

    Raises:
        TableError: It is not a line inside the table.

    >>> remove_line(complete(Table.from_texts([["a", "b"], ["c", ""]]), (40, 20)), "row", 1).to_grid()
    [['a\\nc', 'b']]
    """
    _check(0 < line < _count(table, axis), f"there is no line {line} inside, between two {_WORD[axis]}s")
    while True:
        above = next((cell for cell in table.cells if _span(cell, axis)[1] == line), None)
        if above is None:
            break
        row, col = (line, above.col) if axis == "row" else (above.row, line)
        below = table[row, col]
        table = merge(table, *_hull([above, below]))
    cells = []
    for cell in table.cells:
        start, end = _span(cell, axis)
        cells.append(_with_span(cell, axis, start - (start > line), end - (end > line)))
    return _rebuild(table, cells)


def remove(table: Table, axis: Axis, index: int) -> Table:
    """Take out a row or column with its texts; cells that cover others too stay there.

    Raises:
        TableError: There is no such row, or no other.

    >>> remove(complete(Table.from_texts([["a"], ["b"]]), (40, 20)), "row", 0).to_grid()
    [['b']]
    """
    count = _count(table, axis)
    _check(0 <= index < count, f"there is no {_WORD[axis]} {index}")
    _check(count > 1, f"this is the only {_WORD[axis]}: a table needs one")
    lines = _own_lines(table, axis)
    cells = []
    for cell in table.cells:
        start, end = _span(cell, axis)
        if (start, end) == (index, index + 1):
            continue
        if start <= index < end and index in (start, end - 1):
            fraction = (lines[index + (index == start)] - lines[start]) / max(lines[end] - lines[start], 1e-9)
            pair = _cut(cell, axis, [(start, end), (start, end)], [0.0, float(fraction), 1.0])
            cell = replace(pair[int(index == start)], text=cell.text)
        cells.append(_with_span(cell, axis, start - (start > index), end - (end > index)))
    return _rebuild(table, cells)


def merge(table: Table, row: int, col: int, end_row: int, end_col: int) -> Table:
    """Make one cell of a rectangle, grown until it holds whole cells.

    Texts of one row are joined by a blank, rows by a line end.

    Args:
        table: With a place for each cell.
        row: First row.
        col: First column.
        end_row: First row below.
        end_col: First column to the right.

    Raises:
        TableError: The rectangle is empty or not inside the table.

    >>> merge(complete(Table.from_texts([["a", "b"], ["c", "d"]]), (40, 20)), 0, 0, 2, 1).to_grid()
    [['a\\nc', 'b'], ['', 'd']]
    """
    inside = 0 <= row < end_row <= table.n_rows and 0 <= col < end_col <= table.n_cols
    _check(inside, f"rows {row} to {end_row} and columns {col} to {end_col} are no part of the table")
    while True:
        members = [table.cells[index] for index in np.unique(table.owner[row:end_row, col:end_col])]
        grown = _hull(members)
        if grown == (row, col, end_row, end_col):
            break
        row, col, end_row, end_col = grown
    if len(members) == 1:
        return table
    whole = Cell(
        row, col, end_row - row, end_col - col,
        quad=_around(table, row, col, end_row, end_col),
        text=_join(members),
        header=members[0].header,
        is_total=all(cell.is_total for cell in members),
    )  # fmt: skip
    gone = {(cell.row, cell.col) for cell in members}
    return _rebuild(table, [whole, *(cell for cell in table.cells if (cell.row, cell.col) not in gone)])


def split(table: Table, row: int, col: int) -> Table:
    """Make a cell for each slot of a spanning cell.

    Its lines of text go to the rows in which they stand, there into the first column.

    Raises:
        TableError: There is no such cell, or it covers one slot only.

    >>> table = complete(Table.from_texts([["a", "b"], ["c", "d"]]), (40, 20))
    >>> split(merge(table, 0, 0, 2, 1), 1, 0) == table
    True
    """
    cell = _cell(table, row, col)
    _check(cell.is_spanning, "the cell covers one slot only: draw a line through it")
    parts = [cell]
    for axis in _SIDES:
        start, end = _span(cell, axis)
        lines = _own_lines(table, axis)[start : end + 1]
        fractions = ((lines - lines[0]) / max(float(lines[-1] - lines[0]), 1e-9)).tolist()
        spans = [(index, index + 1) for index in range(start, end)]
        parts = [each for part in parts for each in (_cut(part, axis, spans, fractions) if end - start > 1 else [part])]
    return _rebuild(table, [*parts, *(other for other in table.cells if other != cell)])


def set_text(table: Table, row: int, col: int, text: str) -> Table:
    """Set the text of a cell; the same text says that it is right.

    Raises:
        TableError: There is no such cell.

    >>> set_text(Table.from_texts([["a"]]), 0, 0, "b").to_grid()
    [['b']]
    """
    cell = _cell(table, row, col)
    return _change(table, [cell], lambda each: replace(_touched(each), text=text))


def set_headers(table: Table, n_rows: int, n_cols: int) -> Table:
    """Say how many rows at the top are column headers, and how many columns at the left name their rows.

    Headings of sections below the header rows stay what they are.

    Raises:
        TableError: The table has fewer rows or columns.

    >>> [cell.header for cell in set_headers(Table.from_texts([["", "x"], ["a", "1"]]), 1, 1).cells]
    ['column', 'column', 'row', None]
    """
    fits = 0 <= n_rows <= table.n_rows and 0 <= n_cols <= table.n_cols
    _check(fits, f"{n_rows} header rows and {n_cols} columns of names do not fit a table of {table.shape}")

    def mark(cell: Cell) -> Cell:
        kind: HeaderKind | None = "column" if cell.row < n_rows else "row" if cell.col < n_cols else None
        if cell.header == "section" and kind != "column":
            kind = "section"
        return cell if kind == cell.header else replace(cell, header=kind, header_score=None)

    return _rebuild(table, [mark(cell) for cell in table.cells])


def set_header(table: Table, row: int, col: int, kind: HeaderKind | None) -> Table:
    """Say what one cell heads.

    Raises:
        TableError: There is no such cell.

    >>> set_header(Table.from_texts([["a"]]), 0, 0, "section")[0, 0].header
    'section'
    """
    cell = _cell(table, row, col)
    return _change(table, [cell], lambda each: replace(each, header=kind, header_score=None))


def tidy(table: Table) -> Table:
    """Leave out lines on which no cell ends: after all their cells were merged they divide nothing.

    >>> tidy(Table([Cell(0, 0, colspan=2, text="a"), Cell(1, 0, colspan=2)])).shape
    (2, 1)
    """
    rows, cols = (sorted({start for start, _ in (_span(cell, axis) for cell in table.cells)}) for axis in _SIDES)
    cells = []
    for cell in table.cells:
        row, end_row = np.searchsorted(rows, _span(cell, "row")).tolist()
        col, end_col = np.searchsorted(cols, _span(cell, "col")).tolist()
        cells.append(replace(cell, row=row, col=col, rowspan=end_row - row, colspan=end_col - col))
    return replace(table, cells=cells)


def directions(table: Table) -> dict[Axis, Floats]:
    """Where rows and columns go on in the picture: ``(2,)`` unit vectors down the rows and along the columns.

    >>> directions(complete(Table.from_texts([["a"]]), (40, 20)))["col"].tolist()
    [1.0, 0.0]
    """
    quads = quads_to_array([cell.quad for cell in table.cells if cell.quad])
    if not len(quads):
        return {"row": np.array([0.0, 1.0]), "col": np.array([1.0, 0.0])}
    steps = {axis: (quads[:, last] - quads[:, first]).mean(axis=(0, 1)) for axis, (first, last) in _SIDES.items()}
    return {axis: step / max(float(np.hypot(*step)), 1e-9) for axis, step in steps.items()}


def _lines(
    cells: Sequence[Cell], boxes_xyxy: Floats, axis: Axis, table: Table, whole: tuple[float, float, float, float]
) -> Floats:
    """``(n + 1,)`` increasing positions of the lines in the straight frame.

    Args:
        cells: Those that were seen.
        boxes_xyxy: ``(N, 4)`` their boxes in that frame.
        axis: Of the lines.
        table: Says how many there are.
        whole: Where all of it is if nothing was seen.
    """
    count, first = _count(table, axis), 1 if axis == "row" else 0
    sides: list[list[float]] = [[] for _ in range(count + 1)]
    for cell, box in zip(cells, boxes_xyxy.tolist(), strict=True):
        for line, position in zip(_span(cell, axis), (box[first], box[first + 2]), strict=True):
            sides[line].append(position)
    known = [line for line in range(count + 1) if sides[line]]
    if not known:
        return np.linspace(whole[first], whole[first + 2], count + 1)
    at = np.array([np.median(sides[line]) for line in known])
    lines = np.interp(np.arange(count + 1), known, at)
    size = (at[-1] - at[0]) / (known[-1] - known[0])
    lines[: known[0]] = at[0] - size * np.arange(known[0], 0, -1)
    lines[known[-1] :] = at[-1] + size * np.arange(count + 1 - known[-1])
    return np.maximum.accumulate(lines)


def _own_lines(table: Table, axis: Axis) -> Floats:
    quads = quads_to_array([cell.quad for cell in table.cells if cell.quad])
    return _lines(table.cells, straighten(quads, quads_to_frame(quads)), axis, table, (0.0, 0.0, 1.0, 1.0))


def _bounds(table: Table, size_wh: tuple[int, int]) -> tuple[float, float, float, float]:
    if table.quad is None or not np.isfinite(table.quad).all():
        return 0.0, 0.0, float(size_wh[0]), float(size_wh[1])
    corners = as_quads([table.quad])[0]
    (x0, y0), (x1, y1) = corners.min(axis=0).tolist(), corners.max(axis=0).tolist()
    return x0, y0, x1, y1


def _run(table: Table, axis: Axis, line: int, at: int | None) -> tuple[int, int]:
    """The part of a line that moves as one: from the border at one place as far as cells of both sides share it."""
    count = _count(table, _ACROSS[axis])
    if at is None:
        return 0, count
    _check(0 <= at < count, f"there is no {_WORD[_ACROSS[axis]]} {at}")
    on_line = [_span(cell, _ACROSS[axis]) for cell in table.cells if line in _span(cell, axis)]
    first, last = at, at + 1
    while True:
        shared = [span for span in on_line if span[0] < last and span[1] > first]
        _check(bool(shared), f"no cell ends at line {line} there")
        wider = min(span[0] for span in shared), max(span[1] for span in shared)
        if wider == (first, last):
            return first, last
        first, last = wider


def _cut(cell: Cell, axis: Axis, spans: Sequence[tuple[int, int]], fractions: Sequence[float]) -> list[Cell]:
    """Parts of a cell, each with its span, between fractions of its extent."""
    first, last = _sides(cell, axis)
    texts = _share_lines(cell.text, fractions) if axis == "row" else [cell.text, *[""] * (len(spans) - 1)]
    thickness = float(np.linalg.norm(last - first, axis=1).min())
    _check(thickness * min(np.diff(fractions)) >= _THINNEST, f"the {_WORD[axis]} is too thin to be divided there")
    parts = []
    for span, text, begin, end in zip(spans, texts, fractions, fractions[1:], strict=False):
        quad = _quad(axis, first + begin * (last - first), first + end * (last - first))
        parts.append(_with_span(replace(_touched(cell), quad=quad, text=text), axis, *span))
    return parts


def _share_lines(text: str, fractions: Sequence[float]) -> list[str]:
    """Lines of a text by the part in which they stand if they fill the cell evenly."""
    lines = text.split("\n") if text else []
    count = len(fractions) - 1
    if len(lines) == count:
        return lines
    middles = (np.arange(len(lines)) + 0.5) / max(len(lines), 1)
    places = np.searchsorted(fractions[1:-1], middles, side="right").tolist()
    return [
        "\n".join(line for line, place in zip(lines, places, strict=True) if place == part) for part in range(count)
    ]


def _join(cells: Sequence[Cell]) -> str:
    rows: dict[int, list[str]] = {}
    for cell in cells:
        if cell.text:
            rows.setdefault(cell.row, []).append(cell.text)
    return "\n".join(" ".join(texts) for _, texts in sorted(rows.items()))


def _around(table: Table, row: int, col: int, end_row: int, end_col: int) -> Quad | None:
    """The corners of a rectangle of whole cells."""
    corners = [table[row, col], table[row, end_col - 1], table[end_row - 1, end_col - 1], table[end_row - 1, col]]
    if any(cell.quad is None for cell in corners):
        return None
    a, b, c, d = (cell.quad[index] for index, cell in enumerate(corners) if cell.quad)
    return a, b, c, d


def _rebuild(table: Table, cells: Iterable[Cell]) -> Table:
    """The table with other cells, and its outline around them."""
    changed = table.with_cells(cells)
    outline = _around(changed, 0, 0, *changed.shape) if len(changed) else None
    return replace(changed, quad=outline or table.quad)


def _change(table: Table, cells: Sequence[Cell], change: Callable[[Cell], Cell]) -> Table:
    chosen = {(cell.row, cell.col) for cell in cells}
    return _rebuild(table, [change(cell) if (cell.row, cell.col) in chosen else cell for cell in table.cells])


def _touched(cell: Cell) -> Cell:
    return replace(cell, detector_score=None, reader_score=None, alignment_score=None, confidence=None)


def _cell(table: Table, row: int, col: int) -> Cell:
    inside = 0 <= row < table.n_rows and 0 <= col < table.n_cols
    _check(inside, f"row {row}, column {col} is not in the table of {table.n_rows} x {table.n_cols}")
    return table[row, col]


def _hull(cells: Sequence[Cell]) -> tuple[int, int, int, int]:
    return (
        min(cell.row for cell in cells),
        min(cell.col for cell in cells),
        max(cell.end_row for cell in cells),
        max(cell.end_col for cell in cells),
    )


def _sides(cell: Cell, axis: Axis) -> tuple[Floats, Floats]:
    """``(2, 2)`` corners of the first and the last side."""
    _check(
        cell.quad is not None, f"the cell at row {cell.row}, column {cell.col} has no place: complete() gives it one"
    )
    corners = np.asarray(cell.quad, np.float64)
    first, last = _SIDES[axis]
    return corners[first], corners[last]


def _quad(axis: Axis, first_side: Floats, last_side: Floats) -> Quad:
    corners = np.empty((4, 2))
    first, last = _SIDES[axis]
    corners[first], corners[last] = first_side, last_side
    return array_to_quad(corners)


def _shift_side(cell: Cell, axis: Axis, side: int, step: Floats) -> Cell:
    sides = list(_sides(cell, axis))
    sides[side] = sides[side] + step
    return replace(cell, quad=_quad(axis, *sides), detector_score=None, alignment_score=None)


def _span(cell: Cell, axis: Axis) -> tuple[int, int]:
    return (cell.row, cell.end_row) if axis == "row" else (cell.col, cell.end_col)


def _with_span(cell: Cell, axis: Axis, start: int, end: int) -> Cell:
    if axis == "row":
        return replace(cell, row=start, rowspan=end - start)
    return replace(cell, col=start, colspan=end - start)


def _count(table: Table, axis: Axis) -> int:
    return table.n_rows if axis == "row" else table.n_cols


def _check(is_right: bool, message: str) -> None:
    if not is_right:
        raise TableError(message)
