"""Geometry and tables: from boxes, rulings and words to a grid of cells, and from there to files.

Works on the output of any detector and any reader, and needs neither.
"""
