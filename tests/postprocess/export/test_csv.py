from __future__ import annotations

import csv
import io
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postprocess.cell import Cell
from postprocess.characters import clean_text
from postprocess.export import CSV_ENCODING, table_to_csv, tables_to_csv
from postprocess.table import Table
from tests.helpers.strategies import tables


def read(text: str) -> list[list[str]]:
    return list(csv.reader(io.StringIO(text, newline="")))


def test_no_cells() -> None:
    assert table_to_csv(Table([])) == tables_to_csv([]) == ""


@given(tables(), st.booleans())
def test_round_trip(table: Table, fill_spans: bool) -> None:
    grid = [[clean_text(text) for text in row] for row in table.to_grid(fill_spans=fill_spans)]
    assert read(table_to_csv(table, fill_spans=fill_spans, keep_formulas=True)) == grid


@given(tables())
def test_no_field_starts_a_formula(table: Table) -> None:
    kept = read(table_to_csv(table, keep_formulas=True))
    for row, kept_row in zip(read(table_to_csv(table)), kept, strict=True):
        for text, original in zip(row, kept_row, strict=True):
            assert text.replace("'", "") == original.replace("'", "")
            for part in re.split("[;\n]", text):
                assert not part.strip().startswith(("=", "@")) or len(part.strip()) == 1


@pytest.mark.parametrize("text", ["=1+1", "+A1", "-A1", "@SUM(A1)", " =1+1", "＝1", "=cmd|' /C calc'!A0", "+86 138"])
def test_formula_stays_text(text: str) -> None:
    assert read(table_to_csv(Table.from_texts([[text]]))) == [[f"'{text}"]]


@pytest.mark.parametrize("text", ["-5.2", "+5", "-12%", "-", "+", "00123", "a=b", "1,234", "-$5", "\u2212A"])
def test_numbers_and_dashes_are_left_alone(text: str) -> None:
    assert read(table_to_csv(Table.from_texts([[text]]))) == [[text]]


def test_spans_are_written_once_or_everywhere() -> None:
    table = Table([Cell(0, 0, colspan=2, text="a")])
    assert (table_to_csv(table), table_to_csv(table, fill_spans=True)) == ('"a",""\r\n', '"a","a"\r\n')


def test_several_tables_are_parted_by_an_empty_line() -> None:
    assert read(tables_to_csv([Table.from_texts([["a"]]), Table.from_texts([["b"]])])) == [["a"], [], ["b"]]


def test_excel_knows_the_encoding_by_its_mark() -> None:
    assert table_to_csv(Table.from_texts([["表"]])).encode(CSV_ENCODING).startswith(b'\xef\xbb\xbf"\xe8')


@pytest.mark.parametrize(
    "unseen", ["\ufeff", "\u200b", "\u200d", "\u2060", "\u00ad", "\t", "\u3000", "\ufe0f", "\u3164"]
)
def test_what_nobody_sees_hides_no_formula(unseen: str) -> None:
    for formula in ("=cmd|' /C calc'!A0", "@SUM(A1)", "+A1"):
        text = f"{unseen}{formula}"
        assert read(table_to_csv(Table.from_texts([[text]]))) == [[f"'{text}"]]


@pytest.mark.parametrize("start", ["", '"', '""', ' "', "\u200b"])
@pytest.mark.parametrize("delimiter", [";", "\n"])
def test_no_formula_begins_where_semicolons_part_the_fields(delimiter: str, start: str) -> None:
    """Excel parts fields at semicolons where the comma is that of decimals; quotes count at the start of a field."""
    text = f"x{delimiter}{start}=cmd|' /C calc'!A0{delimiter}y"
    written = table_to_csv(Table.from_texts([["a", text, "b;c"]]))
    for field in re.split("[;\r\n]", written):
        assert not field.lstrip("\"' \u200b").startswith("=") or field.startswith("'")
    assert read(table_to_csv(Table.from_texts([["a", text]]), keep_formulas=True)) == [["a", text]]


def test_parts_that_are_numbers_are_left_alone() -> None:
    assert read(table_to_csv(Table.from_texts([["1; -5.2; +3", "up\n-7%"]]))) == [["1; -5.2; +3", "up\n-7%"]]
