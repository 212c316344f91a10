"""Real pictures as users would send them: cropped, scaled and compressed anew each time that they are seen."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

TEXT_HEIGHT = (9.0, 25.0)
"""Pixels between which text comes out: a little wider than the detector shows it to the network."""
MAX_ENLARGEMENT = 2.5
"""A picture enlarged further shows nothing but its blur."""

Image = NDArray[np.uint8]
Quads = NDArray[np.float32]


def crop_anew(
    image: Image, quads: Quads, text_height: float | None, rng: np.random.Generator, most_pixels: int = 4_000_000
) -> tuple[Image, Quads]:
    """Change a picture: more or less around its tables, its size, and traces of a camera, a scanner or a chat.

    Tint, noise, small turns and stretches are not added: the training does that on the device.

    Args:
        image: ``(H, W, 3)`` uint8.
        quads: ``(N, 4, 2)`` float32 pixels.
        text_height: Of its lines in pixels; None where it is not known: the size then stays.
        rng: Decides everything.
        most_pixels: Of the result.

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
    image, quads = _scale(image, quads, text_height, rng, most_pixels)
    return _wear(image, rng), quads


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
    image: Image, quads: Quads, text_height: float | None, rng: np.random.Generator, most_pixels: int
) -> tuple[Image, Quads]:
    import cv2

    factor = 1.0
    if text_height:
        wanted = float(np.exp(rng.uniform(*np.log(TEXT_HEIGHT))))
        factor = min(wanted / text_height, MAX_ENLARGEMENT)
    factor = min(factor, float(np.sqrt(most_pixels / (image.shape[0] * image.shape[1]))))
    size_wh = [max(1, round(factor * side)) for side in image.shape[1::-1]]
    if size_wh == list(image.shape[1::-1]):
        return image, quads
    method = cv2.INTER_AREA if factor < 1 else (cv2.INTER_LINEAR, cv2.INTER_CUBIC)[int(rng.integers(2))]
    step = np.array(size_wh, np.float32) / np.array(image.shape[1::-1], np.float32)
    return np.asarray(cv2.resize(image, size_wh, interpolation=method), np.uint8), np.multiply(quads, step)


def _wear(image: Image, rng: np.random.Generator) -> Image:
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
