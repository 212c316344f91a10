"""Words, and the cells they belong to.

A word that lies across a border is split there by the positions of its characters
(``splitting``); a small sign beside a word, and a word beside the cells of a table, find
the cell they belong to (``strays``). Nothing is dropped: a word without a cell comes back
with the reason.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
import shapely
from numpy.typing import NDArray

from postprocess.arrays import Flags, Ints
from postprocess.cell import Cell, Quad, rewrite
from postprocess.geometry.boxes import quads_to_array, quads_to_polygons
from postprocess.table import Table
from postprocess.text.admission import NO_PLACE
from postprocess.text.lines import words_to_texts
from postprocess.text.splitting import split_words
from postprocess.text.strays import (
    BETWEEN,
    CROSSING,
    LOOSE,
    NOWHERE,
    SPLIT,
    follow_anchors,
    place_by_row_and_column,
)
from postprocess.word import Unplaced, Word, Words

OUTSIDE = "it lies outside every table"
UNCLEAR = "it lies between the cells of a table, and its row and column do not say to which it belongs"
NO_TABLE = "no table was found"

HANGING = 0.08
"""Share of a word that may hang over a border at either end before anyone asks where to split it."""


def words_to_table(table: Table, words: Iterable[Word]) -> tuple[Table, list[Unplaced]]:
    """Write words into the cells of a table.

    Args:
        table: Cells with quads; their texts are replaced.
        words: Words in the same picture.

    Returns:
        The table with texts and OCR scores, and the words outside it.

    >>> square = Cell(0, 0, quad=((0, 0), (9, 0), (9, 9), (0, 9)))
    >>> inside = Word("7", ((1, 1), (4, 1), (4, 4), (1, 4)))
    >>> outside = Word("x", ((20, 1), (24, 1), (24, 4), (20, 4)))
    >>> filled, unplaced = words_to_table(Table([square]), [inside, outside])
    >>> filled[0, 0].text, unplaced[0].reason
    ('7', 'it lies outside every table')
    """
    [filled], unplaced = words_to_tables([table], words)
    return filled, unplaced


def words_to_tables(tables: Sequence[Table], words: Iterable[Word]) -> tuple[list[Table], list[Unplaced]]:
    """Write words into the cells of several tables of one picture; see ``words_to_table`` and ``place_words``."""
    placement = place_words(tables, words)
    return placement.tables(), placement.unplaced


def words_to_cells(words: Iterable[Word], quads: Sequence[Quad | None]) -> tuple[list[list[Word]], list[Unplaced]]:
    """Words of each cell, split at the borders, and the words outside all cells.

    Args:
        words: Words in the picture.
        quads: Cells in the same picture; None for a cell without a place.

    Returns:
        One list of words for each cell, and the rest with a reason.
    """
    words, areas = Words.of(words), _Areas.of(quads)
    pieces, owner, _ = areas.place(words, areas.homes(words))
    placed = np.flatnonzero(owner >= 0)
    order = placed[np.argsort(owner[placed], kind="stable")]
    bounds = np.searchsorted(owner[order], np.arange(len(quads) + 1)).tolist()
    ordered = list(pieces.select(order))
    return [ordered[a:b] for a, b in pairwise(bounds)], areas.unplaced(pieces, owner)


def place_words(tables: Sequence[Table], words: Iterable[Word], takers: Flags | None = None) -> Placement:
    """Find the cell of each word in the tables of one picture.

    A word that is in no cell goes to the slot of its row and its column where both are clear.

    Args:
        tables: Cells with quads; their texts are replaced.
        words: Words in the same picture.
        takers: ``(N,)`` the cells that take words, where a person drew their lines: a word comes apart at a line
            even where a cell has other words beside it, from which the OCR engine told it apart. All where None.

    >>> square = Cell(0, 0, quad=((0, 0), (9, 0), (9, 9), (0, 9)))
    >>> placement = place_words([Table([square])], [Word("7", ((1, 1), (4, 1), (4, 4), (1, 4)))])
    >>> more = placement.with_more([Word("%", ((5, 1), (8, 1), (8, 4), (5, 4)))])
    >>> [each.tables()[0][0, 0].text for each in (placement, more)], more.unplaced
    (['7', '7 %'], [])
    """
    quads = [cell.quad for table in tables for cell in table.cells]
    if takers is not None:
        quads = [quad if takes else None for quad, takes in zip(quads, takers.tolist(), strict=True)]
    areas, words = _Areas.of(quads, are_drawn=takers is not None), Words.of(words)
    return Placement(tuple(tables), words, areas, areas.homes(words))


@dataclass(frozen=True)
class Placement:
    """Where the words of one picture lie in its tables; see ``place_words``.

    Args:
        given: The tables as they were given.
        words: All words.
        areas: The cells of all tables, one after another.
        homes: ``(W,)`` the cell that holds a word as a whole, or else ``CROSSING``, ``LOOSE`` or ``NOWHERE``.
    """

    given: tuple[Table, ...]
    words: Words
    areas: _Areas
    homes: Ints

    def with_more(self, words: Iterable[Word]) -> Placement:
        """Place further words: the same result as if all had been placed at once.

        Only the further words are compared with the cells. Words that lie in no cell or across a border are placed
        again, as they may belong to one of the further words.
        """
        more = Words.of(words)
        if not more:
            return self
        homes = np.concatenate([self.homes, self.areas.homes(more)])
        return Placement(self.given, self.words + more, self.areas, homes)

    def tables(self) -> list[Table]:
        """The tables with texts and OCR scores."""
        cells = iter(self._cells)
        return [table.with_cells([next(cells) for _ in table.cells]) for table in self.given]

    @property
    def unplaced(self) -> list[Unplaced]:
        """The words that are in no cell, with the reason."""
        pieces, owner, _ = self.pieces
        return self.areas.unplaced(pieces, owner)

    @cached_property
    def pieces(self) -> tuple[Words, Ints, Ints]:
        """All words and behind them the parts of those that are split.

        Also the ``(P,)`` cell of each, counted through all tables, or below 0 why it has none; and the ``(P,)`` index
        of the word that it is a part of.
        """
        pieces, owner, origin = self.areas.place(self.words, self.homes)
        loose = np.flatnonzero(owner == LOOSE)
        owner[loose] = place_by_row_and_column(self.given, pieces.quads[loose])
        return pieces, owner, origin

    @cached_property
    def _cells(self) -> list[Cell]:
        """The cells of all tables with their texts."""
        pieces, owner, _ = self.pieces
        return fill_cells([cell for table in self.given for cell in table.cells], pieces, owner)


def fill_cells(cells: Sequence[Cell], pieces: Words, owner: Ints) -> list[Cell]:
    """The cells with the texts of their words, with the scores of these, and with the first doubt about one.

    Args:
        cells: In the order that ``owner`` counts.
        pieces: ``P`` words, in any order.
        owner: ``(P,)`` the cell of each; those below 0 are in none.
    """
    placed = owner >= 0
    lengths = np.array(list(map(len, pieces.texts)), np.float64)[placed]
    weights = np.bincount(owner[placed], lengths, len(cells))
    scores = np.bincount(owner[placed], lengths * pieces.scores[placed], len(cells)) / np.maximum(weights, 1)
    known = [score if weight else None for score, weight in zip(scores.tolist(), weights.tolist(), strict=True)]
    doubts: dict[int, str] = {}
    for word, cell in zip(pieces, owner.tolist(), strict=True):
        if word.doubt and cell >= 0:
            doubts.setdefault(cell, word.doubt)
    return rewrite(
        cells,
        text=words_to_texts(pieces, owner, len(cells)),
        ocr_score=known,
        doubt=[doubts.get(index, "") for index in range(len(cells))],
    )


@dataclass(frozen=True, slots=True)
class _Areas:
    """Where cells lie.

    Args:
        polygons: ``(N,)`` polygons of the cells that have a place.
        cells: ``(N,)`` number of each cell.
        tree: Of the polygons.
        are_drawn: Whether a person drew their lines.
    """

    polygons: NDArray[np.object_]
    cells: Ints
    tree: shapely.STRtree
    are_drawn: bool = False

    @staticmethod
    def of(quads: Sequence[Quad | None], *, are_drawn: bool = False) -> _Areas:
        placed = [quad for quad in quads if quad is not None]
        polygons = _without_inner_cells(quads_to_polygons(quads_to_array(placed)))
        cells = np.flatnonzero([quad is not None for quad in quads])
        return _Areas(polygons, cells, shapely.STRtree(polygons), are_drawn)

    def homes(self, words: Words) -> Ints:
        """``(W,)`` the one area that holds both ends of a word, or what else is the matter with it."""
        index = np.flatnonzero(words.have_place)
        homes = np.full(len(words), NOWHERE, np.int64)
        homes[index] = LOOSE
        corners = words.quads[index]
        left, right = (corners[:, 0] + corners[:, 3]) / 2, (corners[:, 1] + corners[:, 2]) / 2
        points = np.stack([left + share * (right - left) for share in (HANGING, 0.5, 1 - HANGING)], axis=1)
        word, area = self.tree.query(shapely.linestrings(points[:, [0, 2]]))
        holds = shapely.intersects_xy(self.polygons[area][:, None], points[word, :, 0], points[word, :, 1])
        n_holders = np.stack([np.bincount(word[held], minlength=len(index)) for held in holds.T], axis=1)
        homes[index[n_holders.any(axis=1)]] = CROSSING
        is_whole = holds[:, 0] & holds[:, 2] & (n_holders[word][:, [0, 2]] == 1).all(axis=1)
        homes[index[word[is_whole]]] = area[is_whole]
        return homes

    def place(self, words: Words, homes: Ints) -> tuple[Words, Ints, Ints]:
        """The words and behind them the parts of those that are split, the cell of each, and the word it is of."""
        if not words or not len(self.cells):
            return words, homes.copy(), np.arange(len(words))
        owner = follow_anchors(words, self.polygons, homes)
        crossing = np.flatnonzero(owner == CROSSING)
        whole = np.flatnonzero((owner >= 0) & (not self.are_drawn))
        split = split_words(words.select(crossing), self.polygons, self.tree, words.middles[whole], owner[whole])
        owner[crossing[[len(parts) > 0 for parts in split]]] = SPLIT
        rest = np.flatnonzero((owner == CROSSING) | (owner == LOOSE))
        owner[rest] = self._nearest(words.select(rest))
        found = [part for parts in split for part in parts]
        owner = np.concatenate([owner, np.array([area for area, _ in found], np.int64)])
        owner[owner >= 0] = self.cells[owner[owner >= 0]]
        origin = np.concatenate([np.arange(len(words)), np.repeat(crossing, np.array(list(map(len, split)), np.int64))])
        return words + [part for _, part in found], owner, origin

    def unplaced(self, pieces: Words, owner: Ints) -> list[Unplaced]:
        """The words without a cell, with the reason."""
        reasons = {LOOSE: OUTSIDE if len(self.cells) else NO_TABLE, BETWEEN: UNCLEAR, NOWHERE: NO_PLACE}
        lost = np.flatnonzero((owner < 0) & (owner != SPLIT)).tolist()
        return [Unplaced(pieces[index], reasons[int(owner[index])]) for index in lost]

    def _nearest(self, words: Words) -> Ints:
        """``(W,)`` the area that shares most of a word's own, at least 30 %, or ``LOOSE``."""
        shapes = quads_to_polygons(words.quads)
        word, area = self.tree.query(shapes, predicate="intersects")
        shared = shapely.area(shapely.intersection(self.polygons[area], shapes[word]))
        order = np.lexsort([-np.arange(len(word)), shared])
        nearest, most = np.full(len(words), LOOSE, np.int64), np.zeros(len(words))
        nearest[word[order]], most[word[order]] = area[order], shared[order]
        return np.where(most >= 0.3 * shapely.area(shapes), nearest, LOOSE)


def _without_inner_cells(areas: NDArray[np.object_]) -> NDArray[np.object_]:
    """Cut out of each cell the cells that lie in it, such as those of a nested table: their words are theirs."""
    sizes = shapely.area(areas)
    inner, outer = shapely.STRtree(areas).query(shapely.centroid(areas))
    is_smaller = sizes[inner] < 0.5 * sizes[outer]
    inner, outer = inner[is_smaller], outer[is_smaller]
    shared = shapely.area(shapely.intersection(areas[inner], areas[outer]))
    is_within = shared >= 0.9 * sizes[inner]
    inner, outer = inner[is_within], outer[is_within]
    cut: NDArray[np.object_] = areas.copy()
    for index in np.unique(outer):
        cut[index] = shapely.difference(areas[index], shapely.union_all(areas[inner[outer == index]]))
    return cut
