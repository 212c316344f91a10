"""A lone stroke is a dash among numbers, and a numeral among words."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from postprocess.table import Table
from postprocess.text.lookalikes import settle_strokes
from tests.helpers.strategies import tables


def column(*texts: str) -> Table:
    return Table.from_texts([[text] for text in texts])


def test_no_cells() -> None:
    assert settle_strokes(Table([])) == Table([])


def test_dash_among_numbers() -> None:
    assert settle_strokes(column("2025", "一", "1,204", "(3)")).to_grid() == [["2025"], ["—"], ["1,204"], ["(3)"]]


def test_numeral_among_words_and_alone() -> None:
    for texts in (("一",), ("序号", "一", "二"), ("一", "一", "")):
        assert settle_strokes(column(*texts)) == column(*texts)


def test_words_that_hold_the_character_stay() -> None:
    assert settle_strokes(column("一月", "12", "13", "14"))[0, 0].text == "一月"


@given(tables(), st.lists(st.sampled_from(["一", "12", "a", ""]), min_size=40, max_size=40))
def test_cells_that_share_a_column_decide(table: Table, texts: list[str]) -> None:
    cells = [replace(cell, text=text) for cell, text in zip(table.cells, texts * len(table), strict=False)]
    for cell, settled in zip(cells, settle_strokes(Table(cells)).cells, strict=True):
        beside = [c.text for c in cells if c.col < cell.end_col and cell.col < c.end_col and c.text in ("12", "a")]
        is_dash = cell.text == "一" and beside.count("12") > beside.count("a")
        assert settled.text == ("—" if is_dash else cell.text)


@given(tables())
def test_other_texts_and_the_grid_stay(table: Table) -> None:
    settled = settle_strokes(table)
    assert [(c.row, c.col, c.quad) for c in settled.cells] == [(c.row, c.col, c.quad) for c in table.cells]
    assert all(a.text == b.text or a.text in "一ー_" for a, b in zip(table.cells, settled.cells, strict=True))
