"""Tables drawn in the cells of tables, with the words and the tables that they hold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from postprocess.cell import Cell
from postprocess.table import Table, tables_in
from postprocess.word import Word
from tests.helpers.drawing import Drawing, Look, Rows, draw_table, make_table, move_word
from tests.helpers.layouts import box_quad

Place = tuple[int, int]


@dataclass(frozen=True)
class Filling:
    """What a cell holds: lines of text, and below or beside them tables.

    Args:
        tables: As rows of texts.
        lines: Text in the cell itself.
        beside: Whether the tables stand right of the text and of one another, and not below.
        inset: Free space around each table, px.
    """

    tables: Sequence[Rows]
    lines: Sequence[str] = ()
    beside: bool = False
    inset: int = 8


def draw_nested(rows: Rows, fillings: Mapping[Place, Filling], look: Look | None = None) -> Drawing:
    """Draw a table with tables in some of its cells, whose own texts must be empty.

    The words of the cells' own lines come first; ``table`` holds the inner tables, without places.
    """
    look = look or Look()
    inside = {place: _draw_filling(filling, look) for place, filling in fillings.items()}
    plain = draw_table(rows, look)
    xs, ys = _lines(plain.table, inside, look)
    outer = draw_table(rows, replace(look, widths=np.diff(xs).tolist(), heights=np.diff(ys).tolist()))
    image, words, cells = outer.image.copy(), list(outer.words), list(outer.table.cells)
    for index, cell in enumerate(cells):
        filling = inside.get((cell.row, cell.col))
        if filling is None:
            continue
        left, top = int(xs[cell.col]) + look.thickness, int(ys[cell.row]) + look.thickness
        height, width = filling.image.shape[:2]
        image[top : top + height, left : left + width] = filling.image
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
    font = ImageFont.load_default(look.size)
    frame = replace(look, margin=filling.inset, widths=(), heights=())
    drawn = [draw_table(rows, frame) for rows in filling.tables]
    pitch = round(1.2 * look.size)
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


def _lines(table: Table, inside: Mapping[Place, _Drawn], look: Look) -> tuple[np.ndarray, np.ndarray]:
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
