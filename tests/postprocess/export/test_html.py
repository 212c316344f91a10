from __future__ import annotations

import re
import time
import warnings
from dataclasses import replace
from typing import Any

import html5lib
import pytest
from hypothesis import given
from hypothesis import strategies as st

from postprocess.cell import Caption, Cell
from postprocess.characters import clean_text
from postprocess.errors import InputError, OutputError, TableError, TablerecError
from postprocess.export import html_to_table, html_to_tables, table_to_html, tables_to_html
from postprocess.meaning.roles import stub_width
from postprocess.raised import SUBSCRIPTS, SUPERSCRIPTS
from postprocess.table import Table, tables_in
from tests.helpers.strategies import captioned, nested, tables


def parse_strictly(html: str) -> Any:
    """Parse a page with the HTML5 algorithm; any parse error fails the test."""
    with warnings.catch_warnings():
        # html5lib itself, about entities inside its own code.
        warnings.simplefilter("ignore", DeprecationWarning)
        return html5lib.HTMLParser(strict=True, namespaceHTMLElements=False).parse(html)


def as_read(table: Table) -> Table:
    """Return what can survive HTML: no quads and scores, no forbidden characters, white space collapsed."""

    def collapse(line: str) -> str:
        return " ".join(filter(None, line.replace("\t", " ").split(" ")))

    def plain(text: str) -> str:
        return "\n".join(map(collapse, clean_text(text).split("\n")))

    notes = [plain(note.text) for note in table.notes]
    title = plain(table.title.text) if table.title else ""
    return Table(
        [
            Cell(
                cell.row,
                cell.col,
                cell.rowspan,
                cell.colspan,
                text=plain(cell.text).strip("\n") if cell.tables or cell.pictures else plain(cell.text),
                header=cell.header,
                tables=tuple(map(as_read, tables_in(cell))),
                pictures=tuple(replace(each, quad=None) for each in cell.pictures),
            )
            for cell in table.cells
        ],
        title=Caption(title) if title.strip() else None,
        notes=[Caption(note) for note in notes if note.strip()],
        direction=table.direction,
    )


def test_no_cells() -> None:
    assert table_to_html(Table([])) == "<table>\n</table>\n"
    assert html_to_table("<table></table>") == Table([])


def test_no_tables_says_so() -> None:
    assert "No table found" in tables_to_html([])
    parse_strictly(tables_to_html([]))


@given(captioned(tables()))
def test_round_trip(table: Table) -> None:
    assert html_to_table(table_to_html(table)) == as_read(table)


@given(st.lists(captioned(tables(max_rows=3)), max_size=3), st.text(max_size=9))
def test_page_is_valid_html5_and_holds_every_table(many: list[Table], title: str) -> None:
    page = tables_to_html(many, title)
    page.encode("utf-8")
    tree = parse_strictly(page)
    assert len(tree.findall(".//table")) == len(many)
    assert tree.find("head/title") is not None
    assert html_to_tables(page) == [as_read(table) for table in many]


@given(tables(max_rows=8))
def test_an_html5_parser_sees_the_same_grid(table: Table) -> None:
    """Row groups do not cut a span, each row has its tr, and th and scope tell the header."""
    tree = parse_strictly(tables_to_html([table])).find(".//table")
    assert len(tree.findall(".//tr")) == table.n_rows
    assert len(tree.findall("thead/tr")) == table.n_header_rows
    found = [
        (cell.tag, cell.get("scope"), int(cell.get("rowspan", 1)), int(cell.get("colspan", 1)))
        for cell in (node for node in tree.iter() if node.tag in ("td", "th"))
    ]
    scopes = {"column": ("col", "colgroup"), "row": ("row",), "section": ("rowgroup",), None: (None,)}
    assert [(tag, *spans) for tag, _, *spans in found] == [
        ("th" if cell.header else "td", cell.rowspan, cell.colspan) for cell in table.cells
    ]
    assert all(scope in scopes[cell.header] for (_, scope, *_), cell in zip(found, table.cells, strict=True))
    for group in (group for group in tree if group.tag != "colgroup"):
        rows = list(group)
        for row, element in enumerate(rows):
            assert all(row + int(cell.get("rowspan", 1)) <= len(rows) for cell in element)


def test_each_section_starts_a_body() -> None:
    marks = ["column", None, "section", None, "section", None]
    html = table_to_html(Table([Cell(row, 0, text="x", header=mark) for row, mark in enumerate(marks)]))  # type: ignore[arg-type]
    assert html.count("<tbody>") == 3
    assert '<tbody>\n<tr><th scope="rowgroup">x</th></tr>' in html


@given(tables(max_rows=8))
def test_scopes_follow_the_standard(table: Table) -> None:
    """A column group header is anchored in a group of just its columns, a row group header in a tbody."""
    tree = parse_strictly(tables_to_html([table])).find(".//table")
    spans = [int(group.get("span")) for group in tree.findall("colgroup")]
    assert not spans or sum(spans) == table.n_cols
    starts = [sum(spans[:index]) for index in range(len(spans))]
    marked = [node.get("scope") for node in tree.iter() if node.tag in ("td", "th")]
    for scope, cell in zip(marked, table.cells, strict=True):
        if scope == "colgroup":
            assert (cell.col, cell.colspan) in zip(starts, spans, strict=True)
        elif cell.header == "column" and cell.colspan > 1:
            assert (cell.col, cell.colspan) not in zip(starts, spans, strict=True)
    assert tree.findall("thead//th[@scope='rowgroup']") == []


def test_headers_over_several_columns_head_column_groups() -> None:
    head = [Cell(0, 0, rowspan=2, text="Item"), Cell(0, 1, colspan=2, text="2024"), Cell(0, 3, colspan=2, text="2025")]
    head += [Cell(1, col, text=text) for col, text in enumerate(("Plan", "Real", "Plan", "Real"), 1)]
    body = [Cell(2, 0, text="Tea", header="row"), *(Cell(2, col, text="7") for col in range(1, 5))]
    table = Table([*(replace(cell, header="column") for cell in head), *body])
    html = table_to_html(table)
    assert stub_width(table) == 1
    assert re.findall(r'<colgroup span="(\d)">', html) == ["1", "2", "2"]
    assert re.findall(r'scope="(\w+)"', html) == ["col", "colgroup", "colgroup", "col", "col", "col", "col", "row"]


@given(st.text(st.one_of(st.sampled_from("a1 ,.-<²³⁻₂₊ᵃₐᵝª\n"), st.characters()), max_size=12))
def test_raised_and_lowered_signs_come_back(text: str) -> None:
    table = Table.from_texts([[text]])
    html = table_to_html(table)
    assert html_to_table(html) == as_read(table)
    assert not set(html) & {*SUPERSCRIPTS.values(), *SUBSCRIPTS.values()}


def test_raised_and_lowered_signs_are_elements() -> None:
    table = replace(Table.from_texts([["5.2×10⁻⁴"], ["H₂O"]]), title=Caption("t¹,²"), notes=[Caption("ᵃ is <b>")])
    html = table_to_html(table)
    for markup in ("5.2×10<sup>\u22124</sup>", "H<sub>2</sub>O", "t<sup>1,2</sup>", "<p><sup>a</sup> is &lt;b&gt;"):
        assert markup in html
    assert "<title>m²</title>" in tables_to_html([], "m²")


@pytest.mark.parametrize(
    ("cell", "text"),
    [
        ("m<sup>2</sup>", "m²"),
        ("10<SUP>-3</SUP>", "10⁻³"),
        ("x<sup><i>a</i>*</sup>y", "xᵃ*y"),
        ("a<sup>1<sub>2</sub>3</sup>", "a¹₂³"),
        ("a<sup>1<br>2</sup>", "a¹\n²"),
        ("a<sup>q</sup></sub>2", "aq2"),
        ("a<sup>1<td>2", "a¹"),
    ],
)
def test_raised_markup_of_others_is_read(cell: str, text: str) -> None:
    assert html_to_table(f"<table><tr><td>{cell}</table>")[0, 0].text == text
    assert html_to_table("<table><tr><td>a<sup>1<td>2")[0, 1].text == "2"


def test_a_table_from_right_to_left_says_so() -> None:
    table = Table([Cell(0, 0, text="סכום"), Cell(0, 1, text="-5.2"), Cell(0, 2, text="7"), Cell(0, 3, text="abc")])
    table = replace(table, direction="rtl", title=Caption("Table"), notes=[Caption("הערה"), Caption("note")])
    html = table_to_html(table)
    assert '<table dir="rtl" aria-describedby' in html and '<caption dir="ltr">Table' in html
    assert '<td>סכום</td><td><bdi dir="ltr">-5.2</bdi></td><td>7</td><td><bdi dir="ltr">abc</bdi></td>' in html
    assert '<p dir="rtl">הערה</p>\n<p>note</p>' in html
    assert html_to_table(html) == table
    assert html_to_tables(tables_to_html([table, replace(table, direction="ltr")]))[1].direction == "ltr"


def test_texts_from_right_to_left_in_other_tables_say_so() -> None:
    html = table_to_html(replace(Table.from_texts([["a", "שלום 5", "-5"]]), title=Caption("טבלה")))
    assert '<td>a</td><td><bdi dir="rtl">שלום 5</bdi></td><td>-5</td>' in html
    assert '<table>\n<caption dir="rtl">' in html


@pytest.mark.parametrize(
    ("html", "direction"),
    [
        ("<html dir=rtl><table><tr><td>a</table>", "rtl"),
        ("<html dir=RTL><body><table dir=ltr><tr><td>a</table>", "ltr"),
        ("<body dir=rtl><table dir=auto><tr><td>a</table>", "rtl"),
        ("<table dir=rtl><tr><td dir=ltr>a</table>", "rtl"),
        ("<table dir><tr><td>a</table>", "ltr"),
    ],
)
def test_directions_of_others_are_read(html: str, direction: str) -> None:
    assert html_to_table(html).direction == direction


def test_title_and_notes_are_outside_the_rows() -> None:
    table = replace(
        Table.from_texts([["7"]]), title=Caption("Table 1\nSales"), notes=[Caption("* p<0.05"), Caption("b")]
    )
    page = tables_to_html([table, table])
    tree = parse_strictly(page)
    assert ["".join(each.itertext()) for each in tree.findall(".//caption")] == ["Table 1Sales"] * 2
    blocks = tree.findall(".//div[@class='notes']")
    assert [[note.text for note in block] for block in blocks] == [["* p<0.05", "b"]] * 2
    names = [each.get("aria-describedby") for each in tree.findall(".//table")]
    assert names == [block.get("id") for block in blocks] and len(set(names)) == 2
    assert table_to_html(table, title="Other").count("Table 1") == 0


def test_notes_of_others_are_not_ours() -> None:
    html = "<table><tr><td>a</table><div class=notes id=n><p>x</div><div class=notes><p>y</div><p>z"
    assert html_to_table(html).notes == ()
    assert [note.text for note in html_to_table(html.replace("<table", "<table aria-describedby=n")).notes] == ["x"]


def test_doubtful_cells_are_marked_when_asked_for() -> None:
    table = Table([Cell(0, 0, text="a", confidence=0.5), Cell(0, 1, text="b", confidence=0.95), Cell(0, 2, text="c")])
    assert "doubtful" not in table_to_html(table) and "confidence" not in tables_to_html([table])
    tree = parse_strictly(tables_to_html([table], mark_below=0.9))
    assert [cell.get("data-confidence") for cell in tree.findall(".//td")] == ["0.50", None, None]
    assert "below 0.9" in "".join(tree.find("body/p").itertext())
    assert tree.find("body/p/span").get("class") == tree.find(".//td").get("class") == "doubtful"
    assert tables_to_html([table], mark_below=0.4) == tables_to_html([table])


def test_caption_and_title_are_escaped() -> None:
    assert "<caption>a &lt; b</caption>" in table_to_html(Table([]), title="a < b")
    assert "<title>&lt;/title&gt;</title>" in tables_to_html([], "</title>")
    assert '<html lang="&quot;">' in tables_to_html([], lang='"')


def test_markup_in_a_text_is_escaped() -> None:
    html = table_to_html(Table.from_texts([["p<0.05 & q", "<script>", "x<b", "&amp;"]]))
    assert "p&lt;0.05 &amp; q" in html
    assert "<script>" not in html
    assert html_to_table(html).to_grid() == [["p<0.05 & q", "<script>", "x<b", "&amp;"]]


def test_control_characters_are_removed() -> None:
    html = table_to_html(Table.from_texts([["a\x00b\x07", "c\x85d", "\ufffe\ud800"]]))
    assert html_to_table(html).to_grid() == [["ab", "c\nd", ""]]


def test_unstructured_inference_355_row_without_a_cell_of_its_own() -> None:
    html = table_to_html(Table([Cell(0, 0, rowspan=2), Cell(0, 1, rowspan=2)]))
    assert html.count("<tr></tr>") == 1
    assert html_to_table(html).shape == (2, 2)


def test_span_beyond_html_is_refused() -> None:
    with pytest.raises(OutputError, match="1 x 1001"):
        table_to_html(Table([Cell(0, 0, colspan=1001)]))


@pytest.mark.parametrize(
    ("html", "grid"),
    [
        ("<table><tr><td>a<td>b<tr><td>c", [["a", "b"], ["c", ""]]),
        ("<TABLE><TR><TD>a</TD></TR></TABLE>", [["a"]]),
        ("<table><td>a</td></table>", [["a"]]),
        ("<table><tr><td>\n a <b>b</b>\t c<br/>d <br> e</td></table>", [["a b c\nd\ne"]]),
        ("<table><tr><td>AT&amp;T &lt; &#65;&nbsp;x &unknown;</table>", [["AT&T < A\xa0x &unknown;"]]),
        ("<table><tr><td>AT&T", [["AT&T"]]),
        ("<p>x<table><caption>c</caption><colgroup><col></colgroup><tr><td>a<!-- td --></table>y", [["a"]]),
        ("<table><tr><td>a<script>x < 1</script><style>td {}</style></table>", [["a"]]),
        ("<table><tr><td rowspan=0>a<td>b<tr><td>c<tbody><tr><td>d<td>e</table>", [["a", "b"], ["", "c"], ["d", "e"]]),
        ("<table><tr><td rowspan=9>a<td>b</table>", [["a", "b"]]),
        ("<table><tr><td colspan='-2'>a<td colspan=x>b<td colspan=0>c</table>", [["a", "b", "c"]]),
        ("<table><tr><td rowspan=2>a<td>b<tr><td>c<td>d</table>", [["a", "b", ""], ["", "c", "d"]]),
        ("<table><tr><td>a<tr><tr><td>b</table>", [["a"], [""], ["b"]]),
    ],
)
def test_html_of_others(html: str, grid: list[list[str]]) -> None:
    assert html_to_table(html).to_grid() == grid


def test_headers_of_others() -> None:
    table = html_to_table(
        "<table><thead><tr><td>a<th>b<tbody><tr><th>c<td>d<tr><th scope=ROWGROUP>e<td>f<tfoot><tr><th>g<th>h</table>"
    )
    marks = [cell.header for cell in table.cells]
    assert marks == ["column", "column", "row", None, "section", None, "column", "column"]


def test_one_table_is_expected() -> None:
    for html in ("", "<p>", "<table></table><table></table>"):
        with pytest.raises(InputError, match="not one"):
            html_to_table(html)


@pytest.mark.parametrize(
    ("html", "error"),
    [
        ("<table><tr><td colspan=1000 rowspan=65534>" + "<tr>" * 2000, InputError),
        ("<table><tr>" + "<td colspan=1000>" * 2000, InputError),
        ("<table>" + "<tr><td>" * 20_000 + "<tr>" + "<td>" * 1000, InputError),
        ("<table><tr><td rowspan=2><td rowspan=2><tr><td><tr><td colspan=3>", None),
        ("<table><tr><td><td rowspan=2><tr><td colspan=2>", TableError),
        ("<table><tr><td><table>", None),
        ("<table><tr><td>a</td><table>", InputError),
        ("<table><tr><td>" * 12, InputError),
        ("<table><tr><td>" * 100_000, InputError),
        ("<table><tr><td><img src='data:image/png;base64,!'><img src><img src='data:image/png;base64,AAAA'>", None),
        ("<table><tr><td><![x", InputError),
        ("<table><tr><td>a<!-- ", InputError),
        ("<table><tr><td>a</td", InputError),
        ("<table><tr><td><style>", InputError),
        ("<table><tr><td colspan=" + "9" * 100_000 + ">", None),
        ("<table><tr><td " + "x " * 200_000, InputError),
        ("<table><tr><td>" + "<!--" * 100_000, InputError),
        ("<table><tr><td>" + "</" * 100_000, InputError),
        ("<table><tr><td>" + "&#" * 100_000, None),
        ("<table><tr><td>" + "<br>" * 100_000, None),
        ("<table><tr>" + "<th>" * 30_000, None),
    ],
    ids=range(21),
)
def test_hostile_html_is_refused_or_read_soon(html: str, error: type[Exception] | None) -> None:
    start = time.process_time()
    if error is None:
        assert html_to_table(html).cells
    else:
        with pytest.raises(error):
            html_to_table(html)
    assert time.process_time() - start < 10, "quadratic time"


PIECES = [
    *("<table>", "</table>", "<thead>", "<tbody>", "</tbody>", "<tr>", "</tr>", "<td>", "<th scope=row>", "</td>"),
    *("<table>", "<div class=notes id=a-notes>", "<p>", "</p>", "</div>", "<table aria-describedby=a-notes>"),
    *("<td colspan=2>", "<td rowspan=3>", "<td rowspan=0>", "<br>", "a", "&lt;", "<!-- x -->", "<", "</", "<!", "<p>"),
]


@given(st.lists(st.sampled_from(PIECES), max_size=30))
def test_any_html_gives_tables_or_one_of_our_errors(pieces: list[str]) -> None:
    try:
        read = html_to_tables("".join(pieces))
    except TablerecError:
        return
    assert [html_to_table(table_to_html(table)) for table in read] == read


@given(nested(captioned(tables(max_rows=3, max_cols=3))))
def test_tables_in_tables_and_pictures_are_read_back(table: Table) -> None:
    page = tables_to_html([table, table])
    assert html_to_tables(page) == [as_read(table)] * 2
    parse_strictly(page)


def test_text_after_a_table_in_a_cell_is_another_line_of_its_text() -> None:
    [cell] = html_to_table("<table><tr><td>a<table><tr><td>b</table>c<br>d</table>").cells
    assert (cell.text, [each.to_grid() for each in tables_in(cell)]) == ("a\nc\nd", [[["b"]]])


def test_quads_and_scores_do_not_matter() -> None:
    cell = Cell(0, 0, text="a")
    full = replace(cell, quad=((0, 0), (1, 0), (1, 1), (0, 1)), detector_score=0.5)
    assert table_to_html(Table([full])) == table_to_html(Table([cell]))
