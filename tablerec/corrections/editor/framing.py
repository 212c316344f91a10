"""A table that was missed, in a frame that a person draws on the page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from postprocess.arrays import Floats, Image
from postprocess.editing.placing import complete
from postprocess.geometry.boxes import quads_to_array, quads_to_boxes
from postprocess.table import Table
from postprocess.text.assignment import words_to_tables
from postprocess.text.direction import in_reading_order
from postprocess.word import Word
from tablerec.corrections.editor.draft import (
    Draft,
    Window,
    cut,
    move_table,
    page_to_stem,
    table_to_sureness,
    text_height_in,
    trim,
    turn_upright,
)
from tablerec.corrections.editor.words import hold
from tablerec.errors import InputError
from tablerec.inputs.turning import turn_points
from tablerec.result import Page, PageImage, move_word

_SMALLEST = 8
"""Pixels that a frame has at least."""


def frame_to_draft(
    found: Page, frame: Window, others: Sequence[Floats], number: int, shape: tuple[int, int] | None = None
) -> Draft:
    """Make a table to correct of what was found in a frame that a person drew on a page.

    Args:
        found: In the picture inside the frame. Of several tables the largest counts; where there is none, the frame
            is one cell.
        frame: On the upright page.
        others: ``(4,)`` xyxy boxes of other tables of that page: nothing of them is left in the picture.
        number: Of the table on the page.
        shape: Numbers of even rows and columns, in place of the table that was found; the words stay.

    >>> from tablerec.result import PageImage
    >>> blank = Page(PageImage("scan.png", 1, np.full((40, 60, 3), 255, np.uint8)))
    >>> draft = frame_to_draft(blank, (10, 0, 70, 40), [np.array([60.0, 0, 90, 40])], 2, (4, 5))
    >>> draft.name, draft.table.shape, draft.window
    ('scan_1_2', (4, 5), (10, 0, 70, 40))
    """
    upright = turn_upright(found)
    height, width = upright.picture.image.shape[:2]
    table = max(upright.tables, key=len, default=Table([]))
    if shape or not len(table):
        table = _even(shape or (1, 1), upright.words, (width, height))
    sureness = table_to_sureness(table)
    held = hold([table], upright.words, upright.unplaced)
    table = complete(held.tables[0], (width, height))
    [box] = quads_to_boxes([table.quad] if table.quad else [])
    x, y = frame[:2]
    beside = [other - np.array([x, y, x, y]) for other in others]
    window = trim(box, np.array([0.0, 0.0, width, height]), beside, (width, height))
    x0, y0, x1, y1 = window
    state = held.to_state(move_table(table, upright, window[:2]), window)
    return Draft(
        f"{page_to_stem(found)}_{number}", found.picture.source, found.picture.number, number,
        cut(upright.picture.image, window), state.table, sureness,
        text_height_in(upright.words, box), found.turn, (x + x0, y + y0, x + x1, y + y1), state.words,
    )  # fmt: skip


def hide(image: Image, own: Floats, others: Sequence[Floats]) -> Image:
    """Paint over what the picture of a table shows of others: a label says nothing of them.

    Args:
        image: ``(H, W, 3)`` uint8.
        own: ``(4,)`` xyxy box of the table; it stays.
        others: Boxes of the others, pixels of the picture; they may lie outside.

    Returns:
        The picture with the others in its median colour; the same one where it shows none.

    >>> picture = np.repeat(np.arange(5, dtype=np.uint8), 3).reshape(1, 5, 3)
    >>> hide(picture, np.array([0, 0, 3, 1]), [np.array([2.0, 0, 9, 9])])[0, :, 0].tolist()
    [0, 1, 2, 2, 2]
    """
    height, width = image.shape[:2]
    size = [width, height, width, height]

    def pixels(box: Floats) -> tuple[slice, slice]:
        x0, y0, x1, y1 = (int(value) for value in np.clip([*np.floor(box[:2]), *np.ceil(box[2:])], 0, size))
        return slice(y0, y1), slice(x0, x1)

    painted = image.copy()
    for other in others:
        painted[pixels(other)] = np.median(image, axis=(0, 1))
    painted[pixels(own)] = image[pixels(own)]
    return image if np.array_equal(painted, image) else painted


def crop_picture(picture: PageImage, window: Window) -> PageImage:
    """Part of a picture, with the words of which it shows the middle."""
    x0, y0, x1, y1 = window
    cropped = replace(picture, image=cut(picture.image, window), layer=None)
    if picture.words is None:
        return cropped
    middles = quads_to_array([word.quad for word in picture.words]).mean(axis=1)
    inside = ((middles >= (x0, y0)) & (middles < (x1, y1))).all(axis=1)
    words = [word for word, is_inside in zip(picture.words, inside, strict=True) if is_inside]
    return replace(cropped, words=tuple(move_word(word, lambda points: points - (x0, y0)) for word in words))


def to_window(box_xyxy: Sequence[float], page: PageImage) -> Window:
    """Whole pixels of a page that a box covers.

    Raises:
        InputError: It is no box, or covers next to nothing of the page.
    """
    height, width = page.image.shape[:2]
    box = np.asarray(box_xyxy, np.float64)
    if box.shape != (4,) or not np.isfinite(box).all():
        raise InputError("a frame has four finite numbers: draw it again").named("no_frame")
    box = box.clip(0, [width, height, width, height])
    x0, y0, x1, y1 = (int(value) for value in (*np.floor(box[:2]), *np.ceil(box[2:])))
    if min(x1 - x0, y1 - y0) < _SMALLEST:
        message = "the frame is too small or outside the page: draw it around the table"
        raise InputError(message).named("small_frame")
    return x0, y0, x1, y1


def turn_window(window: Window, turn: int, size_wh: tuple[int, int]) -> Window:
    """Where a part of a page is after the page was turned so many degrees clockwise.

    >>> turn_window((10, 0, 30, 20), 90, (50, 40))
    (20, 10, 40, 30)
    """
    corners = turn_points(np.array(window, np.float64).reshape(2, 2), turn, size_wh)
    (x0, y0), (x1, y1) = corners.min(axis=0).astype(int).tolist(), corners.max(axis=0).astype(int).tolist()
    return x0, y0, x1, y1


def _even(shape: tuple[int, int], words: Sequence[Word], size_wh: tuple[int, int]) -> Table:
    """Even rows and columns, with the words where they are."""
    grid = complete(Table.from_texts([[""] * shape[1]] * shape[0]), size_wh)
    if shape == (1, 1):
        return grid
    [filled], _ = words_to_tables([grid], [word for word in words if np.isfinite(word.quad).all()])
    return in_reading_order(filled)
