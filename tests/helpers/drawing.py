"""Tables drawn with Pillow's own font, which is the same everywhere, with the words and the table that they hold.

A table is written as rows of texts; ``<`` continues the cell on the left and ``^`` the cell above.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import cv2
import numpy as np
import pytest
from PIL import Image, ImageDraw, ImageFont

from postprocess.cell import Cell
from postprocess.geometry.boxes import array_to_quad, quads_to_array
from postprocess.table import Table, tables_in
from postprocess.word import Word
from tablerec import Page
from tests.helpers.layouts import box_quad

Read = Callable[..., Page]
"""The fixture ``read`` of the reports reads a picture with given words: ``read(image, words, layout="page")``."""
Color = tuple[int, int, int]
Rows = Sequence[Sequence[str]]
Span = tuple[int, int, int, int, str]

BLACK: Color = (0, 0, 0)
WHITE: Color = (255, 255, 255)


@dataclass(frozen=True)
class Look:
    """How a table is drawn; lengths in pixels, colours RGB.

    Args:
        rules: ``all``, ``none``, ``rows`` (level lines only), ``head`` (above and below the first row, and at the end).
        aligns: ``l``, ``m`` or ``r`` for each column; left where empty.
        widths: Of the columns; by content where empty.
        heights: Of the rows; by content where empty.
        gap: Free space left and right of a text.
        fills: Ground of rows, by row.
        inks: Colour of the text, by row.
    """

    rules: str = "all"
    aligns: str = ""
    size: int = 14
    gap: float = 8
    leading: float = 6
    margin: int = 20
    thickness: int = 1
    line: Color = BLACK
    ink: Color = BLACK
    ground: Color = WHITE
    widths: Sequence[float] = ()
    heights: Sequence[float] = ()
    fills: dict[int, Color] | None = None
    inks: dict[int, Color] | None = None


@dataclass(frozen=True)
class Drawing:
    """``(H, W, 3)`` uint8 BGR picture, its words (one for each line of a cell), and the table in it."""

    image: np.ndarray
    words: list[Word]
    table: Table

    @property
    def spans(self) -> list[Span]:
        return table_to_spans(self.table)


def fails(*values: object, reason: str) -> Any:
    """A case that is known to fail; once it passes, the mark has to go."""
    return pytest.param(*values, marks=pytest.mark.xfail(strict=True, raises=AssertionError, reason=reason))


def make_table(rows: Rows) -> Table:
    """Return the table without geometry.

    >>> make_table([["a", "<"], ["b", "c"]])[0, 1].text
    'a'
    """
    cells: dict[tuple[int, int], Cell] = {}
    owner: dict[tuple[int, int], tuple[int, int]] = {}
    for r, row in enumerate(rows):
        for c, text in enumerate(row):
            if text in ("<", "^"):
                first = owner[r, c] = owner[(r, c - 1) if text == "<" else (r - 1, c)]
                cell = cells[first]
                cells[first] = replace(
                    cell, rowspan=max(cell.rowspan, r + 1 - cell.row), colspan=max(cell.colspan, c + 1 - cell.col)
                )
            else:
                owner[r, c] = (r, c)
                cells[r, c] = Cell(r, c, text=text)
    return Table(list(cells.values()))


def table_to_spans(table: Table) -> list[Span]:
    """Row, column, end row, end column and text of each cell."""
    return [(cell.row, cell.col, cell.end_row, cell.end_col, cell.text) for cell in table.cells]


def draw_table(rows: Rows, look: Look | None = None) -> Drawing:
    """Draw one table."""
    look = look or Look()
    table = make_table(rows)
    xs, ys = _lines(table, look)
    canvas = Image.new("RGB", (int(xs[-1]) + look.margin, int(ys[-1]) + look.margin), look.ground)
    pen = ImageDraw.Draw(canvas)
    for row, fill in (look.fills or {}).items():
        pen.rectangle((xs[0], ys[row], xs[-1], ys[row + 1] - 1), fill=fill)
    _draw_rules(pen, table, xs, ys, look)
    words = [word for cell in table.cells for word in _write(pen, cell, xs, ys, look)]
    cells = [
        replace(cell, quad=box_quad(xs[cell.col], ys[cell.row], xs[cell.end_col], ys[cell.end_row]))
        for cell in table.cells
    ]
    return Drawing(np.ascontiguousarray(np.asarray(canvas)[..., ::-1]), words, Table(cells))


def stack(drawings: Sequence[Drawing], gap: int) -> tuple[np.ndarray, list[Word]]:
    """Draw tables one below another, and return the picture and its words."""
    width = max(drawing.image.shape[1] for drawing in drawings)
    bands, words, top = [], [], 0
    for drawing in drawings:
        height = drawing.image.shape[0]
        band = np.full((height + gap, width, 3), drawing.image[0, 0], np.uint8)
        band[:height, : drawing.image.shape[1]] = drawing.image
        words += [move_word(word, 0, top) for word in drawing.words]
        bands.append(band)
        top += height + gap
    return np.concatenate(bands), words


def move_word(word: Word, dx: float, dy: float) -> Word:
    return replace(word, quad=tuple((x + dx, y + dy) for x, y in word.quad))


def warp(drawing: Drawing, corners: Sequence[tuple[float, float]], size_wh: tuple[int, int]) -> Drawing:
    """Let the corners TL, TR, BR, BL of the picture fall on other points: a photo from the side."""
    height, width = drawing.image.shape[:2]
    source = np.array([(0, 0), (width, 0), (width, height), (0, height)], np.float32)
    matrix = cv2.getPerspectiveTransform(source, np.array(corners, np.float32))
    ground = tuple(map(int, drawing.image[0, 0]))
    image = cv2.warpPerspective(drawing.image, matrix, size_wh, flags=cv2.INTER_AREA, borderValue=ground)
    quads = cv2.perspectiveTransform(quads_to_array([word.quad for word in drawing.words]).reshape(-1, 1, 2), matrix)
    return replace(drawing, image=image, words=_placed(drawing.words, quads.reshape(-1, 4, 2)))


def turn(drawing: Drawing, degrees: float) -> Drawing:
    """Turn clockwise, with room for the corners."""
    height, width = drawing.image.shape[:2]
    angle = np.radians(degrees)
    across, down = abs(np.cos(angle)), abs(np.sin(angle))
    new_width, new_height = width * across + height * down, width * down + height * across
    rotation = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    corners = np.array([(0, 0), (width, 0), (width, height), (0, height)]) - (width / 2, height / 2)
    placed = corners @ rotation.T + (new_width / 2, new_height / 2)
    return warp(drawing, placed.tolist(), (round(new_width), round(new_height)))


def curl(drawing: Drawing, rise: float) -> Drawing:
    """Bend the rows into half a wave that is so many pixels high, as paper beside the spine of a book."""
    height, width = drawing.image.shape[:2]
    x, y = np.meshgrid(np.arange(width, dtype=np.float32), np.arange(height + int(rise), dtype=np.float32))
    ground = tuple(map(int, drawing.image[0, 0]))
    bent = rise * np.sin(np.pi * x / width)
    image = cv2.remap(drawing.image, x, (y - bent).astype(np.float32), cv2.INTER_LINEAR, borderValue=ground)
    quads = quads_to_array([word.quad for word in drawing.words])
    quads[..., 1] += rise * np.sin(np.pi * quads[..., 0] / width)
    return replace(drawing, image=image, words=_placed(drawing.words, quads))


def _placed(words: Sequence[Word], quads: np.ndarray) -> list[Word]:
    return [replace(word, quad=array_to_quad(quad)) for word, quad in zip(words, quads, strict=True)]


@cache
def _font(size: int) -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    return ImageFont.load_default(size)


def _lines(table: Table, look: Look) -> tuple[np.ndarray, np.ndarray]:
    """Positions of the lines of the grid; wide enough for each cell."""
    widths = list(look.widths) or [2 * look.gap + look.size] * table.n_cols
    heights = list(look.heights) or [look.size + 2 * look.leading] * table.n_rows
    for cell in sorted(table.cells, key=lambda cell: cell.colspan):
        if not look.widths:
            wanted = max(_font(look.size).getlength(line) for line in cell.text.split("\n")) + 2 * look.gap
            widths[cell.end_col - 1] += max(0, int(wanted) + 1 - sum(widths[cell.col : cell.end_col]))
        if not look.heights:
            n_lines = cell.text.count("\n") + 1
            wanted = n_lines * _pitch(look) + 2 * look.leading
            heights[cell.end_row - 1] += max(0, int(wanted) - sum(heights[cell.row : cell.end_row]))
    return look.margin + np.cumsum([0, *widths]), look.margin + np.cumsum([0, *heights])


def _pitch(look: Look) -> int:
    return round(1.2 * look.size)


def _draw_rules(pen: ImageDraw.ImageDraw, table: Table, xs: np.ndarray, ys: np.ndarray, look: Look) -> None:
    for cell in table.cells:
        x0, y0, x1, y1 = xs[cell.col], ys[cell.row], xs[cell.end_col], ys[cell.end_row]
        level = [y0, y1] if look.rules in ("all", "rows") else []
        if look.rules == "head":
            level = [y for y in (y0, y1) if y in (ys[0], ys[1], ys[-1])]
        for y in level:
            pen.line((x0, y, x1, y), look.line, look.thickness)
        for x in (x0, x1) if look.rules == "all" else ():
            pen.line((x, y0, x, y1), look.line, look.thickness)


def _write(pen: ImageDraw.ImageDraw, cell: Cell, xs: np.ndarray, ys: np.ndarray, look: Look) -> list[Word]:
    font, lines = _font(look.size), cell.text.split("\n") if cell.text else []
    left, right = xs[cell.col] + look.gap, xs[cell.end_col] - look.gap
    align = (look.aligns or "l" * len(xs))[cell.col] if cell.colspan == 1 else "m"
    top = (ys[cell.row] + ys[cell.end_row] - len(lines) * _pitch(look)) / 2
    ink = (look.inks or {}).get(cell.row, look.ink)
    words = []
    for number, line in enumerate(lines):
        free = right - left - font.getlength(line)
        place = int(left + free * {"l": 0, "m": 0.5, "r": 1}[align]), int(top + number * _pitch(look))
        pen.text(place, line, ink, font)
        words.append(Word(line, box_quad(*map(float, pen.textbbox(place, line, font)))))
    return words


Place = tuple[int, int]


@dataclass(frozen=True)
class Filling:
    """What a cell holds: lines of text, and below or beside them tables.

    Args:
        tables: As rows of texts.
        lines: Text in the cell itself.
        beside: Whether the tables stand right of the text and of one another, and not below.
        inset: Free space around each table, px.
        flush: Whether the tables share the left border of the cell; without ``beside``.
    """

    tables: Sequence[Rows]
    lines: Sequence[str] = ()
    beside: bool = False
    inset: int = 8
    flush: bool = False


def draw_nested(rows: Rows, fillings: Mapping[Place, Filling], look: Look | None = None) -> Drawing:
    """Draw a table with tables in some of its cells, whose own texts must be empty.

    The words of the cells' own lines come first; ``table`` holds the inner tables, without places.
    """
    look = look or Look()
    inside = {place: _draw_filling(filling, look) for place, filling in fillings.items()}
    plain = draw_table(rows, look)
    xs, ys = _nested_lines(plain.table, inside, look)
    outer = draw_table(rows, replace(look, widths=np.diff(xs).tolist(), heights=np.diff(ys).tolist()))
    image, words, cells = outer.image.copy(), list(outer.words), list(outer.table.cells)
    for index, cell in enumerate(cells):
        filling = inside.get((cell.row, cell.col))
        if filling is None:
            continue
        left, top = int(xs[cell.col]) + look.thickness, int(ys[cell.row]) + look.thickness
        height, width = filling.image.shape[:2]
        skipped = 0
        if fillings[cell.row, cell.col].flush:
            skipped = fillings[cell.row, cell.col].inset + look.thickness
            left -= skipped
        image[top : top + height, left + skipped : left + width] = filling.image[:, skipped:]
        words += [move_word(word, left, top) for word in filling.words]
        lines = "\n".join(fillings[cell.row, cell.col].lines)
        cells[index] = replace(cell, text=lines, tables=filling.tables)
    return Drawing(image, words, Table(cells))


@dataclass(frozen=True)
class _Drawn:
    image: np.ndarray
    words: list[Word]
    tables: tuple[Table, ...]


def _draw_filling(filling: Filling, look: Look) -> _Drawn:
    font = _font(look.size)
    frame = replace(look, margin=filling.inset, widths=(), heights=())
    drawn = [draw_table(rows, frame) for rows in filling.tables]
    pitch = _pitch(look)
    text_width = int(max((font.getlength(line) for line in filling.lines), default=0)) + 1 if filling.lines else 0
    text_height = pitch * len(filling.lines) + filling.inset // 2 if filling.lines else 0
    widths, heights = [each.image.shape[1] for each in drawn], [each.image.shape[0] for each in drawn]
    if filling.beside:
        lefts = filling.inset * bool(text_width) + text_width + np.cumsum([0, *widths])
        tops = np.zeros(len(drawn), int)
        size = int(lefts[-1]), max(*heights, text_height + filling.inset)
    else:
        lefts, tops = np.zeros(len(drawn), int), text_height + np.cumsum([0, *heights])
        size = max(*widths, text_width + 2 * filling.inset), int(tops[-1])
    canvas = Image.new("RGB", size, look.ground)
    pen, words = ImageDraw.Draw(canvas), []
    for number, line in enumerate(filling.lines):
        place = filling.inset, filling.inset // 2 + number * pitch
        pen.text(place, line, look.ink, font)
        words.append(Word(line, box_quad(*map(float, pen.textbbox(place, line, font)))))
    image = np.array(canvas)[..., ::-1].copy()
    for each, left, top in zip(drawn, lefts.tolist(), tops.tolist(), strict=False):
        height, width = each.image.shape[:2]
        image[top : top + height, left : left + width] = each.image
        words += [move_word(word, left, top) for word in each.words]
    return _Drawn(image, words, tuple(map(make_table, filling.tables)))


def _nested_lines(table: Table, inside: Mapping[Place, _Drawn], look: Look) -> tuple[np.ndarray, np.ndarray]:
    """Positions of the lines of the outer table, with room for what is in its cells."""
    xs = np.array(sorted({corner[0] for cell in table.cells for corner in cell.quad or ()}))
    ys = np.array(sorted({corner[1] for cell in table.cells for corner in cell.quad or ()}))
    for cell in table.cells:
        if (cell.row, cell.col) in inside:
            height, width = inside[cell.row, cell.col].image.shape[:2]
            xs[cell.end_col :] += max(0, width + 2 * look.thickness - (xs[cell.end_col] - xs[cell.col]))
            ys[cell.end_row :] += max(0, height + 2 * look.thickness - (ys[cell.end_row] - ys[cell.row]))
    return xs, ys


def texts_of(table: Table) -> list[tuple[int, int, int, int, str, list]]:  # type: ignore[type-arg]
    """Row, column, end row, end column, text and inner tables of each cell."""

    def of(cell: Cell) -> list:  # type: ignore[type-arg]
        return [texts_of(each) for each in tables_in(cell)]

    return [(cell.row, cell.col, cell.end_row, cell.end_col, cell.text, of(cell)) for cell in table.cells]
