"""Tables -> Excel workbook, one sheet a table.

Data cells and row headers get the values of `postprocess.values`; all tables together decide what marks mean. Column
and section headers are bold and stay text, as spreadsheets want their labels. No text ever becomes a formula or
an error value: its cell has the type of a string, and one that starts like a
formula is marked as quoted, so that editing it does not start the formula either.

Raised and lowered signs are formatted as such, but for digits beside digits: who reads the
bare text of 5.2×10⁴ must not see 5.2×104, so Unicode's characters stay there.

The title stands above the table and the notes below it, with an empty row between, so that
spreadsheets sort and filter the rows of the table alone.

A table in a cell has a sheet of its own after that of the table around it. The cell leads there, and a line above the
inner table back. Pictures lie over the lower part of their cell, which is made large enough.

A table beyond Excel's limits is refused, not cut: see `OutputError` below.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from copy import copy
from io import BytesIO
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from postprocess.cell import Cell, Direction, Picture, shift
from postprocess.characters import clean_text, is_formula, text_to_width, to_one_line
from postprocess.errors import MissingDependencyError, OutputError, SettingsError
from postprocess.export.sheets import BACK, GAP, Sheet, column_letter, plan_sheets, sheet_names, with_links
from postprocess.raised import Position, from_runs, raised_runs
from postprocess.table import Table
from postprocess.text.bidi import has_right_to_left, text_direction
from postprocess.text.direction import own_direction
from postprocess.values import TableValues, Value, is_heading, tables_to_values, text_to_value

if TYPE_CHECKING:
    from openpyxl import Workbook

MAX_ROWS, MAX_COLS, MAX_CHARS = 1_048_576, 16_384, 32_767
"""Limits of Excel: rows and columns of a sheet, UTF-16 units of a cell."""

MIN_WIDTH, MAX_WIDTH = 6, 60
"""Column widths in characters; longer texts wrap."""

MAX_FORMATS = 190
"""Number formats of a workbook. Excel takes one with more than about 200 for damaged."""

LINE_HEIGHT, MAX_HEIGHT = 15, 409
"""Row heights in points."""

PICTURE_WIDTH, PICTURE_HEIGHT = 240, 160
"""Pictures in cells are shown smaller than this, in pixels; their own size stays."""


def tables_to_workbook(
    tables: Sequence[Table], names: Sequence[str] | None = None, *, mark_below: float | None = None
) -> Workbook:
    """Write each table into a sheet of its own.

    Args:
        tables: Any number of tables; without any, one sheet says so.
        names: A name for each sheet, ``Table 1`` and so on by default. Names are
            cut, completed and counted up as far as Excel's rules need.
        mark_below: Cells less sure than this, 0 to 1, are filled, and a line below the table says so.

    Returns:
        An `openpyxl.Workbook`.

    Raises:
        OutputError: A table has more rows or columns, or a cell more characters,
            than Excel allows.
        SettingsError: The number of names is not the number of tables.
        MissingDependencyError: openpyxl is not installed.

    >>> sheet = tables_to_workbook([Table([Cell(0, 0, text="Total"), Cell(0, 1, text="1,234.50")])])["Table 1"]
    >>> sheet["B1"].value, sheet["B1"].number_format
    (1234.5, '#,##0.00')
    """
    try:
        from openpyxl import Workbook
    except ImportError as error:
        raise MissingDependencyError("writing Excel files needs openpyxl: pip install openpyxl") from error
    if names is not None and len(names) != len(tables):
        raise SettingsError(f"{len(names)} sheet names for {len(tables)} tables: give one name a table")
    workbook = Workbook()
    workbook.remove(workbook.active)
    workbook.properties.creator = "tablerec"
    styles = _Styles()
    sheets = plan_sheets(tables, sheet_names(names or [""] * len(tables)))
    written = [sheet.table for sheet in sheets]
    all_values = _few_formats(written, tables_to_values(written))
    for planned, values in zip(sheets, all_values, strict=True):
        _write_sheet(workbook.create_sheet(planned.name), planned, values, styles, mark_below)
    if not tables:
        workbook.create_sheet("Tables")["A1"] = "No table found"
    return workbook


def write_excel(
    tables: Sequence[Table],
    file: str | Path | BinaryIO,
    names: Sequence[str] | None = None,
    *,
    mark_below: float | None = None,
) -> None:
    """Write the tables into an ``.xlsx`` file or a binary stream.

    Args:
        tables: As for `tables_to_workbook`, which may raise as well.
        file: Path or stream; a file that exists is replaced.
        names: As for `tables_to_workbook`.
        mark_below: As for `tables_to_workbook`.

    Raises:
        OutputError: The file cannot be written.
    """
    workbook = tables_to_workbook(tables, names, mark_below=mark_below)
    try:
        workbook.save(file)
    except OSError as error:
        raise OutputError(f"{file}: cannot be written ({error}); choose another place with -o") from error


def _write_sheet(
    sheet: Any, planned: Sheet, values: Sequence[Value], styles: _Styles, mark_below: float | None
) -> None:
    table, top = with_links(planned), planned.top
    below = [note.text for note in table.notes]
    if any(cell.is_doubtful(mark_below) for cell in table.cells):
        below.append(f"Filled cells have a confidence below {mark_below:g}")
    if top + table.n_rows + len(below) + 1 > MAX_ROWS or table.n_cols > MAX_COLS:
        raise OutputError(
            f"sheet {sheet.title}: a table of {table.n_rows:,} x {table.n_cols:,} does not fit into Excel's "
            f"{MAX_ROWS:,} x {MAX_COLS:,}: write it as CSV or HTML"
        )
    sheet.sheet_view.rightToLeft = table.direction == "rtl" or None
    for cell, value in zip(table.cells, values, strict=True):
        placed = shift(cell, top) if top else cell
        _write_cell(sheet, placed, value, table.direction, styles, cell.is_doubtful(mark_below))
    widths = _column_widths(table)
    for index, width in enumerate(widths, 1):
        sheet.column_dimensions[column_letter(index)].width = width
    for row, height in _row_heights(table, widths):
        sheet.row_dimensions[top + row + 1].height = height
    # After the styles: merging spreads the border of the first cell.
    for cell in table.cells:
        if cell.is_spanning:
            sheet.merge_cells(
                start_row=top + cell.row + 1,
                end_row=top + cell.end_row,
                start_column=cell.col + 1,
                end_column=cell.end_col,
            )
    for number, inner in planned.inner.items():
        cell = table.cells[number]
        _link(sheet.cell(top + cell.row + 1, cell.col + 1), inner[0], "A1", styles)
    for cell in table.cells:
        _add_pictures(sheet, cell, top)
    if planned.back:
        _write_line(sheet, 1, f"{BACK} {planned.back[0]}", styles, widths, is_title=False)
        _link(sheet.cell(1, 1), *planned.back, styles)
    if table.title:
        _write_line(sheet, top - GAP + 1, table.title.text, styles, widths, is_title=True)
    for row, text in enumerate(below, top + table.n_rows + GAP):
        _write_line(sheet, row, text, styles, widths, is_title=False)
    _set_up_page(sheet, table, top)


def _link(target: Any, name: str, place: str, styles: _Styles) -> None:
    """Let a cell lead to a place in another sheet; no text is part of it that could be a formula."""
    from openpyxl.worksheet.hyperlink import Hyperlink

    quoted = name.replace("'", "''")
    target.hyperlink = Hyperlink(ref=target.coordinate, location=f"'{quoted}'!{place}")
    target.font = styles.link


def _add_pictures(sheet: Any, cell: Cell, top: int) -> None:
    """Anchor the pictures of a cell below its text."""
    shown = [picture for picture in cell.pictures if picture.png]
    if not shown:
        return
    from openpyxl.drawing.image import Image
    from openpyxl.drawing.spreadsheet_drawing import AnchorMarker, OneCellAnchor
    from openpyxl.drawing.xdr import XDRPositiveSize2D
    from openpyxl.utils.units import pixels_to_EMU

    target = sheet.cell(top + cell.row + 1, cell.col + 1)
    alignment = copy(target.alignment)
    alignment.vertical = "top"
    target.alignment = alignment
    down = round(_text_height(cell) / _POINTS) + _RIM
    for picture in shown:
        image = Image(BytesIO(picture.png))
        width, height = _shown_size(picture)
        start = AnchorMarker(col=cell.col, colOff=pixels_to_EMU(_RIM), row=top + cell.row, rowOff=pixels_to_EMU(down))
        image.anchor = OneCellAnchor(_from=start, ext=XDRPositiveSize2D(pixels_to_EMU(width), pixels_to_EMU(height)))
        sheet.add_image(image)
        down += height + _RIM


def _shown_size(picture: Picture) -> tuple[int, int]:
    """Width and height in pixels at which a picture is shown, by what its PNG says of its own."""
    width, height = (max(int.from_bytes(picture.png[at : at + 4], "big"), 1) for at in (16, 20))
    scale = min(PICTURE_WIDTH / width, PICTURE_HEIGHT / height, 1.0)
    return max(round(scale * width), 1), max(round(scale * height), 1)


def _text_height(cell: Cell) -> float:
    """Points that the lines of a cell need if none wraps."""
    return LINE_HEIGHT * len(cell.text.split("\n")) if cell.text else 0.0


def _few_formats(tables: Sequence[Table], all_values: Sequence[TableValues]) -> list[list[Value]]:
    """The values of each table; text in the columns that need most formats, where all need more than Excel has."""
    written = [list(found.cells) for found in all_values]
    formats: dict[tuple[int, int], set[str]] = defaultdict(set)
    for number, (table, values) in enumerate(zip(tables, written, strict=True)):
        for cell, value in zip(table.cells, values, strict=True):
            formats[number, cell.col].add(value.number_format)
    while len(set().union(*formats.values())) > MAX_FORMATS:
        number, col = max(formats, key=lambda place: len(formats[place]))
        formats[number, col] = set()
        for index, cell in enumerate(tables[number].cells):
            if cell.col == col and not is_heading(cell):
                written[number][index] = text_to_value(cell.text)
    return written


_RIM = 4
"""Pixels around a picture."""
_POINTS = 0.75
"""Of a pixel."""
_CHARACTER = 7
"""Pixels of a column's width for one character."""


def _write_line(sheet: Any, row: int, text: str, styles: _Styles, widths: Sequence[float], *, is_title: bool) -> None:
    """A title or note over the width of the table."""
    target = sheet.cell(row, 1)
    content = to_one_line(text)
    _check_length(sheet, content, row, 1)
    _set_text(target, content, styles.title if is_title else styles.note)
    styles.apply_to_line(target, _reading_direction(content, "ltr"), is_title=is_title)
    n_lines = ceil(text_to_width(content) / max(sum(widths), MIN_WIDTH))
    if n_lines > 1:
        sheet.row_dimensions[row].height = min(n_lines * LINE_HEIGHT, MAX_HEIGHT)
    if len(widths) > 1:
        sheet.merge_cells(start_row=row, end_row=row, start_column=1, end_column=len(widths))


def _check_length(sheet: Any, text: str, row: int, col: int) -> None:
    if len(text.encode("utf-16-le")) > 2 * MAX_CHARS:
        raise OutputError(
            f"sheet {sheet.title}: the cell at row {row}, column {col} has {len(text):,} characters, "
            f"Excel holds {MAX_CHARS:,}: write the table as CSV or HTML"
        )


def _set_text(target: Any, text: str, font: Any) -> None:
    runs = _formatted_runs(text)
    is_plain = all(position is None for _, position in runs)
    target.value = _escape(text) or None if is_plain else _rich_text(runs, font)
    target.data_type = "s" if target.value else "n"
    target.quotePrefix = is_formula("".join(run for run, _ in runs))


def _escape(text: str) -> str:
    # Excel decodes _x0041_ to A.
    return re.sub("_(?=x[0-9A-Fa-f]{4}_)", "_x005F_", text)


def _formatted_runs(text: str) -> list[tuple[str, Position | None]]:
    """The runs of a text that are formatted as raised or lowered; Unicode's characters are in the others."""
    runs = raised_runs(text)
    around = ["", *(run for run, _ in runs), ""]
    return [
        (from_runs([run]), None) if _would_join(before, run[0], after) else run
        for before, run, after in zip(around, runs, around[2:], strict=False)
    ]


def _would_join(before: str, run: str, after: str) -> bool:
    """Whether a bare text would show digits as one number that are not."""
    return not any(map(str.isalpha, run)) and (before[-1:].isdigit() or after[:1].isdigit())


def _rich_text(runs: Sequence[tuple[str, Position | None]], font: Any) -> Any:
    from openpyxl.cell.rich_text import CellRichText, TextBlock
    from openpyxl.cell.text import InlineFont

    fonts = {
        position: InlineFont(rFont=font.name, sz=font.sz, b=font.b or None, color=font.color, vertAlign=vertical)
        for position, vertical in ((None, None), ("sup", "superscript"), ("sub", "subscript"))
    }
    return CellRichText([TextBlock(fonts[position], _escape(run)) for run, position in runs])


def _write_cell(sheet: Any, cell: Cell, value: Value, direction: Direction, styles: _Styles, is_marked: bool) -> None:
    text = clean_text(cell.text)
    _check_length(sheet, text, cell.row + 1, cell.col + 1)
    target = sheet.cell(cell.row + 1, cell.col + 1)
    if isinstance(value.value, str):
        _set_text(target, text, styles.title if is_heading(cell) else styles.body)
    else:
        target.value = value.value
    styles.apply(target, cell, value, _reading_direction(value.value, direction), is_marked)


def _reading_direction(value: object, around: Direction) -> Direction | None:
    """What a cell must say of its direction; None where Excel's own choice, by the first letter, is right."""
    if not isinstance(value, str):
        return None
    own = own_direction(value, around)
    if own is None and has_right_to_left(value) and "rtl" in (around, text_direction(value)):
        return "rtl"
    return own


_READING_ORDER: dict[Direction | None, int] = {None: 0, "ltr": 1, "rtl": 2}
"""As Excel counts them; 0 goes by the first letter."""


class _Styles:
    """Style of each kind of cell, made once: openpyxl compares styles field by field."""

    def __init__(self) -> None:
        from openpyxl.styles import Alignment, Border, Font, PatternFill, Side

        line = Side("thin", "BFBFBF")
        self.title = Font(name="Calibri", size=11, bold=True)
        self.body = Font(name="Calibri", size=11)
        self.note = Font(name="Calibri", size=10, color="595959")
        self.link = Font(name="Calibri", size=11, color="0563C1", underline="single")
        self._border = Border(line, line, line, line)
        self._head, self._body = (
            {
                direction: Alignment(horizontal, "center", wrap_text=True, readingOrder=order)
                for direction, order in _READING_ORDER.items()
            }
            for horizontal in ("center", None)
        )
        self._doubtful = PatternFill("solid", fgColor="FFF4CE")
        self._known: dict[tuple[str, bool, bool, Direction | None, bool, bool], Any] = {}

    def apply_to_line(self, target: Any, direction: Direction | None, *, is_title: bool) -> None:
        target.font = self.title if is_title else self.note
        target.alignment = self._body[direction]

    def apply(self, target: Any, cell: Cell, value: Value, direction: Direction | None, is_marked: bool) -> None:
        is_quoted = bool(target.quotePrefix)
        key = (value.number_format, cell.header == "column", is_heading(cell), direction, is_quoted, is_marked)
        if key not in self._known:
            target.border = self._border
            target.alignment = (self._head if cell.header == "column" else self._body)[direction]
            if is_heading(cell):
                target.font = self.title
            if is_marked:
                target.fill = self._doubtful
            target.number_format = value.number_format
            self._known[key] = copy(target._style)
        target._style = copy(self._known[key])


def _column_widths(table: Table) -> list[float]:
    """Width of each column in characters, spans included."""
    widths = [float(MIN_WIDTH)] * table.n_cols
    for cell in sorted(table.cells, key=lambda cell: cell.colspan):
        needed = min(text_to_width(clean_text(cell.text)) * (1.1 if is_heading(cell) else 1) + 2, MAX_WIDTH)
        sizes = [_shown_size(picture) for picture in cell.pictures if picture.png]
        needed = max([needed, *((width + 2 * _RIM) / _CHARACTER for width, _ in sizes)])
        missing = (needed - sum(widths[cell.col : cell.end_col])) / cell.colspan
        for col in range(cell.col, cell.end_col):
            widths[col] += max(missing, 0)
    return widths


def _row_heights(table: Table, widths: Sequence[float]) -> Iterator[tuple[int, float]]:
    """Heights of the rows that need more than one line; few programs adapt them, none for merged cells."""
    n_lines = [1] * table.n_rows
    for cell in table.cells:
        width = sum(widths[cell.col : cell.end_col]) - 1
        needed = sum(max(ceil(text_to_width(line) / width), 1) for line in clean_text(cell.text).split("\n"))
        for row in range(cell.row, cell.end_row):
            n_lines[row] = max(n_lines[row], ceil(needed / cell.rowspan))
    heights = [float(count * LINE_HEIGHT) for count in n_lines]
    for cell in table.cells:
        sizes = [_shown_size(picture) for picture in cell.pictures if picture.png]
        if sizes:
            below = _POINTS * sum(height + _RIM for _, height in sizes) + 2 * _RIM
            least = (_text_height(cell) + below) / cell.rowspan
            heights[cell.row : cell.end_row] = [max(height, least) for height in heights[cell.row : cell.end_row]]
    for row, height in enumerate(heights):
        if height > LINE_HEIGHT:
            yield row, min(height, MAX_HEIGHT)


def _set_up_page(sheet: Any, table: Table, top: int) -> None:
    sheet.sheet_properties.pageSetUpPr.fitToPage = True
    sheet.page_setup.fitToHeight = 0
    if sum(sheet.column_dimensions[key].width for key in sheet.column_dimensions) > 90:
        sheet.page_setup.orientation = "landscape"
    if 0 < table.n_header_rows < table.n_rows:
        sheet.freeze_panes = sheet.cell(top + table.n_header_rows + 1, 1)
        sheet.print_title_rows = f"{top + 1}:{top + table.n_header_rows}"
