"""How letters are written: fonts, codes, spacing, order, ligatures."""

from __future__ import annotations

import itertools
import random
from dataclasses import replace

from postprocess.table import Table
from tests.benchmarks.pdfs.case import Case, kind, one_page
from tests.benchmarks.pdfs.fonts import Font, Helvetica, TrueType, Type3
from tests.benchmarks.pdfs.sheet import Piece, Sheet, lay_out, show, show_piece
from tests.benchmarks.pdfs.tables import is_number, make_table, other_digits, with_texts
from tests.benchmarks.pdfs.writer import hexadecimal


def usual(seed: int, font: Font | None = None, language: str = "en", **layout: object) -> Sheet:
    """A sheet that is ruled for even seeds; every fourth one has a head above two columns."""
    ruled = seed % 2 == 0
    return lay_out(make_table(seed, language, grouped=seed % 4 == 2), font, ruled=ruled, **layout)


@kind("plain, not embedded")
def not_embedded(seed: int) -> Case:
    sheet = usual(seed)
    return Case(sheet.table, one_page(sheet.draw(), Helvetica()))


@kind("plain, embedded")
def embedded(seed: int) -> Case:
    font = TrueType()
    sheet = usual(seed, font)
    return Case(sheet.table, one_page(sheet.draw(), font))


@kind("codes without meaning")
def without_meaning(seed: int) -> Case:
    """A font without ToUnicode: the layer holds glyph numbers."""
    font = TrueType(says=None)
    sheet = usual(seed, font)
    return Case(sheet.table, one_page(sheet.draw(), font))


@kind("wrong meaning of digits")
def wrong_meaning(seed: int) -> Case:
    """ToUnicode says other digits than the glyphs show."""
    font = TrueType(says=other_digits)
    sheet = usual(seed, font)
    return Case(sheet.table, one_page(sheet.draw(), font))


@kind("wrong meaning of one digit")
def wrong_digit(seed: int) -> Case:
    """ToUnicode takes each 3 for an 8."""
    font = TrueType(says=lambda text: text.replace("3", "8"))
    sheet = usual(seed, font)
    return Case(sheet.table, one_page(sheet.draw(), font))


@kind("Type 3")
def type3(seed: int) -> Case:
    """Each glyph with a box of its own, or all with the same large one."""
    font = Type3(tight=seed % 2 == 0)
    sheet = usual(seed, font)
    return Case(sheet.table, one_page(sheet.draw(), font))


@kind("Type 3 without meaning")
def type3_without_meaning(seed: int) -> Case:
    font = Type3(says=None, glyph_names=False)
    sheet = usual(seed, font)
    return Case(sheet.table, one_page(sheet.draw(), font))


@kind("letters drawn twice")
def drawn_twice(seed: int) -> Case:
    """Bold, made by drawing each text twice, a little apart, or in another layer of the page."""
    font = TrueType()
    sheet = usual(seed, font)
    content = sheet.draw(lambda piece: show_piece(piece) + show_piece(replace(piece, x=piece.x + 0.3)))
    if seed % 3 == 2:
        content = sheet.draw() + "".join(show_piece(replace(piece, x=piece.x + 0.3)) for piece in sheet.pieces)
    return Case(sheet.table, one_page(content, font))


@kind("letters filled and stroked")
def filled_and_stroked(seed: int) -> Case:
    font = TrueType()
    sheet = usual(seed, font)
    return Case(sheet.table, one_page(sheet.draw(lambda piece: show_piece(piece, setup="2 Tr 0.3 w")), font))


@kind("letters spaced out")
def spaced_out(seed: int) -> Case:
    """Heads with wide gaps between letters (Tc)."""
    font = Helvetica()
    sheet = usual(seed, font, least=100)
    spacing = (2.0, 3.5, 5.0)[seed % 3]

    def spaced(piece: Piece) -> str:
        if piece.cell.header is None:
            return show_piece(piece)
        x = sheet.box(piece.cell)[0] + 4
        return show_piece(replace(piece, x=x), setup=f"{spacing} Tc") + "0 Tc\n"

    return Case(sheet.table, one_page(sheet.draw(spaced), font))


@kind("words justified")
def justified(seed: int) -> Case:
    """Labels of several words, each line as wide as the column (Tw)."""
    table = with_texts(
        make_table(seed), lambda cell: f"{cell.text} of the year" if cell.col == 0 and cell.row else cell.text
    )
    font = Helvetica()
    sheet = lay_out(table, font, ruled=seed % 2 == 0)

    def stretched(piece: Piece) -> str:
        blanks = piece.text.count(" ")
        if not blanks or piece.cell.col:
            return show_piece(piece)
        box = sheet.box(piece.cell)
        return show_piece(piece, setup=f"{(box[2] - 6 - piece.end) / blanks:.3f} Tw") + "0 Tw\n"

    return Case(sheet.table, one_page(sheet.draw(stretched), font))


@kind("glyphs placed one by one")
def one_by_one(seed: int) -> Case:
    """Each glyph in an object of its own, or by the numbers of TJ; blanks are gaps."""
    font = TrueType()
    sheet = usual(seed, font)

    def placed(piece: Piece) -> str:
        if seed % 2 == 0:
            starts = [piece.x + font.width(piece.text[:index], piece.size) for index in range(len(piece.text))]
            return "".join(
                show(x, piece.y, letter, font, piece.size)
                for x, letter in zip(starts, piece.text, strict=True)
                if letter != " "
            )
        parts = []
        for word in piece.text.split(" "):
            parts += [f"{font.codes(letter)} -20" for letter in word]
            parts.append(f"{-font.width(' ', 1000):.0f}")
        return f"BT /{font.name} {piece.size} Tf {piece.x} {piece.y} Td [{' '.join(parts[:-1])}] TJ ET\n"

    return Case(sheet.table, one_page(sheet.draw(placed), font))


@kind("whole lines by kerning")
def whole_lines(seed: int) -> Case:
    """Each row is one TJ: columns are apart by kerning alone."""
    font = Helvetica()
    sheet = usual(seed * 2 + 1, font) if seed % 2 else lay_out(make_table(seed), font)
    content = sheet.rules()
    for y in sorted({piece.y for piece in sheet.pieces}, reverse=True):
        line = sorted((piece for piece in sheet.pieces if piece.y == y), key=lambda piece: piece.x)
        parts = [font.codes(line[0].text)]
        for last, piece in itertools.pairwise(line):
            parts += [f"{-(piece.x - last.end) * 1000 / piece.size:.1f}", font.codes(piece.text)]
        content += f"BT /F1 {line[0].size} Tf {line[0].x} {y} Td [{' '.join(parts)}] TJ ET\n"
    return Case(sheet.table, one_page(content, font))


@kind("random order")
def random_order(seed: int) -> Case:
    """Words drawn in any order."""
    font = TrueType()
    sheet = usual(seed, font)
    words = []
    for piece in sheet.pieces:
        start = 0
        for word in piece.text.split(" "):
            x = piece.x + font.width(piece.text[:start], piece.size)
            words.append(show(x, piece.y, word, font, piece.size))
            start += len(word) + 1
    random.Random(seed).shuffle(words)
    return Case(sheet.table, one_page(sheet.rules() + "".join(words), font))


_LIGATURES = ("Office staff", "Final offer", "Fluid flow", "Filing fees", "Coffee", "Traffic", "Profit", "Benefits")


def with_labels(table: Table, labels: tuple[str, ...]) -> Table:
    return with_texts(
        table, lambda cell: labels[cell.row % len(labels)] if cell.col == 0 and not cell.header else cell.text
    )


@kind("ligatures")
def ligatures(seed: int) -> Case:
    """One glyph for fi, fl: with its letters in ToUnicode, as a character of its own, or as its first letter."""
    letters = {"ﬁ": "fi", "ﬂ": "fl"}
    font = TrueType(says=str if seed % 2 else lambda text: letters.get(text, text))
    table = with_labels(make_table(seed), _LIGATURES)
    sheet = lay_out(table, font, ruled=seed % 4 < 2)

    def joined(piece: Piece) -> str:
        text = piece.text.replace("fi", "ﬁ").replace("fl", "ﬂ")
        # PDFium's own ligature characters: Vera has fi and fl.
        return show_piece(piece, text)

    return Case(table, one_page(sheet.draw(joined), font))


@kind("blanks and soft hyphens")
def blanks(seed: int) -> Case:
    """Non-breaking blanks as thousands separators, soft hyphens at the end of lines; odd ones call blanks tabs."""
    font = TrueType(says=lambda text: "\t" if text == " " and seed % 2 else text)
    table = with_labels(
        make_table(seed), ("Operating\nexpenses", "Under-\nstanding", "Depre-\nciation", "Rent and leases")
    )
    table = with_texts(table, lambda cell: cell.text.replace(",", " ") if is_number(cell) else cell.text)
    sheet = lay_out(table, font, ruled=True)

    def shown(piece: Piece) -> str:
        text = piece.text.replace("-", "\xad") if piece.cell.col == 0 else piece.text.replace(" ", "\xa0")
        return show_piece(piece, text)

    return Case(table, one_page(sheet.draw(shown), font))


@kind("tiny and huge")
def tiny_and_huge(seed: int) -> Case:
    """Text of 4 points below a heading of 48."""
    font = TrueType()
    sheet = usual(seed, font, size=4, padding=3, least=28, origin=(60, 700))
    content = sheet.draw() + show(60, 730, "Report 2023", font, 48)
    return Case(sheet.table, one_page(content, font), outside=("Report 2023",))


@kind("gray on gray")
def gray_on_gray(seed: int) -> Case:
    font = TrueType()
    sheet = usual(seed, font)
    ground = "0.80 g 40 500 500 280 re f\n"
    return Case(sheet.table, one_page(f"{ground} 0 G {(0.55, 0.68)[seed % 2]} g\n{sheet.draw()}", font))


_UP = dict(zip("¹²³⁻ᵃᵇ", "123-ab", strict=True))
_DOWN = dict(zip("₂₄", "24", strict=True))


def raised_table(seed: int) -> Table:
    """Note marks after numbers, exponents, units and formulas."""
    rng = random.Random(seed)
    labels = ("Area, m²", "CO₂", "H₂O", "Volume, m³", "Sales¹", "CH₄")
    marks = ("¹", "²", "ᵃ", "", "×10⁻³", "³", "ᵇ")
    table = with_labels(make_table(seed), labels)
    return with_texts(
        table, lambda cell: cell.text.replace("%", "") + rng.choice(marks) if is_number(cell) else cell.text
    )


def _raised(seed: int, by_rise: bool) -> Case:
    """Signs of two thirds of the size, moved up or down by Ts or by their place."""
    font = TrueType()
    table = raised_table(seed)
    plain = str.maketrans(_UP | _DOWN)
    # The layout counts the signs as wide as they are in full size: a little room to the right.
    sheet = lay_out(with_texts(table, lambda cell: cell.text.translate(plain)), font, ruled=seed % 2 == 0)

    def shown(piece: Piece) -> str:
        x, out = piece.x, ""
        for letter in table[piece.cell.row, piece.cell.col].text:
            sign = letter.translate(plain)
            size = piece.size * (0.65 if sign != letter else 1)
            rise = piece.size * (0.4 if letter in _UP else -0.15 if letter in _DOWN else 0)
            if by_rise:
                out += show(x, piece.y, sign, font, size, f"{rise:.2f} Ts") + "0 Ts\n"
            else:
                out += show(x, piece.y + rise, sign, font, size)
            x += font.width(sign, size)
        return out

    return Case(table, one_page(sheet.draw(shown), font))


@kind("raised by Ts", share=2)
def raised_by_rise(seed: int) -> Case:
    return _raised(seed, by_rise=True)


@kind("raised by place", share=2)
def raised_by_place(seed: int) -> Case:
    return _raised(seed, by_rise=False)


@kind("raised by character")
def raised_by_character(seed: int) -> Case:
    """Unicode's own superscripts, as far as the font has them."""
    font = TrueType()
    rng = random.Random(seed)
    table = with_labels(make_table(seed), ("Area, m²", "Volume, m³", "Sales¹", "Costs²"))
    table = with_texts(table, lambda cell: cell.text + rng.choice("¹²³") if is_number(cell) else cell.text)
    sheet = lay_out(table, font, ruled=seed % 2 == 0)
    return Case(table, one_page(sheet.draw(), font))


@kind("ActualText")
def actual_text(seed: int) -> Case:
    """Marked content with a replacement: right ones for codes without meaning, or others than what is drawn."""
    font = TrueType(says=None) if seed % 2 == 0 else TrueType()
    sheet = usual(seed, font)

    def marked(piece: Piece) -> str:
        text = piece.text if seed % 2 == 0 else other_digits(piece.text)
        stated = hexadecimal(("\ufeff" + text).encode("utf-16-be"), 2)
        return f"/Span << /ActualText {stated} >> BDC\n{show_piece(piece)}EMC\n"

    return Case(sheet.table, one_page(sheet.draw(marked), font))
