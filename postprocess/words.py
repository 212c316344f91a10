"""Words, and the cells they belong to.

A word that lies across a border is split there by the positions of its characters
(``splitting``); a small sign beside a word, and a word beside the cells of a table, find
the cell they belong to (``strays``). Nothing is dropped: a word without a cell comes back
with the reason.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import shapely
from numpy.typing import NDArray

from postprocess.boxes import Floats, quads_to_array, quads_to_polygons
from postprocess.reading_order import words_to_text
from postprocess.splitting import split_words
from postprocess.strays import anchors_of_strays, place_by_row_and_column
from postprocess.table import Cell, Point, Quad, Table

CharSpans = tuple[tuple[float, float], ...]

OUTSIDE = "it lies outside every table"
UNCLEAR = "it lies between the cells of a table, and its row and column do not say to which it belongs"
HANGING = 0.08
"""Share of a word that may hang over a border at either end before anyone asks where to split it."""


@dataclass(frozen=True, slots=True)
class Word:
    """A piece of text with its place: a word, or a whole line of words.

    Args:
        text: The text, not empty.
        quad: Corners TL, TR, BR, BL in pixels of the original picture, seen
            in reading direction.
        score: How sure the reader is, 0 to 1.
        char_spans: For each character of ``text`` its start and end along the
            word, as fractions of the width (0 is the left edge); None where
            the reader does not say, then the characters count as evenly wide.
    """

    text: str
    quad: Quad
    score: float = 1.0
    char_spans: CharSpans | None = None

    def spans(self) -> CharSpans:
        """Start and end of each character as fractions of the width.

        >>> Word("ab", ((0, 0), (2, 0), (2, 1), (0, 1))).spans()
        ((0.0, 0.5), (0.5, 1.0))
        """
        if self.char_spans is not None and len(self.char_spans) == len(self.text):
            return self.char_spans
        n = max(len(self.text), 1)
        return tuple((i / n, (i + 1) / n) for i in range(len(self.text)))

    def part(self, start: int, end: int) -> Word:
        """The characters ``start`` to ``end`` (exclusive) as a word of their own, blanks trimmed.

        >>> Word("ab cd", ((0, 0), (10, 0), (10, 2), (0, 2))).part(2, 5)  # doctest: +ELLIPSIS
        Word(text='cd', quad=((6.0, 0.0), (10.0, 0.0), (10.0, 2.0), (6.0, 2.0)), score=1.0, char_spans=((0.0, 0.5), ...)
        """
        while start < end and self.text[start].isspace():
            start += 1
        while end > start and self.text[end - 1].isspace():
            end -= 1
        spans = self.spans()
        left, right = (spans[start][0], spans[end - 1][1]) if end > start else (0.0, 1.0)
        width = max(right - left, 1e-9)
        top_left, top_right, bottom_right, bottom_left = self.quad
        quad = (
            _between(top_left, top_right, left),
            _between(top_left, top_right, right),
            _between(bottom_left, bottom_right, right),
            _between(bottom_left, bottom_right, left),
        )
        inner = tuple((round((a - left) / width, 6), round((b - left) / width, 6)) for a, b in spans[start:end])
        return Word(self.text[start:end], quad, self.score, inner)


def _between(start: Point, end: Point, share: float) -> Point:
    return start[0] + share * (end[0] - start[0]), start[1] + share * (end[1] - start[1])


@dataclass(frozen=True, slots=True)
class Unplaced:
    """A word that is in no cell, and why."""

    word: Word
    reason: str


def words_to_table(table: Table, words: Sequence[Word]) -> tuple[Table, list[Unplaced]]:
    """Write words into the cells of a table.

    Args:
        table: Cells with quads; their texts are replaced.
        words: Words in the same picture.

    Returns:
        The table with texts and reader scores, and the words outside it.

    >>> square = Cell(0, 0, quad=((0, 0), (9, 0), (9, 9), (0, 9)))
    >>> inside = Word("7", ((1, 1), (4, 1), (4, 4), (1, 4)))
    >>> outside = Word("x", ((20, 1), (24, 1), (24, 4), (20, 4)))
    >>> filled, unplaced = words_to_table(Table([square]), [inside, outside])
    >>> filled[0, 0].text, unplaced[0].reason
    ('7', 'it lies outside every table')
    """
    [filled], unplaced = words_to_tables([table], words)
    return filled, unplaced


def words_to_tables(tables: Sequence[Table], words: Sequence[Word]) -> tuple[list[Table], list[Unplaced]]:
    """Write words into the cells of several tables of one picture; see ``words_to_table``.

    A word that is in no cell goes to the slot of its row and its column where both are clear.
    """
    inside, unplaced = words_to_cells(words, [cell.quad for table in tables for cell in table.cells])
    outside = [item for item in unplaced if item.reason == OUTSIDE]
    unplaced = [item for item in unplaced if item.reason != OUTSIDE]
    slots = place_by_row_and_column(tables, quads_to_array([item.word.quad for item in outside]))
    for item, slot in zip(outside, slots, strict=True):
        if isinstance(slot, int):
            inside[slot].append(item.word)
        else:
            unplaced.append(Unplaced(item.word, UNCLEAR) if slot == "unclear" else item)
    each = iter(inside)
    filled = [table.with_cells([_fill_cell(cell, next(each)) for cell in table.cells]) for table in tables]
    return filled, unplaced


def _fill_cell(cell: Cell, words: Sequence[Word]) -> Cell:
    weight = sum(len(word.text) for word in words)
    score = sum(word.score * len(word.text) for word in words) / weight if weight else None
    return replace(cell, text=words_to_text(words), reader_score=score)


def words_to_cells(words: Sequence[Word], quads: Sequence[Quad | None]) -> tuple[list[list[Word]], list[Unplaced]]:
    """Words of each cell, split at the borders, and the words outside all cells.

    Args:
        words: Words in the picture.
        quads: Cells in the same picture; None for a cell without a place.

    Returns:
        One list of words for each cell, and the rest with a reason.
    """
    pieces: list[list[Word]] = [[] for _ in quads]
    placed = [index for index, quad in enumerate(quads) if quad is not None]
    corners = quads_to_array([word.quad for word in words])
    finite = np.asarray(np.isfinite(corners).all(axis=(1, 2)))
    unplaced = [Unplaced(word, "its place is not a number") for word, ok in zip(words, finite, strict=True) if not ok]
    words, corners = [word for word, ok in zip(words, finite, strict=True) if ok], corners[finite]
    if not placed or not words:
        return pieces, unplaced + [Unplaced(word, "no table was found") for word in words]
    areas = _without_inner_cells(quads_to_polygons(quads_to_array([quad for quad in quads if quad is not None])))
    tree = shapely.STRtree(areas)
    owner, is_loose = _whole_words(tree, corners)
    for stray, anchor in anchors_of_strays([word.text for word in words], corners, areas, owner, is_loose).items():
        owner[stray] = owner[anchor]
    for word, cell in zip(words, owner.tolist(), strict=True):
        if cell >= 0:
            pieces[placed[cell]].append(word)
    is_placed = owner >= 0
    crossing = np.flatnonzero(~is_placed & ~is_loose).tolist()
    split = split_words([words[i] for i in crossing], areas, tree, corners[is_placed].mean(axis=1), owner[is_placed])
    parts = dict(zip(crossing, split, strict=True))
    for index in np.flatnonzero(~is_placed).tolist():
        word, found = words[index], parts.get(index)
        if not found:
            nearest = _nearest(word, areas, tree)
            found = [] if nearest is None else [(nearest, word)]
        for part_cell, part in found:
            pieces[placed[part_cell]].append(part)
        if not found:
            unplaced.append(Unplaced(word, OUTSIDE))
    return pieces, unplaced


def _without_inner_cells(areas: NDArray[np.object_]) -> NDArray[np.object_]:
    """Cut out of each cell the cells that lie in it, such as those of a nested table: their words are theirs."""
    sizes = shapely.area(areas)
    inner, outer = shapely.STRtree(areas).query(shapely.centroid(areas), predicate="intersects")
    is_smaller = sizes[inner] < 0.5 * sizes[outer]
    inner, outer = inner[is_smaller], outer[is_smaller]
    shared = shapely.area(shapely.intersection(areas[inner], areas[outer]))
    is_within = shared >= 0.9 * sizes[inner]
    inner, outer = inner[is_within], outer[is_within]
    cut: NDArray[np.object_] = areas.copy()
    for index in np.unique(outer):
        cut[index] = shapely.difference(areas[index], shapely.union_all(areas[inner[outer == index]]))
    return cut


def _whole_words(tree: shapely.STRtree, corners: Floats) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """``(W,)`` the one cell that holds both ends of a word, or -1, and whether neither end nor middle is in any."""
    left, right = (corners[:, 0] + corners[:, 3]) / 2, (corners[:, 1] + corners[:, 2]) / 2
    points = np.stack([left + share * (right - left) for share in (HANGING, 0.5, 1 - HANGING)], axis=1)
    point, cell = tree.query(shapely.points(points.reshape(-1, 2)), predicate="intersects")
    n_cells = np.bincount(point, minlength=points.shape[0] * 3).reshape(-1, 3)
    holder = np.full(points.shape[0] * 3, -1, np.int64)
    holder[point] = cell
    first, _, last = holder.reshape(-1, 3).T
    is_whole: NDArray[np.bool_] = (first == last) & (n_cells[:, [0, 2]] == 1).all(axis=1)
    return np.where(is_whole, first, -1), np.asarray(~n_cells.any(axis=1))


def _nearest(word: Word, areas: NDArray[np.object_], tree: shapely.STRtree) -> int | None:
    """Cell that shares most of a word's area, at least 30 %, or None."""
    shape = quads_to_polygons(quads_to_array([word.quad]))[0]
    near = tree.query(shape, predicate="intersects")
    shared = shapely.area(shapely.intersection(areas[near], shape))
    if not len(near) or shared.max() < 0.3 * shape.area:
        return None
    return int(near[int(shared.argmax())])
