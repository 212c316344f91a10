"""Corrections of a table by a person: a valid table in, a valid table out.

::

    steps.py     move, divide, extend, remove, merge, split, texts and headers
    placing.py   gives each cell a place in the picture, also those that were not detected
    axes.py      rows and columns treated alike
"""
