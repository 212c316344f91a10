"""From recipe to sample."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import numpy as np

from tablerec.errors import SettingsError
from tablerec.synth.content.texts import Writer
from tablerec.synth.description import Page
from tablerec.synth.pages import choose_language, compose
from tablerec.synth.recipe import RENDERERS, Recipe, pick
from tablerec.synth.sample import Sample

Renderer = Literal["fast", "browser"]


def draw(recipe: Recipe, seed: int, index: int, renderer: Renderer | None = None) -> Sample:
    """Draw a sample.

    Args:
        recipe: What to draw, see ``load_recipe``.
        seed: Of a whole set, 0 or more.
        index: Of the sample in it, 0 or more. The same recipe, seed and index give the same
            sample on the same machine, whatever was drawn before; fonts differ between machines.
        renderer: ``fast``, which is our own, or ``browser``, which is Chromium: the same tables with the
            same content, laid out in another way. By default as the recipe's ``renderers`` say.

    Returns:
        A picture with its truth.

    Raises:
        SettingsError: No such renderer.
        MissingDependencyError: Chromium is wanted, and it or Playwright is not installed.
        BrowserError: Chromium does not do what it should.

    >>> from tablerec.synth import draw, load_recipe
    >>> sample = draw(load_recipe("lineless"), seed=0, index=7)
    >>> sample.image.dtype, len(sample.to_tables())
    (dtype('uint8'), 1)
    """
    if renderer is not None and renderer not in RENDERERS:
        raise SettingsError(f"renderer {renderer!r} is unknown; choose {' or '.join(RENDERERS)}")
    chosen = renderer or pick(_rng(seed, index, 2), recipe.choose(_rng(seed, index, 0)).renderers)
    page = describe(recipe, seed, index)
    if chosen == "browser":
        from tablerec.synth.browser import renderer as browser

        sample = browser.render(page, _rng(seed, index, 3))
    else:
        from tablerec.synth.drawing import render

        sample = render.render(page)
    sample = replace(sample, about={**sample.about, "renderer": chosen})
    return finish(sample, recipe, page, seed, index)


def describe(recipe: Recipe, seed: int, index: int) -> Page:
    """Return the page of a sample as data, for any renderer."""
    rng = _rng(seed, index, 0)
    chosen = recipe.choose(rng)
    # The language decides the vocabulary, and is chosen before there is one.
    language = choose_language(chosen, Writer(rng, "english"))
    return compose(chosen, Writer(rng, language))


def finish(sample: Sample, recipe: Recipe, page: Page, seed: int, index: int) -> Sample:
    """Crop a rendered page, fit it to the size that the recipe wants, and let a camera or scanner see it."""
    from tablerec.synth.camera.effects import apply_effects
    from tablerec.synth.camera.framing import frame

    chosen = recipe.choose(_rng(seed, index, 0))
    rng = _rng(seed, index, 1)
    return apply_effects(frame(sample, page.framing, rng), chosen, rng)


def _rng(seed: int, index: int, stage: int) -> np.random.Generator:
    return np.random.Generator(np.random.PCG64([seed, index, stage]))
