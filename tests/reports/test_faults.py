"""Faults that PaddleX 3.7.2 has, each through our public functions; the tests of each module go into detail.

Each was reproduced there without a network, on the input that the test has; beside it are public reports of the like.
"""

from __future__ import annotations

from io import BytesIO
from pathlib import Path

import html5lib
import numpy as np
import openpyxl
import pytest

from postprocess.cell import Cell
from postprocess.export import table_to_html, tables_to_workbook, write_excel
from postprocess.geometry.boxes import array_to_quad, boxes_to_quads
from postprocess.table import Table
from postprocess.word import Word
from tablerec import Recognizer, recognize
from tablerec.detect import Detection
from tablerec.devices import parse_device
from tablerec.errors import SettingsError, TableError
from tablerec.ocr import NoOcr
from tests.helpers.layouts import (
    box_quad,
    draw_layout,
    even_layout,
    make_word,
    plain_table,
    turn_image,
    turn_quads,
    write,
)


class Cells:
    """A detector that found these cells."""

    name = "cells"

    def __init__(self, boxes: object) -> None:
        self.quads = boxes_to_quads(boxes)

    def detect(self, image: np.ndarray, words: object) -> list[Detection]:
        return [Detection(self.quads, np.ones(len(self.quads)), self.name)]


def recognize_cells(boxes: object, words: list[Word]) -> tuple[Table, int]:
    """Return the table and the number of words and cells that found no place."""
    [page] = Recognizer(detector=Cells(boxes), ocr=NoOcr()).recognize(np.zeros((999, 999, 3), np.uint8), words).pages
    assert len(page.tables) <= 1
    return (page.tables or (Table([]),))[0], len(page.unplaced) + len(page.dropped)


def html_cells(html: str) -> list[list[str]]:
    """Texts of the cells that a browser would show."""
    tree = html5lib.parse(html, namespaceHTMLElements=False)
    return [["".join(cell.itertext()) for cell in row if cell.tag in ("td", "th")] for row in tree.iter("tr")]


def sheet_values(*rows: list[str]) -> list[list[object]]:
    buffer = BytesIO()
    tables_to_workbook([Table.from_texts(rows)]).save(buffer)
    sheet = openpyxl.load_workbook(buffer).active
    return [[cell.value for cell in row] for row in sheet.iter_rows()]


# PaddleX#4326
def test_no_cells() -> None:
    assert recognize_cells([], []) == (Table([]), 0)
    table, n_lost = recognize_cells([], [make_word("kept", 0, 0)])
    assert (table.shape, n_lost) == ((0, 0), 1)
    assert html_cells(table_to_html(table)) == []


# PaddleX#3834, PaddleOCR#17363
def test_a_hundred_cells_and_their_texts_all_survive() -> None:
    layout = even_layout(plain_table(10, 10))
    words = [make_word(str(i), x0 + 9, y0 + 9) for i, (x0, y0, _, _) in enumerate(layout.boxes)]
    table, n_lost = recognize_cells(layout.boxes, words)
    assert n_lost == 0
    assert [cell.text for cell in table.cells] == [str(i) for i in range(100)]


# PaddleOCR#18117
def test_more_words_than_cells() -> None:
    table, n_lost = recognize_cells([[0, 0, 90, 20]], [make_word("in", 5, 5), make_word("out", 300, 5)])
    assert (table.to_grid(), n_lost) == ([["in"]], 1)


# PaddleX#3834
def test_gaps_of_6_pixels_between_cells() -> None:
    table, n_lost = recognize_cells([[0, 0, 50, 20], [56, 0, 106, 20], [0, 26, 50, 46], [56, 26, 106, 46]], [])
    assert (table.shape, len(table), n_lost) == ((2, 2), 4, 0)


# docling#1306
def test_jitter_in_a_picture_that_is_4_times_larger() -> None:
    boxes = even_layout(plain_table(4, 4), 40, 12).boxes + np.random.default_rng(0).uniform(-1, 1, (16, 4))
    for scale in (1, 2, 4):
        table, n_lost = recognize_cells(scale * boxes, [])
        assert (table.shape, len(table), n_lost) == ((4, 4), 16, 0)


# RapidTable#27
def test_two_ragged_texts_in_each_row() -> None:
    words = [
        make_word("Name of it", 10, 10),
        make_word("12", 110, 11),
        make_word("Total", 12, 30),
        make_word("1234567", 92, 31),
    ]
    result = recognize(np.full((60, 200, 3), 255, np.uint8), words, layout="table")
    assert [table.to_grid() for table in result.tables] == [[["Name of it", "12"], ["Total", "1234567"]]]


# surya#372
def test_rows_of_4_pixels() -> None:
    table, n_lost = recognize_cells(even_layout(plain_table(12, 4), 40, 4).boxes, [])
    assert (table.shape, len(table), n_lost) == ((12, 4), 48, 0)


# PaddleOCR#9324
def test_one_row_whose_tops_differ_by_18_pixels() -> None:
    boxes = [[60 * i, 60 * r + 6 * i, 60 * i + 60, 60 * r + 60] for r in range(2) for i in range(4)]
    table, n_lost = recognize_cells(boxes, [])
    assert (table.shape, n_lost) == ((2, 4), 0)


# PaddleOCR#9324
@pytest.mark.parametrize("degrees", [-3, 1, 3])
def test_slight_tilt(degrees: float) -> None:
    layout = even_layout(plain_table(6, 8), 70, 28, 60, 60)
    image = draw_layout(layout, 2, margin=60)
    quads = write(image, layout, text="{}.5")
    words = [Word(f"{i}.5", array_to_quad(quad)) for i, quad in enumerate(turn_quads(quads, degrees, image))]
    [table] = recognize(turn_image(image, degrees), words).tables
    assert [cell.text for cell in table.cells] == [word.text for word in words]
    assert table.shape == (6, 8)


# PaddleX#3783
def test_text_of_which_60_percent_is_inside_a_cell() -> None:
    table, n_lost = recognize_cells([[0, 0, 100, 20]], [Word("kept", box_quad(76, 5, 116, 15))])
    assert (table.to_grid(), n_lost) == ([["kept"]], 0)


# unstructured#3523
@pytest.mark.parametrize("text", ["x<b", "p<0.05 & q", "<script>alert(1)</script>", "</td></table>", "&amp;"])
def test_text_is_not_markup(text: str) -> None:
    assert html_cells(table_to_html(Table.from_texts([[text, "after"]]))) == [[text, "after"]]
    assert sheet_values([text, "after"]) == [[text, "after"]]


@pytest.mark.parametrize("text", ["=1+1", "+1+1", "@SUM(A1)", '=HYPERLINK("http://x")'])
def test_text_is_no_formula(text: str) -> None:
    buffer = BytesIO()
    tables_to_workbook([Table.from_texts([[text]])]).save(buffer)
    cell = openpyxl.load_workbook(buffer).active["A1"]
    assert (cell.value, cell.data_type) == (text, "s")


# markdown-exporter#90
def test_amounts_are_numbers_and_article_numbers_are_not() -> None:
    assert sheet_values(["00123", "12.5", "1,234", "12%"]) == [["00123", 12.5, 1234, 0.12]]


# img2table#167
def test_spans_that_overlap_are_refused() -> None:
    with pytest.raises(TableError, match="share row 0, column 1"):
        Table([Cell(0, 0, rowspan=3), Cell(0, 1, rowspan=3), Cell(0, 1, colspan=2)])


def test_control_characters(tmp_path: Path) -> None:
    table = Table.from_texts([["a\x00b\x07", "c\x1fd"]])
    write_excel([table], tmp_path / "out.xlsx")
    assert [cell.value for cell in openpyxl.load_workbook(tmp_path / "out.xlsx").active[1]] == ["ab", "cd"]
    assert html_cells(table_to_html(table)) == [["ab", "cd"]]


# PaddleX#3760
def test_cuda_is_gpu_and_other_names_say_what_to_write() -> None:
    with pytest.warns(UserWarning, match="gpu"):
        assert str(parse_device("cuda")) == "gpu"
    for text in ("mps", ""):
        with pytest.raises(SettingsError, match="cpu"):
            parse_device(text)


def test_two_tables_are_two_sheets_of_one_file(tmp_path: Path) -> None:
    write_excel([Table.from_texts([["a"]]), Table.from_texts([["b"]])], tmp_path / "out.xlsx")
    workbook = openpyxl.load_workbook(tmp_path / "out.xlsx")
    assert [sheet["A1"].value for sheet in workbook] == ["a", "b"]
