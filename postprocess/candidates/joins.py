"""Borders that texts deny, and cells that texts part: no border runs through a text, and one cell holds one text.

Five things deny a border that a grid has. A word lies across it, or words of more rows than it parts. Or a ruling
runs along it that stops short of some columns, whose texts go on from one side to the other, or of some rows, where the
slots beside a text are empty. Or texts lie closer together than all others there. Or a column holds a single text in
the middle of several rows that rulings enclose, or one in the middle of each several rows that follow one another. Or
there is no text in one of the columns beside it.

A cell over several rows or columns comes apart where each of them has a text of its own; a column where a ruling parts
the texts of several rows.
"""

from __future__ import annotations

import re
from collections.abc import Sized
from itertools import pairwise

import numpy as np

from postprocess.arrays import Flags, Floats, Ints
from postprocess.candidates.candidate import Candidate
from postprocess.candidates.contents import Contents, is_phrase
from postprocess.candidates.text_lines import HAN
from postprocess.grid.layout import Layout
from postprocess.text.numbers import is_number, is_unit
from postprocess.text.tokens import TOKEN_GAP

_RULED, _FREE = 0.6, 0.3
"""Share of a border from which it is ruled, and below which it is not."""
_MOST = 0.75
"""Share of the columns along which a ruling goes through the table."""
_HALF = 0.5
"""Share of the columns along which it goes on where others have no border."""
_TIGHT = 0.6
"""White between the lines of one text, in text heights; rows are farther apart, or ruled."""
_CLOSER = 0.3
"""How much closer the lines of one text are than those of two rows, in text heights."""
_LEVEL = 0.25
"""Texts whose middles are off by less than this, in text heights, stand beside each other."""
_LEAST_ROWS = 3
"""Rows whose texts do not lie beside those of other cells by chance."""
_BLANK = 0.5
"""Widest blank between the words of a text, in text heights."""
_CENTRED = 0.5
"""A text stands in the middle when it is off by less than this, in text heights."""
_CLEARLY = 0.15
"""How much closer to its middle a text has to stand elsewhere, in text heights."""
_SHIFT = 2.0, 1.0
"""A border of columns, and one of rows, that frees a word when it is moved by less than this, in text heights, was only
drawn beside its place."""
_BESIDE = 0.1
"""How far from a word such a border is put, in text heights."""
_FEW = 5
"""Words that may be cut in a small table."""
_LEAST_BETWEEN = 2
"""Texts that stand between two rows, from which those of their column stand in the middle of theirs."""
_WHOLE_VALUE = re.compile(r"[.,]\d+$|[%)]$")
"""So ends a value that no more digits may follow."""
_DEEPEST = 6
"""Most rows of heads."""


def join_texts(candidate: Candidate) -> Candidate:
    """Part the cells that hold several texts, and join the slots whose borders texts or rulings deny.

    Where rulings enclose all cells only words that lie across a border deny it.

    Args:
        candidate: With its scene.

    Returns:
        The candidate, the very same one where nothing is to be done.

    >>> from postprocess.candidates.candidate import quads_to_candidate
    >>> from postprocess.candidates.scene import Scene
    >>> from postprocess.geometry.boxes import as_boxes, boxes_to_quads
    >>> from postprocess.geometry.rulings import Rulings
    >>> from postprocess.word import Word
    >>> places = boxes_to_quads([[5, 15, 45, 25], [60, 8, 70, 18], [60, 22, 70, 32]]).tolist()
    >>> scene = Scene(map(Word, ["Total", "7", "9"], places), Rulings(*2 * [as_boxes([])], 0.0, (0.0, 0.0), 10.0))
    >>> cells = boxes_to_quads([[0, 0, 50, 20], [50, 0, 99, 20], [0, 20, 50, 40], [50, 20, 99, 40]])
    >>> join_texts(quads_to_candidate(cells).in_scene(scene)).layout.owner.tolist()
    [[0, 1], [0, 2]]
    """
    if candidate.scene is None or not len(candidate.scene.words) or not candidate.layout.owner.size:
        return candidate
    always, where_open = (
        (_part_texts, _join_cut_rows),
        (_join_unruled, _join_open_heads, _join_bands, _join_centred, _join_labels),
    )
    parted = candidate
    if not candidate.is_enclosed:
        parted = candidate.with_layout(_part_ruled_columns(candidate))
        parted = parted.with_layout(_without_empty_columns(parted))
    joined = _join_cut_columns(parted.with_layout(_join_crossed_columns(parted)))
    for step in always if candidate.is_enclosed else always + where_open:
        joined = joined.with_layout(step(joined))
    return joined


def _part_texts(candidate: Candidate) -> Layout:
    """Part the cells over several rows or columns that hold a text for each of them."""
    contents, layout = candidate.contents, candidate.layout
    spans = layout.spans
    for cell in np.flatnonzero((spans[:, 2:] - spans[:, :2]).max(axis=1) > 1).tolist():
        row, col, end_row, end_col = spans[cell].tolist()
        own = contents.cells == cell
        if end_row - row >= _LEAST_ROWS and end_col - col == 1 and _has_row_each(contents, own, row, end_row):
            layout = layout.parted(layout.owner[row, [col]])
        elif end_row - row == 1:
            lines = [line for line in range(col + 1, end_col) if _parts_columns(contents, own, line)]
            if lines:
                layout = layout.parted(layout.owner[row, [col]])
                for first, last in pairwise([col, *lines, end_col]):
                    layout = layout.joined(row, first, end_row, last)
    return layout


def _has_row_each(contents: Contents, own: Flags, row: int, end_row: int) -> bool:
    """Whether each row of a cell has one line of its text, level with texts of other cells there."""
    middle, height = (contents.boxes[:, 1] + contents.boxes[:, 3]) / 2, contents.height
    for number in range(row, end_row):
        here = contents.rows == number
        mine, others = middle[here & own], middle[here & ~own]
        if not len(mine) or not len(others) or np.ptp(mine) > height / 2:
            return False
        if np.abs(others - np.median(mine)).min() > _LEVEL * height:
            return False
    return True


def _parts_columns(contents: Contents, own: Flags, line: int) -> bool:
    """Whether the one line of text of a cell has a wide gap at a border that most rows have."""
    x, owner, boxes = contents.layout.col_lines[line], contents.layout.owner, contents.boxes[own]
    slack = _CLOSER * contents.height
    left, right = boxes[boxes[:, 2] < x + slack], boxes[boxes[:, 0] > x - slack]
    if len(boxes) == 1 and _are_two_values(contents, int(np.flatnonzero(own)[0]), float(x)):
        return bool((owner[:, line - 1] != owner[:, line]).mean() > _HALF)
    if not len(left) or not len(right) or len(left) + len(right) != len(boxes):
        return False
    texts = [contents.scene.words.texts[word] for word in np.flatnonzero(own).tolist()]
    if any(len(text) == 1 and ord(text) >= HAN for text in texts):  # such words are spaced to a width
        return False
    level = np.ptp(boxes[:, 1] + boxes[:, 3]) < contents.height
    gap = (right[:, 0].min() - left[:, 2].max()) / contents.height
    wide = gap > TOKEN_GAP or (gap > _CLOSER and _stand_in_columns(contents, (left, right), line))
    return bool(level and wide and (owner[:, line - 1] != owner[:, line]).mean() > _HALF)


def _are_two_values(contents: Contents, word: int, x: float) -> bool:
    """Whether a word is two values, read as one, with its blank at a border."""
    text = contents.scene.words.texts[word]
    before, _, behind = text.partition(" ")
    if not (is_number(before) and is_number(behind) and _WHOLE_VALUE.search(before)) or behind[0] in "([":
        return False
    start, end = contents.boxes[word, [0, 2]].tolist()
    place = float(start) + sum(contents.scene.words[word].spans()[len(before)]) / 2 * float(end - start)
    return abs(place - x) < _CENTRED * contents.height


def _stand_in_columns(contents: Contents, sides: tuple[Floats, Floats], line: int) -> bool:
    """Whether what a cell holds before and behind a border has its middle where most texts of these columns have it."""
    spans = contents.layout.spans
    for texts, col in zip(sides, (line - 1, line), strict=True):
        alone = (spans[:, 1] == col) & (spans[:, 3] == col + 1) & ~np.isnan(contents.texts[:, 0])
        off = contents.texts[alone][:, [0, 2]].sum(axis=1) / 2 - (texts[:, 0].min() + texts[:, 2].max()) / 2
        if not len(off) or (np.abs(off) < _LEVEL * contents.height).mean() < _MOST:
            return False
    return True


def _part_ruled_columns(candidate: Candidate) -> Layout:
    """Part columns at the rulings in them that part a text from another one in several rows, and run through none.

    A line number often stands nearer to a name than the words of the name to one another: only the ruling parts them.
    """
    contents, layout = candidate.contents, candidate.layout
    near, middle = _CLOSER * contents.height, (contents.vertical[:, 0] + contents.vertical[:, 2]) / 2
    order = np.argsort(middle)
    for own in np.split(order, np.flatnonzero(np.diff(middle[order]) > near) + 1) if len(order) else []:
        x, lines = float(np.median(middle[own])), layout.col_lines
        if lines[0] < x < lines[-1] and np.abs(lines - x).min() > near:
            rows = _rows_parted_by(contents, contents.vertical[own], x)
            if rows.any():
                layout = layout.col_parted(int(np.searchsorted(lines, x)) - 1, x, rows)
                contents = Contents(layout, contents.scene)
    return layout


def _rows_parted_by(contents: Contents, pieces: Floats, x: float) -> Flags:
    """``(R,)`` rows in which pieces of a ruling at ``x`` part a cell of one slot in two: none where it is no border.

    It is one where it runs along several rows with texts of one cell on both sides of it, and through no text in any
    row; where it is faint in some rows between, it parts these too.
    """
    spans, boxes, n_rows = contents.layout.spans, contents.boxes, len(contents.layout.owner)
    cells = contents.cells
    lines = contents.layout.col_lines
    col = int(np.searchsorted(lines, x)) - 1
    single = (spans[:, 2] - spans[:, 0] == 1) & (spans[:, 1] == col) & (spans[:, 3] == col + 1)
    own = np.flatnonzero((cells >= 0) & single[cells])
    sides = np.array([contents.sides(word, x) for word in own.tolist()], bool).reshape(-1, 2)
    near = _BESIDE * contents.height
    runs = (pieces[:, 1] < boxes[own, 1, None] + near) & (pieces[:, 3] > boxes[own, 3, None] - near)
    left, right, crossed, ruled = (
        np.bincount(contents.rows[own[each]], minlength=n_rows) > 0
        for each in (sides[:, 0], sides[:, 1], ~sides.any(axis=1), runs.any(axis=1))
    )
    parted = np.flatnonzero(left & right & ruled & ~crossed)
    rows = np.zeros(n_rows, bool)
    if len(parted) >= _LEAST_ROWS and not (crossed & ruled).any():
        rows[parted[0] : parted[-1] + 1] = True
    return rows & ~crossed


def _without_empty_columns(candidate: Candidate) -> Layout:
    """The layout without columns in which no cell of their own holds text, and that no rulings on both sides show.

    What is narrower than a letter is no column to be filled in, but twice the same border, as of a drifting one.
    """
    contents, layout = candidate.contents, candidate.layout
    is_single = layout.spans[:, 3] - layout.spans[:, 1] == 1
    is_ruled = (contents.down >= _RULED).mean(axis=0) >= _HALF
    words = np.flatnonzero((contents.cells >= 0) & is_single[contents.cells])
    columns = layout.spans[contents.cells[words], 1]
    used = np.bincount(columns, minlength=layout.owner.shape[1]) > 0
    # A word may be the texts of several columns, with a gap where they meet.
    ends, lines = contents.boxes[words][:, [0, 2]], layout.col_lines
    for at in np.flatnonzero((ends[:, 0] < lines[columns]) | (ends[:, 1] > lines[columns + 1])).tolist():
        word, own = int(words[at]), int(columns[at])
        for col in {*range(*contents.columns(word))} - {own}:
            used[col] |= all(contents.sides(word, float(lines[col + (col < own)])))
    is_drawn = is_ruled[:-1] & is_ruled[1:] & (np.diff(layout.col_lines) > contents.height)
    for col in np.flatnonzero(~used & ~is_drawn)[::-1].tolist():
        if len(layout.col_lines) < 3:
            break
        wide = layout.spans[np.unique(layout.owner[:, col])]
        left, right = int((wide[:, 1] < col).sum()), int((wide[:, 3] > col + 1).sum())
        is_to_left = (left, is_ruled[col + 1], col > 0) > (right, is_ruled[col], col + 2 < len(layout.col_lines))
        layout = layout.col_dropped(col, to_left=is_to_left)
    return layout


def _join_crossed_columns(candidate: Candidate) -> Layout:
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
        is_ruled = (contents.down[:, line] >= _RULED).any()
        if len(rows) >= _LEAST_ROWS and len(rows) > parts.sum() and not is_ruled:
            for row in range(len(layout.owner)):
                layout = layout.joined(row, line - 1, row + 1, line + 1)
    return layout


def _join_cut_columns(candidate: Candidate) -> Candidate:
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
    if owner[row, line - 1] == owner[row, line] or contents.down[row, line] > _FREE or contents.passed[row, line]:
        return False
    bordered = owner[:, line - 1] != owner[:, line]
    others = (contents.rows >= 0) & bordered[contents.rows]
    lines, extents, height = contents.layout.col_lines, contents.boxes[:, [0, 2]], contents.height
    return not _can_move(lines, line, extents, word, others, _SHIFT[0] * height, height)


def _can_move(lines: Floats, line: int, extents: Floats, word: int, others: Flags, reach: float, height: float) -> bool:
    """Whether a line can be moved to either end of a word without that another word comes to its other side."""
    others = others & (np.arange(len(others)) != word)
    for end, place in zip((-_BESIDE, _BESIDE), extents[word].tolist(), strict=True):
        place += end * height
        low, high = sorted((place, float(lines[line])))
        met = others & (extents[:, 0] < high - _CLOSER * height) & (extents[:, 1] > low + _CLOSER * height)
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
    ruled = contents.down[row] >= _RULED
    before, behind = closed[:first] | ruled[1 : first + 1], closed[end:] | ruled[end:-1]
    least = int(np.flatnonzero(before).max(initial=-1)) + 1
    most = end + int(np.append(behind, True).argmax())
    middle = contents.boxes[word, [0, 2]].sum()
    options = [(a, b) for a in range(least, first + 1) for b in range(end, most + 1)]
    off = [abs(lines[a] + lines[b] - middle) / 2 for a, b in options]
    best = int(np.argmin(off))
    closer = off[best] < off[options.index((first, end))] - _CLEARLY * contents.height
    return options[best] if closer and off[best] < _CENTRED * contents.height else (first, end)


def _as_band(contents: Contents, joined: Layout, row: int) -> Layout:
    """A text that is the only one of its row, begins in the first column and ends in another, is that of the row."""
    spans = joined.spans[joined.owner[row]]
    alone = (contents.rows == row).sum() == 1 and (spans[:, 2] - spans[:, 0] == 1).all()
    ruled = (contents.down[row, 1:-1] >= _RULED).any()
    return joined.joined(row, 0, row + 1, len(spans)) if alone and not ruled and spans[0, 3] > 1 else joined


def _join_cut_rows(candidate: Candidate) -> Layout:
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
    free = np.asarray((contents.across[:, first:end] < _FREE).all(axis=1))  # rulings between end it
    least, most, lines = top, bottom, layout.row_lines
    while least and empty[least - 1] and free[least]:
        least -= 1
    while most < len(empty) and empty[most] and free[most]:
        most += 1
    options = [(a, b) for a in range(least, top + 1) for b in range(bottom, most + 1)]
    middle = contents.extent(contents.layout.owner[top:bottom, first:end])[[1, 3]].sum()
    a, b = min(options, key=lambda ends: abs(lines[ends[0]] + lines[ends[1]] - middle))
    is_centred = abs(lines[a] + lines[b] - middle) / 2 < _CENTRED * contents.height
    return layout.joined(a, first, b, end) if is_centred and len(options) > 1 else layout


def _join_bands(candidate: Candidate) -> Layout:
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
    is_ruled = (contents.down[row, start + 1 : end] >= _RULED).any()
    if off[start] < _CENTRED * contents.height and lies_over and not is_ruled:
        return start, end
    return first, int(spans[filled[0], 3])


def _join_open_heads(candidate: Candidate) -> Layout:
    """Widen the only text between two rulings over the empty slots beside it, where those between columns stop short.

    In a table whose columns are ruled, and of the rows, the ones that most of these rulings do not reach.
    """
    contents, layout = candidate.contents, candidate.layout
    owner, spans, down = layout.owner, layout.spans, contents.down
    holds, is_open = ~np.isnan(contents.texts[:, 0]), ~(down >= _FREE)
    drawn = (down >= _RULED).mean(axis=0) >= _MOST
    inner = slice(1, down.shape[1] - 1)
    if not drawn[inner].any() or drawn[inner].mean() < _MOST:
        return layout
    for row in np.flatnonzero((is_open & drawn)[:, inner].sum(axis=1) > _HALF * drawn[inner].sum()).tolist():
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
    near = (gaps < _BLANK * contents.height).all() and level < _CENTRED * contents.height
    return bool(near) and is_phrase(" ".join(texts))


def _is_in_column(contents: Contents, cell: int, col: int) -> bool:
    """Whether the text of a cell begins, ends or stands in the middle where other texts of its column do."""
    spans = contents.layout.spans
    others = contents.texts[(spans[:, 1] == col) & (spans[:, 3] == col + 1) & (np.arange(len(spans)) != cell)]
    ends, known = contents.texts[cell, [0, 2]], others[~np.isnan(others[:, 0])][:, [0, 2]]
    off = np.column_stack([np.abs(known - ends), np.abs((known - ends).sum(axis=1)) / 2])
    return bool((off < _CENTRED * contents.height).any())


def _join_unruled(candidate: Candidate) -> Layout:
    """Join the texts above each other that go on over a line where no ruling parts them.

    In rows of heads, and in a table whose rows are ruled, it shows that the ruling along the line stops short of them.
    """
    contents, layout = candidate.contents, candidate.layout
    wide = _wide_heads(contents)
    ruled, free = contents.across >= _RULED, contents.across < _FREE
    is_ruled = len(ruled) > 3 and bool(ruled[1:-1].mean(axis=0).max() > _RULED)
    for line in (np.flatnonzero(~ruled[1:-1].all(axis=1)) + 1).tolist():
        above, stops = wide[line - 1], bool(ruled[line].any())
        in_heads = bool(above[ruled[line]].mean() > _HALF) if stops else bool(above.any())
        white = _white_along(contents, line)
        least = _least_white(contents, white, ruled[line], line, in_heads=in_heads)
        if in_heads:
            asked = ~ruled[line] & ~above
        elif stops:
            asked = free[line] & (is_ruled and ruled[line].mean() >= _HALF)
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
    return min(float(np.median(known)) - _CLOSER * contents.height, usual) if len(known) else -np.inf


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
    return in_heads or not all(_is_level(contents, row, cell) for row, cell in ((line - 1, upper), (line, lower)))


def _is_level(contents: Contents, row: int, cell: int) -> bool:
    """Whether a line of the text of a cell stands beside another text of its row."""
    (_, y0, _, y1), height = contents.boxes.T, contents.height
    own = contents.cells == cell
    others = (contents.rows == row) & ~own & (y1 - y0 < 1.5 * height)
    off = np.abs((y0 + y1)[own][:, None] - (y0 + y1)[others]) / 2
    return bool((off < _LEVEL * height).any())


def _join_centred(candidate: Candidate) -> Layout:
    """Join the rows between two rulings for a text that stands alone in their middle.

    In the first column the rulings go through the table; in others each line between them is ruled elsewhere.
    """
    contents, layout = candidate.contents, candidate.layout
    ruled = contents.across >= _RULED
    through = ruled.mean(axis=1) >= _MOST
    within = ruled.mean(axis=1) >= _HALF
    for col in range(layout.owner.shape[1]):
        ends = ruled[:, col].copy()
        ends[[0, -1]] = True
        for top, bottom in pairwise(np.flatnonzero(ends).tolist()):
            closed = within[top + 1 : bottom].all() or (col == 0 and through[[top, bottom]].all())
            if bottom - top > 1 and closed and _is_in_middle(contents, top, bottom, col):
                layout = layout.joined(top, col, bottom, col + 1)
    return layout


def _join_labels(candidate: Candidate) -> Layout:
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
        if not (off < _LEVEL * contents.height).any():
            break
        end = first + 1 + int(np.nanargmin(off))
        is_ruled = (contents.across[first + 1 : end, col] >= _RULED).any()
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
    if not inside.all() or first == top or abs(off) / 2 > _CENTRED * contents.height:
        return False
    # A text level with those of a row that is not in the middle is of that row.
    return 2 * first + 1 == top + bottom or last - first > 1 or not _is_level(contents, first, int(filled[0]))
