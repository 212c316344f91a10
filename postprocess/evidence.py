"""How well a set of cells explains the text of a picture."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import shapely
from numpy.typing import NDArray

from postprocess.boxes import Floats, as_quads, quads_to_polygons
from postprocess.rulings import Rulings
from postprocess.tokens import GapSettings, is_number, words_to_tokens
from postprocess.words import Word


def explained_share(quads: Floats, words: Sequence[Word], frame: Rulings, *, numbers_only: bool = False) -> float:
    """Share of the text that cells account for, 0 to 1.

    A token is unexplained when it lies in no cell, when a wide gap separates it
    from its neighbour in the same cell (a column was missed), or when two
    numbers stand above each other in one cell (a row was missed).

    Args:
        quads: ``(N, 4, 2)`` cells in pixels.
        words: Words of the same picture.
        frame: Upright frame of the picture.
        numbers_only: Count only gaps beside numbers, for cells that are sure:
            justified prose and bullets leave wide gaps inside a cell too.

    >>> from postprocess.boxes import as_boxes, boxes_to_quads
    >>> frame = Rulings(as_boxes([]), as_boxes([]), 0.0, (0.0, 0.0), 10.0)
    >>> words = [Word("5", ((5, 5), (15, 5), (15, 15), (5, 15))), Word("7", ((5, 25), (15, 25), (15, 35), (5, 35)))]
    >>> explained_share(boxes_to_quads([[0, 0, 20, 40]]), words, frame)
    0.0
    >>> explained_share(boxes_to_quads([[0, 0, 20, 20], [0, 20, 20, 40]]), words, frame)
    1.0
    """
    tokens = words_to_tokens(words, frame, GapSettings())
    n = len(tokens.line)
    if n == 0:
        return 1.0
    if not len(quads):
        return 0.0
    boxes = tokens.boxes_xyxy
    middle = (boxes[:, :2] + boxes[:, 2:]) / 2
    owner = np.full(n, -1, np.int64)
    token, cell = shapely.STRtree(quads_to_polygons(frame.to_upright(quads))).query(
        shapely.points(middle), "intersects"
    )
    owner[token[::-1]] = cell[::-1]
    bad = owner < 0
    numeric = np.array([is_number(text) for text in tokens.texts])
    beside = (tokens.line[1:] == tokens.line[:-1]) & (owner[1:] == owner[:-1])
    if numbers_only:
        letters = np.array([any(map(str.isalnum, text)) for text in tokens.texts])
        beside &= (numeric[1:] | numeric[:-1]) & letters[1:] & letters[:-1]
    bad[1:] |= beside
    bad[:-1] |= beside
    bad |= _in_missed_rows(owner, tokens.line, numeric)
    return float(1 - bad.mean())


def _in_missed_rows(owner: NDArray[np.int64], line: NDArray[np.int64], numeric: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """``(T,)`` tokens on text lines that stack numbers in one cell, in all cells that hold several of these lines."""
    missed = np.zeros(len(owner), bool)
    stacked = {
        int(i) for cell in np.unique(owner[numeric & (owner >= 0)])
        for lines in [np.unique(line[numeric & (owner == cell)])] if len(lines) > 1 for i in lines
    }  # fmt: skip
    on_lines = np.isin(line, list(stacked))
    for cell in np.unique(owner[on_lines & (owner >= 0)]):
        inside = on_lines & (owner == cell)
        if len(np.unique(line[inside])) > 1:
            missed |= inside
    return missed


def cut_share(quads: Floats, words: Sequence[Word]) -> float:
    """Share of the words that borders of cells cut across, 0 to 1; many in charts, few in tables.

    Args:
        quads: ``(N, 4, 2)`` cells in pixels.
        words: Words inside the hull of the cells.

    >>> from postprocess.boxes import boxes_to_quads
    >>> word = Word("7", ((0, 0), (10, 0), (10, 10), (0, 10)))
    >>> cut_share(boxes_to_quads([[-5, -5, 20, 5], [-5, 5, 20, 20]]), [word])
    1.0
    >>> cut_share(boxes_to_quads([[-5, -5, 20, 20]]), [word])
    0.0
    """
    if not len(words) or not len(quads):
        return 0.0
    corners = as_quads([word.quad for word in words])
    middle = corners.mean(axis=1, keepdims=True)
    # Boxes of words are loose, so only their inner part must lie in one cell.
    inner = quads_to_polygons(middle + 0.6 * (corners - middle))
    cells = quads_to_polygons(quads)
    word, cell = shapely.STRtree(cells).query(inner, "intersects")
    shared = shapely.area(shapely.intersection(inner[word], cells[cell]))
    best = np.zeros(len(words))
    np.maximum.at(best, word, shared)
    return float((best < 0.8 * shapely.area(inner)).mean())
