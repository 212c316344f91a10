"""Fonts for ``writer``: each knows its widths, its codes for texts, and its objects in a file."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Protocol

import cv2
import numpy as np
import reportlab
from PIL import ImageFont
from reportlab.pdfbase.pdfmetrics import stringWidth
from reportlab.pdfbase.ttfonts import TTFontFile

from tests.benchmarks.pdfs.writer import Pdf, hexadecimal, unicode_map

VERA = Path(reportlab.__file__).parent / "fonts" / "Vera.ttf"
"""Latin letters only; comes with reportlab, so it is always there."""
_FOLDERS = ("/usr/share/fonts", "/usr/local/share/fonts", "/Library/Fonts", "C:/Windows/Fonts", sys.prefix)


@lru_cache
def find_dejavu() -> Path | None:
    """Return DejaVu Sans, which has Hebrew, Arabic and all raised signs; matplotlib brings it too."""
    return next((path for folder in _FOLDERS for path in Path(folder).rglob("DejaVuSans.ttf")), None)


class Font(Protocol):
    """What the layout and the operators ask for."""

    name: str

    def width(self, text: str, size: float) -> float:
        """Width of a text in points."""

    def codes(self, text: str) -> str:
        """The operand of Tj for a text."""

    def add_to(self, pdf: Pdf) -> int:
        """Add the font's objects and return the number of the font."""


@dataclass(frozen=True)
class Helvetica:
    """One of the 14 fonts that every viewer has: not embedded."""

    name: str = "F1"
    base: str = "Helvetica"

    def width(self, text: str, size: float) -> float:
        """Width of a text in points."""
        return float(stringWidth(text, self.base, size))

    def codes(self, text: str) -> str:
        """The operand of Tj for a text."""
        return hexadecimal(text.encode("cp1252"), 2)

    def add_to(self, pdf: Pdf) -> int:
        """Add the font's objects and return the number of the font."""
        return pdf.add(f"<< /Type /Font /Subtype /Type1 /BaseFont /{self.base} /Encoding /WinAnsiEncoding >>")


@lru_cache
def _face(path: Path) -> TTFontFile:
    return TTFontFile(str(path))


Mapper = Callable[[str], str]


@dataclass(frozen=True)
class TrueType:
    """An embedded TrueType font with glyph numbers as codes (Identity-H).

    Args:
        path: The font.
        says: What ToUnicode says of a character; None where the file has no ToUnicode.
        name: Name in the resources.
    """

    path: Path = VERA
    says: Mapper | None = str
    name: str = "F2"
    used: dict[int, str] = field(default_factory=dict, compare=False)

    def width(self, text: str, size: float) -> float:
        """Width of a text in points."""
        face = _face(self.path)
        return sum(face.charWidths.get(ord(each), face.defaultWidth) for each in text) * size / 1000

    def codes(self, text: str) -> str:
        """The operand of Tj for a text."""
        face = _face(self.path)
        missing = {each for each in text if ord(each) not in face.charToGlyph}
        if missing:
            raise ValueError(f"{self.path.name} has no {missing}")
        glyphs = [face.charToGlyph[ord(each)] for each in text]
        self.used.update(zip(glyphs, text, strict=True))
        return hexadecimal(glyphs, 4)

    def add_to(self, pdf: Pdf) -> int:
        """Add the font's objects and return the number of the font; after all texts are encoded."""
        face, base = _face(self.path), self.path.stem
        raw = self.path.read_bytes()
        file = pdf.stream(raw, f"/Length1 {len(raw)}")
        box = " ".join(f"{value:.0f}" for value in face.bbox)
        descriptor = pdf.add(
            f"<< /Type /FontDescriptor /FontName /{base} /Flags 4 /FontBBox [{box}] /ItalicAngle 0"
            f" /Ascent {face.ascent:.0f} /Descent {face.descent:.0f} /CapHeight 730 /StemV 80 /FontFile2 {file} 0 R >>"
        )
        widths = " ".join(f"{glyph} [{self.width(text, 1000):.0f}]" for glyph, text in sorted(self.used.items()))
        descendant = pdf.add(
            f"<< /Type /Font /Subtype /CIDFontType2 /BaseFont /{base} /CIDToGIDMap /Identity"
            f" /CIDSystemInfo << /Registry (Adobe) /Ordering (Identity) /Supplement 0 >>"
            f" /FontDescriptor {descriptor} 0 R /DW 600 /W [{widths}] >>"
        )
        extra = ""
        if self.says is not None:
            meanings = {glyph: self.says(text) for glyph, text in self.used.items()}
            extra = f"/ToUnicode {pdf.stream(unicode_map(meanings, 4))} 0 R"
        return pdf.add(
            f"<< /Type /Font /Subtype /Type0 /BaseFont /{base} /Encoding /Identity-H"
            f" /DescendantFonts [{descendant} 0 R] {extra} >>"
        )


@lru_cache
def outline(text: str, path: Path = VERA) -> str:
    """Return the path of a text, 1000 units high, baseline at 0, to be filled by the even-odd rule (f*)."""
    font = ImageFont.truetype(str(path), 500)
    mask, (left, top) = font.getmask2(text, mode="L")
    width, height = mask.size
    if not width or not height:
        return ""
    pixels = np.pad(np.array(mask, np.uint8).reshape(height, width), 1)
    contours, _ = cv2.findContours((pixels > 127).astype(np.uint8), cv2.RETR_CCOMP, cv2.CHAIN_APPROX_TC89_L1)
    baseline = font.getmetrics()[0]
    parts = []
    for contour in contours:
        points = contour[:, 0].astype(float)
        points = np.stack([points[:, 0] - 0.5 + left, baseline - top - points[:, 1] + 0.5], axis=1) * 2
        first, *others = [f"{x:.0f} {y:.0f}" for x, y in points]
        parts.append(f"{first} m {' '.join(f'{each} l' for each in others)} h")
    return "\n".join(parts)


def bounds(path: str) -> str:
    """Return the box of an outline, as the operator d1 takes it.

    >>> bounds("0 0 m\\n10 20 l h")
    '0 0 10 20'
    """
    numbers = [int(each) for each in path.split() if each.lstrip("-").isdigit()]
    xs, ys = numbers[::2] or [0], numbers[1::2] or [0]
    return f"{min(xs)} {min(ys)} {max(xs)} {max(ys)}"


@dataclass(frozen=True)
class Type3:
    """A font whose glyphs are drawn by operators.

    Args:
        says: What ToUnicode says of a character; None where the file has no ToUnicode.
        glyph_names: Names that say what a glyph is (``uni0041``), or plain numbers that say nothing.
        tight: Whether each glyph tells its own box, or one box for all.
        name: Name in the resources.
    """

    says: Mapper | None = str
    glyph_names: bool = True
    tight: bool = True
    name: str = "F3"
    used: dict[str, int] = field(default_factory=dict, compare=False)

    def width(self, text: str, size: float) -> float:
        """Width of a text in points."""
        return TrueType().width(text, size)

    def codes(self, text: str) -> str:
        """The operand of Tj for a text; codes are given in the order of first use."""
        return hexadecimal([self.used.setdefault(each, len(self.used) + 1) for each in text], 2)

    def add_to(self, pdf: Pdf) -> int:
        """Add the font's objects and return the number of the font; after all texts are encoded."""
        names, glyphs, widths = [], {}, []
        for text, code in self.used.items():
            width = self.width(text, 1000)
            names.append(f"uni{ord(text):04X}" if self.glyph_names else f"g{code}")
            path = outline(text)
            box = bounds(path) if self.tight else "-200 -300 1300 1000"
            glyphs[names[-1]] = pdf.stream(f"{width:.0f} 0 {box} d1\n{path} f*\n")
            widths.append(f"{width:.0f}")
        procedures = " ".join(f"/{name} {number} 0 R" for name, number in glyphs.items())
        extra = ""
        if self.says is not None:
            meanings = {code: self.says(text) for text, code in self.used.items()}
            extra = f"/ToUnicode {pdf.stream(unicode_map(meanings, 2))} 0 R"
        return pdf.add(
            f"<< /Type /Font /Subtype /Type3 /FontBBox [-200 -300 1300 1000] /FontMatrix [0.001 0 0 0.001 0 0]"
            f" /CharProcs << {procedures} >> /Encoding << /Type /Encoding /Differences [1"
            f" {' '.join('/' + name for name in names)}] >> /FirstChar 1 /LastChar {len(names)}"
            f" /Widths [{' '.join(widths)}] /Resources << >> {extra} >>"
        )


def fonts_of(fonts: Mapping[str, Font], pdf: Pdf) -> dict[str, int]:
    """Add fonts and return their numbers by name."""
    return {name: font.add_to(pdf) for name, font in fonts.items()}
