"""Plain tables that were not read well."""

from __future__ import annotations

import cv2
import pytest

from postprocess.geometry.boxes import quads_to_array
from tests.helpers.drawing import Look, Read, draw_table, stack, table_to_spans

ROWS = [
    ["Item", "Unit", "Price", "Total"],
    ["Tea", "box", "2.50", "25.00"],
    ["Coffee", "kg", "12.00", "36.00"],
    ["Sugar", "bag", "1.80", "9.00"],
    ["Milk", "l", "1.10", "11.00"],
]


# PaddleX#3690
@pytest.mark.parametrize("layout", ["page", "table"])
def test_watermark_adds_no_cell(read: Read, layout: str) -> None:
    drawing = draw_table(ROWS, Look(gap=14, leading=8))
    height = drawing.image.shape[0]
    mark = drawing.image.copy()
    cv2.putText(mark, "SAMPLE", (4, height - 12), cv2.FONT_HERSHEY_DUPLEX, 2.2, (215, 205, 200), 5, cv2.LINE_AA)
    cv2.ellipse(mark, (70, height - 60), (44, 30), 20, 0, 360, (225, 220, 200), 4, cv2.LINE_AA)
    image = cv2.min(mark, drawing.image)
    [table] = read(image, drawing.words, layout).tables
    assert table_to_spans(table) == drawing.spans


# RapidTable#90
@pytest.mark.parametrize("free", [0, 1, 2])
@pytest.mark.parametrize("thickness", [1, 2, 3])
def test_text_close_to_the_rules(read: Read, free: int, thickness: int) -> None:
    drawing = draw_table(ROWS, Look(gap=free + thickness, leading=free - 1, thickness=thickness))
    [table] = read(drawing.image, drawing.words, "table").tables
    assert table_to_spans(table) == drawing.spans


# table-transformer#154
@pytest.mark.parametrize("margin", [1, 3, 30, 100])
@pytest.mark.parametrize("layout", ["page", "table"])
def test_margins(read: Read, margin: int, layout: str) -> None:
    drawing = draw_table(ROWS, Look(margin=margin))
    [table] = read(drawing.image, drawing.words, layout).tables
    assert table_to_spans(table) == drawing.spans


# PaddleX#5176
@pytest.mark.parametrize("rules", ["all", "rows", "head", "none"])
def test_cells_lie_inside_the_table(read: Read, rules: str) -> None:
    drawing = draw_table(ROWS, Look(rules=rules, aligns="llrr", gap=12))
    [table] = read(drawing.image, drawing.words).tables
    corners = quads_to_array([cell.quad for cell in table.cells])
    outline = quads_to_array([table.quad])
    assert (corners.min(axis=(0, 1)) >= outline.min(axis=(0, 1)) - 1).all()
    assert (corners.max(axis=(0, 1)) <= outline.max(axis=(0, 1)) + 1).all()
    height, width = drawing.image.shape[:2]
    assert (outline >= -1).all() and (outline <= (width + 1, height + 1)).all()


# gmft#40
@pytest.mark.parametrize("layout", ["page", "table"])
def test_one_column(read: Read, layout: str) -> None:
    drawing = draw_table([["Colours"], ["red"], ["green"], ["blue"]])
    [table] = read(drawing.image, drawing.words, layout).tables
    assert table_to_spans(table) == drawing.spans


def test_one_row(read: Read) -> None:
    drawing = draw_table([["Name", "Ann", "Age", "12"]])
    [table] = read(drawing.image, drawing.words).tables
    assert table_to_spans(table) == drawing.spans


# PaddleOCR#4692
@pytest.mark.parametrize("gap", [0, 30])
def test_every_table_of_a_page(read: Read, gap: int) -> None:
    first, second = draw_table(ROWS), draw_table([["a", "b"], ["1", "2"], ["3", "4"]])
    image, words = stack([first, second], gap)
    assert [table_to_spans(table) for table in read(image, words).tables] == [first.spans, second.spans]


@pytest.mark.parametrize(
    ("text", "width"),
    [("Gamma", 80), ("Gamma", 56), ("EEEE", 56), ("====", 56), ("----", 56), ("____", 56)],
)
def test_letters_in_a_row_are_no_rule(read: Read, text: str, width: int) -> None:
    drawing = draw_table([["North", "South", text], ["11", "22", "33"]], Look(widths=[width] * 3, aligns="mmm"))
    [table] = read(drawing.image, drawing.words, "table").tables
    assert table_to_spans(table) == drawing.spans
