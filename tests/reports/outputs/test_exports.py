"""Excel and other exports."""

from __future__ import annotations

import csv
import datetime
import io
from pathlib import Path

import openpyxl
import pytest

from postprocess.export import (
    table_to_csv,
    table_to_dataframe,
    table_to_latex,
    table_to_markdown,
    tables_to_workbook,
    write_excel,
)
from postprocess.meaning.headers import mark_headers
from postprocess.table import Table
from tablerec import Page, PageImage, Result, save
from tests.helpers.drawing import Read, draw_table, make_table

MERGED = [["Item", "2024", "<"], ["^", "Plan", "Real"], ["Tea", "1.20", "3.40"], ["All", "<", "4.60"]]


def reopened(*tables: Table) -> openpyxl.Workbook:
    buffer = io.BytesIO()
    write_excel(tables, buffer)
    return openpyxl.load_workbook(buffer)


# markdown-exporter#90, TableExport#177, xlwings#1793
@pytest.mark.parametrize(("text", "value"), [
    ("00123", "00123"), ("0075", "0075"), ("12.50", 12.5), ("1,234", 1234), ("(5.2)", -5.2), ("12%", 0.12),
    ("-7", -7), ("0", 0), ("0.5", 0.5), ("1,234,567.89", 1234567.89), ("2026-01-02", datetime.datetime(2026, 1, 2)),
    ("=1+1", "=1+1"), ("+A1", "+A1"), ("@SUM(A1)", "@SUM(A1)"), ("-A1", "-A1"), ("n/a", "n/a"),
    ("123456789012345678", "123456789012345678"), ("+49 30 123456", "+49 30 123456"), ("1-2", "1-2"), ("", None),
])  # fmt: skip
def test_values(text: str, value: object) -> None:
    cell = reopened(Table.from_texts([[text]])).active["A1"]
    assert cell.value == value
    assert cell.data_type != "f"


# markdown-exporter#90
@pytest.mark.parametrize("text", ["12.50", "1,234", "12%", "(5.2)"])
def test_numbers_keep_their_format(text: str) -> None:
    cell = reopened(Table.from_texts([[text]])).active["A1"]
    assert cell.number_format != "General"


# img2table#186, img2table PR#85
def test_merged_cells_are_merged_and_written_once() -> None:
    sheet = reopened(mark_headers(make_table(MERGED))).active
    assert {str(merged) for merged in sheet.merged_cells.ranges} == {"A1:A2", "B1:C1", "A4:B4"}
    assert [[cell.value for cell in row] for row in sheet.iter_rows()] == [
        ["Item", sheet["B1"].value, None], [None, "Plan", "Real"], ["Tea", 1.2, 3.4], ["All", None, 4.6]
    ]  # fmt: skip


# PaddleOCR#11233, tablepyxl#25, img2table#167
@pytest.mark.parametrize("rows", [
    [["a", "<", "b"], ["c", "d", "^"], ["^", "e", "<"]], [["a", "<"], ["^", "^"]], [["a", "b"], ["^", "^"], ["c", "d"]],
], ids=["pinwheel", "one cell", "row without cells"])  # fmt: skip
def test_merges_never_overlap(rows: list[list[str]]) -> None:
    sheet = reopened(make_table(rows)).active
    covered = [slot for merged in sheet.merged_cells.ranges for slot in merged.cells]
    assert len(covered) == len(set(covered))
    assert {cell.value for row in sheet.iter_rows() for cell in row if cell.value} == {
        text for row in rows for text in row if text not in "<^"
    }


# img2table#167
def test_long_text_is_kept_and_wraps() -> None:
    text = "many words " * 40
    cell = reopened(Table.from_texts([[text.strip(), "1"]])).active["A1"]
    assert cell.value == text.strip()
    assert cell.alignment.wrap_text


def test_two_tables_in_one_picture_are_two_sheets(tmp_path: Path) -> None:
    tables = (Table.from_texts([["a"]]), Table.from_texts([["b"]]))
    picture = PageImage("in.png", 1, draw_table([["a"]]).image)
    assert save(Result("in.png", (Page(picture, tables),)), tmp_path / "out.xlsx") == [tmp_path / "out.xlsx"]
    assert [sheet["A1"].value for sheet in openpyxl.load_workbook(tmp_path / "out.xlsx")] == ["a", "b"]


# omni-tools#234
def test_picture_of_a_statement_becomes_numbers_in_excel(read: Read) -> None:
    rows = [["Date", "Account", "Amount"], ["2026-01-02", "00123", "1,234.50"], ["2026-01-05", "00456", "(5.20)"]]
    drawing = draw_table(rows)
    [table] = read(drawing.image, drawing.words, "table").tables
    sheet = tables_to_workbook([table]).active or tables_to_workbook([table]).worksheets[0]
    assert [cell.value for cell in sheet[2]][1:] == ["00123", 1234.5]
    assert [cell.value for cell in sheet[3]][1:] == ["00456", -5.2]


# PaddleX#2750
def test_markdown_csv_latex_and_data_frame_hold_every_text() -> None:
    table = mark_headers(make_table(MERGED))
    texts = {cell.text for cell in table.cells}
    for written in (table_to_markdown(table), table_to_csv(table), table_to_latex(table)):
        assert all(text in written for text in texts)
    frame = table_to_dataframe(table)
    assert {*map(str, frame.to_numpy().ravel()), *(name for names in frame.columns for name in names)} >= texts


# TableExport#177
def test_csv_keeps_rows_columns_and_leading_zeros() -> None:
    rows = [["0075", 'say "a, b"'], ["two\nlines", "1,5"], ["", "x"]]
    assert [*csv.reader(io.StringIO(table_to_csv(Table.from_texts(rows)), newline=""))] == rows


def test_no_table_is_no_broken_file() -> None:
    assert len(reopened().worksheets) == 1
    assert reopened(Table([])).active.max_row == 1
