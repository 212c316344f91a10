"""Samples of cells: pictures on a canvas of fixed size."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tablerec.training.data.copy_paste import swap_cells
from tablerec.training.data.crops import crop_to_cells
from tablerec.training.data.feed import Layout
from tablerec.training.data.owners import SAMPLE_STRIDE, lines_to_owners, quads_to_owners
from tablerec.training.data.sources import Source, load_source

PAPER = 127
"""Grey of the canvas where the picture does not reach."""
TURNED = 0.1
"""Share of the pictures of lines that are turned by 90, 180 or 270 degrees."""


Picture = tuple[NDArray[np.uint8], NDArray[np.float32]]
"""``(H, W, 3)`` uint8 RGB and its cells, ``(N, 4, 2)`` float32 pixels."""


class Sample(NamedTuple):
    """Pictures with their truth on a canvas of fixed size.

    Args:
        image: ``(S, S, 3)`` uint8 RGB.
        quads: ``(max_cells, 4, 2)`` float32 pixels of the canvas, zeros after the last cell.
        n_cells: ``()`` int64; cells that the canvas shows in part or not at all count.
        owners: ``(S / 2, S / 2)`` int16, see ``quads_to_owners``; None where the canvas has none.
    """

    image: NDArray[np.uint8]
    quads: NDArray[np.float32]
    n_cells: NDArray[np.int64]
    owners: NDArray[np.int16] | None = None


class Canvas(NamedTuple):
    """What samples look like.

    Args:
        size: Height and width in pixels.
        max_cells: Cells on it, at most.
        max_images: Pictures on it, at most; the small ones are put one below the other.
        stretch: Each picture fills it alone, whatever its shape.
        copy_paste: Share of the cells whose contents change places, see ``copy_paste.swap_cells``.
        with_owners: Whether its samples have an owner map.
        of_lines: Whether lines of text take the place of the cells; some pictures are then turned.
    """

    size: int
    max_cells: int
    max_images: int = 1
    stretch: bool = False
    copy_paste: float = 0.0
    with_owners: bool = False
    of_lines: bool = False

    def load(self, source: str) -> Source:
        """Open a source of pictures, see ``sources.load_source``."""
        return load_source(source)

    def prepare(self, load: Source, index: int) -> Sample:
        """Prepare the sample of an index."""
        count = 1 if self.stretch else self.max_images
        return place_pictures((load(index * count + number) for number in range(count)), index, self)

    def layout(self) -> Layout:
        """Type and shape of the arrays of a sample."""
        n_owners = self.size // SAMPLE_STRIDE
        return {
            "n_cells": (np.int64, ()),
            "quads": (np.float32, (self.max_cells, 4, 2)),
            **({"owners": (np.int16, (n_owners, n_owners))} if self.with_owners else {}),
            "image": (np.uint8, (self.size, self.size, 3)),
        }

    def make(self, arrays: Mapping[str, Any]) -> Sample:
        """Make a sample of its arrays."""
        return Sample(**arrays)


def place_pictures(pictures: Iterable[Any], index: int, canvas: Canvas) -> Sample:
    """Put pictures on the canvas, one below the other, as many as fit; or one alone that fills it.

    A picture larger than the canvas is made smaller, or a random part of it is shown; and a part where it has more
    cells than the canvas holds.

    Args:
        pictures: What the source returned, see ``sources.Source``; the next is asked for while there is room.
        index: Decides the places.
        canvas: See ``Canvas``.

    Raises:
        ValueError: Even a part of the first picture has more cells, as they lie upon one another.
    """
    rng, size = np.random.default_rng([index, 20]), canvas.size
    chosen: list[Picture] = []
    height = n_cells = 0
    for each in pictures:
        image, quads = _prepare(each, canvas, rng)
        image, quads = _resize(image, quads, [size, size]) if canvas.stretch else _fit(image, quads, size, rng)
        if height + image.shape[0] > size or n_cells + len(quads) > canvas.max_cells:
            break
        chosen.append((image, quads))
        height, n_cells = height + image.shape[0], n_cells + len(quads)
    if not chosen:
        raise ValueError(f"more than {canvas.max_cells} cells lie upon one another: see `tablerec labels check`")
    paper = np.full((size, size, 3), PAPER, np.uint8)
    placed = np.zeros((canvas.max_cells, 4, 2), np.float32)
    # Half of the canvases begin at the corner, as pictures will when they are recognized.
    at_corner = rng.random() < 0.5
    gaps = np.sort(rng.integers(0, size - height + 1, len(chosen))) * (not at_corner)
    top = start = 0
    for (image, quads), gap in zip(chosen, gaps.tolist(), strict=True):
        left = 0 if at_corner else int(rng.integers(0, size - image.shape[1] + 1))
        paper[top + gap : top + gap + image.shape[0], left : left + image.shape[1]] = image
        placed[start : start + len(quads)] = quads + np.array([left, top + gap], np.float32)
        top, start = top + image.shape[0], start + len(quads)
    make_owners = lines_to_owners if canvas.of_lines else quads_to_owners
    owners = make_owners(placed[:n_cells], (size, size), SAMPLE_STRIDE) if canvas.with_owners else None
    return Sample(paper, placed, np.array(n_cells, np.int64), owners)


def _prepare(picture: Any, canvas: Canvas, rng: np.random.Generator) -> Picture:
    """A picture with no more cells than the canvas holds, perhaps with other contents."""
    if canvas.of_lines:
        image, quads = _turn(picture.image, picture.lines, _choose_turns(rng))
    else:
        given = picture.cells.quads if hasattr(picture, "cells") else picture.quads
        image, quads = picture.image, np.asarray(given, np.float32).reshape(-1, 4, 2)
    if len(quads) > canvas.max_cells:
        image, quads = crop_to_cells(image, quads, canvas.max_cells, rng)
    return (swap_cells(image, quads, rng, canvas.copy_paste) if canvas.copy_paste else image), quads


def _choose_turns(rng: np.random.Generator) -> int:
    return int(rng.integers(1, 4)) if rng.random() < TURNED else 0


def _turn(image: NDArray[np.uint8], quads: NDArray[np.floating], turns: int) -> Picture:
    """A picture turned by quarters against the clock; each quad then begins at its corner at the upper left."""
    height, width = image.shape[:2]
    for _ in range(turns):
        quads = np.stack([quads[..., 1], width - quads[..., 0]], axis=-1)
        height, width = width, height
    sides = np.roll(quads, -1, axis=1) - quads
    rightward = sides[..., 0] / np.linalg.norm(sides, axis=2).clip(1e-6)
    order = (np.argmax(rightward, axis=1)[:, None] + np.arange(4)) % 4
    quads = np.take_along_axis(quads, order[:, :, None], axis=1)
    return np.ascontiguousarray(np.rot90(image, turns)), np.asarray(quads, np.float32)


def _fit(image: NDArray[np.uint8], quads: NDArray[np.float32], size: int, rng: np.random.Generator) -> Picture:
    """A picture no larger than the canvas, and its cells."""
    factor = size / max(image.shape[:2])
    if factor < 1 and rng.random() < 0.5:
        image, quads = _resize(image, quads, [max(1, int(factor * length)) for length in image.shape[1::-1]])
    skip = [int(rng.integers(0, max(length - size, 0) + 1)) for length in image.shape[:2]]
    part = image[skip[0] : skip[0] + size, skip[1] : skip[1] + size]
    return part, quads - np.array(skip[::-1], np.float32)


def _resize(image: NDArray[np.uint8], quads: NDArray[np.float32], size_wh: Sequence[int]) -> Picture:
    import cv2

    step = np.array(size_wh, np.float32) / np.array(image.shape[1::-1], np.float32)
    method = cv2.INTER_AREA if step.max() <= 1 else cv2.INTER_LINEAR
    return np.asarray(cv2.resize(image, size_wh, interpolation=method), np.uint8), np.multiply(quads, step)
