"""From ink to the crop of a line that a browser drew on a screen: small, exact, at times coloured."""

from __future__ import annotations

from random import Random

import numpy as np
from numpy.typing import NDArray

from tablerec.synth.camera.optics import jpeg
from tablerec.synth.lines.layout import Ink

Image = NDArray[np.uint8]
Floats = NDArray[np.float32]

SIZES = (11, 12, 12, 12, 13, 13, 14, 14, 14, 14, 15, 16, 16, 16, 18, 20, 22, 24, 28, 32)
"""Of fonts in pages, px."""

_LINKS = ((0, 0, 238), (0, 102, 204), (26, 115, 232), (51, 122, 183), (9, 105, 218), (19, 110, 194), (85, 26, 139))
_HEADERS = (
    (0, 0, 0), (51, 51, 51), (68, 68, 68), (33, 37, 41), (0, 86, 179), (24, 144, 255), (64, 158, 255), (68, 114, 196),
    (91, 155, 213), (112, 173, 71), (76, 175, 80), (0, 128, 128), (192, 0, 0), (220, 53, 69), (237, 125, 49),
    (103, 58, 183), (44, 62, 80), (32, 55, 100), (0, 150, 136), (30, 30, 30), (13, 17, 23), (96, 98, 102),
)  # fmt: skip
_LIGHT = (
    (255, 255, 255), (250, 250, 250), (245, 247, 250), (242, 242, 242), (221, 235, 247), (255, 242, 204),
    (226, 239, 218), (233, 243, 255), (248, 249, 250), (217, 217, 217), (252, 228, 214), (240, 249, 235),
)  # fmt: skip
_LCD = np.array([1, 2, 3, 2, 1], np.float32) / 9
"""How a third of a pixel spreads over its neighbours on a flat screen."""
_LEAST_CONTRAST = 75


def choose_size(rng: Random) -> tuple[float, int]:
    """Return the size of a font, px, and how many times larger it is drawn: 1 keeps the font's hints."""
    return rng.choice(SIZES), rng.choice((1, 1, 1, 3, 3, 2))


def take_screenshot(ink: Ink, zoom: int, rng: Random) -> Image:
    """Return the crop of a line as it is on a screen.

    Args:
        ink: Of the line.
        zoom: How many times larger it is drawn.
        rng: Source of chance.

    Returns:
        ``(h, w, 3)`` uint8 RGB.
    """
    cover, top, bottom = _cover(ink, zoom, rng)
    em = ink.em / zoom
    ground, color, is_link = _colours(rng)
    height, width = cover.shape[:2]
    tall = bottom - top
    reach = (0.04, 0.3) if rng.random() < 0.85 else (0.2, 0.5)
    above, below = round(tall * rng.uniform(*reach)), round(tall * rng.uniform(*reach))
    reach = (0.06, 0.4) if rng.random() < 0.7 else (0.3, 0.9)
    before, after = (max(1, round(tall * rng.uniform(*reach))) for _ in "12")
    first, last = max(0, above - top), max(0, bottom + below - height)
    page = np.empty((first + height + last, before + width + after, 3), np.float32)
    page[:] = ground
    cut = page[first + top - above : first + bottom + below]
    _draw_borders(cut, rng)
    if (is_link and rng.random() < 0.5) or rng.random() < 0.02:
        at = first + bottom + max(1, round(0.06 * em))
        page[at : at + max(1, round(em / 16)), before : before + width] = color
    part = page[first : first + height, before : before + width]
    part += (color - part) * cover
    return _seen(np.clip(cut + 0.5, 0, 255).astype(np.uint8), rng)


def _cover(ink: Ink, zoom: int, rng: Random) -> tuple[Floats, int, int]:
    """Return the share of each pixel, ``(h, w, 1)`` or for each colour ``(h, w, 3)``, and the line's rows in it."""
    import cv2

    mask, em = ink.mask, ink.em
    top, bottom = 0, mask.shape[0]
    if bottom < 0.45 * em or rng.random() < 0.9:
        top, bottom = min(top, round(ink.baseline - 0.74 * em)), max(bottom, round(ink.baseline + 0.02 * em))
    up, left = max(0, -top) + rng.randrange(zoom), max(0, round((0.45 * em - mask.shape[1]) / 2)) + zoom - 1
    height = -(-(up + max(bottom, mask.shape[0])) // zoom)
    width = -(-(2 * left + mask.shape[1]) // zoom)
    drawn = np.zeros((height * zoom, width * zoom), np.uint8)
    drawn[up : up + mask.shape[0], left : left + mask.shape[1]] = mask
    top, bottom = round((up + top) / zoom), round((up + bottom) / zoom)
    if zoom == 3 and rng.random() < 0.6:
        thirds = cv2.resize(drawn, (width * 3, height), interpolation=cv2.INTER_AREA).astype(np.float32) / 255
        cover = cv2.filter2D(thirds, -1, _LCD[None]).reshape(height, width, 3)
        cover = cover[..., ::-1] if rng.random() < 0.1 else cover
    else:
        small = drawn if zoom == 1 else cv2.resize(drawn, (width, height), interpolation=cv2.INTER_AREA)
        if zoom == 1 and em >= 12 and rng.random() < 0.22:  # without grey pixels
            small = np.where(small > rng.choice((90, 110, 128)), 255, 0)
        cover = np.asarray(small, np.float32)[..., None] / np.float32(255)
    if rng.random() < 0.5:
        cover = np.power(cover, np.float32(rng.uniform(0.65, 1.15)))
    return np.asarray(cover, np.float32), top, bottom


def _colours(rng: Random) -> tuple[Floats, Floats, bool]:
    """Return the colours of ground and text, ``(3,)`` float32 each, and whether the text is a link."""
    form = rng.random()
    ground, color = _grey(255), _grey(rng.choice((0, 0, 0, 17, 34, 51, 51, 68, 85, 102)))
    if form < 0.42:
        return ground, color, False
    if form < 0.58:
        ground = np.array(rng.choice(_LIGHT), np.float32)
    elif form < 0.68:
        return np.array(rng.choice(_LIGHT[:4]), np.float32), np.array(rng.choice(_LINKS), np.float32), True
    elif form < 0.76:  # grey, as what matters less
        ground, color = np.array(rng.choice(_LIGHT[:4]), np.float32), _grey(rng.choice((102, 119, 136, 153, 153, 170)))
    elif form < 0.93:
        ground = np.array(rng.choice(_HEADERS), np.float32)
        color = _grey(255) if rng.random() < 0.75 else _grey(rng.uniform(190, 245))
    else:
        ground = np.array(rng.choice(_LIGHT), np.float32)
        color = np.array(rng.choice((*_HEADERS, (255, 0, 0), (255, 77, 79), (0, 128, 0))), np.float32)
    weights = np.array([0.299, 0.587, 0.114], np.float32)
    if abs(float((ground - color) @ weights)) < _LEAST_CONTRAST:
        color = _grey(0 if float(ground @ weights) > 128 else 255)
    return ground, color, False


def _grey(level: float) -> Floats:
    return np.full(3, level, np.float32)


def _draw_borders(image: Floats, rng: Random) -> None:
    """Draw the borders of a cell that lie at the edge of a crop."""
    if rng.random() < 0.65:
        return
    color = np.array(rng.choice(((0, 0, 0), (221, 221, 221), (204, 204, 204), (128, 128, 128), (255, 255, 255))))
    for _ in range(rng.choice((1, 1, 2))):
        thick, at = rng.choice((1, 1, 1, 2)), rng.randint(0, 2)
        side = rng.choice((image, image.swapaxes(0, 1), image.swapaxes(0, 1)))
        if rng.random() < 0.5:
            side[at : at + thick] = color
        else:
            side[len(side) - at - thick : len(side) - at] = color


def _seen(image: Image, rng: Random) -> Image:
    """A screenshot that was enlarged or shrunk at times, or saved with some loss."""
    import cv2

    if rng.random() < 0.3:
        height, width = image.shape[:2]
        factor = rng.uniform(max(0.7, min(1.0, 12 / height)), 1.7)
        way = rng.choice((cv2.INTER_AREA if factor < 1 else cv2.INTER_CUBIC, cv2.INTER_LINEAR, cv2.INTER_LINEAR))
        size = max(4, round(width * factor)), max(4, round(height * factor))
        image = np.asarray(cv2.resize(image, size, interpolation=way), np.uint8)
    return jpeg(image, rng.randint(50, 95)) if rng.random() < 0.3 else image
