"""Texts that are the only one of their rows or columns: they stand in the middle of all of these."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from postprocess.arrays import Ints
from postprocess.candidates.candidate import Candidate
from postprocess.candidates.contents import Contents, is_phrase
from postprocess.candidates.joins.limits import CENTRED, FREE, HALF, LEVEL, MOST, RULED
from postprocess.candidates.joins.unruled import is_level
from postprocess.grid.layout import Layout
from postprocess.text.numbers import is_number

_BLANK = 0.5
"""Widest blank between the words of a text, in text heights."""
_LEAST_BETWEEN = 2
"""Texts that stand between two rows, from which those of their column stand in the middle of theirs."""


def join_bands(candidate: Candidate) -> Layout:
    """Widen the only text of a row over the columns in whose middle it stands: all, or all but the stub.

    Where rulings part several blocks of columns from head to foot, the only text of each over these likewise.
    """
    contents, layout = candidate.contents, candidate.layout
    n_cols = layout.owner.shape[1]
    through = np.flatnonzero(contents.passed.all(axis=0))
    blocks = list(pairwise(sorted({0, *through.tolist(), n_cols})))
    for row in range(len(layout.owner)):
        bands = [_band(contents, row, 0, n_cols)]
        if bands == [None] and min(end - begin for begin, end in blocks) > 1:
            bands = [_band(contents, row, *block) for block in blocks if len(blocks) > 1]
        known = [band for band in bands if band is not None]
        for first, last in known if len(known) == len(bands) else []:
            layout = layout.joined(row, first, row + 1, last)
    return layout


def _band(contents: Contents, row: int, begin: int, end: int) -> tuple[int, int] | None:
    """First and end column of the only text of a row between two columns; None where there is none, or are others."""
    spans, lines = contents.layout.spans, contents.layout.col_lines
    cells = np.unique(contents.layout.owner[row, begin:end])
    filled = cells[~np.isnan(contents.texts[cells, 0])]
    is_low = (spans[cells, 2] - spans[cells, 0] == 1).all()
    is_inside = spans[cells, 1].min() >= begin and spans[cells, 3].max() <= end
    if not len(filled) or not is_low or not is_inside or not _is_one_phrase(contents, row, filled):
        return None
    first, last = int(spans[filled[0], 1]), int(spans[filled[-1], 3])
    middle = (contents.texts[filled[0], 0] + contents.texts[filled[-1], 2]) / 2
    off = {start: abs((lines[start] + lines[end]) / 2 - middle) for start in (begin, begin + 1) if start <= first}
    start = min(off, key=lambda each: off[each])
    lies_over = last - first > 1 or not _is_in_column(contents, filled[0], first)
    is_ruled = (contents.down[row, start + 1 : end] >= RULED).any()
    if off[start] < CENTRED * contents.height and lies_over and not is_ruled:
        return start, end
    return first, int(spans[filled[0], 3])


def join_open_heads(candidate: Candidate) -> Layout:
    """Widen the only text between two rulings over the empty slots beside it, where those between columns stop short.

    In a table whose columns are ruled, and of the rows, the ones that most of these rulings do not reach.
    """
    contents, layout = candidate.contents, candidate.layout
    owner, spans, down = layout.owner, layout.spans, contents.down
    holds, is_open = ~np.isnan(contents.texts[:, 0]), ~(down >= FREE)
    drawn = (down >= RULED).mean(axis=0) >= MOST
    inner = slice(1, down.shape[1] - 1)
    if not drawn[inner].any() or drawn[inner].mean() < MOST:
        return layout
    for row in np.flatnonzero((is_open & drawn)[:, inner].sum(axis=1) > HALF * drawn[inner].sum()).tolist():
        ends = [0, *(1 + np.flatnonzero(~(is_open[row] & drawn)[inner])).tolist(), down.shape[1] - 1]
        for first, end in pairwise(ends):
            cells = np.unique(owner[row, first:end])
            single = (spans[cells, 2] - spans[cells, 0] == 1).all() and holds[cells].sum() == 1
            if end - first > 1 and single:
                layout = layout.joined(row, first, row + 1, end)
    return layout


def _is_one_phrase(contents: Contents, row: int, cells: Ints) -> bool:
    """Whether cells of a row have words but no number; those of several stand on one line, blanks between them."""
    words = np.flatnonzero((contents.rows == row) & np.isin(contents.cells, cells))
    words = words[np.argsort(contents.boxes[words, 0])]
    texts = [contents.scene.words.texts[word] for word in words.tolist()]
    if len(cells) == 1 or not texts:
        return not any(map(is_number, texts))
    boxes = contents.boxes[words]
    gaps, level = boxes[1:, 0] - boxes[:-1, 2], np.ptp(boxes[:, 1] + boxes[:, 3]) / 2
    near = (gaps < _BLANK * contents.height).all() and level < CENTRED * contents.height
    return bool(near) and is_phrase(" ".join(texts))


def _is_in_column(contents: Contents, cell: int, col: int) -> bool:
    """Whether the text of a cell begins, ends or stands in the middle where other texts of its column do."""
    spans = contents.layout.spans
    others = contents.texts[(spans[:, 1] == col) & (spans[:, 3] == col + 1) & (np.arange(len(spans)) != cell)]
    ends, known = contents.texts[cell, [0, 2]], others[~np.isnan(others[:, 0])][:, [0, 2]]
    off = np.column_stack([np.abs(known - ends), np.abs((known - ends).sum(axis=1)) / 2])
    return bool((off < CENTRED * contents.height).any())


def join_centred(candidate: Candidate) -> Layout:
    """Join the rows between two rulings for a text that stands alone in their middle.

    In the first column the rulings go through the table; in others each line between them is ruled elsewhere.
    """
    contents, layout = candidate.contents, candidate.layout
    ruled = contents.across >= RULED
    through = ruled.mean(axis=1) >= MOST
    within = ruled.mean(axis=1) >= HALF
    for col in range(layout.owner.shape[1]):
        ends = ruled[:, col].copy()
        ends[[0, -1]] = True
        for top, bottom in pairwise(np.flatnonzero(ends).tolist()):
            closed = within[top + 1 : bottom].all() or (col == 0 and through[[top, bottom]].all())
            if bottom - top > 1 and closed and _is_in_middle(contents, top, bottom, col):
                layout = layout.joined(top, col, bottom, col + 1)
    return layout


def join_labels(candidate: Candidate) -> Layout:
    """Join the rows of which the texts of a column stand in the middle, where such rows follow one another.

    Some of the texts stand between two rows, so that it is no chance: what is at the top of its rows never does.
    """
    contents, layout = candidate.contents, candidate.layout
    for col in range(layout.owner.shape[1] - 1):
        for first, end in _rows_around_labels(contents, col):
            layout = layout.joined(first, col, end, col + 1)
    return layout


def _rows_around_labels(contents: Contents, col: int) -> list[tuple[int, int]]:
    """First and end row of several rows that a text of a column stands in the middle of, none where that is chance."""
    spans, texts, n_rows = contents.layout.spans, contents.texts, len(contents.layout.owner)
    is_low = (spans[:, 2] - spans[:, 0] == 1) & (spans[:, 1] != col) & ~np.isnan(texts[:, 0])
    top, bottom = np.full((2, n_rows), np.nan)
    np.fmin.at(top, spans[is_low, 0], texts[is_low, 1])
    np.fmax.at(bottom, spans[is_low, 0], texts[is_low, 3])
    labels = np.flatnonzero((spans[:, 1] == col) & ~np.isnan(texts[:, 0]))
    groups: list[tuple[int, int]] = []
    first = 0
    for label in labels[np.argsort(texts[labels, 1])].tolist():
        off = np.abs(top[first : first + 1] + bottom[first:] - texts[label, [1, 3]].sum()) / 2
        if not (off < LEVEL * contents.height).any():
            break
        end = first + 1 + int(np.nanargmin(off))
        is_ruled = (contents.across[first + 1 : end, col] >= RULED).any()
        if is_ruled or (end - first > 1 and spans[label, 3] > col + 1):
            break
        groups.append((first, end))
        first = end
    is_rule = sum((end - first) % 2 == 0 for first, end in groups) >= _LEAST_BETWEEN
    return [(first, end) for first, end in groups if end - first > 1] if is_rule else []


def _is_in_middle(contents: Contents, top: int, bottom: int, col: int) -> bool:
    """Whether a column has a single text in some rows, below the first of them, in the middle of what others have."""
    owner, spans, texts = contents.layout.owner, contents.layout.spans, contents.texts
    cells = np.unique(owner[top:bottom, col])
    filled = cells[~np.isnan(texts[cells, 0])]
    others = np.delete(np.arange(owner.shape[1]), col)
    if len(filled) != 1 or len(cells) < 2 or not contents.filled[top:bottom, others].any(axis=1).all():
        return False
    inside = (spans[cells, 0] >= top) & (spans[cells, 2] <= bottom) & (spans[cells, 3] - spans[cells, 1] == 1)
    off = (texts[filled[0]] - contents.extent(owner[top:bottom, others]))[[1, 3]].sum()
    first, last = spans[filled[0], [0, 2]].tolist()
    if not inside.all() or first == top or abs(off) / 2 > CENTRED * contents.height:
        return False
    # A text level with those of a row that is not in the middle is of that row.
    return 2 * first + 1 == top + bottom or last - first > 1 or not is_level(contents, first, int(filled[0]))
