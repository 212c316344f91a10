"""From the draft of a synthetic table to its picture and its truth, by the fast renderer.

::

    styles.py    draft -> description: fonts, paddings, alignment, fills
    themes.py    colours that go together
    rules.py     where lines are ruled
    layout.py    description -> positions of columns, rows, lines of text, and the true cells
    render.py    page -> picture with its truth
    canvas.py    fills, lines and text on an array
    glyphs.py    characters as small pictures, drawn once
    fonts.py     the fonts of this machine, by family and script
    figures.py   charts, logos and lines: pictures that are no tables
"""
