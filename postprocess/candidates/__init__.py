"""Candidates: the tables that detectors propose at one place, compared, corrected and rated.

``candidate``: a grid with its cells, from the detector to the rating. ``scene``: the words and rulings that it has to
explain. ``contents``: these in its frame, with rows, columns and cells. ``evidence``, ``explanation``: how well it
does. ``heads``: spans that words and rulings confirm. ``joins``: borders that texts deny. ``text_lines``,
``row_borders``: rows joined and parted. ``choice``: which of them become tables. ``nesting``: tables in their cells.
``confidence``: how sure these are. ``trace``: all of it kept, to be looked at.
"""
