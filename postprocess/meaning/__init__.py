"""Meaning: which rows and columns are headers, sections and totals, read from texts and spans.

- ``headers``: sets ``header``, ``header_score`` and ``is_total`` of all cells (``mark_headers``)
- ``kinds``: ``Slots``, arrays of what stands in each slot; the others read nothing else
- ``header_rows``: how many rows at the top are headers
- ``sections``: rows of the body that head the rows below
- ``stub``: how many columns on the left name the rows
- ``totals``: rows and columns of sums, by name or by their numbers
- ``roles``: what a single cell is to its table, from its marks, for exports; how a note begins

A table becomes ``Slots`` once; evidence from these, weighed in ``header_rows``, ``sections`` and ``stub``, marks its
cells.
"""
