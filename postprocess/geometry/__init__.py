"""Where things are in a picture: arrays of points in pixels, nothing of tables' text.

- ``boxes``: upright boxes and quads as arrays: conversion, overlap, what hangs together
- ``runs``: runs of set pixels in the rows of a mask
- ``rulings``: picture -> tilt, perspective and the lines that are drawn, in an upright frame
- ``lattice``: rulings -> areas of cells: their lines, spans and quads
- ``frame``: quads of cells -> the frame in which rows and columns are straight
"""
