"""Drawn crops of lines in many scripts, to train and to measure ``tablerec.ocr.script`` with."""

from __future__ import annotations

import subprocess
import unicodedata
import zlib
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import cv2
import numpy as np

from postprocess.arrays import Image
from tablerec.ocr.script import CLASSES, NONE, NUMBER

LANGUAGES = {
    "Latin": "en de fr es it pt nl sv da nb fi pl cs sk hu ro hr sl lt lv et tr vi id ms sw is ga cy eu ca sq az",
    "Chinese or Japanese": "zh zh zh_Hant ja ja",
    "Greek": "el",
    "Cyrillic": "ru ru ru ru uk uk bg sr mk be kk ky mn tg",
    "Korean": "ko",
    "Arabic": "ar ar ar fa ur ps",
    "Hebrew": "he he he yi",
    "Thai": "th",
    "Lao": "lo",
    "Devanagari": "hi hi mr ne",
    "Bengali": "bn as",
    "Gujarati": "gu",
    "Gurmukhi": "pa",
    "Tamil": "ta",
    "Telugu": "te",
    "Kannada": "kn",
    "Malayalam": "ml",
    "Sinhala": "si",
    "Khmer": "km",
    "Burmese": "my",
    "Georgian": "ka",
    "Armenian": "hy",
    "Ethiopic": "am ti",
}
"""Whose names of countries, languages, months and units the package babel knows."""
UNICODE = {"Chinese or Japanese": "CJK HIRAGANA KATAKANA", "Korean": "HANGUL", "Burmese": "MYANMAR"}
"""First words of the Unicode names of a script's letters, where they are not its name in capitals."""
SHARES = {"Latin": 9.0, NUMBER: 3.0, NONE: 3.0, "Chinese or Japanese": 4.0, "Cyrillic": 6.0, "Greek": 2.0}
"""How often a class is drawn; 1 for the others."""
DECORATIVE = ("stam", "quran", "rashi", "initials", "symbol", "emoji", "math", "keyboard", "sign", "opensymbol", "drm")
HELD_OUT = 5
"""Every so many families of fonts is kept for measuring."""


@dataclass(frozen=True)
class Font:
    """A face of a font file, and the script it is used for."""

    path: str
    index: int
    family: str

    @property
    def is_held_out(self) -> bool:
        """Whether the font is for measuring only."""
        return zlib.crc32(self.family.encode()) % HELD_OUT == 0


def letters_of(script: str) -> tuple[str, ...]:
    """First words of the Unicode names of a script's letters."""
    return tuple(UNICODE.get(script, script.upper()).split())


def has_letter(text: str, script: str) -> bool:
    """Whether any letter belongs to a script."""
    starts = letters_of(script)
    return any(char.isalpha() and unicodedata.name(char, "").startswith(starts) for char in text)


@lru_cache(1)
def pools() -> dict[str, list[list[str]]]:
    """For each script a list of names for each of its languages."""
    from babel import Locale

    found: dict[str, list[list[str]]] = {}
    for script, languages in LANGUAGES.items():
        found[script] = [_names(Locale.parse(language), script) for language in languages.split()]
    return found


def _names(locale: Any, script: str) -> list[str]:
    names = [*locale.territories.values(), *locale.languages.values(), *locale.currencies.values()]
    for width in ("wide", "abbreviated"):
        names += [*locale.months["format"][width].values(), *locale.days["format"][width].values()]
    names += [name for unit in locale._data["unit_display_names"].values() for name in unit.values()]
    return sorted({name for name in names if isinstance(name, str) and has_letter(name, script)})


def find_fonts(folder: Path, held_out: bool | None = None) -> dict[str, list[Font]]:
    """Fonts by script that have the letters of its names; of those held out, of the others, or of all.

    Args:
        folder: Looked through with all folders in it, by fontconfig's ``fc-scan``.
        held_out: Which to return; None for all.
    """
    out = subprocess.run(
        ["fc-scan", "--format", "%{file}\t%{index}\t%{family}\t%{charset}\n", str(folder)],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    needed = {script: _usual_letters(script) for script in LANGUAGES}
    fonts: dict[str, list[Font]] = defaultdict(list)
    seen = set()
    for row in out.splitlines():
        path, index, family, charset = row.split("\t")
        font = Font(path, int(index) & 0xFFFF, family.split(",")[0])
        if (font.path, font.index) in seen or any(word in family.lower() for word in DECORATIVE):
            continue
        seen.add((font.path, font.index))
        if not path.lower().endswith((".ttf", ".otf", ".ttc")) or held_out not in (None, font.is_held_out):
            continue
        chars = _charset(charset)
        for script, letters in needed.items():
            if letters <= chars:
                fonts[script].append(font)
    return fonts


def _charset(text: str) -> set[int]:
    chars: set[int] = set()
    for part in text.split():
        first, _, last = part.partition("-")
        chars.update(range(int(first, 16), int(last or first, 16) + 1))
    return chars


def _usual_letters(script: str) -> set[int]:
    """Letters of the script's first language that are not rare."""
    counts: dict[str, int] = defaultdict(int)
    for name in pools()[script][0]:
        for char in name:
            if has_letter(char, script):
                counts[char] += 1
    least = 0.002 * sum(counts.values())
    return {ord(char) for char, count in counts.items() if count >= least}


class Drawer:
    """Draws crops at random.

    Args:
        fonts: By script, see ``find_fonts``.
        seed: Of all choices.
    """

    def __init__(self, fonts: dict[str, list[Font]], seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.by_family = {script: _by_family(some) for script, some in fonts.items() if some}

    def script(self) -> str:
        """A class at random."""
        names = [name for name in CLASSES if name in self.by_family or name in (NUMBER, NONE)]
        shares = np.array([SHARES.get(name, 1.0) for name in names])
        return str(self.rng.choice(names, p=shares / shares.sum()))

    def crop(self, script: str) -> Image:
        """``(h, w, 3)`` uint8, BGR: a line or a part of one, as a detector cuts it out."""
        if script == NONE:
            return self.worn(self._shapes())
        return self.worn(self.line(self.text(script), script))

    def text(self, script: str) -> str:
        """A word or a few."""
        rng = self.rng
        if script == NUMBER:
            return self.number()
        languages = pools()[script]
        names = languages[rng.integers(len(languages))]
        words = str(names[rng.integers(len(names))]).split()
        start = int(rng.integers(len(words)))
        text = " ".join(words[start : start + int(rng.choice([1, 2, 3], p=[0.55, 0.3, 0.15]))])
        if not has_letter(text, script):
            return self.text(script)
        case = rng.random()
        text = text.upper() if case < 0.2 else text.title() if case < 0.35 else text.lower() if case < 0.5 else text
        if rng.random() < 0.12:
            text = f"{text} {self.number()}" if rng.random() < 0.5 else f"{text}{rng.choice(list(',.:;)%*'))}"
        if script in ("Latin", "Cyrillic", "Greek") and rng.random() < 0.08:
            text = ".".join(word[: int(rng.integers(1, 5))] for word in text.split()) + "."
        return text

    def number(self) -> str:
        """Digits with signs."""
        rng = self.rng
        value = int(10 ** rng.uniform(0, 7))
        forms = [
            str(value),
            f"{value:,}",
            f"{value / 100:.2f}",
            f"{value / 100:.2f}".replace(".", ","),
            f"{value:,}".replace(",", " "),
            f"({value:,})",
            f"-{value / 10:.1f}",
            f"{value % 100}%",
            f"{value % 31 + 1:02d}.{value % 12 + 1:02d}.{1990 + value % 50}",
            f"{1990 + value % 50}-{value % 12 + 1:02d}",
            f"{value % 24:02d}:{value % 60:02d}",
            f"{rng.choice(list('$€£¥'))}{value}",
            f"{value % 90}°",
            f"{value % 10}/{value % 7}",
            str(rng.choice(["-", "–", "...", "—", "*", "+", "/", "&", "%", "№", "§", "#", "•", "→", "✓", "±0", "≤ 5"])),
            f"{value}-{value // 7}/{value % 9}",
        ]
        return str(rng.choice(forms))

    def line(self, text: str, script: str) -> Image:
        """Text on a ground, both of any grey, cut out with some ground around."""
        from PIL import Image as Pictures
        from PIL import ImageDraw, ImageFont

        rng = self.rng
        families = self.by_family["Latin" if script == NUMBER else script]
        names = sorted(families)
        family = families[names[rng.integers(len(names))]]
        font = family[rng.integers(len(family))]
        size = round(2 ** rng.uniform(3.3, 5.5))
        face = ImageFont.truetype(font.path, size, index=font.index)
        left, top, right, bottom = face.getbbox(text)
        width, height = int(right - left), int(bottom - top)
        if width < 2 or height < 2:
            return self.line("888" if script == NUMBER else self.text(script), script)
        reference = max(height, int(0.7 * size))
        above, below = (int(reference * rng.uniform(0.02, 0.45)) + 1 for _ in range(2))
        if height < reference:
            above += int((reference - height) * rng.uniform(0, 1))
            below += int((reference - height) * rng.uniform(0, 1))
        before, behind = (int(reference * rng.uniform(0.02, 0.6)) + 1 for _ in range(2))
        canvas = Pictures.new("L", (width + before + behind, height + above + below), 0)
        stroke = 1 if rng.random() < 0.06 and size > 20 else 0
        ImageDraw.Draw(canvas).text((before - left, above - top), text, 255, face, stroke_width=stroke)
        ink = np.asarray(canvas, np.float32) / 255
        if rng.random() < 0.1:
            shear = rng.uniform(-0.25, 0.25)
            matrix = np.float32([[1, shear, -shear * ink.shape[0] / 2], [0, 1, 0]])
            ink = cv2.warpAffine(ink, matrix, ink.shape[1::-1])
        if rng.random() < 0.3:
            ink = _ruled(ink, rng)
        return _coloured(ink, rng)

    def _shapes(self) -> Image:
        """What detectors take for text: rulings, boxes, logos, stains, hatching, nothing."""
        rng = self.rng
        height, width = int(rng.integers(12, 50)), int(rng.integers(12, 160))
        ink = np.zeros((height, width), np.float32)
        kind = rng.random()
        if kind < 0.3:
            ink = _ruled(ink, rng)
        elif kind < 0.75:
            for _ in range(int(rng.integers(1, 5))):
                points = (rng.random((int(rng.integers(3, 8)), 2)) * [width, height]).astype(np.int32)
                middle = (int(points[0, 0]), int(points[0, 1]))
                axes = (int(rng.integers(2, 2 + width // 2)), int(rng.integers(2, 2 + height // 2)))
                if rng.random() < 0.4:
                    cv2.fillPoly(ink, [points], float(rng.uniform(0.4, 1)))
                elif rng.random() < 0.5:
                    thick = int(rng.choice([-1, 1, 2, 3]))
                    cv2.ellipse(ink, middle, axes, float(rng.uniform(0, 180)), 0, 360, 1.0, thick)
                else:
                    cv2.polylines(ink, [points], bool(rng.random() < 0.5), 1.0, int(rng.integers(1, 4)))
        elif kind < 0.9:
            spots = rng.random((max(2, height // 6), max(2, width // 6))).astype(np.float32)
            ink = np.clip(cv2.resize(spots, (width, height), interpolation=cv2.INTER_CUBIC), 0, 1)
            ink *= ink > rng.uniform(0.3, 0.8)
        return _coloured(ink, rng)

    def worn(self, image: Image) -> Image:
        """The crop after a scanner, a camera or a fax."""
        rng = self.rng
        if rng.random() < 0.25:
            angle = rng.normal(0, 1.2)
            height, width = image.shape[:2]
            matrix = cv2.getRotationMatrix2D((width / 2, height / 2), angle, 1.0)
            image = cv2.warpAffine(image, matrix, (width, height), borderMode=cv2.BORDER_REPLICATE)
        if rng.random() < 0.35:
            scale = rng.uniform(0.4, 0.9)
            small = cv2.resize(image, None, fx=scale, fy=scale, interpolation=cv2.INTER_AREA)
            image = (
                cv2.resize(small, image.shape[1::-1], interpolation=cv2.INTER_CUBIC) if rng.random() < 0.5 else small
            )
        if rng.random() < 0.35:
            image = cv2.GaussianBlur(image, (0, 0), rng.uniform(0.3, 0.045 * image.shape[0] + 0.4))
        if rng.random() < 0.3:
            noise = rng.normal(0, rng.uniform(2, 22), image.shape[:2])[..., None]
            image = np.clip(image + noise, 0, 255).astype(np.uint8)
        if rng.random() < 0.1:
            level = rng.uniform(0.4, 0.6) * (float(image.min()) + float(image.max()))
            image = np.where(image > level, image.max(), image.min()).astype(np.uint8)
        if rng.random() < 0.3:
            coded = cv2.imencode(".jpg", image, [cv2.IMWRITE_JPEG_QUALITY, int(rng.integers(20, 90))])[1]
            image = np.asarray(cv2.imdecode(coded, cv2.IMREAD_COLOR), np.uint8)
        return np.asarray(image, np.uint8)


def _by_family(fonts: Sequence[Font]) -> dict[str, list[Font]]:
    families: dict[str, list[Font]] = defaultdict(list)
    for font in fonts:
        families[font.family].append(font)
    return families


def _ruled(ink: Any, rng: np.random.Generator) -> Any:
    height, width = ink.shape
    for _ in range(int(rng.integers(1, 3))):
        thick = int(rng.integers(1, 1 + max(2, height // 12)))
        if rng.random() < 0.6:
            place = int(rng.choice([0, height - thick, rng.integers(0, max(1, height // 8)), int(0.9 * height)]))
            ink[place : place + thick] = 1
        else:
            place = int(rng.choice([0, width - thick]))
            ink[:, place : place + thick] = 1
    return ink


def _coloured(ink: Any, rng: np.random.Generator) -> Image:
    ground, colour = (
        (rng.uniform(150, 255, 3), rng.uniform(0, 110, 3))
        if rng.random() < 0.5
        else (np.full(3, rng.uniform(170, 255)), np.full(3, rng.uniform(0, 120)))
    )
    if rng.random() < 0.15:
        ground, colour = colour, ground
    picture = ground + ink[..., None] * (colour - ground)
    if rng.random() < 0.2:
        slope = np.linspace(-1, 1, picture.shape[1])[None, :, None] * rng.uniform(-25, 25)
        picture = picture + slope
    return np.clip(picture, 0, 255).astype(np.uint8)
