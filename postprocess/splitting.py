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
from collections.abc import Mapping, Sequence
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


def split_word(
    word: Word, areas: NDArray[np.object_], tree: shapely.STRtree, others: Mapping[int, Sequence[Word]]
) -> list[tuple[int, Word]]:
    """Pieces of a word and the cell of each, from its first to its last character.

    Args:
        word: A word with finite corners.
        areas: ``(N,)`` polygons of the cells.
        tree: Of the same polygons.
        others: By cell the words that lie in it as a whole.

    Returns:
        Empty where no character is in a cell.
    """
    spans = np.array(word.spans())
    [corners] = quads_to_array([word.quad])
    left, right = (corners[0] + corners[3]) / 2, (corners[1] + corners[2]) / 2
    height = max(float(np.linalg.norm(corners[3] - corners[0])), 1e-9)
    length = float(np.linalg.norm(right - left)) / height
    cells = np.sort(tree.query(shapely.linestrings([left, right]), predicate="intersects"))
    if not len(spans) or not len(cells) or length < 1e-9:
        return []
    stretches = np.array([_stretch(areas[cell], left, right) for cell in cells]) * length
    is_free = ~np.array([_any_on_line(others.get(cell, ()), left, right, height) for cell in cells.tolist()], bool)
    owner = _cheapest(
        _outside(spans * length, stretches), _prices(word.text, spans * length, word.char_spans is not None), is_free
    )
    starts = np.flatnonzero(np.diff(owner, prepend=-1))
    ends = np.append(starts[1:], len(owner))
    pieces = [(int(cells[owner[a]]), word.part(int(a), int(b))) for a, b in zip(starts, ends, strict=True)]
    return [(cell, part) for cell, part in pieces if part.text]


def _stretch(area: shapely.Polygon, left: Floats, right: Floats) -> tuple[float, float]:
    """Where a word's middle line enters and leaves a cell, as fractions of the line."""
    points = shapely.get_coordinates(shapely.intersection(area, shapely.linestrings([left, right])))
    along = (points - left) @ (right - left) / ((right - left) @ (right - left))
    return float(along.min(initial=1.0)), float(along.max(initial=0.0))


def _any_on_line(words: Sequence[Word], left: Floats, right: Floats, height: float) -> bool:
    (x, y), length = right - left, max(float(np.linalg.norm(right - left)), 1e-9)
    middles = quads_to_array([word.quad for word in words]).mean(axis=1) - left
    return bool((np.abs(middles[:, 1] * x - middles[:, 0] * y) <= 0.5 * height * length).any())


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


def _prices(text: str, places: Floats, is_read: bool) -> Floats:
    """``(C, 2)`` price of a cut before each character, first in general, then between cells without other words.

    Places that are not read but assumed, all characters evenly wide, tell no gap.
    """
    kinds = kinds_of(text)
    prices = np.tile([TAKEN, CUT], (len(kinds), 1))
    usual = np.array([USUAL.get(kind, USUAL_OTHER) for kind in kinds])
    between = np.diff(places.mean(axis=1)) - (usual[1:] + usual[:-1]) / 2
    gaps = np.maximum(places[1:, 0] - places[:-1, 1], between) if is_read else np.zeros(len(between))
    start = 0
    for index in range(1, len(kinds) + 1):
        gap = gaps[index - 1] if index < len(kinds) else np.inf
        if index < len(kinds) and kinds[index] == kinds[index - 1] and gap <= GAP:
            continue
        inside = prices[start + 1 : index]
        if kinds[start] != "blank":
            is_whole = kinds[start] == "letter" or _ONE_NUMBER.fullmatch(text, start, index)
            length = max(float(places[index - 1, 1] - places[start, 0]), 0.0)
            inside += (WHOLE if is_whole else BROKEN) * length
        if kinds[start] == "number" and _TWO_NUMBERS.search(text[start:index]):
            inside[:] = np.minimum(inside, LOOSE)
        if kinds[start] == "ideograph":
            inside[:, 1] = np.minimum(inside[:, 1], LOOSE)
        if index < len(kinds) and gap <= GAP and "blank" not in (kinds[index], kinds[index - 1]):
            prices[index] = min(CHANGE, BROKEN * float(places[-1, 1] - places[0, 0]))
        start = index
    return prices


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


def _cheapest(outside: Floats, prices: Floats, is_free: NDArray[np.bool_]) -> NDArray[np.int64]:
    """``(C,)`` cell of each character, by dynamic programming over the characters."""
    n_chars, n_cells = outside.shape
    best, came = outside[0], np.zeros((n_chars, n_cells), np.int64)
    either = (is_free[:, None] & is_free[None, :]).astype(int)
    for index in range(1, n_chars):
        cut = prices[index][either]
        np.fill_diagonal(cut, 0.0)
        total = best[:, None] + cut
        came[index] = total.argmin(axis=0)
        best = total.min(axis=0) + outside[index]
    owner = np.zeros(n_chars, np.int64)
    owner[-1] = best.argmin()
    for index in range(n_chars - 1, 0, -1):
        owner[index - 1] = came[index, owner[index]]
    return owner
