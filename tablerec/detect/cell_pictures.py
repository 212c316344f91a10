"""Pictures in the cells of tables: photographs, drawings and logos, cut out of the page.

A picture is ink that is no word and no ruling, a few lines of text high and wide, most of which hangs together:
letters that were not read are small pieces. Of a page of a PDF it is known where pictures lie.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from postprocess.cell import Cell, Picture
from postprocess.geometry.boxes import array_to_quad, boxes_to_quads, quads_to_array, quads_to_boxes, word_height
from postprocess.table import Table
from postprocess.word import Words

if TYPE_CHECKING:
    from postprocess.arrays import Flags, Floats, Gray, Image

MOST = 200
"""Pictures of a page that are kept."""
MAX_SIDE = 1000
"""Longer side of a picture in pixels; larger ones are reduced."""

_LEAST = 2.0
"""Height and width of a picture, in text heights."""
_INSET = 0.25
"""What is left out at the borders of a cell, in text heights."""
_CONTRAST = 40
"""Ink differs from the ground by more than this in a channel, 0 to 255."""
_PIECE = 1.8
"""Larger connected pieces, in text heights, are no letters."""
_CONNECTED = 0.5
"""Share of the ink of a picture that is in such pieces."""
_INKED = 0.06
"""Share of its box that is ink: a stroke through an empty cell has less."""
_TEXT = 0.25
"""Words that are read for sure cover less of a picture."""
_SURE = 0.8
"""Score of such words."""
_FLAT = 8.0
"""Deviation of the brightness within a filled area, below which it is a ground and no picture."""
_FILLED = 0.9
"""Share of its box that such an area fills."""
_FALLBACK = 20.0
"""Text height in pixels where there is no text."""


class _Page(NamedTuple):
    """What is known of a page.

    Args:
        image: ``(H, W, 3)`` BGR.
        words: ``(H, W)`` where words lie: not 0.
        sure: ``(H, W)`` where those lie that are read for sure: not 0.
        text_height: Pixels.
        areas: ``(A, 4)`` xyxy pixels, where a PDF has pictures.
    """

    image: Image
    words: Gray
    sure: Gray
    text_height: float
    areas: Floats


def add_pictures(tables: Sequence[Table], image: Image, words: Words, areas_xyxy: Floats) -> list[Table]:
    """Give the cells of tables the pictures that lie in them.

    Args:
        tables: Of a page, with quads; a table in a cell of another one is one of them, and no picture.
        image: ``(H, W, 3)`` uint8 BGR.
        words: In it.
        areas_xyxy: ``(A, 4)`` pixels, where a PDF is known to have pictures; none of a scan.
    """
    placed = words.select(words.have_place)
    text_height = word_height(placed.quads) if len(placed) else _FALLBACK
    sure = placed.select(placed.scores >= _SURE)
    masks = [_mask(quads_to_boxes(each.quads), image.shape, 0.15 * text_height) for each in (placed, sure)]
    page = _Page(image, masks[0], masks[1], text_height, areas_xyxy)
    done: list[Table] = []
    left = MOST
    for table in tables:
        changed = _in_table(table, page, _without_inner(image, table, tables), left)
        left -= sum(len(cell.pictures) for cell in changed.cells)
        done.append(changed)
    return done


def lie_in_pictures(tables: Sequence[Table], words: Words) -> Flags:
    """``(W,)`` which words lie in a picture and are not read for sure: drawings look like letters.

    Args:
        tables: With pictures.
        words: Of the same page.
    """
    pictures = [each for table in tables for cell in table.cells for each in cell.pictures]
    boxes = quads_to_boxes(quads_to_array([each.quad for each in pictures if each.quad]))
    middles = words.middles[:, None]
    is_outside = np.asarray(((middles < boxes[:, :2]) | (middles > boxes[:, 2:])).any(axis=2), np.bool_)
    return np.asarray(~is_outside.all(axis=1) & (words.scores < _SURE), np.bool_)


def _mask(boxes_xyxy: Floats, shape: tuple[int, ...], rim: float) -> Gray:
    """``(H, W)`` 1 within some boxes and their rims, else 0."""
    import cv2

    mask = np.zeros(shape[:2], np.uint8)
    for x0, y0, x1, y1 in (boxes_xyxy + rim * np.array([-1, -1, 1, 1])).round().astype(int).tolist():
        cv2.rectangle(mask, (x0, y0), (x1, y1), 1, -1)
    return mask


def _without_inner(image: Image, table: Table, tables: Sequence[Table]) -> Gray:
    """``(H, W)`` 0 where smaller tables lie, which may stand in cells of this one, else 1."""
    import cv2

    mask = np.ones(image.shape[:2], np.uint8)
    size = _extent(table)
    for other in tables:
        if _extent(other) < size:
            cv2.fillConvexPoly(mask, cv2.convexHull(other.quads.reshape(-1, 1, 2).round().astype(np.int32)), 0)
    return mask if mask.all() else np.asarray(cv2.erode(mask, np.ones((9, 9), np.uint8)), np.uint8)


def _extent(table: Table) -> float:
    return float(np.ptp(table.quads.reshape(-1, 2), axis=0).prod()) if len(table.quads) else np.inf


def _in_table(table: Table, page: _Page, free: Gray, left: int) -> Table:
    """The table with its pictures, at most so many."""
    cells = []
    for cell in table.cells:
        pictures = _pictures_in(cell, page, free)[:left]
        left -= len(pictures)
        cells.append(replace(cell, pictures=tuple(pictures)) if pictures else cell)
    return replace(table, cells=cells)


def _pictures_in(cell: Cell, page: _Page, free: Gray) -> list[Picture]:
    """The pictures of a cell, from top to bottom."""
    if cell.quad is None or not np.isfinite(cell.quad).all():
        return []
    quad = _inset(quads_to_array([cell.quad])[0], _INSET * page.text_height)
    [bounds] = quads_to_boxes(quad[None])
    if (bounds[2:] - bounds[:2]).min() < _LEAST * page.text_height:
        return []
    boxes = [box for box in page.areas if _share_within(box, bounds) > _FILLED and _is_large(box, page)]
    boxes += [box for box in _ink_boxes(quad, page, free) if not any(_share_within(box, area) > 0.5 for area in boxes)]
    boxes = [box for box in boxes if _share_of_words(box, page) < _TEXT]
    return [_cut(box, page.image) for box in sorted(boxes, key=lambda box: (box[1], box[0]))]


def _ink_boxes(quad: Floats, page: _Page, free: Gray) -> list[Floats]:
    """``(4,)`` boxes of what looks like pictures in the area of a cell, pixels of the page."""
    import cv2

    height, width = page.image.shape[:2]
    x0, y0 = np.floor(quad.min(axis=0)).astype(int).clip(0).tolist()
    x1, y1 = np.minimum(np.ceil(quad.max(axis=0)).astype(int), (width, height)).tolist()
    if min(x1 - x0, y1 - y0) < _LEAST * page.text_height:
        return []
    part = page.image[y0:y1, x0:x1]
    inside = np.zeros(part.shape[:2], np.uint8)
    cv2.fillConvexPoly(inside, (quad - (x0, y0)).round().astype(np.int32), 1)
    rim = part[(inside > 0) & (cv2.erode(inside, np.ones((3, 3), np.uint8), borderValue=0) == 0)]
    ground = np.median(rim, axis=0)
    if (np.abs(rim - ground).max(axis=1) > _CONTRAST).mean() > 0.5:
        return [np.array([x0, y0, x1, y1], np.float64)]
    ink = (np.abs(part - ground).max(axis=2) > _CONTRAST) & (inside > 0) & (free[y0:y1, x0:x1] > 0)
    # What was read in a picture is no text: large pieces stay.
    ink &= (page.words[y0:y1, x0:x1] == 0) | _large_pieces(ink, page)
    reach = max(round(0.5 * page.text_height), 3)
    grown = cv2.dilate(ink.astype(np.uint8), np.ones((reach, reach), np.uint8))
    count, groups = cv2.connectedComponents(grown)
    boxes = [_group_to_box(ink & (groups == number), part, page) for number in range(1, count)]
    return [box + np.array([x0, y0, x0, y0]) for box in boxes if box is not None]


def _group_to_box(ink: Flags, part: Image, page: _Page) -> Floats | None:
    """The box of some ink; None where it is no picture."""
    rows, cols = np.flatnonzero(ink.any(axis=1)), np.flatnonzero(ink.any(axis=0))
    if not len(rows):
        return None
    box = np.array([cols[0], rows[0], cols[-1] + 1, rows[-1] + 1], np.float64)
    if not _is_large(box, page):
        return None
    own = ink[rows[0] : rows[-1] + 1, cols[0] : cols[-1] + 1]
    share = float(own.mean())
    if share < _INKED or _large_pieces(own, page).sum() < _CONNECTED * own.sum():
        return None
    is_flat = share > _FILLED and part[ink].mean(axis=1).std() < _FLAT
    return None if is_flat else box


def _large_pieces(ink: Flags, page: _Page) -> Flags:
    """The ink in connected pieces that are larger than letters."""
    import cv2

    _, pieces, stats, _ = cv2.connectedComponentsWithStats(ink.astype(np.uint8))
    is_large = stats[:, [cv2.CC_STAT_WIDTH, cv2.CC_STAT_HEIGHT]].max(axis=1) > _PIECE * page.text_height
    is_large[0] = False
    return np.asarray(is_large[pieces], np.bool_)


def _is_large(box: Floats, page: _Page) -> bool:
    return bool((box[2:] - box[:2]).min() >= _LEAST * page.text_height)


def _share_of_words(box: Floats, page: _Page) -> float:
    x0, y0, x1, y1 = box.round().astype(int).clip(0).tolist()
    part = page.sure[y0:y1, x0:x1]
    return float(part.mean()) if part.size else 1.0


def _share_within(box: Floats, around: Floats) -> float:
    """Share of a box that lies in another one."""
    shared = np.minimum(box[2:], around[2:]) - np.maximum(box[:2], around[:2])
    return float(shared.clip(0).prod() / max((box[2:] - box[:2]).prod(), 1e-9))


def _inset(quad: Floats, distance: float) -> Floats:
    """A quad whose sides are moved inwards by a distance in pixels, or to its middle."""
    top_left, top_right, bottom_right, bottom_left = quad
    across = min(distance / max(float(np.linalg.norm(top_right - top_left)), 1e-9), 0.5)
    down = min(distance / max(float(np.linalg.norm(bottom_left - top_left)), 1e-9), 0.5)
    places = [(across, down), (1 - across, down), (1 - across, 1 - down), (across, 1 - down)]
    return np.array(
        [
            (1 - b) * ((1 - a) * top_left + a * top_right) + b * ((1 - a) * bottom_left + a * bottom_right)
            for a, b in places
        ]
    )


def _cut(box: Floats, image: Image) -> Picture:
    """The part of a page, reduced where it is large."""
    import cv2

    height, width = image.shape[:2]
    x0, y0 = np.floor(box[:2]).astype(int).clip(0).tolist()
    x1, y1 = np.minimum(np.ceil(box[2:]).astype(int), (width, height)).tolist()
    part = image[y0:y1, x0:x1]
    scale = min(MAX_SIDE / max(part.shape[:2]), 1.0)
    if scale < 1:
        size_wh = [max(round(scale * side), 1) for side in part.shape[1::-1]]
        part = np.asarray(cv2.resize(part, size_wh, interpolation=cv2.INTER_AREA), np.uint8)
    png = bytes(cv2.imencode(".png", part)[1])
    return Picture(array_to_quad(boxes_to_quads([[x0, y0, x1, y1]])[0]), png)
