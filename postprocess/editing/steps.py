"""Corrections of a table by a person: each takes a valid table and returns a valid one.

Every cell has a place in the picture (`postprocess.editing.placing.complete` sees to that), so that a line can be
moved, a cell be divided where the picture shows it, and the corrected table be the label of its picture. A line has
the number of the row or column that begins at it. What a person touched loses its scores: nothing measured it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import chain

import numpy as np

from postprocess.arrays import Floats
from postprocess.cell import Cell, HeaderKind
from postprocess.editing.axes import (
    ACROSS,
    SIDES,
    WORD,
    Axis,
    cell_sides,
    cell_span,
    check,
    directions,
    in_mirror,
    line_count,
    sides_to_quad,
    with_span,
)
from postprocess.editing.placing import outline, rebuild, table_lines
from postprocess.table import Table, tables_in

_Block = tuple[int, int, int, int]
"""First row and column, and those after the last."""

_THINNEST = 1.0
"""Pixels that a cell keeps: it must be seen to be moved back."""


@in_mirror
def move_line(table: Table, axis: Axis, line: int, offset: float, at: int | None = None) -> Table:
    """Move a line, or one border on it.

    Args:
        table: With a place for each cell.
        axis: ``"row"``: the line above row ``line``, moved down; ``"col"``: the line before the column, moved the way
            that columns go on.
        line: From 0 to the number of rows or columns.
        offset: Pixels; it ends where a cell would be thinner than a pixel.
        at: Column (or row) whose border alone is moved, as far as both sides of the line share it; None: all.

    Raises:
        TableError: There is no such line.

    >>> from postprocess.editing.placing import complete
    >>> table = complete(Table.from_texts([["a"], ["b"]]), (40, 20))
    >>> move_line(table, "row", 1, 4.0)[1, 0].quad
    ((0.0, 14.0), (40.0, 14.0), (40.0, 20.0), (0.0, 20.0))
    """
    is_there = 0 <= line <= line_count(table, axis)
    check(is_there, f"there is no line {line} between the {WORD[axis]}s", "no_line", WORD[axis], line)
    first, last = _run(table, axis, line, at)
    direction = directions(table)[axis]
    touched = [
        (cell, side)
        for cell in table.cells
        for side in (0, 1)
        if cell_span(cell, axis)[side] == line and first <= cell_span(cell, ACROSS[axis])[0] < last
    ]
    low, high = -np.inf, np.inf
    for cell, side in touched:
        room = _THINNEST - float((cell_sides(cell, axis)[1] - cell_sides(cell, axis)[0]).dot(direction).min())
        low, high = (max(low, min(room, 0.0)), high) if side else (low, min(high, max(-room, 0.0)))
    step = float(np.clip(offset, low, high)) * direction
    moved = {(cell.row, cell.col): _shift_side(cell, axis, side, step) for cell, side in touched}
    return rebuild(table, [moved.get((cell.row, cell.col), cell) for cell in table.cells])


@in_mirror
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

    >>> from postprocess.editing.placing import complete
    >>> divide(complete(Table.from_texts([["a\\nb"]]), (40, 20)), "row", 0).to_grid()
    [['a'], ['b']]
    """
    is_there = 0 <= index < line_count(table, axis)
    check(is_there, f"there is no {WORD[axis]} {index}", "no_row_or_column", WORD[axis], index)
    cells: list[Cell] = []
    for cell in table.cells:
        start, end = cell_span(cell, axis)
        if not start <= index < end:
            cells.append(cell if end <= index else with_span(cell, axis, start + 1, end + 1))
            continue
        first, last = cell_span(cell, ACROSS[axis])
        if end - start > 1 or (at is not None and not first <= at < last):
            cells.append(with_span(cell, axis, start, end + 1))
        else:
            cells += _cut(cell, axis, [(index, index + 1), (index + 1, index + 2)], [0.0, fraction, 1.0])
    message = f"no cell ends with {WORD[axis]} {index}: nothing to divide"
    check(len(cells) > len(table), message, "nothing_to_divide", WORD[axis], index)
    return rebuild(table, cells)


@in_mirror
def extend(table: Table, axis: Axis, *, at_end: bool = True) -> Table:
    """Add a row or column outside, as large and divided as its neighbour, without text.

    Raises:
        TableError: The table has no cells.

    >>> from postprocess.editing.placing import complete
    >>> table = extend(complete(Table.from_texts([["a"]]), (40, 20)), "row")
    >>> table.to_grid(), table[1, 0].quad
    ([['a'], ['']], ((0.0, 20.0), (40.0, 20.0), (40.0, 40.0), (0.0, 40.0)))
    """
    check(len(table) > 0, "the table has no cells", "no_cells")
    count = line_count(table, axis)
    neighbours = [cell for cell in table.cells if cell_span(cell, axis)[int(at_end)] == (count if at_end else 0)]
    moved = (
        table.cells
        if at_end
        else [with_span(cell, axis, *(v + 1 for v in cell_span(cell, axis))) for cell in table.cells]
    )
    place = count if at_end else 0
    sizes = [np.diff(cell_sides(cell, axis), axis=0)[0] / np.diff(cell_span(cell, axis)) for cell in neighbours]
    size = np.median(np.concatenate(sizes), axis=0)
    added = []
    for cell in neighbours:
        edge = cell_sides(cell, axis)[int(at_end)]
        sides = (edge, edge + size) if at_end else (edge - size, edge)
        blank = Cell(cell.row, cell.col, cell.rowspan, cell.colspan, quad=sides_to_quad(axis, *sides))
        header = cell.header if cell.header == ("column" if axis == "col" else "row") else None
        added.append(with_span(replace(blank, header=header), axis, place, place + 1))
    return rebuild(table, [*moved, *added])


@in_mirror
def insert(table: Table, axis: Axis, index: int, size: float | None = None) -> Table:
    """Add a row or column without text before another; cells on both sides of the line cover it as well.

    Args:
        table: With a place for each cell.
        axis: Whether it is a row or a column.
        index: Before which; the number of rows adds one below the last.
        size: Pixels that it takes from those that begin there, at most half of each; a tenth where it is None. Outside
            the table it is as large as its neighbour.

    Raises:
        TableError: There is no such line, or what begins there is too thin.

    >>> from postprocess.editing.placing import complete
    >>> insert(complete(Table.from_texts([["a"], ["b"]]), (40, 20)), "row", 1).to_grid()
    [['a'], [''], ['b']]
    """
    count = line_count(table, axis)
    is_there = 0 <= index <= count
    check(is_there, f"there is no line {index} between the {WORD[axis]}s", "no_line", WORD[axis], index)
    if index in (0, count):
        return extend(table, axis, at_end=index > 0)
    along, cells = directions(table)[axis], []
    for cell in table.cells:
        start, end = cell_span(cell, axis)
        if start != index:
            cells.append(with_span(cell, axis, start + (start > index), end + (end > index)))
            continue
        first, last = cell_sides(cell, axis)
        room = float(((last - first) @ along).min()) / (end - start)
        check(room >= 2 * _THINNEST, f"the {WORD[axis]} is too thin to be divided there", "too_thin", WORD[axis])
        step = float(np.clip(room / 10 if size is None else size, _THINNEST, room / 2)) * along
        blank = Cell(cell.row, cell.col, cell.rowspan, cell.colspan, quad=sides_to_quad(axis, first, first + step))
        header = cell.header if cell.header == ("column" if axis == "col" else "row") else None
        cells.append(with_span(replace(blank, header=header), axis, index, index + 1))
        cells.append(with_span(_shift_side(cell, axis, 0, step), axis, start + 1, end + 1))
    return rebuild(table, cells)


def remove_line(table: Table, axis: Axis, line: int, count: int = 1) -> Table:
    """Take out a line: the cells on both sides of it become one, with the texts of both.

    Args:
        table: With a place for each cell.
        axis: ``"row"``: the line above row ``line``; ``"col"``: before the column.
        line: From 1 to the number of rows or columns less one.
        count: Number of lines, this one and those after it.

    Raises:
        TableError: It is not a line inside the table.

    >>> from postprocess.editing.placing import complete
    >>> remove_line(complete(Table.from_texts([["a", "b"], ["c", ""]]), (40, 20)), "row", 1).to_grid()
    [['a\\nc', 'b']]
    """
    for number in range(line, line + count):
        inside = line > 0 and number < line_count(table, axis)
        message = f"there is no line {line} inside, between two {WORD[axis]}s"
        check(inside, message, "no_line", WORD[axis], line)
        while blocks := _blocks_over(table, axis, number):
            table = _merge_blocks(table, blocks)
    cells = []
    for cell in table.cells:
        start, end = (at - min(max(at - line, 0), count) for at in cell_span(cell, axis))
        cells.append(with_span(cell, axis, start, end))
    return rebuild(table, cells)


@in_mirror
def remove(table: Table, axis: Axis, index: int, count: int = 1) -> Table:
    """Take out a row or column with its texts; cells that cover others too stay there.

    Args:
        table: With a place for each cell.
        axis: Whether it is a row or a column.
        index: Which, from 0.
        count: Number of rows, this one and those after it.

    Raises:
        TableError: There is no such row, or no other.

    >>> from postprocess.editing.placing import complete
    >>> remove(complete(Table.from_texts([["a"], ["b"]]), (40, 20)), "row", 0).to_grid()
    [['b']]
    """
    for _ in range(count):
        table = _remove(table, axis, index)
    return table


def _remove(table: Table, axis: Axis, index: int) -> Table:
    count = line_count(table, axis)
    check(0 <= index < count, f"there is no {WORD[axis]} {index}", "no_row_or_column", WORD[axis], index)
    check(count > 1, f"this is the only {WORD[axis]}: a table needs one", "only_one", WORD[axis])
    lines = table_lines(table, axis)
    cells = []
    for cell in table.cells:
        start, end = cell_span(cell, axis)
        if (start, end) == (index, index + 1):
            continue
        if start <= index < end and index in (start, end - 1):
            fraction = (lines[index + (index == start)] - lines[start]) / max(lines[end] - lines[start], 1e-9)
            pair = _cut(cell, axis, [(start, end), (start, end)], [0.0, float(fraction), 1.0])
            cell = replace(pair[int(index == start)], text=cell.text, tables=cell.tables, pictures=cell.pictures)
        cells.append(with_span(cell, axis, start - (start > index), end - (end > index)))
    return rebuild(table, cells)


def merge(table: Table, row: int, col: int, end_row: int, end_col: int) -> Table:
    """Make one cell of a rectangle, grown until it holds whole cells.

    Texts of one row are joined by a blank, rows by a line end.

    Args:
        table: With a place for each cell.
        row: First row.
        col: First column.
        end_row: First row below.
        end_col: First column after it.

    Raises:
        TableError: The rectangle is empty or not inside the table.

    >>> from postprocess.editing.placing import complete
    >>> merge(complete(Table.from_texts([["a", "b"], ["c", "d"]]), (40, 20)), 0, 0, 2, 1).to_grid()
    [['a\\nc', 'b'], ['', 'd']]
    """
    inside = 0 <= row < end_row <= table.n_rows and 0 <= col < end_col <= table.n_cols
    message = f"rows {row} to {end_row} and columns {col} to {end_col} are no part of the table"
    check(inside, message, "no_block", row, end_row, col, end_col)
    block = _grow(table, (row, col, end_row, end_col))
    return table if len(_members(table, block)) == 1 else _merge_blocks(table, [block])


def _blocks_over(table: Table, axis: Axis, line: int) -> list[_Block]:
    """Blocks of whole cells on both sides of a line; of those that overlap the first, the others come after it."""
    blocks: list[_Block] = []
    taken = np.zeros(table.shape, bool)
    for above in table.cells:
        if cell_span(above, axis)[1] == line:
            row, col = (line, above.col) if axis == "row" else (above.row, line)
            block = _grow(table, _hull([above, table[row, col]]))
            slots = taken[block[0] : block[2], block[1] : block[3]]
            if not slots.any():
                blocks.append(block)
                slots[...] = True
            elif block not in blocks:
                return blocks[:1]
    return blocks


def _grow(table: Table, block: _Block) -> _Block:
    """The block grown until it holds whole cells."""
    while (grown := _hull(_members(table, block))) != block:
        block = grown
    return block


def _members(table: Table, block: _Block) -> list[Cell]:
    row, col, end_row, end_col = block
    return [table.cells[index] for index in np.unique(table.owner[row:end_row, col:end_col]).tolist()]


def _merge_blocks(table: Table, blocks: Sequence[_Block]) -> Table:
    """Make one cell of each of several blocks of whole cells that do not overlap."""
    wholes = [_to_one(table, block) for block in blocks]
    gone = {(cell.row, cell.col) for block in blocks for cell in _members(table, block)}
    return rebuild(table, [*wholes, *(cell for cell in table.cells if (cell.row, cell.col) not in gone)])


def _to_one(table: Table, block: _Block) -> Cell:
    row, col, end_row, end_col = block
    members = _members(table, block)
    return Cell(
        row, col, end_row - row, end_col - col,
        quad=outline(table, row, col, end_row, end_col),
        text=_join(members),
        header=members[0].header,
        typed=any(cell.typed for cell in members),
        words=tuple(chain.from_iterable(cell.words for cell in members)),
        is_total=all(cell.is_total for cell in members),
        tables=tuple(chain.from_iterable(cell.tables for cell in members)),
        pictures=tuple(chain.from_iterable(cell.pictures for cell in members)),
    )  # fmt: skip


def split(table: Table, row: int, col: int, end_row: int | None = None, end_col: int | None = None) -> Table:
    """Make a cell for each slot of a spanning cell, or of all such cells that a block touches.

    Its lines of text go to the rows in which they stand, there into the first column.

    Args:
        table: With a place for each cell.
        row: Of the cell, or first row of the block.
        col: Of the cell, or first column.
        end_row: First row below the block; None: one cell.
        end_col: First column after it; None: one cell.

    Raises:
        TableError: There is no such cell, or it covers one slot only.

    >>> from postprocess.editing.placing import complete
    >>> table = complete(Table.from_texts([["a", "b"], ["c", "d"]]), (40, 20))
    >>> split(merge(table, 0, 0, 2, 1), 1, 0) == table
    True
    """
    first = _cell(table, row, col)
    block = row, col, first.end_row if end_row is None else end_row, first.end_col if end_col is None else end_col
    inside = row < block[2] <= table.n_rows and col < block[3] <= table.n_cols
    message = f"rows {row} to {block[2]} and columns {col} to {block[3]} are no part of the table"
    check(inside, message, "no_block", row, block[2], col, block[3])
    chosen = [cell for cell in _members(table, block) if cell.is_spanning]
    check(bool(chosen), "the cell covers one slot only: draw a line through it", "not_merged")
    for cell in chosen:
        table = _split(table, cell.row, cell.col)
    return table


@in_mirror
def _split(table: Table, row: int, col: int) -> Table:
    cell = table[row, col]
    parts = [cell]
    for axis in SIDES:
        start, end = cell_span(cell, axis)
        lines = table_lines(table, axis)[start : end + 1]
        fractions = ((lines - lines[0]) / max(float(lines[-1] - lines[0]), 1e-9)).tolist()
        spans = [(index, index + 1) for index in range(start, end)]
        parts = [each for part in parts for each in (_cut(part, axis, spans, fractions) if end - start > 1 else [part])]
    return rebuild(table, [*parts, *(other for other in table.cells if other != cell)])


def set_text(table: Table, row: int, col: int, text: str) -> Table:
    """Set the text of a cell; the same text says that it is right.

    Raises:
        TableError: There is no such cell.

    >>> set_text(Table.from_texts([["a"]]), 0, 0, "b").to_grid()
    [['b']]
    """
    cell = _cell(table, row, col)
    return _change(table, [cell], lambda each: typed(each, text))


def set_texts(table: Table, row: int, col: int, texts: Sequence[Sequence[str]]) -> Table:
    """Set the texts of a block of cells.

    Args:
        table: Any.
        row: Of the first text.
        col: Of the first text.
        texts: Rows of texts. Slots of a merged cell after its first have none.

    Raises:
        TableError: The block is empty or does not fit, or a text would lie in a slot that a merged cell covers.

    >>> set_texts(Table.from_texts([["a", "b"], ["c", "d"]]), 0, 1, [["1"], ["2"]]).to_grid()
    [['a', '1'], ['c', '2']]
    """
    n_rows, n_cols = len(texts), max((len(line) for line in texts), default=0)
    fits = 0 < n_rows <= table.n_rows - row and 0 < n_cols <= table.n_cols - col
    check(
        fits,
        f"{n_rows} x {n_cols} texts do not fit here, in a table of {table.n_rows} x {table.n_cols}: extend it first",
        "does_not_fit",
        *(n_rows, n_cols, table.n_rows, table.n_cols),
    )
    by_place = {(row + i, col + j): text for i, line in enumerate(texts) for j, text in enumerate(line)}
    starts = {(cell.row, cell.col) for cell in table.cells}
    for (i, j), text in by_place.items():
        message = f"{text[:40]!r} would fall into a merged cell: split it first"
        check(not text or (i, j) in starts, message, "in_merged", text[:40])
    cells = [cell for cell in table.cells if (cell.row, cell.col) in by_place]
    return _change(table, cells, lambda cell: typed(cell, by_place[cell.row, cell.col]))


def set_headers(table: Table, n_rows: int, n_cols: int) -> Table:
    """Say how many rows at the top are column headers, and how many first columns name their rows.

    Headings of sections below the header rows stay what they are.

    Raises:
        TableError: The table has fewer rows or columns.

    >>> [cell.header for cell in set_headers(Table.from_texts([["", "x"], ["a", "1"]]), 1, 1).cells]
    ['column', 'column', 'row', None]
    """
    fits = 0 <= n_rows <= table.n_rows and 0 <= n_cols <= table.n_cols
    message = f"{n_rows} header rows and {n_cols} header columns do not fit a table of {table.shape}"
    check(fits, message, "headers_do_not_fit", n_rows, n_cols, *table.shape)

    def mark(cell: Cell) -> Cell:
        kind: HeaderKind | None = "column" if cell.row < n_rows else "row" if cell.col < n_cols else None
        if cell.header == "section" and kind != "column":
            kind = "section"
        return cell if kind == cell.header else replace(cell, header=kind, header_score=None)

    return rebuild(table, [mark(cell) for cell in table.cells])


def set_header(table: Table, row: int, col: int, kind: HeaderKind | None) -> Table:
    """Say what one cell heads.

    Raises:
        TableError: There is no such cell.

    >>> set_header(Table.from_texts([["a"]]), 0, 0, "section")[0, 0].header
    'section'
    """
    cell = _cell(table, row, col)
    return _change(table, [cell], lambda each: replace(each, header=kind, header_score=None))


def _run(table: Table, axis: Axis, line: int, at: int | None) -> tuple[int, int]:
    """The part of a line that moves as one: from the border at one place as far as cells of both sides share it."""
    count = line_count(table, ACROSS[axis])
    if at is None:
        return 0, count
    across = WORD[ACROSS[axis]]
    check(0 <= at < count, f"there is no {across} {at}", "no_row_or_column", across, at)
    on_line = [cell_span(cell, ACROSS[axis]) for cell in table.cells if line in cell_span(cell, axis)]
    first, last = at, at + 1
    while True:
        shared = [span for span in on_line if span[0] < last and span[1] > first]
        check(bool(shared), f"no cell ends at line {line} there", "no_end", line)
        wider = min(span[0] for span in shared), max(span[1] for span in shared)
        if wider == (first, last):
            return first, last
        first, last = wider


def _cut(cell: Cell, axis: Axis, spans: Sequence[tuple[int, int]], fractions: Sequence[float]) -> list[Cell]:
    """Parts of a cell, each with its span, between fractions of its extent."""
    first, last = cell_sides(cell, axis)
    texts = _share_lines(cell.text, fractions) if axis == "row" else [cell.text, *[""] * (len(spans) - 1)]
    thickness = float(np.linalg.norm(last - first, axis=1).min())
    is_thick = thickness * min(np.diff(fractions)) >= _THINNEST
    check(is_thick, f"the {WORD[axis]} is too thin to be divided there", "too_thin", WORD[axis])
    parts = []
    for span, text, begin, end in zip(spans, texts, fractions, fractions[1:], strict=False):
        quad = sides_to_quad(axis, first + begin * (last - first), first + end * (last - first))
        part = replace(_touched(cell), quad=quad, text=text, tables=(), pictures=())
        parts.append(with_span(part, axis, *span))
    return _share_inside(cell, parts, axis, fractions)


def _share_inside(cell: Cell, parts: list[Cell], axis: Axis, fractions: Sequence[float]) -> list[Cell]:
    """Tables and pictures by the part in which their middle lies; those without a place stand in the first."""
    if not cell.tables and not cell.pictures:
        return parts
    first, last = (side.mean(axis=0) for side in cell_sides(cell, axis))

    def part_of(corners: Floats) -> int:
        if not corners.size:
            return 0
        place = float((corners.mean(axis=0) - first) @ (last - first) / max((last - first) @ (last - first), 1e-9))
        return int(np.searchsorted(fractions[1:-1], place))

    tables = [(part_of(each.quads.reshape(-1, 2)), each) for each in tables_in(cell)]
    pictures = [(part_of(np.array(each.quad or ()).reshape(-1, 2)), each) for each in cell.pictures]
    return [
        replace(
            part,
            tables=tuple(each for place, each in tables if place == number),
            pictures=tuple(each for place, each in pictures if place == number),
        )
        for number, part in enumerate(parts)
    ]


def _share_lines(text: str, fractions: Sequence[float]) -> list[str]:
    """Lines of a text by the part in which they stand if they fill the cell evenly."""
    lines = text.split("\n") if text else []
    count = len(fractions) - 1
    if len(lines) == count:
        return lines
    middles = (np.arange(len(lines)) + 0.5) / max(len(lines), 1)
    places = np.searchsorted(fractions[1:-1], middles).tolist()
    return [
        "\n".join(line for line, place in zip(lines, places, strict=True) if place == part) for part in range(count)
    ]


def _join(cells: Sequence[Cell]) -> str:
    rows: dict[int, list[str]] = {}
    for cell in cells:
        if cell.text:
            rows.setdefault(cell.row, []).append(cell.text)
    return "\n".join(" ".join(texts) for _, texts in sorted(rows.items()))


def _change(table: Table, cells: Sequence[Cell], change: Callable[[Cell], Cell]) -> Table:
    chosen = {(cell.row, cell.col) for cell in cells}
    return rebuild(table, [change(cell) if (cell.row, cell.col) in chosen else cell for cell in table.cells])


def typed(cell: Cell, text: str) -> Cell:
    """The cell with a text that a person gave, which counts as right.

    >>> typed(Cell(0, 0, text="l"), "1").confirmed
    True
    """
    return replace(_touched(cell), text=text, typed=True, confirmed=True, doubt="")


def _touched(cell: Cell) -> Cell:
    return replace(cell, detector_score=None, ocr_score=None, alignment_score=None, confidence=None, confirmed=False)


def _cell(table: Table, row: int, col: int) -> Cell:
    inside = 0 <= row < table.n_rows and 0 <= col < table.n_cols
    message = f"row {row}, column {col} is not in the table of {table.n_rows} x {table.n_cols}"
    check(inside, message, "no_cell", row, col)
    return table[row, col]


def _hull(cells: Sequence[Cell]) -> tuple[int, int, int, int]:
    return (
        min(cell.row for cell in cells),
        min(cell.col for cell in cells),
        max(cell.end_row for cell in cells),
        max(cell.end_col for cell in cells),
    )


def _shift_side(cell: Cell, axis: Axis, side: int, step: Floats) -> Cell:
    sides = list(cell_sides(cell, axis))
    sides[side] = sides[side] + step
    return replace(cell, quad=sides_to_quad(axis, *sides), detector_score=None, alignment_score=None, confirmed=False)
