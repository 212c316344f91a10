"""Fonts for lines, by script, apart for training and for measuring."""

from __future__ import annotations

import zlib
from functools import lru_cache
from typing import Any, Literal

from tablerec.synth.drawing.fonts import Face, Family, Script, find_families

Split = Literal["train", "unseen"]
"""Fonts and effects of training, or such as no training has seen."""

_UNSEEN_OF, _SALT = 7, 282
"""Of so many families one is unseen; the salt is one that leaves fonts of all scripts on both sides."""

# Too odd for a document, of small capitals, or with signs of another shape than Unicode says.
_ODD = (
    "caliban", "caslon", "cupola", "gwmonospace", "domestic manners", "penguin", "monofur", "purisa", "rashi", "stam ",
    "shado", "kacsttitle", "kacstart", "kacstdig", "kacstpos", "kacstdec", "almanzomah", "ostorah", "tarablus", "quran",
    "nastaliq", "devanagari", " caps", "homa", "nazli", "titr", "japan", "unslanted", "dunhill", "dustismo", "granada",
    "cmu classical", "upright italic", "sindbad", "graph", "electron", "kayrawan", "mashq", "nagham", "ouhod", "petra",
    "rehan", "sharjah", "dimnah", "arab", "hor", "alhor", "jet", "hani", "nice", "metal", "abogado",
)  # fmt: skip
# Of a collection that differs by region, one is enough; its other members write the same characters otherwise.
_REGIONAL = ("CJK HK", "CJK KR", "CJK TC", "UKai HK", "UKai TW", "UMing HK", "UMing TW", "WenQuanYi Zen Hei Sharp")


class Typeface:
    """A font of any size, and what it can write.

    Args:
        family: Name of its family.
        face: Where it is.

    >>> face = typefaces("latin")[0]
    >>> face.covers("Aa0 "), face.covers(chr(0x10FFFD))
    (True, False)
    """

    def __init__(self, family: str, face: Face) -> None:
        self.family = family
        self.face = face
        self._has: dict[str, bool] = {" ": True}
        self._probe: tuple[Any, bytes] | None = None

    def covers(self, text: str) -> bool:
        """Whether each character has a glyph of its own."""
        known = self._has
        return all(known[char] if char in known else self._look(char) for char in text)

    def _look(self, char: str) -> bool:
        if self._probe is None:
            font = open_font(self.face, 16, shaped=False)
            self._probe = font, bytes(font.getmask("\U0010fffd"))
        font, missing = self._probe
        drawn = bytes(font.getmask(char))
        found = self._has[char] = bool(drawn) and drawn != missing
        return found


@lru_cache(maxsize=600)
def open_font(face: Face, size: int, *, shaped: bool) -> Any:
    """Return Pillow's font of a face.

    Args:
        face: Where it is.
        size: px.
        shaped: Whether letters are joined and set closer, as the font says and where Pillow can.
    """
    from PIL import ImageFont

    if not face.path:
        return ImageFont.load_default(size)
    layout = ImageFont.Layout.RAQM if shaped and can_shape() else ImageFont.Layout.BASIC
    return ImageFont.truetype(face.path, size, index=face.index, layout_engine=layout)


@lru_cache(maxsize=1)
def can_shape() -> bool:
    """Whether Pillow can join Arabic letters."""
    from PIL import features

    return bool(features.check("raqm"))


def is_unseen(family: str) -> bool:
    """Whether no training sees a family; related families, such as Noto Sans and Noto Sans Mono, go together.

    >>> is_unseen("Noto Sans CJK SC") == is_unseen("Noto Sans Hebrew")
    True
    """
    return zlib.crc32(f"{_SALT} {' '.join(family.lower().split()[:2])}".encode()) % _UNSEEN_OF == 0


@lru_cache(maxsize=32)
def typefaces(script: Script, split: Split = "train") -> tuple[Typeface, ...]:
    """Return the regular fonts for a script: all of this machine where none belongs to the split.

    Never empty: without any font for the script, those for Latin, and the font inside Pillow at last.
    """
    wanted = [family for family in _families() if script in family.scripts]
    chosen = [family for family in wanted if is_unseen(family.name) == (split == "unseen")] or wanted
    if not chosen and script != "latin":
        return typefaces("latin", split)
    return tuple(typeface(family, bold=False, italic=False) for family in chosen or find_families())


def weighted(face: Typeface, *, bold: bool, italic: bool) -> Typeface:
    """Return the bold or italic font of the same family, or what comes closest."""
    family = next((family for family in _families() if family.name == face.family), None)
    return typeface(family, bold=bold, italic=italic) if family else face


@lru_cache(maxsize=2048)
def typeface(family: Family, *, bold: bool, italic: bool) -> Typeface:
    """Return a font of a family, the same object each time."""
    return Typeface(family.name, family.face(bold, italic))


@lru_cache(maxsize=1)
def _families() -> tuple[Family, ...]:
    found = find_families()
    return tuple(
        family for family in found if not _is_odd(family.name) and not any(word in family.name for word in _REGIONAL)
    )


def _is_odd(name: str) -> bool:
    words = name.lower()
    return words in _ODD or any(len(odd) >= 5 and odd in words for odd in _ODD)
