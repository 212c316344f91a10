"""Rows of hyphens: ``python -m tests.benchmarks.reading.hyphens [--sizes 8 10 12 16 24]``.

A developer script, not a test. Hyphens side by side, and other signs of flat strokes, are drawn in the Latin fonts that
no training sees, cut closely, and read by LineNet. By text: how many are right as LineNet reads them, and when their
strokes are counted (``tablerec.ocr.signs``).
"""

from __future__ import annotations

import argparse

import numpy as np
from PIL import Image, ImageDraw

from tablerec.config import Settings
from tablerec.ocr import make_ocr_engine
from tablerec.ocr.lines import CropReader
from tablerec.ocr.signs import settle_hyphens
from tablerec.synth.lines.typefaces import Typeface, open_font, typefaces

TEXTS = ("--", "---", "----", "- -", "- - -", "-", "–", "—", "=", "_", "-5")


def draw(text: str, face: Typeface, size: int) -> np.ndarray:
    """``(h, w, 3)`` uint8, black on white, with ground around it."""
    font = open_font(face.face, size, shaped=False)
    ascent, descent = font.getmetrics()
    pad = max(1, round(0.12 * size))
    canvas = Image.new("L", (int(font.getlength(text)) + 2 + 2 * pad, ascent + descent), 255)
    ImageDraw.Draw(canvas).text((pad, 0), text, 0, font)
    return np.ascontiguousarray(np.repeat(np.asarray(canvas)[..., None], 3, axis=2))


def main() -> None:
    """Draw, read, and print a line for each text."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="*", default=[8, 10, 12, 16, 24], help="of the fonts, px")
    options = parser.parse_args()
    engine = make_ocr_engine(Settings(ocr="tablerec"))
    assert isinstance(engine, CropReader)
    for text in TEXTS:
        faces = [face for face in typefaces("latin", "unseen") if face.covers(text)]
        crops = [draw(text, face, size) for face in faces for size in options.sizes]
        lines = engine.recognize(crops)
        counted = [settle_hyphens(crop, line) for crop, line in zip(crops, lines, strict=True)]
        first, then = (sum(line.text == text for line in each) for each in (lines, counted))
        print(f"{text:8} {len(crops):4} drawn, LineNet {first:4} right, with strokes counted {then:4}")


if __name__ == "__main__":
    main()
