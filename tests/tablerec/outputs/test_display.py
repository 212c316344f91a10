from __future__ import annotations

import base64
import io
import re
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from PIL import Image

from postprocess.cell import Cell
from postprocess.preview import MAX_ROWS, rows_to_html
from postprocess.table import Table
from tablerec.outputs.display import MAX_BYTES, MAX_PAGES, image_to_jpeg, pages_to_html
from tablerec.result import Page, PageImage, Result
from tests.helpers.browsing import open_browser
from tests.helpers.review import make_page, make_table
from tests.helpers.strategies import tables

lxml_html = pytest.importorskip("lxml.html")


def test_nothing_to_show() -> None:
    assert pages_to_html([]) == Result("a.png", ())._repr_html_() == ""
    assert "no table" in make_page()._repr_html_()
    assert "<td" not in Table([])._repr_html_()


@settings(max_examples=25)
@given(tables(with_geometry=True))
def test_any_table_is_shown_and_no_text_becomes_markup(table: Table) -> None:
    html = make_page(table)._repr_html_()
    root = lxml_html.fragment_fromstring(html, create_parent=True)
    allowed = {"div", "style", "img", "svg", "polygon", "title", "table", "tbody", "tr", "td", "th", "br", "bdi"}
    assert {element.tag for element in root.iter()} <= allowed
    assert not [name for element in root.iter() for name in element.attrib if name.startswith("on")]
    assert len(root.findall(".//td")) + len(root.findall(".//th")) == len(table)
    assert len(root.findall(".//polygon")) == sum(cell.quad is not None for cell in table.cells)


def test_cells_say_what_they_hold_and_how_sure_they_are() -> None:
    doubtful = Cell(0, 0, text='"<x>"', confidence=0.4, ocr_score=0.9, quad=((0, 0), (9, 0), (9, 9), (0, 9)))
    root = lxml_html.fragment_fromstring(make_page(Table([doubtful, Cell(0, 1)]))._repr_html_())
    [polygon] = root.findall(".//polygon")
    said = '"<x>" · row 1, column 1 · confidence 0.40 · read 0.90'
    assert polygon.find("title").text == said == root.find(".//td").get("title")
    assert "stroke-dasharray" in polygon.attrib
    assert root.find(".//td").get("class") == polygon.get("class")
    assert f"td,th).{polygon.get('class')}:hover) polygon.{polygon.get('class')}" in root.find(".//style").text


def test_a_cell_of_the_table_lights_up_in_the_picture() -> None:
    with open_browser() as browser:
        page = browser.new_page(java_script_enabled=False)
        page.set_content(make_page(make_table())._repr_html_())
        cell = page.get_by_text("1.2", exact=True)
        outline = page.locator(f"polygon.{cell.get_attribute('class')}")
        opacity = "polygon => getComputedStyle(polygon).fillOpacity"
        before = outline.evaluate(opacity)
        cell.hover()
        assert float(outline.evaluate(opacity)) > float(before)


@pytest.mark.parametrize("shape", [(30, 50), (3000, 2000), (1, 4000)])
def test_the_picture_is_small(shape: tuple[int, int]) -> None:
    noise = np.random.default_rng(0).integers(0, 256, (*shape, 3), np.uint8)
    html = Page(PageImage("noise.png", 1, noise))._repr_html_()
    data = base64.b64decode(re.search(r"base64,([^\"]+)", html)[1])
    assert len(data) <= MAX_BYTES
    picture, scale = Image.open(io.BytesIO(data)), image_to_jpeg(noise)[1]
    assert picture.size == tuple(max(1, round(scale * side)) for side in shape[::-1])


def test_of_a_long_document_the_first_pages_are_shown() -> None:
    pages = tuple(make_page(make_table(), number=number + 1) for number in range(MAX_PAGES + 3))
    html = Result("book.pdf", pages)._repr_html_()
    assert html.count("<img") == MAX_PAGES and "3 more pages" in html


def test_of_a_long_table_the_first_rows_are_shown() -> None:
    cells = [Cell(row, 0) for row in range(MAX_ROWS - 1)] + [Cell(MAX_ROWS - 1, 0, rowspan=3)]
    html = rows_to_html(Table(cells).rows())
    assert html.count("<tr>") == MAX_ROWS and "rowspan" not in html and "2 more rows" in html


def test_a_table_from_right_to_left_is_shown_so() -> None:
    html = replace(Table.from_texts([["סכום", "-5"]]), direction="rtl")._repr_html_()
    assert '<table dir="rtl"' in html and "<bdi>-5</bdi>" in html
    assert "<bdi>" not in Table.from_texts([["a"]])._repr_html_()
