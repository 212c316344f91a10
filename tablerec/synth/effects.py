"""What happens to a page on its way into a picture."""

from __future__ import annotations

import numpy as np

from tablerec.synth.recipe import Recipe
from tablerec.synth.sample import Sample


def apply_effects(sample: Sample, recipe: Recipe, rng: np.random.Generator) -> Sample:
    return sample
