"""What happens to a page on its way into a picture: resampling, scanners, fax machines, cameras."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from tablerec.synth.camera.optics import (
    add_noise,
    bleed_through,
    blur,
    fax,
    jpeg,
    moire,
    paper,
    relight,
    sharpen,
    speckle,
    stamp_seal,
    to_grey,
)
from tablerec.synth.camera.warp import bend, curl, perspective, quarter_turn, rescale, rotate
from tablerec.synth.recipe import EFFECTS, Recipe, pick
from tablerec.synth.sample import Image, Sample

_MIN_LINE = 6.5
"""Height below which words are not made smaller by choice, px."""


def apply_effects(sample: Sample, recipe: Recipe, rng: np.random.Generator) -> Sample:
    """Let a picture be seen through one of the recipe's effects, and keep it within the recipe's size.

    All changes of geometry move picture and truth together.
    """
    effect = pick(rng, recipe.effects)
    limit = float(rng.uniform(*recipe.max_side))
    sample = _fit(sample, limit, rng)
    sample = _EFFECTS[effect](sample, rng)
    sample = quarter_turn(sample, pick(rng, recipe.turns, int))
    long_side = max(sample.image.shape[:2])
    if long_side > limit:
        sample = rescale(sample, limit / long_side)
    return replace(sample, about={**sample.about, "effect": effect})


def _fit(sample: Sample, limit: float, rng: np.random.Generator) -> Sample:
    """Make a picture that is too large smaller, and others a little at times, as renderers at another resolution do."""
    long_side = max(sample.image.shape[:2])
    factor = min(1.0, limit / long_side)
    if rng.random() < 0.3:
        factor *= float(rng.uniform(0.75, 1))
    line = _line_height(sample)
    if line and factor * line < _MIN_LINE:
        factor = min(1.0, max(factor, _MIN_LINE / line), limit / long_side)
    return rescale(sample, factor) if factor < 0.999 else sample


def _line_height(sample: Sample) -> float:
    quads = sample.words.quads
    return float(np.median(np.linalg.norm(quads[:, 3] - quads[:, 0], axis=1))) if len(quads) else 0.0


def _with(sample: Sample, image: Image) -> Sample:
    return replace(sample, image=image)


def _chance(rng: np.random.Generator, probability: float) -> bool:
    return bool(rng.random() < probability)


def _clean(sample: Sample, rng: np.random.Generator) -> Sample:
    return sample


def _soft(sample: Sample, rng: np.random.Generator) -> Sample:
    """A screenshot or a rendered page that was saved with some loss."""
    image = sample.image
    if _chance(rng, 0.4):
        image = blur(image, float(rng.uniform(0.3, 0.7)))
    if _chance(rng, 0.2):
        image = sharpen(image, float(rng.uniform(0.3, 1.2)))
    if _chance(rng, 0.7):
        image = jpeg(image, int(rng.integers(35, 95)))
    if _chance(rng, 0.15):
        image = to_grey(image)
    return _with(sample, image)


def _low(sample: Sample, rng: np.random.Generator) -> Sample:
    """A small picture, or one that was small and was enlarged."""
    line = _line_height(sample)
    lowest = max(0.35, 5.5 / line) if line else 0.5
    factor = float(rng.uniform(min(lowest, 0.9), 0.9))
    small = rescale(sample, factor)
    small = _with(small, jpeg(small.image, int(rng.integers(25, 85))))
    # Small text is enlarged before the network sees it, so it is soft.
    return rescale(small, 1 / factor) if _chance(rng, 0.6) else small


def _thumbnail(sample: Sample, rng: np.random.Generator) -> Sample:
    """A small picture as journals show on the web, mostly enlarged again: so the network gets to see it."""
    line = _line_height(sample)
    factor = min(1.0, float(rng.uniform(5.5, 10)) / line) if line else 0.5
    small = rescale(sample, factor)
    image = small.image
    if _chance(rng, 0.3):
        image = blur(image, float(rng.uniform(0.2, 0.5)))
    elif _chance(rng, 0.3):
        image = sharpen(image, float(rng.uniform(0.3, 1)))
    if _chance(rng, 0.6):
        image = jpeg(image, int(rng.integers(55, 96)))
    small = _with(small, image)
    if _chance(rng, 0.25):
        return small
    larger = float(rng.uniform(10, 20)) / (factor * line) if line else 2.0
    return rescale(small, max(1.0, larger))


def _scan(sample: Sample, rng: np.random.Generator) -> Sample:
    image = sample.image
    if _chance(rng, 0.25):
        image = bleed_through(image, rng)
    if _chance(rng, 0.15):
        image = stamp_seal(image, rng)
    sample = rotate(_with(sample, image), _skew(rng))
    image = sample.image
    if _chance(rng, 0.5):
        image = paper(image, rng)
    image = blur(image, float(rng.uniform(0.2, 0.9)))
    image = add_noise(image, float(rng.uniform(0, 9)), rng)
    if _chance(rng, 0.5):
        image = speckle(image, rng)
    if _chance(rng, 0.5):
        image = to_grey(image)
    if _chance(rng, 0.5):
        image = sharpen(image, float(rng.uniform(0.3, 1.5)))
    return _with(sample, jpeg(image, int(rng.integers(30, 90))))


def _skew(rng: np.random.Generator) -> float:
    return float(rng.normal(0, 0.6) if rng.random() < 0.85 else rng.uniform(-5, 5))


def _fax(sample: Sample, rng: np.random.Generator) -> Sample:
    sample = rotate(sample, _skew(rng))
    image = add_noise(blur(sample.image, float(rng.uniform(0.3, 0.8))), float(rng.uniform(0, 12)), rng)
    return _with(sample, speckle(fax(image, rng), rng))


def _photo(sample: Sample, rng: np.random.Generator) -> Sample:
    if _chance(rng, 0.15):
        sample = _with(sample, stamp_seal(sample.image, rng))
    if _chance(rng, 0.4):
        sample = curl(sample, rng)
    sample = perspective(sample, rng)
    image = relight(sample.image, rng)
    if _chance(rng, 0.25):
        image = moire(image, rng)
    if _chance(rng, 0.6):
        image = blur(image, float(rng.uniform(0.3, 1.1)))
    image = add_noise(image, float(rng.uniform(0, 8)), rng)
    return _with(sample, jpeg(image, int(rng.integers(35, 92))))


def _bent(sample: Sample, rng: np.random.Generator) -> Sample:
    """A page of an open book or a curled sheet, which a camera sees from near."""
    sample = bend(sample, rng)
    if _chance(rng, 0.5):
        sample = perspective(sample, rng)
    image = relight(sample.image, rng)
    if _chance(rng, 0.6):
        image = blur(image, float(rng.uniform(0.3, 0.9)))
    image = add_noise(image, float(rng.uniform(0, 6)), rng)
    return _with(sample, jpeg(image, int(rng.integers(45, 92))))


_EFFECTS: dict[str, Callable[[Sample, np.random.Generator], Sample]] = {
    "clean": _clean,
    "soft": _soft,
    "low": _low,
    "thumbnail": _thumbnail,
    "scan": _scan,
    "fax": _fax,
    "photo": _photo,
    "bent": _bent,
}
assert _EFFECTS.keys() == set(EFFECTS)
