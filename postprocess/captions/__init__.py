"""Captions: the text beside a table that belongs to it, and tables that go on over pages.

- ``edge_rows``: takes titles and notes out of the grids that hold them (``without_captions``)
- ``find``: gives tables their titles and notes (``find_captions``)
- ``blocks``: words above and below a table in lines, lines in blocks
- ``evidence``: how much speaks for a block as a title or as a note
- ``continuation``: whether a table goes on in the next one, and the parts as one table

Words in no cell come in; those that end in no title and no note go out as they came.
"""
