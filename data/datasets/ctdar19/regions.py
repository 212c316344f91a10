"""From text boxes with their place in the grid to cell regions, as the drawn tables have them.

A region is the whole cell: neighbours share their edge, which lies on the ruling between them, or
where there is none, in the middle of the gap between their texts.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import cv2
import numpy as np
from numpy.typing import NDArray

from postprocess.arrays import Floats
from postprocess.geometry.boxes import boxes_to_quads
from postprocess.geometry.rulings import Rulings, image_to_rulings

SLACK = 0.3
"""Text heights by which texts may overlap across an edge, as tight boxes of dense rows do."""
COVERAGE = 0.5
"""Share of the table that a ruling must cross to be an edge of its rows or columns."""


class NoRegions(ValueError):  # noqa: N818 - a reason to leave a table out, no error
    """The table is left out; the message is the reason, as it is counted."""


def text_height(boxes: Floats) -> float:
    """Height of a line of text in pixels, from ``(N, 4)`` boxes of one or more lines.

    >>> text_height(np.array([[0, 0, 9, 12], [0, 20, 9, 32], [0, 40, 9, 70]]))
    12.0
    """
    heights = boxes[:, 3] - boxes[:, 1]
    return float(np.quantile(heights, 0.25, method="lower"))


def grid_to_edges(grid: NDArray[np.int64], boxes: Floats, image: NDArray[np.uint8]) -> tuple[Floats, Floats]:
    """Find the edges between the rows and between the columns.

    Args:
        grid: ``(N, 4)`` row, column, rowspan, colspan of the cells with text.
        boxes: ``(N, 4)`` their text boxes in pixels.
        image: ``(H, W, 3)`` uint8 BGR.

    Returns:
        ``(n_columns + 1,)`` x and ``(n_rows + 1,)`` y, rising.

    Raises:
        NoRegions: Texts lie across an edge, or a row or column has no text of its own.
    """
    height = text_height(boxes)
    single = boxes[boxes[:, 3] - boxes[:, 1] <= 1.5 * height]
    rulings = image_to_rulings(image, boxes_to_quads(single))
    # The source is rendered upright: what seems to be tilted is no ruling.
    upright = abs(rulings.degrees) < 0.2 and rulings.perspective is None
    if not upright:
        rulings = replace(rulings, vertical=rulings.vertical[:0], horizontal=rulings.horizontal[:0])
    x_text, y_text = boxes[:, [0, 2]], boxes[:, [1, 3]]
    vertical = _lines(rulings.vertical, y_text, height)
    horizontal = _lines(rulings.horizontal[:, [1, 0, 3, 2]], x_text, height)
    ink = _ink(image, rulings, height)

    def beside_leaders(edge: int, low: float, high: float) -> float:
        crossed = (grid[:, 1] < edge) & (edge < grid[:, 1] + grid[:, 3])
        rows = np.zeros(len(ink), bool)
        rows[max(0, int(y_text[:, 0].min())) : int(np.ceil(y_text[:, 1].max()))] = True
        for top, bottom in y_text[crossed]:
            rows[max(0, int(top) - 2) : int(np.ceil(bottom)) + 2] = False
        return _middle_of_free(ink[rows].any(axis=0), low, high, height)

    x = _edges(grid[:, [1, 3]], x_text, vertical[:, 0], horizontal[:, 1:], height, beside_leaders)
    y = _edges(
        grid[:, [0, 2]], y_text, horizontal[:, 0], vertical[:, 1:], height, lambda _, low, high: (low + high) / 2
    )
    return x.clip(0, image.shape[1]), y.clip(0, image.shape[0])


def edges_to_regions(grid: NDArray[np.int64], x: Floats, y: Floats) -> Floats:
    """Return the ``(N, 4)`` boxes of cells from the edges of rows and columns.

    >>> edges_to_regions(np.array([[0, 0, 1, 2]]), np.array([0.0, 5, 9]), np.array([1.0, 4])).tolist()
    [[0.0, 1.0, 9.0, 4.0]]
    """
    row, col, rowspan, colspan = grid.T
    return np.stack([x[col], y[row], x[col + colspan], y[row + rowspan]], axis=1)


def check_texts(regions: Floats, boxes: Floats) -> None:
    """Make sure that each text lies in its region.

    Raises:
        NoRegions: One does not.
    """
    allowed = SLACK * text_height(boxes)
    outside = np.concatenate([regions[:, :2] - boxes[:, :2], boxes[:, 2:] - regions[:, 2:]], axis=1)
    if (outside > allowed).any():
        raise NoRegions("text outside its cell")


def _lines(segments: Floats, texts: Floats, height: float) -> Floats:
    """``(M, 3)`` position, start and end of the lines that cross enough of the table.

    Args:
        segments: ``(N, 4)`` position, start, position, end of pieces of lines.
        texts: ``(N, 2)`` start and end of the texts along the lines.
        height: Of the text.
    """
    first, last = texts[:, 0].min(), texts[:, 1].max()
    positions, starts, ends = segments[:, [0, 2]].mean(axis=1), segments[:, 1], segments[:, 3]
    lengths = (np.minimum(ends, last) - np.maximum(starts, first)).clip(0)
    lines = []
    for position in np.unique(positions):
        pieces = np.abs(positions - position) < 0.15 * height
        if lengths[pieces].sum() >= COVERAGE * (last - first):
            lines.append((position, starts[pieces].min(), ends[pieces].max()))
    return np.array(lines).reshape(-1, 3)


def _ink(image: NDArray[np.uint8], rulings: Rulings, height: float) -> NDArray[np.bool_]:
    """``(H, W)``, where there are strokes thinner than letters are high, rulings left out."""
    gray = cv2.cvtColor(image, cv2.COLOR_BGR2GRAY)
    kernel = np.ones((1, 2 * max(1, int(height / 2)) + 1), np.uint8)
    dark, light = (cv2.morphologyEx(gray, kind, kernel) for kind in (cv2.MORPH_BLACKHAT, cv2.MORPH_TOPHAT))
    ink = np.maximum(dark, light) > 40
    for x0, y0, x1, y1 in np.concatenate([rulings.vertical, rulings.horizontal]).astype(int).tolist():
        ink[max(0, y0 - 2) : y1 + 3, max(0, x0 - 2) : x1 + 3] = False
    return ink


def _middle_of_free(ink: NDArray[np.bool_], low: float, high: float, height: float) -> float:
    """Middle of the widest stretch without ink between two texts: the source leaves leaders out of its boxes."""
    start, stop = int(np.ceil(low)), int(high)
    inside = np.flatnonzero(ink[start:stop]) + start
    if not len(inside):
        return (low + high) / 2
    stops = np.array([low, *inside.tolist(), high])
    widths = np.diff(stops)
    widest = int(widths.argmax())
    # Between two dots there is a gap as well: the edge stays in the middle where no other gap stands out.
    return float(stops[widest : widest + 2].mean()) if widths[widest] > 0.5 * height else (low + high) / 2


Middle = Callable[[int, float, float], float]


def _edges(
    bands: NDArray[np.int64], extents: Floats, lines: Floats, across: Floats, height: float, middle: Middle
) -> Floats:
    """``(n + 1,)`` edges of bands along one axis.

    Args:
        bands: ``(N, 2)`` first band and number of bands.
        extents: ``(N, 2)`` start and end of the texts.
        lines: Positions of rulings along the bands.
        across: ``(M, 2)`` start and end of the rulings across them: where they end, the table does.
        height: Of the text.
        middle: Of the gap before a band, from its two ends.
    """
    starts, ends = bands[:, 0], bands.sum(axis=1)
    gaps = []
    for k in range(1, int(ends.max())):
        low, high = _facing(extents[:, 1], ends == k, bands[:, 1]), _facing(extents[:, 0], starts == k, bands[:, 1])
        if not len(low) or not len(high):
            raise NoRegions("row or column without text")
        gaps.append((low.max(), high.min()))
    between = np.array(gaps).reshape(-1, 2)
    widths = between[:, 1] - between[:, 0]
    if (widths < -SLACK * height).any():
        raise NoRegions("texts overlap across an edge")
    usual = float(np.median(widths.clip(0))) if len(widths) else height
    margin = np.clip(usual / 2, 0.2 * height, height)
    first, last = extents[:, 0].min(), extents[:, 1].max()
    reach = 0.75 * usual + height
    outer = [first - margin, last + margin]
    if len(across):
        begin, end = np.median(across, axis=0)
        # Where rulings end before the text does, the text decides.
        outer = [
            min(begin, first - 0.2 * height) if begin <= first else outer[0],
            max(end, last + 0.2 * height) if end >= last else outer[1],
        ]
    edges = [
        _snap(lines, first - reach, first, outer[0], near=first),
        *(
            _snap(lines, low, high, middle(k, low, high), near=(low + high) / 2)
            for k, (low, high) in enumerate(between, 1)
        ),
        _snap(lines, last, last + reach, outer[1], near=last),
    ]
    if (np.diff(edges) < 0.5 * height).any():
        raise NoRegions("row or column lower than its text")
    return np.array(edges)


def _facing(values: Floats, at_edge: NDArray[np.bool_], spans: NDArray[np.int64]) -> Floats:
    """Values of the cells at an edge; spanning ones count only where there are no others."""
    single = values[at_edge & (spans == 1)]
    return single if len(single) else values[at_edge]


def _snap(lines: Floats, low: float, high: float, otherwise: float, near: float) -> float:
    """Return the line between two positions that is nearest to a third; another value where there is none."""
    inside = lines[(lines >= low - 1.5) & (lines <= high + 1.5)]
    return float(inside[np.abs(inside - near).argmin()]) if len(inside) else float(otherwise)
