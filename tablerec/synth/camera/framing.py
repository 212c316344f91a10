"""What part of a page the picture shows: crops as users make them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from tablerec.synth.sample import Cells, Quads, Sample, Tables, Words

_KEPT = 0.5
"""Share of a row, column or word that must be in the picture for it to count."""
_INK = 48
"""Least difference to the ground, in levels of grey, of what a cropping program takes for ink."""


def frame(sample: Sample, framing: str, rng: np.random.Generator) -> Sample:
    """Crop a page to its tables, flush, tightly, with their titles and notes, or with surroundings.

    Args:
        sample: Upright: all quads are boxes.
        framing: One of ``recipe.FRAMINGS``; ``page`` keeps everything.
        rng: Source of chance.
    """
    if framing == "page" or not len(sample.tables):
        return sample
    corners = sample.tables.quads.reshape(-1, 2)
    (x0, y0), (x1, y1) = corners.min(axis=0).tolist(), corners.max(axis=0).tolist()
    if framing == "flush":
        x0, y0, x1, y1 = _ink_box(sample, (x0, y0, x1, y1))
        # A program leaves as much on all sides, and cuts into the ink at times.
        same = float(rng.uniform(0, 4))
        left, top, right, bottom = np.where(rng.random(4) < 0.8, same, rng.uniform(-1.5, 4, 4))
    elif framing == "captioned":
        return crop(sample, _captioned_box(sample, (x0, y0, x1, y1), rng))
    elif framing == "loose":
        left, top, right, bottom = rng.uniform(15, 140, 4)
    else:
        left, top, right, bottom = np.minimum(rng.exponential(9, 4), 30)
    if framing == "tight" and rng.random() < 0.05:
        # A careless crop: one side cuts into the table.
        cut = -float(rng.uniform(2, 14))
        side = int(rng.integers(4))
        left, top, right, bottom = (cut if index == side else m for index, m in enumerate((left, top, right, bottom)))
    return crop(sample, (x0 - left, y0 - top, x1 + right, y1 + bottom))


def crop(sample: Sample, box: tuple[float, float, float, float]) -> Sample:
    """Cut out a part of an upright picture.

    Rows and columns that are mostly outside leave the grid, cells that are cut end at the
    edge of the picture, tables without any row or column left are gone.
    """
    height, width = sample.image.shape[:2]
    x0, y0 = max(0, int(np.floor(box[0]))), max(0, int(np.floor(box[1])))
    x1, y1 = min(width, int(np.ceil(box[2]))), min(height, int(np.ceil(box[3])))
    image = np.ascontiguousarray(sample.image[y0:y1, x0:x1])
    low, high = np.array([x0, y0], np.float32), np.array([x1, y1], np.float32)

    def clip(quads: Quads) -> Quads:
        return np.asarray(np.clip(quads, low, high) - low, np.float32)

    cells, kept_cells, shapes = _crop_cells(sample, low, high)
    kept_tables = [index for index, shape in enumerate(shapes) if shape != (0, 0)]
    new_index = np.full(len(sample.cells) + 1, -1, np.int32)
    new_index[kept_cells] = np.arange(len(kept_cells))
    words = sample.words
    kept = _visible(words.quads, low, high) >= _KEPT
    owners = new_index[words.cells[kept]] if len(words) else words.cells
    return replace(
        sample,
        image=image,
        cells=replace(cells, quads=clip(cells.quads)),
        words=Words(
            clip(words.quads[kept]),
            tuple(text for text, keep in zip(words.texts, kept, strict=True) if keep),
            owners,
            None if words.types is None else clip(words.types[kept]),
            tuple(role for role, keep in zip(words.roles, kept, strict=True) if keep) if words.roles else (),
        ),
        tables=Tables(
            clip(sample.tables.quads[kept_tables]),
            np.array([shapes[index][0] for index in kept_tables], np.int32),
            np.array([shapes[index][1] for index in kept_tables], np.int32),
        ),
    )


def _captioned_box(
    sample: Sample, box: tuple[float, float, float, float], rng: np.random.Generator
) -> tuple[float, float, float, float]:
    """Return what holds the tables and the titles, units and notes right beside them.

    The line of text that follows is cut into at times: a neighbour's caption.
    """
    words = sample.words
    x0, y0, x1, y1 = box
    margins = np.minimum(rng.exponential(6, 4), 24)
    low, high = words.quads.min(axis=1), words.quads.max(axis=1)
    # What stands above is passed from below, what stands below from above.
    for sign, beyond in ((-1, high[:, 1] <= y0 + 1), (1, low[:, 1] >= y1 - 1)):
        near, far = (high[:, 1], low[:, 1]) if sign < 0 else (low[:, 1], high[:, 1])
        edge = y0 if sign < 0 else y1
        for index in np.flatnonzero(beyond)[np.argsort(sign * near[beyond], kind="stable")]:
            if not words.roles or words.roles[index] == "none":
                gap, size = sign * (near[index] - edge), abs(far[index] - near[index])
                side = 1 if sign < 0 else 3
                margins[side] = min(margins[side], max(0, gap - 1))
                if rng.random() < 0.4 and gap < 4 * size:
                    margins[side] = gap + float(rng.uniform(0.1, 0.4)) * size
                break
            edge = min(edge, far[index]) if sign < 0 else max(edge, far[index])
            x0, x1 = min(x0, low[index, 0]), max(x1, high[index, 0])
        y0, y1 = (edge, y1) if sign < 0 else (y0, edge)
    return x0 - margins[0], y0 - margins[1], x1 + margins[2], y1 + margins[3]


def _ink_box(sample: Sample, box: tuple[float, float, float, float]) -> tuple[float, float, float, float]:
    """Return the part of a box in which there is anything but the ground; all of it where there is nothing."""
    height, width = sample.image.shape[:2]
    # Rules lie half outside.
    x0, y0 = max(0, int(box[0]) - 2), max(0, int(box[1]) - 2)
    x1, y1 = min(width, int(np.ceil(box[2])) + 2), min(height, int(np.ceil(box[3])) + 2)
    part = sample.image[y0:y1, x0:x1].astype(np.int16)
    ink = (np.abs(part - sample.image[0, 0]) > _INK).any(axis=2)
    rows, columns = np.flatnonzero(ink.any(axis=1)), np.flatnonzero(ink.any(axis=0))
    if not len(rows):
        return box
    return float(x0 + columns[0]), float(y0 + rows[0]), float(x0 + columns[-1] + 1), float(y0 + rows[-1] + 1)


def _visible(quads: Quads, low: NDArray[np.float32], high: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the share of each box that lies inside."""
    first, last = quads.min(axis=1), quads.max(axis=1)
    inside = np.clip(np.minimum(last, high) - np.maximum(first, low), 0, None).prod(axis=1)
    return np.asarray(inside / np.maximum((last - first).prod(axis=1), 1e-6), np.float32)


def _crop_cells(
    sample: Sample, low: NDArray[np.float32], high: NDArray[np.float32]
) -> tuple[Cells, NDArray[np.intp], list[tuple[int, int]]]:
    """Return the cells that remain, their indices before, and the grid of each table; (0, 0) where it is gone."""
    cells = sample.cells
    starts, spans = np.stack([cells.cols, cells.rows]), np.stack([cells.colspans, cells.rowspans])
    starts, spans = starts.copy(), spans.copy()
    tables = cells.tables.copy()
    shapes: list[tuple[int, int]] = []
    gone = 0
    for index in range(len(sample.tables)):
        mine = cells.tables == index
        counts = []
        for axis in range(2):
            size = int((sample.tables.n_cols, sample.tables.n_rows)[axis][index])
            sides = _sides(cells, mine, axis, size)
            inside = np.clip(np.minimum(sides[1:], high[axis]) - np.maximum(sides[:-1], low[axis]), 0, None)
            kept = inside >= _KEPT * np.maximum(sides[1:] - sides[:-1], 1e-6)
            before = np.concatenate([[0], np.cumsum(kept)])
            ends = before[starts[axis][mine] + spans[axis][mine]]
            starts[axis][mine] = before[starts[axis][mine]]
            spans[axis][mine] = ends - starts[axis][mine]
            counts.append(int(kept.sum()))
        is_left = all(counts)
        spans[0][mine] *= is_left
        tables[mine] = index - gone
        gone += not is_left
        shapes.append((counts[1], counts[0]) if is_left else (0, 0))
    left = np.flatnonzero((spans > 0).all(axis=0))
    return (
        Cells(
            quads=cells.quads[left],
            rows=starts[1][left],
            cols=starts[0][left],
            rowspans=spans[1][left],
            colspans=spans[0][left],
            tables=tables[left],
            kinds=tuple(cells.kinds[index] for index in left),
            texts=tuple(cells.texts[index] for index in left),
        ),
        left,
        shapes,
    )


def _sides(cells: Cells, mine: NDArray[np.bool_], axis: int, size: int) -> NDArray[np.float32]:
    """Return the sides of columns (axis 0) or rows (axis 1) of one upright table."""
    starts, spans = ((cells.cols, cells.colspans), (cells.rows, cells.rowspans))[axis]
    sides = np.full(size + 1, np.nan, np.float32)
    quads = cells.quads[mine]
    sides[starts[mine]] = quads[:, 0, axis]
    sides[starts[mine] + spans[mine]] = quads[:, 2, axis]
    known = np.flatnonzero(~np.isnan(sides))
    return np.interp(np.arange(size + 1), known, sides[known]).astype(np.float32)
