"""Whether glyphs have the shape of their characters, on pages that reportlab draws."""

from __future__ import annotations

import io

import numpy as np
import pytest

from tablerec.config import Settings
from tablerec.inputs.images import load_pages
from tablerec.inputs.pdf.glyphs import GLYPH
from tablerec.inputs.pdf.shapes import doubtful_fonts

LINES = (
    "Office supplies, with 4,711.90",
    "The quick brown fox jumps",
    "over 38 lazy dogs: 0123456789",
    "PACK MY BOX WITH",
)


def page_in(font: str, size: float = 10):
    canvases = pytest.importorskip("reportlab.pdfgen.canvas")
    file = io.BytesIO()
    canvas = canvases.Canvas(file, pagesize=(300, 200))
    canvas.setFont(font, size)
    for number, line in enumerate(LINES):
        canvas.drawString(20, 160 - 30 * number, line)
    canvas.save()
    [page] = load_pages(file.getvalue(), Settings())
    return page


def test_no_glyphs_are_not_doubtful():
    assert doubtful_fonts(np.empty(0, GLYPH), np.zeros((10, 10, 3), np.uint8), set()) == {}


@pytest.mark.parametrize(
    "font", ["Helvetica", "Helvetica-Bold", "Times-Roman", "Times-Italic", "Courier", "Courier-Bold"]
)
@pytest.mark.parametrize("size", [7, 10, 16])
def test_usual_fonts_are_not_doubtful(font, size):
    assert page_in(font, size).layer.doubtful_fonts == {}


@pytest.mark.parametrize(
    ("said", "wrong"), [({"3": "8"}, "8"), ({"8": "3"}, "3"), ({"6": "9", "9": "6"}, "69"), ({".": ","}, ",")]
)
def test_another_shape_makes_a_font_doubtful(said, wrong, monkeypatch):
    from tablerec.inputs.pdf import pages

    original = pages.doubtful_fonts

    def lied_to(glyphs, image, known):
        lied = glyphs.copy()
        for char, other in said.items():
            lied["code"][glyphs["code"] == ord(char)] = ord(other)
        return original(lied, image, known)

    monkeypatch.setattr(pages, "doubtful_fonts", lied_to)
    [chars] = page_in("Helvetica").layer.doubtful_fonts.values()
    assert set(wrong) <= set(chars)
