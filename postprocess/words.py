"""Words, and the cells they belong to.

A word that lies across a border is split there by the positions of its
characters. Nothing is dropped: a word without a cell comes back with the reason.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import shapely
from numpy.typing import NDArray

from postprocess.boxes import Floats, array_to_quad, quads_to_array, quads_to_polygons
from postprocess.table import Cell, Quad, Table

CharSpans = tuple[tuple[float, float], ...]


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
        top_left, top_right, bottom_right, bottom_left = np.asarray(self.quad, np.float64)
        top, bottom = top_right - top_left, bottom_right - bottom_left
        corners = np.array(
            [top_left + left * top, top_left + right * top, bottom_left + right * bottom, bottom_left + left * bottom]
        )
        inner = tuple((round((a - left) / width, 6), round((b - left) / width, 6)) for a, b in spans[start:end])
        return Word(self.text[start:end], array_to_quad(corners), self.score, inner)


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
    """Write words into the cells of several tables of one picture; see ``words_to_table``."""
    pieces, unplaced = words_to_cells(words, [cell.quad for table in tables for cell in table.cells])
    inside = iter(pieces)
    filled = [table.with_cells([_fill_cell(cell, next(inside)) for cell in table.cells]) for table in tables]
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
    unplaced: list[Unplaced] = []
    placed = [index for index, quad in enumerate(quads) if quad is not None]
    corners = quads_to_array([word.quad for word in words])
    finite = np.asarray(np.isfinite(corners).all(axis=(1, 2)))
    unplaced += [Unplaced(word, "its place is not a number") for word, ok in zip(words, finite, strict=True) if not ok]
    words, corners = [word for word, ok in zip(words, finite, strict=True) if ok], corners[finite]
    if not placed or not words:
        return pieces, unplaced + [Unplaced(word, "no table was found") for word in words]
    areas = quads_to_polygons(quads_to_array([quad for quad in quads if quad is not None]))
    tree = shapely.STRtree(areas)
    left, right = (corners[:, 0] + corners[:, 3]) / 2, (corners[:, 1] + corners[:, 2]) / 2
    ends = np.stack([left + 0.08 * (right - left), right - 0.08 * (right - left)], axis=1)
    owner = _owners(tree, ends.reshape(-1, 2)).reshape(-1, 2)
    for word, line, (first, last) in zip(words, np.stack([left, right], axis=1), owner.tolist(), strict=True):
        if first == last >= 0:
            pieces[placed[first]].append(word)
            continue
        runs = _split(word, line, tree)
        if runs:
            for cell, part in runs:
                pieces[placed[cell]].append(part)
            continue
        nearest = _nearest(word, areas, tree)
        if nearest is None:
            unplaced.append(Unplaced(word, "it lies outside every table"))
        else:
            pieces[placed[nearest]].append(word)
    return pieces, unplaced


def _owners(tree: shapely.STRtree, points: Floats) -> NDArray[np.int64]:
    """``(P,)`` cell that holds each point, or -1; the first one where cells overlap."""
    owner = np.full(len(points), -1, np.int64)
    point, cell = tree.query(shapely.points(points), predicate="intersects")
    owner[point[::-1]] = cell[::-1]
    return owner


def _split(word: Word, line: Floats, tree: shapely.STRtree) -> list[tuple[int, Word]]:
    """Pieces of a word and their cells; empty where no character is in a cell."""
    spans = np.array(word.spans())
    if not len(spans):
        return []
    middle = spans.mean(axis=1)[:, None]
    owner = _owners(tree, line[0] + middle * (line[1] - line[0]))
    if (owner < 0).all():
        return []
    owner = _spread(owner)
    owner = _snap_to_blanks(word, owner, spans)
    starts = np.flatnonzero(np.diff(owner, prepend=-2))
    ends = np.append(starts[1:], len(owner))
    pieces = [(int(owner[a]), word.part(int(a), int(b))) for a, b in zip(starts, ends, strict=True)]
    return [(cell, part) for cell, part in pieces if part.text]


def _spread(owner: NDArray[np.int64]) -> NDArray[np.int64]:
    """Characters between or beside cells go with the character before them, else after them."""
    known = np.flatnonzero(owner >= 0)
    before = np.searchsorted(known, np.arange(len(owner)), side="right") - 1
    return owner[known[np.maximum(before, 0)]]


def _snap_to_blanks(word: Word, owner: NDArray[np.int64], spans: Floats) -> NDArray[np.int64]:
    """Move each border between two cells to a blank or a wide gap that is at most half a letter's height away."""
    owner = owner.copy()
    corners = np.asarray(word.quad, np.float64)
    width = max(float(np.linalg.norm(corners[1] - corners[0])), 1e-9)
    height = float(np.linalg.norm(corners[3] - corners[0]))
    reach = height / width
    for border in np.flatnonzero(np.diff(owner)) + 1:
        at = (spans[border - 1, 1] + spans[border, 0]) / 2
        low, high = owner[border - 1], owner[border]
        best, cost = int(border), 0.5 * reach
        for index in range(1, len(owner)):
            gap = spans[index, 0] - spans[index - 1, 1]
            blank = word.text[index].isspace() or word.text[index - 1].isspace()
            distance = abs((spans[index - 1, 1] + spans[index, 0]) / 2 - at)
            if distance < cost and (blank or gap > 0.25 * reach):
                best, cost = index, distance
        if best < border:
            owner[best:border] = high
        else:
            owner[border:best] = low
    return owner


def _nearest(word: Word, areas: NDArray[np.object_], tree: shapely.STRtree) -> int | None:
    """Cell that shares most of a word's area, or lies within half a letter of it."""
    shape = quads_to_polygons(quads_to_array([word.quad]))[0]
    height = float(np.linalg.norm(np.subtract(word.quad[3], word.quad[0])))
    near = tree.query(shape, predicate="dwithin", distance=0.25 * height)
    if not len(near):
        return None
    shared = shapely.area(shapely.intersection(areas[near], shape))
    if shared.max() >= 0.3 * shape.area:
        return int(near[int(shared.argmax())])
    return None


def words_to_text(words: Sequence[Word]) -> str:
    """Text of the words of one cell in reading order, lines separated by a line break.

    >>> a = Word("net", ((0, 0), (9, 0), (9, 5), (0, 5)))
    >>> b = Word("profit", ((12, 0), (25, 0), (25, 5), (12, 5)))
    >>> c = Word("2026", ((0, 7), (9, 7), (9, 12), (0, 12)))
    >>> words_to_text([c, b, a]), words_to_text([])
    ('net profit\\n2026', '')
    """
    if len(words) < 2:
        return words[0].text if words else ""
    return "\n".join(_join([word.text for word in line]) for line in words_to_lines(words))


def words_to_lines(words: Sequence[Word]) -> list[list[Word]]:
    """Lines of words from top to bottom, each from left to right, seen in reading direction."""
    # Plain floats: a cell has a handful of words, for which arrays cost more than they save.
    along_x = sum(word.quad[1][0] - word.quad[0][0] for word in words)
    along_y = sum(word.quad[1][1] - word.quad[0][1] for word in words)
    length = (along_x**2 + along_y**2) ** 0.5
    x, y = (along_x / length, along_y / length) if length else (1.0, 0.0)
    placed = []
    for word in words:
        (ax, ay), (bx, by), (cx, cy), (dx, dy) = word.quad
        heights = ay * x - ax * y, by * x - bx * y, cy * x - cx * y, dy * x - dx * y
        start = min(ax * x + ay * y, dx * x + dy * y)
        placed.append((min(heights), max(heights), start, word))
    placed.sort(key=lambda item: item[0] + item[1])
    lines: list[list[tuple[float, float, float, Word]]] = []
    for item in placed:
        # A superscript shares a line with the tallest word of it, though their middles are apart.
        tallest = max(lines[-1], key=lambda other: other[1] - other[0]) if lines else item
        shared = min(item[1], tallest[1]) - max(item[0], tallest[0])
        if lines and shared >= 0.5 * min(item[1] - item[0], tallest[1] - tallest[0]):
            lines[-1].append(item)
        else:
            lines.append([item])
    return [[item[3] for item in sorted(line, key=lambda item: item[2])] for line in lines]


def _join(texts: Sequence[str]) -> str:
    joined = texts[0]
    for text in texts[1:]:
        joined += text if _is_wide(joined[-1:]) and _is_wide(text[:1]) else " " + text
    return joined


def _is_wide(character: str) -> bool:
    return bool(character) and unicodedata.east_asian_width(character) in "WF"
