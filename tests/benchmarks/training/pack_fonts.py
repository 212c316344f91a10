"""The fonts and words that lines are drawn with, in a folder for a machine that has none.

Run as ``python -m tests.benchmarks.training.pack_fonts OUT_DIR``; needs fontTools. Each font is cut to the characters
of the reader, without hints, under the name that fontconfig gives its family, so that the same families stay unseen.
There, set TABLEREC_FONTS to the folder, and LD_LIBRARY_PATH as well: Pillow needs FriBidi to join Arabic letters.
"""

from __future__ import annotations

import argparse
import gzip
import io
import logging
import shutil
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tablerec.models.characters import CHARACTERS, HAN, LETTERS
from tablerec.synth.drawing.fonts import Face, Family, find_families
from tablerec.synth.lines.lexicon import LANGUAGES, words
from tablerec.synth.lines.typefaces import Split, is_unseen, typefaces
from tablerec.synth.lines.wording import KANA_WORDS

MOST = 45 * 2**20
"""Bytes of the whole folder."""

_KANJI = "".join({char for word in KANA_WORDS for char in word if char in HAN})
# They share the outlines of Chinese characters with another member of their family.
_DOUBLES = ("Mono CJK", "CJK JP", "Hei Mono", "WenKai Mono", "HanaMin", "UKai")
# Of layout: what joins Arabic letters, sets accents and brings letters closer.
_FEATURES = [
    *("ccmp", "locl", "isol", "init", "medi", "fina", "rlig", "rclt", "calt"),
    *("liga", "mset", "curs", "mark", "mkmk", "kern"),
]
_TABLES = ["FFTM", "BDF ", "morx", "kerx", "feat", "prop", "vhea", "vmtx", "VORG", "meta", "PfEd", "TeX ", "Zapf"]
_SCRIPTS = ("latin", "chinese", "kana", "cyrillic", "greek", "hebrew", "arabic")


def wanted_families(splits: Iterable[Split]) -> list[Family]:
    """Return the families that lines are drawn with."""
    names = {face.family for script in _SCRIPTS for split in splits for face in typefaces(script, split)}  # type: ignore[arg-type]
    found = [family for family in find_families() if family.name in names]
    return [family for family in found if not any(double in family.name for double in _DOUBLES)]


def faces_of(family: Family) -> list[tuple[str, Face]]:
    """Return the fonts of a family by style: regular, bold and slanted, as far as there are."""
    styles = {"Regular": family.face(bold=False, italic=False)}
    others = {"Bold": family.face(bold=True, italic=False), "Italic": family.face(bold=False, italic=True)}
    for style, face in others.items():
        # Chinese ones are large: one bold one is enough.
        if face != styles["Regular"] and ("chinese" not in family.scripts or family.name == "Noto Sans CJK SC"):
            styles[style] = face
    return list(styles.items())


def cut_font(family: Family, style: str, face: Face) -> bytes:
    """Return a font with the characters of the reader alone."""
    from fontTools.subset import Options, Subsetter
    from fontTools.ttLib import TTFont

    font = TTFont(face.path, fontNumber=face.index, lazy=True)
    options = Options(hinting=False, notdef_outline=True, glyph_names=False, legacy_kern=False)
    options.layout_features = _FEATURES
    options.drop_tables += _TABLES
    subsetter = Subsetter(options)
    subsetter.populate(text=CHARACTERS if "chinese" in family.scripts else LETTERS + _KANJI)
    subsetter.subset(font)
    _name(font, family.name, style)
    data = io.BytesIO()
    font.save(data)
    return data.getvalue()


def _name(font: Any, family: str, style: str) -> None:
    font["name"].names = []
    for number, text in ((1, family), (2, style), (4, f"{family} {style}"), (6, f"{family}-{style}".replace(" ", ""))):
        font["name"].setName(text, number, 3, 1, 0x409)
        font["name"].setName(text, number, 1, 0, 0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--split", choices=["all", "train", "unseen"], default="all")
    arguments = parser.parse_args()
    splits: tuple[Split, ...] = ("train", "unseen") if arguments.split == "all" else (arguments.split,)
    arguments.folder.mkdir(parents=True, exist_ok=True)
    logging.getLogger("fontTools").setLevel(logging.CRITICAL)  # it names each table that it drops
    start, total = time.perf_counter(), 0
    for family in wanted_families(splits):
        for style, face in faces_of(family):
            path = arguments.folder / f"{family.name}-{style}.otf".replace(" ", "")
            if path.exists():  # of a run that was stopped
                total += path.stat().st_size
                continue
            try:
                data = cut_font(family, style, face)
            except Exception as error:  # fontTools fails in many ways; one font less is no harm
                print(f"left out: {family.name} {style}: {error}")
                continue
            total += len(data)
            mark = "unseen " if is_unseen(family.name) else ""
            path.write_bytes(data)
            if len(data) > 2**20:
                print(f"{mark}{path.stem}: {len(data) / 2**20:.1f} MiB")
    for language in (*LANGUAGES, "chinese"):
        found = words(language)
        if found:
            data = gzip.compress("\n".join(found).encode(), mtime=0)
            total += len(data)
            (arguments.folder / f"{language}.txt.gz").write_bytes(data)
    found_library = next(Path("/usr/lib").glob("*/libfribidi.so.0"), None)
    if found_library:
        shutil.copy(found_library, arguments.folder)
    print(f"{total / 2**20:.1f} MiB in {time.perf_counter() - start:.0f} s")
    if total > MOST:
        raise SystemExit(f"more than {MOST / 2**20:.0f} MiB: pack one split with --split")


if __name__ == "__main__":
    main()
