"""A first look: one picture, its cells, and the workbook, on a page that is one file.

- ``page``: the page; ``texts``: what it says in English and Chinese
- ``command``: ``tablerec demo``
"""
