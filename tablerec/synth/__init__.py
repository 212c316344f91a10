"""Synthetic tables with exact truth: for training, validation and tests.

::

    recipe.py        Recipe: what tables are like and how often, from YAML files in ``recipes/``
    engine.py        draw(recipe, seed, index) -> Sample, by way of all that follows
    structures/      recipe -> Draft, a function for each kind of table
    content/         words, values and long labels
    draft.py         Draft: content and meaning of a table, not yet style
    description.py   what is to be drawn: text, structure and style, without positions
    determined.py    rows and columns that nothing shows are taken out
    pages.py         tables and their surroundings on a page
    drawing/         page -> picture with its truth; browser/ does the same with Chromium
    camera/          crops, scans and photographs of it
    sample.py        Sample: picture, cells, words and tables as arrays
    text_lines.py    words -> lines of text
    labels.py        samples as files
    dataset.py       many samples in a folder
    lines/           lines of text with their labels, for readers
    sheet.py         samples side by side in one picture
    command.py       `tablerec synth`

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
