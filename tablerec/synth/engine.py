"""From recipe to sample."""

from __future__ import annotations

import numpy as np

from tablerec.synth.content import Writer
from tablerec.synth.description import Page
from tablerec.synth.pages import choose_language, compose
from tablerec.synth.recipe import Recipe
from tablerec.synth.sample import Sample


def draw(recipe: Recipe, seed: int, index: int) -> Sample:
    """Draw a sample.

    Args:
        recipe: What to draw, see ``load_recipe``.
        seed: Of a whole set, 0 or more.
        index: Of the sample in it, 0 or more. The same recipe, seed and index give the same
            sample on the same machine, whatever was drawn before; fonts differ between machines.

    Returns:
        A picture with its truth.

    >>> from tablerec.synth import draw, load_recipe
    >>> sample = draw(load_recipe("lineless"), seed=0, index=7)
    >>> sample.image.dtype, len(sample.to_tables())
    (dtype('uint8'), 1)
    """
    from tablerec.synth.render import render

    page = describe(recipe, seed, index)
    return finish(render(page), recipe, page, seed, index)


def describe(recipe: Recipe, seed: int, index: int) -> Page:
    """Return the page of a sample as data, for any renderer."""
    rng = _rng(seed, index, 0)
    chosen = recipe.choose(rng)
    # The language decides the vocabulary, and is chosen before there is one.
    language = choose_language(chosen, Writer(rng, "english"))
    return compose(chosen, Writer(rng, language))


def finish(sample: Sample, recipe: Recipe, page: Page, seed: int, index: int) -> Sample:
    """Crop a rendered page, fit it to the size that the recipe wants, and let a camera or scanner see it."""
    from tablerec.synth.effects import apply_effects
    from tablerec.synth.framing import frame

    chosen = recipe.choose(_rng(seed, index, 0))
    rng = _rng(seed, index, 1)
    return apply_effects(frame(sample, page.framing, rng), chosen, rng)


def _rng(seed: int, index: int, stage: int) -> np.random.Generator:
    return np.random.Generator(np.random.PCG64([seed, index, stage]))
