"""What a person takes along: all tables at once, as files in the corrections folder.

::

    entries.py    the tables that are wanted, in the order of their inputs
    workbook.py   one workbook with a sheet of contents
    crops.py      the part of the picture that each cell shows
    files.py      workbook, archive, JSON and CSV, each written whole or not at all
    opening.py    the folder in the machine's own file manager
"""
