"""A picture as patches of 16 x 8 px, about a letter each, seen with a margin of their neighbours."""

from __future__ import annotations

import math
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from postprocess.arrays import Image
from tablerec.language.reader.vocabulary import PLACES

Grey: TypeAlias = NDArray[np.uint8]
"""``(H, W)`` uint8."""

PATCH_HEIGHT, PATCH_WIDTH = 16, 8
"""Of a patch, px."""
MARGIN = 4
"""What of the neighbours is seen on each side, px."""
WINDOW = PATCH_HEIGHT + 2 * MARGIN, PATCH_WIDTH + 2 * MARGIN
"""Height and width of what is seen, px."""


def count_patches(height: int, width: int) -> int:
    """Patches of a picture, which may be cut at any pixel of its first patch.

    >>> count_patches(1, 1), count_patches(16, 9), count_patches(17, 9)
    (1, 2, 4)
    """
    return math.ceil(height / PATCH_HEIGHT) * math.ceil(width / PATCH_WIDTH)


def fit(image: Image, max_patches: int) -> tuple[Grey, float]:
    """Make a picture grey, and smaller where it has too many patches.

    Args:
        image: ``(H, W, 3)`` uint8 RGB.
        max_patches: Patches at most; no side has more than ``PLACES - 1``.

    Returns:
        The picture, and its scale, at most 1.

    >>> grey, scale = fit(np.full((320, 640, 3), 255, np.uint8), 200)
    >>> grey.shape, round(scale, 2)
    ((96, 192), 0.3)
    """
    import cv2

    height, width = image.shape[:2]
    longest = PATCH_HEIGHT * (PLACES - 1) / height, PATCH_WIDTH * (PLACES - 1) / width
    scale = min(1.0, *longest, math.sqrt(max_patches * PATCH_HEIGHT * PATCH_WIDTH / (height * width)))
    while True:
        size = max(1, int(width * scale)), max(1, int(height * scale))
        # One more, since training cuts pictures at any pixel of a patch.
        if scale <= 0.01 or (-(-size[0] // PATCH_WIDTH) + 1) * (-(-size[1] // PATCH_HEIGHT) + 1) <= max_patches:
            break
        scale *= 0.98
    grey = cv2.cvtColor(image, cv2.COLOR_RGB2GRAY)
    if scale < 1:
        grey = cv2.resize(grey, size, interpolation=cv2.INTER_AREA)
    return np.asarray(grey, np.uint8), scale


def cut(grey: Grey, left: int = 0, top: int = 0) -> tuple[NDArray[np.uint8], NDArray[np.int64], NDArray[np.int64]]:
    """Cut a picture into patches, row by row.

    Args:
        grey: ``(H, W)`` uint8.
        left: Where the picture begins in the first patch, px.
        top: The same, downwards.

    Returns:
        ``(N, 24, 16)`` uint8 windows; ``(N,)`` int64 the row and ``(N,)`` the column of each.

    >>> windows, rows, columns = cut(np.zeros((20, 20), np.uint8))
    >>> windows.shape, rows.tolist(), columns.tolist()
    ((6, 24, 16), [0, 0, 0, 1, 1, 1], [0, 1, 2, 0, 1, 2])
    """
    n_rows, n_columns = math.ceil((grey.shape[0] + top) / PATCH_HEIGHT), math.ceil((grey.shape[1] + left) / PATCH_WIDTH)
    size = n_rows * PATCH_HEIGHT + 2 * MARGIN, n_columns * PATCH_WIDTH + 2 * MARGIN
    canvas = np.full(size, _paper(grey), np.uint8)
    top, left = top + MARGIN, left + MARGIN
    canvas[top : top + grey.shape[0], left : left + grey.shape[1]] = grey
    down, right = canvas.strides
    view = np.lib.stride_tricks.as_strided(
        canvas, (n_rows, n_columns, *WINDOW), (PATCH_HEIGHT * down, PATCH_WIDTH * right, down, right), writeable=False
    )
    rows, columns = np.divmod(np.arange(n_rows * n_columns), n_columns)
    return view.reshape(-1, *WINDOW), rows, columns


def _paper(grey: Grey) -> int:
    """What is around the picture."""
    edges = np.concatenate([grey[0], grey[-1], grey[:, 0], grey[:, -1]])
    return int(np.median(edges))
