"""How much of the text of a picture a grid accounts for."""

from __future__ import annotations

import numpy as np
import shapely

from postprocess.arrays import Flags, Ints
from postprocess.candidates.scene import Scene
from postprocess.geometry.boxes import quads_to_polygons
from postprocess.grid.layout import Layout

_BLANK = 0.5
"""A narrower gap between two words, in text heights, is a blank."""


def explained_share(layout: Layout, scene: Scene, *, numbers_only: bool = False) -> float:
    """Share of the text that cells account for, 0 to 1.

    A token is unexplained when it lies in no cell, when a wide gap separates it
    from its neighbour in the same cell (a column was missed), or when two
    numbers stand above each other in one cell (a row was missed).

    Args:
        layout: Rows, columns and spans.
        scene: The words that they should hold.
        numbers_only: Count only gaps beside numbers, for cells that are sure:
            justified prose and bullets leave wide gaps inside a cell too.

    >>> from postprocess.geometry.boxes import as_boxes
    >>> from postprocess.geometry.frame import UPRIGHT
    >>> from postprocess.geometry.rulings import Rulings
    >>> from postprocess.word import Word
    >>> words = [Word("5", ((5, 5), (15, 5), (15, 15), (5, 15))), Word("7", ((5, 25), (15, 25), (15, 35), (5, 35)))]
    >>> scene = Scene(words, Rulings(as_boxes([]), as_boxes([]), 0.0, (0.0, 0.0), 10.0))
    >>> explained_share(Layout(np.array([0.0, 40]), np.array([0.0, 20]), UPRIGHT, np.array([[0]])), scene)
    0.0
    >>> explained_share(Layout(np.array([0.0, 20, 40]), np.array([0.0, 20]), UPRIGHT, np.array([[0], [1]])), scene)
    1.0
    """
    tokens = scene.tokens
    if not len(tokens.line):
        return 1.0
    owner = layout.cells_at(scene.token_middles)
    bad = owner < 0
    beside = (tokens.line[1:] == tokens.line[:-1]) & (owner[1:] == owner[:-1])
    blank = max(_BLANK * scene.rulings.text_height, tokens.blank)
    beside &= tokens.boxes_xyxy[1:, 0] - tokens.boxes_xyxy[:-1, 2] > blank
    if numbers_only:
        letters = np.array([any(map(str.isalnum, text)) for text in tokens.texts])
        beside &= (scene.numeric[1:] | scene.numeric[:-1]) & letters[1:] & letters[:-1]
    bad[1:] |= beside
    bad[:-1] |= beside
    bad |= _in_missed_rows(owner, tokens.line, scene.numeric, scene.forms)
    return float(1 - bad.mean())


def _in_missed_rows(owner: Ints, line: Ints, numeric: Flags, forms: Ints) -> Flags:
    """``(T,)`` tokens on text lines that stack numbers in one cell, in all cells that hold several of these lines."""
    stacked = _several_lines(owner, line, numeric & (owner >= 0))
    kinds = len(forms) + 1
    stacked |= _several_lines(np.where(owner >= 0, owner * kinds + forms, -1), line, (forms >= 0) & (owner >= 0))
    return _several_lines(owner, line, np.isin(line, line[stacked]) & (owner >= 0))


def _several_lines(owner: Ints, line: Ints, asked: Flags) -> Flags:
    """``(T,)`` those of the tokens asked for whose cell holds such tokens on several lines."""
    first, last = np.full((2, int(owner.max(initial=-1)) + 2), -1)
    first[owner[asked]] = len(line)
    np.minimum.at(first, owner[asked], line[asked])
    np.maximum.at(last, owner[asked], line[asked])
    return asked & (first < last)[owner]


def cut_share(layout: Layout, scene: Scene) -> float:
    """Share of the words that borders of cells cut across, 0 to 1; many in charts, few in tables.

    Args:
        layout: Rows, columns and spans.
        scene: The words inside the hull of the cells.

    >>> from postprocess.geometry.boxes import as_boxes
    >>> from postprocess.geometry.frame import UPRIGHT
    >>> from postprocess.geometry.rulings import Rulings
    >>> from postprocess.word import Word
    >>> word = Word("7", ((0, 0), (10, 0), (10, 10), (0, 10)))
    >>> scene = Scene([word], Rulings(as_boxes([]), as_boxes([]), 0.0, (0.0, 0.0), 10.0))
    >>> cut_share(Layout(np.array([-5.0, 5, 20]), np.array([-5.0, 20]), UPRIGHT, np.array([[0], [1]])), scene)
    1.0
    >>> cut_share(Layout(np.array([-5.0, 20]), np.array([-5.0, 20]), UPRIGHT, np.array([[0]])), scene)
    0.0
    """
    if not len(scene.words) or not layout.owner.size:
        return 0.0
    # A word whose inner corners all lie in one cell is not cut; few are left to be measured.
    corners = layout.cells_at(scene.inner_quads.reshape(-1, 2)).reshape(-1, 4)
    asked = np.flatnonzero((corners != corners[:, :1]).any(axis=1) | (corners[:, 0] < 0))
    inner, cells = scene.inner_polygons[asked], quads_to_polygons(layout.quads)
    word, cell = shapely.STRtree(cells).query(inner, "intersects")
    best = np.zeros(len(asked))
    np.maximum.at(best, word, shapely.area(shapely.intersection(inner[word], cells[cell])))
    return float((best < 0.8 * shapely.area(inner)).sum() / len(scene.words))
