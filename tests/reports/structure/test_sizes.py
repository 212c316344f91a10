"""Tables with many cells, many columns, many rows."""

from __future__ import annotations

import pytest

from tests.helpers.drawing import Look, Read, draw_table, table_to_spans

SIZES = [(20, 16), (30, 30), (60, 3), (150, 4), (8, 25), (2, 40)]


# PaddleX#3591, RapidTable#61, RapidTable#83
@pytest.mark.parametrize(("n_rows", "n_cols", "layout"), [*((*size, "table") for size in SIZES), (12, 16, "page")])
def test_ruled_table_is_complete(read: Read, n_rows: int, n_cols: int, layout: str) -> None:
    rows = [[str((3 * r + c) % 10) for c in range(n_cols)] for r in range(n_rows)]
    drawing = draw_table(rows, Look(size=11, leading=3, gap=6))
    [table] = read(drawing.image, drawing.words, layout).tables
    assert table_to_spans(table) == drawing.spans


# docling#1472, gmft#49, liteparse#446
@pytest.mark.parametrize(("n_rows", "n_cols"), [(60, 3), (10, 18), (4, 25)])
def test_lineless_table_is_complete(read: Read, n_rows: int, n_cols: int) -> None:
    rows = [["Name", *[f"C{c}" for c in range(1, n_cols)]]]
    rows += [[f"Item {r}", *[f"{(7 * r + 13 * c) % 90 + 10}.5" for c in range(1, n_cols)]] for r in range(1, n_rows)]
    drawing = draw_table(rows, Look(rules="none", aligns="l" + "r" * (n_cols - 1), leading=4, gap=10))
    page = read(drawing.image, drawing.words)
    [table] = page.tables
    assert table_to_spans(table) == drawing.spans
    assert page.unplaced == ()


# docling#3401
def test_zeros_and_ones_do_not_drift(read: Read) -> None:
    rows = [[str((r * r + c) % 2) for c in range(4)] for r in range(50)]
    drawing = draw_table(rows, Look(rules="rows", size=11, leading=2, aligns="m" * 4, gap=12))
    [table] = read(drawing.image, drawing.words, "table").tables
    assert table_to_spans(table) == drawing.spans
