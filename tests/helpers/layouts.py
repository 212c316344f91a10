"""Tables whose geometry is known, as boxes, as drawn pictures and as words; other tests import them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import cv2
import numpy as np
import pytest
from hypothesis import strategies as st

from postprocess.arrays import Floats, Image
from postprocess.cell import Cell, Quad, shift
from postprocess.geometry.boxes import boxes_to_quads, rotate_points
from postprocess.geometry.frame import UPRIGHT
from postprocess.grid.layout import Layout as GridLayout
from postprocess.table import Table
from postprocess.word import Word
from tests.helpers.strategies import tables

needs_opencv_5 = pytest.mark.skipif(
    int(cv2.__version__.split(".")[0]) < 5, reason="the picture has letters that OpenCV draws otherwise before 5"
)


@dataclass(frozen=True)
class Layout:
    """A table and the positions of its lines."""

    table: Table
    xs: Floats
    ys: Floats

    @property
    def boxes(self) -> Floats:
        """``(N, 4)`` cells in the order of the table."""
        return np.array(
            [[self.xs[c.col], self.ys[c.row], self.xs[c.end_col], self.ys[c.end_row]] for c in self.table.cells]
        ).reshape(-1, 4)

    @property
    def spans(self) -> list[list[int]]:
        """Row, column, end row and end column of the cells in the order of the table."""
        return [[c.row, c.col, c.end_row, c.end_col] for c in self.table.cells]


def plain_table(n_rows: int, n_cols: int) -> Table:
    return Table([Cell(row, col) for row in range(n_rows) for col in range(n_cols)])


def even_layout(table: Table, width: float = 80, height: float = 30, left: float = 0, top: float = 0) -> Layout:
    return Layout(table, left + width * np.arange(table.n_cols + 1.0), top + height * np.arange(table.n_rows + 1.0))


@st.composite
def layouts(
    draw: st.DrawFn, *, widths: tuple[int, int] = (30, 160), heights: tuple[int, int] = (12, 60), max_size: int = 4
) -> Layout:
    """Any spans, beside one row and one column without spans, which make every line of the grid visible."""
    spans = draw(tables(max_rows=max_size, max_cols=max_size, texts=st.just("")))
    row, col = (draw(st.sampled_from([0, 1])) for _ in range(2))
    cells = [replace(shift(cell, 1 - row, 1 - col), header=None, header_score=None) for cell in spans.cells]
    n_rows, n_cols = spans.n_rows + 1, (spans.n_cols if spans.n_rows else 1) + 1
    plain_row, plain_col = row * (n_rows - 1), col * (n_cols - 1)
    cells += [Cell(plain_row, c) for c in range(n_cols)]
    cells += [Cell(r, plain_col) for r in range(n_rows) if r != plain_row]
    if not spans.n_rows:
        cells = [Cell(0, 0), Cell(0, 1)]
    table = Table(cells)
    sizes = [
        draw(st.lists(st.integers(*limits), min_size=n, max_size=n))
        for limits, n in ((widths, table.n_cols), (heights, table.n_rows))
    ]
    xs, ys = (np.concatenate([[20.0], 20.0 + np.cumsum(size)]) for size in sizes)
    return Layout(table, xs, ys)


def draw_layout(layout: Layout, thickness: int = 1, line: int = 0, ground: int = 255, margin: int = 20) -> Image:
    """Grey picture with the borders of all cells; they are centered on the lines of the grid."""
    image = np.full((int(layout.ys[-1]) + margin, int(layout.xs[-1]) + margin), ground, np.uint8)
    draw_borders(image, layout.boxes, thickness, line)
    return image


def draw_borders(image: Image, boxes: Floats, thickness: int = 1, line: int = 0) -> None:
    before, after = (thickness - 1) // 2, thickness // 2 + 1
    for x0, y0, x1, y1 in boxes.astype(int):
        for y in (y0, y1):
            image[max(y - before, 0) : y + after, max(x0 - before, 0) : x1 + after] = line
        for x in (x0, x1):
            image[max(y0 - before, 0) : y1 + after, max(x - before, 0) : x + after] = line


def write(image: Image, layout: Layout, ink: int | tuple[int, ...] = 0, text: str = "Hg 9") -> Floats:
    """Write into each cell, with its index for ``{}``, and return the quads of the words."""
    boxes = []
    for index, (x0, _, _, y1) in enumerate(layout.boxes.astype(int).tolist()):
        content = text.format(index)
        (width, height), below = cv2.getTextSize(content, cv2.FONT_HERSHEY_SIMPLEX, 0.4, 1)
        cv2.putText(image, content, (x0 + 8, y1 - 9), cv2.FONT_HERSHEY_SIMPLEX, 0.4, ink, 1, cv2.LINE_AA)
        boxes.append([x0 + 8, y1 - 9 - height, x0 + 8 + width, y1 - 9 + below])
    return boxes_to_quads(boxes)


def turn_image(image: Image, degrees: float) -> Image:
    """Turn clockwise around the middle, on ground of the colour of the top left corner."""
    height, width = image.shape[:2]
    matrix = cv2.getRotationMatrix2D((width / 2, height / 2), -degrees, 1.0)
    ground = np.atleast_1d(image[0, 0]).tolist()
    return cv2.warpAffine(image, matrix, (width, height), flags=cv2.INTER_AREA, borderValue=ground * (4 // len(ground)))


def turn_quads(quads: Floats, degrees: float, image: Image) -> Floats:
    """Turn corners as ``turn_image`` turns the picture."""
    return rotate_points(quads, degrees, (image.shape[1] / 2, image.shape[0] / 2))


def box_quad(x0: float, y0: float, x1: float, y1: float) -> Quad:
    return ((x0, y0), (x1, y0), (x1, y1), (x0, y1))


def make_word(text: str, x: float, y: float, height: float = 10.0, *, align: str = "left") -> Word:
    """A word with letters that are 0.6 times as wide as high; ``x`` is its left or right end or its middle."""
    width = 0.6 * height * max(len(text), 1)
    left = x - {"left": 0.0, "middle": 0.5, "right": 1.0}[align] * width
    return Word(text, box_quad(left, y, left + width, y + height))


def rows_to_words(
    rows: Sequence[Sequence[str]], xs: Sequence[float], aligns: str = "", pitch: float = 24, top: float = 50
) -> list[Word]:
    """One word for each text that is not empty; ``aligns`` has an l, m or r for each column."""
    names = {"l": "left", "m": "middle", "r": "right"}
    return [
        make_word(text, x, top + pitch * row, align=names[align])
        for row, texts in enumerate(rows)
        for text, x, align in zip(texts, xs, aligns or "l" * len(xs), strict=True)
        if text
    ]


def turn_word(word: Word, degrees: float, center: tuple[float, float] = (0.0, 0.0)) -> Word:
    quad = rotate_points(np.array(word.quad), degrees, center).tolist()
    return replace(word, quad=tuple(map(tuple, quad)))


def scale_word(word: Word, factor: float) -> Word:
    return replace(word, quad=tuple((factor * x, factor * y) for x, y in word.quad))


def layout_to_quads(layout: Layout) -> Floats:
    return boxes_to_quads(layout.boxes)


def disturb(layout: Layout, seed: int, amount: float, gap: float = 0.0) -> np.ndarray:
    """Boxes with gaps between them and jitter at each edge, as shares of the smaller slot at the edge."""
    random = np.random.default_rng(seed)
    boxes = layout.boxes
    for lines, start, ends in ((layout.xs, 0, "col"), (layout.ys, 1, "row")):
        size = np.diff(lines)
        smaller = np.minimum(np.append(size, size[-1]), np.append(size[0], size))
        first = [getattr(cell, ends) for cell in layout.table.cells]
        last = [getattr(cell, f"end_{ends}") for cell in layout.table.cells]
        boxes[:, start] += smaller[first] * (gap + random.uniform(-amount, amount, len(boxes)))
        boxes[:, start + 2] -= smaller[last] * (gap + random.uniform(-amount, amount, len(boxes)))
    return boxes


def grid_layout(table: Table) -> GridLayout:
    """The layout of a table with rows of 20 and columns of 50 pixels."""
    rows, cols = table.owner.shape
    owner = np.asarray(table.owner, np.int64)
    return GridLayout(20.0 * np.arange(rows + 1), 50.0 * np.arange(cols + 1), UPRIGHT, owner)
