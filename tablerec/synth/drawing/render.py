"""The fast renderer: a page becomes a picture with its truth."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from postprocess.arrays import Floats
from postprocess.geometry.boxes import boxes_to_quads
from tablerec.synth.description import Figure, Page, Paragraph, Placed, Rule, TableSpec, TextStyle, scaled
from tablerec.synth.drawing.canvas import Box, Canvas
from tablerec.synth.drawing.figures import draw_figure
from tablerec.synth.drawing.glyphs import Font
from tablerec.synth.drawing.layout import CellLayout, TableLayout, lay_out_table, wrap
from tablerec.synth.sample import CellKind, Cells, Sample, Tables, TextRole, Words

Quad = list[list[float]]

TYPE = (0.75, 0.2)
"""How far type reaches above and below its base line, in sizes of the font."""
_MAX_PIXELS = 8e6
"""Larger pages are drawn smaller: they would be made smaller afterwards anyway."""


@dataclass(slots=True)
class _Truth:
    """What was drawn so far."""

    cell_boxes: list[Box] = field(default_factory=list)
    cell_slots: list[tuple[int, int, int, int, int]] = field(default_factory=list)
    """Row, column, spans, table."""
    kinds: list[CellKind] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    word_quads: list[Quad] = field(default_factory=list)
    word_types: list[Quad] = field(default_factory=list)
    words: list[str] = field(default_factory=list)
    word_cells: list[int] = field(default_factory=list)
    word_roles: list[TextRole] = field(default_factory=list)
    tables: list[tuple[Box, int, int]] = field(default_factory=list)

    def add_word(
        self,
        text: str,
        box: Box,
        cell: int,
        held: Box | None = None,
        *,
        turned: bool = False,
        role: TextRole = "none",
    ) -> None:
        """Note a word, the box of its ink, and another box that is part of its type."""
        for quads, others in ((self.word_quads, [box]), (self.word_types, [box, held or box])):
            (x0, y0), (x1, y1) = np.min(others, axis=0)[:2].tolist(), np.max(others, axis=0)[2:].tolist()
            if turned:
                quads.append([[x0, y1], [x0, y0], [x1, y0], [x1, y1]])
            else:
                quads.append([[x0, y0], [x1, y0], [x1, y1], [x0, y1]])
        self.words.append(text)
        self.word_cells.append(cell)
        self.word_roles.append(role)

    def to_sample(self, page: Page, canvas: Canvas) -> Sample:
        slots = np.array(self.cell_slots, np.int32).reshape(-1, 5)
        table_boxes = [box for box, _, _ in self.tables]
        shapes = np.array([shape for _, *shape in self.tables], np.int32).reshape(-1, 2)
        return Sample(
            image=canvas.finish(),
            cells=Cells(
                quads=boxes_to_quads(self.cell_boxes).astype(np.float32),
                rows=slots[:, 0].copy(),
                cols=slots[:, 1].copy(),
                rowspans=slots[:, 2].copy(),
                colspans=slots[:, 3].copy(),
                tables=slots[:, 4].copy(),
                kinds=tuple(self.kinds),
                texts=tuple(self.texts),
            ),
            words=Words(
                np.array(self.word_quads, np.float32).reshape(-1, 4, 2),
                tuple(self.words),
                np.array(self.word_cells, np.int32),
                np.array(self.word_types, np.float32).reshape(-1, 4, 2),
                tuple(self.word_roles),
            ),
            tables=Tables(boxes_to_quads(table_boxes).astype(np.float32), shapes[:, 0].copy(), shapes[:, 1].copy()),
            about=dict(page.about),
        )


@dataclass(slots=True)
class _Item:
    """A measured block and where it stands."""

    block: TableLayout | tuple[Paragraph, list[str]] | Figure
    width: float
    height: float
    x: float = 0
    y: float = 0


def render(page: Page) -> Sample:
    """Draw a page.

    >>> from tablerec.synth.description import WHITE
    >>> text = Placed(Paragraph("Some words", TextStyle("Sans", 12)))
    >>> render(Page((text,), 8, WHITE, "page")).words.texts
    ('Some', 'words')
    """
    items, width, height = _arrange(page)
    if width * height > _MAX_PIXELS:
        items, width, height = _arrange(scaled(page, (_MAX_PIXELS / (width * height)) ** 0.5))
    canvas, truth = Canvas(max(1, round(width)), max(1, round(height)), page.background), _Truth()
    for item in items:
        if isinstance(item.block, TableLayout):
            _draw_table(canvas, truth, item.block, item.x, item.y)
        elif isinstance(item.block, Figure):
            for text, box in draw_figure(canvas, item.block, item.x, item.y):
                truth.add_word(text, box, -1)
        else:
            _draw_paragraph(canvas, truth, item)
    return truth.to_sample(page, canvas)


def _arrange(page: Page) -> tuple[list[_Item], float, float]:
    """Measure all blocks and place them; return also the size of the page."""
    tables = {id(placed): lay_out_table(placed.block) for placed in page.blocks if isinstance(placed.block, TableSpec)}
    widths = [layout.size[0] for layout in tables.values()]
    widths += [placed.block.width for placed in page.blocks if isinstance(placed.block, (Figure, Paragraph))]
    text_width = max([*widths, 160.0])
    items: list[_Item] = []
    y, row_top, row_bottom, x = page.margin, page.margin, page.margin, page.margin
    for placed in page.blocks:
        item = _measure(placed, tables.get(id(placed)), text_width)
        if placed.is_beside and items:
            item.x, item.y = x + placed.gap, row_top
        else:
            y = row_bottom + placed.gap
            row_top, item.x, item.y = y, page.margin + placed.indent, y
        x = item.x + item.width
        row_bottom = max(row_bottom, item.y + item.height)
        items.append(item)
    right = max((item.x + item.width for item in items), default=page.margin)
    return items, right + page.margin, row_bottom + page.margin


def _measure(placed: Placed, layout: TableLayout | None, text_width: float) -> _Item:
    block = placed.block
    if layout is not None:
        return _Item(layout, *layout.size)
    if isinstance(block, Figure):
        return _Item(block, block.width, block.height)
    assert isinstance(block, Paragraph)
    width = block.width or max(40.0, text_width - placed.indent)
    lines = wrap(block.text, Font.of(block.style), width)
    return _Item((block, lines), width, len(lines) * block.style.size * block.line_height)


def _draw_paragraph(canvas: Canvas, truth: _Truth, item: _Item) -> None:
    assert isinstance(item.block, tuple)
    paragraph, lines = item.block
    font = Font.of(paragraph.style)
    step = font.size * paragraph.line_height
    for index, line in enumerate(lines):
        width = font.width(line)
        shift = {"left": 0.0, "center": (item.width - width) / 2, "right": item.width - width}[paragraph.align]
        base = item.y + index * step + (step - font.ascent - font.descent) / 2 + font.ascent
        _draw_words(canvas, truth, line, item.x + shift, base, font, paragraph.style, -1, role=paragraph.role)


def _draw_table(canvas: Canvas, truth: _Truth, layout: TableLayout, x: float, y: float) -> None:
    x, y = round(x), round(y)
    table = len(truth.tables)
    xs, ys = layout.xs + x, layout.ys + y
    true_xs, true_ys = layout.true_xs + x, layout.true_ys + y
    if layout.spec.background is not None:
        canvas.fill((xs[0], ys[0], xs[-1], ys[-1]), layout.spec.background)
    for cell in layout.cells:
        if cell.spec.fill is not None:
            canvas.fill(_region(cell, xs, ys), cell.spec.fill)
    for cell in layout.cells:
        _draw_rules(canvas, cell, _region(cell, xs, ys))
    first = len(truth.cell_boxes)
    for index, cell in enumerate(layout.cells):
        spec = cell.spec
        truth.cell_boxes.append(_region(cell, true_xs, true_ys))
        truth.cell_slots.append((spec.row, spec.col, spec.rowspan, spec.colspan, table))
        truth.kinds.append(spec.kind)
        truth.texts.append(_text_of(cell))
        _draw_cell(canvas, truth, cell, x, y, first + index)
    outline = (float(true_xs[0]), float(true_ys[0]), float(true_xs[-1]), float(true_ys[-1]))
    truth.tables.append((outline, len(layout.spec.rows), len(layout.spec.columns)))


def _region(cell: CellLayout, xs: Floats, ys: Floats) -> Box:
    spec = cell.spec
    return (
        float(xs[spec.col]),
        float(ys[spec.row]),
        float(xs[spec.col + spec.colspan]),
        float(ys[spec.row + spec.rowspan]),
    )


def _text_of(cell: CellLayout) -> str:
    """Return what the cell says, as it was broken into lines."""
    spec = cell.spec
    lines = [line.text for line in cell.lines]
    if not lines:
        return ""
    lines[-1] += spec.trail + spec.mark
    lines[0] = f"{spec.lead} {lines[0]}" if spec.lead and lines[0] else spec.lead + lines[0]
    return "\n".join(lines)


def _draw_rules(canvas: Canvas, cell: CellLayout, region: Box) -> None:
    x0, y0, x1, y1 = region
    spec = cell.spec
    for rule, at in ((spec.top, y0), (spec.bottom, y1)):
        if rule is not None:
            inset = min(rule.inset, (x1 - x0) / 3)
            canvas.line(x0 + inset, at, x1 - inset, at, rule)
    for rule, at in ((spec.left, x0), (spec.right, x1)):
        if rule is not None:
            canvas.line(at, y0, at, y1, rule)


def _draw_cell(canvas: Canvas, truth: _Truth, cell: CellLayout, x: float, y: float, index: int) -> None:
    spec, font = cell.spec, cell.font
    if spec.direction != "horizontal":
        _draw_turned(canvas, truth, cell, x, y, index)
        return
    for number, line in enumerate(cell.lines):
        is_last = number == len(cell.lines) - 1
        base = y + line.baseline
        if number == 0 and spec.lead:
            left = (
                x + cell.extent[0]
                if cell.extent and spec.align == "right"
                else x + line.x - font.width(spec.lead + " ")
            )
            _draw_words(canvas, truth, spec.lead, left, base, font, spec.style, index)
        if number == 0 and spec.is_checkbox:
            _draw_checkbox(canvas, x + line.x - 1.3 * font.size, base, font.size, spec.style)
        trail = spec.trail if is_last else ""
        before = 1.3 * font.size if number == 0 and spec.is_checkbox else 0.0
        _draw_words(canvas, truth, line.text + trail, x + line.x, base, font, spec.style, index, line.mark, before)
    if cell.leader is not None:
        _draw_leader(canvas, cell, x, y)


def _draw_words(
    canvas: Canvas,
    truth: _Truth,
    text: str,
    x: float,
    base: float,
    font: Font,
    style: TextStyle,
    cell: int,
    mark: str = "",
    before: float = 0.0,
    role: TextRole = "none",
) -> None:
    """Draw a line of words; a sign of a width stands before the first one."""
    space = font.advance(" ")
    tokens = text.split(" ")
    start = x
    high, low = base - TYPE[0] * font.size, base + TYPE[1] * font.size
    for index, token in enumerate(tokens):
        if token:
            box = canvas.text(x, base, token, font, style.color)
            end = x + font.width(token)
            if mark and index == len(tokens) - 1:
                small = Font.of(style, 0.65)
                raised = canvas.text(end, base - 0.36 * font.size, mark, small, style.color)
                box = (min(box[0], raised[0]), min(box[1], raised[1]), max(box[2], raised[2]), max(box[3], raised[3]))
                token += mark
            truth.add_word(token, box, cell, (x - before, high, end, low), role=role)
            x, before = end, 0.0
        x += space
    if style.underline:
        below = base + 0.12 * font.size
        canvas.line(start, below, x - space, below, Rule(max(1, font.size / 16), style.color))


def _draw_turned(canvas: Canvas, truth: _Truth, cell: CellLayout, x: float, y: float, index: int) -> None:
    font, color = cell.font, cell.spec.style.color
    for line in cell.lines:
        if cell.spec.direction == "up":
            pen = y + line.baseline
            for token in line.text.split(" "):
                if token:
                    box = canvas.turned_text(x + line.x, pen, token, font, color)
                    left, right = x + line.x - TYPE[0] * font.size, x + line.x + TYPE[1] * font.size
                    truth.add_word(token, box, index, (left, box[1], right, box[3]), turned=True)
                pen -= font.width(token + " ")
            continue
        boxes = []
        for number, character in enumerate(line.text):
            base = y + line.baseline + (number + 0.85) * font.size * 1.1
            boxes.append(canvas.text(x + line.x - font.advance(character) / 2, base, character, font, color))
        if boxes:
            low, high = np.min(boxes, axis=0), np.max(boxes, axis=0)
            truth.add_word(line.text, (float(low[0]), float(low[1]), float(high[2]), float(high[3])), index)


def _draw_checkbox(canvas: Canvas, x: float, base: float, size: float, style: TextStyle) -> None:
    side, rule = round(0.75 * size), Rule(max(1, size / 14), style.color)
    x, top = round(x), round(base) - side
    for x0, y0, x1, y1 in ((0, 0, side, 0), (0, side, side, side), (0, 0, 0, side), (side, 0, side, side)):
        canvas.line(x + x0, top + y0, x + x1, top + y1, rule)


def _draw_leader(canvas: Canvas, cell: CellLayout, x: float, y: float) -> None:
    """Draw dots on a raster that all cells share, so that they stand below one another."""
    assert cell.leader is not None
    font = cell.font
    step = max(3.0, 0.42 * font.size)
    first, last = cell.leader
    for number in range(int(np.ceil(first / step)), int(last / step)):
        canvas.text(x + number * step, y + cell.lines[-1].baseline, ".", font, cell.spec.style.color)
