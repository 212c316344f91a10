"""Borders that a word lies across: one text is in one cell."""

from __future__ import annotations

from collections.abc import Sized

import numpy as np

from postprocess.arrays import Flags, Floats
from postprocess.candidates.candidate import Candidate
from postprocess.candidates.contents import Contents
from postprocess.candidates.joins.limits import BESIDE, CENTRED, CLOSER, FREE, LEAST_ROWS, RULED
from postprocess.grid.layout import Layout

_CLEARLY = 0.15
"""How much closer to its middle a text has to stand elsewhere, in text heights."""
_SHIFT = 2.0, 1.0
"""A border of columns, and one of rows, that frees a word when it is moved by less than this, in text heights, was only
drawn beside its place."""
_FEW = 5
"""Words that may be cut in a small table."""


def join_crossed_columns(candidate: Candidate) -> Layout:
    """Join the columns at a border that words of more rows cross than it keeps apart texts, where no ruling is."""
    contents, layout = candidate.contents, candidate.layout
    owner, holds = layout.owner, ~np.isnan(contents.texts[:, 0])
    crossed: dict[int, set[int]] = {}
    for word, line in contents.crossed_columns():
        crossed.setdefault(line, set()).add(int(contents.rows[word]))
    for line, rows in crossed.items():
        left, right = owner[:, line - 1], owner[:, line]
        parts = (left != right) & holds[left] & holds[right]
        parts[list(rows)] = False
        is_ruled = (contents.down[:, line] >= RULED).any()
        if len(rows) >= LEAST_ROWS and len(rows) > parts.sum() and not is_ruled:
            for row in range(len(layout.owner)):
                layout = layout.joined(row, line - 1, row + 1, line + 1)
    return layout


def join_cut_columns(candidate: Candidate) -> Candidate:
    """Join the slots over which one word lies, a border between its letters; heads above others get their own row."""
    asked: set[int] = set()
    while True:
        contents, layout = candidate.contents, candidate.layout
        cut = {word for word, line in contents.crossed_columns() if _is_cut(contents, word, line)}
        if not cut - asked or _are_many(cut, contents):
            return candidate
        n_rows = len(layout.owner)
        # One of each row at a time: what it joins is no longer free for others.
        for word in {int(contents.rows[word]): word for word in sorted(cut - asked)}.values():
            asked.add(word)
            layout = _with_word_whole(contents, layout, word)
            if len(layout.owner) > n_rows:
                asked.discard(word)
                break
        candidate = candidate.with_layout(layout)


def _are_many(cut: Sized, contents: Contents) -> bool:
    """Whether so many words are cut that the lines are those of another text: more than a tenth, and than a few."""
    return len(cut) > _FEW + len(contents.boxes) / 10


def _is_cut(contents: Contents, word: int, line: int) -> bool:
    """Whether a border is there, no ruling runs along it, and it cannot be moved beside the word."""
    row, owner = contents.rows[word], contents.layout.owner
    if owner[row, line - 1] == owner[row, line] or contents.down[row, line] > FREE or contents.passed[row, line]:
        return False
    bordered = owner[:, line - 1] != owner[:, line]
    others = (contents.rows >= 0) & bordered[contents.rows]
    lines, extents, height = contents.layout.col_lines, contents.boxes[:, [0, 2]], contents.height
    return not _can_move(lines, line, extents, word, others, _SHIFT[0] * height, height)


def _can_move(lines: Floats, line: int, extents: Floats, word: int, others: Flags, reach: float, height: float) -> bool:
    """Whether a line can be moved to either end of a word without that another word comes to its other side."""
    others = others & (np.arange(len(others)) != word)
    for end, place in zip((-BESIDE, BESIDE), extents[word].tolist(), strict=True):
        place += end * height
        low, high = sorted((place, float(lines[line])))
        met = others & (extents[:, 0] < high - CLOSER * height) & (extents[:, 1] > low + CLOSER * height)
        if high - low < reach and lines[line - 1] < place < lines[line + 1] and not met.any():
            return True
    return False


def _with_word_whole(contents: Contents, layout: Layout, word: int) -> Layout:
    """The layout with the slots over which a word lies as one cell, where they hold nothing beside it.

    Where heads stand above or below the word it is first given a row of its own.
    """
    boxes, spans = contents.boxes, contents.layout.spans
    row, (first, end) = int(contents.rows[word]), contents.columns(word)
    cells = np.unique(contents.layout.owner[row, first:end])
    if (spans[cells, 2] - spans[cells, 0] > 1).any():
        return layout
    inside = np.isin(contents.cells, cells)
    inside[word] = False
    inside &= ~_within(boxes, boxes[word], 0.3 * contents.height)  # read twice
    (_, top, _, bottom), others = boxes[word], boxes[inside]
    if not len(others):
        start, end = _centred_columns(contents, word, first, end)
        return _as_band(contents, layout.joined(row, start, row + 1, end), row)
    if row:
        return layout
    above = bool((others[:, 3] < top + contents.margin[word]).all())
    if not above and not (others[:, 1] > bottom - contents.margin[word]).all():
        return layout
    return layout.row_parted(row, float((top + others[:, 3].max() if above else bottom + others[:, 1].min()) / 2))


def _within(boxes: Floats, frame: Floats, margin: float) -> Flags:
    """``(N,)`` which boxes lie in a frame."""
    return np.asarray(((boxes - frame) * (1, 1, -1, -1) > -margin).all(axis=1))


def _centred_columns(contents: Contents, word: int, first: int, end: int) -> tuple[int, int]:
    """First and end column of the empty slots around a word whose middle it is closest to; its own where that is so."""
    row, lines = int(contents.rows[word]), contents.layout.col_lines
    closed = contents.filled[row].copy()
    closed[0] = True  # the stub is no part of a head
    ruled = contents.down[row] >= RULED
    before, behind = closed[:first] | ruled[1 : first + 1], closed[end:] | ruled[end:-1]
    least = int(np.flatnonzero(before).max(initial=-1)) + 1
    most = end + int(np.append(behind, True).argmax())
    middle = contents.boxes[word, [0, 2]].sum()
    options = [(a, b) for a in range(least, first + 1) for b in range(end, most + 1)]
    off = [abs(lines[a] + lines[b] - middle) / 2 for a, b in options]
    best = int(np.argmin(off))
    closer = off[best] < off[options.index((first, end))] - _CLEARLY * contents.height
    return options[best] if closer and off[best] < CENTRED * contents.height else (first, end)


def _as_band(contents: Contents, joined: Layout, row: int) -> Layout:
    """A text that is the only one of its row, begins in the first column and ends in another, is that of the row."""
    spans = joined.spans[joined.owner[row]]
    alone = (contents.rows == row).sum() == 1 and (spans[:, 2] - spans[:, 0] == 1).all()
    ruled = (contents.down[row, 1:-1] >= RULED).any()
    return joined.joined(row, 0, row + 1, len(spans)) if alone and not ruled and spans[0, 3] > 1 else joined


def join_cut_rows(candidate: Candidate) -> Layout:
    """Join the slots above each other over which one word lies, and those to whose middle this brings it."""
    contents, layout = candidate.contents, candidate.layout
    crossed = contents.crossed_rows(candidate.quads)
    if _are_many(crossed, contents):
        return layout
    words, low, high = np.array(crossed, np.int64).reshape(-1, 3).T
    for word, line, last in crossed:
        if not any(map(str.isalpha, contents.scene.words.texts[word])):
            continue
        # What one border cuts would move with it.
        others = np.ones(len(contents.boxes), bool)
        others[words[(low <= line) & (line < high)]] = False
        extents, reach = contents.boxes[:, [1, 3]], _SHIFT[1] * contents.height
        if last - line == 1 and _can_move(layout.row_lines, line, extents, word, others, reach, contents.height):
            continue
        first, end = contents.columns(word)
        if end - first > 1 and not _is_alone(contents, word, line, first, end):
            first, end = contents.layout.spans[contents.cells[word], [1, 3]].tolist()
        layout = _with_empty_around(contents, layout.joined(line - 1, first, last, end), line, first)
    return layout


def _is_alone(contents: Contents, word: int, line: int, first: int, end: int) -> bool:
    """Whether a word is the only one in the slots above and below a line."""
    inside = np.isin(contents.cells, contents.layout.owner[line - 1 : line + 1, first:end])
    return int(inside.sum()) == int(inside[word])


def _with_empty_around(contents: Contents, layout: Layout, row: int, col: int) -> Layout:
    """The layout with a cell lengthened over empty slots to whose middle its text then comes."""
    top, first, bottom, end = layout.spans[layout.owner[row, col]].tolist()
    empty = np.asarray(~contents.filled[:, first:end].any(axis=1))
    free = np.asarray((contents.across[:, first:end] < FREE).all(axis=1))  # rulings between end it
    least, most, lines = top, bottom, layout.row_lines
    while least and empty[least - 1] and free[least]:
        least -= 1
    while most < len(empty) and empty[most] and free[most]:
        most += 1
    options = [(a, b) for a in range(least, top + 1) for b in range(bottom, most + 1)]
    middle = contents.extent(contents.layout.owner[top:bottom, first:end])[[1, 3]].sum()
    a, b = min(options, key=lambda ends: abs(lines[ends[0]] + lines[ends[1]] - middle))
    is_centred = abs(lines[a] + lines[b] - middle) / 2 < CENTRED * contents.height
    return layout.joined(a, first, b, end) if is_centred and len(options) > 1 else layout
