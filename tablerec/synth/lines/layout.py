"""From words to ink: fonts, raised signs and boxes on one line."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from random import Random
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from postprocess.raised import SUBSCRIPTS, SUPERSCRIPTS
from tablerec.synth.drawing.fonts import Script
from tablerec.synth.lines.typefaces import Split, Typeface, open_font, typefaces
from tablerec.synth.lines.wording import Word

Mask = NDArray[np.uint8]

_PLAIN = {raised: plain for plain, raised in SUPERSCRIPTS.items()} | {
    lowered: plain for plain, lowered in SUBSCRIPTS.items()
}
_LOWERED = frozenset(SUBSCRIPTS.values())
_DAGGERS = "†‡§"
BOXES = "☐☑☒✓✗■○●◎"
"""Signs that are drawn as shapes at times."""

_OVERSAMPLED = 4


class Ink(NamedTuple):
    """A drawn line.

    Args:
        mask: ``(h, w)`` uint8, cut to the ink; 255 is full.
        baseline: Row of the mask, which may lie outside, on which letters stand.
        em: Size of the font, px of the mask.
    """

    mask: Mask
    baseline: int
    em: float


@dataclass(frozen=True, slots=True)
class Setting:
    """How a line is set.

    Args:
        face: Font of most characters.
        others: Fonts for what it lacks, the first that has a character.
        size: px.
        space: Width of a blank, em.
        tracking: What is added between characters, em.
        raises: Whether raised signs are small digits, not the font's own signs.
        shapes: Whether boxes are drawn as shapes, not as signs of a font.
        small: Size of raised signs, as a share of the others.
        lift: How far they are raised, em ...
        drop: ... and others are lowered.
        stacked: Whether characters stand below one another.
    """

    face: Typeface
    others: tuple[Typeface, ...]
    size: int
    space: float = 0.27
    tracking: float = 0
    raises: bool = False
    shapes: bool = False
    small: float = 0.62
    lift: float = 0.36
    drop: float = 0.16
    stacked: bool = False


class _Piece(NamedTuple):
    text: str
    face: Typeface | None
    scale: float
    rise: float
    leftward: bool


def lay_out(words: Sequence[Word], setting: Setting, rng: Random) -> Ink:
    """Draw words side by side.

    >>> from tablerec.synth.lines.wording import to_words
    >>> ink = lay_out(to_words("Total 12"), Setting(typefaces("latin")[0], (), 20), Random(0))
    >>> ink.mask.dtype, 8 < ink.baseline < 30
    (dtype('uint8'), True)
    """
    parts: list[tuple[Mask, float, float]] = []
    pen = 0.0
    gap, extra = setting.space * setting.size, setting.tracking * setting.size
    for number, word in enumerate(words):
        pen += gap + 1.5 * extra if number else 0
        for piece in _pieces(word, setting):
            for text in piece.text if (extra or setting.stacked) and not piece.leftward else [piece.text]:
                mask, left, top, advance = _draw(piece._replace(text=text), setting, rng)
                if setting.stacked:
                    parts.append((mask, (setting.size - mask.shape[1]) / 2, pen + setting.size * 0.85 + top))
                    pen += setting.size * 1.05 + extra
                else:
                    parts.append((mask, pen + left, top))
                    pen += advance + extra
    return _put_together(parts, setting.size)


def _put_together(parts: Sequence[tuple[Mask, float, float]], size: int) -> Ink:
    placed = [(mask, round(x), round(y)) for mask, x, y in parts if mask.size]
    if not placed:
        return Ink(np.zeros((size, size), np.uint8), size, size)
    left, top = min(x for _, x, _ in placed), min(y for _, _, y in placed)
    right = max(x + mask.shape[1] for mask, x, _ in placed)
    bottom = max(y + mask.shape[0] for mask, _, y in placed)
    canvas = np.zeros((bottom - top, right - left), np.uint8)
    for mask, x, y in placed:
        target = canvas[y - top : y - top + mask.shape[0], x - left : x - left + mask.shape[1]]
        np.maximum(target, mask, out=target)
    rows, columns = np.flatnonzero(canvas.any(axis=1)), np.flatnonzero(canvas.any(axis=0))
    if not len(rows):
        return Ink(np.zeros((size, size), np.uint8), size, size)
    cut = canvas[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1]
    return Ink(cut, -top - int(rows[0]), size)


def reshape(ink: Ink, rng: Random) -> Ink:
    """Give letters other proportions, as another font has them: narrow or wide, high or low above and below.

    >>> ink = Ink(np.full((30, 40), 255, np.uint8), 24, 30.0)
    >>> 0.7 < reshape(ink, Random(0)).mask.shape[0] / 30 < 1.4
    True
    """
    import cv2

    height, width = ink.mask.shape
    middle = min(height, max(0, round(ink.baseline - rng.uniform(0.25, 0.5) * ink.em)))
    foot = min(height, max(middle, ink.baseline))
    wide = max(1, round(width * rng.uniform(0.75, 1.35)))
    parts, tops = [], [0]
    for first, last in ((0, middle), (middle, foot), (foot, height)):
        tall = max(1, round((last - first) * rng.uniform(0.78, 1.3))) if last > first else 0
        tops.append(tops[-1] + tall)
        if tall:
            parts.append(cv2.resize(ink.mask[first:last], (wide, tall), interpolation=cv2.INTER_AREA))
    baseline = tops[2] + (ink.baseline - foot)
    return Ink(np.concatenate(parts), baseline, ink.em)


def _pieces(word: Word, setting: Setting) -> list[_Piece]:
    """Split a word where the font, the size or the height changes."""
    if word.leftward:
        return [_Piece(word.drawn, _face_for(word.drawn.strip("()"), setting), 1, 0, leftward=True)]
    pieces: list[_Piece] = []
    for index, char in enumerate(word.drawn):
        piece = _piece(char, word.drawn[index - 1 : index], word.drawn[index + 1 : index + 2], setting)
        if pieces and pieces[-1][1:] == piece[1:] and piece.face:
            pieces[-1] = pieces[-1]._replace(text=pieces[-1].text + piece.text)
        else:
            pieces.append(piece)
    return pieces


def _piece(char: str, before: str, after: str, setting: Setting) -> _Piece:
    if char in BOXES and (setting.shapes or not any(face.covers(char) for face in (setting.face, *setting.others))):
        return _Piece(char, None, 1, 0, leftward=False)
    plain = _PLAIN.get(char)
    if char == "," and before in _PLAIN and after in _PLAIN:
        plain = ","
    if plain and (setting.raises or not setting.face.covers(char) or plain == ","):
        rise = -setting.drop if char in _LOWERED or (plain == "," and before in _LOWERED) else setting.lift
        return _Piece(plain, _face_for(plain, setting), setting.small, rise, leftward=False)
    if char in _DAGGERS and before and setting.raises:
        return _Piece(char, _face_for(char, setting), setting.small, setting.lift, leftward=False)
    return _Piece(char, _face_for(char, setting), 1, 0, leftward=False)


def _face_for(text: str, setting: Setting) -> Typeface:
    for face in (setting.face, *setting.others):
        if face.covers(text):
            return face
    return fallback(text) or setting.face


@lru_cache(maxsize=4096)
def fallback(text: str) -> Typeface | None:
    """Return a font of training that can write a text; None where there is none."""
    scripts: tuple[Script, ...] = ("latin", "chinese", "kana", "arabic", "hebrew")
    found = (face for script in scripts for face in typefaces(script) if face.covers(text))
    return next(found, None)


def _draw(piece: _Piece, setting: Setting, rng: Random) -> tuple[Mask, float, float, float]:
    """Return a piece, where it lies right of and below the pen, and how far the pen moves."""
    size = max(4, round(setting.size * piece.scale))
    if piece.face is None:
        return _draw_shape(piece.text, size, rng)
    font = open_font(piece.face.face, size, shaped=True)
    is_shaped = hasattr(font, "layout_engine") and font.layout_engine == 1
    direction = ("rtl" if piece.leftward else "ltr") if is_shaped else None
    core, (left, top) = font.getmask2(piece.text, "L", direction=direction, anchor="ls")
    width, height = core.size
    mask = np.frombuffer(bytes(core), np.uint8).reshape(height, width)
    advance = font.getlength(piece.text, direction=direction)
    return mask, left, top - piece.rise * setting.size, advance


def _draw_shape(sign: str, size: int, rng: Random) -> tuple[Mask, float, float, float]:
    """Draw a box, a circle, a tick or a cross."""
    import cv2

    side = rng.uniform(0.75 if sign == "●" else 0.55, 1.0) * size  # a smaller disc is a bullet
    pad = 0.3 * side
    scale = _OVERSAMPLED
    canvas = np.zeros((math.ceil((side + 2 * pad) * scale), math.ceil((side + 2 * pad) * scale)), np.uint8)
    line = max(scale * 0.8, rng.choice((0.05, 0.07, 0.09, 0.13)) * side * scale)
    thick, low, high = max(1, round(line)), round(pad * scale), round((pad + side) * scale)
    shape = {"☑": "☐", "☒": "☐"}.get(sign, sign)
    if shape in "☐■":
        corner = (high, high if rng.random() < 0.85 else round(low + (high - low) * rng.uniform(0.75, 1.2)))
        cv2.rectangle(canvas, (low, low), corner, 255, -1 if shape == "■" else thick)
    elif shape in "○●◎":
        middle, radius = (low + high) // 2, (high - low) // 2
        cv2.circle(canvas, (middle, middle), radius, 255, -1 if shape == "●" else thick)
        if shape == "◎":
            cv2.circle(canvas, (middle, middle), round(radius * rng.uniform(0.4, 0.6)), 255, rng.choice((-1, thick)))
    if sign in "☑✓":
        _tick(canvas, low, high, thick, rng)
    elif sign in "☒✗":
        _cross(canvas, low, high, thick, rng)
    small = cv2.resize(canvas, None, fx=1 / scale, fy=1 / scale, interpolation=cv2.INTER_AREA)
    below = rng.uniform(-0.05, 0.12) * size
    # What follows without a blank is near, so that a blank can be seen.
    return np.asarray(small, np.uint8), -pad * 0.8, below - side - pad, side + rng.uniform(0.08, 0.16) * size


def _tick(canvas: Mask, low: int, high: int, thick: int, rng: Random) -> None:
    import cv2

    side = high - low

    def at(x: float, y: float) -> tuple[int, int]:
        return round(low + side * (x + rng.uniform(-0.06, 0.06))), round(low + side * (y + rng.uniform(-0.06, 0.06)))

    over = rng.choice((0.0, 0.0, 0.15, 0.25))
    points = np.array([at(0.15, 0.55), at(0.42, 0.85), at(0.88 + over, 0.12 - over)], np.int32)
    cv2.polylines(canvas, [points], isClosed=False, color=255, thickness=round(thick * rng.uniform(1, 1.8)))


def _cross(canvas: Mask, low: int, high: int, thick: int, rng: Random) -> None:
    import cv2

    inset = rng.choice((0.0, 0.12, 0.2, -0.1)) * (high - low)
    first, last = round(low + inset), round(high - inset)
    slip = round(rng.uniform(-0.08, 0.08) * (high - low))
    width = round(thick * rng.uniform(1, 1.6))
    cv2.line(canvas, (first, first), (last, last + slip), 255, width)
    cv2.line(canvas, (last, first + slip), (first, last), 255, width)


def choose_others(text: str, face: Typeface, split: Split, rng: Random) -> tuple[Typeface, ...]:
    """Return fonts for the characters that a font lacks, most often one for all of them."""
    missing = "".join(char for char in dict.fromkeys(text) if not face.covers(char) and char not in _PLAIN)
    if not missing:
        return ()
    is_wide = any(char >= "\u2e80" for char in missing)
    pool = typefaces("chinese" if is_wide else "latin", split)
    tried = [pool[rng.randrange(len(pool))] for _ in range(12)]
    return tuple(sorted(tried, key=lambda other: -sum(other.covers(char) for char in missing))[:2])
