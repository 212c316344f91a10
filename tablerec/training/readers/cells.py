"""Lines out of labelled tables: cells that hold one line, cut as a text detector would."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from postprocess.arrays import Floats, Image
from tablerec.labels import Problem, read_labels
from tablerec.models.characters import normalize_label
from tablerec.training.readers.lists import to_visual

_INK = 0.4
"""Share of the greatest contrast from which a pixel is ink."""
_LEAST_HEIGHT = 6
"""Pixels of a line below which nothing can be read."""
_WIDEST_SLOPE = 0.05
"""Of a cell's sides: what is tilted more is not cut upright."""


class LabelledCell(NamedTuple):
    """A cell with its text.

    Args:
        image: The picture of its table.
        quad: ``(4, 2)`` px, TL, TR, BR, BL.
        text: What it shows, from left to right.
        where: The place in the label, for messages.
    """

    image: Path
    quad: Floats
    text: str
    where: str


def read_cells(path: Path, split: str = "") -> Iterator[LabelledCell | Problem]:
    """Read the cells with text of labelled tables, see ``tablerec.labels.read_labels``.

    Args:
        path: Folder or file of labels.
        split: Only labels of this split; empty for all.

    Yields:
        Upright cells with a text of one line, and what could not be read.

    Raises:
        InputError: There is no such file or folder.
    """
    for label in read_labels(path):
        if isinstance(label, Problem):
            if label.is_error:
                yield label
        elif split in ("", label.split):
            for quad, text, name in zip(label.quads, label.texts, label.names, strict=True):
                written = to_visual(normalize_label(text or ""))
                if written and "\n" not in (text or "").strip() and _is_upright(quad):
                    yield LabelledCell(label.image, quad, written, f"{label.where}, {name}")


def _is_upright(quad: Floats) -> bool:
    sides = np.abs(np.diff(quad, axis=0, append=quad[:1]))
    return bool((sides.min(1) <= _WIDEST_SLOPE * sides.max(1) + 1.0).all())


def cut_line(image: Image, quad: Floats, rng: np.random.Generator) -> NDArray[np.uint8] | None:
    """Cut the line out of a cell, with a little of the ground around it.

    Args:
        image: ``(H, W, 3)`` uint8 RGB.
        quad: ``(4, 2)`` px.
        rng: Decides how much ground there is.

    Returns:
        ``(h, w, 3)`` uint8; None where the cell holds no line, or several.

    >>> page = np.full((40, 90, 3), 255, np.uint8)
    >>> page[12:26, 20:60] = 0
    >>> line = cut_line(page, np.array([[2, 2], [88, 2], [88, 38], [2, 38.0]]), np.random.default_rng(0))
    >>> 14 < len(line) < 24, 40 < line.shape[1] < 50
    (True, True)
    """
    (left, top), (right, bottom) = quad.min(0), quad.max(0)
    inset = 1.5 + 0.04 * (bottom - top)  # rulings are no text
    y0, y1 = max(0, round(top + inset)), round(bottom - inset)
    x0, x1 = max(0, round(left + inset)), round(right - inset)
    cell = image[y0:y1, x0:x1]
    if min(cell.shape[:2], default=0) < _LEAST_HEIGHT:
        return None
    grey = cell.astype(np.float32).mean(2)
    contrast = np.abs(grey - np.median(grey))
    ink = contrast > max(_INK * float(contrast.max()), 24.0)
    rows, columns = np.flatnonzero(ink.any(1)), np.flatnonzero(ink.any(0))
    if len(rows) < _LEAST_HEIGHT or _has_gap(rows):
        return None
    height = rows[-1] + 1 - rows[0]
    up, down, before, behind = np.rint(height * rng.uniform(0.1, 0.3, 4)).astype(int).tolist()
    around = image[
        max(0, y0 + int(rows[0]) - up) : y0 + int(rows[-1]) + 1 + down,
        max(0, x0 + int(columns[0]) - before) : x0 + int(columns[-1]) + 1 + behind,
    ]
    return np.ascontiguousarray(around)


def _has_gap(rows: NDArray[np.int64]) -> bool:
    """Whether rows of ink are parted as two lines are, not as a letter from its dot."""
    starts = np.flatnonzero(np.diff(rows, prepend=-9) > 1)
    heights = np.diff(np.append(starts, len(rows)))
    tall = np.flatnonzero(heights >= 0.5 * heights.max())
    return len(tall) > 1
