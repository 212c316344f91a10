"""Texts of several lines."""

from __future__ import annotations

import pytest

from postprocess.export import table_to_html, table_to_markdown
from postprocess.export.html import html_to_table
from tests.helpers.drawing import Look, Read, draw_table, fails, table_to_spans

THREE = [
    ["Key", "Meaning", "No"],
    ["one", "a text of\nthree short\nlines here", "1"],
    ["two", "only one line", "2"],
    ["three", "two lines\nof text", "3"],
    ["four", "again one line", "4"],
]


# img2table#244, surya#229, pdfplumber#920
@pytest.mark.parametrize("rules", ["all", "rows"])
def test_three_lines_beside_single_ones(read: Read, rules: str) -> None:
    drawing = draw_table(THREE, Look(rules=rules, aligns="llr", gap=12))
    [table] = read(drawing.image, drawing.words, "table").tables
    assert table_to_spans(table) == drawing.spans


# img2table#244, surya#229
@pytest.mark.parametrize("rules", ["head", "none"])
def test_three_lines_without_rules(read: Read, rules: str) -> None:
    drawing = draw_table(THREE, Look(rules=rules, aligns="llr", gap=12, leading=8))
    [table] = read(drawing.image, drawing.words).tables
    assert table_to_spans(table) == drawing.spans


# pdfplumber#328, img2table#172
@pytest.mark.parametrize("rules", ["all", "rows", "head", "none"])
def test_rows_4_pixels_apart_are_not_glued(read: Read, rules: str) -> None:
    rows = [["Name", "Score", "Rank"], *[[f"Player {r}", f"{90 - r}.5", str(r)] for r in range(1, 9)]]
    drawing = draw_table(rows, Look(rules=rules, aligns="lrr", leading=1, gap=12))
    [table] = read(drawing.image, drawing.words).tables
    assert table_to_spans(table) == drawing.spans


# pdfplumber#19
@pytest.mark.parametrize("rules", ["all", "rows", "none"])
def test_key_beside_the_third_of_five_lines(read: Read, rules: str) -> None:
    text = "line one of it\nline two of it\nline three\nline four of it\nline five"
    rows = [["Key", "Text", "Page"], ["alpha", text, "12"], ["beta", text.replace("line", "more"), "34"]]
    drawing = draw_table(rows, Look(rules=rules, aligns="llr", gap=12, leading=10))
    [table] = read(drawing.image, drawing.words, "table").tables
    assert table_to_spans(table) == drawing.spans


# pdfplumber#1335
@pytest.mark.parametrize("rules", ["all", "rows"])
def test_narrow_last_column_of_several_lines(read: Read, rules: str) -> None:
    rows = [["Name", "Amount", "By"], ["Item 1", "12.50", "A\nB\nC"], ["Item 2", "1.25", "D"], ["Item 3", "7", "E\nF"]]
    drawing = draw_table(rows, Look(rules=rules, aligns="lrl", gap=12))
    [table] = read(drawing.image, drawing.words, "table").tables
    assert table_to_spans(table) == drawing.spans


# marker#158, MinerU#5386
def test_line_breaks_reach_every_export(read: Read) -> None:
    drawing = draw_table([["Title\nand its content", "1"], ["one\ntwo\nmore", "2"]])
    [table] = read(drawing.image, drawing.words, "table").tables
    assert table.to_grid() == [["Title\nand its content", "1"], ["one\ntwo\nmore", "2"]]
    assert "Title<br>and its content" in table_to_html(table)
    assert html_to_table(table_to_html(table)).to_grid() == table.to_grid()
    assert "one<br>two<br>more" in table_to_markdown(table)


# PaddleOCR#11218
@pytest.mark.parametrize("n_lines", [1, 2, 3])
def test_last_row_stays_apart(read: Read, n_lines: int) -> None:
    rows = [["Item", "Remark"], ["a", "\n".join(["some words"] * n_lines)], ["b", "more"], ["Sum", "end"]]
    drawing = draw_table(rows, Look(rules="rows"))
    [table] = read(drawing.image, drawing.words, "table").tables
    assert table_to_spans(table) == drawing.spans


# img2table#172
@pytest.mark.parametrize(
    "text", ["1.50\n2.50", fails("12\n34\n56", reason="three numbers split a drawn cell, and all cells beside it")]
)
def test_numbers_in_lines_of_one_drawn_cell(read: Read, text: str) -> None:
    drawing = draw_table([["Title\nand its content", "1"], [text, "2"]])
    [table] = read(drawing.image, drawing.words, "table").tables
    assert table_to_spans(table) == drawing.spans
