"""Draw the sample pictures and write their labels.

    python data/samples/make_samples.py               all of them
    python data/samples/make_samples.py ruled photo   only these

Needs numpy, Pillow and two font packages (Debian: ``fonts-liberation``, ``fonts-wqy-zenhei``).
Cells get their place from numbers in this file, never from a font, so the labels are the same
on every machine; the pixels may differ a little from one font version to the next.

Every name, number and sentence in the pictures is invented.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from html import escape
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFilter, ImageFont

FOLDER = Path(__file__).resolve().parent
SCALE = 2  # Everything is drawn twice as large and then reduced, for smooth edges.
LICENSE_NOTE = "drawn by make_samples.py of this project, invented content; Apache-2.0 like the project"

Color = str | tuple[int, int, int]
Matrix = NDArray[np.float64]
INK = (28, 28, 32)


# Tables and labels: nothing here needs a font.


@dataclass(frozen=True)
class Entry:
    """A cell as written in its row: text, spans and the looks that differ from its column."""

    text: str
    rowspan: int = 1
    colspan: int = 1
    header: str | None = None
    align: str | None = None
    bold: bool | None = None
    indent: float = 0
    fill: Color | None = None
    color: Color | None = None


@dataclass(frozen=True)
class Grid:
    """A table on the flat page: edges of columns and rows in pixels, and (row, column, entry)."""

    xs: tuple[float, ...]
    ys: tuple[float, ...]
    cells: tuple[tuple[int, int, Entry], ...]
    header_rows: int = 1
    stub_cols: int = 0

    def box(self, row: int, col: int, entry: Entry) -> tuple[float, float, float, float]:
        """Left, top, right, bottom of a cell."""
        return self.xs[col], self.ys[row], self.xs[col + entry.colspan], self.ys[row + entry.rowspan]

    @property
    def outline(self) -> tuple[float, float, float, float]:
        """Left, top, right, bottom of the table."""
        return self.xs[0], self.ys[0], self.xs[-1], self.ys[-1]

    def header(self, row: int, col: int, entry: Entry) -> str | None:
        """Kind of header as in ``postprocess.cell.Cell``."""
        if row < self.header_rows:
            return "column"
        if entry.header is None and col < self.stub_cols and entry.text:
            return "row"
        return entry.header


def build_grid(
    left: float,
    top: float,
    widths: Sequence[float],
    heights: Sequence[float],
    rows: Sequence[Sequence[str | Entry]],
    *,
    header_rows: int = 1,
    stub_cols: int = 0,
) -> Grid:
    """Place rows as HTML does: an entry takes the next free slot of its row."""
    taken: set[tuple[int, int]] = set()
    cells = []
    for r, row in enumerate(rows):
        col = 0
        for item in row:
            entry = item if isinstance(item, Entry) else Entry(item)
            while (r, col) in taken:
                col += 1
            taken |= {(r + i, col + j) for i in range(entry.rowspan) for j in range(entry.colspan)}
            cells.append((r, col, entry))
    xs = tuple(float(x) for x in left + np.cumsum([0, *widths]))
    ys = tuple(float(y) for y in top + np.cumsum([0, *heights]))
    return Grid(xs, ys, tuple(cells), header_rows, stub_cols)


@dataclass(frozen=True)
class Sample:
    """One picture: how to draw its flat page, where its tables are, and what the camera does to it."""

    image: str
    size_wh: tuple[int, int]
    draw: Callable[[Canvas], None]
    tables: tuple[Grid, ...] = ()
    ruling: str = "wired"
    language: str = "en"
    paper: Color = "white"
    colors: int | None = 16  # of the palette; 16 are greys, None is true colour
    page_wh: tuple[int, int] | None = None  # size of the flat page where a matrix moves it into the picture
    matrix: Matrix | None = None  # flat page to picture, 3 x 3
    develop: Callable[[Image.Image, Sample], Image.Image] | None = None

    @property
    def name(self) -> str:
        """File name without suffix."""
        return Path(self.image).stem


def project(points: Sequence[tuple[float, float]], matrix: Matrix | None) -> list[list[float]]:
    """Move points of the flat page into the picture; tenths of a pixel."""
    homogeneous = np.array([(x, y, 1.0) for x, y in points]) @ (np.eye(3) if matrix is None else matrix).T
    return [[round(float(x / w), 1), round(float(y / w), 1)] for x, y, w in homogeneous]


def box_to_quad(box: tuple[float, float, float, float], matrix: Matrix | None) -> list[list[float]]:
    """Corners TL, TR, BR, BL in the picture."""
    left, top, right, bottom = box
    return project([(left, top), (right, top), (right, bottom), (left, bottom)], matrix)


def quad_to_box(quad: list[list[float]]) -> list[float]:
    """Axis-aligned hull."""
    xs, ys = zip(*quad, strict=True)
    return [min(xs), min(ys), max(xs), max(ys)]


def cells_to_html(cells: Sequence[dict[str, Any]], n_rows: int) -> str:
    """HTML in the plain form of the benchmark: ``tr`` and ``td`` only, ``<br>`` for a new line."""
    rows = ["" for _ in range(n_rows)]
    for cell in cells:
        spans = "".join(f' {key}="{cell[key]}"' for key in ("rowspan", "colspan") if cell[key] > 1)
        rows[cell["row"]] += f"<td{spans}>{escape(cell['text'], quote=False).replace(chr(10), '<br>')}</td>"
    return "<table>" + "".join(f"<tr>{row}</tr>" for row in rows) + "</table>"


def grid_to_label(grid: Grid, matrix: Matrix | None) -> dict[str, Any]:
    """One table as it stands in the label."""
    cells = []
    for row, col, entry in grid.cells:
        quad = box_to_quad(grid.box(row, col, entry), matrix)
        cell: dict[str, Any] = {"row": row, "col": col, "rowspan": entry.rowspan, "colspan": entry.colspan}
        cell |= {"bbox": quad_to_box(quad), "text": entry.text}
        cell |= {} if matrix is None else {"quad": quad}
        header = grid.header(row, col, entry)
        cells.append(cell if header is None else cell | {"header": header})
    n_rows, n_cols = len(grid.ys) - 1, len(grid.xs) - 1
    html = cells_to_html(cells, n_rows)
    quad = box_to_quad(grid.outline, matrix)
    return {"n_rows": n_rows, "n_cols": n_cols, "quad": quad, "cells": cells, "html": html}


def sample_to_label(sample: Sample) -> dict[str, Any]:
    """The whole label: ``tables`` always; with exactly one table its keys stand at the top as well."""
    tables = [grid_to_label(grid, sample.matrix) for grid in sample.tables]
    label: dict[str, Any] = {"id": sample.name, "source": "samples", "license_note": LICENSE_NOTE}
    label["image"] = sample.image
    if len(tables) == 1:
        label |= {key: tables[0][key] for key in ("n_rows", "n_cols", "cells", "html")}
    width, height = sample.size_wh
    meta = {"has_text": True, "language": sample.language, "ruling_est": sample.ruling if tables else None}
    meta |= {"bbox_kind": "cell", "width": width, "height": height}
    return label | {"tables": tables, "meta": meta}


def label_to_json(label: dict[str, Any]) -> str:
    """JSON with one cell a line, so that a change can be read."""

    def lines(value: Any, indent: str) -> str:
        if isinstance(value, dict) and ("cells" in value or "tables" in value):
            items = [f"{json.dumps(key)}: {lines(item, indent + ' ')}" for key, item in value.items()]
            return "{\n" + ",\n".join(f"{indent} {item}" for item in items) + f"\n{indent}}}"
        if isinstance(value, list) and value and isinstance(value[0], dict):
            return "[\n" + ",\n".join(f"{indent} {lines(item, indent + ' ')}" for item in value) + f"\n{indent}]"
        return json.dumps(value, ensure_ascii=False)

    return lines(label, "") + "\n"


# Drawing.

FONTS = {
    ("sans", False): ("LiberationSans-Regular.ttf", "fonts-liberation"),
    ("sans", True): ("LiberationSans-Bold.ttf", "fonts-liberation"),
    ("serif", False): ("LiberationSerif-Regular.ttf", "fonts-liberation"),
    ("serif", True): ("LiberationSerif-Bold.ttf", "fonts-liberation"),
    ("chinese", False): ("wqy-zenhei.ttc", "fonts-wqy-zenhei"),
    ("chinese", True): ("wqy-zenhei.ttc", "fonts-wqy-zenhei"),
}
FONT_FOLDERS = ("/usr/share/fonts", "/usr/local/share/fonts", "~/.local/share/fonts", "~/.fonts", "/Library/Fonts")


@cache
def find_font(file_name: str, package: str) -> Path:
    """Path of a font; ends the program with the package's name where it is absent."""
    for folder in FONT_FOLDERS:
        for path in sorted(Path(folder).expanduser().rglob(file_name)):
            return path
    raise SystemExit(f"font {file_name} is not installed: apt-get install {package}, or copy it to ~/.fonts")


@cache
def load_font(family: str, bold: bool, size: float) -> ImageFont.FreeTypeFont:
    """Font at the size of the picture, to be drawn at ``SCALE``."""
    path = find_font(*FONTS[family, bold])
    return ImageFont.truetype(str(path), round(size * SCALE), layout_engine=ImageFont.Layout.BASIC)


@dataclass(frozen=True)
class Style:
    """Looks of a text; ``align`` has one letter (l, c, r) for each column of a table."""

    family: str = "sans"
    size: float = 17
    align: str = ""
    header_align: str | None = None
    header_bold: bool = True
    header_color: Color | None = None
    color: Color = INK
    pad: float = 9
    leading: float = 1.3
    valign: str = "middle"


class Canvas:
    """A flat page, in pixels of the flat page; drawn at ``SCALE``."""

    def __init__(self, size_wh: tuple[int, int], paper: Color) -> None:
        self.image = Image.new("RGB", (size_wh[0] * SCALE, size_wh[1] * SCALE), paper)
        self._pen = ImageDraw.Draw(self.image)

    def fill(self, box: tuple[float, float, float, float], color: Color) -> None:
        """Paint a rectangle."""
        left, top, right, bottom = (round(value * SCALE) for value in box)
        self._pen.rectangle((left, top, right - 1, bottom - 1), fill=color)

    def across(self, y: float, left: float, right: float, width: float = 1, color: Color = INK) -> None:
        """Draw a horizontal line centred on ``y``."""
        self.fill((left - width / 2, y - width / 2, right + width / 2, y + width / 2), color)

    def down(self, x: float, top: float, bottom: float, width: float = 1, color: Color = INK) -> None:
        """Draw a vertical line centred on ``x``."""
        self.fill((x - width / 2, top - width / 2, x + width / 2, bottom + width / 2), color)

    def text(
        self,
        x: float,
        y: float,
        text: str,
        style: Style,
        *,
        align: str = "l",
        bold: bool = False,
        color: Color | None = None,
        room: float | None = None,
    ) -> None:
        """Write one line, its middle at height ``y``; refuse a line wider than ``room``."""
        font = load_font(style.family, bold, style.size)
        length = font.getlength(text) / SCALE
        if room is not None and length > room:
            raise ValueError(f"{text!r} is {length:.0f} px long and has {room:.0f} px of room")
        anchor = {"l": "lm", "c": "mm", "r": "rm"}[align]
        weight = 1 if bold and style.family == "chinese" else 0  # this font has no bold face
        place = (round(x * SCALE), round(y * SCALE))
        self._pen.text(place, text, font=font, anchor=anchor, fill=color or style.color, stroke_width=weight)

    def paragraph(self, x: float, y: float, width: float, text: str, style: Style) -> float:
        """Write wrapped text from the top ``y``; return the bottom."""
        font, line = load_font(style.family, False, style.size), ""
        pitch = style.size * style.leading
        for word in [*text.split(), ""]:
            longer = f"{line} {word}".strip()
            if word and font.getlength(longer) / SCALE <= width:
                line = longer
                continue
            self.text(x, y + pitch / 2, line, style)
            line, y = word, y + pitch
        return y

    def cells(self, grid: Grid, style: Style) -> None:
        """Fill the cells of a table and write their texts."""
        for row, col, entry in grid.cells:
            if entry.fill is not None:
                self.fill(grid.box(row, col, entry), entry.fill)
            self._cell_text(grid.box(row, col, entry), entry, style, row < grid.header_rows, style.align[col])

    def _cell_text(
        self, box: tuple[float, float, float, float], entry: Entry, style: Style, is_header: bool, column_align: str
    ) -> None:
        left, top, right, bottom = box
        align = entry.align or (style.header_align if is_header else None) or column_align
        bold = entry.bold if entry.bold is not None else is_header and style.header_bold
        color = entry.color or (style.header_color if is_header else None)
        x = {"l": left + style.pad + entry.indent, "c": (left + right) / 2, "r": right - style.pad}[align]
        lines = entry.text.split("\n")
        pitch = style.size * style.leading
        first = (top + bottom - pitch * len(lines)) / 2 if style.valign == "middle" else top + style.pad
        room = right - left - style.pad - entry.indent
        for number, line in enumerate(lines):
            self.text(x, first + (number + 0.5) * pitch, line, style, align=align, bold=bold, color=color, room=room)

    def rules(self, grid: Grid, width: float = 1, frame: float | None = None, color: Color = INK) -> None:
        """Draw the border of every cell, and the outline in its own width."""
        for row, col, entry in grid.cells:
            left, top, right, bottom = grid.box(row, col, entry)
            self.across(bottom, left, right, width, color)
            self.down(right, top, bottom, width, color)
        left, top, right, bottom = grid.outline
        for y in (top, bottom):
            self.across(y, left, right, frame or width, color)
        for x in (left, right):
            self.down(x, top, bottom, frame or width, color)


def render(sample: Sample) -> Image.Image:
    """Draw the page, move it into the picture, reduce it."""
    canvas = Canvas(sample.page_wh or sample.size_wh, sample.paper)
    sample.draw(canvas)
    if sample.develop is not None:
        return sample.develop(canvas.image, sample)
    return canvas.image.reduce(SCALE)


def warp(page: Image.Image, sample: Sample, outside: Color) -> Image.Image:
    """Move a flat page into the picture, still at ``SCALE``."""
    assert sample.matrix is not None
    larger = np.diag([float(SCALE), float(SCALE), 1.0])
    back = np.linalg.inv(larger @ sample.matrix @ np.linalg.inv(larger))
    size = (sample.size_wh[0] * SCALE, sample.size_wh[1] * SCALE)
    coefficients = (back / back[2, 2]).ravel()[:8].tolist()
    return page.transform(size, Image.Transform.PERSPECTIVE, coefficients, Image.Resampling.BICUBIC, fillcolor=outside)


def encode(image: Image.Image, sample: Sample) -> bytes:
    """PNG, mostly with a small palette, or JPEG."""
    buffer = BytesIO()
    if sample.image.endswith(".jpg"):
        image.save(buffer, "JPEG", quality=72, optimize=True)
    elif sample.colors is None:
        image.save(buffer, "PNG", optimize=True)
    else:
        flat = image.convert("L") if sample.colors == 16 else image
        flat.quantize(sample.colors, dither=Image.Dither.NONE).save(buffer, "PNG", optimize=True)
    return buffer.getvalue()


# The pictures.


def ruled() -> Sample:
    """An invoice: every cell framed, nothing merged."""
    items = [
        ("004817", "Hinge, steel, 80 mm", 40, 385, 0, "2024-03-11"),
        ("004822", "Hinge, brass, 60 mm", 24, 642, 5, "2024-03-11"),
        ("010090", "Oak board 2000 x 300 x 27 mm", 48, 4875, 10, "2024-03-14"),
        ("010114", "Birch plywood 1500 x 1500 x 12 mm", 8, 5630, 10, "2024-03-14"),
        ("000356", "Wood glue, waterproof, 750 g", 6, 1195, 0, "2024-03-11"),
        ("007731", "Drawer runner, pair, 450 mm", 30, 1420, 12.5, "2024-03-18"),
        ("007745", "Drawer runner, pair, 600 mm", 10, 1735, 12.5, "2024-03-18"),
        ("021300", "Clear varnish, matt, 2.5 l", 4, 4890, 0, "2024-03-11"),
        ("000904", "Sanding disc, grit 120, box of 50", 5, 2215, 0, "2024-03-11"),
        ("015520", "Shelf support, nickel, box of 200", 3, 3160, 5, "2024-03-18"),
        ("900001", "Packing and delivery", 1, 8500, 0, "2024-03-18"),
    ]
    rows: list[list[str | Entry]] = [
        ["Pos.", "Article no.", "Description", "Qty", "Unit price", "Discount", "Delivery", "Amount (EUR)"]
    ]
    total = 0
    for number, (article, what, quantity, cents, discount, day) in enumerate(items, 1):
        amount = round(quantity * cents * (100 - discount) / 100)
        total += amount
        share = f"{discount}%" if discount else "0%"
        rows.append([f"{number}", article, what, f"{quantity}", money(cents), share, day, money(amount)])
    rows.append(["", "", Entry("Total", bold=True), "", "", "", "", Entry(money(total), bold=True)])
    grid = build_grid(24.5, 22.5, (56, 118, 312, 64, 108, 98, 126, 136), [38] + [33] * 12, rows)

    def draw(canvas: Canvas) -> None:
        canvas.fill((*grid.outline[:3], grid.ys[1]), (232, 234, 236))
        canvas.cells(grid, Style(align="cllrrrcr", header_align="c"))
        canvas.rules(grid, 1, color=(70, 70, 74))

    return Sample("ruled.png", (1067, 480), draw, (grid,))


def money(cents: int) -> str:
    """Amount with two digits and thousands marks."""
    return f"{cents / 100:,.2f}"


def lineless() -> Sample:
    """A balance sheet: no frame, rules only where the sums are."""

    def section(text: str) -> list[str | Entry]:
        return [Entry(text, bold=True, header="section"), "", "", ""]

    def line(text: str, *values: str) -> list[str | Entry]:
        return [Entry(text, indent=22), *values]

    def total(text: str, *values: str) -> list[str | Entry]:
        return [Entry(text, bold=True), "", *(Entry(value, bold=True) for value in values)]

    rows: list[list[str | Entry]] = [
        ["In thousands of euros", "Note", "2024", "2023"],
        section("Non-current assets"),
        line("Property, plant and equipment", "5", "48,210", "45,972"),
        line("Right-of-use assets", "6", "7,385", "8,040"),
        line("Intangible assets", "7", "12,640", "13,115"),
        line("Deferred tax assets", "11", "1,204", "987"),
        total("Total non-current assets", "69,439", "68,114"),
        section("Current assets"),
        line("Inventories", "8", "15,872", "17,306"),
        line("Trade and other receivables", "9", "21,455", "19,208"),
        line("Assets held for sale", "", "–", "640"),
        line("Cash and cash equivalents", "10", "9,730", "6,512"),
        total("Total current assets", "47,057", "43,666"),
        total("Total assets", "116,496", "111,780"),
        section("Equity"),
        line("Share capital", "12", "20,000", "20,000"),
        line("Own shares", "12", "(1,350)", "(900)"),
        line("Translation reserve", "", "(2,418)", "365"),
        line("Retained earnings", "", "41,906", "37,220"),
        total("Total equity", "58,138", "56,685"),
        section("Liabilities"),
        line("Loans and borrowings", "13", "36,500", "35,000"),
        line("Lease liabilities", "6", "7,610", "8,226"),
        line("Trade and other payables", "14", "14,248", "11,869"),
        total("Total liabilities", "58,358", "55,095"),
        total("Total equity and liabilities", "116,496", "111,780"),
    ]
    sums, grand = (6, 12, 19, 24), (13, 25)
    heights = [36 if row in (0, 1, 7, 14, 20) else 27 for row in range(len(rows))]
    grid = build_grid(30.5, 18.5, (420, 90, 150, 150), heights, rows, stub_cols=1)

    def draw(canvas: Canvas) -> None:
        canvas.cells(grid, Style("serif", 18, "lcrr", pad=12))
        for col in (2, 3):
            left, right = grid.xs[col] + 46, grid.xs[col + 1] - 8
            for row in sums + grand:
                canvas.across(grid.ys[row] + 1, left, right)
            for row in grand:
                canvas.across(grid.ys[row + 1] - 1, left, right)
                canvas.across(grid.ys[row + 1] + 2, left, right)

    return Sample("lineless.png", (871, int(grid.ys[-1]) + 26), draw, (grid,), "lineless")


def entries(row: Sequence[str | Entry]) -> list[Entry]:
    """The row with every text wrapped."""
    return [item if isinstance(item, Entry) else Entry(item) for item in row]


def spans() -> Sample:
    """A field trial: header of two levels, groups of rows, a section row across."""
    shade, band = (221, 230, 218), (240, 243, 238)

    def head(text: str, rowspan: int = 1, colspan: int = 1) -> Entry:
        return Entry(text, rowspan, colspan, fill=shade)

    def section(text: str) -> list[str | Entry]:
        return [Entry(text, colspan=8, header="section", align="l", bold=True, fill=band)]

    def group(text: str, rowspan: int) -> Entry:
        return Entry(text, rowspan, align="c", bold=True)

    rows: list[list[str | Entry]] = [
        [
            head("Region", 2),
            head("Trial site", 2),
            head("Yield (t/ha)", colspan=3),
            head("Protein (%)", colspan=2),
            head("Remarks", 2),
        ],
        [head("2022"), head("2023"), head("2024"), head("Mean"), head("Max")],
        section("Winter wheat"),
        [group("North", 3), "Hollow Field", "7.84", "8.12", "7.95", "12.1", "13.0", ""],
        ["Mill Lane", "8.30", "8.41", "8.07", "11.8", "12.4", "late sowing in 2024"],
        ["Upper Terrace", "6.92", "7.25", "7.10", "12.6", "13.3", ""],
        [group("South", 2), "Long Meadow", "8.76", "8.58", "8.90", "11.4", "12.2", Entry("watered twice\na week", 2)],
        ["Quarry Side", "7.48", "7.02", "7.66", "12.0", "12.9"],
        section("Spring barley"),
        [group("North", 2), "Hollow Field", "5.61", "5.94", "5.70", "10.3", "11.1", ""],
        ["Mill Lane", "6.05", "6.18", "–", "10.0", "10.8", "not sown in 2024"],
        [group("South", 3), "Long Meadow", "6.44", "6.52", "6.39", "9.8", "10.6", ""],
        ["Quarry Side", "5.27", "4.13", "5.35", "10.9", "11.7", "hail in July 2023"],
        ["Orchard Gate", "5.80", "5.76", "5.91", "10.1", "10.9", ""],
    ]
    grid = build_grid(20.5, 20.5, (100, 150, 86, 86, 86, 90, 90, 210), [34] * 14, rows, header_rows=2, stub_cols=2)

    def draw(canvas: Canvas) -> None:
        canvas.cells(grid, Style("serif", 18, "clrrrrrl", "c", pad=12))
        canvas.rules(grid, 1, 2, (60, 74, 62))

    return Sample("spans.png", (940, 518), draw, (grid,), colors=32)


def rotated() -> Sample:
    """A list from a flatbed scanner, laid in askew."""
    loads = [
        ("03.06.2024", "06:42", "TR-0418", "Gravel 8/16", 39.46, 14.12),
        ("03.06.2024", "07:15", "TR-0407", "Gravel 8/16", 38.90, 13.98),
        ("03.06.2024", "08:03", "KA-1120", "Sand 0/2", 26.34, 11.60),
        ("03.06.2024", "09:37", "TR-0418", "Gravel 16/32", 40.02, 14.12),
        ("04.06.2024", "06:51", "TR-0422", "Topsoil, sieved", 31.78, 13.44),
        ("04.06.2024", "07:20", "KA-1120", "Sand 0/2", 26.08, 11.60),
        ("04.06.2024", "10:44", "TR-0407", "Crushed rock 0/45", 39.88, 13.98),
        ("04.06.2024", "13:06", "TR-0418", "Crushed rock 0/45", 40.30, 14.14),
        ("05.06.2024", "07:09", "TR-0422", "Topsoil, sieved", 30.92, 13.44),
        ("05.06.2024", "08:55", "KA-1133", "Sand 0/2", 25.66, 11.74),
        ("05.06.2024", "11:31", "TR-0407", "Gravel 8/16", 38.64, 13.96),
        ("05.06.2024", "14:18", "TR-0418", "Gravel 16/32", 39.74, 14.14),
    ]
    rows: list[list[str | Entry]] = [["No.", "Date", "Time", "Vehicle", "Material", "Gross (t)", "Tare (t)", "Net (t)"]]
    for number, (day, time, vehicle, what, gross, tare) in enumerate(loads, 611):
        weights = (f"{gross:.2f}", f"{tare:.2f}", f"{gross - tare:.2f}")
        rows.append([f"{number}", day, time, vehicle, what, *weights])
    grid = build_grid(70.5, 118.5, (64, 120, 80, 104, 196, 98, 98, 98), [38] + [35] * 12, rows)

    def draw(canvas: Canvas) -> None:
        canvas.text(70, 62, "Weighbridge record, week 23", Style("serif", 27), bold=True)
        canvas.text(70, 95, "Loads out of pit 2. All weights in tonnes.", Style("serif", 18))
        canvas.cells(grid, Style("serif", 18, "rccclrrr", "c"))
        canvas.rules(grid, 1.5, color=(45, 45, 48))
        canvas.text(70, 620, "Checked: ______________________", Style("serif", 18))

    angle, width, height = np.deg2rad(2.0), 1000, 700
    cos, sin = float(np.cos(angle)), float(np.sin(angle))
    middle_x, middle_y = width / 2, height / 2
    matrix = np.array(
        [
            [cos, -sin, middle_x - cos * middle_x + sin * middle_y],
            [sin, cos, middle_y - sin * middle_x - cos * middle_y],
            [0.0, 0.0, 1.0],
        ]
    )
    return Sample("rotated.jpg", (width, height), draw, (grid,), page_wh=(width, height), matrix=matrix, develop=scan)


def scan(page: Image.Image, sample: Sample) -> Image.Image:
    """Grey scanner: soft, a little noise and dust, a darker edge."""
    rng = np.random.default_rng(7)
    soft = warp(page, sample, (252, 252, 252)).reduce(SCALE).convert("L").filter(ImageFilter.GaussianBlur(0.55))
    pixels = np.asarray(soft, float) * (238 / 255) + 6
    height, width = pixels.shape
    pixels -= 26 * np.exp(-np.arange(width) / 14.0)
    pixels += rng.normal(0, 2.6, pixels.shape)
    for x, y in rng.integers(0, (width - 2, height - 2), (26, 2)):
        pixels[y : y + 2, x : x + 2] -= 60
    return to_image(pixels)


def dark() -> Sample:
    """A dashboard in a dark theme: coloured header, striped rows, no lines."""
    good, warn, bad = (86, 200, 138), (240, 178, 74), (242, 105, 105)
    services = [
        ("checkout-api", "v4.18.2", "eu-north", "Healthy", "42%", "1.8 GB", "12,940", "2 h ago"),
        ("inventory-sync", "v2.7.0", "eu-north", "Healthy", "18%", "640 MB", "3,118", "1 day ago"),
        ("image-resize", "v1.31.5", "us-west", "Degraded", "93%", "3.6 GB", "8,402", "35 min ago"),
        ("mail-queue", "v0.9.14", "eu-south", "Healthy", "7%", "210 MB", "561", "6 days ago"),
        ("search-index", "v5.0.1", "us-west", "Down", "0%", "0 MB", "0", "4 min ago"),
        ("session-store", "v3.3.3", "ap-east", "Healthy", "55%", "7.2 GB", "27,815", "12 days ago"),
        ("price-feed", "v2.0.8", "ap-east", "Degraded", "71%", "1.1 GB", "15,066", "3 h ago"),
        ("audit-log", "v1.12.0", "eu-south", "Healthy", "11%", "480 MB", "1,247", "21 days ago"),
        ("report-render", "v6.2.4", "us-west", "Healthy", "38%", "2.4 GB", "94", "5 h ago"),
    ]
    tints = {"Healthy": good, "Degraded": warn, "Down": bad}
    titles = ["Service", "Version", "Region", "Status", "CPU", "Memory", "Requests/min", "Deployed"]
    rows: list[list[str | Entry]] = [[Entry(title, fill=(52, 78, 150)) for title in titles]]
    for number, service in enumerate(services):
        fill = (38, 43, 58) if number % 2 else (25, 28, 39)
        rows.append([Entry(text, fill=fill, color=tints.get(text), bold=text in tints) for text in service])
    grid = build_grid(20.0, 20.0, (176, 112, 122, 124, 84, 110, 148, 144), [46] + [42] * 9, rows, stub_cols=1)

    def draw(canvas: Canvas) -> None:
        style = Style("sans", 17, "llllrrrr", color=(222, 226, 236), header_color=(250, 251, 255), pad=16)
        canvas.cells(grid, style)

    return Sample("dark.png", (1060, 464), draw, (grid,), "lineless", paper=(14, 16, 23), colors=None)


def chinese() -> Sample:
    """A statistics form in Chinese: merged header, units, a row of totals."""
    lines = [
        ("食品加工", 26, 18400, 19252, 108730, 101460, ""),
        ("纺织服装", 41, 12650, 11874, 70215, 74908, "两家停产检修"),
        ("造纸印刷", 13, 6200, 6347, 37106, 35882, ""),
        ("建筑材料", 34, 21800, 22965, 121544, 116027, ""),
        ("化工原料", 9, 15300, 14718, 88390, 90245, "原料涨价"),
        ("通用设备", 22, 27500, 28116, 160972, 149335, ""),
        ("仪器仪表", 7, 4900, 5233, 29418, 26750, "新增一家"),
    ]

    def figures(firms: int, plan: int, done: int, year: int, before: int) -> list[str]:
        growth = f"{(year / before - 1) * 100:.1f}"
        return [f"{firms}", f"{plan}", f"{done}", f"{done / plan * 100:.1f}", f"{year}", f"{before}", growth]

    rows: list[list[str | Entry]] = [
        [
            Entry("序号", 2),
            Entry("行业类别", 2),
            Entry("企业数\n（个）", 2),
            Entry("本月产值（万元）", colspan=3),
            Entry("本年累计（万元）", colspan=2),
            Entry("增减\n（%）", 2),
            Entry("备注", 2),
        ],
        ["计划", "实际", "完成率（%）", "本年", "上年同期"],
    ]
    rows += [[f"{number}", line[0], *figures(*line[1:6]), line[6]] for number, line in enumerate(lines, 1)]
    sums = [sum(column) for column in zip(*(line[1:6] for line in lines), strict=True)]
    rows.append([Entry("合计", colspan=2, align="c"), *figures(*sums), ""])
    widths = (60, 130, 96, 96, 96, 128, 110, 110, 90, 152)
    grid = build_grid(26.5, 104.5, widths, [38] * 10, rows, header_rows=2, stub_cols=2)

    def draw(canvas: Canvas) -> None:
        text = Style("chinese", 18)
        canvas.text(560, 40, "工业产值月报表", Style("chinese", 27), align="c", bold=True)
        canvas.text(27, 84, "填报单位：第三工业园管理处", text)
        canvas.text(560, 84, "2024年6月", text, align="c")
        canvas.text(1093, 84, "表号：工统03表", text, align="r")
        canvas.cells(grid, Style("chinese", 18, "clrrrrrrrl", "c", header_bold=False))
        canvas.rules(grid, 1, 2)
        for x, note in ((27, "单位负责人："), (390, "填表人："), (730, "报出日期：2024年7月5日")):
            canvas.text(x, 508, note, text)

    return Sample("chinese.png", (1120, 534), draw, (grid,), language="zh")


def empty_cells() -> Sample:
    """A form that is hardly filled in, with a column that holds nothing at all."""
    places = [
        ("Boiler room, pressure (bar)", "06:10", "1.8", "", ""),
        ("Boiler room, flow (°C)", "06:12", "64", "", ""),
        ("Pump 1, running hours", "", "", "18:05", "20418"),
        ("Pump 2, running hours", "", "", "", ""),
        ("Water meter, main (m³)", "06:20", "07315", "", ""),
        ("Water meter, garden (m³)", "", "", "", ""),
        ("Lift, door check", "", "", "", ""),
        ("Emergency lights", "", "", "18:30", "ok"),
        ("Roof drain, heating", "", "", "", ""),
        ("Waste room", "", "", "", ""),
    ]
    rows: list[list[str | Entry]] = [["No.", "Place", "Time", "Reading", "", "Time", "Reading", "Initials"]]
    for number, (where, *values) in enumerate(places, 1):
        rows.append([f"{number}", where, *values[:2], "", *values[2:], ""])
    grid = build_grid(24.5, 72.5, (56, 270, 90, 110, 44, 90, 110, 120), [38] * 11, rows, stub_cols=2)

    def draw(canvas: Canvas) -> None:
        canvas.text(24, 40, "Caretaker's round", Style("sans", 24), bold=True)
        canvas.text(914, 42, "Date: 09.01.2025", Style("sans", 17), align="r")
        canvas.fill((*grid.outline[:3], grid.ys[1]), (236, 236, 236))
        canvas.cells(grid, Style("sans", 17, "clcccccc", "c"))
        canvas.rules(grid, 1, 2, (50, 50, 54))

    return Sample("empty_cells.png", (940, 516), draw, (grid,))


def one_cell() -> Sample:
    """A notice in a single frame."""
    text = "Please keep this door closed.\nNext inspection: 18 November 2025"
    grid = build_grid(30.5, 28.5, (560,), (124,), [[text]], header_rows=0)

    def draw(canvas: Canvas) -> None:
        canvas.cells(grid, Style("sans", 26, "c", leading=1.5))
        canvas.rules(grid, 3)

    return Sample("one_cell.png", (622, 182), draw, (grid,))


WATER_1 = (
    "The town drew 4.21 million cubic metres of water in 2024, two percent less than in the year before. "
    "A wet spring kept the upper reservoir full until August, so that the wells on the plain could rest. "
    "Table 1 shows where the water came from; the spring at the old quarry was closed for repairs in the "
    "third quarter."
)
WATER_2 = (
    "Households remain the largest group of users. Their share fell because 312 new meters made losses in "
    "old pipes visible, which now count as such. Small firms are listed with the trades. Table 2 gives the "
    "use and the mean price without tax."
)
WATER_3 = (
    "For 2025 the works plan to renew 6.4 km of pipe in the lower town and to replace both pumps at the "
    "north well. Prices stay as they are. The council will discuss a lower fee for gardens "
    "in autumn."
)


def two_tables() -> Sample:
    """A page of a report: headline, prose, a ruled table, a table with three rules, a footnote."""
    first: list[list[str | Entry]] = [
        ["Source", "Q1", "Q2", "Q3", "Q4", "Year"],
        ["Upper reservoir", "612", "655", "590", "604", "2,461"],
        ["North well", "208", "174", "331", "246", "959"],
        ["Plain wells", "95", "60", "218", "122", "495"],
        ["Quarry spring", "118", "121", "–", "56", "295"],
        [Entry("Total", bold=True), *(Entry(v, bold=True) for v in ("1,033", "1,010", "1,139", "1,028", "4,210"))],
    ]
    second: list[list[str | Entry]] = [
        ["Users", "Meters", "Use (1,000 m³)", "Share (%)", "Price (€/m³)"],
        ["Households", "11,846", "2,394", "56.9", "1.84"],
        ["Trades and small firms", "1,027", "803", "19.1", "1.71"],
        ["Farms*", "164", "412", "9.8", "0.96"],
        ["Public buildings", "88", "178", "4.2", "1.60"],
        ["Losses", "", "423", "10.0", ""],
    ]
    ruled_grid = build_grid(90.5, 252.5, (240, 116, 116, 116, 116, 116), [34] * 6, first, stub_cols=1)
    open_grid = build_grid(90.5, 622.5, (260, 120, 170, 130, 140), [36] + [32] * 5, second, stub_cols=1)

    def draw(canvas: Canvas) -> None:
        prose, caption = Style("serif", 18.5, leading=1.36), Style("serif", 18)
        canvas.text(90, 76, "Water supply in 2024", Style("serif", 34), bold=True)
        canvas.paragraph(90, 116, 820, WATER_1, prose)
        canvas.text(90, 230, "Table 1. Water drawn by source, in 1,000 m³", caption, bold=True)
        canvas.cells(ruled_grid, Style("serif", 18, "lrrrrr", "c", pad=12))
        canvas.rules(ruled_grid, 1, color=(60, 60, 66))
        canvas.paragraph(90, 484, 820, WATER_2, prose)
        canvas.text(90, 600, "Table 2. Water use and price by group of users", caption, bold=True)
        canvas.cells(open_grid, Style("serif", 18, "lrrrr", pad=10))
        left, top, right, bottom = open_grid.outline
        for y, width in ((top, 2.0), (open_grid.ys[1], 1.0), (bottom, 2.0)):
            canvas.across(y, left, right, width)
        canvas.text(90, 838, "* Estimated from the area under irrigation.", Style("serif", 15))
        canvas.paragraph(90, 876, 820, WATER_3, prose)
        canvas.text(500, 1010, "– 7 –", Style("serif", 16), align="c")

    return Sample("two_tables.png", (1000, 1050), draw, (ruled_grid, open_grid), "partial")


BIKES_1 = (
    "Since the bridge opened in March, the counter at the harbour has seen more cyclists in every month than "
    "in the same month of the year before. The figure shows the daily mean for the first half of the season. "
    "Rain on eleven days in June explains the small step back; without those days the mean would be 3,150."
)
BIKES_2 = (
    "The counter is a loop in the ground and does not see trailers or groups that ride close together. A check "
    "by hand on two mornings found four percent more riders than the loop. We therefore read the figure as a "
    "lower bound, and will place a second loop at the south ramp before winter."
)


def no_table() -> Sample:
    """A page with prose and a bar chart: nothing here is a table."""
    bars = [("Mar", 1240), ("Apr", 1980), ("May", 2810), ("Jun", 2690), ("Jul", 3340), ("Aug", 3120)]
    zero, step = 592.5, 80

    def draw(canvas: Canvas) -> None:
        text, small = Style("serif", 19, leading=1.38), Style("sans", 15)
        canvas.text(80, 74, "More bicycles on the new bridge", Style("serif", 32), bold=True)
        canvas.paragraph(80, 112, 740, BIKES_1, text)
        for tick in range(5):
            y = zero - tick * step
            canvas.across(y, 150, 800, color=INK if tick == 0 else (216, 216, 216))
            canvas.text(140, y, f"{tick * 1000:,}", small, align="r")
        for number, (month, riders) in enumerate(bars):
            left = 184 + number * 104
            top = zero - riders / 1000 * step
            canvas.fill((left, top, left + 62, zero - 0.5), (72, 112, 160))
            canvas.fill((left + 4, top - 24, left + 58, top - 5), "white")
            canvas.text(left + 31, top - 14, f"{riders:,}", small, align="c")
            canvas.text(left + 31, zero + 20, month, small, align="c")
        canvas.text(80, 654, "Figure 1. Cyclists a day at the harbour, mean of each month", Style("serif", 17))
        canvas.paragraph(80, 692, 740, BIKES_2, text)

    return Sample("no_table.png", (900, 860), draw, ruling="none", colors=32)


def multiline() -> Sample:
    """A data sheet: cells of one to three lines side by side, units with exponents, rules between rows."""
    rows: list[list[str | Entry]] = [
        ["Property", "Unit", "Limit", "Method and remarks"],
        ["Density at 20 °C", "kg/m³", "815 to 845", "Weigh a sample of 50 cm³;\nrepeat three times, give the mean."],
        ["Kinematic viscosity", "mm²/s", "2.0 to 4.5", "Capillary, at (40 ± 0.1) °C."],
        ["Flash point", "°C", "≥ 55", "Closed cup."],
        ["Water content", "mg/kg", "≤ 200", "Titration.\nSamples above 150 mg/kg are\ntested a second time."],
        ["Heat of combustion,\nnet value", "MJ/kg\n(kWh/kg)", "≥ 42.6\n(≥ 11.8)", "Bomb, corrected for water."],
        ["Particles above 4 µm", "1/cm³", "≤ 2.5 × 10³", "Light barrier; shake the bottle\nfor one minute before use."],
        ["Conductivity\n(only with additive,\nat 20 °C)", "pS/m", "50 to 600", "Two electrodes."],
        ["Ash", "%", "≤ 0.01", "Heat to 775 °C, then weigh."],
    ]
    pitch = 18 * 1.3
    n_lines = [max(entry.text.count("\n") + 1 for entry in entries(row)) for row in rows]
    heights = [round(count * pitch) + 20 for count in n_lines]
    grid = build_grid(24.5, 20.5, (230, 120, 160, 340), heights, rows, stub_cols=1)

    def draw(canvas: Canvas) -> None:
        canvas.cells(grid, Style("sans", 18, "llll", pad=10, valign="top"))
        for number, y in enumerate(grid.ys):
            heavy = number in (0, 1, len(heights))
            canvas.across(y, *grid.outline[0:3:2], width=2 if heavy else 1, color=INK if heavy else (120, 120, 124))

    return Sample("multiline.png", (900, int(grid.ys[-1]) + 22), draw, (grid,), "partial")


def photo() -> Sample:
    """A log sheet on a desk, taken with a phone: perspective, warm light, the shadow of an arm."""
    readings = [
        ("Mon 3", "07:30", "14.2", "16.8", "81%", "418", "12.0", "EK"),
        ("Mon 3", "15:30", "22.9", "18.1", "64%", "402", "0.0", "EK"),
        ("Tue 4", "07:30", "13.6", "16.5", "83%", "425", "12.0", "EK"),
        ("Tue 4", "15:30", "24.7", "18.6", "58%", "397", "6.5", "TB"),
        ("Wed 5", "07:30", "15.1", "17.0", "79%", "420", "10.0", "TB"),
        ("Wed 5", "15:30", "26.3", "19.2", "52%", "391", "8.0", "TB"),
        ("Thu 6", "07:30", "15.8", "17.4", "77%", "416", "10.0", "EK"),
        ("Thu 6", "15:30", "21.4", "18.3", "69%", "404", "0.0", "EK"),
        ("Fri 7", "07:30", "12.9", "16.2", "86%", "431", "12.0", "TB"),
        ("Fri 7", "15:30", "20.6", "17.9", "71%", "408", "4.5", "TB"),
    ]
    titles = ["Day", "Time", "Air (°C)", "Soil (°C)", "Humidity", "CO2 (ppm)", "Water (l)", "Initials"]
    grid = build_grid(50.5, 122.5, (96, 90, 106, 108, 112, 126, 112, 100), [40] + [38] * 10, [titles, *readings])
    page_wh, size_wh = (950, 640), (1100, 790)

    def draw(canvas: Canvas) -> None:
        canvas.text(50, 56, "Greenhouse 3: climate log", Style("sans", 28), bold=True)
        canvas.text(50, 94, "Week 23. Read twice a day, write down at once.", Style("sans", 18))
        canvas.fill((*grid.outline[:3], grid.ys[1]), (226, 228, 226))
        canvas.cells(grid, Style("sans", 18.5, "ccrrrrrc", "c", pad=14))
        canvas.rules(grid, 1.5, 2, (52, 52, 58))
        canvas.text(50, 596, "Vents open above 25 °C. Report readings under 10 °C to the office.", Style("sans", 16))

    corners = [(96.0, 84.0), (1012.0, 58.0), (1064.0, 712.0), (44.0, 742.0)]
    flat = [(0.0, 0.0), (page_wh[0], 0.0), page_wh, (0.0, page_wh[1])]
    return Sample(
        "photo.jpg",
        size_wh,
        draw,
        (grid,),
        paper=(250, 249, 245),
        page_wh=page_wh,
        matrix=homography(flat, corners),
        develop=photograph,
    )


def homography(source: Sequence[tuple[float, float]], target: Sequence[tuple[float, float]]) -> Matrix:
    """3 x 3 matrix that takes four points to four points."""
    rows, values = [], []
    for (x, y), (u, v) in zip(source, target, strict=True):
        rows += [[x, y, 1, 0, 0, 0, -u * x, -u * y], [0, 0, 0, x, y, 1, -v * x, -v * y]]
        values += [u, v]
    return np.append(np.linalg.solve(np.array(rows, float), np.array(values, float)), 1.0).reshape(3, 3)


def photograph(page: Image.Image, sample: Sample) -> Image.Image:
    """Lay the page on a wooden desk, light it from the window, and take the picture."""
    rng = np.random.default_rng(23)
    width, height = sample.size_wh
    mask = warp(Image.new("RGB", page.size, "white"), sample, "black").reduce(SCALE).convert("L")
    sheet = np.asarray(warp(page, sample, "black").reduce(SCALE), float)
    cover = np.asarray(mask, float)[..., None] / 255
    under = Image.new("L", mask.size, 0)
    under.paste(mask, (7, 9))
    dim = np.asarray(under.filter(ImageFilter.GaussianBlur(9)), float)[..., None] / 255
    # The reduced sheet is black outside, so it is already weighted by its own cover.
    scene = wood(rng, width, height) * (1 - 0.6 * dim) * (1 - cover) + sheet

    y, x = np.mgrid[0:height, 0:width] / width
    arm = Image.new("L", mask.size, 0)
    ImageDraw.Draw(arm).polygon([(560, height), (830, 372), (930, 330), (width, 420), (width, height)], fill=255)
    shadow = np.asarray(arm.filter(ImageFilter.GaussianBlur(30)), float) / 255
    light = (1.08 - 0.15 * x - 0.12 * y) * (1 - 0.36 * shadow)
    scene *= light[..., None] * np.array([0.97, 0.95, 0.9])
    blurred = to_image(scene).filter(ImageFilter.GaussianBlur(0.6))
    return to_image(np.asarray(blurred, float) + rng.normal(0, 1.6, (height, width, 1)))


def wood(rng: np.random.Generator, width: int, height: int) -> NDArray[np.float64]:
    """Desk top of boards with a long grain, ``(height, width, 3)``."""
    grain = Image.fromarray(rng.integers(0, 256, (height, width // 40), dtype=np.uint8))
    streaks = np.asarray(grain.resize((width, height), Image.Resampling.BICUBIC), float) / 255 - 0.5
    boards = np.repeat(rng.uniform(-9, 9, height // 150 + 1), 150)[:height, None]
    seams = np.where(np.arange(height) % 150 < 2, -38, 0)[:, None]
    return np.array([148.0, 108.0, 74.0]) + (22 * streaks + boards + seams)[..., None]


def to_image(pixels: NDArray[np.float64]) -> Image.Image:
    """Clip to 0..255."""
    return Image.fromarray(np.clip(pixels, 0, 255).astype(np.uint8))


MAKERS: tuple[Callable[[], Sample], ...] = (
    ruled,
    lineless,
    spans,
    rotated,
    dark,
    chinese,
    empty_cells,
    one_cell,
    two_tables,
    no_table,
    multiline,
    photo,
)


def make_samples(names: Sequence[str] = ()) -> Iterator[Sample]:
    """The samples, all of them or those named."""
    makers = {maker.__name__: maker for maker in MAKERS}
    unknown = sorted(set(names) - set(makers))
    if unknown:
        raise SystemExit(f"no sample is called {', '.join(unknown)}: choose from {', '.join(makers)}")
    for name in names or makers:
        yield makers[name]()


def main(names: Sequence[str]) -> None:
    """Write picture and label of each sample beside this file."""
    for sample in make_samples(names):
        data = encode(render(sample), sample)
        (FOLDER / sample.image).write_bytes(data)
        (FOLDER / f"{sample.name}.json").write_bytes(label_to_json(sample_to_label(sample)).encode())
        print(f"{sample.image}: {len(data) / 1000:.0f} kB")


if __name__ == "__main__":
    main(sys.argv[1:])
