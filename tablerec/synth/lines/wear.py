"""What printing, paper, scanners and cameras do to a line: on ink, and on the picture."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from random import Random

import numpy as np
from numpy.typing import NDArray

from tablerec.synth.camera.optics import add_noise, blur, jpeg, moire, paper, relight, sharpen, speckle, to_grey
from tablerec.synth.lines.typefaces import Split

Image = NDArray[np.uint8]
Mask = NDArray[np.uint8]

Effect = Callable[[Image, Random, np.random.Generator], Image]


# --- ink -------------------------------------------------------------------------------------------------------------


def dot_matrix(mask: Mask, em: float, rng: Random) -> Mask:
    """Print with the needles of a dot matrix printer: few round dots."""
    import cv2

    high = rng.uniform(15, 20)
    factor = high / em
    if factor >= 0.9:
        return mask
    height, width = mask.shape
    small = cv2.resize(mask, None, fx=factor, fy=factor, interpolation=cv2.INTER_AREA)
    dots = np.where(small > rng.uniform(85, 120), 255, 0).astype(np.uint8)
    tile = _dot(rng.choice((4, 5)))
    drawn = np.kron(dots // 255, tile)
    return np.asarray(cv2.resize(drawn, (width, height), interpolation=cv2.INTER_AREA), np.uint8)


@lru_cache(maxsize=8)
def _dot(side: int) -> Mask:
    at = np.arange(side) - (side - 1) / 2
    return (255 * np.clip(side * 0.62 - np.hypot(at[:, None], at[None, :]), 0, 1)).astype(np.uint8)


def bolden(mask: Mask, em: float, rng: Random) -> Mask:
    """Let ink run: strokes grow by a few percent of the size."""
    import cv2

    reach = rng.choice((2, 2, 3)) if em > 34 else 2
    return np.asarray(cv2.dilate(mask, np.ones((reach if rng.random() < 0.5 else 1, reach), np.uint8)), np.uint8)


def thin(mask: Mask, em: float, rng: Random) -> Mask:
    """Let strokes shrink and break; only where they are wide enough."""
    import cv2

    if em < 26:
        return mask
    worn = cv2.erode(mask, np.ones((1, 2) if rng.random() < 0.5 else (2, 1), np.uint8))
    return np.maximum(np.asarray(worn, np.uint8), (mask * 0.25).astype(np.uint8))


def break_up(mask: Mask, em: float, rng: Random, noise: np.random.Generator) -> Mask:
    """Leave out spots and streaks of the ink, as a worn ribbon or an empty cartridge does."""
    import cv2

    height, width = mask.shape
    grain = max(1, round(em * rng.uniform(0.04, 0.12)))
    rough = noise.random((-(-height // grain), -(-width // grain)), np.float32)
    if rng.random() < 0.3:
        rough[:] = rough[:, :1] if rng.random() < 0.5 else rough
    field = cv2.resize(rough, (width, height), interpolation=cv2.INTER_LINEAR)
    level, least = rng.uniform(0.1, 0.4), rng.uniform(0.25, 0.6)
    return np.asarray(mask * np.where(field < level, least, 1), np.uint8)


# --- picture ---------------------------------------------------------------------------------------------------------


def _blurred(image: Image, sigma: float) -> Image:
    """Blur, small text less."""
    return blur(image, min(sigma, image.shape[0] / 40))


def clean(image: Image, rng: Random, noise: np.random.Generator) -> Image:
    """Leave the picture as it is."""
    return image


def plain_page(image: Image, rng: Random) -> Image:
    """A page that was rendered small, at times saved with some loss."""
    return jpeg(image, rng.randint(65, 95)) if rng.random() < 0.5 else image


def soft(image: Image, rng: Random, noise: np.random.Generator) -> Image:
    """A screenshot or a rendered page that was saved with some loss."""
    if rng.random() < 0.4:
        image = _blurred(image, rng.uniform(0.3, 0.7))
    if rng.random() < 0.25:
        image = sharpen(image, rng.uniform(0.3, 1.2))
    return jpeg(image, rng.randint(35, 95)) if rng.random() < 0.7 else image


def low(image: Image, rng: Random, noise: np.random.Generator) -> Image:
    """A small picture that was enlarged, or one that was saved small."""
    import cv2

    height, width = image.shape[:2]
    factor = rng.uniform(max(0.4, min(0.95, 13 / height)), 1)
    size = max(1, round(width * factor)), max(1, round(height * factor))
    small = np.asarray(cv2.resize(image, size, interpolation=cv2.INTER_AREA), np.uint8)
    if rng.random() < 0.7:
        small = jpeg(small, rng.randint(40, 92))
    if rng.random() < 0.4:
        return small
    way = rng.choice((cv2.INTER_LINEAR, cv2.INTER_CUBIC, cv2.INTER_CUBIC, cv2.INTER_NEAREST))
    return np.asarray(cv2.resize(small, (width, height), interpolation=way), np.uint8)


def scan(image: Image, rng: Random, noise: np.random.Generator) -> Image:
    """A scanned page: paper, grain, dust."""
    if rng.random() < 0.5:
        image = paper(image, noise)
    image = _blurred(image, rng.uniform(0.25, 0.75))
    image = add_noise(image, rng.uniform(0, 10), noise)
    if rng.random() < 0.5:
        image = speckle(image, noise)
    if rng.random() < 0.4:
        image = to_grey(image)
    if rng.random() < 0.5:
        image = sharpen(image, rng.uniform(0.3, 1.4))
    return jpeg(image, rng.randint(30, 90)) if rng.random() < 0.7 else image


def fax(image: Image, rng: Random, noise: np.random.Generator) -> Image:
    """Black and white only, by Otsu's threshold or one near it."""
    import cv2

    image = _blurred(image, rng.uniform(0.3, 0.6))
    grey = cv2.cvtColor(add_noise(image, rng.uniform(0, 10), noise), cv2.COLOR_RGB2GRAY)
    level, _ = cv2.threshold(grey, 0, 255, cv2.THRESH_BINARY + cv2.THRESH_OTSU)
    binary = np.where(grey > level + rng.uniform(-12, 14), 255, 0).astype(np.uint8)
    image = np.asarray(cv2.cvtColor(binary, cv2.COLOR_GRAY2RGB), np.uint8)
    return speckle(image, noise) if rng.random() < 0.5 else image


def photo(image: Image, rng: Random, noise: np.random.Generator) -> Image:
    """A photograph: uneven light, blur, grain, at times a screen."""
    image = relight(image, noise)
    if rng.random() < 0.2:
        image = moire(image, noise)
    if rng.random() < 0.6:
        image = _blurred(image, rng.uniform(0.3, 0.9))
    image = add_noise(image, rng.uniform(0, 9), noise)
    return jpeg(image, rng.randint(35, 92))


def copied(image: Image, rng: Random, noise: np.random.Generator) -> Image:
    """A copy of a copy: contrast that saturates, and grain that it makes hard."""
    image = add_noise(_blurred(image, rng.uniform(0.3, 0.7)), rng.uniform(4, 16), noise)
    low_end, high_end = rng.uniform(20, 80), rng.uniform(175, 235)
    stretched = (image.astype(np.float32) - low_end) * (255 / (high_end - low_end))
    return to_grey(np.clip(stretched, 0, 255).astype(np.uint8))


def moved(image: Image, rng: Random, noise: np.random.Generator) -> Image:
    """A camera that moved, by less where text is small: by a third of a letter none reads it; never in training."""
    import cv2

    length = max(2, min(rng.randint(2, 4), image.shape[0] // 8))
    kernel = np.zeros((length, length), np.float32)
    if rng.random() < 0.5:
        kernel[length // 2] = 1 / length
    else:
        np.fill_diagonal(kernel, 1 / length)
    return jpeg(np.asarray(cv2.filter2D(image, -1, kernel), np.uint8), rng.randint(50, 90))


def screened(image: Image, rng: Random, noise: np.random.Generator) -> Image:
    """The dots of an offset print; never in training."""
    height, width = image.shape[:2]
    angle, pitch = rng.uniform(0.3, 1.2), rng.uniform(2.2, 3.5)
    xs, ys = np.arange(width, dtype=np.float32)[None], np.arange(height, dtype=np.float32)[:, None]
    first = np.cos(2 * math.pi / pitch * (xs * math.cos(angle) + ys * math.sin(angle)))
    second = np.cos(2 * math.pi / pitch * (ys * math.cos(angle) - xs * math.sin(angle)))
    dots = (first * second * rng.uniform(14, 34))[..., None]
    return np.clip(image + dots, 0, 255).astype(np.uint8)


EFFECTS: dict[Split, dict[Effect, float]] = {
    "train": {clean: 0.28, soft: 0.25, low: 0.13, scan: 0.15, fax: 0.05, photo: 0.1, copied: 0.04},
    "unseen": {clean: 0.2, soft: 0.2, low: 0.1, scan: 0.15, fax: 0.05, photo: 0.1, moved: 0.1, screened: 0.1},
}
"""Shares of the effects on the picture."""

_TINY = 15
"""Below this height, px, strong effects leave nothing to read ..."""
TINIEST = 11
"""... and below this one, any but a little loss."""


def apply_effect(image: Image, split: Split, rng: Random, noise: np.random.Generator) -> Image:
    """Let a picture, ``(h, w, 3)`` uint8 RGB, be seen through one of the effects of the split."""
    effect = rng.choices(list(EFFECTS[split]), list(EFFECTS[split].values()))[0]
    if split == "train" and image.shape[0] < TINIEST:
        return clean(image, rng, noise) if effect is clean else jpeg(image, rng.randint(60, 95))
    is_tiny = image.shape[0] < _TINY and effect in (low, photo, fax, copied)
    return soft(image, rng, noise) if is_tiny else effect(image, rng, noise)
