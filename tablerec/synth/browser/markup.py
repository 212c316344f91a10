"""A page as HTML and CSS, laid out by a browser's own rules."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Literal

import numpy as np

from tablerec.synth.description import (
    CellSpec,
    Color,
    Figure,
    Page,
    Paragraph,
    Placed,
    Rule,
    TableSpec,
    TextStyle,
)
from tablerec.synth.drawing.fonts import family_by_name
from tablerec.synth.drawing.glyphs import Font
from tablerec.synth.drawing.layout import is_wide
from tablerec.synth.sample import TEXT_ROLES

_GENERIC = {"serif": "serif", "sans": "sans-serif", "mono": "monospace"}
_LANGUAGES = {"english": "en", "latin": "fr", "chinese": "zh-CN"}

_BASE = """
*{margin:0;padding:0}
main{display:flex;flex-direction:column;align-items:flex-start;width:max-content;min-width:160px}
.line{display:flex;align-items:flex-start}
.line>*{flex:none}
table{empty-cells:show}
td{position:relative}
p.fill{align-self:stretch;contain:inline-size;overflow-wrap:anywhere}
td.wide>div{contain:inline-size}
.rule{position:absolute;height:0}
.lead{float:left;margin-right:.25em}
.trail{display:inline-block;width:0;white-space:nowrap;text-indent:0}
.mark{font-size:65%;line-height:0;vertical-align:.36em}
.box{display:inline-block;width:.72em;height:.72em;border:max(1px,.07em) solid;margin-right:.45em}
.dots{overflow-x:clip}
.dots>i{display:inline-block;width:0;white-space:nowrap;font-style:normal;text-indent:.2em}
.dots>i::before{content:"%DOTS%"}
.up{writing-mode:vertical-rl;text-orientation:sideways;transform:rotate(180deg);white-space:nowrap;margin:auto}
.stacked{white-space:nowrap;line-height:1.1}
.stacked>span{display:inline-block;vertical-align:top;min-width:1.2em}
.stacked i{display:block;font-style:inherit;text-align:center}
.figure{position:relative}
.figure svg{position:absolute;left:0;top:0;overflow:visible}
.figure span{position:absolute;white-space:nowrap;line-height:1}
""".replace("%DOTS%", 300 * ".")


@dataclass(frozen=True, slots=True)
class Habits:
    """How a page is written, where HTML leaves a choice.

    Args:
        borders: ``collapse``; ``separate``, without a distance; ``spaced``, with one, each cell in its own frame,
            where all cells have rules around them, else as ``separate``.
        spacing: Distance of spaced cells, px.
        squeezes: Whether a table as wide as the page wraps its text to stay so, or grows beyond.
        justifies: Whether the lines of prose are stretched to one length.
        rendering: CSS ``text-rendering``.
        scale: Pixels of the picture for a pixel of CSS.
    """

    borders: Literal["collapse", "separate", "spaced"] = "collapse"
    spacing: float = 2
    squeezes: bool = False
    justifies: bool = False
    rendering: Literal["auto", "optimizeLegibility", "geometricPrecision"] = "auto"
    scale: float = 1

    @staticmethod
    def choose(rng: np.random.Generator) -> Habits:
        """Return habits as pages on the web have them."""
        return Habits(
            borders=rng.choice(["collapse", "separate", "spaced"], p=[0.6, 0.25, 0.15]).item(),
            spacing=float(rng.integers(1, 5)),
            squeezes=bool(rng.random() < 0.5),
            justifies=bool(rng.random() < 0.35),
            rendering=rng.choice(["auto", "optimizeLegibility", "geometricPrecision"]).item(),
            scale=float(rng.choice([0.9, 1, 1.1, 1.25, 1.5, 2], p=[0.1, 0.5, 0.1, 0.12, 0.12, 0.06])),
        )


def to_html(page: Page, habits: Habits) -> str:
    """Return a page as one document that needs nothing else.

    Cells are ``td`` elements whose ``data-cell`` is the cell's index on the page; other text
    has -1 minus the place of its role in ``sample.TEXT_ROLES``. Elements of class ``ink`` show something that is no
    text.

    >>> from tablerec.synth.description import WHITE
    >>> text = Placed(Paragraph("a < b", TextStyle("Sans", 12)))
    >>> "a &lt; b" in to_html(Page((text,), 8, WHITE, "page"), Habits())
    True
    """
    return _Document(page, habits).write()


def is_spaced(spec: TableSpec, habits: Habits) -> bool:
    """Return whether the cells of a table stand apart, each in its own frame."""
    return habits.borders == "spaced" and all(
        cell.bottom
        and cell.right
        and (cell.row or cell.top)
        and (cell.col or cell.left)
        and not (cell.bottom.inset or cell.right.inset)
        for cell in spec.cells
    )


@dataclass
class _Document:
    page: Page
    habits: Habits
    classes: dict[str, str] = field(default_factory=dict)
    n_cells: int = 0

    def write(self) -> str:
        page = self.page
        lines: list[list[Placed]] = []
        for placed in page.blocks:
            if placed.is_beside and lines:
                lines[-1].append(placed)
            else:
                lines.append([placed])
        body = "\n".join(self._line(line) for line in lines)
        rules = "".join(f".{name}{{{style}}}\n" for style, name in self.classes.items())
        language = _LANGUAGES.get(dict(page.about).get("script", ""), "en")
        return (
            f'<!DOCTYPE html><html lang="{language}"><head><meta charset="utf-8">'
            "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">"
            f"<style>{_BASE}body{{background:{_color(page.background)};text-rendering:{self.habits.rendering}}}"
            f"main{{padding:{_px(page.margin)}}}\n{rules}</style></head><body><main>\n{body}\n</main></body></html>"
        )

    def _line(self, line: Sequence[Placed]) -> str:
        first = line[0]
        if len(line) == 1 and isinstance(first.block, Paragraph) and not first.block.width:
            place = f"margin-top:{_px(first.gap)};margin-left:{_px(first.indent)}"
            return self._paragraph(first.block, place, "fill")
        blocks = []
        for placed in line:
            place = f"margin-left:{_px(placed.gap if placed is not first else placed.indent)}"
            block = placed.block
            if isinstance(block, TableSpec):
                blocks.append(self._table(block, place))
            elif isinstance(block, Figure):
                blocks.append(self._figure(block, place))
            else:
                width = block.width or 30 * block.style.size
                blocks.append(self._paragraph(block, f"{place};width:{_px(width)}", ""))
        return f'<div class="line" style="margin-top:{_px(first.gap)}">{"".join(blocks)}</div>'

    def _paragraph(self, block: Paragraph, place: str, name: str) -> str:
        long = len(block.text) > 120
        align = "justify" if self.habits.justifies and long and block.align == "left" else block.align
        style = f"{_font(block.style)};text-align:{align};line-height:{block.line_height:.3f};{place}"
        role = -1 - TEXT_ROLES.index(block.role)
        return f'<p class="{name} {self._class(style)}" data-cell="{role}">{_text(block.text)}</p>'

    def _table(self, spec: TableSpec, place: str) -> str:
        spaced = is_spaced(spec, self.habits)
        styles = [place, f"line-height:{spec.line_height:.3f}"]
        collapse = self.habits.borders == "collapse"
        styles.append(f"border-collapse:{'collapse' if collapse else 'separate'}")
        styles.append(f"border-spacing:{_px(self.habits.spacing if spaced else 0)}")
        if spec.width:
            styles.append(f"{'' if self.habits.squeezes else 'min-'}width:{_px(spec.width)}")
        if spec.background is not None:
            styles.append(f"background:{_color(spec.background)}")
        if spaced:
            styles.append(_border("border", spec.cells[0].top))
        by_row: list[list[str]] = [[] for _ in spec.rows]
        order = sorted(range(len(spec.cells)), key=lambda index: (spec.cells[index].row, spec.cells[index].col))
        for index in order:
            cell = spec.cells[index]
            by_row[cell.row].append(self._cell(spec, cell, self.n_cells + index, spaced))
        self.n_cells += len(spec.cells)
        rows = [
            f'<tr style="height:{_px(height)}">{"".join(cells)}</tr>' if height else f"<tr>{''.join(cells)}</tr>"
            for cells, height in zip(by_row, _row_heights(spec), strict=True)
        ]
        return f'<table style="{";".join(styles)}">{"".join(rows)}</table>'

    def _cell(self, spec: TableSpec, cell: CellSpec, index: int, spaced: bool) -> str:
        first, last = spec.columns[cell.col], spec.columns[cell.col + cell.colspan - 1]
        left = first.padding_left + cell.indent
        hanging = 0 if cell.has_leader else cell.hanging
        above, below = spec.rows[cell.row].padding_top, spec.rows[cell.row + cell.rowspan - 1].padding_bottom
        styles = [
            _font(cell.style),
            f"text-align:{cell.align}",
            f"vertical-align:{cell.valign}",
            f"padding:{_px(above)} {_px(last.padding_right)} {_px(below)} {_px(left + hanging)}",
        ]
        if cell.hanging:
            styles.append(f"text-indent:{_px(-cell.hanging)}")
        if cell.fill is not None:
            styles.append(f"background:{_color(cell.fill)}")
        styles += _borders(cell, spaced)
        content, name = self._content(cell), ""
        if cell.colspan == 1:
            styles.append(f"min-width:{_px(max(0.0, first.min_width - first.padding_left - first.padding_right))}")
            limit = first.max_width - left - cell.hanging - first.padding_right
            wraps = cell.wraps and cell.direction == "horizontal"
            styles.append(f"max-width:{_px(max(limit, _longest_word(cell)))}" if wraps else "white-space:nowrap")
        elif cell.direction == "horizontal" and cell.text:
            # A long text over many columns is wrapped to them rather than widening them.
            room = sum(column.max_width for column in spec.columns[cell.col : cell.col + cell.colspan])
            room = min(12 * cell.style.size, room - first.padding_left - last.padding_right)
            if _estimated_width(cell) * cell.style.size > room:
                name = "wide "
                least = max(room, _longest_word(cell))
                content = f'<div style="min-width:{_px(least)}">{content}</div>'
            else:
                styles.append("white-space:nowrap")
        spans = "".join(
            f' {key}="{value}"' for key, value in (("rowspan", cell.rowspan), ("colspan", cell.colspan)) if value > 1
        )
        rules = "" if spaced else _short_rules(cell)
        return f'<td class="{name}{self._class(";".join(styles))}"{spans} data-cell="{index}">{content}{rules}</td>'

    def _content(self, cell: CellSpec) -> str:
        if not cell.full_text:
            return ""
        if cell.direction == "stacked":
            # Many fonts lack what CSS's own vertical text needs, so that its characters fall on one another.
            lines = [
                "".join(f"<i>{escape(character)}</i>" for character in line)
                for line in cell.text.replace(" ", "").split("\n")
            ]
            return f'<div class="stacked">{" ".join(f"<span>{line}</span>" for line in lines)}</div>'
        if cell.direction == "up":
            return f'<div class="up">{_text(cell.text)}</div>'
        text = _text(cell.text)
        behind = f'<span class="trail">{escape(cell.trail)}</span>' if cell.trail else ""
        behind += f'<span class="mark">{escape(cell.mark)}</span>' if cell.mark else ""
        if behind:
            # The last word and what hangs on it stay on one line.
            start = max(text.rfind(" "), text.rfind(">")) + 1
            text = f'{text[:start]}<span style="white-space:nowrap">{text[start:]}{behind}</span>'
        if cell.lead and cell.align == "right":
            text = f'<span class="lead">{escape(cell.lead)}</span> {text}'
        elif cell.lead:
            text = f"{escape(cell.lead)} {text}"
        if cell.is_checkbox:
            text = f'<span class="box ink"></span>{text}'
        if cell.has_leader:
            # What hangs out of the box would be cut off, and so the box has the padding.
            text = f'<div class="dots ink" style="padding-left:{_px(cell.hanging)}">{text}<i></i></div>'
        return text

    def _figure(self, figure: Figure, place: str) -> str:
        labels = "".join(
            f'<span data-cell="-1" style="{at};{_font(figure.style)}">{escape(text)}</span>'
            for text, at in _figure_labels(figure)
        )
        size = f"width:{_px(figure.width)};height:{_px(max(1.0, figure.height))}"
        drawing = f'<svg width="{figure.width:.2f}" height="{max(1.0, figure.height):.2f}">{_shapes(figure)}</svg>'
        return f'<div class="figure" style="{place};{size}">{drawing}{labels}</div>'

    def _class(self, style: str) -> str:
        return self.classes.setdefault(style, f"c{len(self.classes)}")


def _row_heights(spec: TableSpec) -> list[float]:
    """Return the least heights, 0 where the text of a row makes its height."""
    size = float(np.median([cell.style.size for cell in spec.cells])) if spec.cells else 0.0
    spoken = {cell.row for cell in spec.cells if cell.full_text and cell.rowspan == 1}
    return [
        max(
            row.min_height,
            0 if index in spoken else row.padding_top + row.padding_bottom + size * spec.line_height,
        )
        for index, row in enumerate(spec.rows)
    ]


def _estimated_width(cell: CellSpec) -> float:
    """Return the length of the longest line in font sizes, roughly."""
    lines = cell.full_text.split("\n")
    return max(sum(1.0 if is_wide(character) else 0.55 for character in line) for line in lines)


def _longest_word(cell: CellSpec) -> float:
    """Return about how much room, px, the longest word takes that cannot be broken; CSS would let it hang out."""
    font = Font.of(cell.style)
    words = (word for word in cell.full_text.split() if not any(map(is_wide, word)))
    return 1.06 * max(map(font.width, words), default=0.0) + cell.style.size


def _text(text: str) -> str:
    return escape(text).replace("\n", "<br>")


def _font(style: TextStyle) -> str:
    family = f"'{style.family}',{_GENERIC[family_by_name(style.family).flavor]}"
    # The short form "font" would reset the height of lines, which tables and paragraphs set for all.
    parts = [f"font-family:{family}", f"font-size:{_px(style.size)}"]
    if style.bold:
        parts.append("font-weight:bold")
    if style.italic:
        parts.append("font-style:italic")
    parts.append(f"color:{_color(style.color)}")
    if style.underline:
        parts.append("text-decoration:underline")
    return ";".join(parts)


def _borders(cell: CellSpec, spaced: bool) -> list[str]:
    if spaced:
        return [_border("border", cell.bottom)]
    sides = (("top", cell.top), ("right", cell.right), ("bottom", cell.bottom), ("left", cell.left))
    return [_border(f"border-{side}", rule) for side, rule in sides if rule is not None and not rule.inset]


def _border(name: str, rule: Rule | None) -> str:
    if rule is None:
        return f"{name}:none"
    width = max(3.0, 3 * rule.width) if rule.pattern == "double" else rule.width
    return f"{name}:{_px(width)} {rule.pattern} {_color(rule.color)}"


def _short_rules(cell: CellSpec) -> str:
    """Return the rules that end before the side of the cell does: no border can."""
    parts = []
    for side, rule in (("top", cell.top), ("bottom", cell.bottom)):
        if rule is not None and rule.inset:
            width = 3 * rule.width if rule.pattern == "double" else rule.width
            inset = f"min({_px(rule.inset)},33%)"
            parts.append(
                f'<i class="rule" style="{side}:{_px(-width / 2)};left:{inset};right:{inset};'
                f'{_border("border-top", rule)}"></i>'
            )
    return "".join(parts)


def _figure_labels(figure: Figure) -> list[tuple[str, str]]:
    """Return texts and where they stand."""
    if figure.kind not in ("bars", "lines"):
        return []
    size = figure.style.size
    height, step = figure.height - 3 * size, (figure.width - 3 * size) / max(1, len(figure.values))
    labels = [
        (str(25 * tick), f"right:{_px(figure.width - 2.6 * size)};bottom:{_px(1.5 * size + height * tick / 4)}")
        for tick in range(5)
    ]
    if step > 2.6 * size:
        labels += [
            (str(2000 + index), f"left:{_px(3 * size + (index + 0.5) * step - 1.15 * size)};bottom:{_px(0.6 * size)}")
            for index in range(len(figure.values))
        ]
    return labels


def _shapes(figure: Figure) -> str:
    """Return the figure in SVG."""
    colors = [_color(color) for color in figure.colors]
    width, height, size, values = figure.width, figure.height, figure.style.size, figure.values
    if figure.kind == "rule":
        return f'<rect width="{width:.1f}" height="{max(1.0, height):.1f}" fill="{colors[0]}"/>'
    if figure.kind == "logo":
        side = width / max(1, len(values))
        return "".join(
            f'<rect x="{index * side:.1f}" y="{height * (1 - value):.1f}" width="{0.8 * side:.1f}" '
            f'height="{height * value:.1f}" rx="3" fill="{colors[index % len(colors)]}"/>'
            for index, value in enumerate(values)
        )
    if figure.kind == "pie":
        return _pie(figure, colors)
    base, left = height - 2 * size, 3 * size
    tall, step = height - 3 * size, (width - left) / max(1, len(values))
    ink = _color(figure.style.color)
    shapes = [
        f'<path d="M{left:.1f} {base - tall * tick / 4:.1f}H{width:.1f}" stroke="{ink}" '
        f'stroke-width="1" opacity="{1 if tick == 0 else 0.35}"/>'
        for tick in range(5)
    ]
    points = [(left + (index + 0.5) * step, base - tall * value) for index, value in enumerate(values)]
    if figure.kind == "lines":
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        shapes.append(f'<polyline points="{path}" fill="none" stroke="{colors[0]}" stroke-width="2"/>')
        shapes += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colors[0]}"/>' for x, y in points]
    else:
        shapes += [
            f'<rect x="{x - 0.32 * step:.1f}" y="{y:.1f}" width="{0.64 * step:.1f}" height="{base - y:.1f}" '
            f'fill="{colors[index % len(colors)]}"/>'
            for index, (x, y) in enumerate(points)
        ]
    return "".join(shapes)


def _pie(figure: Figure, colors: Sequence[str]) -> str:
    radius = min(figure.width, figure.height) / 2
    shares = np.cumsum([0.0, *figure.values]) / (sum(figure.values) or 1.0)
    x, y = radius * (1 + np.sin(2 * np.pi * shares)), radius * (1 - np.cos(2 * np.pi * shares))
    return "".join(
        f'<path d="M{radius:.1f} {radius:.1f}L{x[index]:.1f} {y[index]:.1f}A{radius:.1f} {radius:.1f} 0 '
        f'{int(shares[index + 1] - shares[index] > 0.5)} 1 {x[index + 1]:.1f} {y[index + 1]:.1f}Z" '
        f'fill="{colors[index % len(colors)]}"/>'
        for index in range(len(figure.values))
    )


def _px(length: float) -> str:
    return f"{length:.2f}px"


def _color(color: Color) -> str:
    return "#{:02x}{:02x}{:02x}".format(*color)
