"""Recognized tables corrected by a person; what is saved becomes workbooks and training labels.

::

    editor/      a table and its journal of steps, the corrections folder, the JavaScript of the editor
    proof/       checks of a table that is to be proved: sums, columns, check digits, doubts
    review/      `tablerec review`: the tables of a folder in the browser
    alike/       one fix for all tables like it; tables over several pages as one
    proposals/   other grids of a table, and other readings of its cells
    learning/    the detector learns from what was saved
    widgets/     the same editor in a notebook
    history.py   the states of a table, to undo and redo
    tables.py    the tables of a review, for whoever works on all of them
    refusals.py  what is refused, in Chinese

The steps themselves are ``postprocess.editing``. A page becomes drafts, a draft a correction with a journal on disk, a
saved correction a workbook, an HTML page and a label.
"""
