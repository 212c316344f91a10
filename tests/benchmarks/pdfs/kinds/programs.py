"""What Chromium writes from HTML and LibreOffice from workbooks; one call of a program makes all its PDFs."""

from __future__ import annotations

import io
import os
import random
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from html import escape
from pathlib import Path

import openpyxl
import pypdfium2
from openpyxl.cell.rich_text import CellRichText, TextBlock
from openpyxl.cell.text import InlineFont
from openpyxl.styles import Alignment, Border, Font, Side
from openpyxl.utils import get_column_letter

from postprocess.cell import Cell
from postprocess.table import Table
from tablerec.errors import MissingDependencyError
from tablerec.synth.browser.chromium import find_browser
from tests.benchmarks.pdfs.case import Case, kind
from tests.benchmarks.pdfs.fonts import TrueType, find_dejavu
from tests.benchmarks.pdfs.kinds.letters import raised_table
from tests.benchmarks.pdfs.tables import is_number, make_table, with_texts

TIMEOUT = 300
"""Seconds for one call of a program."""
_STYLE = """
@page { size: A4; margin: 15mm }
body { margin: 0; font: 12px 'DejaVu Sans', 'Noto Sans CJK SC', sans-serif }
section { break-after: page; height: 240mm; overflow: hidden }
table { border-collapse: collapse } td, th { padding: 4px 8px; min-width: 60px; text-align: end; font-weight: normal }
td:first-child, th:first-child { text-align: start }
.ruled td, .ruled th { border: 1px solid black } .open { border-top: 1px solid; border-bottom: 1px solid }
.open thead { border-bottom: 1px solid }
"""


def has_browser() -> bool:
    """Whether Chromium or Chrome is installed."""
    try:
        return bool(find_browser())
    except MissingDependencyError:
        return False


def has_office() -> bool:
    """Whether LibreOffice is installed."""
    return shutil.which("soffice") is not None


def browser_pdfs(pages: Sequence[str]) -> list[bytes]:
    """Print pages of HTML, one to a sheet, and take the sheets apart."""
    if not pages:
        return []
    body = "".join(f"<section>{page}</section>" for page in pages)
    with tempfile.TemporaryDirectory() as temporary:
        source, target = Path(temporary, "pages.html"), Path(temporary, "pages.pdf")
        source.write_text(f"<!DOCTYPE html><meta charset=utf-8><style>{_STYLE}</style>{body}", encoding="utf-8")
        command = [find_browser(), "--headless", "--disable-gpu", f"--user-data-dir={temporary}/profile"]
        command += ["--no-sandbox"] * (hasattr(os, "getuid") and os.getuid() == 0)
        command += ["--no-pdf-header-footer", f"--print-to-pdf={target}", source.as_uri()]
        subprocess.run(command, capture_output=True, timeout=TIMEOUT, check=True)
        document = pypdfium2.PdfDocument(target)
        # The last page break opens a page with nothing on it.
        assert len(document) in (len(pages), len(pages) + 1), f"{len(document)} sheets for {len(pages)} pages"
        sheets = [_one_page(document, index) for index in range(len(pages))]
        document.close()
    return sheets


def _one_page(document: pypdfium2.PdfDocument, index: int) -> bytes:
    single, out = pypdfium2.PdfDocument.new(), io.BytesIO()
    single.import_pages(document, [index])
    single.save(out)
    single.close()
    return out.getvalue()


def office_pdfs(files: Sequence[bytes]) -> list[bytes]:
    """Convert workbooks."""
    if not files:
        return []
    with tempfile.TemporaryDirectory() as temporary:
        paths = [Path(temporary, f"{number}.xlsx") for number in range(len(files))]
        for path, data in zip(paths, files, strict=True):
            path.write_bytes(data)
        command = ["soffice", f"-env:UserInstallation={Path(temporary, 'profile').as_uri()}", "--headless"]
        command += ["--convert-to", "pdf", "--outdir", temporary, *map(str, paths)]
        subprocess.run(command, capture_output=True, timeout=TIMEOUT, check=True)
        return [path.with_suffix(".pdf").read_bytes() for path in paths]


def to_html(table: Table, seed: int, content: Callable[[Cell], str] | None = None, style: str = "") -> str:
    """Return the table as HTML, ruled for even seeds."""
    head = max(table.n_header_rows, 1)
    rows = []
    for index, row in enumerate(table.rows()):
        tag = "th" if index < head else "td"
        cells = "".join(
            f"<{tag} rowspan={cell.rowspan} colspan={cell.colspan}>{(content or _plain)(cell)}</{tag}>" for cell in row
        )
        rows.append(f"<tr>{cells}</tr>")
    name = "ruled" if seed % 2 == 0 else "open"
    return (
        f"<table dir={table.direction} class={name} style='{style}'>"
        f"<thead>{''.join(rows[:head])}</thead><tbody>{''.join(rows[head:])}</tbody></table>"
    )


def _plain(cell: Cell) -> str:
    return escape(cell.text)


def _printed(table: Table, html: str, **more: object) -> Case:
    return Case(table, html.encode(), program="chromium", **more)


def _usual(seed: int, language: str = "en") -> Table:
    return make_table(seed, language, grouped=seed % 4 == 2)


@kind("Chromium, plain", "chromium")
def plain(seed: int) -> Case:
    table = _usual(seed)
    return _printed(table, to_html(table, seed))


@kind("Chromium, Hebrew", "chromium", share=1.5)
def hebrew(seed: int) -> Case:
    table = _usual(seed, "he")
    return _printed(table, to_html(table, seed))


@kind("Chromium, Arabic", "chromium", share=1.5)
def arabic(seed: int) -> Case:
    table = _usual(seed, "ar")
    return _printed(table, to_html(table, seed))


@kind("Chromium, right-to-left with numbers and Latin", "chromium")
def mixed(seed: int) -> Case:
    """Years, shares, Latin names and brackets within right-to-left labels."""
    extra = ("(2023)", "12.5% USD", "ISO 9001", "A-17", "1,250 km")
    table = with_texts(
        _usual(seed, ("he", "ar")[seed // 2 % 2]),
        lambda cell: f"{cell.text} {extra[cell.row % 5]}" if cell.col == 0 and not cell.header else cell.text,
    )
    return _printed(table, to_html(table, seed))


@kind("Chromium, Chinese", "chromium")
def chinese(seed: int) -> Case:
    table = _usual(seed, "zh")
    return _printed(table, to_html(table, seed))


@kind("Chromium, vertical Chinese", "chromium")
def vertical(seed: int) -> Case:
    """Tall cells at the left whose text runs downwards, as Chinese forms have it; heads do so in every second PDF."""
    inner = make_table(seed, "zh", rows=7, cols=3)
    cells = [Cell(cell.row, cell.col + 1, text=cell.text, header=cell.header) for cell in inner.cells]
    cells += [
        Cell(0, 0, text="类别", header="column"),
        Cell(1, 0, rowspan=3, text="经营情况", header="row"),
        Cell(4, 0, rowspan=4, text="其他业务", header="row"),
    ]
    table = Table(cells)

    def content(cell: Cell) -> str:
        if cell.rowspan > 1 or (seed % 2 and cell.header == "column"):
            return f"<div style='writing-mode:vertical-rl;display:inline-block'>{cell.text}</div>"
        return escape(cell.text)

    return _printed(table, to_html(table, 0, content))


@kind("Chromium, sup and sub", "chromium", share=1.5)
def sup_and_sub(seed: int) -> Case:
    table = raised_table(seed)
    return _printed(table, to_html(table, seed, lambda cell: _tagged(cell.text)))


def _runs(text: str) -> list[tuple[str, str]]:
    """Pieces of a text as (sup, sub or nothing; plain characters)."""
    pieces: list[tuple[str, str]] = []
    for letter in text:
        tag = "sup" if letter in "¹²³⁻ᵃᵇ" else "sub" if letter in "₂₄" else ""
        plain = letter.translate(str.maketrans("¹²³⁻ᵃᵇ₂₄", "123-ab24"))
        if pieces and pieces[-1][0] == tag:
            pieces[-1] = tag, pieces[-1][1] + plain
        else:
            pieces.append((tag, plain))
    return pieces


def _tagged(text: str) -> str:
    return "".join(f"<{tag}>{escape(plain)}</{tag}>" if tag else escape(plain) for tag, plain in _runs(text))


@kind("Chromium, heads that stand on end", "chromium")
def on_end(seed: int) -> Case:
    """Heads turned by writing-mode, upwards or downwards."""
    table = make_table(seed)
    up = "transform:rotate(180deg);" if seed % 2 == 0 else ""

    def content(cell: Cell) -> str:
        if cell.header and cell.col:
            return f"<div style='writing-mode:vertical-rl;{up}display:inline-block;height:80px'>{cell.text}</div>"
        return escape(cell.text)

    return _printed(table, to_html(table, 0, content))


@kind("Chromium, wrapped lines", "chromium")
def wrapped(seed: int) -> Case:
    """Labels of several lines, justified, with ligatures where the font has them."""
    rng = random.Random(seed)
    words = ("including", "all charges", "of former years,", "official fees", "and final offers", "not yet billed")
    table = with_texts(
        make_table(seed),
        lambda cell: f"{cell.text} {' '.join(rng.sample(words, 4))}" if cell.col == 0 and cell.row else cell.text,
    )

    def content(cell: Cell) -> str:
        style = "width:150px;text-align:justify;font-family:DejaVu Serif" if cell.col == 0 else ""
        return f"<div style='{style}'>{escape(cell.text)}</div>"

    return _printed(table, to_html(table, 0, content))


@kind("Chromium, hidden text", "chromium")
def hidden(seed: int) -> Case:
    """Transparent or white texts and hidden ones: cells that look empty."""
    full = make_table(seed)
    places = {(cell.row, cell.col) for cell in full.cells if is_number(cell) and (cell.row + cell.col) % 3 == 0}
    seen = with_texts(full, lambda cell: "" if (cell.row, cell.col) in places else cell.text)
    ways = ("color:transparent", "visibility:hidden", "opacity:0", "color:white")

    def content(cell: Cell) -> str:
        style = ways[seed % 4] if (cell.row, cell.col) in places else ""
        return f"<span style='{style}'>{escape(cell.text)}</span>"

    return _printed(seen, to_html(full, seed // 4, content))


@kind("Chromium, letters spaced out", "chromium")
def spaced_out(seed: int) -> Case:
    table = make_table(seed)
    gap = (2, 4, 6)[seed % 3]

    def content(cell: Cell) -> str:
        style = f"letter-spacing:{gap}px" if cell.header else ""
        return f"<span style='{style}'>{escape(cell.text)}</span>"

    return _printed(table, to_html(table, seed, content))


def workbook(table: Table, seed: int, content: Callable[[Cell], object] | None = None, widths: int = 16) -> bytes:
    """Return a workbook with the table, ruled for even seeds."""
    book = openpyxl.Workbook()
    sheet = book.active
    sheet.sheet_view.rightToLeft = table.direction == "rtl"
    thin = Side(style="thin")
    heads = max(table.n_header_rows, 1)
    for cell in table.cells:
        place = sheet.cell(cell.row + 1, cell.col + 1)
        place.value = content(cell) if content else cell.text
        place.font = Font(name="DejaVu Sans", size=10)
        place.alignment = Alignment(horizontal="right" if cell.col else None, vertical="center")
        if cell.is_spanning:
            last = sheet.cell(cell.end_row, cell.end_col).coordinate
            sheet.merge_cells(f"{place.coordinate}:{last}")
    for row in range(1, table.n_rows + 1):
        for col in range(1, table.n_cols + 1):
            if seed % 2 == 0:
                border = Border(thin, thin, thin, thin)
            else:
                border = Border(top=thin if row == 1 else None, bottom=thin if row in (heads, table.n_rows) else None)
            sheet.cell(row, col).border = border
    for col in range(1, table.n_cols + 1):
        sheet.column_dimensions[get_column_letter(col)].width = widths + 4 * (col == 1)
    sheet.page_setup.fitToWidth = 1
    sheet.page_setup.fitToHeight = 0
    sheet.sheet_properties.pageSetUpPr = openpyxl.worksheet.properties.PageSetupProperties(fitToPage=True)
    out = io.BytesIO()
    book.save(out)
    return out.getvalue()


def _converted(table: Table, data: bytes, **more: object) -> Case:
    return Case(table, data, program="office", **more)


@kind("LibreOffice, workbook", "office")
def office_plain(seed: int) -> Case:
    table = _usual(seed)
    return _converted(table, workbook(table, seed))


@kind("LibreOffice, Chinese workbook", "office")
def office_chinese(seed: int) -> Case:
    table = _usual(seed, "zh")
    return _converted(table, workbook(table, seed))


@kind("LibreOffice, right-to-left workbook", "office", share=1.5)
def office_rtl(seed: int) -> Case:
    table = _usual(seed, ("he", "ar")[seed // 2 % 2])
    return _converted(table, workbook(table, seed))


@kind("LibreOffice, raised signs", "office")
def office_raised(seed: int) -> Case:
    table = raised_table(seed)

    def rich(cell: Cell) -> object:
        kinds = {"sup": "superscript", "sub": "subscript", "": None}
        runs = _runs(cell.text)
        if len(runs) < 2:
            return cell.text
        fonts = {tag: InlineFont(rFont="DejaVu Sans", sz=10, vertAlign=name) for tag, name in kinds.items()}
        return CellRichText(*[TextBlock(fonts[tag], plain) for tag, plain in runs])

    return _converted(table, workbook(table, seed, rich))


@kind("LibreOffice, texts cut by the next cell", "office")
def office_cut(seed: int) -> Case:
    """Labels too long for their column, with a number in the next one: the rest is clipped."""
    long = with_texts(
        make_table(seed),
        lambda cell: f"{cell.text}, with 4,711 and other charges" if cell.col == 0 and not cell.header else cell.text,
    )
    font = TrueType(find_dejavu() or TrueType().path)
    # 20 characters of 7 pixels and 5 more, at 96 dots per inch. LibreOffice's column is wider, how much depends on the
    # fonts that it finds: the letters near the edge may be read.
    room = (20 * 7 + 5) * 0.75
    maybe: dict[tuple[int, int], str] = {}

    def seen(cell: Cell) -> str:
        if cell.col or cell.header:
            return cell.text
        sure = max(n for n in range(len(cell.text) + 1) if font.width(cell.text[:n], 10) < room - 8)
        maybe[cell.row, cell.col] = cell.text[sure : sure + 9]
        return cell.text[:sure]

    truth = with_texts(long, seen)
    return _converted(truth, workbook(long, seed), maybe=maybe)
