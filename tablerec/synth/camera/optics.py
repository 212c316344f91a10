"""Changes of light and dots that leave everything in its place.

All functions take and return ``(height, width, 3)`` uint8 RGB.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tablerec.synth.sample import Image

Floats = NDArray[np.float32]


def blur(image: Image, sigma: float) -> Image:
    """Blur by a Gaussian of so many px."""
    import cv2

    return np.asarray(cv2.GaussianBlur(image, (0, 0), sigma), np.uint8)


def sharpen(image: Image, amount: float) -> Image:
    """Exaggerate edges, as scanners do."""
    import cv2

    return np.asarray(cv2.addWeighted(image, 1 + amount, cv2.GaussianBlur(image, (0, 0), 1.2), -amount, 0), np.uint8)


def jpeg(image: Image, quality: int) -> Image:
    """Save as JPEG and read again."""
    import cv2

    _, data = cv2.imencode(".jpg", image[..., ::-1], [cv2.IMWRITE_JPEG_QUALITY, quality])
    restored = np.asarray(cv2.imdecode(data, cv2.IMREAD_COLOR), np.uint8)
    return np.ascontiguousarray(restored[..., ::-1])


def to_grey(image: Image) -> Image:
    """Take the colour out.

    >>> to_grey(np.full((1, 1, 3), 7, np.uint8)).tolist()
    [[[7, 7, 7]]]
    """
    import cv2

    return np.asarray(cv2.cvtColor(cv2.cvtColor(image, cv2.COLOR_RGB2GRAY), cv2.COLOR_GRAY2RGB), np.uint8)


def add_noise(image: Image, strength: float, rng: np.random.Generator) -> Image:
    """Add grain of so many grey levels."""
    if strength < 0.5:
        return image
    height, width = image.shape[:2]
    # A tile of noise, rolled to another place, costs a tenth of new noise.
    tile = rng.standard_normal((min(256, height), min(256, width), 1), np.float32) * strength
    repeats = (-(-height // tile.shape[0]), -(-width // tile.shape[1]), 1)
    noise = np.tile(tile, repeats)[:height, :width].astype(np.int16)
    return np.clip(image.astype(np.int16) + noise, 0, 255).astype(np.uint8)


def speckle(image: Image, rng: np.random.Generator) -> Image:
    """Sprinkle dust: dark and light dots."""
    height, width = image.shape[:2]
    count = int(height * width * rng.uniform(0, 4e-4))
    ys, xs = rng.integers(0, height, count), rng.integers(0, width, count)
    dirty = image.copy()
    dirty[ys, xs] = rng.integers(0, 256, (count, 1))
    for y, x in zip(ys[: count // 8].tolist(), xs[: count // 8].tolist(), strict=True):
        dirty[y : y + 2, x : x + 2] = 255 if rng.random() < 0.3 else 40
    return dirty


def paper(image: Image, rng: np.random.Generator) -> Image:
    """Give white a tint and uneven brightness."""
    tint = 255 - rng.uniform(0, 45) * np.array([0.3, 0.5, 1.0]) * rng.uniform(0.5, 1)
    field = _field(image, rng, 1 - rng.uniform(0, 0.12), 1)
    return _scale(image, field[..., None] * (tint / 255))


def bleed_through(image: Image, rng: np.random.Generator) -> Image:
    """Let the other side of the sheet shine through, mirrored and blurred."""
    import cv2

    back = cv2.GaussianBlur(np.ascontiguousarray(image[:, ::-1]), (0, 0), float(rng.uniform(1, 3)))
    back = np.roll(back, (int(rng.integers(-40, 40)), int(rng.integers(-40, 40))), (0, 1))
    share = float(rng.uniform(0.04, 0.18))
    mixed = image.astype(np.float32) - share * (255 - back.astype(np.float32))
    return np.clip(mixed, 0, 255).astype(np.uint8)


def fax(image: Image, rng: np.random.Generator) -> Image:
    """Leave black and white only, by one threshold or by the surroundings."""
    import cv2

    grey = cv2.cvtColor(image, cv2.COLOR_RGB2GRAY)
    if rng.random() < 0.5:
        level = float(np.clip(np.median(grey) - rng.uniform(40, 90), 60, 200))
        binary = np.asarray(np.where(grey > level, 255, 0), np.uint8)
    else:
        size = int(rng.integers(7, 25)) * 2 + 1
        offset = float(rng.uniform(8, 24))
        mean = cv2.ADAPTIVE_THRESH_MEAN_C
        binary = np.asarray(cv2.adaptiveThreshold(grey, 255, mean, cv2.THRESH_BINARY, size, offset), np.uint8)
    return np.asarray(cv2.cvtColor(binary, cv2.COLOR_GRAY2RGB), np.uint8)


def relight(image: Image, rng: np.random.Generator) -> Image:
    """Change the light: its colour, its fall-off, a shadow, darkness."""
    warmth = 1 + rng.uniform(-0.12, 0.12) * np.array([1, 0.2, -1])
    low = rng.uniform(0.45, 0.9)
    field = _field(image, rng, low, 1)
    if rng.random() < 0.4:
        field = field * _shadow(image, rng)
    dark = rng.uniform(0.35, 0.7) if rng.random() < 0.12 else rng.uniform(0.75, 1.08)
    contrast = rng.uniform(0.75, 1) if rng.random() < 0.4 else 1
    lit = _scale(image, field[..., None] * warmth * dark * contrast)
    return np.clip(lit + 255 * (1 - contrast) * 0.35, 0, 255).astype(np.uint8)


def moire(image: Image, rng: np.random.Generator) -> Image:
    """Add the waves of a photographed screen."""
    height, width = image.shape[:2]
    angle, length = rng.uniform(0, math.pi), rng.uniform(3, 14)
    xs = np.arange(width, dtype=np.float32)[None, :] * math.cos(angle)
    ys = np.arange(height, dtype=np.float32)[:, None] * math.sin(angle)
    bend = rng.uniform(0, 0.004)
    waves = np.sin(2 * math.pi / length * (xs + ys + bend * (xs * ys) / 10))
    strength = rng.uniform(0.02, 0.08)
    color = 1 + strength * waves[..., None] * rng.uniform(0.4, 1, 3)
    return _scale(image, color)


def stamp_seal(image: Image, rng: np.random.Generator) -> Image:
    """Press a round or square seal over the picture, which hides nothing."""
    import cv2

    height, width = image.shape[:2]
    radius = int(rng.uniform(0.08, 0.22) * min(height, width)) + 8
    centre = (int(rng.integers(0, width)), int(rng.integers(0, height)))
    color = tuple(int(value) for value in ((200, 30, 40), (40, 60, 160))[int(rng.random() < 0.25)])
    layer = np.zeros_like(image)
    thickness = max(2, radius // 12)
    if rng.random() < 0.75:
        cv2.circle(layer, centre, radius, (255, 255, 255), thickness, cv2.LINE_AA)
        cv2.circle(layer, centre, radius // 4, (255, 255, 255), -1, cv2.LINE_AA)
        cv2.ellipse(layer, centre, (radius * 3 // 4, radius * 3 // 4), 0, 150, 390, (255, 255, 255), thickness)
    else:
        first = (centre[0] - radius, centre[1] - radius // 2)
        cv2.rectangle(layer, first, (centre[0] + radius, centre[1] + radius // 2), (255, 255, 255), thickness)
    reach = radius + thickness
    y, x = max(0, centre[1] - reach), max(0, centre[0] - reach)
    part = (slice(y, centre[1] + reach + 1), slice(x, centre[0] + reach + 1))
    cover = layer[part][..., :1].astype(np.float32) / 255 * rng.uniform(0.3, 0.8)
    sealed = image.copy()
    sealed[part] = (image[part] * (1 - cover) + np.minimum(image[part], color) * cover).astype(np.uint8)
    return sealed


def _field(image: Image, rng: np.random.Generator, low: float, high: float) -> Floats:
    """Return a smooth field of brightness ``(height, width)`` between two values."""
    import cv2

    coarse = rng.uniform(low, high, (3, 3)).astype(np.float32)
    height, width = image.shape[:2]
    return np.asarray(cv2.resize(coarse, (width, height), interpolation=cv2.INTER_LINEAR), np.float32)


def _shadow(image: Image, rng: np.random.Generator) -> Floats:
    """Return the brightness ``(height, width)`` below a shadow with one straight soft edge."""
    height, width = image.shape[:2]
    angle, depth = rng.uniform(0, 2 * math.pi), rng.uniform(0.5, 0.85)
    xs = (np.arange(width, dtype=np.float32) / width - 0.5)[None, :] * math.cos(angle)
    ys = (np.arange(height, dtype=np.float32) / height - 0.5)[:, None] * math.sin(angle)
    edge = 1 / (1 + np.exp(-(xs + ys - rng.uniform(-0.35, 0.35)) * rng.uniform(8, 60)))
    return np.asarray(1 - (1 - depth) * edge, np.float32)


def _scale(image: Image, factors: NDArray[np.floating[Any]]) -> Image:
    # OpenCV multiplies and saturates several times faster than numpy clips.
    import cv2

    full = np.ascontiguousarray(np.broadcast_to(factors, image.shape), np.float32)
    return np.asarray(cv2.multiply(image, full, dtype=cv2.CV_8U), np.uint8)
