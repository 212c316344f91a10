"""Synthetic lines of text with exact labels, as a reader of lines is trained on.

::

    engine.py      draw_line(seed, index) -> LineSample, by way of all that follows
    numbers.py     what stands in columns of numbers; wording.py of words; signs.py what readers know least;
                   web.py what Chinese web pages hold
    lexicon.py     words of many languages
    typefaces.py   fonts by script, apart for training and for measuring
    layout.py      words -> ink
    picture.py     ink -> the crop of a text detector; wear.py what happens to it; seals.py what is pressed on it;
                   screen.py the same of a screen
    dataset.py     many lines in a folder, as PaddleOCR trains on them

>>> from tablerec.synth.lines import draw_line
>>> sample = draw_line(seed=0, index=3, kind="cyrillic")
>>> sample.kind, sample.image.ndim
('cyrillic', 3)
"""

from tablerec.synth.lines.engine import KINDS, MIXED, LineSample, Settings, draw_line, load_line_source
from tablerec.synth.lines.seals import draw_seal

__all__ = ["KINDS", "MIXED", "LineSample", "Settings", "draw_line", "draw_seal", "load_line_source"]
