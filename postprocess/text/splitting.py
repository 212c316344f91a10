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
from functools import lru_cache
from itertools import pairwise

import numpy as np
import shapely
from numpy.typing import NDArray

from postprocess.arrays import Floats, Ints
from postprocess.text.lines import SAME_LINE
from postprocess.text.numbers import ONE_NUMBER, SIGNED, TWO_NUMBERS
from postprocess.word import Word, Words

CUT = 0.05
"""Price of a cut at a blank or a wide gap."""
TAKEN = 2.5
"""Price of any cut where a cell has another word on the line already, from which the OCR engine told this one apart."""
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
"""Widths of characters; OCR engines that know only their middles give each the room up to its neighbours."""
USUAL_OTHER = 0.85

_LEADER = re.compile(r"[.·•…‥⋯_]{3,}|[…‥⋯]+")


def split_words(
    words: Words, areas: NDArray[np.object_], tree: shapely.STRtree, whole: Floats, owner: NDArray[np.int64]
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
    quads = words.quads
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
    n_cells = np.bincount(index, minlength=len(words))
    n_characters = np.array(list(map(len, words.texts)), np.int64) * (n_cells > 0)
    places = np.array([span for word, n in zip(words, n_characters, strict=True) if n for span in word.spans()])
    places = places.reshape(-1, 2)
    places *= np.repeat(length / height, n_characters)[:, None]
    outside = _outside(places, stretches, n_characters, n_cells)
    ends = zip(*(np.cumsum(each).tolist() for each in (n_characters, n_cells, n_characters * n_cells)), strict=True)
    pieces = []
    spans, cells, free = places.tolist(), cell.tolist(), is_free.tolist()
    for word, ((c, p, o), (next_c, next_p, next_o)) in zip(words, pairwise([(0, 0, 0), *ends]), strict=True):
        prices = outside[o:next_o].reshape(next_c - c, next_p - p).tolist()
        pieces.append(_cut(word, spans[c:next_c], prices, cells[p:next_p], free[p:next_p]))
    return pieces


def _cut(
    word: Word, places: list[list[float]], outside: list[list[float]], cells: list[int], is_free: list[bool]
) -> list[tuple[int, Word]]:
    """Pieces of a word and the cell of each, from the place and the prices of each of its characters."""
    if len(cells) < 2 or not places:
        return [(cell, word.part(0, len(places))) for cell in cells if word.text.strip()]
    owner = _cheapest(outside, _prices(word, places), is_free)
    starts = [k for k in range(len(owner)) if k == 0 or owner[k] != owner[k - 1]]
    pieces = [(cells[owner[a]], word.part(a, b)) for a, b in pairwise([*starts, len(owner)])]
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
    near = off <= SAME_LINE * height[pair] * np.maximum(np.linalg.norm(way, axis=1), 1e-9)
    return np.bincount(pair[near], minlength=len(cell)) > 0


def _outside(places: Floats, stretches: Floats, n_characters: Ints, n_cells: Ints) -> Floats:
    """Price of each character in each cell that its word crosses, word by word and in these character by character.

    A character that is in no cell inclines to the nearest.
    """
    n_prices = np.repeat(n_cells, n_characters)
    character = np.repeat(np.arange(len(places)), n_prices)
    first = np.repeat(np.cumsum(n_cells) - n_cells, n_characters) - (np.cumsum(n_prices) - n_prices)
    start, end = places[character].T
    low, high = stretches[first[character] + np.arange(len(character))].T
    width = np.maximum(end - start, 1e-3)  # a character of no width, such as a blank, must not be free everywhere
    inside = np.clip(np.minimum(end, high) - np.maximum(start, low), 0, None) / width
    away = np.maximum(np.maximum(low - start, end - high), 0)
    in_any = np.bincount(character, inside, len(places))[character] > 0
    # Of cells that overlap the smaller one is a little cheaper: it may lie in the other.
    return np.asarray(np.where(in_any, 1 - inside, np.minimum(away, 1.0)) * width + 1e-6 * (high - low))


def _prices(word: Word, places: list[list[float]]) -> list[tuple[float, float]]:
    """``C`` prices of a cut before each character, first in general, then between cells without other words.

    Places that are not read but assumed, all characters evenly wide, tell no gap.
    """
    text, kinds = word.text, kinds_of(word.text)
    gaps = _gaps(kinds, places) if word.char_spans is not None else [0.0] * (len(kinds) - 1)
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
    is_whole = kind == "letter" or ONE_NUMBER.fullmatch(run)
    inside = 0.0 if kind == "blank" else (WHOLE if is_whole else BROKEN) * length
    general, free = TAKEN + inside, CUT + inside
    if kind == "number" and TWO_NUMBERS.search(run):
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
    for signed in SIGNED.finditer(text):
        kinds[signed.start() : signed.end()] = ["number"] * len(signed[0])
    return kinds


@lru_cache(4096)
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
    free = [cell for cell, alone in enumerate(is_free) if alone]
    best, came = outside[0], []
    for costs, (general, loose) in zip(outside[1:], prices[1:], strict=True):
        least = min(best)
        cut = free_cut = (least + general, best.index(least))
        if free:
            least = min([best[cell] for cell in free])
            free_cut = min(cut, (least + loose, next(cell for cell in free if best[cell] == least)))
        before, after = [], []
        for cell, (stay, cost) in enumerate(zip(best, costs, strict=True)):
            price, origin = free_cut if is_free[cell] else cut
            # Where both cost the same the word is not cut.
            before.append(cell if stay <= price else origin)
            after.append(cost + min(stay, price))
        came.append(before)
        best = after
    owner = [best.index(min(best))]
    for before in reversed(came):
        owner.append(before[owner[-1]])
    return owner[::-1]
