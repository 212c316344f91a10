"""Sources of pictures with a given number of cells, for measurements of training."""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np


class Drawn(NamedTuple):
    image: np.ndarray
    quads: np.ndarray


def draw_cells(index: int, count: int = 200, side: int = 960) -> Drawn:
    """Draw a ruled table of about ``count`` cells that fills a picture."""
    import cv2

    rng = np.random.default_rng(index)
    n_cols = max(2, round(np.sqrt(count / 2.5)))
    n_rows = max(2, round(count / n_cols))
    xs = np.linspace(8, side - 9, n_cols + 1).round().astype(int)
    ys = np.linspace(8, side - 9, n_rows + 1).round().astype(int)
    image = np.full((side, side, 3), 250, np.uint8)
    quads = []
    for top, bottom in pairwise(ys):
        for left, right in pairwise(xs):
            cv2.rectangle(image, (int(left), int(top)), (int(right), int(bottom)), (0, 0, 0), 1)
            if rng.random() < 0.8:
                y = int(top + bottom) // 2
                cv2.line(image, (int(left) + 3, y), (int(left) + 3 + int((right - left) * 0.5), y), (90, 90, 90), 3)
            quads.append([[left, top], [right, top], [right, bottom], [left, bottom]])
    return Drawn(image, np.array(quads, np.float32))


def draw_200(index: int) -> Drawn:
    return draw_cells(index, 200)


def draw_50(index: int) -> Drawn:
    return draw_cells(index, 50)


def draw_1500(index: int) -> Drawn:
    return draw_cells(index, 1500)


def draw_mixed(index: int) -> Drawn:
    """200 cells, and 1,500 in each fourth picture."""
    return draw_cells(index, 1500 if index % 4 == 3 else 200)
