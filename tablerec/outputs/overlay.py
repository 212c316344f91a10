"""The overlay: cells, spans, headers, titles, notes, seals and unplaced words drawn over the input."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from postprocess.arrays import Image
from postprocess.cell import Cell, Quad
from postprocess.table import all_tables
from tablerec.result import Page

Color = tuple[int, int, int]
"""Blue, green, red."""

CELL: Color = (235, 130, 30)
SPANNING: Color = (0, 140, 255)
HEADER: Color = (70, 170, 0)
CAPTION: Color = (150, 120, 0)
UNPLACED: Color = (200, 0, 220)
DROPPED: Color = (60, 60, 235)
SEAL: Color = (160, 60, 120)
WHITE: Color = (255, 255, 255)
"""Rim of every line: it keeps them visible on dark ground, and on paper nobody sees it."""
BLACK: Color = (0, 0, 0)

_FILL = 0.18
"""Opacity of the cells: the text below stays readable."""
_READABLE_CELL = 28
"""Height in pixels that a cell needs for its label; pictures with smaller cells are enlarged."""
_MIN_LABEL = 4
"""Height in pixels below which a label cannot be read and is only in the way."""
_DOUBTFUL = 0.8
"""Cells less sure than this carry their confidence in the overlay."""
_MAX_ENLARGE = 4
_MAX_PIXELS = 40e6


def draw_overlay(page: Page) -> Image:
    """Draw what was found over the picture that was read.

    Cells are blue, spanning cells orange, header cells green; each carries its first
    row and column, doubtful ones also their confidence. Titles and notes are framed in
    teal, seals in purple. Words in neither are crossed out in violet, dropped cells in red.

    Args:
        page: One page of a result.

    Returns:
        ``(H, W, 3)`` uint8 BGR of the page's size, or a whole number of times larger
        where the cells are too small for a label. The page's picture stays as it is.

    >>> from tablerec.result import PageImage
    >>> draw_overlay(Page(PageImage("blank", 1, np.zeros((40, 60, 3), np.uint8)))).shape
    (40, 60, 3)
    """
    import cv2

    cells = [cell for table in all_tables(page.tables) for cell in table.cells if cell.quad is not None]
    scale = _enlargement(cells, page.picture.image)
    size = (page.picture.image.shape[1] * scale, page.picture.image.shape[0] * scale)
    enlarged = cv2.resize(page.picture.image, size, interpolation=cv2.INTER_CUBIC)
    canvas = _fill(np.asarray(enlarged, np.uint8), cells, scale)
    # First rims, then lines, then labels, so that no neighbour hides them; spans last, as they are what one looks for.
    cells.sort(key=lambda cell: cell.is_spanning)
    crosses = [(_to_corners(dropped.quad, scale), DROPPED) for dropped in page.dropped]
    crosses += [(_to_corners(unplaced.word.quad, scale), UNPLACED) for unplaced in page.unplaced]
    beside = [caption.quad for table in page.tables for caption in table.captions if caption.quad is not None]
    frames = [(corners, CAPTION, _line_width(corners)) for corners in (_to_corners(quad, scale) for quad in beside)]
    frames += [(_to_corners(seal.quad, scale), SEAL, 2 * scale) for seal in page.seals]
    frames += [_frame(cell, scale) for cell in cells]
    frames += [(corners, color, _line_width(corners)) for corners, color in crosses]
    for corners, _, width in frames:
        _outline(canvas, corners, WHITE, width + 2)
    for corners, color, width in frames:
        _outline(canvas, corners, color, width)
    for cell in cells:
        _label(canvas, cell, scale)
    for corners, color in crosses:
        _cross_out(canvas, corners, color)
    return canvas


def _enlargement(cells: Sequence[Cell], image: Image) -> int:
    heights = [_height(_to_corners(cell.quad, 1)) for cell in cells if cell.rowspan == 1]
    if not heights:
        return 1
    wanted = int(np.ceil(_READABLE_CELL / max(1.0, float(np.median(heights)))))
    affordable = int(np.sqrt(_MAX_PIXELS / max(1, image.shape[0] * image.shape[1])))
    return max(1, min(wanted, affordable, _MAX_ENLARGE))


def _to_corners(quad: Quad | None, scale: int) -> NDArray[np.int32]:
    corners = np.asarray(quad, np.float64) * scale
    # A wild value must not overflow OpenCV's fixed-point coordinates.
    return np.nan_to_num(corners).round().clip(-(2**15), 2**15).astype(np.int32)


def _height(corners: NDArray[np.int32]) -> float:
    return float(np.linalg.norm(corners[3] - corners[0]))


def _width(corners: NDArray[np.int32]) -> float:
    return float(np.linalg.norm(corners[1] - corners[0]))


def _color(cell: Cell) -> Color:
    if cell.header is not None:
        return HEADER
    return SPANNING if cell.is_spanning else CELL


def _fill(image: Image, cells: Sequence[Cell], scale: int) -> Image:
    import cv2

    filled = image.copy()
    for cell in cells:
        cv2.fillPoly(filled, [_to_corners(cell.quad, scale)], _color(cell))
    return np.asarray(cv2.addWeighted(filled, _FILL, image, 1 - _FILL, 0), np.uint8)


def _line_width(corners: NDArray[np.int32], rows: int = 1, cols: int = 1) -> int:
    return max(1, round(min(_height(corners) / rows, _width(corners) / cols) / 24))


def _frame(cell: Cell, scale: int) -> tuple[NDArray[np.int32], Color, int]:
    """Corners, colour and width: a cell over several slots has the lines of its neighbours."""
    corners = _to_corners(cell.quad, scale)
    return corners, _color(cell), _line_width(corners, cell.rowspan, cell.colspan)


def _outline(canvas: Image, corners: NDArray[np.int32], color: Color, width: int) -> None:
    import cv2

    cv2.polylines(canvas, [corners], True, color, width, cv2.LINE_AA)


def _cross_out(canvas: Image, corners: NDArray[np.int32], color: Color) -> None:
    import cv2

    for start, end in ((0, 2), (1, 3)):
        cv2.line(canvas, corners[start].tolist(), corners[end].tolist(), color, _line_width(corners), cv2.LINE_AA)


def _label(canvas: Image, cell: Cell, scale: int) -> None:
    import cv2

    corners, _, line = _frame(cell, scale)
    row_height = _height(corners) / cell.rowspan
    if cell.tables:  # A label as large as its row would hide what is in the cell.
        row_height = min(row_height, _READABLE_CELL * scale)
    text, font = _name(cell), cv2.FONT_HERSHEY_SIMPLEX
    (text_width, text_height), _ = cv2.getTextSize(text, font, 1.0, 1)
    size = min(0.28 * row_height / text_height, 0.8 * _width(corners) / text_width)
    if size * text_height < _MIN_LABEL:
        return
    margin = line + max(1, round(0.05 * row_height))
    left, top = (corners.min(axis=0) + margin).tolist()
    place, width = (left, top + round(size * text_height)), max(1, round(size * 1.5))
    ground = canvas[max(0, top) : max(1, place[1]), max(0, left) : max(1, left + round(size * text_width))]
    is_dark = ground.size and ground.mean() < 110
    ink, halo = (_mix(_color(cell), WHITE), BLACK) if is_dark else (_mix(_color(cell), BLACK), WHITE)
    cv2.putText(canvas, text, place, font, size, halo, width + 2, cv2.LINE_AA)
    cv2.putText(canvas, text, place, font, size, ink, width, cv2.LINE_AA)


def _name(cell: Cell) -> str:
    """Row and column, and how sure the cell is where that is little."""
    doubt = f" {cell.confidence:.2f}?" if cell.confidence is not None and cell.confidence < _DOUBTFUL else ""
    return f"{cell.row},{cell.col}{doubt}"


def _mix(color: Color, other: Color) -> Color:
    blue, green, red = ((a + b) // 2 for a, b in zip(color, other, strict=True))
    return blue, green, red
