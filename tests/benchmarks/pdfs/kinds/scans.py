"""Pictures of tables: scans with a text layer that is right, wrong, moved, or not there."""

from __future__ import annotations

from dataclasses import replace

import cv2
import numpy as np
import pypdfium2

from postprocess.arrays import Image
from tests.benchmarks.pdfs.case import Case, kind, one_page
from tests.benchmarks.pdfs.fonts import Helvetica, TrueType
from tests.benchmarks.pdfs.kinds.letters import usual
from tests.benchmarks.pdfs.sheet import Piece, Sheet, lay_out, show_piece
from tests.benchmarks.pdfs.tables import make_table, other_digits
from tests.benchmarks.pdfs.writer import Pdf, named

DPI = 200
DRAW = "q 595 0 0 842 0 0 cm /Scan Do Q\n"


def photograph(data: bytes, seed: int) -> Image:
    """Draw a page of 595 x 842 points in gray, a little soft and noisy, as a scanner would."""
    document = pypdfium2.PdfDocument(data)
    page = document[0]
    pixels = cv2.cvtColor(page.render(scale=DPI / 72).to_numpy()[..., :3].copy(), cv2.COLOR_BGR2GRAY)
    document.close()
    noise = np.random.default_rng(seed).normal(0, 4, pixels.shape)
    return np.clip(cv2.GaussianBlur(pixels, (0, 0), 0.7) + noise - 4, 0, 255).astype(np.uint8)


def add_picture(pdf: Pdf, pixels: Image, entries: str = "") -> int:
    """Add a gray picture and return its number."""
    height, width = pixels.shape
    _, coded = cv2.imencode(".jpg", pixels, [cv2.IMWRITE_JPEG_QUALITY, 85])
    raw = coded.tobytes()
    return pdf.add(
        f"<< /Type /XObject /Subtype /Image /Width {width} /Height {height} /ColorSpace /DeviceGray"
        f" /BitsPerComponent 8 /Filter /DCTDecode {entries} /Length {len(raw)} >>\nstream\n".encode()
        + raw
        + b"\nendstream"
    )


def scan(sheet: Sheet, seed: int, layer: str, *, under: bool = False) -> Case:
    """A picture of the sheet with further operators over it, or under it."""
    font = sheet.pieces[0].font
    pdf = Pdf()
    picture = add_picture(pdf, photograph(one_page(sheet.draw(), font), seed))
    content = layer + DRAW if under else DRAW + layer
    return Case(
        sheet.table, one_page(content, Helvetica(), font, pdf=pdf, resources=named("XObject", {"Scan": picture}))
    )


def _sheet(seed: int) -> Sheet:
    return usual(seed, TrueType())


@kind("scan without a layer")
def bare(seed: int) -> Case:
    return scan(_sheet(seed), seed, "")


@kind("scan, right invisible layer")
def right_layer(seed: int) -> Case:
    sheet = _sheet(seed)
    return scan(sheet, seed, "".join(show_piece(piece, setup="3 Tr") for piece in sheet.pieces))


@kind("scan, wrong invisible layer")
def wrong_layer(seed: int) -> Case:
    """The layer of a bad reading: other digits in all numbers, or in every fifth."""
    sheet = _sheet(seed)
    return scan(sheet, seed, "".join(_misread(sheet, seed, "3 Tr")))


def _misread(sheet: Sheet, seed: int, setup: str) -> list[str]:
    step = (1, 5)[seed % 2]
    return [
        show_piece(piece, other_digits(piece.text) if index % step == 0 else None, setup)
        for index, piece in enumerate(sheet.pieces)
    ]


@kind("scan over a right drawn layer")
def over_right_layer(seed: int) -> Case:
    """The text is drawn in black, and the picture over it."""
    sheet = _sheet(seed)
    return scan(sheet, seed, "".join(map(show_piece, sheet.pieces)), under=True)


@kind("scan over a wrong drawn layer")
def over_wrong_layer(seed: int) -> Case:
    sheet = _sheet(seed)
    return scan(sheet, seed, "".join(_misread(sheet, seed, "")), under=True)


@kind("scan, layer moved")
def moved_layer(seed: int) -> Case:
    """An invisible layer, or one below the picture, some points away from what it reads: half a row or a whole one."""
    sheet = _sheet(seed)
    dx, dy = ((4, 3), (0, 17.1), (-12, -8), (30, 0))[seed % 4]
    moved = [replace(piece, x=piece.x + dx, y=piece.y + dy) for piece in sheet.pieces]
    hidden = seed % 8 < 4
    return scan(sheet, seed, "".join(show_piece(piece, setup="3 Tr" * hidden) for piece in moved), under=not hidden)


@kind("half text, half scan")
def half_scan(seed: int) -> Case:
    """A page of text with the picture of a table in it, which has no layer."""
    font = TrueType()
    sheet = usual(seed, font, origin=(60, 380))
    pixels = photograph(one_page(sheet.draw(), font), seed)
    half = pixels[pixels.shape[0] // 2 :]
    pdf = Pdf()
    picture = add_picture(pdf, half)
    lines = [
        f"Paragraph {number} says at some length what the table below shows, so that the page has text."
        for number in range(1, 13)
    ]
    texts = "".join(f"BT /F1 10 Tf 60 {760 - 20 * index} Td ({line}) Tj ET\n" for index, line in enumerate(lines))
    height = 842 * half.shape[0] / pixels.shape[0]
    content = f"{texts}q 595 0 0 {height:.2f} 0 0 cm /Scan Do Q\n"
    data = one_page(content, Helvetica(), pdf=pdf, resources=named("XObject", {"Scan": picture}))
    return Case(sheet.table, data, outside=tuple(lines))


@kind("table of text and of a picture")
def part_scan(seed: int) -> Case:
    """The right half of the table is a picture without a layer, or the numbers of some cells are small pictures."""
    font = TrueType()
    sheet = usual(seed, font)
    pixels = photograph(one_page(sheet.draw(), font), seed)
    _, y0, x1, y1 = sheet.outline
    edge = sheet.xs[2]
    scale = DPI / 72
    rows = slice(round((842 - y1 - 2) * scale), round((842 - y0 + 2) * scale))
    part = pixels[rows, round(edge * scale) : round((x1 + 2) * scale)]
    pdf = Pdf()
    picture = add_picture(pdf, part)

    def is_text(piece: Piece) -> bool:
        return piece.x < edge

    content = sheet.draw(lambda piece: show_piece(piece) if is_text(piece) else "")
    content += f"q {x1 + 2 - edge:.3f} 0 0 {y1 - y0 + 4:.3f} {edge:.3f} {y0 - 2:.3f} cm /Scan Do Q\n"
    return Case(sheet.table, one_page(content, font, pdf=pdf, resources=named("XObject", {"Scan": picture})))


@kind("scan with a stamp")
def stamped(seed: int) -> Case:
    """A scan without a layer on which a program wrote a page number and a line at the top."""
    sheet = _sheet(seed)
    stamp = "BT /F1 9 Tf 60 815 Td (Received 2024-05-17 10:22 by the archive) Tj ET BT /F1 9 Tf 290 20 Td (17) Tj ET\n"
    return replace(scan(sheet, seed, stamp), outside=("Received 2024-05-17 10:22 by the archive", "17"))


@kind("text over a scanned form")
def typed_over(seed: int) -> Case:
    """The frame of the table and its labels are a scan; the numbers were typed on it as text."""
    font = TrueType()
    sheet = lay_out(make_table(seed), font)
    pdf = Pdf()
    labels = sheet.draw(lambda piece: "" if piece.cell.col else show_piece(piece))
    picture = add_picture(pdf, photograph(one_page(labels, font), seed))
    content = DRAW + "".join(show_piece(piece) for piece in sheet.pieces if piece.cell.col)
    return Case(sheet.table, one_page(content, font, pdf=pdf, resources=named("XObject", {"Scan": picture})))


@kind("wrong digits under a scan, right ones over it")
def doubled(seed: int) -> Case:
    """A bad layer below the picture and a good one, invisible, above it."""
    sheet = _sheet(seed)
    font = sheet.pieces[0].font
    pdf = Pdf()
    picture = add_picture(pdf, photograph(one_page(sheet.draw(), font), seed))
    below = "".join(show_piece(piece, other_digits(piece.text)) for piece in sheet.pieces)
    above = "".join(show_piece(piece, setup="3 Tr") for piece in sheet.pieces)
    data = one_page(below + DRAW + above, font, pdf=pdf, resources=named("XObject", {"Scan": picture}))
    return Case(sheet.table, data)
