"""Pictures and PDFs drawn after public reports in which text was lost or became another value.

They lie with their right values in ``shared/cases``, an optional folder beside the checkout.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from postprocess.table import Table
from postprocess.values import tables_to_values
from postprocess.word import UNREAD
from tablerec import Page, Recognizer, Settings


@pytest.fixture(scope="module")
def recognizer() -> Recognizer:
    return Recognizer(Settings(layout="table"))


def read(shared: Path, name: str, recognizer: Recognizer) -> tuple[Page, Table, dict[str, Any]]:
    """The one page of an input, its one table, and what is expected of it."""
    path = shared / "cases" / "inputs" / name
    if not path.exists():
        pytest.skip(f"needs {path}")
    [page] = recognizer.recognize(path).pages
    [table] = page.tables
    return page, table, json.loads((shared / "cases" / "expected" / f"{name[:2]}.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    "name", ["36f_alpha_white.png", "57a_bad_text_under_scan.pdf", "57b_bad_text_invisible.pdf", "39a_cyrillic.pdf",
             "40a_superscripts.pdf", "40b_superscripts_scan.png"],
)  # fmt: skip
def test_all_texts_are_what_is_shown(name: str, shared: Path, recognizer: Recognizer) -> None:
    # xberg#1229, docling#2963: text that is covered by a scan; RapidOCR#158: white print on transparency.
    _, table, expected = read(shared, name, recognizer)
    grid = expected.get("grid")
    if isinstance(grid, str):
        grid = json.loads((shared / "cases" / "expected" / "36.json").read_text(encoding="utf-8"))["grid"]
    assert table.to_grid() == grid


@pytest.mark.parametrize(("name", "key"), [("38a_rtl_hebrew.pdf", "a"), ("38b_rtl_arabic.pdf", "b")])
def test_right_to_left_text_is_in_reading_order(name: str, key: str, shared: Path, recognizer: Recognizer) -> None:
    # tabula-java#66, pdfplumber#1159
    _, table, expected = read(shared, name, recognizer)
    assert table.direction == "rtl"
    assert table.to_grid() == [row[::-1] for row in expected[f"grid_visual_{key}"]]


@pytest.mark.parametrize(
    ("name", "script"), [("39b_cyrillic_scan.png", "Cyrillic"), ("38c_rtl_hebrew_scan.png", "Hebrew")]
)
def test_a_script_that_the_engine_does_not_know_is_named(
    name: str, script: str, shared: Path, caplog: pytest.LogCaptureFixture
) -> None:
    # talkthrough-mcp#11
    _, table, _ = read(shared, name, Recognizer(Settings(ocr="rapidocr")))
    unread = [cell for cell in table.cells if UNREAD in cell.text]
    assert len(unread) >= 5 and all(script in cell.doubt for cell in unread)
    assert table.confidence is not None and table.confidence.table < 0.5 and script in table.confidence.weakest
    assert [script in record.getMessage() for record in caplog.records] == [True]


@pytest.mark.parametrize("name", ["52_clip_plain.pdf", "52_cover_plain.pdf"])
def test_text_that_is_clipped_or_covered_is_not_that_of_the_next_column(
    name: str, shared: Path, recognizer: Recognizer
) -> None:
    # camelot#288, tabula-java#538, pdfplumber#912
    page, table, expected = read(shared, name, recognizer)
    column = [cell.text for cell in table.cells].index("Code")
    assert [row[column] for row in table.to_grid()[1:]] == expected["certain"]["Code"]
    assert any("does not show" in item.reason for item in page.unplaced)


def test_debits_and_balances_of_a_bank_are_numbers(shared: Path, recognizer: Recognizer) -> None:
    # tabula/textricator#47
    _, table, expected = read(shared, "43_bank.png", recognizer)
    assert_values(table, expected["certain"]["Excel numbers"])


def test_signs_of_money_and_brackets_are_no_obstacle(shared: Path, recognizer: Recognizer) -> None:
    _, table, expected = read(shared, "27_fin_statement.png", recognizer)
    values = dict(zip(table.cells, tables_to_values([table])[0].cells, strict=True))
    for label, numbers in expected["certain"].items():
        [row] = [cell.row for cell in table.cells if cell.text == label]
        assert [values[table[row, col]].value for col in range(1, table.n_cols)] == numbers


def assert_values(table: Table, columns: dict[str, list[float]]) -> None:
    """The numbers of columns, by the first word of their heads."""
    [values] = tables_to_values([table])
    for head, numbers in columns.items():
        [col] = [cell.col for cell in table.cells if cell.text.startswith(head) and cell.header == "column"]
        found = [value.value for cell, value in zip(table.cells, values.cells, strict=True) if cell.col == col]
        assert [value for value in found if isinstance(value, int | float)] == numbers, head
