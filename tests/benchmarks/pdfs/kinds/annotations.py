"""Annotations and form fields: what is seen of them belongs to the page, what is hidden does not."""

from __future__ import annotations

from tests.benchmarks.pdfs.case import Case, kind
from tests.benchmarks.pdfs.fonts import Helvetica
from tests.benchmarks.pdfs.kinds.letters import usual
from tests.benchmarks.pdfs.sheet import Box, Piece, Sheet, lay_out, rectangle, show, show_piece
from tests.benchmarks.pdfs.tables import is_number, make_table, other_digits, with_texts
from tests.benchmarks.pdfs.writer import Pdf, named

FONT = Helvetica()


class Annotated:
    """A page of Helvetica with annotations."""

    def __init__(self) -> None:
        self.pdf = Pdf()
        self.font = FONT.add_to(self.pdf)
        self.numbers: list[int] = []
        self.fields: list[int] = []

    def appearance(self, box: Box, drawn: str, states: str = "") -> int:
        """Add the picture of an annotation, drawn from its lower left corner on; ``states`` are for gs."""
        size = f"{box[2] - box[0]:.2f} {box[3] - box[1]:.2f}"
        fonts = named("Font", {"F1": self.font})
        graphics = f"/ExtGState << {states} >>"
        return self.pdf.stream(
            drawn, f"/Type /XObject /Subtype /Form /BBox [0 0 {size}] /Resources << {fonts} {graphics} >>"
        )

    def add(
        self, subtype: str, box: Box, entries: str, drawn: str | None = None, flags: int = 4, states: str = ""
    ) -> None:
        """Add an annotation; 4 prints it, 2 hides it."""
        place = " ".join(f"{value:.2f}" for value in box)
        look = "" if drawn is None else f"/AP << /N {self.appearance(box, drawn, states)} 0 R >>"
        number = self.pdf.add(f"<< /Type /Annot /Subtype /{subtype} /Rect [{place}] /F {flags} {entries} {look} >>")
        self.numbers.append(number)
        if subtype == "Widget":
            self.fields.append(number)

    def field(self, box: Box, name: str, value: str, shown: str | None, flags: int = 4) -> None:
        """Add a text field; ``shown`` is what its picture says, None for a field without a picture."""
        drawn = None if shown is None else f"/Tx BMC q {show(2, 4, shown, FONT, 9)} Q EMC"
        self.add("Widget", box, f"/FT /Tx /T ({name}) /V ({value}) /DA (/F1 9 Tf 0 g)", drawn, flags)

    def finish(self, content: str, *, need_appearances: bool = False) -> bytes:
        """Return the file."""
        listed = " ".join(f"{number} 0 R" for number in self.numbers)
        fonts = named("Font", {"F1": self.font})
        if self.fields:
            fields = " ".join(f"{number} 0 R" for number in self.fields)
            need = "/NeedAppearances true" if need_appearances else ""
            form = self.pdf.add(f"<< /Fields [{fields}] /DR << {fonts} >> /DA (/F1 9 Tf 0 g) {need} >>")
            self.pdf.catalog = f"/AcroForm {form} 0 R"
        self.pdf.page(content, fonts, extra=f"/Annots [{listed}]")
        return bytes(self.pdf)


def _form(seed: int) -> tuple[Sheet, list[Piece]]:
    """A sheet and its numbers in the last column, which fields take the place of."""
    sheet = lay_out(make_table(seed), ruled=True, least=80)
    last = sheet.table.n_cols - 1
    return sheet, [piece for piece in sheet.pieces if is_number(piece.cell) and piece.cell.col == last]


def _field_box(sheet: Sheet, piece: Piece) -> Box:
    x0, y0, x1, y1 = sheet.box(piece.cell)
    return x0 + 2, y0 + 1.5, x1 - 2, y1 - 1.5


@kind("fields with pictures")
def fields(seed: int) -> Case:
    sheet, numbers = _form(seed)
    page = Annotated()
    for index, piece in enumerate(numbers):
        page.field(_field_box(sheet, piece), f"n{index}", piece.text, piece.text)
    return Case(sheet.table, page.finish(sheet.draw(lambda piece: "" if piece in numbers else show_piece(piece))))


@kind("fields without pictures")
def fields_without_pictures(seed: int) -> Case:
    """NeedAppearances, or nothing, says that the viewer draws the values."""
    sheet, numbers = _form(seed)
    page = Annotated()
    for index, piece in enumerate(numbers):
        page.field(_field_box(sheet, piece), f"n{index}", piece.text, None)
    content = sheet.draw(lambda piece: "" if piece in numbers else show_piece(piece))
    return Case(sheet.table, page.finish(content, need_appearances=seed % 2 == 0))


@kind("fields that show another value")
def fields_with_other_values(seed: int) -> Case:
    """The picture of the field is what a reader sees; its value was changed later by a program."""
    sheet, numbers = _form(seed)
    page = Annotated()
    for index, piece in enumerate(numbers):
        page.field(_field_box(sheet, piece), f"n{index}", other_digits(piece.text), piece.text)
    return Case(sheet.table, page.finish(sheet.draw(lambda piece: "" if piece in numbers else show_piece(piece))))


@kind("hidden fields and notes")
def hidden(seed: int) -> Case:
    """Fields and notes with the flag Hidden or NoView, and pop-ups that are closed: none of them is seen."""
    sheet, numbers = _form(seed)
    seen = with_texts(sheet.table, lambda cell: "" if any(cell == piece.cell for piece in numbers[::2]) else cell.text)
    page = Annotated()
    for index, piece in enumerate(numbers[::2]):
        page.field(_field_box(sheet, piece), f"n{index}", piece.text, piece.text, flags=(2, 32)[seed % 2])
    x0, _, x1, y1 = sheet.outline
    page.add("FreeText", (x0, y1 + 10, x1, y1 + 30), "/Contents (Hidden 77)", show(2, 4, "Hidden 77", FONT, 9), 2)
    page.add("Popup", (x0, y1 + 40, x0 + 100, y1 + 80), "/Contents (Closed 55) /Open false")
    content = sheet.draw(lambda piece: "" if piece in numbers[::2] else show_piece(piece))
    return Case(seen, page.finish(content))


@kind("notes of free text")
def free_text(seed: int) -> Case:
    """Numbers written into empty cells as FreeText, with their pictures; and a note outside."""
    sheet, numbers = _form(seed)
    page = Annotated()
    for piece in numbers:
        page.add(
            "FreeText",
            _field_box(sheet, piece),
            f"/Contents ({piece.text}) /DA (/F1 9 Tf 0 g)",
            show(2, 4, piece.text, FONT, 9),
        )
    x0, y0, _, _ = sheet.outline
    note = "Checked by hand"
    page.add("FreeText", (x0, y0 - 60, x0 + 200, y0 - 40), f"/Contents ({note})", show(2, 4, note, FONT, 9))
    content = sheet.draw(lambda piece: "" if piece in numbers else show_piece(piece))
    return Case(sheet.table, page.finish(content), outside=(note,))


@kind("stamps and links")
def stamps(seed: int) -> Case:
    """A stamp beside the table, and links over its labels."""
    sheet = usual(seed, FONT)
    page = Annotated()
    x0, y0, _, _ = sheet.outline
    page.add("Stamp", (x0, y0 - 90, x0 + 160, y0 - 50), "/Name /Approved", show(6, 12, "APPROVED", FONT, 20))
    for piece in sheet.pieces[:4]:
        link = f"/Border [0 0 0] /A << /S /URI /URI (http://example.org/{piece.cell.row}) >>"
        page.add("Link", sheet.box(piece.cell), link)
    return Case(sheet.table, page.finish(sheet.draw()), outside=("APPROVED",))


@kind("stamp over the table")
def stamp_over(seed: int) -> Case:
    """A stamp covers two rows, their lines excepted: what is below it cannot be read."""
    sheet = lay_out(make_table(seed, rows=8), FONT, ruled=True)
    covered = (3, 4)
    seen = with_texts(sheet.table, lambda cell: "" if cell.row in covered else cell.text)
    page = Annotated()
    x0, _, x1, _ = sheet.outline
    box = (x0 + 1, sheet.ys[5] + 1, x1 - 1, sheet.ys[3] - 1)
    boxes = [sheet.box(cell) for cell in sheet.table.cells if cell.row in covered]
    white = "1 g " + "".join(
        f"{rectangle((left - box[0] + 1, low - box[1] + 1, right - box[0] - 1, high - box[1] - 1))} f "
        for left, low, right, high in boxes
    )
    page.add("Stamp", box, "/Name /Redacted", white)
    return Case(seen, page.finish(sheet.draw()))
