"""Header, title and section rows."""

from __future__ import annotations

import pytest

from postprocess.export import table_to_dataframe, table_to_html, table_to_markdown
from postprocess.meaning.headers import mark_headers
from postprocess.table import Table
from postprocess.word import Word
from tests.helpers.drawing import Look, Read, draw_table, make_table, move_word, table_to_spans
from tests.helpers.layouts import box_quad

BODY = [["Tea", "1.20", "3.40"], ["Coffee", "12.00", "13.40"], ["Cocoa", "2.10", "2.40"]]
DEPTHS = {
    "one": ([["Item", "Plan", "Real"], *BODY], 1),
    "two with a group": ([["Item", "2024", "<"], ["^", "Plan", "Real"], *BODY], 2),
    "two with an empty corner": ([["", "2024", "<"], ["Item", "Plan", "Real"], *BODY], 2),
    "three": ([["Item", "Sales", "<"], ["^", "2024", "<"], ["^", "Plan", "Real"], *BODY], 3),
    "units below": ([["Item", "Plan", "Real"], ["", "EUR", "EUR"], *BODY], 2),
    "none": ([["Tea", "1.20"], ["Coffee", "12.00"], ["Cocoa", "2.10"]], 0),
    "years": ([["", "2023", "2024"], *BODY], 1),
    "years and units": ([["", "2023", "2024"], ["", "€m", "€m"], *BODY], 2),
    "numbered rows": ([["No", "Name", "Sum"], ["1", "Tea", "2.5"], ["2", "Cocoa", "3.5"]], 1),
    "two in Chinese": (
        [["项目", "本期", "<"], ["^", "金额", "比例"], ["收入", "1,234", "45%"], ["成本", "800", "3%"]],
        2,
    ),
    "numbers only": ([["1", "2"], ["3", "4"]], 0),
    "note at the end": ([["Item", "Plan", "Real"], *BODY, ["Source: own data", "<", "<"]], 1),
    "section with a total": ([["Item", "Plan", "Real"], ["Hot", "", ""], *BODY, ["Total", "15.30", "19.20"]], 1),
}


def test_header_over_columns_of_yes_and_no() -> None:
    rows = [["Feature", "Ours", "Theirs"], ["Fast", "yes", "no"], ["Cheap", "no", "yes"], ["Small", "yes", "yes"]]
    assert mark_headers(make_table(rows)).n_header_rows == 1


# docling#1983, docling#2985
@pytest.mark.parametrize(("rows", "depth"), DEPTHS.values(), ids=DEPTHS)
def test_number_of_header_rows(rows: list[list[str]], depth: int) -> None:
    assert mark_headers(make_table(rows)).n_header_rows == depth


# docling#2984
def test_row_2_is_no_header_where_row_3_is_the_last_one() -> None:
    rows = [["Region", "Sales", "<", "<"], ["^", "North", "<", "South"], ["^", "Plan", "Real", "Plan"]]
    table = mark_headers(make_table([*rows, ["a", "1.5", "2.5", "3.5"], ["b", "4.5", "5.5", "6.5"]]))
    assert table.n_header_rows == 3
    assert [cell.header for cell in table.rows()[3]] == ["row", None, None, None]


def sections(table: Table) -> list[str]:
    return [cell.text for cell in table.cells if cell.header == "section"]


# docling#3164
@pytest.mark.parametrize("wide", [True, False], ids=["spanning", "with blanks"])
def test_section_rows(wide: bool) -> None:
    rest = ["<", "<"] if wide else ["", ""]
    rows = [["Item", "Plan", "Real"], ["Hot drinks", *rest], *BODY, ["Cold drinks", *rest], ["Juice", "1.30", "1.40"]]
    table = mark_headers(make_table(rows))
    assert sections(table) == ["Hot drinks", "Cold drinks"]
    assert table.n_header_rows == 1


# docling#3164
def test_section_rows_read_from_a_picture(read: Read) -> None:
    rows = [
        ["Item", "Plan", "Real"],
        ["Hot drinks", "<", "<"],
        *BODY,
        ["Cold drinks", "<", "<"],
        ["Juice", "1.3", "2.4"],
    ]
    drawing = draw_table(rows)
    [table] = read(drawing.image, drawing.words, "table").tables
    assert table_to_spans(table) == drawing.spans
    assert sections(table) == ["Hot drinks", "Cold drinks"]


# docling#2985
def test_header_column() -> None:
    table = mark_headers(make_table([["Item", "Plan", "Real"], *BODY]))
    assert [row[0].header for row in table.rows()[1:]] == ["row"] * 3
    assert all(cell.header is None for row in table.rows()[1:] for cell in row[1:])


# docling#1983
def test_spanning_title_row_is_no_data() -> None:
    table = mark_headers(make_table([["Prices of drinks", "<", "<"], ["Item", "Plan", "Real"], *BODY]))
    assert table[0, 0].header in ("column", "section")
    assert all(cell.header == "column" for cell in table.rows()[1])


# docling-core#722
def test_markdown_keeps_every_header_row() -> None:
    table = mark_headers(make_table([["Item", "2024", "<"], ["^", "Plan", "Real"], *BODY]))
    lines = table_to_markdown(table).splitlines()
    assert len(lines) == 2 + len(BODY)
    assert all(text in lines[0] for text in ("Item", "2024", "Plan", "Real"))


# docling-core#755
def test_data_frame_keeps_every_row_below_a_tall_header() -> None:
    rows = [["Item", "Sales", "<"], *[["^", f"a{r}", f"b{r}"] for r in range(4)], *BODY]
    table = mark_headers(make_table(rows))
    frame = table_to_dataframe(table)
    seen = [*map(str, frame.columns.to_flat_index()), *frame.astype(str).to_numpy().ravel().tolist()]
    for cell in table.cells:
        assert any(cell.text in text for text in seen), cell
    assert len(frame) >= len(BODY)


# gmft#46
def test_header_row_gets_no_empty_cells(read: Read) -> None:
    drawing = draw_table([["Item", "Plan 2024", "Real 2024"], *BODY], Look(rules="head", aligns="lrr", gap=16))
    [table] = read(drawing.image, drawing.words).tables
    assert [cell.text for cell in table.rows()[0]] == ["Item", "Plan 2024", "Real 2024"]
    assert table.n_header_rows == 1


# MinerU#5004
@pytest.mark.parametrize("rules", ["all", "head"])
def test_caption_is_the_title_and_no_row_of_the_table(read: Read, rules: str) -> None:
    drawing = draw_table([["Item", "Plan", "Real"], *BODY], Look(rules=rules, aligns="lrr", gap=20, margin=60))
    caption = Word("Table 3. Prices of drinks", box_quad(62, 30, 220, 44))
    page = read(drawing.image, [caption, *drawing.words])
    assert [table_to_spans(table) for table in page.tables] == [drawing.spans]
    assert page.tables[0].title.text == caption.text
    assert page.unplaced == ()


def test_header_cells_are_th_with_a_scope(read: Read) -> None:
    drawing = draw_table([["Item", "2024", "<"], ["^", "Plan", "Real"], *BODY])
    [table] = read(drawing.image, drawing.words, "table").tables
    html = table_to_html(table)
    assert html.count("<thead>") == 1
    assert html.count("<th ") == 4 + len(BODY)
    assert html.count('scope="row"') == len(BODY)


def test_moved_words_do_not_change_the_headers(read: Read) -> None:
    drawing = draw_table([["Item", "Plan", "Real"], *BODY])
    for dx, dy in ((0, 0), (4, 0), (0, 3), (-3, -2)):
        words = [move_word(word, dx, dy) for word in drawing.words]
        [table] = read(drawing.image, words, "table").tables
        assert table.n_header_rows == 1
