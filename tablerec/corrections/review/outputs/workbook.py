"""All tables in one workbook, with a sheet of contents before them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, BinaryIO

from postprocess.characters import clean_text
from postprocess.export import tables_to_workbook
from postprocess.export.sheets import Sheet, sheet_names
from tablerec.corrections.review.outputs.entries import Entry
from tablerec.inputs.images import display_name

CROPS = "crops"
"""The folder beside the workbook in which the pictures of cells are."""

_TEXTS = {
    "en": {
        "contents": "Contents",
        "columns": ("Table", "Source", "Page", "Rows", "Columns", "Status", "Share verified"),
        "saved": "saved",
        "open": "open",
        "crops": "Each cell links to its picture.",
    },
    "zh": {
        "contents": "目录",
        "columns": ("表格", "来源", "页", "行数", "列数", "状态", "已核实比例"),
        "saved": "已保存",
        "open": "未完成",
        "crops": "每个单元格都链接到它的图片。",
    },
}
LANGUAGES = tuple(_TEXTS)
_WIDTHS = (32, 40, 10, 10, 10, 12, 16)
_MOST_LINKS = 65_000
"""Of a sheet; Excel takes 65,530."""


def write_workbook(
    entries: Sequence[Entry], file: BinaryIO, language: str, crop_names: Mapping[str, frozenset[str]] | None = None
) -> None:
    """Write a sheet for each table, after one that lists them.

    Args:
        entries: The tables, one or more.
        file: Where to write.
        language: Of the contents, one of ``LANGUAGES``.
        crop_names: Name of a table -> names of the pictures of its cells, in ``crops/NAME``; None makes no links.

    Raises:
        OutputError: A table does not fit into Excel.
    """
    texts: dict[str, Any] = _TEXTS[language]
    contents, *names = sheet_names([texts["contents"], *(entry.name for entry in entries)])
    workbook = tables_to_workbook([entry.table for entry in entries], names)
    sheet = workbook.create_sheet(contents, 0)
    workbook.active = 0
    _write_contents(sheet, entries, names, texts)
    if crop_names is not None:
        _put(sheet.cell(len(entries) + 3, 1), texts["crops"])
        for entry, name in zip(entries, names, strict=True):
            _link_crops(workbook[name], entry, crop_names.get(entry.name, frozenset()))
    workbook.save(file)


def _write_contents(sheet: Any, entries: Sequence[Entry], names: Sequence[str], texts: Mapping[str, Any]) -> None:
    from openpyxl.styles import Font
    from openpyxl.utils import get_column_letter
    from openpyxl.worksheet.hyperlink import Hyperlink

    bold, link = Font(bold=True), Font(color="FF0563C1", underline="single")
    for col, (text, width) in enumerate(zip(texts["columns"], _WIDTHS, strict=True), start=1):
        _put(sheet.cell(1, col), text)
        sheet.cell(1, col).font = bold
        sheet.column_dimensions[get_column_letter(col)].width = width
    sheet.freeze_panes = "A2"
    for row, (entry, name) in enumerate(zip(entries, names, strict=True), start=2):
        head, first = entry.parts[0].head, sheet.cell(row, 1)
        _put(first, entry.name)
        quoted = name.replace("'", "''")
        first.hyperlink = Hyperlink(ref=first.coordinate, location=f"'{quoted}'!A1")
        first.font = link
        _put(sheet.cell(row, 2), display_name(head.source))
        if len(entry.parts) > 1:
            _put(sheet.cell(row, 3), entry.pages)
        else:
            sheet.cell(row, 3).value = head.page
        sheet.cell(row, 4).value, sheet.cell(row, 5).value = entry.table.shape
        _put(sheet.cell(row, 6), texts[entry.verdict])
        sheet.cell(row, 7).value = entry.share_proved
        sheet.cell(row, 7).number_format = "0%"


def _link_crops(sheet: Any, entry: Entry, crop_names: frozenset[str]) -> None:
    from openpyxl.worksheet.hyperlink import Hyperlink

    from tablerec.corrections.review.outputs.crops import crop_name

    top = Sheet(sheet.title, entry.table).top
    linked = 0
    for cell in entry.table.cells:
        target, crop = sheet.cell(top + cell.row + 1, cell.col + 1), crop_name(cell)
        # A cell without text would show the address, and one that leads to a table in it has its link.
        if crop in crop_names and target.value is not None and target.hyperlink is None and linked < _MOST_LINKS:
            target.hyperlink = Hyperlink(ref=target.coordinate, target=f"{CROPS}/{entry.name}/{crop}")
            linked += 1


def _put(target: Any, text: str) -> None:
    """Write a text that never becomes a formula."""
    target.value = clean_text(text)
    target.data_type = "s"
    target.quotePrefix = text[:1] in "=+-@"
