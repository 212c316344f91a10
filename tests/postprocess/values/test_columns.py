"""Columns, tables and pages: one convention, and never half numbers and half text."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postprocess.cell import Cell
from postprocess.table import Table
from postprocess.values import Column, Value, parse_value, table_to_values, tables_to_values
from postprocess.values.reading import read_text
from tests.helpers.strategies import TEXTS, tables
from tests.postprocess.values.spreadsheet import show, without_marks


def column_of(*texts: str) -> tuple[Column, list[object]]:
    found = table_to_values(Table.from_texts([[text] for text in texts]))
    return found.columns[0], [value.value for value in found.cells]


def values_of(*texts: str) -> list[object]:
    return column_of(*texts)[1]


def test_no_tables_no_cells_and_no_text() -> None:
    assert tables_to_values([]) == []
    assert tables_to_values([Table([])])[0].columns == ()
    assert column_of("", " ") == (Column("empty"), ["", " "])


NUMBER_COLUMNS = {
    "decimal comma": {"870,00": 870.0, "-0,40": -0.4, "12,5 %": 0.125, "870,00 €": 870.0, "1 548,07": 1548.07},
    "points between thousands": {"1.234": 1234, "12,5": 12.5},
    "decimal point": {"1.234": 1.234, "12.50": 12.5},
    "three decimals": {"0,123": 0.123, "1,234": 1.234},
    "repeated points": {"1.234.567": 1234567, "1.234": 1234},
    "usual thousands": {"1,234": 1234, "12": 12},
    "misread elsewhere": {"1.234,567": 1234.567, "12,5": 12.5},
    "Swiss": {"1'234.50": 1234.5, "1’000": 1000},
    "Indian": {"12,34,567": 1234567, "12,345": 12345, "100": 100},
    "Arabic": {"١٬٢٣٤٫٥": 1234.5, "٢٣٤": 234},
    "Persian": {"۱۲۳٫۴۵": 123.45, "۷": 7},
    "full width": {"１，２３４": 1234, "12.5": 12.5},
    "accounting": {"(1,234)": -1234, "$ 5.50": 5.5, "1,000-": -1000, "\u22125": -5},
    "dashes and words": {"—": "—", "n.a.": "n.a.", "nil": "nil", "see note": "see note", "1,234": 1234},
    "notes": {"24.91²": 24.91, "30.05": 30.05, "7¹,²": 7, "12*": 12, "41ᵃ": 41, "** 9": 9},
    "notes decide": {"10²": 10, "24.91²": 24.91},
    "powers decide": {"10²": 100, "10⁻³": 0.001, "5.2×10⁴": 52000, "-10³": -1000},
    "scientific": {"5.2E+04": 52000, "-1.5e-3": -0.0015, "3.0 x 10^2": 300},
    "scientific with comma": {"9,007E-07": 9.007e-7, "1,2": 1.2},
    "Chinese": {"1.5万": 15000, "3亿": 300000000, "一千二百": 1200, "9,800": 9800},
    "one unit": {"12 kg": 12, "5 kg": 5, "1,234.5 kg": 1234.5},
    "days": {"1 day": 1, "12 days": 12},
    "one currency": {"$ 41,208": 41208, "(22,417)": -22417, "12.5%": 0.125},
    "a sign misread": {"S 1.10": 1.1, "$ 4,390": 4390},
    "negative zero": {"-0.0%": 0, "5.2%": 0.052},
    "years": {"2019": 2019, "2020": 2020},
    "a heading": {"Q1 2024": "Q1 2024", "5": 5, "6.5": 6.5},
    "a heading of years": {"2023/24": "2023/24", "5": 5},
    "a Chinese heading": {"2024年1月": "2024年1月", "5": 5},
    "powers and a sign": {"10⁻³": 0.001, "5.2×10⁴": 52000, "12*": 12},
    "a heading of dates": {"31 Dec 2023": "31 Dec 2023", "5": 5, "6.5": 6.5},
}


@pytest.mark.parametrize("name", NUMBER_COLUMNS)
def test_columns_of_numbers(name: str) -> None:
    column, found = column_of(*NUMBER_COLUMNS[name])
    assert found == [*NUMBER_COLUMNS[name].values()]
    assert (column.kind, column.reason) == ("number", "")


TEXT_COLUMNS = {
    ("1.234", "5.678"): "decimal mark",
    ("1,234", "5.678"): "decimal mark",
    ("12.5", "12,5"): "different decimal marks",
    ("1.23.4", "5"): '"1.23.4" has digits',
    ("12.5", "1O0"): '"1O0" has digits',
    ("123,456", "12,34,567"): "different decimal marks",
    ("00123", "5"): '"00123"',
    ("12345678901234567", "5"): "has digits",
    ("13800138000", "5"): "has digits",
    ("5-7", "5"): "has digits",
    ("12:30", "5"): "has digits",
    ("<0.01", "0.05"): "has digits",
    ("12.5 (3.4)", "0.05"): "has digits",
    ("5", "see note 3"): "has digits",
    ("ca. 12", "5"): "has digits",
    ("12 kg", "5 mm"): "units differ: kg, mm",
    ("12 kg", "5"): "units differ: none, kg",
    ("12 kg", "5%"): "units differ: none, kg",
    ("5‰", "5%"): "units differ",
    ("$ 5", "€ 6"): r"currencies differ: \$, €",
    ("S 5", "6"): '"S" stands before',
    ("10²", "10³"): "power or has a note",
    ("10²", "10⁻³", "24.91²"): "power or has a note",
    ("1.234,567", "1,234.5"): "other marks than the rest",
    ("1.234,567", "1.234,568"): "decimal mark",
    ("2026-01-02", "5"): "dates stand among numbers",
    ("02/01/2026", "03/01/2026"): "which is the day",
    ("31/01/2026", "01/31/2026"): "change their order",
    ("一", "二", "5"): "has digits",
    ("12.5 kg", "Berlin", "2026-01-02", "1,234"): "dates stand among numbers",
    ("12\n13", "5"): "has digits",
}


@pytest.mark.parametrize(("texts", "reason"), TEXT_COLUMNS.items())
def test_columns_that_stay_text_as_a_whole_and_say_why(texts: tuple[str, ...], reason: str) -> None:
    column, found = column_of(*texts)
    assert found == [*texts]
    assert column.kind == "text"
    assert re.search(reason, column.reason)


def test_who_decided_is_said() -> None:
    rows = [["1.234", "0,5", "1 234", "1,2.3"], ["5.678", "1,5", "5", "-"]]
    first = table_to_values(Table.from_texts(rows)).columns
    assert [(each.kind, each.decimal, each.group, each.decided_by) for each in first] == [
        ("number", None, ".", "table"),
        ("number", ",", None, "column"),
        ("number", None, " ", "column"),
        ("text", None, None, None),
    ]
    alone, _ = tables_to_values([Table.from_texts([["1,234"]]), Table.from_texts([["0,5"]])])
    assert (alone.columns[0].decided_by, alone.cells[0].value) == ("page", 1.234)
    assert column_of("1,234")[0].decided_by == "default"
    assert column_of("5", "6")[0].decided_by is None
    assert column_of("5 kg")[0].unit == "kg"


def test_who_contradicts_himself_decides_nothing() -> None:
    found = table_to_values(Table.from_texts([["1.234", "0,5", "0.5", "1,234"]]))
    assert [value.value for value in found.cells] == ["1.234", 0.5, 0.5, "1,234"]


def test_a_page_that_contradicts_itself_leaves_thousands_as_usual() -> None:
    many = [Table.from_texts([["1,234"]]), Table.from_texts([["0,5"]]), Table.from_texts([["0.5"]])]
    assert [found.cells[0].value for found in tables_to_values(many)] == [1234, 0.5, 0.5]


def test_order_of_dates_is_decided_by_column_table_and_page() -> None:
    day = date(2026, 1, 2)
    assert values_of("02/01/2026", "31/01/2026")[0] == values_of("01/02/2026", "01/31/2026")[0] == day
    assert table_to_values(Table.from_texts([["02.01.2026", "31/01/2026"]])).cells[0].value == day
    found = tables_to_values([Table.from_texts([["02.01.2026"]]), Table.from_texts([["31/01/2026"]])])[0]
    assert (found.cells[0].value, found.columns[0]) == (day, Column("date", date_order="day-month", decided_by="page"))


def test_headers_stay_text_and_do_not_take_part() -> None:
    rows = [["Item", "2024/25"], ["Tea", "1,5"], ["Q4 2024", "Q4 2024"], ["Milk", "2,5"]]
    cells = [
        Cell(row, col, text=text, header="column" if row == 0 else "section" if row == 2 else None)
        for row, texts in enumerate(rows)
        for col, text in enumerate(texts)
    ]
    found = table_to_values(Table(cells))
    assert [value.value for value in found.cells[1::2]] == ["2024/25", 1.5, "Q4 2024", 2.5]


def test_a_table_written_across_keeps_its_numbers() -> None:
    rows = [
        ["", "2024", "2025"],
        ["Sales ($)", "$1,234.50", "$1,300.00"],
        ["Growth", "5.1%", "5.3%"],
        ["Staff", "12", "13"],
        ["Reported on", "2025-02-01", "2026-02-01"],
    ]
    found = table_to_values(Table.from_texts(rows))
    assert [value.value for value in found.cells[1::3]] == [2024, 1234.5, 0.051, 12, "2025-02-01"]


def test_columns_of_dates_are_no_rows_of_dates() -> None:
    found = table_to_values(Table.from_texts([["a", "2025-02-01", "2026-02-01"], ["b", "2025-03-01", "2026-03-01"]]))
    assert [column.kind for column in found.columns] == ["text", "date", "date"]


def test_a_spanning_cell_is_read_as_its_table_says_and_disturbs_no_column() -> None:
    cells = [Cell(0, 0, text="0,5"), Cell(0, 1, text="7"), Cell(1, 0, colspan=2, text="1.234")]
    assert [value.value for value in table_to_values(Table(cells)).cells] == [0.5, 7, 1234]
    note = [*cells[:2], Cell(1, 0, colspan=2, text="Source: survey of 2019")]
    assert [column.kind for column in table_to_values(Table(note)).columns] == ["number", "number"]


@given(st.lists(TEXTS | st.text("0123.,-'¹² ×⁻%$€kg()", max_size=9), max_size=6))
def test_never_half_numbers_and_half_text(texts: list[str]) -> None:
    header = Cell(0, 0, header="column")
    cells = [header, *(Cell(row, 0, text=text) for row, text in enumerate(texts, 1))]
    found = table_to_values(Table(cells)).cells[1:]
    counted = [value for text, value in zip(texts, found, strict=True) if not read_text(text).is_label]
    assert len({value.is_text for value in counted}) <= 1


@given(st.lists(tables(), max_size=2))
def test_each_value_is_its_text_or_shows_as_it(many: list[Table]) -> None:
    for table, found in zip(many, tables_to_values(many), strict=True):
        assert len(found.columns) == table.n_cols
        for cell, value in zip(table.cells, found.cells, strict=True):
            assert value.value == cell.text if value.is_text else without_marks(show(value)) == without_marks(cell.text)


@given(TEXTS)
def test_one_text_alone_is_a_column_of_one(text: str) -> None:
    cells = [Cell(0, 0, header="column"), Cell(1, 0, text=text)]
    found = table_to_values(Table(cells)).cells[1]
    assert found == parse_value(text) or not text.strip()


BANK = [
    ["Date", "Value", "Description", "Debit", "Credit", "Balance EUR"],
    ["", "", "Balance brought forward", "", "", "2418,07"],
    ["01.07.", "01.07.", "STANDING ORDER\nRef 7781-0042", "870,00", "", "1 548,07"],
    ["03.07.", "02.07.", "CARD PAYMENT", "64,35", "", ""],
    ["03.07.", "03.07.", "DIRECT DEBIT\ncontract 5519 08", "112,00", "", "1 371,72"],
    ["05.07.", "05.07.", "CREDIT TRANSFER\nSalary 06/2024", "", "3 206,44", "4 578,16"],
    ["08.07.", "08.07.", "CASH MACHINE", "200,00", "", ""],
    ["08.07.", "09.07.", "CARD PAYMENT", "38,90", "", "4 339,26"],
    ["11.07.", "11.07.", "REVERSAL", "", "19,99", "4 359,25"],
    ["", "", "Closing balance", "", "", "4 359,25"],
]
STATEMENT = [
    ["", "2023", "2022", "2021"],
    ["Net sales", "$ 41,208", "$ 38,915", "$ 36,002"],
    ["Cost of goods sold", "(22,417)", "(21,730)", "(20,118)"],
    ["Restructuring", "—", "(812)", "—"],
    ["Net income", "$ 6,121", "$ 4,534", "$ 4,390"],
    ["Earnings per share", "$ 1.53", "$ 1.13", "S 1.10"],
]


def test_a_bank_statement_with_decimal_commas_is_all_numbers() -> None:
    """tabula-java and textricator#47: amounts with blanks between thousands were numbers, those without were text."""
    found = table_to_values(Table.from_texts(BANK))
    by_column = [[value.value for value in found.cells[col::6] if not value.is_text] for col in range(6)]
    assert by_column[:3] == [[], [], []]
    assert by_column[3:] == [
        [870.0, 64.35, 112.0, 200.0, 38.9],
        [3206.44, 19.99],
        [2418.07, 1548.07, 1371.72, 4578.16, 4339.26, 4359.25, 4359.25],
    ]


def test_a_statement_with_signs_of_dollars_is_all_numbers() -> None:
    found = table_to_values(Table.from_texts(STATEMENT))
    rows = [[value.value for value in found.cells[4 * row + 1 : 4 * row + 4]] for row in range(len(STATEMENT))]
    assert rows[2:5] == [[-22417, -21730, -20118], ["—", -812, "—"], [6121, 4534, 4390]]
    assert rows[5] == [1.53, 1.13, 1.1]
    assert show(found.cells[-1]) == "S 1.10"


def test_the_public_cases(shared: Path) -> None:
    """The right values of the same two statements, as they lie beside the checkout."""
    folder = shared / "cases" / "expected"
    if not folder.is_dir():
        pytest.skip("needs the cases")
    bank = json.loads((folder / "43.json").read_text(encoding="utf-8"))["certain"]["Excel numbers"]
    found = table_to_values(Table.from_texts(BANK))
    for col, name in enumerate(("Debit", "Credit", "Balance"), 3):
        assert [value.value for value in found.cells[col::6] if not value.is_text] == bank[name]


def test_a_table_is_not_changed_by_marks_of_confidence() -> None:
    table = Table.from_texts([["1.5"], ["2.5"]])
    marked = table.with_cells(replace(cell, confidence=0.1, doubt="is raised") for cell in table.cells)
    assert table_to_values(marked) == table_to_values(table)


def test_text_keeps_what_a_spreadsheet_would_retype() -> None:
    found = table_to_values(Table.from_texts([["00123"], ["=1+1"], ["a"]])).cells
    assert found == (Value("00123", "@"), Value("=1+1", "@"), Value("a", "General"))
