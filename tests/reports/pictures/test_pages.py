"""Tables over pages, and tables in tables."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import openpyxl
import PIL.Image
import pytest

from postprocess.word import Word
from tablerec import PageImage, Recognizer, Result, Settings, save
from tests.helpers.drawing import Look, Read, draw_table, move_word, table_to_spans

HEAD = ["Item", "Plan", "Real"]
WIDTHS = (110, 80, 80)


def body(start: int, end: int) -> list[list[str]]:
    return [[f"Item no {r}", f"{r}1.50", f"{r}2.75"] for r in range(start, end)]


@pytest.mark.parametrize("header", ["once", "twice"])
@pytest.mark.parametrize("rules", ["all", "none"])
def test_both_pages_of_a_table_have_the_same_columns(read: Read, header: str, rules: str) -> None:
    look = Look(rules=rules, aligns="lrr", widths=WIDTHS)
    first = draw_table([HEAD, *body(1, 7)], look)
    second = draw_table(([HEAD] if header == "twice" else []) + body(7, 12), look)
    found = [read(part.image, part.words).tables for part in (first, second)]
    assert [[table_to_spans(table) for table in tables] for tables in found] == [[first.spans], [second.spans]]
    [above], [below] = found
    assert above.n_header_rows == 1
    assert below.n_header_rows == (header == "twice")


# MinerU#5474
def test_cell_cut_by_the_page_break_loses_no_line(read: Read) -> None:
    look = Look(aligns="lr", widths=(160, 80))
    first = draw_table([["Name", "Sum"], ["a text that\nbegins here", "1.50"]], look)
    second = draw_table([["and ends\non this page", ""], ["more", "2.50"]], look)
    texts = [cell.text for part in (first, second) for cell in read(part.image, part.words).tables[0].cells]
    assert texts == ["Name", "Sum", "a text that\nbegins here", "1.50", "and ends\non this page", "", "more", "2.50"]


# docling#1470
def test_continuation_without_one_column_keeps_its_rows(read: Read) -> None:
    """The last column has no value on the second page, but its rules are drawn."""
    second = draw_table([[*row, ""] for row in body(7, 11)], Look(aligns="lrrr", widths=(*WIDTHS, 60)))
    [table] = read(second.image, second.words).tables
    assert table_to_spans(table) == second.spans


def test_all_pages_of_a_file_are_read(tmp_path: Path) -> None:
    parts = [draw_table([HEAD, *body(1, 5)]), draw_table(body(5, 9)), draw_table(body(9, 11))]
    pictures = [PIL.Image.fromarray(part.image[..., ::-1]) for part in parts]
    pictures[0].save(tmp_path / "in.tif", save_all=True, append_images=pictures[1:])
    result = Recognizer(Settings(ocr="none", layout="table")).recognize(tmp_path / "in.tif")
    assert [page.picture.number for page in result.pages] == [1, 2, 3]
    assert [table.shape for table in result.tables] == [(5, 3), (4, 3), (2, 3)]


@pytest.mark.parametrize("header", ["once", "twice"])
@pytest.mark.parametrize("rules", ["all", "none"])
def test_pages_joined(header: str, rules: str) -> None:
    look = Look(rules=rules, aligns="lrr", widths=WIDTHS)
    again = [HEAD] if header == "twice" else []
    parts = [draw_table([HEAD, *body(1, 7)], look), draw_table([*again, *body(7, 12)], look)]
    recognizer = Recognizer(Settings(ocr="none", layout="table"))
    pages = [recognizer.recognize(PageImage("in.pdf", 1, part.image, tuple(part.words))).pages[0] for part in parts]
    [table] = Result("in.pdf", tuple(pages), join_pages=True).tables
    assert table.to_grid() == [HEAD, *body(1, 12)]
    assert table.n_header_rows == 1


def test_each_page_is_a_sheet_of_one_workbook(tmp_path: Path) -> None:
    recognizer = Recognizer(Settings(ocr="none", layout="table"))
    parts = [draw_table([HEAD, *body(1, 5)]), draw_table(body(5, 9))]
    pages = [
        recognizer.recognize(PageImage("in.pdf", number, part.image, tuple(part.words))).pages[0]
        for number, part in enumerate(parts, 1)
    ]
    save(Result("in.pdf", tuple(pages)), tmp_path / "out.xlsx")
    sheets = openpyxl.load_workbook(tmp_path / "out.xlsx").worksheets
    assert [(sheet.max_row, sheet.max_column) for sheet in sheets] == [(5, 3), (4, 3)]
    assert sheets[1]["A4"].value == "Item no 8"


def nested() -> tuple[np.ndarray, list[Word]]:
    """A table whose middle cell holds a table of 2 x 2."""
    outer = draw_table(
        [["a", "b", "c"], ["d", "", "f"], ["g", "h", "i"]], Look(widths=(60, 180, 60), heights=(30, 110, 30))
    )
    inner = draw_table([["w", "x"], ["y", "z"]], Look(widths=(50, 50), heights=(28, 28), margin=0))
    image = outer.image.copy()
    height, width = inner.image.shape[:2]
    left, top = 20 + 60 + 40, 20 + 30 + 26
    patch = np.full((height + 2, width + 2, 3), 255, np.uint8)
    patch[:height, :width] = inner.image
    patch[height - 1], patch[:, width - 1] = 0, 0
    image[top : top + height, left : left + width] = patch[:height, :width]
    return image, outer.words + [move_word(word, left, top) for word in inner.words]


# MinerU#3717
@pytest.mark.parametrize("layout", ["page", "table"])
def test_nested_table_loses_no_word(read: Read, layout: str) -> None:
    image, words = nested()
    page = read(image, words, layout)
    outermost = [cell for table in page.tables for cell in table.cells]
    inner = [each for cell in outermost for table in cell.tables for each in table.cells]
    texts = "".join(cell.text for cell in outermost + inner)
    texts += "".join(item.word.text for item in page.unplaced)
    assert sorted(texts.replace("\n", "").replace(" ", "")) == sorted("abcdfghiwxyz")


# pdf_oxide#226
def test_nested_table_is_a_table_of_its_own(read: Read) -> None:
    image, words = nested()
    [outer] = read(image, words).tables
    [inner] = outer[1, 1].tables
    assert inner.to_grid() == [["w", "x"], ["y", "z"]]
    assert outer.to_grid() == [["a", "b", "c"], ["d", "", "f"], ["g", "h", "i"]]
