"""Geometry and tables: from boxes, rulings and words to a grid of cells, and from there to files.

Works on the output of any detector and any OCR engine, and needs neither.

What travels, and what it is made of:

- ``table``, ``cell``: rows, columns and spans with texts, scores and roles; ``preview`` shows them as text
- ``word``: what an OCR engine read, with its place; ``values``: what a text is worth to a spreadsheet
- ``characters``, ``raised``: what exports ask of a text, superscripts and subscripts as Unicode has them
- ``arrays``, ``odds``, ``errors``: types of arrays, weights of evidence, what goes wrong

The rooms, each of which imports those before it:

- ``geometry``: boxes, frames and ruling lines
- ``text``: words in lines, in cells, and what they say
- ``grid``: rows, columns and spans of detected cells
- ``lineless``: the same of words and the gaps between them
- ``candidates``: the tables that several detectors propose, compared, corrected and rated
- ``meaning``: header rows, stubs, sections and totals
- ``captions``: titles and notes, and tables that go on over pages
- ``editing``: steps of a person who corrects a table
- ``export``: HTML, Excel, CSV, JSON, Markdown, LaTeX and data frames
"""

from typing import TYPE_CHECKING

if not TYPE_CHECKING:

    def __getattr__(name: str) -> None:
        """Name this file to those who have a ``postprocess.py`` of their own and get this package in its place."""
        raise AttributeError(
            f"module 'postprocess' is that of tablerec, {__file__!a}, and has no {name!r}: "
            "give a file of yours with this name another one"
        )
