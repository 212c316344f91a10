"""Tables drawn by the program, with exact truth: for training, validation and tests.

>>> from tablerec.synth import draw, load_recipe
>>> sample = draw(load_recipe("ruled"), seed=0, index=3)
>>> table = sample.to_tables()[0]
"""

from tablerec.synth.engine import describe, draw, finish
from tablerec.synth.recipe import Recipe, load_recipe, recipe_names
from tablerec.synth.sample import CELL_KINDS, CellKind, Cells, Sample, Tables, Words

__all__ = [
    "CELL_KINDS",
    "CellKind",
    "Cells",
    "Recipe",
    "Sample",
    "Tables",
    "Words",
    "describe",
    "draw",
    "finish",
    "load_recipe",
    "recipe_names",
]
