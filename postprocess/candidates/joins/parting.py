"""Cells that hold several texts come apart, and columns at the rulings that part them; empty columns go."""

from __future__ import annotations

import re
from itertools import pairwise

import numpy as np

from postprocess.arrays import Flags, Floats
from postprocess.candidates.candidate import Candidate
from postprocess.candidates.contents import Contents
from postprocess.candidates.joins.limits import BESIDE, CENTRED, CLOSER, HALF, LEAST_ROWS, LEVEL, MOST, RULED
from postprocess.candidates.text_lines import HAN
from postprocess.grid.layout import Layout
from postprocess.text.numbers import is_number
from postprocess.text.tokens import TOKEN_GAP

_WHOLE_VALUE = re.compile(r"[.,]\d+$|[%)]$")
"""So ends a value that no more digits may follow."""


def part_texts(candidate: Candidate) -> Layout:
    """Part the cells over several rows or columns that hold a text for each of them."""
    contents, layout = candidate.contents, candidate.layout
    spans = layout.spans
    for cell in np.flatnonzero((spans[:, 2:] - spans[:, :2]).max(axis=1) > 1).tolist():
        row, col, end_row, end_col = spans[cell].tolist()
        own = contents.cells == cell
        if end_row - row >= LEAST_ROWS and end_col - col == 1 and _has_row_each(contents, own, row, end_row):
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
        if np.abs(others - np.median(mine)).min() > LEVEL * height:
            return False
    return True


def _parts_columns(contents: Contents, own: Flags, line: int) -> bool:
    """Whether the one line of text of a cell has a wide gap at a border that most rows have."""
    x, owner, boxes = contents.layout.col_lines[line], contents.layout.owner, contents.boxes[own]
    slack = CLOSER * contents.height
    left, right = boxes[boxes[:, 2] < x + slack], boxes[boxes[:, 0] > x - slack]
    if len(boxes) == 1 and _are_two_values(contents, int(np.flatnonzero(own)[0]), float(x)):
        return bool((owner[:, line - 1] != owner[:, line]).mean() > HALF)
    if not len(left) or not len(right) or len(left) + len(right) != len(boxes):
        return False
    texts = [contents.scene.words.texts[word] for word in np.flatnonzero(own).tolist()]
    if any(len(text) == 1 and ord(text) >= HAN for text in texts):  # such words are spaced to a width
        return False
    level = np.ptp(boxes[:, 1] + boxes[:, 3]) < contents.height
    gap = (right[:, 0].min() - left[:, 2].max()) / contents.height
    wide = gap > TOKEN_GAP or (gap > CLOSER and _stand_in_columns(contents, (left, right), line))
    return bool(level and wide and (owner[:, line - 1] != owner[:, line]).mean() > HALF)


def _are_two_values(contents: Contents, word: int, x: float) -> bool:
    """Whether a word is two values, read as one, with its blank at a border."""
    text = contents.scene.words.texts[word]
    before, _, behind = text.partition(" ")
    if not (is_number(before) and is_number(behind) and _WHOLE_VALUE.search(before)) or behind[0] in "([":
        return False
    start, end = contents.boxes[word, [0, 2]].tolist()
    place = float(start) + sum(contents.scene.words[word].spans()[len(before)]) / 2 * float(end - start)
    return abs(place - x) < CENTRED * contents.height


def _stand_in_columns(contents: Contents, sides: tuple[Floats, Floats], line: int) -> bool:
    """Whether what a cell holds before and behind a border has its middle where most texts of these columns have it."""
    spans = contents.layout.spans
    for texts, col in zip(sides, (line - 1, line), strict=True):
        alone = (spans[:, 1] == col) & (spans[:, 3] == col + 1) & ~np.isnan(contents.texts[:, 0])
        off = contents.texts[alone][:, [0, 2]].sum(axis=1) / 2 - (texts[:, 0].min() + texts[:, 2].max()) / 2
        if not len(off) or (np.abs(off) < LEVEL * contents.height).mean() < MOST:
            return False
    return True


def part_ruled_columns(candidate: Candidate) -> Layout:
    """Part columns at the rulings in them that part a text from another one in several rows, and run through none.

    A line number often stands nearer to a name than the words of the name to one another: only the ruling parts them.
    """
    contents, layout = candidate.contents, candidate.layout
    near, middle = CLOSER * contents.height, (contents.vertical[:, 0] + contents.vertical[:, 2]) / 2
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
    near = BESIDE * contents.height
    runs = (pieces[:, 1] < boxes[own, 1, None] + near) & (pieces[:, 3] > boxes[own, 3, None] - near)
    left, right, crossed, ruled = (
        np.bincount(contents.rows[own[each]], minlength=n_rows) > 0
        for each in (sides[:, 0], sides[:, 1], ~sides.any(axis=1), runs.any(axis=1))
    )
    parted = np.flatnonzero(left & right & ruled & ~crossed)
    rows = np.zeros(n_rows, bool)
    if len(parted) >= LEAST_ROWS and not (crossed & ruled).any():
        rows[parted[0] : parted[-1] + 1] = True
    return rows & ~crossed


def without_empty_columns(candidate: Candidate) -> Layout:
    """The layout without columns in which no cell of their own holds text, and that no rulings on both sides show.

    What is narrower than a letter is no column to be filled in, but twice the same border, as of a drifting one.
    """
    contents, layout = candidate.contents, candidate.layout
    is_single = layout.spans[:, 3] - layout.spans[:, 1] == 1
    is_ruled = (contents.down >= RULED).mean(axis=0) >= HALF
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
