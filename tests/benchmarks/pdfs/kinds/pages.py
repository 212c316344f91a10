"""Pages that are turned, cropped, moved or scaled, and text that is turned on them."""

from __future__ import annotations

from tests.benchmarks.pdfs.case import Case, kind, one_page
from tests.benchmarks.pdfs.fonts import TrueType
from tests.benchmarks.pdfs.kinds.letters import usual
from tests.benchmarks.pdfs.sheet import Piece, lay_out, show, show_piece
from tests.benchmarks.pdfs.tables import make_table, with_texts


@kind("page turned by Rotate")
def rotated_page(seed: int) -> Case:
    """The content is drawn sideways or upside down, and Rotate stands it upright again."""
    font = TrueType()
    sheet = usual(seed, font)
    turn = (90, 180, 270)[seed % 3]
    # The content is turned against Rotate, so that a viewer shows the page upright.
    matrix, media = {
        90: ("0 1 -1 0 842 0", (0, 0, 842, 595)),
        180: ("-1 0 0 -1 595 842", (0, 0, 595, 842)),
        270: ("0 -1 1 0 0 595", (0, 0, 842, 595)),
    }[turn]
    return Case(sheet.table, one_page(f"{matrix} cm\n{sheet.draw()}", font, media=media, extra=f"/Rotate {turn}"))


@kind("page lying on its side")
def lying(seed: int) -> Case:
    """The page is shown sideways: a wide table, printed so."""
    font = TrueType()
    sheet = usual(seed, font)
    turn = (90, 270)[seed % 2]
    return Case(sheet.table, one_page(sheet.draw(), font, extra=f"/Rotate {turn}"))


@kind("text turned in cells")
def turned_in_cells(seed: int) -> Case:
    """Heads that run upwards or downwards in tall cells."""
    font = TrueType()
    table = make_table(seed, cols=4)
    tall = with_texts(table, lambda cell: "\n\n\n\n" if cell.header else cell.text)
    sheet = lay_out(tall, font, ruled=True, least=40)

    def turned(piece: Piece) -> str:
        if not piece.cell.header:
            return show_piece(piece)
        return ""

    content = sheet.draw(turned)
    for cell in table.cells:
        if not cell.header:
            continue
        x0, y0, x1, y1 = sheet.box(cell)
        middle = (x0 + x1) / 2
        width = font.width(cell.text, 9)
        assert width < y1 - y0, "the head fits"
        up = seed % 2 == 0 or cell.col % 2
        matrix = f"0 1 -1 0 {middle + 3:.2f} {y0 + 3:.2f}" if up else f"0 -1 1 0 {middle - 3:.2f} {y1 - 3:.2f}"
        content += f"BT /{font.name} 9 Tf {matrix} Tm {font.codes(cell.text)} Tj ET\n"
    return Case(table, one_page(content, font))


@kind("cropped beside the table")
def cropped_beside(seed: int) -> Case:
    """A crop box around the table; text outside it is not shown."""
    font = TrueType()
    sheet = usual(seed, font)
    x0, y0, x1, y1 = sheet.outline
    content = sheet.draw() + "".join(
        show(x, y, text, font, 9)
        for x, y, text in ((x0, y1 + 40, "Cut off 1,234"), (x1 + 60, y0 + 30, "99.99"), (x0, y0 - 60, "Printer's mark"))
    )
    crop = f"/CropBox [{x0 - 30:.1f} {y0 - 30:.1f} {x1 + 30:.1f} {y1 + 30:.1f}]"
    return Case(sheet.table, one_page(content, font, extra=crop))


@kind("cropped through the table")
def cropped_through(seed: int) -> Case:
    """The crop box leaves out the last column, or the last two rows, at a line of the table."""
    font = TrueType()
    sheet = usual(seed - seed % 2 + 2 * (seed % 2), font) if seed else usual(0, font)
    table = sheet.table
    x0, y0, x1, y1 = sheet.outline
    n_rows, n_cols = table.shape
    if seed % 2 == 0:
        n_cols -= 1
        x1 = sheet.xs[n_cols]
    else:
        n_rows -= 2
        y0 = sheet.ys[n_rows]
    seen = table.with_cells(cell for cell in table.cells if cell.end_row <= n_rows and cell.end_col <= n_cols)
    crop = f"/CropBox [{x0 - 30:.1f} {y0 - 0.5:.1f} {x1 + 0.5:.1f} {y1 + 30:.1f}]"
    return Case(seen, one_page(sheet.draw(), font, extra=crop))


@kind("origin elsewhere")
def origin_elsewhere(seed: int) -> Case:
    """A media box that does not begin at 0, with a crop box in every second PDF."""
    font = TrueType()
    dx, dy = ((-300, -500), (1000, 200), (-100, 3000))[seed % 3]
    sheet = usual(seed, font, origin=(60 + dx, 760 + dy))
    crop = f"/CropBox [{dx + 20} {dy + 100} {dx + 580} {dy + 820}]" if seed % 2 else ""
    return Case(sheet.table, one_page(sheet.draw(), font, media=(dx, dy, dx + 595, dy + 842), extra=crop))


@kind("UserUnit")
def user_unit(seed: int) -> Case:
    """A page whose unit is not a point: half the numbers and twice the unit, or the other way."""
    font = TrueType()
    sheet = usual(seed, font)
    unit = (2.0, 0.5)[seed // 2 % 2]
    size = (0, 0, 595 / unit, 842 / unit)
    content = f"{1 / unit} 0 0 {1 / unit} 0 0 cm\n{sheet.draw()}"
    return Case(sheet.table, one_page(content, font, media=size, extra=f"/UserUnit {unit}"))


@kind("mirrored and mirrored back")
def mirrored(seed: int) -> Case:
    """A y axis that points downwards, as many programs have it: text is mirrored by its matrix."""
    font = TrueType()
    sheet = usual(seed, font)

    def shown(piece: Piece) -> str:
        matrix = f"1 0 0 -1 {piece.x:.3f} {842 - piece.y:.3f}"
        return f"BT /{font.name} {piece.size} Tf {matrix} Tm {font.codes(piece.text)} Tj ET\n"

    content = f"q 1 0 0 -1 0 842 cm\nq 1 0 0 -1 0 842 cm {sheet.rules()} Q\n"
    return Case(sheet.table, one_page(content + "".join(map(shown, sheet.pieces)) + "Q", font))


@kind("size in the matrix")
def size_in_matrix(seed: int) -> Case:
    """Font size 1, or a negative one, and a matrix that makes it what is seen; letters condensed by Tz."""
    font = TrueType()
    sheet = usual(seed, font)

    def shown(piece: Piece) -> str:
        if seed % 3 == 0:
            matrix, size, scale = f"{piece.size} 0 0 {piece.size} {piece.x:.3f} {piece.y:.3f}", 1, 100
        elif seed % 3 == 1:
            matrix, size, scale = f"-1 0 0 -1 {piece.x:.3f} {piece.y:.3f}", -piece.size, 100
        else:
            matrix, size, scale = f"1 0 0 1 {piece.x:.3f} {piece.y:.3f}", piece.size, 80
        return f"BT /{font.name} {size} Tf {scale} Tz {matrix} Tm {font.codes(piece.text)} Tj ET\n"

    return Case(sheet.table, one_page(sheet.draw(shown), font))
