"""What reportlab writes: its tables, paragraphs, subsets of fonts, Chinese that is not embedded, encryption."""

from __future__ import annotations

import io
import random
from collections.abc import Callable
from html import escape
from typing import Any

from reportlab.lib import colors
from reportlab.lib.pagesizes import A4
from reportlab.lib.pdfencrypt import StandardEncryption
from reportlab.lib.styles import ParagraphStyle
from reportlab.pdfbase import pdfmetrics
from reportlab.pdfbase.cidfonts import UnicodeCIDFont
from reportlab.pdfbase.ttfonts import TTFont
from reportlab.platypus import Paragraph, SimpleDocTemplate
from reportlab.platypus import Table as Platypus

from postprocess.cell import Cell
from postprocess.table import Table
from tests.benchmarks.pdfs.case import Case, kind
from tests.benchmarks.pdfs.fonts import VERA
from tests.benchmarks.pdfs.kinds.letters import raised_table
from tests.benchmarks.pdfs.tables import make_table, with_texts

Content = Callable[[Cell], Any]


def written(table: Table, font: str, seed: int, content: Content | None = None, **document: Any) -> bytes:
    """Return a PDF with one platypus table: framed, with stripes, or with few lines, by seed."""
    grid: list[list[Any]] = [[""] * table.n_cols for _ in range(table.n_rows)]
    style: list[Any] = [("FONT", (0, 0), (-1, -1), font, 9), ("ALIGN", (1, 0), (-1, -1), "RIGHT")]
    style.append(("VALIGN", (0, 0), (-1, -1), "MIDDLE"))
    for cell in table.cells:
        grid[cell.row][cell.col] = content(cell) if content else cell.text
        if cell.is_spanning:
            style.append(("SPAN", (cell.col, cell.row), (cell.end_col - 1, cell.end_row - 1)))
    if seed % 3 == 0:
        style.append(("GRID", (0, 0), (-1, -1), 0.5, colors.black))
    elif seed % 3 == 1:
        style.append(("ROWBACKGROUNDS", (0, 1), (-1, -1), [colors.whitesmoke, colors.lightgrey]))
        style += [("LINEABOVE", (0, 0), (-1, 0), 1, colors.black), ("LINEBELOW", (0, -1), (-1, -1), 1, colors.black)]
    else:
        style += [
            ("BOX", (0, 0), (-1, -1), 1, colors.black),
            ("BACKGROUND", (0, 0), (-1, 0), colors.darkblue),
            ("TEXTCOLOR", (0, 0), (-1, 0), colors.white),
        ]
    out = io.BytesIO()
    widths = [100, *[95] * (table.n_cols - 1)]
    SimpleDocTemplate(out, pagesize=A4, **document).build([Platypus(grid, colWidths=widths, style=style)])
    return out.getvalue()


def _vera() -> str:
    if "Vera" not in pdfmetrics.getRegisteredFontNames():
        pdfmetrics.registerFont(TTFont("Vera", str(VERA)))
    return "Vera"


@kind("reportlab, plain")
def plain(seed: int) -> Case:
    table = make_table(seed, grouped=seed % 3 == 0 and seed % 2 == 1)
    return Case(table, written(table, "Helvetica", seed))


@kind("reportlab, subset of a font")
def subset(seed: int) -> Case:
    """Codes of one byte, given in the order of first use."""
    table = make_table(seed)
    return Case(table, written(table, _vera(), seed))


@kind("reportlab, super and sub")
def super_and_sub(seed: int) -> Case:
    """Paragraphs with <super> and <sub>, which reportlab makes by Ts and a smaller font."""
    table = raised_table(seed)
    to_plain = {"super": str.maketrans("¹²³⁻ᵃᵇ", "123-ab"), "sub": str.maketrans("₂₄", "24")}

    def paragraph(cell: Cell) -> Paragraph:
        text = escape(cell.text)
        for tag, plain in to_plain.items():
            for code, letter in plain.items():
                sign = letter if isinstance(letter, str) else chr(letter)
                text = text.replace(chr(code), f"<{tag}>{sign}</{tag}>")
            text = text.replace(f"</{tag}><{tag}>", "")
        white = seed % 3 == 2 and cell.row == 0
        style = ParagraphStyle("cell", fontName=_vera(), fontSize=9, alignment=2 if cell.col else 0)
        style.textColor = colors.white if white else colors.black
        return Paragraph(text, style)

    return Case(table, written(table, _vera(), seed, paragraph))


@kind("reportlab, Chinese not embedded")
def chinese(seed: int) -> Case:
    """STSong-Light with codes of UniGB-UCS2-H: the viewer looks for a font."""
    name = "STSong-Light"
    if name not in pdfmetrics.getRegisteredFontNames():
        pdfmetrics.registerFont(UnicodeCIDFont(name))
    table = make_table(seed, "zh")
    return Case(table, written(table, name, seed))


@kind("reportlab, encrypted")
def encrypted(seed: int) -> Case:
    """Opens without a password; its flags forbid to copy text, which a viewer shows all the same."""
    table = make_table(seed)
    rights = StandardEncryption("", ownerPassword="owner", canCopy=0, strength=(40, 128)[seed % 2])
    return Case(table, written(table, _vera(), seed, encrypt=rights))


@kind("reportlab, wrapped paragraphs")
def wrapped(seed: int) -> Case:
    """Labels of several lines, justified; numbers beside them in the middle of the row."""
    rng = random.Random(seed)
    words = ("including", "all charges", "of former years", "and those", "not yet billed", "to any customer")
    table = with_texts(
        make_table(seed, rows=6),
        lambda cell: f"{cell.text} {' '.join(rng.sample(words, 4))}" if cell.col == 0 and cell.row else cell.text,
    )
    seed = seed - seed % 3

    def paragraph(cell: Cell) -> Any:
        style = ParagraphStyle("cell", fontName=_vera(), fontSize=9, alignment=4)
        return Paragraph(escape(cell.text), style) if cell.col == 0 else cell.text

    return Case(table, written(table, _vera(), seed, paragraph))
