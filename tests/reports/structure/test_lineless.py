"""Tables without lines."""

from __future__ import annotations

import pytest

from tests.helpers.drawing import Look, Read, draw_table, fails, stack, table_to_spans

ROWS = [
    ["Item", "Unit", "Price", "Total"],
    ["Tea", "box", "2.50", "25.00"],
    ["Coffee beans", "kg", "12.00", "1,236.00"],
    ["Sugar", "bag", "1.80", "9.00"],
    ["Milk", "l", "1.10", "11.00"],
    ["Salt", "kg", "0.90", "1.80"],
]


# docling#1475, GLM-OCR#89
@pytest.mark.parametrize("rules", ["all", "rows", "head", "none"])
@pytest.mark.parametrize("layout", ["page", "table"])
def test_same_table_with_and_without_rules(read: Read, rules: str, layout: str) -> None:
    drawing = draw_table(ROWS, Look(rules=rules, aligns="llrr", gap=10))
    [table] = read(drawing.image, drawing.words, layout).tables
    assert table_to_spans(table) == drawing.spans


# img2table#151
@pytest.mark.parametrize("aligns", ["llrr", "mmmm"])
@pytest.mark.parametrize("gap", [4, 8, 40])
def test_gaps_between_columns(read: Read, gap: int, aligns: str) -> None:
    drawing = draw_table(ROWS, Look(rules="none", aligns=aligns, gap=gap / 2))
    [table] = read(drawing.image, drawing.words, "table").tables
    assert table_to_spans(table) == drawing.spans


# RapidTable#27
def test_three_years_are_three_columns(read: Read) -> None:
    rows = [["", "2022", "2023", "2024", "2025", "2026"]]
    rows += [[f"Line {r}", *[f"{1000 * r + 37 * c:,}" for c in range(5)]] for r in range(1, 7)]
    # Headers begin at the left of their columns, numbers end at the right.
    drawing = draw_table(rows, Look(rules="head", aligns="lrrrrr", gap=12))
    [table] = read(drawing.image, drawing.words).tables
    assert table_to_spans(table) == drawing.spans


# img2table#198
@pytest.mark.parametrize("band", [30, 50])
def test_blank_band_between_groups_of_rows(read: Read, band: int) -> None:
    heights = [26] * 4 + [26 + band] + [26] * 3
    rows = [["Name", "2023", "2024"], *[[f"Item {r}", f"{r}.50", f"{r}.75"] for r in range(1, 8)]]
    drawing = draw_table(rows, Look(rules="none", aligns="lrr", gap=14, heights=heights))
    [table] = read(drawing.image, drawing.words).tables
    assert table_to_spans(table) == drawing.spans


# img2table#188
@pytest.mark.parametrize("letter", ["*", "x", "1"])
def test_column_of_one_character(read: Read, letter: str) -> None:
    rows = [["Name", "", "Score"], *[[f"Item {r}", letter, f"{r}.75"] for r in range(1, 7)]]
    drawing = draw_table(rows, Look(rules="head", aligns="lmr", gap=10))
    [table] = read(drawing.image, drawing.words).tables
    assert table_to_spans(table) == drawing.spans


# img2table#158
def test_long_text_reaches_into_the_gap(read: Read) -> None:
    rows = [["Name", "Amount", "Share"], *[[f"Item {r}", f"{r}2.50", f"{r}%"] for r in range(1, 7)]]
    rows[4][0] = "A name that is much longer"
    drawing = draw_table(rows, Look(rules="none", aligns="lrr", widths=(185, 70, 60), gap=6))
    [table] = read(drawing.image, drawing.words).tables
    assert table_to_spans(table) == drawing.spans


# pdfplumber#871
@pytest.mark.parametrize(
    "rules", ["all", "head", fails("none", reason="a wide gap and a second header do not part tables")]
)
def test_two_tables_25_pixels_apart(read: Read, rules: str) -> None:
    look = Look(rules=rules, aligns="lrrr", gap=14, margin=12)
    first = draw_table([["Item", "2023", "2024"], *[[f"Item {r}", f"{r}.5", f"{r}.7"] for r in range(1, 6)]], look)
    second = draw_table(
        [["Country", "Men", "Women", "All"], *[[f"Land {r}", f"{r}1", f"{r}2", f"{r}3"] for r in range(1, 6)]], look
    )
    image, words = stack([first, second], 1)
    assert [table_to_spans(table) for table in read(image, words).tables] == [first.spans, second.spans]


# pdfplumber#921
def test_text_of_one_column_with_ragged_gaps_stays_one_column(read: Read) -> None:
    rows = [["Title", "Year"], *[[f"The {name} book of all things", str(1990 + i)] for i, name in enumerate(
        ["red", "green", "very blue", "white", "old black"])]]  # fmt: skip
    drawing = draw_table(rows, Look(rules="none", aligns="lr", gap=16))
    # An OCR engine that returns single words.
    words = []
    for word in drawing.words:
        start = 0
        for part in word.text.split(" "):
            words.append(word.part(start, start + len(part)))
            start += len(part) + 1
    [table] = read(drawing.image, words).tables
    assert table_to_spans(table) == drawing.spans
