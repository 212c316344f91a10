"""Quads of regular tables, for the tests of the networks."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from postprocess.boxes import boxes_to_quads, rotate_points


def grid_quads(xs: Sequence[float], ys: Sequence[float], degrees: float = 0.0) -> np.ndarray:
    """Return the ``(N, 4, 2)`` float32 cells between lines at xs and at ys, turned around the middle."""
    boxes = [[x0, y0, x1, y1] for y0, y1 in pairwise(ys) for x0, x1 in pairwise(xs)]
    middle = ((xs[0] + xs[-1]) / 2, (ys[0] + ys[-1]) / 2)
    return rotate_points(boxes_to_quads(boxes), degrees, middle).astype(np.float32)
