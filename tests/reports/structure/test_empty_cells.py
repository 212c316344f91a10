"""Empty cells, blank columns, wholly empty tables."""

from __future__ import annotations

import numpy as np
import pytest

from tests.helpers.drawing import Look, Read, draw_table, table_to_spans

RULED = {
    "blank middle column": [["a", "b", "", "d"], ["1", "2", "", "4"], ["5", "6", "", "8"]],
    "blank first column": [["", "b", "c"], ["", "2", "3"], ["", "5", "6"]],
    "blank last column": [["a", "b", ""], ["1", "2", ""], ["4", "5", ""]],
    "blank row": [["a", "b", "c"], ["", "", ""], ["1", "2", "3"]],
    "two blank cells at the top left": [["", "", "c"], *[[f"{i}a", f"{i}b", f"{i}c"] for i in range(7)]],
    "one value in a column": [["a", "b", "c"], ["1", "", "2"], ["3", "9", "4"], ["5", "", "6"]],
    "one word in all": [["", "", ""], ["", "x", ""], ["", "", ""]],
    "no text": [[""] * 5] * 5,
}


# RapidTable#63, PaddleOCR#6549, PaddleOCR#9949
@pytest.mark.parametrize("rows", RULED.values(), ids=RULED)
@pytest.mark.parametrize("layout", ["page", "table"])
def test_drawn_cells_stay_though_they_are_empty(read: Read, rows: list[list[str]], layout: str) -> None:
    drawing = draw_table(rows, Look(gap=15))
    [table] = read(drawing.image, drawing.words, layout).tables
    assert table_to_spans(table) == drawing.spans


# table-transformer#99, RapidOCR#360
@pytest.mark.parametrize("size", [2, 4, 9])
@pytest.mark.parametrize("margin", [0, 1, 5, 40])
def test_empty_grid_cut_out_tightly(read: Read, size: int, margin: int) -> None:
    drawing = draw_table([[""] * size] * size, Look(margin=margin, gap=15))
    if margin == 0:
        drawing.image[-1], drawing.image[:, -1] = 0, 0
    [table] = read(drawing.image, [], "table").tables
    assert (table.shape, len(table)) == ((size, size), size * size)


# PaddleOCR#17737, PaddleX#4741
@pytest.mark.parametrize("rules", ["all", "rows"])
def test_four_of_five_cells_are_empty(read: Read, rules: str) -> None:
    rng = np.random.default_rng(7)
    rows = [["Name", *[f"Col {c}" for c in range(1, 10)]]]
    rows += [[f"Row {r}", *["12.5" if rng.uniform() < 0.15 else "" for _ in range(9)]] for r in range(12)]
    drawing = draw_table(rows, Look(rules=rules))
    [table] = read(drawing.image, drawing.words, "table").tables
    assert table_to_spans(table) == drawing.spans


# docling#278, img2table#152, PaddleOCR#11791
@pytest.mark.parametrize("rules", ["head", "none"])
@pytest.mark.parametrize("filled", [0, 1, 3])
def test_lineless_column_with_few_values(read: Read, rules: str, filled: int) -> None:
    rows = [["Name", "Price", "Remark", "Total"]]
    rows += [[f"Item {r}", f"{r}.50", "new" if r < filled else "", f"{10 + r}.25"] for r in range(7)]
    drawing = draw_table(rows, Look(rules=rules, aligns="lrlr", gap=14))
    [table] = read(drawing.image, drawing.words).tables
    assert table_to_spans(table) == drawing.spans


# img2table#146
def test_empty_cells_are_not_filled_from_their_neighbours(read: Read) -> None:
    rows = [["Total", "", "", "12"], ["", "", "", ""], ["Sum", "", "7", ""]]
    drawing = draw_table(rows, Look(gap=15))
    [table] = read(drawing.image, drawing.words, "table").tables
    assert table.to_grid(fill_spans=True) == rows
