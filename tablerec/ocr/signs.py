"""Raised and lowered signs, and rows of hyphens: a recogniser is put right by the pixels.

"7¹,²" was read as "71,2", and "---" in small print as a dash, or as letters.

Each character of a word has its stroke in the crop; one that stands clear of the line on which the others before it
stand, and is smaller than they are, is raised. Where strokes and characters do not pair, nothing changes. What holds
flat strokes of one length side by side, and nothing else, is a row of hyphens.
"""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import pairwise
from statistics import median
from typing import TYPE_CHECKING

import numpy as np

from postprocess.geometry.boxes import quantile
from postprocess.geometry.runs import run_ends
from postprocess.raised import SUPERSCRIPTS, to_subscript, to_superscript
from tablerec.ocr.ink import LEAST_CONTRAST, ink_boxes
from tablerec.ocr.line import Line

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from postprocess.arrays import Image, Ints

SMALL = 0.8
"""A raised sign is lower than this share of the height of the digits and capitals before it ..."""
LIFTED = 0.22
"""... and this share of it above the line on which they stand."""
SUNK = 0.1
"""A lowered sign reaches this share below that line."""
HIGH_DASH, HIGH_COMMA = 0.5, 0.25
"""The middle of a raised minus, and of a raised comma, is this share above that line, that of others below it."""
X_HEIGHT = 0.72
"""Height of small letters, as a share of that of capitals."""
FLAT = 0.2
"""Height of a hyphen, at most, as a share of the line's; in small print it is two rows ..."""
LENGTHS = (1.4, 6.0)
"""... and so many times as long as high: shorter ones are dots, longer ones other dashes."""
ALIKE = 1.6
"""The longest of a row is at most so many times as long as the shortest ..."""
MOST_HYPHENS = 6
"""... and of more than so many it is a dashed rule."""
DIP = 0.85
"""Between two strokes there is less ink than this share of theirs."""
SPACED = 0.5
"""From this share of the distance of two strokes, the ground between them is a blank."""
HYPHENS_SCORE = 0.95
"""Of a row of hyphens: as often it is right in drawn print of 8 to 24 pixels."""

_DOTS = re.compile("[.…·:⋯]")
_RAISED = "".join(SUPERSCRIPTS.values())
_PLAIN = dict(zip(SUPERSCRIPTS.values(), SUPERSCRIPTS, strict=True)) | {"ª": "a"}
_TAIL = re.compile(r"(?<=[0-9A-Za-z)\]])[-+–−,.0-9a-z" + _RAISED + r"ª]*[0-9a-z" + _RAISED + r"ª](?=[)\]*:;%]*$)")
_TALL, _LOW = re.compile(r"[0-9A-Zbdfhkl]"), re.compile(r"[acemnorsuvwxz]")
_DIGIT = re.compile("[0-9ª⁰¹²³⁴⁵⁶⁷⁸⁹]")
_LOOSE_MINUS = re.compile("(?<=[0-9A-Za-z])[-–−](?=[⁰¹²³⁴⁵⁶⁷⁸⁹])")
_LOWERED = re.compile(r"(?<=[A-Za-z)\]])\d+")


def settle_raised(crop: Image, line: Line) -> Line:
    """Write the signs of a line as raised or lowered that are drawn so.

    Args:
        crop: ``(h, w, 3)`` uint8.
        line: What was read in it, with the places of its characters; without them it stays as it is.

    Returns:
        The line; the very same where nothing changes.
    """
    if line.char_spans is None or len(line.char_spans) != len(line.text) or not _may_hold(line.text):
        return line
    boxes: Ints | None = None
    text, spans = line.text, list(line.char_spans)
    for match in reversed(list(re.finditer(r"\S+", line.text))):
        if not _may_hold(match[0]):
            continue
        if boxes is None:
            boxes = _glyphs(ink_boxes(crop)[1])
        a, b = match.span()
        # A word reaches to the middle of the spaces around it: places of characters are rough.
        start = sum(spans[a - 1]) / 2 if a else 0.0
        end = sum(line.char_spans[b]) / 2 if b < len(line.text) else 1.0
        middles = (boxes[:, 0] + boxes[:, 2]) / 2 / crop.shape[1]
        inside = boxes[(middles >= start) & (middles <= end)]
        settled = _settle_word(match[0], inside)
        if settled is not None:
            kept, word = settled
            text = text[:a] + word + text[b:]
            spans[a:b] = [spans[a + index] for index in kept]
    return line if text == line.text else replace(line, text=text, char_spans=tuple(spans))


def settle_hyphens(crop: Image, line: Line) -> Line:
    """Write as many hyphens as there are flat strokes, where a line holds nothing else.

    Args:
        crop: ``(h, w, 3)`` uint8.
        line: What was read in it.

    Returns:
        The line; the very same where nothing was read in it, or there are other strokes, or fewer than two.

    >>> crop = np.full((12, 20, 3), 255, np.uint8)
    >>> crop[6:7, 3:6] = crop[6:7, 8:11] = crop[6:7, 13:16] = 0
    >>> settle_hyphens(crop, Line("mm=", 0.4)).text
    '---'
    """
    if not line.text.strip() or _DOTS.search(line.text) or not crop.size:
        return line
    strokes = _flat_strokes(crop)
    if len(strokes) < 2:
        return line
    middles, lengths = strokes.mean(axis=1), np.diff(strokes, axis=1)[:, 0]
    steps = np.diff(middles)
    blanks = [1.0 - float(lengths[i : i + 2].mean()) / step > SPACED for i, step in enumerate(steps.tolist())]
    text = "-" + "".join(" -" if blank else "-" for blank in blanks)
    if text == line.text:
        return line
    places = strokes / crop.shape[1]
    spans = [(float(places[0, 0]), float(places[0, 1]))]
    for (start, end), blank in zip(places[1:].tolist(), blanks, strict=True):
        spans += [(spans[-1][1], start), (start, end)] if blank else [(start, end)]
    return replace(line, text=text, score=max(line.score, HYPHENS_SCORE), char_spans=tuple(spans))


def _flat_strokes(crop: Image) -> NDArray[np.float64]:
    """``(N, 2)`` start and end in pixels of the hyphens of a crop; none where there is other ink."""
    none = np.empty((0, 2))
    green = crop[..., 1].astype(np.float64)
    contrast = np.abs(green - float(quantile(green.ravel(), 0.5)))
    most = float(contrast.max(initial=0))
    edges = run_ends(np.asarray(np.any(contrast > max(LEAST_CONTRAST, 0.4 * most), axis=1)))
    if len(edges) != 2 or edges[1] - edges[0] > max(2, FLAT * len(crop)):
        return none
    # A thin stroke between two rows has a part of its ink in each.
    profile = contrast[max(0, edges[0] - 1) : edges[1] + 1].sum(axis=0)
    thick = float(profile.max()) / most
    bounds = _between_dips(profile)
    strokes = np.array([_extent(profile, first, last) for first, last in pairwise(bounds)]).reshape(-1, 2)
    lengths = np.diff(strokes, axis=1)[:, 0]
    is_row = 2 <= len(strokes) <= MOST_HYPHENS and lengths.max() <= ALIKE * lengths.min()
    is_flat = is_row and LENGTHS[0] * thick <= lengths.mean() <= LENGTHS[1] * thick
    return strokes if is_flat else none


def _between_dips(profile: NDArray[np.float64]) -> list[int]:
    """Columns between which each stroke lies: the deepest place of each dip, and both ends."""
    bounds, peak, low = [0], 0.0, 0
    for x, ink in enumerate(profile.tolist()):
        if ink < profile[low]:
            low = x
        if profile[low] < DIP * min(peak, ink) and ink > 0.5 * profile.max():
            bounds.append(low)
            peak, low = ink, x
        if ink > peak:
            peak, low = ink, x
    return [*bounds, len(profile)]


def _extent(profile: NDArray[np.float64], first: int, last: int) -> tuple[float, float]:
    """Start and end of a stroke: as long as its ink would be if it were as dark everywhere, around its middle."""
    ink = profile[first:last]
    length = float(ink.sum() / ink.max())
    middle = float((ink * np.arange(first, last)).sum() / ink.sum()) + 0.5
    return middle - length / 2, middle + length / 2


def _may_hold(text: str) -> bool:
    return bool(_DIGIT.search(text)) and any(char.isalnum() for char in text[:-1])


def _glyphs(boxes: Ints) -> Ints:
    """``(N, 4)`` boxes from left to right; strokes above one another, as those of an i, are one."""
    glyphs: list[list[int]] = []
    for x0, y0, x1, y1 in sorted(boxes.tolist()):
        last = glyphs[-1] if glyphs else None
        if last is not None and min(x1, last[2]) - x0 > 0.5 * min(x1 - x0, last[2] - last[0]):
            glyphs[-1] = [last[0], min(last[1], y0), max(last[2], x1), max(last[3], y1)]
        else:
            glyphs.append([x0, y0, x1, y1])
    return np.array(glyphs, np.int64).reshape(-1, 4)


def _settle_word(word: str, glyphs: Ints) -> tuple[list[int], str] | None:
    """Which characters of a word are kept and how they are written; None where nothing changes."""
    kept = _with_strokes(word, len(glyphs))
    plain = "".join(_PLAIN.get(word[index], word[index]) for index in kept)
    was = "".join(word[index] for index in kept)
    written = _lower(_raise(was, plain, glyphs), plain, glyphs) if len(glyphs) == len(kept) else was
    if written == was:
        kept, written = list(range(len(word))), word
    written = re.sub(r"(?<=\d)ª", "ᵃ", _LOOSE_MINUS.sub("⁻", written))
    return (kept, written) if written != word else None


def _with_strokes(word: str, n_strokes: int) -> list[int]:
    """Characters that may have a stroke: a recogniser also writes "10^4", "CO{2" and "10-³3" for what is raised."""
    kept = list(range(len(word)))
    signs = [index for index in kept if word[index] in "^{}_"]
    doubles = [
        i
        for i in kept[1:]
        if word[i - 1] != word[i] and _PLAIN.get(word[i - 1], word[i - 1]) == _PLAIN.get(word[i], word[i])
    ]
    for extra in (signs, doubles[:1]):
        if extra and n_strokes == len(word) - len(extra):
            return [index for index in kept if index not in extra]
    return kept


def _raise(was: str, plain: str, glyphs: Ints) -> str:
    """Raise the signs at the end of a word that are drawn raised; those read as raised stay so."""
    first = len(plain)
    tail = _TAIL.search(was)
    if tail is None:
        return was
    start, end = tail.span()
    for index in range(end - 1, start - 1, -1):
        if not _stands_high(plain, glyphs, index, was[index] != plain[index]):
            break
        first = index
    while first < end and plain[first] in ",.":
        first += 1
    if first >= end or plain[first - 1] in ",.-+–−":
        return was
    if plain[first:end] in ("o", "0") and _is_round(glyphs[first]):
        return was[:first] + "°" + was[end:]
    return was[:first] + to_superscript(plain[first:end]) + was[end:]


def _reference(plain: str, glyphs: Ints, index: int) -> tuple[float, float, float] | None:
    """Height of the digits and capitals before a character, the line on which they stand, and their top.

    Small letters take their place where there are none.
    """
    tall = [at for at in range(index) if _TALL.match(plain[at])]
    low = [at for at in range(index) if _LOW.match(plain[at])]
    if not tall and not low:
        return None
    share, before = (1.0, tall) if tall else (X_HEIGHT, low)
    heights = glyphs[before, 3] - glyphs[before, 1]
    used = np.array(before)[heights >= SMALL * heights.max()][-3:]
    top, bottom = float(median(glyphs[used, 1].tolist())), float(median(glyphs[used, 3].tolist()))
    height = (bottom - top) / share
    return height, bottom, bottom - height


def _stands_high(plain: str, glyphs: Ints, index: int, read_so: bool) -> bool:
    found = _reference(plain, glyphs, index)
    if found is None:
        return False
    height, base, top = found
    _, y0, _, y1 = glyphs[index].tolist()
    if plain[index] in ",.-+–−":
        return base - (y0 + y1) / 2 > (HIGH_COMMA if plain[index] in ",." else HIGH_DASH) * height
    if read_so:
        return y1 < base - LIFTED / 2 * height
    return y1 - y0 < SMALL * height and y1 < base - LIFTED * height and y0 < top + LIFTED * height


def _is_round(glyph: Ints) -> bool:
    x0, y0, x1, y1 = glyph.tolist()
    return bool(x1 - x0 > 0.85 * (y1 - y0))


def _lower(text: str, plain: str, glyphs: Ints) -> str:
    """Lower the digits behind a letter that are drawn lowered."""
    for match in _LOWERED.finditer(text):
        if all(_stands_low(plain, glyphs, index) for index in range(*match.span())):
            text = text[: match.start()] + to_subscript(match[0]) + text[match.end() :]
    return text


def _stands_low(plain: str, glyphs: Ints, index: int) -> bool:
    found = _reference(plain, glyphs, index)
    if found is None:
        return False
    height, base, _ = found
    _, y0, _, y1 = glyphs[index].tolist()
    return bool(y1 - y0 < SMALL * height and y1 > base + SUNK * height and y0 > base - 0.7 * height)
