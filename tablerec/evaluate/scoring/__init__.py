"""Scores of one table, or of the cells of many pictures; arrays and grids in, numbers from 0 to 1 out.

::

    cells.py               grid size, adjacency F1, exact cells, detection F1, characters kept
    grits.py               GriTS-Top
    teds.py                TEDS and TEDS-Struct (apted, rapidfuzz)
    average_precision.py   COCO AP, AP50 and AP75 of detected cells (pycocotools)
    libraries.py           are the packages of the ``eval`` extra installed?
"""
