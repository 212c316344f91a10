"""The page of the demo: whatever was read is text there, and each cell has one name in picture and workbook."""

from __future__ import annotations

import base64
import io
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from string import Formatter
from typing import Any

import numpy as np
import openpyxl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from postprocess.cell import Caption, Cell, Confidence
from postprocess.table import Table
from tablerec.demo.page import result_to_page
from tablerec.demo.texts import TEXTS, Language
from tablerec.outputs.files import save
from tablerec.result import Page, PageImage, Result
from tests.helpers.browsing import open_browser, open_page

QUAD = ((0.0, 0.0), (30.0, 0.0), (30.0, 10.0), (0.0, 10.0))


def table_of(texts: list[list[str]], **changes: Any) -> Table:
    table = Table.from_texts(texts)
    placed = [
        replace(cell, quad=tuple((x + 30 * cell.col, y + 10 * cell.row) for x, y in QUAD), confidence=0.99)
        for cell in table.cells
    ]
    return replace(table, cells=placed, **changes)


def result_of(*tables: Table, name: str = "a.png") -> Result:
    picture = PageImage(name, 1, np.full((100, 120, 3), 255, np.uint8))
    return Result(name, (Page(picture, tables, seconds={"read": 1.25}),))


def to_html(result: Result, folder: Path, language: Language = "en", **options: bool) -> str:
    written = save(result, folder / "a.xlsx")
    return result_to_page(result, next(iter(written), None), language, **options)


def names_in(html: str, tag: str) -> list[str]:
    return re.findall(rf'<{tag}\b[^>]* data-cell="([^"]+)"', html)


def test_a_result_without_tables(tmp_path: Path) -> None:
    html = to_html(result_of(), tmp_path)
    assert (
        TEXTS["en"]["none"] in html
        and "0 tables in 1.2 s" in html
        and "data-cell=" not in html.partition("<script>")[0]
    )


def test_each_cell_has_one_name_in_picture_and_workbook(tmp_path: Path) -> None:
    html = to_html(result_of(table_of([["a", "b"], ["1", "2"]]), table_of([["c"]])), tmp_path)
    assert names_in(html, "polygon") == names_in(html, "t[dh]") == ["0-0", "0-1", "0-2", "0-3", "1-0"]


def test_the_workbook_is_in_the_page(tmp_path: Path) -> None:
    html = to_html(result_of(table_of([["a", "7"]])), tmp_path)
    data = re.findall(r'download="a.xlsx" href="data:[\w./-]+;base64,([^"]+)"', html)
    assert base64.b64decode(data[0]) == (tmp_path / "a.xlsx").read_bytes()


def test_addresses_are_those_of_the_workbook(tmp_path: Path) -> None:
    table = table_of([["a", "b"], ["1", "2"]], title=Caption("Title"))
    doubted = replace(
        table, cells=[replace(cell, confidence=0.5 if cell.text == "2" else 0.99) for cell in table.cells]
    )
    html = to_html(result_of(doubted), tmp_path)
    [address] = re.findall(r"<button[^>]*>(\w+): 50%</button>", html)
    sheet = openpyxl.load_workbook(tmp_path / "a.xlsx").worksheets[0]
    assert sheet[address].value == 2
    rows = re.findall(r'<tr><th class="letter">(\d+)</th>', html)
    assert rows == [str(row) for row in range(1, 5)]


def test_sure_cells_are_not_to_be_checked(tmp_path: Path) -> None:
    sure = Confidence(0.97, (0.99,), (0.99,), "")
    html = to_html(result_of(table_of([["a"]], confidence=sure)), tmp_path)
    assert "97% probability that every cell is in place" in html and "<button" not in html


def test_inner_tables_are_shown_in_their_cell(tmp_path: Path) -> None:
    inner = Table.from_texts([["x", "y"]])
    html = to_html(
        result_of(Table([Cell(0, 0, text="out", tables=(inner,)), Cell(0, 1, text="b")]), table_of([["c"]])), tmp_path
    )
    assert "out<br>x | y" in html and names_in(html, "t[dh]") == ["0-0", "0-1", "1-0"]


def test_long_tables_are_cut_and_the_workbook_has_all(tmp_path: Path) -> None:
    html = to_html(result_of(table_of([[str(row)] for row in range(600)])), tmp_path)
    assert len(names_in(html, "t[dh]")) == 500 and "…" in html
    assert openpyxl.load_workbook(tmp_path / "a.xlsx").worksheets[0].max_row == 600


class _Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.seen: list[str] = []

    def handle_starttag(self, tag: str, attributes: Any) -> None:
        self.seen.append(tag)


@settings(max_examples=25)
@given(
    text=st.text(max_size=30)
    | st.sampled_from(["</td><script>alert(1)</script>", '"><img src=x>', "$name", "${x}", "{n}"])
)
def test_texts_and_names_are_no_markup(text: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("page")
    plain, odd = (to_html(result_of(table_of([[each, "1"]], title=Caption("T")), name=name), folder)
                  for each, name in (("a", "a.png"), (text, text.replace("/", "") + "x.png")))  # fmt: skip
    tags = []
    for html in (plain, odd):
        reader = _Tags()
        reader.feed(html)
        tags.append([tag for tag in reader.seen if tag not in ("br", "sup", "sub")])
    assert tags[0] == tags[1]


def test_the_page_loads_nothing(tmp_path: Path) -> None:
    html = to_html(result_of(table_of([["a"]])), tmp_path)
    assert "default-src 'none'" in html
    assert re.findall(r'(?:src|href)="(?!data:)', html) == [] and "url(" not in html and "@import" not in html


def test_both_languages_say_the_same() -> None:
    assert TEXTS["en"].keys() == TEXTS["zh"].keys()
    for key, text in TEXTS["en"].items():
        fields = [{name for _, name, _, _ in Formatter().parse(each) if name} for each in (text, TEXTS["zh"][key])]
        assert fields[0] == fields[1], key


def test_pointing_at_a_cell_shows_it_in_both(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text(to_html(result_of(table_of([["a", "b"], ["1", "2"]])), tmp_path), "utf-8")
    for width in (1280, 390):
        with open_browser() as browser, open_page(browser, accept_downloads=True) as page:
            page.set_viewport_size({"width": width, "height": 700})
            page.goto((tmp_path / "a.html").as_uri())
            lit = page.locator(".lit")
            for place in ("td[data-cell='0-3']", "polygon[data-cell='0-2']"):
                page.locator(place).hover()
                assert lit.evaluate_all("all => all.map(each => each.dataset.cell)") == [place[-5:-2]] * 2
            page.locator("h1").hover()
            assert lit.count() == 0
            assert page.evaluate("document.documentElement.scrollWidth") <= width
            with page.expect_download() as waiting:
                page.locator("a.button").click()
            content = Path(waiting.value.path()).read_bytes()
            assert openpyxl.load_workbook(io.BytesIO(content)).worksheets[0]["A1"].value == "a"
