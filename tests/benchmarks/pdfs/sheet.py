"""Where the texts of a table stand on a page, in points: the layout that the kinds of raw PDFs share."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from postprocess.cell import Cell
from postprocess.table import Table
from tests.benchmarks.pdfs.fonts import Font, Helvetica

Box = tuple[float, float, float, float]
"""x0, y0, x1, y1 in points, upwards."""


@dataclass(frozen=True)
class Piece:
    """A line of a cell's text: ``x`` and ``y`` are the start of its baseline."""

    cell: Cell
    text: str
    x: float
    y: float
    size: float
    font: Font

    @property
    def end(self) -> float:
        """Where the text ends."""
        return self.x + self.font.width(self.text, self.size)


@dataclass(frozen=True)
class Sheet:
    """A table laid out.

    Args:
        table: What is shown.
        pieces: Its texts, row by row.
        xs: ``n_cols + 1`` edges from the table's first column on, so they fall where it runs from right to left.
        ys: ``n_rows + 1`` edges from the top.
        ruled: Whether all cells are framed; else three lines, at the top, below the head and at the end.
    """

    table: Table
    pieces: tuple[Piece, ...]
    xs: tuple[float, ...]
    ys: tuple[float, ...]
    ruled: bool

    def box(self, cell: Cell) -> Box:
        """The cell's box."""
        x0, x1 = sorted((self.xs[cell.col], self.xs[cell.end_col]))
        return x0, self.ys[cell.end_row], x1, self.ys[cell.row]

    @property
    def outline(self) -> Box:
        """The table's box."""
        x0, x1 = sorted((self.xs[0], self.xs[-1]))
        return x0, self.ys[-1], x1, self.ys[0]

    def rules(self, width: float = 0.6) -> str:
        """Operators that draw the lines."""
        if self.ruled:
            return f"{width} w\n" + "".join(f"{rectangle(self.box(cell))} S\n" for cell in self.table.cells)
        x0, _, x1, _ = self.outline
        rows = (0, max(self.table.n_header_rows, 1), len(self.ys) - 1)
        return f"{width} w\n" + "".join(f"{x0:g} {self.ys[row]:g} m {x1:g} {self.ys[row]:g} l S\n" for row in rows)

    def draw(self, show: Callable[[Piece], str] | None = None) -> str:
        """Operators that draw lines and texts."""
        return self.rules() + "".join(map(show or show_piece, self.pieces))


def lay_out(
    table: Table,
    font: Font | None = None,
    *,
    ruled: bool = True,
    size: float = 9,
    origin: tuple[float, float] = (60, 760),
    padding: float = 6,
    least: float = 55,
    right: bool = True,
) -> Sheet:
    """Give each column the width of its texts and each row the height of its lines.

    Args:
        table: What to show.
        font: Of all texts.
        ruled: See ``Sheet``.
        size: Of the text, in points.
        origin: Left top corner, in points.
        padding: Between text and edge.
        least: Least width of a column.
        right: Whether numbers are aligned at the right.
    """
    font = font or Helvetica()

    def needed(cell: Cell) -> float:
        return max(font.width(line, size) for line in cell.text.split("\n")) + 2 * padding

    widths = [least] * table.n_cols
    for cell in sorted(table.cells, key=lambda cell: cell.colspan):
        lacking = needed(cell) - sum(widths[cell.col : cell.end_col])
        for col in range(cell.col, cell.end_col):
            widths[col] += max(0.0, lacking) / cell.colspan
    heights = [1.9 * size] * table.n_rows
    for cell in table.cells:
        if cell.rowspan == 1:
            heights[cell.row] = max(heights[cell.row], (cell.text.count("\n") + 1) * 1.25 * size + 0.7 * size)
    left, top = origin
    rtl = table.direction == "rtl"
    xs = [left + sum(widths) if rtl else left]
    for width in widths:
        xs.append(xs[-1] + (-width if rtl else width))
    ys = [top]
    for height in heights:
        ys.append(ys[-1] - height)
    sheet = Sheet(table, (), tuple(xs), tuple(ys), ruled)
    pieces = [
        piece for cell in table.cells for piece in _pieces(cell, sheet.box(cell), font, size, padding, rtl, right)
    ]
    return Sheet(table, tuple(pieces), tuple(xs), tuple(ys), ruled)


def _pieces(cell: Cell, box: Box, font: Font, size: float, padding: float, rtl: bool, right: bool) -> Iterable[Piece]:
    lines = cell.text.split("\n") if cell.text else []
    pitch = 1.25 * size
    first = (box[1] + box[3]) / 2 + (len(lines) - 1) / 2 * pitch - 0.35 * size
    for index, line in enumerate(lines):
        slack = box[2] - box[0] - 2 * padding - font.width(line, size)
        at_right = (cell.col > 0 and right) or (rtl and cell.col == 0)
        x = box[0] + padding + (slack / 2 if cell.colspan > 1 else slack if at_right else 0.0)
        yield Piece(cell, line, x, first - index * pitch, size, font)


def show_piece(piece: Piece, text: str | None = None, setup: str = "") -> str:
    """Operators that show a piece, or another text in its place."""
    return show(piece.x, piece.y, piece.text if text is None else text, piece.font, piece.size, setup)


def show(x: float, y: float, text: str, font: Font, size: float, setup: str = "") -> str:
    """Operators that show a text."""
    return f"BT {setup} /{font.name} {size:g} Tf {x:.3f} {y:.3f} Td {font.codes(text)} Tj ET\n"


def rectangle(box: Box) -> str:
    """The path of a box."""
    x0, y0, x1, y1 = box
    return f"{x0:.3f} {y0:.3f} {x1 - x0:.3f} {y1 - y0:.3f} re"
