"""Characters as small pictures: measured and drawn once, then reused."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tablerec.synth.description import TextStyle
from tablerec.synth.drawing.fonts import Face, families_for, family_by_name, find_families

Bitmap = tuple[NDArray[np.uint8], int, int]
"""Coverage ``(h, w)`` from 0 to 255, and where its first pixel lies right of and below the pen (negative: above)."""

_PHASES = 3
"""Horizontal positions of a glyph within a pixel that are told apart."""


class Font:
    """One font at one size.

    Args:
        family: Name of the family.
        size: px.
        bold: Whether the weight is bold.
        italic: Whether it is slanted.

    >>> font = Font.of(TextStyle("Sans", 12))
    >>> font.width("10") == font.advance("1") + font.advance("0")
    True
    """

    def __init__(self, family: str, size: float, bold: bool, italic: bool) -> None:
        self.size = size
        found = family_by_name(family)
        face = found.face(bold, italic)
        self.is_bold_drawn = bold and not face.bold
        self._font = _open(face, size)
        self._flavor = found.flavor
        self._missing = bytes(self._font.getmask("\U0010fffd"))
        self._advances = _Advances(self)
        self._bitmaps: dict[tuple[str, int], Bitmap] = {}
        self._others: dict[str, Any] = {}
        ascent, descent = self._font.getmetrics()
        self.ascent = min(float(ascent), 1.1 * size)
        self.descent = min(float(descent), 0.35 * size)

    @staticmethod
    def of(style: TextStyle, scale: float = 1) -> Font:
        """Return the font of a style, the same object for the same font."""
        return _font(style.family, max(4.0, round(style.size * scale * 4) / 4), style.bold, style.italic)

    def advance(self, character: str) -> float:
        """Return how far the pen moves, px."""
        return self._advances[character]

    def width(self, text: str) -> float:
        """Return how far the pen moves over a text, px."""
        return sum(map(self._advances.__getitem__, text))

    def bitmap(self, character: str, x: float) -> tuple[Bitmap, int]:
        """Return the picture of a character for a pen at ``x``, and the pixel to which its offset counts."""
        at, phase = divmod(round(x * _PHASES), _PHASES)
        found = self._bitmaps.get((character, phase))
        if found is None:
            found = self._bitmaps[character, phase] = self._draw(character, phase / _PHASES)
        return found, at

    def _draw(self, character: str, shift: float) -> Bitmap:
        mask, (left, top) = self._source(character).getmask2(character, "L", anchor="ls", start=(shift, 0))
        width, height = mask.size
        pixels = np.frombuffer(bytes(mask), np.uint8).reshape(height, width)
        rows, columns = np.flatnonzero(pixels.any(axis=1)), np.flatnonzero(pixels.any(axis=0))
        if not len(rows):
            return np.zeros((0, 0), np.uint8), 0, 0
        y, x = int(rows[0]), int(columns[0])
        pixels = pixels[y : rows[-1] + 1, x : columns[-1] + 1]
        if self.is_bold_drawn:
            pixels = np.pad(pixels, ((0, 0), (0, 1)))
            pixels[:, 1:] = np.maximum(pixels[:, 1:], pixels[:, :-1])
        return pixels, left + x, top + y

    def _source(self, character: str) -> Any:
        """Return the font, or another one where it lacks the character."""
        if character < "\x7f":
            return self._font
        found = self._others.get(character)
        if found is None:
            found = self._font
            if bytes(found.getmask(character)) in (self._missing, b"") and not character.isspace():
                found = _replacement(character, self._flavor, self.size) or found
            self._others[character] = found
        return found


class _Advances(dict[str, float]):
    """How far the pen of a font moves for each character, measured when first asked for."""

    def __init__(self, font: Font) -> None:
        self._font = font

    def __missing__(self, character: str) -> float:
        length = float(self._font._source(character).getlength(character))
        # Hinting can round the space of a narrow font down to nothing.
        self[character] = max(length, 0.22 * self._font.size) if character == " " else length
        return self[character]


@lru_cache(maxsize=128)
def _font(family: str, size: float, bold: bool, italic: bool) -> Font:
    return Font(family, size, bold, italic)


@lru_cache(maxsize=256)
def _open(face: Face, size: float) -> Any:
    from PIL import ImageFont

    if not face.path:
        return ImageFont.load_default(size)
    return ImageFont.truetype(face.path, size, index=face.index, layout_engine=ImageFont.Layout.BASIC)


@lru_cache(maxsize=4096)
def _replacement(character: str, flavor: str, size: float) -> Any:
    candidates = [*families_for("latin"), *(family for family in find_families() if "traditional" in family.scripts)]
    candidates.sort(key=lambda family: (family.flavor != flavor, not family.name.startswith("DejaVu")))
    for family in candidates:
        font = _open(family.face(bold=False, italic=False), size)
        if bytes(font.getmask(character)) not in (bytes(font.getmask("\U0010fffd")), b""):
            return font
    return None
