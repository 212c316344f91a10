"""Texts: which words lie in which cell, in what order they are read, and what they say.

- ``admission``: words as they are handed in: what can be relied on, and what lies in the picture
- ``assignment``: the cell of each word (``place_words``); the entry for all that fills tables
- ``strays``: small words beside their cell follow the word they touch, others their row and column
- ``splitting``: a word across a border is split between its characters
- ``lines``: text lines of a page, reading order in a cell
- ``tilt``: how lines of text lie in a picture
- ``pitch``: whether letters are equally wide, as on receipts
- ``tokens``: pieces of words between wide gaps, for tables without rulings
- ``numbers``: what is nothing, a label, a year, a number or a unit
- ``bidi``: the order in which text from right to left is read
- ``direction``: which way a text and a table run (``in_reading_order``)
- ``lookalikes``: characters that only the column tells apart

``postprocess.word.Words`` come in with their arrays; tables with texts, and the words in no cell with the
reason, go out.
"""
