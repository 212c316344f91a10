"""Where everything in a table lies: columns, rows, lines of text, and the true regions of the cells."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from postprocess.arrays import Floats
from tablerec.synth.description import CellSpec, TableSpec
from tablerec.synth.drawing.glyphs import Font

Extent = tuple[float, float, float, float]

_MARK = 0.65
"""Size of raised marks, in font sizes."""


@dataclass(slots=True)
class Line:
    """One line of text in a cell.

    Args:
        text: What it says.
        x: Left end, px from the left of the table.
        baseline: px from its top.
        width: px.
        mark: Raised text behind it.
    """

    text: str
    x: float
    baseline: float
    width: float
    mark: str = ""


@dataclass(slots=True)
class CellLayout:
    """A cell with its lines.

    Args:
        spec: What is drawn.
        font: Of its text.
        lines: Placed lines; upright columns of characters or lines read from below where the text is turned.
        leader: Left and right end of its dots, px, or None.
        extent: Left, top, right, bottom of its text; None for an empty cell.
    """

    spec: CellSpec
    font: Font
    lines: list[Line] = field(default_factory=list)
    leader: tuple[float, float] | None = None
    extent: Extent | None = None


@dataclass(slots=True)
class TableLayout:
    """A table with all positions, px from its top left corner.

    Args:
        spec: What is drawn.
        xs: ``(C + 1,)`` sides of the columns as drawn: where fills and rules go.
        ys: ``(R + 1,)`` sides of the rows as drawn.
        cells: One for each cell.
        true_xs: ``(C + 1,)`` sides of the columns as seen: where nothing is drawn, the middle of the gap.
        true_ys: ``(R + 1,)`` sides of the rows as seen.
    """

    spec: TableSpec
    xs: Floats
    ys: Floats
    cells: list[CellLayout]
    true_xs: Floats
    true_ys: Floats

    @property
    def size(self) -> tuple[float, float]:
        """Width and height, px."""
        return float(self.xs[-1]), float(self.ys[-1])


def lay_out_table(spec: TableSpec) -> TableLayout:
    """Place the content of a table.

    >>> from tablerec.synth.description import *
    >>> row, column = RowSpec(2, 2), ColumnSpec(3, 3)
    >>> cell = CellSpec(0, 0, "", TextStyle("Sans", 10))
    >>> lay_out_table(TableSpec((cell,), (row,), (column,))).size
    (6.0, 16.0)
    """
    cells = [CellLayout(cell, Font.of(cell.style)) for cell in spec.cells]
    wrapped = [_wrap_cell(spec, cell) for cell in cells]
    widths = _column_widths(spec, cells, wrapped)
    if 0 < spec.width < widths.sum():
        widths = _squeezed(spec, cells, wrapped, widths)
    xs = np.concatenate([[0.0], np.cumsum(widths)]).round()
    for index, cell in enumerate(cells):
        if cell.spec.direction == "horizontal" and (cell.spec.colspan > 1 or _reflows(cell)):
            room = xs[cell.spec.col + cell.spec.colspan] - xs[cell.spec.col]
            # Sides were rounded, perhaps to less than the longest line.
            wrapped[index] = _wrap_cell(spec, cell, float(room) + (cell.spec.colspan == 1))
    heights = _row_heights(spec, cells, wrapped)
    ys = np.concatenate([[0.0], np.cumsum(heights)]).round()
    for cell, lines in zip(cells, wrapped, strict=True):
        _place(spec, cell, lines, xs, ys)
    extents = [cell.extent for cell in cells]
    return TableLayout(spec, xs, ys, cells, true_sides(spec, extents, xs, 0), true_sides(spec, extents, ys, 1))


def wrap(text: str, font: Font, width: float, hanging: float = 0) -> list[str]:
    r"""Break a text into lines, at spaces or between Chinese characters.

    Args:
        text: ``"\n"`` always breaks.
        font: Measures.
        width: Room for a line, px; a longer word stands alone.
        hanging: Room that all lines but the first lack, px.

    >>> from tablerec.synth.description import TextStyle
    >>> wrap("one two\nthree", Font.of(TextStyle("Sans", 10)), 1)
    ['one', 'two', 'three']
    """
    lines = []
    for paragraph in text.split("\n"):
        if font.width(paragraph) <= width:
            lines.append(paragraph)
            continue
        line, room = "", width
        for token, separator in _tokens(paragraph):
            longer = line + separator + token if line else token
            if line and font.width(longer) > room:
                lines.append(line)
                line, room = token, width - hanging
            else:
                line = longer
        lines.append(line)
    return lines


def is_wide(character: str) -> bool:
    """Return whether a line may be broken before and after a character, as in Chinese.

    >>> is_wide("表"), is_wide("a")
    (True, False)
    """
    return "\u2e80" <= character <= "\u9fff" or "\uff00" <= character <= "\uffef"


def _tokens(text: str) -> list[tuple[str, str]]:
    """Return what must stay together, and what separates it from the token before."""
    tokens: list[tuple[str, str]] = []
    for word_index, word in enumerate(text.split(" ")):
        separator = " " if word_index else ""
        start = 0
        for index in range(1, len(word) + 1):
            stays = index < len(word) and (word[index] in "，。；：、）”％%)" or word[index - 1] in "（“(")
            if index == len(word) or ((is_wide(word[index]) or is_wide(word[index - 1])) and not stays):
                tokens.append((word[start:index], separator))
                start, separator = index, ""
    return tokens


def _wrap_cell(spec: TableSpec, cell: CellLayout, room: float | None = None) -> list[str]:
    content, font = cell.spec, cell.font
    if not content.text:
        return [""] if content.lead or content.trail or content.mark else []
    if content.direction == "stacked":
        return content.text.replace(" ", "").split("\n")
    columns = spec.columns[content.col : content.col + content.colspan]
    if content.direction == "up" or (not content.wraps and room is None):
        return content.text.split("\n")
    limit = room if room is not None else sum(column.max_width for column in columns)
    limit -= columns[0].padding_left + columns[-1].padding_right + content.indent + _checkbox_room(cell)
    return wrap(content.text, font, limit, content.hanging)


def _reflows(cell: CellLayout) -> bool:
    """Return whether text is broken anew where its column has become wider or narrower."""
    content = cell.spec
    held = content.lead or content.trail or content.mark or content.has_leader
    return content.wraps and content.direction == "horizontal" and bool(content.text) and not held


def _checkbox_room(cell: CellLayout) -> float:
    return 1.3 * cell.spec.style.size if cell.spec.is_checkbox else 0


def _needed_width(cell: CellLayout, lines: Sequence[str], spec: TableSpec) -> float:
    content, font = cell.spec, cell.font
    if content.direction == "stacked":
        return len(lines) * font.size * 1.2
    if content.direction == "up":
        return len(lines) * font.size * spec.line_height
    widest = max(
        (font.width(line) + (content.hanging if index else 0) for index, line in enumerate(lines)), default=0.0
    )
    lead = font.width(content.lead + " ") if content.lead else 0.0
    mark = _MARK * font.width(content.mark)
    leader = 1.5 * font.size if content.has_leader else 0.0
    return widest + content.indent + lead + mark + leader + _checkbox_room(cell)


def _needed_height(cell: CellLayout, lines: Sequence[str], spec: TableSpec) -> float:
    content, font = cell.spec, cell.font
    if content.direction == "stacked":
        return max((len(line) for line in lines), default=0) * font.size * 1.1
    if content.direction == "up":
        return max((font.width(line) for line in lines), default=0.0) + 2
    return max(1, len(lines)) * font.size * spec.line_height


def _column_widths(spec: TableSpec, cells: list[CellLayout], wrapped: list[list[str]]) -> Floats:
    pads = np.array([column.padding_left + column.padding_right for column in spec.columns])
    widths = np.maximum(np.array([column.min_width for column in spec.columns], float), pads)
    for cell, lines in zip(cells, wrapped, strict=True):
        if cell.spec.colspan == 1:
            col = cell.spec.col
            widths[col] = max(widths[col], _needed_width(cell, lines, spec) + pads[col])
    for cell, lines in zip(cells, wrapped, strict=True):
        if cell.spec.colspan > 1 and lines:
            span = slice(cell.spec.col, cell.spec.col + cell.spec.colspan)
            # A long text over many columns is wrapped to them rather than widening them.
            needed = min(_needed_width(cell, lines, spec), 12 * cell.font.size)
            needed += spec.columns[span.start].padding_left + spec.columns[span.stop - 1].padding_right
            widths[span] += max(0.0, needed - widths[span].sum()) / cell.spec.colspan
    surplus = spec.width - widths.sum()
    if surplus > 0:
        grow = np.array([column.grow for column in spec.columns])
        widths += surplus * grow / grow.sum()
    return widths


def _squeezed(spec: TableSpec, cells: list[CellLayout], wrapped: list[list[str]], widths: Floats) -> Floats:
    """Return widths of columns that fit into the page, as far as the words in them allow."""
    least = np.array([max(c.min_width, c.padding_left + c.padding_right) for c in spec.columns], float)
    for cell, lines in sorted(zip(cells, wrapped, strict=True), key=lambda pair: pair[0].spec.colspan):
        content = cell.spec
        needed = _needed_width(cell, lines, spec)
        if _reflows(cell):
            words = [_needed_width(cell, ["", token], spec) for token, _ in _tokens(content.text.replace("\n", " "))]
            needed = min(needed, max([*words, 4 * cell.font.size]) + 1)
        span = slice(content.col, content.col + content.colspan)
        if content.colspan > 1:
            needed = min(needed, 12 * cell.font.size)
        needed += spec.columns[span.start].padding_left + spec.columns[span.stop - 1].padding_right
        least[span] += max(0.0, needed - least[span].sum()) / content.colspan
    least = np.minimum(least, widths)
    share = (spec.width - least.sum()) / max(1e-6, float((widths - least).sum()))
    return np.asarray(least + (widths - least) * float(np.clip(share, 0, 1)))


def _row_heights(spec: TableSpec, cells: list[CellLayout], wrapped: list[list[str]]) -> Floats:
    pads = np.array([row.padding_top + row.padding_bottom for row in spec.rows])
    size = float(np.median([cell.font.size for cell in cells])) if cells else 0.0
    heights = np.maximum(np.array([row.min_height for row in spec.rows], float), pads + size * spec.line_height)
    for cell, lines in sorted(zip(cells, wrapped, strict=True), key=lambda pair: pair[0].spec.rowspan):
        span = slice(cell.spec.row, cell.spec.row + cell.spec.rowspan)
        needed = _needed_height(cell, lines, spec) if lines else 0.0
        needed += spec.rows[span.start].padding_top + spec.rows[span.stop - 1].padding_bottom
        heights[span] += max(0.0, needed - heights[span].sum()) / cell.spec.rowspan
    return heights


def _place(spec: TableSpec, cell: CellLayout, lines: Sequence[str], xs: Floats, ys: Floats) -> None:
    content, font = cell.spec, cell.font
    if not lines:
        return
    first, last = spec.columns[content.col], spec.columns[content.col + content.colspan - 1]
    left = float(xs[content.col]) + first.padding_left + content.indent + _checkbox_room(cell)
    right = float(xs[content.col + content.colspan]) - last.padding_right
    above = float(ys[content.row]) + spec.rows[content.row].padding_top
    below = float(ys[content.row + content.rowspan]) - spec.rows[content.row + content.rowspan - 1].padding_bottom
    height = _needed_height(cell, lines, spec)
    top = {"top": above, "middle": (above + below - height) / 2, "bottom": below - height}[content.valign]
    if content.direction != "horizontal":
        _place_turned(spec, cell, lines, (left, right), top)
        return
    if content.lead:
        left += font.width(content.lead + " ")
    step = font.size * spec.line_height
    base = top + (step - font.ascent - font.descent) / 2 + font.ascent
    for index, text in enumerate(lines):
        is_last = index == len(lines) - 1
        mark = content.mark if is_last else ""
        width = font.width(text) + _MARK * font.width(mark)
        start = left + (content.hanging if index else 0)
        x = {"left": start, "center": (start + right - width) / 2, "right": right - width}[content.align]
        trail = font.width(content.trail) if is_last else 0
        cell.lines.append(Line(text, x, base + index * step, width + trail, mark))
    end = max(line.x + line.width for line in cell.lines)
    if content.has_leader:
        dots = cell.lines[-1].x + cell.lines[-1].width + 0.4 * font.size
        if right - dots > font.size:
            cell.leader = (dots, right)
            end = right
    x0 = min(line.x for line in cell.lines) - _checkbox_room(cell)
    if content.lead:
        x0 = min(x0, left - font.width(content.lead + " "))
    y0 = cell.lines[0].baseline - 0.75 * font.size
    cell.extent = (x0, y0, end, cell.lines[-1].baseline + 0.2 * font.size)


def _place_turned(
    spec: TableSpec, cell: CellLayout, lines: Sequence[str], sides: tuple[float, float], top: float
) -> None:
    """Place lines side by side: ``x`` is the middle of stacked characters, or the base line of turned text."""
    font = cell.font
    step = font.size * (1.2 if cell.spec.direction == "stacked" else spec.line_height)
    left = (sides[0] + sides[1] - len(lines) * step) / 2
    height = _needed_height(cell, lines, spec)
    for index, text in enumerate(lines):
        if cell.spec.direction == "stacked":
            x, y, length = left + (index + 0.5) * step, top, len(text) * font.size * 1.1
        else:
            x, y, length = left + (index + 0.5) * step + 0.32 * font.size, top + height, font.width(text)
        cell.lines.append(Line(text, x, y, length))
    cell.extent = (left, top, left + len(lines) * step, top + height)


def true_sides(spec: TableSpec, extents: Sequence[Extent | None], sides: Floats, axis: int) -> Floats:
    """Move sides at which nothing is drawn to the middle between the texts on either hand.

    This is the rule of truth for all renderers: a cell is the region that an OCR engine sees.

    Args:
        spec: Rules and fills are read from it.
        extents: For each cell left, top, right, bottom of its text; None for an empty cell.
        sides: ``(N + 1,)`` sides of the columns or rows as drawn.
        axis: 0 for columns, 1 for rows.

    Returns:
        ``(N + 1,)`` sides as seen, ascending.

    >>> from tablerec.synth.description import *
    >>> cells = tuple(CellSpec(0, col, "x", TextStyle("Sans", 10)) for col in range(2))
    >>> spec = TableSpec(cells, (RowSpec(2, 2),), (ColumnSpec(3, 3),) * 2)
    >>> true_sides(spec, [(3, 2, 13, 12), (63, 2, 73, 12)], np.array([0.0, 50, 100]), 0).tolist()
    [0.0, 38.0, 78.0]
    """
    count = len(sides) - 1
    low, high = np.full(count, np.inf), np.full(count, -np.inf)
    # Merged cells do not say where the gap is, but their text must stay inside as well.
    first, last = low.copy(), high.copy()
    for cell, extent in zip(spec.cells, extents, strict=True):
        if extent is not None:
            at, span = (cell.col, cell.row)[axis], (cell.colspan, cell.rowspan)[axis]
            first[at] = min(first[at], extent[axis])
            last[at + span - 1] = max(last[at + span - 1], extent[axis + 2])
            if span == 1:
                low[at], high[at] = min(low[at], extent[axis]), max(high[at], extent[axis + 2])
    shown = shown_sides(spec, axis)
    true = sides.copy()
    for index in range(1, count):
        if not shown[index] and np.isfinite(low[index]) and np.isfinite(high[index - 1]):
            if high[index - 1] < low[index]:
                true[index] = (high[index - 1] + low[index]) / 2
        elif not shown[index]:
            # Beside an empty row or column only the text on one hand holds the side.
            true[index] = min(max(true[index], high[index - 1]), low[index])
        if not shown[index] and last[index - 1] < first[index]:
            true[index] = min(max(true[index], last[index - 1]), first[index])
    room = 0.5 * max((cell.style.size for cell in spec.cells), default=0.0)
    if not shown[0]:
        true[0] = max(true[0], min(first.min(), true[1]) - room)
    if not shown[-1]:
        true[-1] = min(true[-1], max(last.max(), true[-2]) + room)
    return np.maximum.accumulate(true)


def shown_sides(spec: TableSpec, axis: int) -> NDArray[np.bool_]:
    """Return for each side whether a rule or a change of fill marks it."""
    n_rows, n_cols = len(spec.rows), len(spec.columns)
    owner = np.zeros((n_rows, n_cols), np.int32)
    shown = np.zeros((n_cols, n_rows)[axis] + 1, bool)
    for index, cell in enumerate(spec.cells):
        owner[cell.row : cell.row + cell.rowspan, cell.col : cell.col + cell.colspan] = index
        first = (cell.col, cell.row)[axis]
        end = first + (cell.colspan, cell.rowspan)[axis]
        before, after = ((cell.left, cell.right), (cell.top, cell.bottom))[axis]
        shown[first] |= before is not None
        shown[end] |= after is not None
        if axis == 0 and (cell.top or cell.bottom):
            # Level lines end at the sides of the table, and so show them.
            shown[0] |= cell.col == 0
            shown[-1] |= end == n_cols
        if axis == 1 and (cell.left or cell.right):
            shown[0] |= cell.row == 0
            shown[-1] |= end == n_rows
    fills = [cell.fill for cell in spec.cells]
    lines = owner.T if axis == 0 else owner
    for index, (before_line, after_line) in enumerate(pairwise(lines), start=1):
        pairs = zip(before_line.tolist(), after_line.tolist(), strict=True)
        shown[index] |= any(a != b and fills[a] != fills[b] for a, b in pairs)
    for edge, line in ((0, lines[0]), (-1, lines[-1])):
        shown[edge] |= any(fills[index] is not None for index in line.tolist()) or spec.background is not None
    return shown
