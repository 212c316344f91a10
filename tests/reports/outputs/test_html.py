"""Invalid or misleading HTML."""

from __future__ import annotations

import html5lib
import pytest

from postprocess.cell import Cell
from postprocess.export import html_to_table, table_to_html, tables_to_html
from postprocess.geometry.boxes import boxes_to_quads
from postprocess.meaning.headers import mark_headers
from postprocess.table import Table
from tablerec.detect import Detection
from tablerec.errors import TableError
from tests.helpers.drawing import Look, Read, draw_table, make_table, table_to_spans

TABLES = {
    "empty": [],
    "colspan and rowspan": [["a", "<", "b"], ["^", "^", "c"], ["d", "e", "f"]],
    "pinwheel": [["a", "<", "b"], ["c", "d", "^"], ["^", "e", "<"]],
    "tall headers": [["a", "b", "left", "<"], ["^", "^", "x", "y"], ["1", "2", "3", "4"]],
    "a row without a cell of its own": [["a", "b"], ["^", "^"], ["c", "d"]],
    "hostile": [["<b>x", "a & b"], ['"q"', "</td></tr></table>"], ["<!-- -->", "p<0.05"], ["&lt;", "]]>"]],
}


def slots(html: str) -> dict[tuple[int, int], str]:
    """Place the cells as HTML 5 says; two cells never share a slot."""
    placed: dict[tuple[int, int], str] = {}
    tree = html5lib.parseFragment(html, namespaceHTMLElements=False)
    for r, row in enumerate(tree.iter("tr")):
        c = 0
        for cell in row:
            while (r, c) in placed:
                c += 1
            for rr in range(int(cell.get("rowspan", 1))):
                for cc in range(int(cell.get("colspan", 1))):
                    assert (r + rr, c + cc) not in placed
                    placed[r + rr, c + cc] = "".join(cell.itertext())
    return placed


# unstructured PR#2345, PaddleOCR#9500
@pytest.mark.parametrize("rows", TABLES.values(), ids=TABLES)
def test_cells_cover_a_rectangle_once(rows: list[list[str]]) -> None:
    table = mark_headers(make_table(rows)) if rows else Table([])
    placed = slots(table_to_html(table))
    assert set(placed) == {(r, c) for r in range(table.n_rows) for c in range(table.n_cols)}
    assert all(placed[slot] == table[slot].text for slot in placed)


@pytest.mark.parametrize("rows", TABLES.values(), ids=TABLES)
def test_parser_finds_no_error(rows: list[list[str]]) -> None:
    html = tables_to_html([mark_headers(make_table(rows)) if rows else Table([])])
    parser = html5lib.HTMLParser(strict=True)
    parser.parse(html)
    assert parser.errors == []


# PaddleOCR#11724
@pytest.mark.parametrize("rows", TABLES.values(), ids=TABLES)
def test_comes_back_from_html(rows: list[list[str]]) -> None:
    table = make_table(rows)
    if rows:
        assert table_to_spans(html_to_table(table_to_html(table))) == table_to_spans(table)


# unstructured-inference PR#355
def test_rows_behind_a_header_are_rows() -> None:
    table = Table([Cell(0, 0, header="column"), Cell(0, 1, header="column"), Cell(1, 0), Cell(1, 1)])
    html = table_to_html(table)
    assert html.count("<tr>") == html.count("</tr>") == 2
    assert html.index("</thead>") < html.index("<tbody>") < html.rindex("<tr>")


def test_header_cell_that_hangs_into_the_body_stays_valid() -> None:
    table = Table(
        [Cell(0, 0, rowspan=3, header="column"), *[Cell(r, 1, header=None if r else "column") for r in range(3)]]
    )
    assert len(slots(table_to_html(table))) == 6


# PaddleOCR#14099
def test_span_that_is_not_rectangular_is_refused() -> None:
    with pytest.raises(TableError, match="share row 1, column 1"):
        Table([Cell(0, 0, rowspan=2, colspan=2), Cell(0, 2), Cell(1, 1, colspan=2)])


# PaddleOCR#10649
@pytest.mark.parametrize("html", [
    "<table><tr><td rowspan=20>a<td>b<tr><td>c</table>",
    "<table><tr><td colspan=0>a<td rowspan=-3>b</table>",
    "<table><tr><td rowspan=99999999>a</table>",
    "<table><thead><td>a</thead><tr><td>b<td>c</table>",
])  # fmt: skip
def test_foreign_html_becomes_a_valid_table(html: str) -> None:
    table = html_to_table(html)
    assert set(slots(table_to_html(table))) == {(r, c) for r in range(table.n_rows) for c in range(table.n_cols)}
    assert table.n_rows <= 2


# PaddleOCR#14099
def test_overlapping_cells_of_a_detector_give_valid_html() -> None:
    boxes = [[0, 0, 100, 60], [50, 0, 150, 30], [0, 30, 100, 60], [100, 30, 150, 60], [0, 0, 150, 20]]
    candidate = Detection(boxes_to_quads(boxes), [0.9, 0.8, 0.7, 0.6, 0.5], "test").to_candidate()
    table, dropped = candidate.to_table(), candidate.dropped
    assert len(slots(table_to_html(table))) == table.n_rows * table.n_cols
    assert sum(cell.detector_score is not None for cell in table.cells) + len(dropped) == len(boxes)


# unstructured#3523
def test_pipeline_escapes_what_is_written_in_the_picture(read: Read) -> None:
    drawing = draw_table([["p<0.05", "a & b"], ["</table>", "1"]], Look(gap=14))
    [table] = read(drawing.image, drawing.words, "table").tables
    assert slots(table_to_html(table)) == {(r, c): drawing.table[r, c].text for r in range(2) for c in range(2)}
