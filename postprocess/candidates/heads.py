"""Which slots of a grid are one cell, by what words and rulings show.

In a table without vertical rulings no border says which columns and rows a head stands for. What does: the ruling
below it, the columns whose middle it stands over, and the ruling that frames all heads from above.
"""

from __future__ import annotations

import numpy as np

from postprocess.arrays import Flags, Floats, Ints
from postprocess.candidates.candidate import Candidate
from postprocess.candidates.contents import Contents
from postprocess.candidates.scene import Scene
from postprocess.grid.layout import Layout
from postprocess.text.numbers import is_number

_NEAR = 0.4
"""How far rulings and texts reach into each other, in text heights: boxes of words are loose."""
_FAR = 2.0
"""The ruling that frames a head lies at most this far above it, in text heights."""
_CENTRED = 0.5, 1.0
"""A head stands over the middle of its columns when it is off by less than the first; and over others when
it is off by more than the second. In text heights."""


def settle(candidate: Candidate) -> Candidate:
    """The candidate with the spans that words and rulings confirm; cells that rulings enclose stay as they are."""
    if candidate.is_enclosed or candidate.scene is None:
        return candidate
    return candidate.with_layout(settle_spans(candidate.layout, candidate.scene))


def settle_spans(layout: Layout, scene: Scene) -> Layout:
    """Part what is empty, widen the heads over several columns, and lengthen those beside several rows of heads.

    Args:
        layout: Rows, columns and spans.
        scene: The words of the table, and the rulings of the picture.

    >>> from postprocess.geometry.boxes import as_boxes
    >>> from postprocess.geometry.frame import UPRIGHT
    >>> from postprocess.geometry.rulings import Rulings
    >>> from postprocess.word import Word
    >>> scene = Scene([Word("a", ((1, 1), (2, 1), (2, 2), (1, 2)))], Rulings(*2 * [as_boxes([])], 0, (0, 0), 1))
    >>> wide = Layout(np.array([0.0, 3, 6]), np.array([0.0, 3, 6]), UPRIGHT, np.array([[0, 1], [2, 2]]))
    >>> settle_spans(wide, scene).owner.tolist()  # the wide cell without text is two
    [[0, 1], [2, 3]]
    """
    if not layout.owner.size or not len(scene.words):
        return layout
    contents = Contents(layout, scene)
    # Nothing says that empty slots belong together.
    contents = Contents(layout.parted(np.unique(layout.owner[~contents.filled])), scene)
    for row in range(len(layout.owner) - 1):
        contents = Contents(_widen_heads(contents, row), scene)
        spans = contents.layout.spans[contents.layout.owner[row]]
        if contents.filled[row].all() or not (spans[:, 3] - spans[:, 1] > 1).any():
            break
    return _lengthen_heads(contents)


def _widen_heads(contents: Contents, row: int) -> Layout:
    """Join the heads of one row with the empty slots beside them that they stand over."""
    layout, filled = contents.layout, contents.filled[row]
    own, owner = layout.owner[row], layout.owner[row + 1]
    below = np.stack([contents.extent(owner[col : col + 1]) for col in range(len(owner))])
    heads = layout.spans[np.unique(own[filled])]
    for _, first, bottom, last in heads[(heads[:, 0] == row) & (heads[:, 2] == row + 1)].tolist():
        start, end = _head_columns(contents, contents.extent(own[first:last]), below, filled, first, last)
        if (start, end) != (first, last):
            layout = layout.parted(layout.owner[row, [first]]).joined(row, start, bottom, end)
    return layout


def _column_middles(contents: Contents) -> Floats:
    """``(C,)`` middles of the columns, of their texts where these lie in one column."""
    lines, spans, texts = contents.layout.col_lines, contents.layout.spans, contents.texts
    single = (spans[:, 3] - spans[:, 1] == 1) & ~np.isnan(texts[:, 0])
    low, high = np.full((2, len(lines) - 1), np.nan)
    np.fmin.at(low, spans[single, 1], texts[single, 0])
    np.fmax.at(high, spans[single, 1], texts[single, 2])
    return np.where(np.isnan(low), lines[:-1] + lines[1:], low + high) / 2


def _head_columns(
    contents: Contents, text: Floats, below: Floats, filled: Flags, first: int, last: int
) -> tuple[int, int]:
    """First and end column of a head: those under its ruling, those that it is centred on, or its own."""
    taken = np.flatnonzero(filled)
    least = int(taken[taken < first].max(initial=-1)) + 1
    most = int(taken[taken >= last].min(initial=len(filled)))
    under = _columns_under_rule(contents, text, below)
    if under and least <= under[0] < last and first < under[1] <= most:
        return under
    start = max(least, 1)  # a head of data columns leaves the stub alone
    if start <= first and _is_centred(text, below[start:most], below[first:last], contents.height):
        return start, most
    # As wide as its ink, in the middle of what has no other head.
    alone = last - first == 1 and not (filled[:first].any() and filled[last:].any())
    if first - start == most - last > 0 and not alone and not np.isnan(below[start:most]).any():
        return start, most
    return first, last


def _columns_under_rule(contents: Contents, text: Floats, below: Floats) -> tuple[int, int] | None:
    """First and end column whose texts lie under the ruling below a head, None without one."""
    x0, x1 = contents.rules[:, 0], contents.rules[:, 2]
    y = (contents.rules[:, 1] + contents.rules[:, 3]) / 2
    lowest = np.min(below[:, 1], where=~np.isnan(below[:, 1]), initial=np.inf) + contents.height / 2
    along = (x0 < text[0] + contents.height) & (x1 > text[2] - contents.height)
    middles = _column_middles(contents)
    for start, _, end, _ in contents.rules[along & (y > (text[1] + text[3]) / 2) & (y < lowest)]:
        cols = np.flatnonzero((middles > start) & (middles < end))
        # The ruling below all columns is the border of a row; only a title stands in the middle above it.
        title = abs(text[0] + text[2] - start - end) < 2 * contents.height
        if len(cols) > 1 and (title or len(cols) < len(below)):
            return int(cols[0]), int(cols[-1]) + 1
    return None


def _is_centred(text: Floats, wide: Floats, own: Floats, height: float) -> bool:
    """Whether a head stands over the middle of many texts, none missing, and not over that of its own columns."""
    if np.isnan(wide).any():
        return False
    off = [abs(text[0] + text[2] - each[:, 0].min() - each[:, 2].max()) / 2 for each in (wide, own)]
    return bool(off[0] < _CENTRED[0] * height and off[1] > _CENTRED[1] * height)


def _lengthen_heads(contents: Contents) -> Layout:
    """A head at the foot of several rows of heads stands for all of them where a ruling above frames it.

    So does one with a ruling below and none above, where all other columns share one head.
    """
    layout = contents.layout
    spans = layout.spans[layout.owner]
    wide = contents.filled & (spans[..., 3] - spans[..., 1] > 1)
    partly = wide.any(axis=1) & (wide.sum(axis=1) < wide.shape[1])
    depth = 1 + int(np.append(partly, False).argmin())
    if depth < 2 or depth >= len(wide):
        return layout
    one_head = bool(wide[0, 1:].all() and not contents.filled[0, 0] and len(np.unique(layout.owner[0, 1:])) == 1)
    joins = []
    for col in range(wide.shape[1]):
        first = int(np.flatnonzero(wide[:depth, col]).max(initial=-1)) + 1
        slots, own = layout.owner[first:depth, col], contents.filled[first:depth, col]
        at_foot = len(own) > 1 and not own[0] and own[-1] and bool((own[1:] >= own[:-1]).all())
        if at_foot and len(np.unique(slots)) == len(slots):
            top, text = contents.extent(layout.owner[first])[1], contents.extent(slots)
            alone = one_head and _is_free(contents, text) and _is_label(contents, slots)
            if alone or _is_framed(contents, text, top):
                joins.append((first, col, depth, col + 1))
    for join in joins:
        layout = layout.joined(*join)
    return layout


def _is_label(contents: Contents, cells: Ints) -> bool:
    """Whether no word in some cells is a number, or goes on in the heads beside it as "As at December 31," does."""
    inside = np.isin(contents.cells, cells)
    texts = [contents.scene.words.texts[word] for word in np.flatnonzero(inside).tolist()]
    return not any(is_number(text) or text.endswith(",") for text in texts)


def _is_free(contents: Contents, text: Floats) -> bool:
    """Whether no ruling lies above a text, so that nothing parts it from the head of all others, and one below."""
    near, far = _NEAR * contents.height, _FAR * contents.height
    above = _is_ruled(contents, text, -np.inf, text[1] + near)
    return not above and _is_ruled(contents, text, text[3] - near, text[3] + far)


def _is_framed(contents: Contents, text: Floats, top: float) -> bool:
    """Whether a ruling lies above the first row of heads here, and none between it and the text."""
    near, far = _NEAR * contents.height, _FAR * contents.height
    top = float(np.fmin(top, text[1]))
    between = _is_ruled(contents, text, top + near, text[1] + near)
    return not between and _is_ruled(contents, text, top - far, top + near)


def _is_ruled(contents: Contents, text: Floats, y0: float, y1: float) -> bool:
    """Whether a ruling between two heights runs along most of a text."""
    inset, rulings = 0.3 * (text[2] - text[0]), contents.rules
    y = (rulings[:, 1] + rulings[:, 3]) / 2
    along = (rulings[:, 0] < text[0] + inset) & (rulings[:, 2] > text[2] - inset)
    return bool((along & (y > y0) & (y < y1)).any())
