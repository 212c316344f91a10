"""Fonts of this machine, by family and script."""

from __future__ import annotations

import os
import shutil
import subprocess
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Literal

Script = Literal["latin", "chinese", "traditional", "kana", "cyrillic", "greek", "hebrew", "arabic"]
Flavor = Literal["serif", "sans", "mono"]

PROBES: dict[Script, str] = {
    "latin": "Aa09éüñŁž—±",
    "chinese": "表格数据合计单位",
    "traditional": "報溢資產變動應",
    "kana": "あをガヴー",
    "cyrillic": "ЖЯдёїўџћ",
    "greek": "ΩΞλψάώς",
    "hebrew": "אםץש",
    "arabic": "ءشيضن",
}
"""Characters that a font of the script must have."""

BUILT_IN = "Pillow"
"""Name of the last resort for Latin script: the font inside Pillow."""

FOLDER_SETTING = "TABLEREC_FONTS"
"""Environment variable: a folder with more fonts, and with word lists for ``tablerec synth lines``."""

_FOLDERS = (
    "/usr/share/fonts",
    "/usr/local/share/fonts",
    "~/.local/share/fonts",
    "~/.fonts",
    "/System/Library/Fonts",
    "/Library/Fonts",
    "~/Library/Fonts",
    "C:/Windows/Fonts",
)
_SUFFIXES = (".ttf", ".otf", ".ttc", ".otc")
# Fonts of symbols, of other scripts only, or too odd for a document.
_UNWANTED = (
    "emoji", "symbol", "music", "math", "dingbat", "ornament", "initials", "keyboard", "braille", "barcode",
    "hairline", "thin", "light", "black", "heavy", "outline", "icons", "awesome", "chancery", "chorus",
    "z003", "d050000l", "fallback",
)  # fmt: skip


_MONO = ("mono", "courier", "cursor", "inconsolata", "typewriter", "console")
_SERIF = (
    "serif", "roman", "times", "libertine", "song", "ming", "sung", "kai", "georgia", "garamond", "schola", "c059",
    "p052", "bookman", "caladea", "cambria", "computer modern", "cmr", "palatino", "charter", "tinos", "simsun",
    "termes", "pagella", "bonum",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Face:
    """One font in one file.

    Args:
        path: The file; empty for the built-in font.
        index: Number of the font in a collection.
        bold: Whether the weight is bold.
        italic: Whether it is slanted.
    """

    path: str
    index: int = 0
    bold: bool = False
    italic: bool = False


@dataclass(frozen=True, slots=True)
class Family:
    """Fonts that belong together.

    Args:
        name: As fontconfig and CSS call it.
        flavor: Whether it has serifs, or one width for all characters.
        scripts: What it can write.
        faces: At least one.
    """

    name: str
    flavor: Flavor
    scripts: frozenset[Script]
    faces: tuple[Face, ...] = field(repr=False)

    def face(self, bold: bool, italic: bool) -> Face:
        """Return the font that comes closest; the weight counts more than the slant.

        >>> family = Family("F", "sans", frozenset(["latin"]), (Face("a.ttf"), Face("b.ttf", bold=True)))
        >>> family.face(bold=True, italic=True).path, family.face(bold=False, italic=True).path
        ('b.ttf', 'a.ttf')
        """
        return min(self.faces, key=lambda face: (face.bold != bold, face.italic != italic))


@lru_cache(maxsize=1)
def find_families() -> tuple[Family, ...]:
    """Return the families on this machine that can write one of the scripts, sorted by name.

    fontconfig is asked where it is installed, else the usual folders are searched, and the one that
    TABLEREC_FONTS names besides. Where nothing is found, the font inside Pillow remains, which writes Latin.

    >>> bool(find_families())
    True
    """
    named = os.environ.get(FOLDER_SETTING)
    listed = (_ask_fontconfig() or _search_folders(_FOLDERS)) + (_search_folders((named,)) if named else [])
    families = []
    for name in sorted({name for name, _ in listed}):
        # A medium weight is the regular one of a family that has no other.
        found = {face for other, face in listed if other == name}
        faces = tuple(sorted(found, key=lambda face: ("medium" in face.path.lower(), face.path)))
        regular = min(faces, key=lambda face: (face.bold, face.italic))
        scripts = _covered(regular)
        if scripts:
            families.append(Family(name, _flavor(name), scripts, faces))
    return tuple(families) or (Family(BUILT_IN, "sans", frozenset(["latin"]), (Face(""),)),)


def families_for(script: Script) -> tuple[Family, ...]:
    """Return the families that can write a script; those for Latin where there is none."""
    found = tuple(family for family in find_families() if script in family.scripts)
    if script == "latin":
        # Chinese families have Latin letters too, but documents in English seldom use them.
        return tuple(family for family in found if "chinese" not in family.scripts) or found or find_families()
    return found or families_for("latin")


def can_write(script: Script) -> bool:
    """Return whether a family for the script is on this machine; warn once where there is none."""
    if any(script in family.scripts for family in find_families()):
        return True
    _warn_once(script)
    return False


@lru_cache(maxsize=256)
def family_by_name(name: str) -> Family:
    """Return a family; the first one for Latin where the name is unknown."""
    return next((family for family in find_families() if family.name == name), None) or families_for("latin")[0]


@lru_cache(maxsize=4)
def _warn_once(script: str) -> None:
    warnings.warn(
        f"no {script} font on this machine: Latin text takes its place; install one, such as Noto Sans CJK",
        stacklevel=4,
    )


def _ask_fontconfig() -> list[tuple[str, Face]]:
    command = shutil.which("fc-list")
    if command is None:
        return []
    try:
        done = subprocess.run(  # noqa: S603 - no input of a user is in it
            [command, "--format", "%{file}\t%{index}\t%{family[0]}\t%{style[0]}\t%{variable}\n"],
            capture_output=True,
            text=True,
            encoding="utf-8",
            timeout=60,
            check=True,
        )
    except (OSError, subprocess.SubprocessError, UnicodeDecodeError):
        return []
    found = []
    for line in done.stdout.splitlines():
        path, index, name, style, variable = (line.split("\t") + [""] * 5)[:5]
        if variable != "True" and path.lower().endswith(_SUFFIXES) and _is_wanted(f"{name} {style}"):
            found.append((name, Face(path, int(index or 0) & 0xFFFF, *_weights(style))))
    return found


def _search_folders(folders: Sequence[str]) -> list[tuple[str, Face]]:
    from PIL import ImageFont

    found = []
    for folder in folders:
        for parent, _, names in os.walk(os.path.expanduser(folder)):
            for name in sorted(names):
                if not name.lower().endswith(_SUFFIXES):
                    continue
                path = str(Path(parent, name))
                try:
                    family, style = ImageFont.truetype(path, 12).getname()
                except (OSError, ValueError):
                    continue
                if family and _is_wanted(f"{family} {style}"):
                    found.append((family, Face(path, 0, *_weights(style or ""))))
    return found


def _is_wanted(name: str) -> bool:
    return not any(word in name.lower() for word in _UNWANTED)


def _weights(style: str) -> tuple[bool, bool]:
    words = style.lower()
    bold = any(word in words for word in ("bold", "demi")) and "semi-light" not in words
    return bold, any(word in words for word in ("italic", "oblique"))


def _flavor(name: str) -> Flavor:
    words = name.lower()
    if any(word in words for word in _MONO):
        return "mono"
    return "serif" if any(word in words for word in _SERIF) and "sans" not in words else "sans"


def _covered(face: Face) -> frozenset[Script]:
    from PIL import ImageFont

    try:
        font = ImageFont.truetype(face.path, 16, index=face.index, layout_engine=ImageFont.Layout.BASIC)
    except (OSError, ValueError):
        return frozenset()
    missing = bytes(font.getmask("\U0010fffd"))
    return frozenset(script for script, probe in PROBES.items() if _draws(font, probe, missing))


def _draws(font: object, characters: Sequence[str], missing: bytes) -> bool:
    drawn = [bytes(font.getmask(character)) for character in characters]  # type: ignore[attr-defined]
    return all(image and image != missing for image in drawn)
