from __future__ import annotations

import sys
from datetime import date

import pytest
from hypothesis import given, settings

from postprocess.cell import Caption, Cell
from postprocess.errors import MissingDependencyError
from postprocess.export import table_to_dataframe
from postprocess.table import Table
from tests.helpers.strategies import tables

pd = pytest.importorskip("pandas")


def test_no_cells() -> None:
    assert table_to_dataframe(Table([])).shape == (0, 0)


def test_title_and_notes_are_attributes() -> None:
    table = Table([Cell(0, 0, text="a")], title=Caption("Table 1"), notes=[Caption("Source: b")])
    assert table_to_dataframe(table).attrs == {"title": "Table 1", "notes": ["Source: b"]}
    assert table_to_dataframe(Table([])).attrs == {}


@settings(max_examples=50)
@given(tables())
def test_no_row_and_no_text_is_lost(table: Table) -> None:
    frame = table_to_dataframe(table)
    depth = table.n_header_rows if table.n_header_rows < table.n_rows else 0
    assert frame.shape == (table.n_rows - depth, table.n_cols)
    assert frame.to_numpy().tolist() == table.to_grid()[depth:]
    if depth:
        names = [list(level) for level in zip(*frame.columns, strict=True)] if depth > 1 else [list(frame.columns)]
        assert names == table.to_grid(fill_spans=True)[:depth]
    else:
        assert list(frame.columns) == list(range(table.n_cols))


def test_several_header_rows_become_levels_with_filled_spans() -> None:
    head = [Cell(0, 0, rowspan=2, text="Item", header="column"), Cell(0, 1, colspan=2, text="2017", header="column")]
    head += [Cell(1, col, text=f"Q{col}", header="column") for col in (1, 2)]
    frame = table_to_dataframe(Table([*head, *(Cell(2, col, text=str(col)) for col in range(3))]))
    assert list(frame.columns) == [("Item", "Item"), ("2017", "Q1"), ("2017", "Q2")]
    assert frame["2017"]["Q2"].tolist() == ["2"]


def test_docling_core_755_rows_under_a_tall_header_stay() -> None:
    head = [Cell(0, 0, rowspan=5, text="All", header="column"), Cell(0, 1, text="x", header="column")]
    table = Table([*head, *(Cell(row, 1, text=str(row)) for row in range(1, 5))])
    assert table_to_dataframe(table).shape == (5, 2)


def test_a_table_of_headers_only_keeps_its_rows() -> None:
    assert table_to_dataframe(Table([Cell(0, 0, text="a", header="column")])).to_numpy().tolist() == [["a"]]


def test_equal_names_are_kept() -> None:
    cells = [Cell(0, col, text="x", header="column") for col in range(2)] + [Cell(1, col, text="y") for col in range(2)]
    assert list(table_to_dataframe(Table(cells)).columns) == ["x", "x"]


def test_typed_values() -> None:
    row = table_to_dataframe(Table.from_texts([["00123", "1,234", "12%", "2026-01-02"]]), typed=True).loc[0].tolist()
    assert row == ["00123", 1234, 0.12, date(2026, 1, 2)]


def test_typed_values_of_a_column_agree() -> None:
    table = Table.from_texts([["870,00"], ["1 548,07"], ["-0,40"], ["—"]])
    assert table_to_dataframe(table, typed=True)[0].tolist() == [870.0, 1548.07, -0.4, "—"]


def test_pandas_is_imported_when_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(MissingDependencyError, match="pip install pandas"):
        table_to_dataframe(Table([]))
