"""How well lines are read, in numbers and in pictures."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from tablerec.models.characters import TURNED
from tablerec.outputs.files import atomic_file
from tablerec.synth.drawing.fonts import families_for, find_families
from tablerec.training.readers.frames import FramedLine

_SCRIPTS = {
    "LATIN": "latin", "CYRILLIC": "cyrillic", "GREEK": "greek", "HEBREW": "hebrew", "ARABIC": "arabic",
    "HIRAGANA": "kana", "KATAKANA": "kana", "CJK": "han",
}  # fmt: skip
_SCRIPT_OF_FONT = {"han": "chinese", "sign": "latin", "number": "latin", "turned": "latin", "other": "latin"}


def kind_of(text: str) -> str:
    """Name the kind of a line: the script of most of its letters, else what it holds.

    >>> [kind_of(text) for text in ("Total 7", "Цена", "1 250,–", "☐ ☒", "表1", TURNED)]
    ['latin', 'cyrillic', 'number', 'sign', 'han', 'turned']
    """
    if text == TURNED:
        return "turned"
    names = [unicodedata.name(char, "?").split()[0] for char in text if char.isalpha()]
    kinds = [_SCRIPTS.get(name, "other") for name in names]
    if kinds:
        return max(dict.fromkeys(kinds), key=kinds.count)
    return "number" if any(char.isdecimal() for char in text) else "sign"


def distance(a: str, b: str) -> int:
    """Count the characters to insert, delete or replace from one text to another (Levenshtein, 1966).

    >>> distance("1 250", "1250,"), distance("", "ab")
    (2, 2)
    """
    row = np.arange(len(b) + 1)
    codes = np.array([ord(char) for char in b], np.int64)
    for number, char in enumerate(a, start=1):
        changed = np.minimum(row[:-1] + (codes != ord(char)), row[1:] + 1)
        # Each place may also be reached by inserting from any place before it.
        steps = np.concatenate([[number], changed]) - np.arange(len(b) + 1)
        row = np.minimum.accumulate(steps) + np.arange(len(b) + 1)
    return int(row[-1])


def score_lines(answers: Sequence[str], texts: Sequence[str]) -> dict[str, float]:
    """Score readings.

    Args:
        answers: What was read.
        texts: What is written.

    Returns:
        ``cer``, the characters to change by those that are written; ``exact``, the share of lines without any; and
        ``cer_KIND`` of each kind of line, see ``kind_of``.

    >>> score_lines(["12", "Too"], ["12", "Two"])
    {'cer': 0.2, 'exact': 0.5, 'cer_latin': 0.3333333333333333, 'cer_number': 0.0}
    """
    wrong = [distance(answer, text) for answer, text in zip(answers, texts, strict=True)]
    n_chars = [len(text) for text in texts]
    kinds = [kind_of(text) for text in texts]
    of_kind = {}
    for kind in sorted(set(kinds)):
        inside = [k for k, each in enumerate(kinds) if each == kind]
        of_kind[f"cer_{kind}"] = _share([wrong[k] for k in inside], [n_chars[k] for k in inside])
    exact = sum(not each for each in wrong) / max(len(wrong), 1)
    return {"cer": _share(wrong, n_chars), "exact": exact, **of_kind}


def _share(wrong: Sequence[int], n_chars: Sequence[int]) -> float:
    return sum(wrong) / max(sum(n_chars), 1)


@lru_cache(maxsize=16)
def _open_font(kind: str) -> Any:
    """A font for a kind of line; one for Latin where there is none."""
    from PIL import ImageFont

    script = _SCRIPT_OF_FONT.get(kind, kind)
    families = [family for family in find_families() if script in family.scripts] or families_for("latin")
    path = families[0].face(bold=False, italic=False)
    return ImageFont.truetype(path.path, 20, index=path.index) if path.path else ImageFont.load_default(20)


def draw_lines(path: Path, answers: Sequence[str], samples: Sequence[FramedLine], texts: Sequence[str]) -> None:
    """Write a sheet of lines, beside each its true text in red and what was read in green."""
    import cv2
    from PIL import Image, ImageDraw

    if not samples:
        return
    scale, width = 2, 2 * samples[0].image.shape[1]
    rows = []
    for answer, sample, text in zip(answers, samples, texts, strict=True):
        large = cv2.resize(sample.image, (width, scale * sample.image.shape[0]), interpolation=cv2.INTER_LINEAR)
        sheet = Image.new("RGB", (width, large.shape[0] + 52), "white")
        sheet.paste(Image.fromarray(large), (0, 0))
        pen, font = ImageDraw.Draw(sheet), _open_font(kind_of(text))
        pen.text((4, large.shape[0] + 2), text, (200, 30, 30), font)
        pen.text((4, large.shape[0] + 26), answer, (0, 140, 0), font)
        rows.append(np.asarray(sheet))
    done, encoded = cv2.imencode(".jpg", np.vstack(rows)[:, :, ::-1], [cv2.IMWRITE_JPEG_QUALITY, 85])
    assert done
    with atomic_file(path) as file:
        file.write(encoded.tobytes())
