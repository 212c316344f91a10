"""A word that lies across borders: which cell each of its characters belongs to.

Each character has a cell. A character outside its cell costs its width; a cut between two
characters costs what the text loses by it: next to nothing at a blank or a wide gap, and
within a run of one kind (letters, a number with its signs, leader dots) nearly half of the
run, so that a word that hangs over a border stays whole and two words that were read as one
come apart at the border. The cheapest assignment is found exactly, by dynamic programming.
All lengths are in heights of the word.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import shapely
from numpy.typing import NDArray

from postprocess.boxes import Floats, quads_to_array

if TYPE_CHECKING:
    from postprocess.words import Word

CUT = 0.05
"""Price of a cut at a blank or a wide gap."""
TAKEN = 2.5
"""Price of any cut where a cell has another word on the line already, from which the reader told this one apart."""
CHANGE = 0.5
"""Price of a cut where letters meet a number or signs."""
WHOLE = 0.51
"""Price of a cut inside a word or a number, as a share of it: two cells cannot share it."""
BROKEN = 0.45
"""The same inside any other run: what may hang over a border without being cut off."""
LOOSE = 0.6
"""Most that a cut costs inside signs that are more than one number, and between ideographs where neither
cell has another word on the line: text without blanks may be that of two cells."""
GAP = 0.25
"""Distance between characters from which it is a gap between words."""
USUAL = {"ideograph": 0.9}
"""Widths of characters; readers that know only their middles give each the room up to its neighbours."""
USUAL_OTHER = 0.85

_LEADER = re.compile(r"[.·•…‥⋯_]{3,}|[…‥⋯]+")
_SIGNED = re.compile(r"[$€£¥￥]\s(?=[\d(])|(?<=\d)\s[%‰°]")
_ONE_NUMBER = re.compile(r"\d{1,4}|\d{1,3}(,\d{3})*(\.\d+)?%?")
_TWO_NUMBERS = re.compile(r",\d{4}|\.\d+,\d|[%)](?=[\d($€£¥+-])")


def split_words(
    words: Sequence[Word], areas: NDArray[np.object_], tree: shapely.STRtree, whole: Floats, owner: NDArray[np.int64]
) -> list[list[tuple[int, Word]]]:
    """Pieces of words and the cell of each, from the first character of a word to its last.

    Args:
        words: Words with finite corners.
        areas: ``(N,)`` polygons of the cells.
        tree: Of the same polygons.
        whole: ``(M, 2)`` middles of the words that lie in one cell as a whole.
        owner: ``(M,)`` that cell.

    Returns:
        A list for each word, empty where no character is in a cell.
    """
    if not words:
        return []
    quads = quads_to_array([word.quad for word in words])
    left, right = (quads[:, 0] + quads[:, 3]) / 2, (quads[:, 1] + quads[:, 2]) / 2
    height = np.maximum(np.linalg.norm(quads[:, 3] - quads[:, 0], axis=1), 1e-9)
    length = np.linalg.norm(right - left, axis=1)
    lines = shapely.linestrings(np.stack([left, right], axis=1))
    index, cell = tree.query(lines, predicate="intersects")
    order = np.lexsort((cell, index))
    index, cell = index[order], cell[order]
    is_long = (length / height >= 1e-9)[index]
    index, cell = index[is_long], cell[is_long]
    stretches = _stretches(areas[cell], lines[index], left[index], right[index]) * (length / height)[index, None]
    is_free = ~_any_on_line(cell, left[index], right[index], height[index], whole, owner)
    bounds = np.searchsorted(index, np.arange(len(words) + 1)).tolist()
    return [
        _pieces(word, size, cell[a:b], stretches[a:b], is_free[a:b]) if b > a and word.text else []
        for word, size, a, b in zip(words, (length / height).tolist(), bounds[:-1], bounds[1:], strict=True)
    ]


def _pieces(
    word: Word, length: float, cells: NDArray[np.int64], stretches: Floats, is_free: NDArray[np.bool_]
) -> list[tuple[int, Word]]:
    places = np.array(word.spans()) * length
    prices = _prices(word.text, places.tolist(), word.char_spans is not None)
    owner = _cheapest(_outside(places, stretches).tolist(), prices, is_free.tolist())
    starts = [k for k in range(len(owner)) if k == 0 or owner[k] != owner[k - 1]]
    pieces = [(int(cells[owner[a]]), word.part(a, b)) for a, b in pairwise([*starts, len(owner)])]
    return [(cell, part) for cell, part in pieces if part.text]


def _stretches(areas: NDArray[np.object_], lines: NDArray[np.object_], left: Floats, right: Floats) -> Floats:
    """``(P, 2)`` where the middle line of a word enters and leaves a cell, as fractions of the line."""
    points, pair = shapely.get_coordinates(shapely.intersection(areas, lines), return_index=True)
    way = (right - left)[pair]
    along = ((points - left[pair]) * way).sum(axis=1) / (way**2).sum(axis=1)
    stretches = np.tile([1.0, 0.0], (len(lines), 1))
    np.minimum.at(stretches[:, 0], pair, along)
    np.maximum.at(stretches[:, 1], pair, along)
    return stretches


def _any_on_line(
    cell: NDArray[np.int64], left: Floats, right: Floats, height: Floats, whole: Floats, owner: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """``(P,)`` whether a cell has a whole word on the line of the word that crosses it."""
    order = np.argsort(owner, kind="stable")
    first, end = (np.searchsorted(owner[order], cell, side=side) for side in ("left", "right"))
    pair = np.repeat(np.arange(len(cell)), end - first)
    each = order[np.arange(len(pair)) + np.repeat(first - np.cumsum(end - first) + (end - first), end - first)]
    way, middle = (right - left)[pair], whole[each] - left[pair]
    off = np.abs(middle[:, 1] * way[:, 0] - middle[:, 0] * way[:, 1])
    near = off <= 0.5 * height[pair] * np.maximum(np.linalg.norm(way, axis=1), 1e-9)
    return np.bincount(pair[near], minlength=len(cell)) > 0


def _outside(places: Floats, stretches: Floats) -> Floats:
    """``(C, K)`` price of each character in each cell; one that is in no cell inclines to the nearest."""
    start, end = places[:, :1], places[:, 1:]
    low, high = stretches.T
    width = np.maximum(end - start, 1e-3)  # a character of no width, such as a blank, must not be free everywhere
    inside = np.clip(np.minimum(end, high) - np.maximum(start, low), 0, None) / width
    away = np.maximum(np.maximum(low - start, end - high), 0)
    in_any = inside.sum(axis=1, keepdims=True) > 0
    # Of cells that overlap the smaller one is a little cheaper: it may lie in the other.
    return np.asarray(np.where(in_any, 1 - inside, np.minimum(away, 1.0)) * width + 1e-6 * (high - low))


def _prices(text: str, places: list[list[float]], is_read: bool) -> list[tuple[float, float]]:
    """``C`` prices of a cut before each character, first in general, then between cells without other words.

    Places that are not read but assumed, all characters evenly wide, tell no gap.
    """
    kinds = kinds_of(text)
    gaps = _gaps(kinds, places) if is_read else [0.0] * (len(kinds) - 1)
    prices = [(TAKEN, CUT)] * len(kinds)
    start = 0
    for index in range(1, len(kinds) + 1):
        gap = gaps[index - 1] if index < len(kinds) else np.inf
        if index < len(kinds) and kinds[index] == kinds[index - 1] and gap <= GAP:
            continue
        run = _run_price(kinds[start], text[start:index], max(places[index - 1][1] - places[start][0], 0.0))
        prices[start + 1 : index] = [run] * (index - start - 1)
        if index < len(kinds) and gap <= GAP and "blank" not in (kinds[index], kinds[index - 1]):
            prices[index] = (min(CHANGE, BROKEN * (places[-1][1] - places[0][0])),) * 2
        start = index
    return prices


def _gaps(kinds: Sequence[str], places: list[list[float]]) -> list[float]:
    """White between each character and the next one, in heights of the word."""
    usual = [USUAL.get(kind, USUAL_OTHER) for kind in kinds]
    return [
        max(next_start - end, (next_start + next_end - start - end) / 2 - (usual[k] + usual[k + 1]) / 2)
        for k, ((start, end), (next_start, next_end)) in enumerate(pairwise(places))
    ]


def _run_price(kind: str, run: str, length: float) -> tuple[float, float]:
    """Price of a cut within a run of one kind."""
    is_whole = kind == "letter" or _ONE_NUMBER.fullmatch(run)
    inside = 0.0 if kind == "blank" else (WHOLE if is_whole else BROKEN) * length
    general, free = TAKEN + inside, CUT + inside
    if kind == "number" and _TWO_NUMBERS.search(run):
        return min(general, LOOSE), min(free, LOOSE)
    return general, min(free, LOOSE) if kind == "ideograph" else free


def kinds_of(text: str) -> list[str]:
    """Kind of each character: a cut within a run of one kind breaks something.

    >>> kinds_of("a $1 表...")
    ['letter', 'blank', 'number', 'number', 'blank', 'ideograph', 'dots', 'dots', 'dots']
    """
    kinds = [_kind(character) for character in text]
    for leader in _LEADER.finditer(text):
        kinds[leader.start() : leader.end()] = ["dots"] * len(leader[0])
    for signed in _SIGNED.finditer(text):
        kinds[signed.start() : signed.end()] = ["number"] * len(signed[0])
    return kinds


def _kind(character: str) -> str:
    if character.isspace() or character in "|｜":  # a ruling, read as text
        return "blank"
    if unicodedata.east_asian_width(character) in "WF" and character.isalpha():
        return "ideograph"
    return "letter" if character.isalpha() else "number"


def _cheapest(outside: list[list[float]], prices: list[tuple[float, float]], is_free: list[bool]) -> list[int]:
    """Cell of each of ``C`` characters, by dynamic programming over the characters.

    A word has few characters and cells, for which arrays cost more than they save. To cut between two cells
    that are free is never dearer, so the cheapest cell before a cut is the best one of all or of those that are free.
    """
    cells = range(len(is_free))
    free = [cell for cell in cells if is_free[cell]]
    best, came = outside[0], []
    for costs, (general, loose) in zip(outside[1:], prices[1:], strict=True):
        any_cell = min(cells, key=best.__getitem__)
        cut = (best[any_cell] + general, any_cell)
        free_cell = min(free, key=best.__getitem__, default=any_cell)
        free_cut = min(cut, (best[free_cell] + loose, free_cell)) if free else cut
        # Where both cost the same the word is not cut.
        steps = [min((best[cell], -1), free_cut if is_free[cell] else cut) for cell in cells]
        came.append([cell if before < 0 else before for cell, (_, before) in enumerate(steps)])
        best = [step + cost for (step, _), cost in zip(steps, costs, strict=True)]
    owner = [min(cells, key=best.__getitem__)]
    for before in reversed(came):
        owner.append(before[owner[-1]])
    return owner[::-1]
