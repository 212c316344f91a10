"""Texts that go on over a line of rows where no ruling parts them."""

from __future__ import annotations

import numpy as np

from postprocess.arrays import Flags, Floats
from postprocess.candidates.candidate import Candidate
from postprocess.candidates.contents import Contents
from postprocess.candidates.joins.limits import CLOSER, FREE, HALF, LEVEL, RULED
from postprocess.grid.layout import Layout
from postprocess.text.numbers import is_number, is_unit

_TIGHT = 0.6
"""White between the lines of one text, in text heights; rows are farther apart, or ruled."""
_DEEPEST = 6
"""Most rows of heads."""


def join_unruled(candidate: Candidate) -> Layout:
    """Join the texts above each other that go on over a line where no ruling parts them.

    In rows of heads, and in a table whose rows are ruled, it shows that the ruling along the line stops short of them.
    """
    contents, layout = candidate.contents, candidate.layout
    wide = _wide_heads(contents)
    ruled, free = contents.across >= RULED, contents.across < FREE
    is_ruled = len(ruled) > 3 and bool(ruled[1:-1].mean(axis=0).max() > RULED)
    for line in (np.flatnonzero(~ruled[1:-1].all(axis=1)) + 1).tolist():
        above, stops = wide[line - 1], bool(ruled[line].any())
        in_heads = bool(above[ruled[line]].mean() > HALF) if stops else bool(above.any())
        white = _white_along(contents, line)
        least = _least_white(contents, white, ruled[line], line, in_heads=in_heads)
        if in_heads:
            asked = ~ruled[line] & ~above
        elif stops:
            asked = free[line] & (is_ruled and ruled[line].mean() >= HALF)
        else:
            asked = ~ruled[line]
        cols = [col for col in np.flatnonzero(asked & (white < least)).tolist() if _is_one_text(contents, line, col)]
        if not stops:
            cols = [col for col in cols if _goes_on(contents, line, col, in_heads=in_heads)]
        # Where nothing is parted any more the rows would be one, which is not for single texts to say.
        if in_heads or len(cols) < (~np.isnan(white)).sum():
            for col in cols:
                layout = layout.joined(line - 1, col, line + 1, col + 1)
    return layout


def _wide_heads(contents: Contents) -> Flags:
    """``(R, C)`` slots of heads over several columns, in the first rows that have some."""
    owner, spans = contents.layout.owner, contents.layout.spans
    wide = (spans[:, 3] - spans[:, 1] > 1)[owner] & contents.filled
    partly = wide.any(axis=1) & ~wide.all(axis=1)
    wide[int(np.append(partly, False)[:_DEEPEST].argmin()) :] = False
    return np.asarray(wide)


def _white_along(contents: Contents, line: int) -> Floats:
    """``(C,)`` white between the texts of the cells of one row each above and below a line, NaN where one has none."""
    cells = contents.layout.owner[line - 1 : line + 1]
    above, below = contents.texts[cells]
    low = (contents.layout.spans[cells, 2] - contents.layout.spans[cells, 0] == 1).all(axis=0)
    return np.asarray(np.where(low, below[:, 1] - above[:, 3], np.nan))


def _least_white(contents: Contents, white: Floats, ruled: Flags, line: int, *, in_heads: bool) -> float:
    """White that parts two texts: in heads the usual one between lines, below them what parts other texts there."""
    usual = _TIGHT * contents.height
    if in_heads:
        texts = [contents.scene.words.texts[word] for word in np.flatnonzero(contents.rows == line).tolist()]
        return -np.inf if 2 * sum(map(is_unit, texts)) >= len(texts) else usual
    known = white[~np.isnan(white) & (ruled | ~ruled.any())]
    return min(float(np.median(known)) - CLOSER * contents.height, usual) if len(known) else -np.inf


def _is_one_text(contents: Contents, line: int, col: int) -> bool:
    """Whether the cells above and below a line have the same columns, and no number stands below it."""
    cells = contents.layout.owner[line - 1 : line + 1, col]
    upper, lower = contents.layout.spans[cells][:, [1, 3]].tolist()
    words = np.flatnonzero(contents.cells == cells[1]).tolist()
    return upper == lower and not any(is_number(contents.scene.words.texts[word]) for word in words)


def _goes_on(contents: Contents, line: int, col: int, *, in_heads: bool) -> bool:
    """Whether the text below a line begins as the rest of a sentence does, and below heads not level with its row."""
    upper, lower = contents.layout.owner[line - 1 : line + 1, col].tolist()
    words = np.flatnonzero(contents.cells == lower)
    first = words[np.lexsort([contents.boxes[words, 0], contents.boxes[words, 1] // contents.height])[0]]
    if not contents.scene.words.texts[first][:1].islower():
        return False
    return in_heads or not all(is_level(contents, row, cell) for row, cell in ((line - 1, upper), (line, lower)))


def is_level(contents: Contents, row: int, cell: int) -> bool:
    """Whether a line of the text of a cell stands beside another text of its row."""
    (_, y0, _, y1), height = contents.boxes.T, contents.height
    own = contents.cells == cell
    others = (contents.rows == row) & ~own & (y1 - y0 < 1.5 * height)
    off = np.abs((y0 + y1)[own][:, None] - (y0 + y1)[others]) / 2
    return bool((off < LEVEL * height).any())
