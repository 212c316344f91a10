"""Tables as they were found, each with its part of the picture."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np

from postprocess.arrays import Floats, Image
from postprocess.cell import Cell
from postprocess.editing.placing import complete, join
from postprocess.geometry.boxes import quads_to_array, quads_to_boxes, word_height
from postprocess.table import Table
from postprocess.word import Word
from tablerec.corrections.editor.words import hold
from tablerec.inputs.turning import turn_picture, turn_points
from tablerec.result import Page, move_page

Window = tuple[int, int, int, int]
"""x0, y0, x1, y1 in whole pixels, right and bottom exclusive."""

_MARGIN = 0.04
"""Of the table's larger side, left around it: a frame that was set too small can be drawn further out."""
_FILLED = 0.25
"""A picture of which its only table fills so much is shown whole: a part of the table may not have been found."""

_LONGEST = 160
"""Bytes of a name that come from the input."""


@dataclass(frozen=True, slots=True, eq=False)
class Draft:
    """A table to correct.

    Args:
        name: Of its files.
        source: Name of the input.
        page: Number of the page, from 1.
        number: Of the table on the page, from 1; 0 where none was found and the page itself is one cell.
        image: ``(H, W, 3)`` uint8 BGR, upright.
        table: With a place for each cell, in pixels of ``image``.
        sureness: Probability that the table is right, 0 to 1.
        text_height: Of its lines, px; None where it is not known.
        turn: Degrees clockwise by which the page was turned to stand upright.
        window: Where ``image`` is on the upright page: x0, y0, x1, y1, px.
        words: Of the picture, in pixels of ``image``; the cells of ``table`` say which are theirs.
    """

    name: str
    source: str
    page: int
    number: int
    image: Image
    table: Table
    sureness: float = 0.0
    text_height: float | None = None
    turn: int = 0
    window: Window | None = None
    words: tuple[Word, ...] = ()


def page_to_drafts(page: Page) -> list[Draft]:
    """Cut out the tables of a page, turned upright.

    A page on which none was found is a draft of one cell that covers it, for a person to draw lines through.

    Args:
        page: Of a result.

    >>> from tablerec.result import PageImage
    >>> [draft] = page_to_drafts(Page(PageImage("a/scan.png", 1, np.full((40, 60, 3), 255, np.uint8))))
    >>> draft.name, draft.table.shape, draft.table.quad
    ('scan_1', (1, 1), ((0.0, 0.0), (60.0, 0.0), (60.0, 40.0), (0.0, 40.0)))
    """
    upright = turn_upright(page)
    height, width = upright.picture.image.shape[:2]
    name, source, number = page_to_stem(page), page.picture.source, page.picture.number
    # Without a cell there would be nothing to draw lines through.
    found_tables = [table if len(table) else Table([Cell(0, 0)], table.quad) for table in upright.tables]
    held = hold(found_tables, upright.words, upright.unplaced)
    tables = [join(complete(table, (width, height))) for table in held.tables]
    if not tables:
        blank, whole = complete(Table([Cell(0, 0)]), (width, height)), (0, 0, width, height)
        words = held.to_state(blank, whole).words
        return [Draft(name, source, number, 0, upright.picture.image, blank, 0.0, None, page.turn, whole, words)]
    boxes = [quads_to_boxes([table.quad])[0] for table in tables if table.quad]
    drafts = []
    for index, (found, table, box) in enumerate(zip(upright.tables, tables, boxes, strict=True)):
        size = box[2:] - box[:2]
        around = box + _MARGIN * size.max() * np.array([-1, -1, 1, 1])
        if len(tables) == 1 and size.prod() >= _FILLED * width * height:
            around = np.array([0.0, 0.0, width, height])
        window = trim(box, around, boxes[:index] + boxes[index + 1 :], (width, height))
        state = held.to_state(move_table(table, upright, window[:2]), window)
        drafts.append(Draft(
            f"{name}_{index + 1}", source, number, index + 1,
            cut(upright.picture.image, window), state.table,
            table_to_sureness(found), text_height_in(upright.words, box), page.turn, window, state.words,
        ))  # fmt: skip
    return drafts


def cut(image: Image, window: Window) -> Image:
    """A part of a picture, as a copy of its own."""
    x0, y0, x1, y1 = window
    return np.ascontiguousarray(image[y0:y1, x0:x1])


def table_to_sureness(table: Table) -> float:
    """Probability that a table is right, 0 where nothing is known."""
    return 0.0 if table.confidence is None else float(np.nan_to_num(table.confidence.table).clip(0, 1))


def page_to_stem(page: Page) -> str:
    """What the names of a page's tables begin with: letters, digits, ``_`` and ``-``."""
    stem = re.sub(r"[^\w\-]+", "_", Path(page.picture.source).stem).strip("_")[:80] or "table"
    stem = stem.encode()[:_LONGEST].decode(errors="ignore")  # file systems count bytes, up to 255
    return f"{stem}_{page.picture.number}"


def turn_upright(page: Page) -> Page:
    """The page with its picture turned as it was read."""
    if not page.turn:
        return page
    height, width = page.picture.image.shape[:2]
    move = partial(turn_points, turn=page.turn, size_wh=(width, height))
    return move_page(page, turn_picture(page.picture, page.turn), move)


def trim(box: Floats, around: Floats, others: Sequence[Floats], size_wh: tuple[int, int]) -> Window:
    """What is around a table without what shows its neighbours, in whole pixels of the picture."""
    x0, y0, x1, y1 = box.tolist()
    left, top, right, bottom = around.tolist()
    for a0, b0, a1, b1 in (other.tolist() for other in others):
        if a0 < right and a1 > left:
            top = max(top, min(b1, y0)) if b1 <= (y0 + y1) / 2 else top
            bottom = min(bottom, max(b0, y1)) if b0 >= (y0 + y1) / 2 else bottom
        if b0 < bottom and b1 > top:
            left = max(left, min(a1, x0)) if a1 <= (x0 + x1) / 2 else left
            right = min(right, max(a0, x1)) if a0 >= (x0 + x1) / 2 else right
    width, height = size_wh
    x0, y0 = int(np.clip(np.floor(left), 0, width - 1)), int(np.clip(np.floor(top), 0, height - 1))
    return x0, y0, int(np.clip(np.ceil(right), x0 + 1, width)), int(np.clip(np.ceil(bottom), y0 + 1, height))


def move_table(table: Table, page: Page, offset: Sequence[int]) -> Table:
    """The table in pixels of a part of the page that begins there."""
    only = replace(page, tables=(table,), words=(), unplaced=(), dropped=())
    return move_page(only, page.picture, lambda points: points - np.asarray(offset, np.float64)).tables[0]


def text_height_in(words: tuple[Word, ...], box: Floats) -> float | None:
    """Median height of the words in a table, px."""
    quads = quads_to_array([word.quad for word in words])
    middles = quads.mean(axis=1)
    inside = quads[((middles >= box[:2]) & (middles < box[2:])).all(axis=1)]
    height = word_height(inside) if len(inside) else 0.0
    return height if np.isfinite(height) and height > 0 else None
