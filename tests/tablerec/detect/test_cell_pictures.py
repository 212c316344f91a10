from __future__ import annotations

from collections.abc import Callable

import cv2
import numpy as np
import pytest

from postprocess.export import html_to_tables, tables_to_html, tables_to_workbook
from postprocess.table import Table
from postprocess.word import Word, Words
from tablerec import Recognizer, Settings
from tablerec.detect.cell_pictures import MAX_SIDE, add_pictures
from tests.helpers.drawing import Drawing, Filling, Look, draw_nested, draw_table

Paint = Callable[[np.ndarray], None]
NONE = np.zeros((0, 4))
LOOK = Look(widths=(80, 200, 80), heights=(30, 120, 30))
ROWS = [["Part", "Picture", "Price"], ["Bolt", "", "1.20"], ["Nut", "none", "0.35"]]
CELL = np.s_[50:170, 100:300]
"""The cell in the middle, in pixels of the drawing."""


def photograph(area: np.ndarray) -> None:
    height, width = area.shape[:2]
    noise = np.random.default_rng(0).integers(0, 255, (height // 8 + 1, width // 8 + 1, 3)).astype(np.uint8)
    area[:] = cv2.resize(noise, (width, height), interpolation=cv2.INTER_CUBIC)


def logo(area: np.ndarray) -> None:
    height, width = area.shape[:2]
    cv2.circle(area, (width // 2, height // 2), min(height, width) // 2 - 1, (180, 60, 20), -1)
    cv2.rectangle(area, (width // 3, height // 3), (2 * width // 3, 2 * height // 3), (255, 255, 255), -1)


def draw(paint: Paint, place: tuple[slice, slice], text: str = "") -> Drawing:
    rows = [list(row) for row in ROWS]
    rows[1][1] = text
    drawing = draw_table(rows, LOOK)
    paint(drawing.image[CELL][place])
    return drawing


def read(drawing: Drawing) -> Table:
    recognizer = Recognizer(Settings(ocr="none", cell_pictures=True, layout="table"))
    [table] = recognizer.recognize(drawing.image, drawing.words).pages[0].tables
    return table


def pictures_of(table: Table) -> dict[tuple[int, int], int]:
    return {(cell.row, cell.col): len(cell.pictures) for cell in table.cells if cell.pictures}


def test_no_tables_and_no_cells() -> None:
    blank = np.full((50, 50, 3), 255, np.uint8)
    assert add_pictures([], blank, Words(), NONE) == []
    assert add_pictures([Table([])], blank, Words(), NONE) == [Table([])]


@pytest.mark.parametrize("paint", [photograph, logo])
@pytest.mark.parametrize("place", [np.s_[20:100, 60:140], np.s_[12:108, 12:188], np.s_[40:80, 120:180]])
def test_a_picture_in_a_cell_is_cut_out_where_it_lies(paint: Paint, place: tuple[slice, slice]) -> None:
    drawing = draw(paint, place)
    table = read(drawing)
    assert pictures_of(table) == {(1, 1): 1}
    [picture] = table[1, 1].pictures
    assert picture.quad is not None
    (x0, y0), _, (x1, y1), _ = picture.quad
    found = cv2.imdecode(np.frombuffer(picture.png, np.uint8), cv2.IMREAD_COLOR)
    assert (found == drawing.image[int(y0) : int(y1), int(x0) : int(x1)]).all()
    top, left = 50 + place[0].start, 100 + place[1].start
    side = min(place[0].stop - place[0].start, place[1].stop - place[1].start)
    assert abs(y0 - top) <= side / 8 and x0 >= left - 8 and y1 - y0 >= 0.8 * side


def test_a_photograph_that_fills_its_cell() -> None:
    assert pictures_of(read(draw(photograph, np.s_[1:119, 1:199]))) == {(1, 1): 1}


def test_text_beside_a_picture_stays_text() -> None:
    table = read(draw(logo, np.s_[20:100, 110:190], text="M6 steel"))
    assert pictures_of(table) == {(1, 1): 1} and table[1, 1].text == "M6 steel"


def test_what_was_read_in_a_picture_is_no_text_unless_it_is_sure() -> None:
    drawing = draw(logo, np.s_[20:100, 60:140])
    for score, text, reasons in [(0.5, "", ["it lies in a picture"]), (0.95, "O", [])]:
        word = Word("O", ((185, 90), (215, 90), (215, 110), (185, 110)), score)
        recognizer = Recognizer(Settings(ocr="none", cell_pictures=True, layout="table"))
        [page] = recognizer.recognize(drawing.image, [*drawing.words, word]).pages
        assert page.tables[0][1, 1].text == text and len(page.tables[0][1, 1].pictures) == 1
        assert [item.reason for item in page.unplaced] == reasons


def test_a_table_in_a_cell_is_no_picture() -> None:
    drawing = draw_nested([["Part", "Details"], ["A-17", ""]], {(1, 1): Filling([[["x", "y"], ["1", "2"]]])})
    table = read(drawing)
    assert len(table[1, 1].tables) == 1 and pictures_of(table) == {}


def fill(area: np.ndarray) -> None:
    area[:] = (200, 230, 160)


def stroke(area: np.ndarray) -> None:
    cv2.line(area, (0, 0), (area.shape[1] - 1, area.shape[0] - 1), (0, 0, 0), 1)


def letters(area: np.ndarray) -> None:
    for y in range(14, area.shape[0], 20):
        cv2.putText(area, "Letters not read", (4, y), cv2.FONT_HERSHEY_SIMPLEX, 0.45, (0, 0, 0), 1, cv2.LINE_AA)


def tick(area: np.ndarray) -> None:
    cv2.rectangle(area, (50, 50), (62, 62), (0, 0, 0), 2)


@pytest.mark.parametrize("paint", [fill, stroke, letters, tick])
def test_fills_strokes_and_letters_are_no_pictures(paint: Paint) -> None:
    assert pictures_of(read(draw(paint, np.s_[10:110, 10:190]))) == {}


def test_pictures_are_looked_for_when_asked_for() -> None:
    drawing = draw(logo, np.s_[20:100, 60:140])
    [table] = Recognizer(Settings(ocr="none")).recognize(drawing.image, drawing.words).pages[0].tables
    assert pictures_of(table) == {}


def test_a_large_picture_is_reduced() -> None:
    image = np.full((1500, 1500, 3), 255, np.uint8)
    photograph(image[100:1400, 100:1400])
    [table] = add_pictures([Table([cell_of(0, 0, 1500, 1500)])], image, Words(), NONE)
    [picture] = table[0, 0].pictures
    assert max(cv2.imdecode(np.frombuffer(picture.png, np.uint8), cv2.IMREAD_COLOR).shape[:2]) == MAX_SIDE


def test_where_a_pdf_has_a_picture_it_is_taken_as_it_lies() -> None:
    image = np.full((200, 200, 3), 255, np.uint8)
    cv2.circle(image, (100, 100), 30, (0, 0, 0), -1)
    areas = np.array([[60.0, 60.0, 150.0, 140.0], [0.0, 0.0, 200.0, 200.0]])
    [table] = add_pictures([Table([cell_of(10, 10, 190, 190)])], image, Words(), areas)
    assert [each.quad for each in table[0, 0].pictures] == [((60, 60), (150, 60), (150, 140), (60, 140))]


def test_html_and_workbook_hold_the_picture() -> None:
    table = read(draw(logo, np.s_[20:100, 60:140]))
    [back] = html_to_tables(tables_to_html([table]))
    assert [each.png for each in back[1, 1].pictures] == [each.png for each in table[1, 1].pictures]
    [picture] = tables_to_workbook([table])["Table 1"]._images
    assert (picture.anchor._from.row, picture.anchor._from.col) == (1, 1)


def cell_of(x0: float, y0: float, x1: float, y1: float):  # type: ignore[no-untyped-def]
    from postprocess.cell import Cell

    return Cell(0, 0, quad=((x0, y0), (x1, y0), (x1, y1), (x0, y1)))
