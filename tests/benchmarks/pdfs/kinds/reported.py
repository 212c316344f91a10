"""Kinds known from public reports on other programs, and looks that are right and must raise no doubt."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace

import numpy as np

from postprocess.cell import Cell
from tests.benchmarks.pdfs.case import Case, kind, one_page
from tests.benchmarks.pdfs.fonts import Font, Helvetica, TrueType
from tests.benchmarks.pdfs.kinds.annotations import Annotated
from tests.benchmarks.pdfs.kinds.hidden import cut_at
from tests.benchmarks.pdfs.kinds.letters import usual
from tests.benchmarks.pdfs.kinds.scans import add_picture
from tests.benchmarks.pdfs.sheet import Piece, lay_out, rectangle, show, show_piece
from tests.benchmarks.pdfs.tables import is_number, make_table, other_digits, with_texts
from tests.benchmarks.pdfs.writer import Pdf, hexadecimal, named

_LIES = (
    {"-": "\x03"},  # https://github.com/tabulapdf/tabula/issues/628: the minus is a control character
    {".": ","},
    {"1": "l", "0": "O"},
    {"-": " "},
    {"%": "\ue025"},
    {"6": "b", "5": "S"},
)


@kind("wrong meaning of one sign", share=3)
def wrong_sign(seed: int) -> Case:
    """ToUnicode takes the minus for a control character or a blank, the point for a comma, digits for letters."""
    lies = _LIES[seed % len(_LIES)]
    font = TrueType(says=lambda text: lies.get(text, text))
    sheet = usual(seed, font)
    return Case(sheet.table, one_page(sheet.draw(), font))


@kind("letters shifted")
def shifted(seed: int) -> Case:
    """All letters are others, as in a cipher; digits are right, or shifted too.

    https://github.com/docling-project/docling/issues/3965
    """
    step = (1, 3, -29)[seed % 3]

    def says(text: str) -> str:
        code = ord(text) + step
        return text if not text.isalpha() and seed % 2 == 0 else chr(code) if code > 32 else "\x02"

    font = TrueType(says=says)
    sheet = usual(seed, font)
    return Case(sheet.table, one_page(sheet.draw(), font))


@kind("letters drawn four times")
def drawn_four_times(seed: int) -> Case:
    """https://github.com/jsvine/pdfplumber/issues/1267; with a gray shadow in every second PDF."""
    font = TrueType()
    sheet = usual(seed, font)

    def drawn(piece: Piece) -> str:
        if seed % 2:
            return f"0.7 g {show_piece(replace(piece, x=piece.x + 0.7, y=piece.y - 0.7))} 0 g\n{show_piece(piece)}"
        return "".join(show_piece(replace(piece, x=piece.x + 0.15 * step)) for step in range(4))

    return Case(sheet.table, one_page(sheet.draw(drawn), font))


@dataclass(frozen=True)
class _Symbol:
    """The font Symbol, whose codes mean other signs than in Latin fonts."""

    name: str = "F5"
    base: str = "Symbol"
    meanings: str = "®→ aα bβ mμ ±± £≤ ³≥ ¥∞ gγ"

    def codes(self, text: str) -> str:
        """The operand of Tj for a text."""
        known = {pair[1]: pair[0] for pair in self.meanings.split(" ")}
        return hexadecimal([ord(known[sign]) for sign in text], 2)

    def add_to(self, pdf: Pdf) -> int:
        """Add the font."""
        return pdf.add(f"<< /Type /Font /Subtype /Type1 /BaseFont /{self.base} >>")

    def width(self, text: str, size: float) -> float:
        """Width in points, roughly."""
        return 0.8 * size * len(text)


_TICKS = _Symbol("F6", "ZapfDingbats", "4✔ 8✘ l●")


@kind("Symbol and Dingbats")
def symbols(seed: int) -> Case:
    """Greek letters, signs and ticks in fonts of their own, among Latin text.

    https://github.com/docling-project/docling-parse/issues/317
    """
    rng = random.Random(seed)
    latin, symbol = Helvetica(), _Symbol()
    table = make_table(seed)

    def text(cell: Cell) -> str:
        if cell.col == 0 and not cell.header:
            return f"{cell.text} {rng.choice('αβμγ')}"
        if is_number(cell) and cell.col == 1:
            return rng.choice("✔✘")
        return f"{rng.choice('≤≥±')} {cell.text.lstrip('-')}" if is_number(cell) and rng.random() < 0.3 else cell.text

    table = with_texts(table, text)
    plain = with_texts(
        table, lambda cell: "".join(sign if ord(sign) < 256 and sign != "±" else "m" for sign in cell.text)
    )
    sheet = lay_out(plain, latin, ruled=seed % 2 == 0)

    def shown(piece: Piece) -> str:
        x, out = piece.x, ""
        for sign in table[piece.cell.row, piece.cell.col].text:
            font: Font = _TICKS if sign in "✔✘" else symbol if ord(sign) > 255 or sign == "±" else latin
            out += show(x, piece.y, sign, font, piece.size)
            x += latin.width("m" if font is not latin else sign, piece.size)
        return out

    return Case(table, one_page(sheet.draw(shown), latin, symbol, _TICKS))


@kind("old page in a clipped form")
def old_page(seed: int) -> Case:
    """A form whose box shows nothing of it holds another version of the table, at the same place or wider.

    https://github.com/thomas-villani/all2md/issues/435
    """
    font = TrueType()
    sheet = usual(seed, font)
    pdf = Pdf()
    plain = Helvetica()
    old = "".join(
        show(piece.x + 7 * (seed % 2), piece.y, other_digits(piece.text), plain, piece.size) for piece in sheet.pieces
    )
    fonts = named("Font", {"F1": plain.add_to(pdf)})
    form = pdf.stream(old, f"/Type /XObject /Subtype /Form /BBox [0 0 20 20] /Resources << {fonts} >>")
    return Case(
        sheet.table, one_page(f"/Old Do\n{sheet.draw()}", font, pdf=pdf, resources=named("XObject", {"Old": form}))
    )


@kind("transparent text")
def transparent(seed: int) -> Case:
    """Text of opacity 0: in cells that look empty, or below other text."""
    font = TrueType()
    full = usual(seed, font)
    over = seed % 2 == 1
    places = {(cell.row, cell.col) for cell in full.table.cells if is_number(cell) and (cell.row + cell.col) % 3 == 0}
    seen = full.table if over else with_texts(full.table, lambda c: "" if (c.row, c.col) in places else c.text)

    def shown(piece: Piece) -> str:
        if (piece.cell.row, piece.cell.col) not in places:
            return show_piece(piece)
        hidden = f"q /Gone gs {show_piece(piece, other_digits(piece.text) if over else None)}Q\n"
        return hidden + (show_piece(piece) if over else "")

    data = one_page(full.draw(shown), font, resources="/ExtGState << /Gone << /ca 0 /CA 0 >> >>")
    return Case(seen, data)


@kind("text over an empty neighbour")
def over_neighbour(seed: int) -> Case:
    """Labels that are wider than their column and run, in full sight, over the empty cell beside it."""
    font = TrueType()
    table = with_texts(
        make_table(seed, cols=4),
        lambda cell: f"{cell.text} of all branches" if cell.col == 0 and cell.row % 3 == 1
        else "" if cell.col == 1 and cell.row % 3 == 1 else cell.text,
    )  # fmt: skip
    short = with_texts(table, lambda cell: "" if cell.col == 0 else cell.text)
    sheet = lay_out(short, font, ruled=seed % 2 == 0, least=90)
    labels = [
        Piece(cell, cell.text, sheet.box(cell)[0] + 6, sheet.ys[cell.end_row] + 5.5, 9, font)
        for cell in table.cells
        if cell.col == 0
    ]
    return Case(table, one_page(sheet.draw() + "".join(map(show_piece, labels)), font))


@kind("Chinese, vertical codes")
def vertical_codes(seed: int) -> Case:
    """Heads in a font whose writing mode is vertical (UniGB-UCS2-V), not embedded."""
    latin = Helvetica()
    inner = make_table(seed, cols=4)
    heads = ("类别", "营业收入", "利息支出", "合计")
    table = with_texts(inner, lambda cell: heads[cell.col] if cell.header else cell.text)
    tall = with_texts(inner, lambda cell: "\n\n\n\n\n" if cell.header else cell.text)
    sheet = lay_out(tall, latin, least=50)
    pdf = Pdf()
    descriptor = pdf.add(
        "<< /Type /FontDescriptor /FontName /STSong-Light /Flags 6 /FontBBox [-25 -254 1000 880] /ItalicAngle 0"
        " /Ascent 880 /Descent -120 /CapHeight 880 /StemV 93 >>"
    )
    descendant = pdf.add(
        "<< /Type /Font /Subtype /CIDFontType0 /BaseFont /STSong-Light /DW 1000 /DW2 [880 -1000]"
        f" /CIDSystemInfo << /Registry (Adobe) /Ordering (GB1) /Supplement 0 >> /FontDescriptor {descriptor} 0 R >>"
    )
    font = pdf.add(
        "<< /Type /Font /Subtype /Type0 /BaseFont /STSong-Light-UniGB-UCS2-V /Encoding /UniGB-UCS2-V"
        f" /DescendantFonts [{descendant} 0 R] >>"
    )
    content = sheet.draw(lambda piece: "" if piece.cell.header else show_piece(piece))
    for cell in table.cells:
        if cell.header:
            x0, _, x1, y1 = sheet.box(cell)
            codes = cell.text.encode("utf-16-be").hex().upper()
            content += f"BT /F8 11 Tf {(x0 + x1) / 2:.2f} {y1 - 5:.2f} Td <{codes}> Tj ET\n"
    fonts = named("Font", {"F1": latin.add_to(pdf), "F8": font})
    pdf.page(content, fonts)
    return Case(table, bytes(pdf))


@kind("cropped through a column")
def cropped_through_column(seed: int) -> Case:
    """The crop box cuts the texts of the last column: a reader sees their beginnings."""
    font = TrueType()
    sheet = lay_out(make_table(seed, cols=4), font, ruled=seed % 2 == 0, right=False, least=70)
    edge = sheet.xs[3] + 30
    last = {piece.cell.row: cut_at(piece, edge) for piece in sheet.pieces if piece.cell.col == 3}
    seen = with_texts(sheet.table, lambda cell: last[cell.row][0] if cell.col == 3 else cell.text)
    maybe = {(row, 3): cut for row, (_, cut) in last.items() if cut}
    x0, y0, _, y1 = sheet.outline
    crop = f"/CropBox [{x0 - 30:.1f} {y0 - 30:.1f} {edge:.2f} {y1 + 30:.1f}]"
    return Case(seen, one_page(sheet.draw(), font, extra=crop), maybe=maybe)


@kind("underlined and struck out")
def struck_out(seed: int) -> Case:
    """Lines below or through numbers: the text is there to be read."""
    font = TrueType()
    sheet = usual(seed, font)

    def lined(piece: Piece) -> str:
        if not is_number(piece.cell) or piece.cell.row % 2:
            return show_piece(piece)
        y = piece.y + (2.6 if piece.cell.row % 4 else -1.2)
        return show_piece(piece) + f"0.5 w {piece.x:.2f} {y:.2f} m {piece.end:.2f} {y:.2f} l S\n"

    return Case(sheet.table, one_page(sheet.draw(lined), font))


@kind("highlighted")
def highlighted(seed: int) -> Case:
    """Yellow highlights, as annotations that multiply, or as boxes below the text."""
    font = Helvetica()
    sheet = usual(seed, font)
    boxes = [(p.x - 1, p.y - 2, p.end + 1, p.y + 8) for p in sheet.pieces if is_number(p.cell) and p.cell.row % 2]
    if seed % 2:
        ground = "".join(f"1 1 0.4 rg {rectangle(box)} f\n" for box in boxes) + "0 g\n"
        return Case(sheet.table, one_page(ground + sheet.draw(), font))
    page = Annotated()
    for box in boxes:
        x0, y0, x1, y1 = box
        quad = f"/QuadPoints [{x0:.2f} {y1:.2f} {x1:.2f} {y1:.2f} {x0:.2f} {y0:.2f} {x1:.2f} {y0:.2f}]"
        drawn = f"/Mul gs 1 1 0.4 rg 0 0 {x1 - x0:.2f} {y1 - y0:.2f} re f"
        page.add("Highlight", box, f"{quad} /C [1 1 0.4]", drawn, states="/Mul << /BM /Multiply >>")
    return Case(sheet.table, page.finish(sheet.draw()))


@kind("other fonts", share=2)
def other_fonts(seed: int) -> Case:
    """Typewriter, bold italic, slanted by the matrix, outlined letters: right text that looks unusual."""
    base = ("Courier-Bold", "Times-BoldItalic", "Helvetica", "Helvetica")[seed % 4]
    font = Helvetica(base=base)
    sheet = usual(seed, font)

    def shown(piece: Piece) -> str:
        if seed % 4 == 2:
            matrix = f"1 0 0.33 1 {piece.x:.3f} {piece.y:.3f}"
            return f"BT /F1 {piece.size:g} Tf {matrix} Tm {font.codes(piece.text)} Tj ET\n"
        return show_piece(piece, setup="1 Tr 0.35 w" if seed % 4 == 3 else "")

    return Case(sheet.table, one_page(sheet.draw(shown), font))


@kind("colours")
def colours(seed: int) -> Case:
    """Red and light blue numbers, white ones on dark rows."""
    font = TrueType()
    sheet = usual(seed, font)
    dark = [sheet.box(cell) for cell in sheet.table.cells if cell.row % 3 == 2 and cell.rowspan == 1]
    ground = "0.1 0.15 0.4 rg\n" + "".join(f"{rectangle(box)} f\n" for box in dark)

    def shown(piece: Piece) -> str:
        on_dark = piece.cell.row % 3 == 2 and piece.cell.rowspan == 1
        colour = "1 1 1" if on_dark else ("0.9 0 0", "0.35 0.6 0.95", "0 0 0")[piece.cell.col % 3]
        return f"{colour} rg {show_piece(piece)}"

    return Case(sheet.table, one_page(f"{ground}0 g\n{sheet.draw(shown)}", font))


@kind("text over a noisy picture")
def over_noise(seed: int) -> Case:
    """A light, grainy picture fills the page below the text, as a letterhead does."""
    font = TrueType()
    sheet = usual(seed, font)
    pdf = Pdf()
    rng = np.random.default_rng(seed)
    grain = np.kron(rng.integers(190, 250, (105, 74)), np.ones((8, 8))).astype(np.uint8)
    picture = add_picture(pdf, grain)
    content = f"q 595 0 0 842 0 0 cm /Ground Do Q\n{sheet.draw()}"
    return Case(sheet.table, one_page(content, font, pdf=pdf, resources=named("XObject", {"Ground": picture})))
