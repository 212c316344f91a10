"""Text of the layer that nobody sees: clipped, covered, white, switched off; and text that is no text."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from postprocess.cell import Cell
from tests.benchmarks.pdfs.case import Case, kind, one_page
from tests.benchmarks.pdfs.fonts import Helvetica, TrueType, outline
from tests.benchmarks.pdfs.kinds.letters import usual
from tests.benchmarks.pdfs.kinds.scans import add_picture
from tests.benchmarks.pdfs.sheet import Piece, Sheet, lay_out, rectangle, show, show_piece
from tests.benchmarks.pdfs.tables import is_number, make_table, other_digits, with_texts
from tests.benchmarks.pdfs.writer import Pdf, named


def cut_at(piece: Piece, edge: float) -> tuple[str, str]:
    """What stands before an edge, and the letter that the edge cuts, if it cuts one."""
    seen, cut = "", ""
    for index, letter in enumerate(piece.text):
        start = piece.x + piece.font.width(piece.text[:index], piece.size)
        end = start + piece.font.width(letter, piece.size)
        if end <= edge + 0.05 * (end - start):
            seen += letter
        elif start < edge:
            cut = letter
    return seen.strip(), cut.strip()


def _narrow(seed: int) -> tuple[Sheet, Case]:
    """A sheet whose second column is too narrow: its texts begin in it and go on behind its right edge.

    The case has the truth of what an opaque edge leaves, and no data.
    """
    font = TrueType()
    table = with_texts(
        make_table(seed, cols=4),
        lambda cell: (
            f"{cell.text} and {cell.text}"
            if cell.col == 1 and cell.row % 2
            else ""
            if cell.col == 2 and cell.row % 2
            else cell.text
        ),
    )
    short = with_texts(table, lambda cell: "" if cell.col == 1 else cell.text)
    sheet = lay_out(short, font, ruled=seed % 2 == 0, least=60)
    size = sheet.pieces[0].size
    long = [
        Piece(cell, cell.text, sheet.box(cell)[0] + 3, sheet.ys[cell.end_row] + 0.6 * size, size, font)
        for cell in table.cells
        if cell.col == 1
    ]
    seen = {piece.cell.row: cut_at(piece, sheet.xs[2]) for piece in long}
    truth = with_texts(table, lambda cell: seen[cell.row][0] if cell.col == 1 else cell.text)
    maybe = {(row, 1): cut for row, (_, cut) in seen.items() if cut}
    return replace(sheet, pieces=(*sheet.pieces, *long)), Case(truth, b"", maybe=maybe)


@kind("clipped at the cell")
def clipped(seed: int) -> Case:
    """A clip path at the edge of the cell, as spreadsheets write it: the text goes on behind it, unseen."""
    sheet, case = _narrow(seed)
    content = sheet.draw(lambda piece: f"q {rectangle(sheet.box(piece.cell))} W n\n{show_piece(piece)}Q\n")
    return replace(case, data=one_page(content, sheet.pieces[0].font))


@kind("covered by the next cell")
def covered_by_next(seed: int) -> Case:
    """Cells with a white ground, drawn one after another: each covers what runs over from the cell before it."""
    sheet, case = _narrow(seed)
    content = ""
    for cell in sheet.table.cells:
        content += f"1 g {rectangle(sheet.box(cell))} f 0 g\n"
        content += "".join(show_piece(piece) for piece in sheet.pieces if _place(piece.cell) == _place(cell))
    return replace(case, data=one_page(content + sheet.rules(), sheet.pieces[0].font))


def _place(cell: Cell) -> tuple[int, int]:
    return cell.row, cell.col


def _blanked(sheet: Sheet) -> tuple[Sheet, set[tuple[int, int]]]:
    """The sheet as it is seen where every third number is hidden, and the places of those."""
    hidden = set([_place(cell) for cell in sheet.table.cells if is_number(cell)][::3])
    seen = with_texts(sheet.table, lambda cell: "" if _place(cell) in hidden else cell.text)
    return replace(sheet, table=seen), hidden


def _is_in(piece: Piece, places: set[tuple[int, int]]) -> bool:
    return _place(piece.cell) in places


@kind("covered by a rectangle")
def covered(seed: int) -> Case:
    """Numbers below black or white rectangles: redaction that kept the text."""
    font = TrueType()
    full = usual(seed, font)
    sheet, places = _blanked(full)
    content = full.draw()
    for piece in full.pieces:
        if _is_in(piece, places):
            box = (piece.x - 1, piece.y - 2.5, piece.end + 1, piece.y + piece.size)
            content += f"{seed // 2 % 2} g {rectangle(box)} f 0 g\n"
    return Case(sheet.table, one_page(content, font))


@kind("covered by small pictures")
def covered_by_pictures(seed: int) -> Case:
    """Pictures stand on every third number: a logo, or a white one as editors put over what shall go."""
    font = TrueType()
    full = usual(seed, font)
    sheet, places = _blanked(full)
    pixels = np.full((20, 60), 255, np.uint8) if seed % 2 else np.tile(np.arange(60, 240, 3, np.uint8), (20, 1))
    pdf = Pdf()
    picture = add_picture(pdf, pixels)
    content = full.draw()
    for piece in full.pieces:
        if _is_in(piece, places):
            width = piece.end - piece.x + 2
            content += f"q {width:.2f} 0 0 11 {piece.x - 1:.2f} {piece.y - 2.5:.2f} cm /Logo Do Q\n"
    return Case(sheet.table, one_page(content, font, pdf=pdf, resources=named("XObject", {"Logo": picture})))


@kind("covered by other numbers")
def corrected(seed: int) -> Case:
    """Numbers below a white rectangle, on which others are written: a correction."""
    font = TrueType()
    sheet = usual(seed, font)
    _, places = _blanked(sheet)

    def corrected(piece: Piece) -> str:
        if not _is_in(piece, places):
            return show_piece(piece)
        box = (piece.x - 1, piece.y - 2, piece.end + 1, piece.y + piece.size)
        return f"{show_piece(piece, other_digits(piece.text))} 1 g {rectangle(box)} f 0 g\n{show_piece(piece)}"

    return Case(sheet.table, one_page(sheet.draw(corrected), font))


@kind("white on white")
def white(seed: int) -> Case:
    """Numbers in white: some cells look empty. In every second PDF others are written over them."""
    font = TrueType()
    full = usual(seed, font)
    sheet, places = _blanked(full)
    if seed % 2 == 0:
        content = full.draw(lambda piece: f"{int(_is_in(piece, places))} g {show_piece(piece)} 0 g\n")
        return Case(sheet.table, one_page(content, font))
    content = full.draw(lambda piece: (f"1 g {show_piece(piece, other_digits(piece.text))} 0 g\n") + show_piece(piece))
    return Case(full.table, one_page(content, font))


@kind("invisible beside visible")
def invisible(seed: int) -> Case:
    """Numbers in render mode 3 where the cell is empty, or where other ones are written."""
    font = TrueType()
    full = usual(seed, font)
    sheet, places = _blanked(full)
    if seed % 2 == 0:
        content = full.draw(lambda piece: show_piece(piece, setup=f"{3 * _is_in(piece, places)} Tr"))
        return Case(sheet.table, one_page(content, font))
    content = full.draw(
        lambda piece: show_piece(piece, other_digits(piece.text), "3 Tr") + show_piece(piece, setup="0 Tr")
    )
    return Case(full.table, one_page(content, font))


@kind("layer switched off")
def layer_off(seed: int) -> Case:
    """Optional content that is off holds other numbers at the same place, or numbers for empty cells."""
    font = TrueType()
    full = usual(seed, font)
    seen, places = _blanked(full)
    pdf = Pdf()
    group = pdf.add("<< /Type /OCG /Name (Old numbers) >>")
    pdf.catalog = f"/OCProperties << /OCGs [{group} 0 R] /D << /Order [{group} 0 R] /OFF [{group} 0 R] >> >>"
    over = seed % 2 == 1

    def layered(piece: Piece) -> str:
        if over:
            old = show_piece(piece, other_digits(piece.text))
            return f"/OC /Old BDC\n{old}EMC\n{show_piece(piece)}"
        return f"/OC /Old BDC\n{show_piece(piece)}EMC\n" if _is_in(piece, places) else show_piece(piece)

    content = full.draw(layered)
    data = one_page(content, font, pdf=pdf, resources=named("Properties", {"Old": group}))
    return Case(full.table if over else seen.table, data)


@kind("outlines in place of text")
def outlines(seed: int) -> Case:
    """All text of the page, or the numbers only, are drawn as paths."""
    font = TrueType()
    sheet = usual(seed, font)

    def drawn(piece: Piece) -> str:
        if seed % 4 > 1 and not is_number(piece.cell):
            return show_piece(piece)
        scale = piece.size / 1000
        return f"q {scale} 0 0 {scale} {piece.x:.3f} {piece.y:.3f} cm\n{outline(piece.text)} f* Q\n"

    return Case(sheet.table, one_page(sheet.draw(drawn), font))


@kind("forms in forms")
def forms(seed: int) -> Case:
    """Text in a form XObject within another one, each with a matrix and fonts of its own."""
    font = TrueType(name="F9")
    sheet = usual(seed, font)
    pdf = Pdf()
    content = sheet.draw()
    fonts = named("Font", {"F9": font.add_to(pdf)})
    box = "/Type /XObject /Subtype /Form /BBox [0 0 1200 1700]"
    inner = pdf.stream(content, f"{box} /Matrix [1 0 0 1 10 -20] /Resources << {fonts} >>")
    middle = pdf.stream("q 0.9 0 0 0.9 0 0 cm /In Do Q", f"{box} /Resources << {named('XObject', {'In': inner})} >>")
    page = "q 1 0 0 1 20 60 cm /Mid Do Q"
    return Case(sheet.table, one_page(page, Helvetica(), pdf=pdf, resources=named("XObject", {"Mid": middle})))


@kind("patterns behind text")
def patterns(seed: int) -> Case:
    """A gradient, or a tiling of thin strokes, behind all cells."""
    font = TrueType()
    sheet = usual(seed, font)
    pdf = Pdf()
    x0, y0, x1, y1 = sheet.outline
    if seed % 2 == 0:
        blend = "<< /FunctionType 2 /Domain [0 1] /C0 [0.75 0.85 1] /C1 [1 0.9 0.75] /N 1 >>"
        shading = f"<< /ShadingType 2 /ColorSpace /DeviceRGB /Coords [{x0} 0 {x1} 0] /Function {blend} >>"
        pattern = pdf.add(f"<< /Type /Pattern /PatternType 2 /Shading {shading} >>")
    else:
        tile = "/Type /Pattern /PatternType 1 /PaintType 1 /TilingType 1 /BBox [0 0 6 6] /XStep 6 /YStep 6"
        pattern = pdf.stream("0.85 G 0.4 w 0 0 m 6 6 l S", f"{tile} /Resources << >>")
    content = f"/Pattern cs /P1 scn {rectangle((x0, y0, x1, y1))} f\n0 g\n{sheet.draw()}"
    return Case(sheet.table, one_page(content, font, pdf=pdf, resources=named("Pattern", {"P1": pattern})))


@kind("watermark")
def watermark(seed: int) -> Case:
    """A large slanted word in light gray, below or above the table."""
    font = TrueType()
    sheet = usual(seed, font)
    mark = f"q 0.9 g BT /{font.name} 70 Tf 0.8 0.6 -0.6 0.8 70 600 Tm {font.codes('DRAFT')} Tj ET Q\n"
    content = mark + sheet.draw() if seed % 2 == 0 else sheet.draw() + "/Multiply gs " + mark
    return Case(
        sheet.table,
        one_page(content, font, resources="/ExtGState << /Multiply << /BM /Multiply >> >>"),
        outside=("DRAFT",),
    )


@kind("off the page")
def off_the_page(seed: int) -> Case:
    """Further columns outside the page, and text far away from it."""
    font = TrueType()
    sheet = usual(seed, font)
    content = sheet.draw() + show(700, 700, "Secret 123.45", font, 9) + show(-200, 600, "999", font, 9)
    return Case(sheet.table, one_page(content, font))
