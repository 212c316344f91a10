"""PDF: pages as pictures with the words that they show.

A text layer is a claim, the picture is the evidence: what a page says and does not show is no word of it.

- ``pages``: the pages of a document, one at a time
- ``process``: the child process that draws them, within limits of memory and time
- ``child``: what runs there
- ``channel``: what both sides say to one another
- ``drawing``: a page as a picture and as glyphs, each with how much of it is seen
- ``glyphs``: what is known of a glyph
- ``shapes``: fonts whose glyphs have not the shape of their characters
- ``words``: glyphs become words
"""

from tablerec.inputs.pdf.pages import pdf_page_numbers, pdf_pages

__all__ = ["pdf_page_numbers", "pdf_pages"]
