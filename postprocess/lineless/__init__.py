"""Cells of tables without rulings, from words and the white gaps between them.

- ``regions``: words of a page -> groups of words that look like tables
- ``gaps``: words of one table -> lines, spans and quads of its cells: tokens, then the stages below
- ``columns``: tokens -> column separators -> the columns that each token lies in
- ``rows``: text lines -> rows
"""
