"""What is known of each glyph of a page."""

from __future__ import annotations

import numpy as np

VISIBLE, SPACE, GENERATED, LINE_END = range(4)
"""Kinds: a glyph; a space that the document has; a space that its reader has put in; the end of a line."""

UNMAPPED = 0xFFFD
"""Code of a glyph whose character is not known."""

TALL, DEEP = 0.9, 0.3
"""How far a rough box reaches above and below the line, in sizes: where that of the ink is not known."""

GLYPH = np.dtype(
    [
        ("code", "<u4"),  # Unicode
        ("kind", "u1"),
        ("font", "<i4"),
        ("object", "<i4"),  # number of the text object, in the order in which they are drawn
        ("u", "<f4"),  # reading direction in the picture, a unit vector
        ("v", "<f4"),
        ("size", "<f4"),  # of the font, pixels
        ("start", "<f4"),  # along the reading direction, pixels
        ("end", "<f4"),
        ("baseline", "<f4"),  # across it
        ("shown", "<f4"),  # how much of its extent is seen, 0 to 1; NaN where it has no ink
        ("box", "<f4", 4),  # its ink, xyxy pixels
    ]
)
