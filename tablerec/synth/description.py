"""What is to be drawn, as data that any renderer can read: text, structure and style, but no positions.

The words are those of CSS: a column has padding and a largest width, a cell has borders, a fill
and an alignment. A renderer lays this out in its own way, and knows the truth of what it drew.
All lengths are pixels, all colours ``(red, green, blue)`` from 0 to 255.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any, Literal

from tablerec.synth.sample import CellKind, TextRole

Color = tuple[int, int, int]
Align = Literal["left", "center", "right"]
VerticalAlign = Literal["top", "middle", "bottom"]
Direction = Literal["horizontal", "stacked", "up"]
"""``stacked``: upright characters one below another, as in Chinese forms. ``up``: turned to be read from below."""

BLACK: Color = (0, 0, 0)
WHITE: Color = (255, 255, 255)


@dataclass(frozen=True, slots=True)
class TextStyle:
    """How text looks.

    Args:
        family: Name of a font family, see ``tablerec.synth.drawing.fonts``.
        size: Font size, px.
        bold: Whether the weight is bold.
        italic: Whether the slant is italic.
        color: Of the ink.
        underline: Whether a line runs below the text.
    """

    family: str
    size: float
    bold: bool = False
    italic: bool = False
    color: Color = BLACK
    underline: bool = False


@dataclass(frozen=True, slots=True)
class Rule:
    """A line along one side of a cell.

    Args:
        width: Thickness, px; of each of the two lines where it is double.
        color: Of the line.
        pattern: How it is drawn.
        inset: Length left free at both ends, px: rules that end before the neighbour's begins.
    """

    width: float = 1
    color: Color = BLACK
    pattern: Literal["solid", "dashed", "dotted", "double"] = "solid"
    inset: float = 0


@dataclass(frozen=True, slots=True)
class CellSpec:
    """One cell to draw.

    Args:
        row: First row.
        col: First column.
        text: Content; ``"\\n"`` breaks the line, and long lines are wrapped.
        style: How the text looks.
        rowspan: Number of rows.
        colspan: Number of columns.
        kind: What the cell is.
        align: Where lines lie between left and right padding.
        valign: Where the text lies between top and bottom padding.
        indent: Space before each line, px; after the first line ``hanging`` more.
        hanging: Further indent of wrapped lines, px.
        lead: Text at the left padding, apart from the rest: a currency sign.
        trail: Text right behind the last line, in the right padding: ``%``, ``)``.
        mark: Raised small text behind the last line: a footnote mark.
        has_leader: Whether dots run from the text to the end of the cell.
        fill: Background, or None.
        top: Rule along the upper side, or None.
        right: Rule along the right side.
        bottom: Rule along the lower side.
        left: Rule along the left side.
        direction: How the text runs.
        is_checkbox: Whether an empty box is drawn before the text.
        wraps: Whether long lines are wrapped; numbers are not.
    """

    row: int
    col: int
    text: str
    style: TextStyle
    rowspan: int = 1
    colspan: int = 1
    kind: CellKind = "body"
    align: Align = "left"
    valign: VerticalAlign = "middle"
    indent: float = 0
    hanging: float = 0
    lead: str = ""
    trail: str = ""
    mark: str = ""
    has_leader: bool = False
    fill: Color | None = None
    top: Rule | None = None
    right: Rule | None = None
    bottom: Rule | None = None
    left: Rule | None = None
    direction: Direction = "horizontal"
    is_checkbox: bool = False
    wraps: bool = True

    @property
    def full_text(self) -> str:
        """All that an OCR engine sees in the cell, in reading order.

        >>> CellSpec(0, 0, "1,234", TextStyle("Serif", 12), lead="$", trail=")", mark="a").full_text
        '$ 1,234)a'
        """
        body = self.text + self.trail + self.mark
        return f"{self.lead} {body}" if self.lead and body else self.lead + body


@dataclass(frozen=True, slots=True)
class ColumnSpec:
    """One column.

    Args:
        padding_left: Space between the left side and the text, px.
        padding_right: Space between the text and the right side, px.
        min_width: The column is at least this wide with its padding, px.
        max_width: Text is wrapped to this width with its padding, px.
        grow: Share of the table's surplus width, relative to the other columns.
    """

    padding_left: float
    padding_right: float
    min_width: float = 0
    max_width: float = 10_000
    grow: float = 1


@dataclass(frozen=True, slots=True)
class RowSpec:
    """One row.

    Args:
        padding_top: Space above the text, px.
        padding_bottom: Space below the text, px.
        min_height: The row is at least this high, px.
    """

    padding_top: float
    padding_bottom: float
    min_height: float = 0


@dataclass(frozen=True, slots=True)
class TableSpec:
    """One table.

    Args:
        cells: Cover the grid completely and without overlap.
        rows: One for each row.
        columns: One for each column.
        line_height: Distance of base lines, in font sizes.
        width: The table is stretched to this width, px; 0 leaves it as wide as its content.
        background: Behind all cells, or None.
    """

    cells: tuple[CellSpec, ...]
    rows: tuple[RowSpec, ...]
    columns: tuple[ColumnSpec, ...]
    line_height: float = 1.2
    width: float = 0
    background: Color | None = None


@dataclass(frozen=True, slots=True)
class Paragraph:
    """Text outside tables: a caption, a title, a note, prose.

    Args:
        text: One paragraph.
        style: How it looks.
        align: Where its lines lie.
        line_height: Distance of base lines, in font sizes.
        width: It is wrapped to this width, px; 0 takes that of the page.
        role: What it is to a table that stands right beside it: its title, its unit, a note of it, or nothing.
    """

    text: str
    style: TextStyle
    align: Align = "left"
    line_height: float = 1.25
    width: float = 0
    role: TextRole = "none"


@dataclass(frozen=True, slots=True)
class Figure:
    """A picture that is no table: a chart, a stamp, a logo.

    Args:
        kind: What is drawn.
        width: px.
        height: px.
        colors: What it is drawn with.
        style: Of the labels in it.
        values: Numbers from 0 to 1 that shape it: the heights of bars, the points of a line.
    """

    kind: Literal["bars", "lines", "pie", "logo", "rule"]
    width: float
    height: float
    colors: tuple[Color, ...]
    style: TextStyle
    values: tuple[float, ...] = ()


Block = Paragraph | TableSpec | Figure


@dataclass(frozen=True, slots=True)
class Placed:
    """A block on a page.

    Args:
        block: What is there.
        gap: Space above it, px.
        indent: Space left of it, px.
        is_beside: Whether it stands right of the block before it in place of below.
    """

    block: Block
    gap: float = 0
    indent: float = 0
    is_beside: bool = False


_LENGTHS = {
    TextStyle: ("size",),
    Rule: ("width", "inset"),
    CellSpec: ("indent", "hanging"),
    ColumnSpec: ("padding_left", "padding_right", "min_width", "max_width"),
    RowSpec: ("padding_top", "padding_bottom", "min_height"),
    TableSpec: ("width",),
    Paragraph: ("width",),
    Figure: ("width", "height"),
    Placed: ("gap", "indent"),
}


def scaled(item: Any, factor: float) -> Any:
    """Return a description in which all lengths are so many times as long.

    >>> scaled(Placed(Paragraph("a", TextStyle("Sans", 10)), gap=4), 0.5).block.style.size
    5.0
    """
    if isinstance(item, tuple) and not all(isinstance(part, (int, float, str)) for part in item):
        return tuple(scaled(part, factor) for part in item)
    if not is_dataclass(item) or isinstance(item, type):
        return item
    lengths = (*_LENGTHS.get(type(item), ()), *(("margin",) if isinstance(item, Page) else ()))
    changes = {
        entry.name: getattr(item, entry.name) * factor
        if entry.name in lengths
        else scaled(getattr(item, entry.name), factor)
        for entry in fields(item)
    }
    return replace(item, **changes)


@dataclass(frozen=True, slots=True)
class Page:
    """Blocks from top to bottom on one ground.

    Args:
        blocks: What is on the page.
        margin: Space around all blocks, px.
        background: Of the page.
        framing: What the picture shows: ``flush``, what is drawn of a table and nothing else;
            ``tight``, a table and a few pixels around it; ``captioned``, with its title and notes;
            ``loose``, with its surroundings; ``page``, everything.
        about: How the page was chosen, see ``Sample.about``.
    """

    blocks: tuple[Placed, ...]
    margin: float
    background: Color
    framing: Literal["flush", "tight", "captioned", "loose", "page"]
    about: tuple[tuple[str, str], ...] = ()

    @property
    def tables(self) -> tuple[TableSpec, ...]:
        """The tables from top to bottom."""
        return tuple(placed.block for placed in self.blocks if isinstance(placed.block, TableSpec))
