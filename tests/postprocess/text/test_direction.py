"""Which way texts and tables run."""

from __future__ import annotations

import pytest
from hypothesis import given

from postprocess.cell import Direction
from postprocess.table import Table
from postprocess.text.bidi import text_direction
from postprocess.text.direction import in_reading_order, own_direction
from tests.helpers.strategies import tables

HEBREW = [["12.5", "13.1", "מכירות"], ["-8", "9", "רווח"]]
ARABIC = [["١٢", "13", "المبيعات"], ["8", "9 %", "الربح"]]


def test_nothing_runs_nowhere() -> None:
    assert text_direction("") is None and own_direction("", "rtl") is None
    assert in_reading_order(Table([])) == Table([])


@pytest.mark.parametrize(
    ("text", "direction"),
    [
        ("שלום", "rtl"),
        ("الربح", "rtl"),
        ("ﺍﻟﺮﺑﺢ", "rtl"),
        ("Sales", "ltr"),
        ("销售", "ltr"),
        ("Σ", "ltr"),
        ("12.5 %", None),
        ("١٢٫٥", None),
        ("\u200f12", None),
        ("מע״מ VAT", None),
        ("המע״מ VAT", "rtl"),
        ("מע״מ VAT a", "ltr"),
        ("VAT מע״מ כולל", "rtl"),
    ],
)
def test_letters_say_which_way_a_text_runs(text: str, direction: Direction | None) -> None:
    assert text_direction(text) == direction


@pytest.mark.parametrize("text", ["-5", "5 - 6", "$5", "1 234", "±3", "(5)"])
def test_numbers_with_signs_run_to_the_right_in_any_surroundings(text: str) -> None:
    assert (own_direction(text, "rtl"), own_direction(text, "ltr")) == ("ltr", None)


@pytest.mark.parametrize("text", ["גרם 200 ABC", "5", "1,234.50", "2024-01-05", "12%", "?", "-", "١٢"])
def test_mixed_texts_plain_numbers_and_signs_need_no_direction(text: str) -> None:
    assert own_direction(text, "rtl") is None


@pytest.mark.parametrize("rows", [HEBREW, ARABIC])
def test_columns_of_a_right_to_left_table_begin_at_the_right(rows: list[list[str]]) -> None:
    table = in_reading_order(Table.from_texts(rows))
    assert table.direction == "rtl" and table.to_grid() == [row[::-1] for row in rows]
    assert in_reading_order(table) == table


@pytest.mark.parametrize(
    "rows",
    [
        [["1", "2"], ["3", "-4"]],
        [["Sales", "12"], ["שלום", "13"], ["Profit", "8"]],
        [["12", "שלום"], ["13", "14"]],
        [["١٢", "٣"], ["٤", "٥"]],
        [["Hello", "שלום"], ["Peace", "שקט"]],
    ],
    ids=["numbers", "one Hebrew cell", "one cell with letters", "Arabic numbers", "a dictionary"],
)
def test_other_tables_stay_as_they_are(rows: list[list[str]]) -> None:
    table = Table.from_texts(rows)
    assert in_reading_order(table) is table


@given(tables(with_geometry=True))
def test_a_mirrored_table_is_mirrored_back(table: Table) -> None:
    mirrored = table.mirrored()
    assert mirrored.mirrored() == table and mirrored.direction != table.direction
    assert mirrored.to_grid(fill_spans=True) == [row[::-1] for row in table.to_grid(fill_spans=True)]
    assert table.from_left().direction == "ltr" and table.from_left() in (table, mirrored)
    assert sorted(map(repr, (cell.quad for cell in mirrored.cells))) == sorted(map(repr, (c.quad for c in table.cells)))
