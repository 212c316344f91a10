from __future__ import annotations

import io
import sys
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import openpyxl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from openpyxl.cell.rich_text import CellRichText

from postprocess.cell import Caption, Cell, Picture
from postprocess.characters import clean_text, text_to_width
from postprocess.errors import MissingDependencyError, OutputError, SettingsError
from postprocess.export import tables_to_workbook, write_excel
from postprocess.raised import Position, from_runs
from postprocess.table import Table, all_tables
from postprocess.values import Value, tables_to_values
from tests.helpers.strategies import captioned, nested, tables
from tests.postprocess.values.spreadsheet import CSV_FILTER, convert, read_csv


def reopen(many: list[Table], names: list[str] | None = None, *, rich_text: bool = False) -> Any:
    stream = io.BytesIO()
    write_excel(many, stream, names)
    stream.seek(0)
    return openpyxl.load_workbook(stream, rich_text=rich_text)


def sheet_of(*texts: str) -> Any:
    return reopen([Table.from_texts([list(texts)])])["Table 1"]


def test_no_tables_says_so() -> None:
    assert [sheet["A1"].value for sheet in reopen([])] == ["No table found"]


def test_table_without_cells_is_an_empty_sheet() -> None:
    assert reopen([Table([])])["Table 1"]["A1"].value is None


def stored(value: object) -> object:
    if isinstance(value, datetime):
        return value.date()
    if isinstance(value, CellRichText):
        return from_runs((str(run), position_of(run)) for run in value)
    return value


def position_of(run: Any) -> Position | None:
    vertical = None if isinstance(run, str) else run.font.vertAlign
    return "sup" if vertical == "superscript" else "sub" if vertical == "subscript" else None


def wanted(value: Value) -> object:
    return clean_text(value.value) or None if isinstance(value.value, str) else value.value


@settings(max_examples=30)
@given(st.lists(tables(), min_size=1, max_size=2))
def test_reopened_workbook_holds_every_value_and_merge(many: list[Table]) -> None:
    workbook = reopen(many, rich_text=True)
    assert len(workbook.sheetnames) == len(many)
    for table, found_values, sheet in zip(many, tables_to_values(many), workbook, strict=True):
        for cell, value in zip(table.cells, found_values.cells, strict=True):
            found = sheet.cell(cell.row + 1, cell.col + 1)
            assert stored(found.value) == wanted(value)
            assert found.data_type != "f"
            assert found.alignment.wrap_text
            assert found.font.bold == (cell.header in ("column", "section"))
        merged = {area.bounds for area in sheet.merged_cells.ranges}
        spanning = [cell for cell in table.cells if cell.is_spanning]
        assert merged == {(cell.col + 1, cell.row + 1, cell.end_col, cell.end_row) for cell in spanning}


def test_text_is_not_markup() -> None:
    assert sheet_of("x<b")["A1"].value == "x<b"


@pytest.mark.parametrize("text", ["=1+1", "+A1", "-A1", "@SUM(A1)", '=HYPERLINK("http://x")', "＝1+1", "=", " =1"])
def test_formula_stays_text(text: str) -> None:
    cell = sheet_of(text)["A1"]
    assert (cell.value, cell.data_type) == (text, "s")
    assert cell.quotePrefix == (len(text) > 1)


@pytest.mark.parametrize("text", ["#N/A", "#REF!", "TRUE", "00123", "1-2", "3/4", "'5", "12345678901234567"])
def test_text_stays_text(text: str) -> None:
    cell = sheet_of(text)["A1"]
    assert (cell.value, cell.data_type) == (text, "s")


def test_text_that_looks_like_an_escape_is_escaped() -> None:
    assert sheet_of("_x0041_")["A1"].value == "_x005F_x0041_"


RICH = {
    "m²": [("m", None), ("2", "sup")],
    "Total¹": [("Total", None), ("1", "sup")],
    "7 Co₃O₄": [("7 Co", None), ("3", "sub"), ("O", None), ("4", "sub")],
    "see 41ᵃ": [("see 41", None), ("a", "sup")],
    "²³⁵U": [("235", "sup"), ("U", None)],
    "=A₁": [("=A", None), ("1", "sub")],
    "⁼A¹": [("=", "sup"), ("A", None), ("1", "sup")],
    "_x0041_²": [("_x005F_x0041_", None), ("2", "sup")],
}


@pytest.mark.parametrize("text", RICH)
def test_raised_and_lowered_signs_are_formatted(text: str) -> None:
    head = Cell(0, 0, text=text, header="column")
    sheet = tables_to_workbook([Table([head, Cell(1, 0, text=text)], notes=[Caption(text)])])["Table 1"]
    for cell, is_bold in ((sheet["A1"], True), (sheet["A2"], False), (sheet["A4"], False)):
        assert [(str(run), position_of(run)) for run in cell.value] == RICH[text]
        assert {bool(run.font.b) for run in cell.value} == {cell.font.b} == {is_bold}
        assert {(run.font.rFont, run.font.sz) for run in cell.value} == {(cell.font.name, cell.font.sz)}
        assert (cell.data_type, bool(cell.quotePrefix)) == ("s", str(cell.value).startswith("="))


@pytest.mark.parametrize("text", ["some 5.2×10⁴", "about 10⁻³", "see 7¹,²", "note ¹2.5", "x10⁺", "2₃"])
def test_digits_beside_digits_stay_unicode(text: str) -> None:
    """The bare text 5.2×104 would be another number."""
    assert sheet_of(text)["A1"].value == text


def test_a_table_from_right_to_left_is_a_sheet_from_right_to_left() -> None:
    texts = ["סכום", "-5.2", "- 5", "abc", "ABC סכום כולל"]
    rtl = replace(Table.from_texts([texts]), direction="rtl", title=Caption("טבלה"), notes=[Caption("note")])
    sheet, other = reopen([rtl, Table.from_texts([texts])])
    assert (sheet.sheet_view.rightToLeft, other.sheet_view.rightToLeft) == (True, None)
    assert [cell.value for cell in sheet[3]] == ["סכום", -5.2, "- 5", "abc", "ABC סכום כולל"]
    orders = [[int(cell.alignment.readingOrder) for cell in row] for row in (sheet[3], other[1])]
    assert orders == [[2, 0, 1, 1, 2], [2, 0, 0, 0, 2]]
    assert [int(sheet[place].alignment.readingOrder) for place in ("A1", "A5")] == [2, 0]


def test_values_are_real() -> None:
    sheet = sheet_of("12.50", "1,234", "(5.2)", "12%", "2026-01-02")
    assert [cell.value for cell in sheet[1]] == [12.5, 1234, -5.2, 0.12, datetime(2026, 1, 2)]
    assert [cell.data_type for cell in sheet[1]] == ["n", "n", "n", "n", "d"]
    assert [cell.number_format for cell in sheet[1]] == ["0.00", "#,##0", "0.0;(0.0)", "0%", "yyyy\\-mm\\-dd"]


def test_more_formats_than_excel_takes_leave_their_columns_text() -> None:
    """Excel calls a workbook with more than about 200 number formats damaged, and drops those beyond."""
    rows = [[f"{number}万", f"{number}.5", f"{'9' * (number % 9 + 1)} kg"] for number in range(1, 301)]
    sheet = reopen([Table.from_texts(rows)])["Table 1"]
    assert {cell.number_format for row in sheet.iter_rows() for cell in row} == {"@", "0.0", '0 "kg"'}
    assert [cell.value for cell in sheet[300]] == ["300万", 300.5, 9999]
    few = reopen([Table.from_texts(rows[:99])])["Table 1"]
    assert [cell.value for cell in few[99]] == [990_000, 99.5, 9]


def test_tables_of_one_workbook_decide_together() -> None:
    workbook = reopen([Table.from_texts([["1.234"]]), Table.from_texts([["0,5"]])])
    assert [sheet["A1"].value for sheet in workbook] == [1234, 0.5]


def test_spans_do_not_overlap_and_keep_their_text() -> None:
    table = Table([Cell(0, 0, 2, 2, text="a"), Cell(0, 2, 2, text="b"), Cell(2, 0, colspan=3, text="c")])
    sheet = reopen([table])["Table 1"]
    assert {str(area) for area in sheet.merged_cells.ranges} == {"A1:B2", "C1:C2", "A3:C3"}
    assert [sheet[place].value for place in ("A1", "C1", "A3")] == ["a", "b", "c"]


def test_control_characters_are_removed() -> None:
    assert sheet_of("a\x00b\x07\ufffe\ud800")["A1"].value == "ab"


def test_two_tables_are_two_sheets() -> None:
    assert reopen([Table([]), Table([])]).sheetnames == ["Table 1", "Table 2"]


def test_names_of_sheets_are_valid_and_unique() -> None:
    wanted = ["a/b:c", "A b C", "", "History", "'x'", "表" * 40, "表" * 40, "a\x00\n", "\U0001f600" * 20]
    names = reopen([Table([])] * len(wanted), wanted).sheetnames
    assert names[:5] == ["a b c", "A b C (2)", "Table 3", "History (2)", "x"]
    assert len({name.lower() for name in names}) == len(wanted)
    assert all(0 < len(name.encode("utf-16-le")) // 2 <= 31 for name in names)


@settings(max_examples=40)
@given(st.lists(st.text(max_size=40), max_size=6))
def test_any_names_of_sheets_are_valid_and_unique(wanted: list[str]) -> None:
    names = tables_to_workbook([Table([])] * len(wanted), wanted).sheetnames if wanted else []
    assert len({name.lower() for name in names}) == len(wanted)
    assert all(0 < len(name.encode("utf-16-le")) // 2 <= 31 and not set(name) & set("[]:*?/\\") for name in names)


INNER = Table.from_texts([["=1+1", "1,234"]])
AROUND = Table([Cell(0, 0, text="see"), Cell(0, 1, tables=(INNER, INNER), colspan=2)], title=Caption("T"))


def test_a_table_in_a_cell_is_a_sheet_to_which_the_cell_leads_and_which_leads_back() -> None:
    workbook = reopen([AROUND, AROUND], ["It's", "It's B3"])
    assert workbook.sheetnames == ["It's", "It's B3 (2)", "It's B3 (3)", "It's B3", "It's B3 B3", "It's B3 B3 (2)"]
    outer, inner = workbook["It's"], workbook["It's B3 (2)"]
    assert outer["B3"].value == "→ It's B3 (2)\n→ It's B3 (3)"
    assert outer["B3"].hyperlink.location == "'It''s B3 (2)'!A1"
    assert (inner["A1"].value, inner["A1"].hyperlink.location) == ("← It's", "'It''s'!B3")
    assert (inner["A3"].value, inner["A3"].data_type, inner["B3"].value) == ("=1+1", "s", 1234)


@settings(max_examples=20)
@given(st.lists(nested(captioned(tables(max_rows=3, max_cols=3))), min_size=1, max_size=2))
def test_each_inner_table_has_a_sheet_and_all_links_lead_somewhere(many: list[Table]) -> None:
    workbook = reopen(many)
    assert len(workbook.sheetnames) == len(list(all_tables(many)))
    for sheet in workbook:
        for row in sheet.iter_rows():
            for cell in row:
                assert cell.data_type != "f"
                if cell.hyperlink:
                    name, place = cell.hyperlink.location.rsplit("!", 1)
                    assert workbook[name[1:-1].replace("''", "'")][place] is not None


def test_pictures_lie_in_their_cells_which_are_made_large_enough() -> None:
    png = bytes(cv2.imencode(".png", np.full((400, 100, 3), 200, np.uint8))[1])
    table = Table([Cell(0, 0), Cell(0, 1, text="logo", pictures=(Picture(png=png), Picture())), Cell(1, 0), Cell(1, 1)])
    sheet = tables_to_workbook([table])["Table 1"]
    [picture] = sheet._images
    assert (picture.anchor._from.row, picture.anchor._from.col) == (0, 1)
    shown = picture.anchor.ext.width / 9525, picture.anchor.ext.height / 9525
    assert shown == (40, 160)
    assert sheet.row_dimensions[1].height >= 160 * 0.75 + 15
    assert (sheet["B1"].alignment.vertical, sheet["A1"].alignment.vertical) == ("top", "center")
    reopened = reopen([table])["Table 1"]
    assert len(reopened._images) == 1


def test_wrong_number_of_names() -> None:
    with pytest.raises(SettingsError, match="2 sheet names for 1 tables"):
        tables_to_workbook([Table([])], ["a", "b"])


def test_header_rows_are_bold_frozen_and_text() -> None:
    head = [Cell(0, 0, colspan=2, text="2017", header="column")]
    body = [Cell(1, 0, text="2017", header="row"), Cell(1, 1, text="2017")]
    sheet = reopen([Table(head + body)])["Table 1"]
    assert (sheet.freeze_panes, sheet.print_title_rows) == ("A2", "$1:$1")
    assert [sheet[place].value for place in ("A1", "A2", "B2")] == ["2017", 2017, 2017]
    assert [sheet[place].font.bold for place in ("A1", "A2", "B2")] == [True, False, False]


def test_title_is_above_and_notes_are_below() -> None:
    head = [Cell(0, 0, colspan=2, text="Sales", header="column")]
    body = [Cell(1, 0, 2, text="Tea", header="row"), Cell(1, 1, text="1.50"), Cell(2, 1, text="2.50")]
    table = Table(head + body, title=Caption("Table 1.\nSales"), notes=[Caption("=1+1"), Caption("Source: survey")])
    sheet = reopen([table])["Table 1"]
    first = ["Table 1. Sales", None, "Sales", "Tea", None, None, "=1+1", "Source: survey"]
    assert [cell.value for cell in sheet["A"]] == first
    assert [cell.value for cell in sheet["B"]] == [None, None, None, 1.5, 2.5, None, None, None]
    assert (sheet.freeze_panes, sheet.print_title_rows) == ("A4", "$3:$3")
    merged = {str(area) for area in sheet.merged_cells.ranges}
    assert merged == {"A1:B1", "A3:B3", "A4:A5", "A7:B7", "A8:B8"}
    assert sheet["A1"].font.bold and (sheet["A7"].data_type, sheet["A7"].quotePrefix) == ("s", True)
    assert sheet["B4"].alignment.horizontal in (None, "general"), "numbers stand right by themselves"
    assert sheet.column_dimensions["A"].width < len("Table 1. Sales"), "a title must not widen a column"
    assert sheet.row_dimensions[8].height == 30, "a note longer than the table is wide takes two lines"


def test_doubtful_cells_are_filled_when_asked_for() -> None:
    table = Table([Cell(0, 0, text="a", confidence=0.5), Cell(0, 1, text="b", confidence=0.95), Cell(0, 2, text="c")])
    plain, marked, sure = (tables_to_workbook([table], mark_below=below)["Table 1"] for below in (None, 0.9, 0.4))
    assert [plain.max_row, marked.max_row, sure.max_row] == [1, 3, 1]
    assert [cell.fill.fill_type for cell in plain[1]] == [cell.fill.fill_type for cell in sure[1]] == [None] * 3
    assert [cell.fill.fill_type for cell in marked[1]] == ["solid", None, None]
    assert "below 0.9" in marked["A3"].value


def test_title_beyond_excel_is_refused() -> None:
    with pytest.raises(OutputError, match="row 1, column 1 has 32,768 characters"):
        tables_to_workbook([replace(Table.from_texts([["a"]]), title=Caption("x" * 32_768))])


def test_a_table_of_headers_only_is_not_frozen() -> None:
    assert reopen([Table([Cell(0, 0, header="column")])])["Table 1"].freeze_panes is None


def test_widths_follow_the_text_and_chinese_counts_double() -> None:
    sheet = sheet_of("a", "a" * 20, "表" * 20, "x" * 500, "short\nlines")
    widths = [sheet.column_dimensions[letter].width for letter in "ABCDE"]
    assert widths == [6, 22, 42, 60, 7]
    assert text_to_width("表e\u0301") == 3


def test_rows_of_several_lines_are_high_enough() -> None:
    texts = [["a\nb\nc", ""], ["d", "x" * 100], ["e", "f"]]
    heights = reopen([Table.from_texts(texts)])["Table 1"].row_dimensions
    assert [heights[row].height for row in (1, 2, 3)] == [45, 30, None]
    tall = reopen([Table([Cell(0, 0, 2, text="a\nb\nc\nd"), Cell(0, 1), Cell(1, 1)])])["Table 1"].row_dimensions
    assert [tall[row].height for row in (1, 2)] == [30, 30]


def test_limits_of_excel_are_errors() -> None:
    with pytest.raises(OutputError, match="row 1, column 2 has 32,768 characters"):
        tables_to_workbook([Table.from_texts([["a", "x" * 32_768]])])
    with pytest.raises(OutputError, match="1 x 16,385"):
        tables_to_workbook([Table.from_texts([[""] * 16_385])])
    assert len(sheet_of("x" * 32_767)["A1"].value) == 32_767


def test_a_file_that_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="cannot be written"):
        write_excel([], tmp_path / "missing" / "a.xlsx")


def test_openpyxl_is_imported_when_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    with pytest.raises(MissingDependencyError, match="pip install openpyxl"):
        tables_to_workbook([])


SHOWN = [
    *("12.50", "1,234", "1,234,567.89", "1 234 567", "1'234.50", "-5.20", "(5.2)", "($1,200.00)", "-$5", "$-5"),
    *("5 €", "US$ 5", "￥1,200", "100元", "12%", "12.5 %", "(12%)", "+5.0", ".5", "0", "-.5", "$(5.2)", "+0.3%"),
    *("2026-01-02", "2026/1/2", "2026年1月2日", "02 Jan 2026", "January 2, 2026", "2-May-2026"),
    *("00123", "12345678901234567", "1-2", "3/4", "1.2.3", "01/02/2026", "13800138000", "=1+1", "@A1", "#N/A", "TRUE"),
    *('x<b & "c"', "_x0041_", "表格", "a\nb", "-", "'5"),
    *("3万", "-1.5万元", "1.25亿", "一千二百三十四", "壹仟元整", "10⁻³", "5.2E+04", "24.91²", "7¹,²", "12 m²", "37 °C"),
    *("1,234-", "12,34,567.5", "٣٤٫٥", "-١٬٢٣٤٫٥", "۱۲", "-0.00", "(0.0%)", "%12", "( 5.2 )", "CHF 1’234.50", "5‰"),
    *("2. März 2026", "2 août 2026", "2 de mayo de 2026", "二〇二六年三月二十五日", "2-May-26"),
    *("31/01/2026", "31.01.2026"),
]
RICH_SHOWN = {"m² ": "m2 ", "Total ¹": "Total 1", "H₂O_x0041_": "H2O_x0041_", "⁼A1": "=A1", "a²\nb": "a2\nb"}


def test_libreoffice_shows_what_was_read(soffice: str, tmp_path: Path) -> None:
    """Also the proof that another program opens the file."""
    spans = [Cell(0, 0, colspan=3, text="2017", header="column"), *(Cell(1, col, text=f"b{col}") for col in range(3))]
    # A table each: in one column they would all be text.
    texts = [*SHOWN, *RICH_SHOWN]
    many = [Table.from_texts([[text]]) for text in texts]
    names = [*map(str, range(len(many))), "two"]
    write_excel([*many, Table(spans)], tmp_path / "a.xlsx", names)
    convert(soffice, tmp_path, ["a.xlsx"], CSV_FILTER)
    shown = [read_csv(tmp_path / f"a-{name}.csv")[0][0] for name in names[:-1]]
    assert shown == [*SHOWN, *RICH_SHOWN.values()]
    assert (tmp_path / "a-two.csv").read_text(encoding="utf-8").split() == ["2017,,", "b0,b1,b2"]


def test_libreoffice_keeps_what_is_raised(soffice: str, tmp_path: Path) -> None:
    texts = [*RICH, "some 5.2×10⁻⁴"]
    write_excel([Table.from_texts([[text] for text in texts])], tmp_path / "a.xlsx")
    convert(soffice, tmp_path, ["a.xlsx"], "xlsx", "--outdir", "out")
    sheet = openpyxl.load_workbook(tmp_path / "out/a.xlsx", rich_text=True)["Table 1"]
    assert [stored(cell.value) for cell in sheet["A"]] == texts
