"""Real pictures as users would send them: cropped, scaled and compressed anew each time that they are seen."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from postprocess.arrays import Image

TEXT_HEIGHT = (9.0, 25.0)
"""Pixels between which text comes out: a little wider than the detector shows it to the network."""
MAX_ENLARGEMENT = 2.5
"""A picture enlarged further shows nothing but its blur."""

Quads = NDArray[np.float32]


def crop_anew(
    image: Image, quads: Quads, text_height: float | None, rng: np.random.Generator, max_pixels: int = 4_000_000
) -> tuple[Image, Quads]:
    """Change a picture: more or less around its tables, its size, and traces of a camera, a scanner or a chat.

    Tint, noise, small turns and stretches are not added: the training does that on the device.

    Args:
        image: ``(H, W, 3)`` uint8.
        quads: ``(N, 4, 2)`` float32 pixels.
        text_height: Of its lines in pixels; None where it is not known: the size then stays.
        rng: Decides everything.
        max_pixels: Of the result.

    Returns:
        Image and quads; all cells are kept.

    >>> page, cell = np.full((90, 80, 3), 255, np.uint8), np.array([[[20, 30], [60, 30], [60, 40], [20, 40]]])
    >>> crop, quads = crop_anew(page, cell.astype(np.float32), 30.0, np.random.default_rng(1))
    >>> len(quads), crop.shape[0] < 90
    (1, True)
    """
    image, quads = _crop(image, quads, rng)
    if rng.random() < 0.25:
        image, quads = _widen(image, quads, rng)
    image, quads = _scale(image, quads, text_height, rng, max_pixels)
    return _degrade(image, rng), quads


def crop_to_cells(image: Image, quads: Quads, max_cells: int, rng: np.random.Generator) -> tuple[Image, Quads]:
    """Cut a random window with at most so many cells out of a picture with more.

    The window ends on sides of cells, so that a table is cut between its rows and columns. A cell that is cut all the
    same, such as a header over all columns, becomes what the window shows of it.

    Args:
        image: ``(H, W, 3)`` uint8.
        quads: ``(N, 4, 2)`` float32 pixels.
        max_cells: In the window, 1 or more.
        rng: Decides where it is.

    Returns:
        Image and quads, nothing outside; as they are where there are no more cells. More cells are left only where
        they lie upon one another.

    >>> page = np.zeros((20, 200, 3), np.uint8)
    >>> row = np.array([[[x, 0], [x + 10, 0], [x + 10, 20], [x, 20]] for x in range(0, 200, 10)], np.float32)
    >>> window, quads = crop_to_cells(page, row, 5, np.random.default_rng(0))
    >>> window.shape, len(quads)
    ((20, 50, 3), 5)
    """
    while len(quads) > max_cells:
        sides = [_sides(quads[..., axis], image.shape[1 - axis]) for axis in (0, 1)]
        axis = int(len(sides[1]) > len(sides[0]))
        n_parts = len(sides[axis]) - 1
        if n_parts < 2:
            break
        # Half at most is cut off at once, so that both ways are cut and the window is as wide as it may be.
        size = min(max(1, int(n_parts * max(0.5, max_cells / len(quads)))), n_parts - 1)
        first = int(rng.integers(0, n_parts - size + 1))
        low, high = int(sides[axis][first]), int(sides[axis][first + size])
        image = image[low:high] if axis else image[:, low:high]
        quads = _clip(quads, axis, low, high)
    return np.ascontiguousarray(image), quads


def _sides(values: NDArray[np.float32], length: int) -> NDArray[np.int64]:
    """Return where cells begin and end along an axis, whole pixels, and both ends of the picture."""
    ends = np.concatenate([[0, length], values.min(axis=1), values.max(axis=1)])
    return np.unique(np.rint(ends).clip(0, length).astype(np.int64))


def _clip(quads: Quads, axis: int, low: int, high: int) -> Quads:
    """Return the cells of which a window shows the half or more, or that are cut on both sides, in its pixels."""
    starts, ends = quads[..., axis].min(axis=1), quads[..., axis].max(axis=1)
    shown = np.minimum(ends, high) - np.maximum(starts, low)
    kept = (shown >= 0.5 * (ends - starts)) | (shown >= 0.5 * (high - low))
    clipped = quads[kept].copy()
    clipped[..., axis] = (clipped[..., axis] - low).clip(0, high - low)
    return clipped


def _crop(image: Image, quads: Quads, rng: np.random.Generator) -> tuple[Image, Quads]:
    """Cut off some of what surrounds the tables, on each side for itself; a third are cut close on all."""
    if not len(quads):
        return image, quads
    height, width = image.shape[:2]
    points = quads.reshape(-1, 2)
    (left, top), (right, bottom) = points.min(axis=0).clip(0), points.max(axis=0)
    around = np.array([left, top, max(width - right, 0), max(height - bottom, 0)])
    close = rng.uniform(0, np.minimum(around, 4.0))
    cut = around - (close if rng.random() < 0.33 else rng.uniform(close, around))
    x0, y0 = (int(value) for value in np.floor(cut[:2]))
    x1, y1 = width - int(cut[2]), height - int(cut[3])
    return image[y0:y1, x0:x1], quads - np.array([x0, y0], np.float32)


def _widen(image: Image, quads: Quads, rng: np.random.Generator) -> tuple[Image, Quads]:
    """Add a plain margin of the colour that the border has."""
    import cv2

    border = np.concatenate([image[0], image[-1], image[:, 0], image[:, -1]])
    color = [float(value) for value in np.median(border, axis=0)]
    limits = 0.15 * max(image.shape[:2]) * rng.random(4)
    left, top, right, bottom = (int(limit) for limit in limits)
    wider = cv2.copyMakeBorder(image, top, bottom, left, right, cv2.BORDER_CONSTANT, value=color)
    return np.asarray(wider, np.uint8), quads + np.array([left, top], np.float32)


def _scale(
    image: Image, quads: Quads, text_height: float | None, rng: np.random.Generator, max_pixels: int
) -> tuple[Image, Quads]:
    import cv2

    factor = 1.0
    if text_height:
        wanted = float(np.exp(rng.uniform(*np.log(TEXT_HEIGHT))))
        factor = min(wanted / text_height, MAX_ENLARGEMENT)
    factor = min(factor, float(np.sqrt(max_pixels / (image.shape[0] * image.shape[1]))))
    size_wh = [max(1, round(factor * side)) for side in image.shape[1::-1]]
    if size_wh == list(image.shape[1::-1]):
        return image, quads
    method = cv2.INTER_AREA if factor < 1 else (cv2.INTER_LINEAR, cv2.INTER_CUBIC)[int(rng.integers(2))]
    step = np.array(size_wh, np.float32) / np.array(image.shape[1::-1], np.float32)
    return np.asarray(cv2.resize(image, size_wh, interpolation=method), np.uint8), np.multiply(quads, step)


def _degrade(image: Image, rng: np.random.Generator) -> Image:
    """Blur a fifth, take the colour from a tenth, compress half as JPEG."""
    import cv2

    if rng.random() < 0.2:
        image = np.asarray(cv2.GaussianBlur(image, (0, 0), float(rng.uniform(0.4, 1.0))), np.uint8)
    if rng.random() < 0.1:
        image = np.repeat(cv2.cvtColor(image, cv2.COLOR_RGB2GRAY)[:, :, None], 3, axis=2)
    if rng.random() < 0.5:
        quality = int(rng.integers(35, 95))
        done, data = cv2.imencode(".jpg", image[:, :, ::-1], [cv2.IMWRITE_JPEG_QUALITY, quality])
        assert done
        image = np.asarray(cv2.imdecode(data, cv2.IMREAD_COLOR), np.uint8)[:, :, ::-1]
    return np.ascontiguousarray(image)
