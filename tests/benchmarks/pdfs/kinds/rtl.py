"""Hebrew and Arabic, as content streams hold them: in reading order or as seen, shaped or not."""

from __future__ import annotations

import unicodedata
from functools import lru_cache

from postprocess.table import Table
from tests.benchmarks.pdfs.case import Case, kind, one_page
from tests.benchmarks.pdfs.fonts import TrueType, find_dejavu
from tests.benchmarks.pdfs.sheet import Piece, lay_out, show, show_piece
from tests.benchmarks.pdfs.tables import make_table, with_texts

LACKING = find_dejavu() is None


def dejavu(**options: object) -> TrueType:
    """The font of these kinds."""
    path = find_dejavu()
    if path is None:
        raise FileNotFoundError("needs DejaVuSans.ttf")
    return TrueType(path, **options)


def is_rtl(letter: str) -> bool:
    """Whether a letter is written from right to left."""
    return unicodedata.bidirectional(letter) in ("R", "AL")


def visual(text: str) -> str:
    """Return a text of right-to-left words, and numbers or Latin words between them, from left to right as seen.

    >>> visual("אב 12 גד")
    'דג 12 בא'
    >>> visual("1,234.5")
    '1,234.5'
    """
    if not any(map(is_rtl, text)):
        return text
    words = [word[::-1] if any(map(is_rtl, word)) else word for word in text.split(" ")]
    return " ".join(reversed(words))


@lru_cache
def _forms() -> dict[tuple[str, str], str]:
    """Presentation forms by letter and position (isolated, initial, medial, final), ligatures of two included."""
    found = {}
    for code in range(0xFE70, 0xFEFD):
        kind, *codes = unicodedata.decomposition(chr(code)).split() or [""]
        letters = "".join(chr(int(each, 16)) for each in codes)
        if kind and " " not in letters:
            found[letters, kind.strip("<>")] = chr(code)
    return found


def shaped(text: str) -> str:
    """Return Arabic with presentation forms, in reading order; lam with alef is one glyph.

    >>> [unicodedata.name(letter).split()[-2] for letter in shaped("حديد")]
    ['INITIAL', 'FINAL', 'INITIAL', 'FINAL']
    """
    forms = _forms()
    units: list[str] = []
    for letter in text:
        if units and (units[-1] + letter, "isolated") in forms:
            units[-1] += letter
        else:
            units.append(letter)

    def joins_next(index: int) -> bool:
        return (units[index], "initial") in forms and index + 1 < len(units) and (units[index + 1], "final") in forms

    out = ""
    for index, unit in enumerate(units):
        before, after = index > 0 and joins_next(index - 1), joins_next(index)
        position = ("isolated", "initial", "final", "medial")[2 * before + after]
        out += forms.get((unit, position), unit)
    return out


def _sheet(seed: int, language: str, font: TrueType, change: object = None):
    table = make_table(seed, language, grouped=seed % 4 == 2)
    return table, lay_out(table, font, ruled=seed % 2 == 0)


@kind("Hebrew as seen", share=1.5)
def hebrew_visual(seed: int) -> Case:
    """Each text is one string from left to right as it is seen: old writers, and PDFs that were printed."""
    font = dejavu()
    table, sheet = _sheet(seed, "he", font)
    return Case(table, one_page(sheet.draw(lambda piece: show_piece(piece, visual(piece.text))), font))


def _in_reading_order(piece: Piece, glyphs: str) -> str:
    """Show glyphs one by one in reading order, from the right to the left; numbers as strings."""
    if not any(map(is_rtl, glyphs)):
        return show_piece(piece, glyphs)
    font, x, out = piece.font, piece.x + piece.font.width(glyphs, piece.size), ""
    for word in glyphs.split(" "):
        if any(map(is_rtl, word)):
            for letter in word:
                x -= font.width(letter, piece.size)
                out += show(x, piece.y, letter, font, piece.size)
        else:
            x -= font.width(word, piece.size)
            out += show(x, piece.y, word, font, piece.size)
        x -= font.width(" ", piece.size)
    return out


@kind("Hebrew in reading order")
def hebrew_logical(seed: int) -> Case:
    """Each glyph is placed, from the right to the left: browsers and word processors."""
    font = dejavu()
    table, sheet = _sheet(seed, "he", font)
    return Case(table, one_page(sheet.draw(lambda piece: _in_reading_order(piece, piece.text)), font))


@kind("Arabic, presentation forms")
def arabic_forms(seed: int) -> Case:
    """Glyphs whose ToUnicode says presentation forms, as seen."""
    font = dejavu()
    table, sheet = _sheet(seed, "ar", font)
    return Case(table, one_page(sheet.draw(lambda piece: show_piece(piece, visual(shaped(piece.text)))), font))


@kind("Arabic, letters")
def arabic_letters(seed: int) -> Case:
    """Glyphs whose ToUnicode says plain letters, two for lam with alef; as seen, or in reading order."""
    font = dejavu(says=lambda text: unicodedata.normalize("NFKC", text))
    table, sheet = _sheet(seed, "ar", font)
    if seed % 2 == 0:
        return Case(table, one_page(sheet.draw(lambda piece: _in_reading_order(piece, shaped(piece.text))), font))
    return Case(table, one_page(sheet.draw(lambda piece: show_piece(piece, visual(shaped(piece.text)))), font))


def _mixed(table: Table, hebrew: bool) -> Table:
    extra = ("2023", "ISO 9001"[:3], "12.5%", "USD")
    return with_texts(
        table,
        lambda cell: f"{cell.text} {extra[cell.row % 4]}" if cell.col == 0 and not cell.header else cell.text,
    )


@kind("right-to-left with numbers and Latin")
def mixed(seed: int) -> Case:
    """Labels that end with a year, a share or a Latin word; as seen, or in reading order."""
    font = dejavu(says=lambda text: unicodedata.normalize("NFKC", text))
    language = ("he", "ar")[seed // 2 % 2]
    table = _mixed(make_table(seed, language), language == "he")
    sheet = lay_out(table, font, ruled=seed % 3 != 0)

    def shown(piece: Piece) -> str:
        glyphs = shaped(piece.text)
        return _in_reading_order(piece, glyphs) if seed % 2 else show_piece(piece, visual(glyphs))

    return Case(table, one_page(sheet.draw(shown), font))


_EASTERN = str.maketrans("0123456789,.%", "٠١٢٣٤٥٦٧٨٩٬٫٪")


@kind("Arabic with its own digits")
def eastern_digits(seed: int) -> Case:
    """Numbers in Arabic-Indic digits; they run from left to right all the same."""
    font = dejavu(says=lambda text: unicodedata.normalize("NFKC", text))
    table = with_texts(make_table(seed, "ar"), lambda cell: cell.text.translate(_EASTERN))
    sheet = lay_out(table, font, ruled=seed % 2 == 0)
    return Case(table, one_page(sheet.draw(lambda piece: show_piece(piece, visual(shaped(piece.text)))), font))
