"""Copy-paste of cells: contents change places, so that a few tables show many more.

After Ghiasi et al., "Simple Copy-Paste is a Strong Data Augmentation Method for Instance Segmentation" (2021), but for
cells: what is in a cell moves, its sides and their lines stay.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from postprocess.arrays import Image, Ints
from postprocess.geometry.boxes import quads_to_boxes

Quads = NDArray[np.float32]

INSIDE = 0.12
"""Share of a cell's height that stays on each side: its lines are there, also those of cells turned a little."""
SIMILAR = 1.6
"""Greatest ratio of widths, and of heights, of two cells whose contents change places."""
UPRIGHT = 0.06
"""Greatest distance of a corner from that of the upright hull, as a share of the cell's height."""


def swap_cells(
    image: Image,
    quads: Quads,
    rng: np.random.Generator,
    share: float = 0.3,
) -> Image:
    """Let contents of cells of similar size change places.

    The quads stay as they are, as the cells do.

    Args:
        image: ``(H, W, 3)`` uint8.
        quads: ``(N, 4, 2)`` pixels.
        rng: Decides everything.
        share: Of the cells that get another content, 0 to 1, as far as there are similar ones.

    Returns:
        A copy.

    >>> page = np.zeros((10, 40, 3), np.uint8)
    >>> page[:, 20:] = 9
    >>> cells = np.array([[[0, 0], [20, 0], [20, 10], [0, 10]], [[20, 0], [40, 0], [40, 10], [20, 10]]], np.float32)
    >>> swapped = swap_cells(page, cells, np.random.default_rng(0), share=1.0)
    >>> swapped[5, 10, 0], swapped[5, 30, 0], swapped[0, 10, 0]
    (np.uint8(9), np.uint8(0), np.uint8(0))
    """
    boxes = inner_boxes(quads, image.shape)
    changed = image.copy()
    for target in _chosen(boxes, rng, share):
        similar = np.flatnonzero(_are_similar(boxes, boxes[target]))
        similar = similar[similar != target]
        if len(similar):
            _paste(changed, boxes[target], image, boxes[rng.choice(similar)])
    return changed


def _chosen(boxes: Ints, rng: np.random.Generator, share: float) -> Ints:
    usable = np.flatnonzero((boxes[:, 2] > boxes[:, 0]) & (boxes[:, 3] > boxes[:, 1]))
    return rng.permutation(usable)[: round(share * len(usable))].astype(np.int64)


def inner_boxes(quads: Quads, shape: tuple[int, ...]) -> Ints:
    """Return the insides of cells, without the lines around them.

    Args:
        quads: ``(N, 4, 2)`` pixels.
        shape: Of the picture: height, width.

    Returns:
        ``(N, 4)`` int64 xyxy pixels within the picture; without area for cells that are turned, slanted, too small
        or not wholly in the picture.

    >>> inner_boxes(np.array([[[0, 0], [20, 0], [20, 10], [0, 10]]]), (10, 20)).tolist()
    [[2, 2, 18, 8]]
    """
    boxes = quads_to_boxes(quads)
    if not len(boxes):
        return np.zeros((0, 4), np.int64)
    heights = boxes[:, 3] - boxes[:, 1]
    corners = boxes[:, [0, 1, 2, 1, 2, 3, 0, 3]].reshape(-1, 4, 2)
    slant = np.abs(np.asarray(quads, np.float64) - corners).max(axis=(1, 2))
    least = np.minimum(heights, boxes[:, 2] - boxes[:, 0])
    margins = np.ceil(np.maximum(INSIDE * least, 1.0))[:, None]
    inner = np.concatenate([np.ceil(boxes[:, :2]) + margins, np.floor(boxes[:, 2:]) - margins], axis=1)
    whole = (boxes[:, :2] >= 0).all(axis=1) & (boxes[:, 2:] <= np.array(shape[1::-1])).all(axis=1)
    usable = whole & (slant <= UPRIGHT * heights) & (inner[:, 2:] - inner[:, :2] >= 2).all(axis=1)
    inner[~usable] = 0
    return inner.astype(np.int64)


def _are_similar(boxes: Ints, box: Ints) -> NDArray[np.bool_]:
    sizes, size = boxes[:, 2:] - boxes[:, :2], box[2:] - box[:2]
    return np.asarray(((sizes * SIMILAR >= size) & (sizes <= SIMILAR * size) & (sizes > 0)).all(axis=1))


def _paste(image: Image, target: Ints, source: Image, origin: Ints) -> None:
    """Put the inside of a cell into another one, scaled to it."""
    import cv2

    x0, y0, x1, y1 = target.tolist()
    left, top, right, bottom = origin.tolist()
    part = source[top:bottom, left:right]
    if part.shape[:2] != (y1 - y0, x1 - x0):
        part = np.asarray(cv2.resize(part, (x1 - x0, y1 - y0), interpolation=cv2.INTER_AREA), np.uint8)
    image[y0:y1, x0:x1] = part
