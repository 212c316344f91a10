"""Borders that texts deny, and cells that texts part: no border runs through a text, and one cell holds one text.

Five things deny a border that a grid has. A word lies across it, or words of more rows than it parts. Or a ruling
runs along it that stops short of some columns, whose texts go on from one side to the other, or of some rows, where the
slots beside a text are empty. Or texts lie closer together than all others there. Or a column holds a single text in
the middle of several rows that rulings enclose, or one in the middle of each several rows that follow one another. Or
there is no text in one of the columns beside it.

A cell over several rows or columns comes apart where each of them has a text of its own; a column where a ruling parts
the texts of several rows.

::

    steps.py     all of it in its order: ``join_texts``
    parting.py   cells of several texts come apart, columns at rulings; empty columns go
    crossing.py  a word lies across a border
    unruled.py   a text goes on over a line without a ruling
    alone.py     a text stands alone in the middle of rows or columns
    limits.py    what counts as ruled, near, level and in the middle
"""

from postprocess.candidates.joins.steps import join_texts

__all__ = ["join_texts"]
