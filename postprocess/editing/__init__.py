"""Corrections of a table by a person: a valid table in, a valid table out.

::

    steps.py     move, divide, extend, insert, remove, merge, split, texts and headers
    texts.py     many texts at once, title and notes, what a person confirms
    state.py     a table with the words of its picture
    living.py    words dealt to the cells of a grid that was corrected; words read anew, or placed by hand
    regrid.py    another grid over the same picture
    placing.py   gives each cell a place in the picture, also those that were not detected
    axes.py      rows and columns treated alike
"""
