"""Coordinates, confidence and trace-back of each cell."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from postprocess.export import tables_to_json
from postprocess.geometry.boxes import quads_to_array
from tablerec import Result
from tablerec.outputs.files import result_to_json
from tests.helpers.drawing import Look, Read, draw_table, stack, table_to_spans, turn

ROWS = [["Item", "2024", "<"], ["^", "Plan", "Real"], ["Tea", "1.20", "3.40"], ["Coffee", "12.00", "13.40"]]
FLAT = [["Item", "Plan", "Real"], ["Tea", "1.20", "3.40"], ["Coffee", "12.00", "13.40"], ["Milk", "2.00", "3.40"]]


# PaddleOCR#7594, PaddleOCR#9363, MinerU#649, docling-core#732
def test_json_has_place_spans_text_and_scores_of_each_cell(read: Read) -> None:
    drawing = draw_table(ROWS)
    tables = read(drawing.image, drawing.words).tables
    [table] = json.loads(tables_to_json(tables))["tables"]
    cells = table["cells"]
    # A span is one cell, not one for each slot.
    assert len(cells) == len(drawing.spans)
    for cell in cells:
        assert {"row", "col", "rowspan", "colspan", "quad", "text"} <= set(cell)
        assert np.shape(cell["quad"]) == (4, 2)
        assert 0 <= cell["detector_score"] <= 1
        assert 0 <= cell["ocr_score"] <= 1


# PaddleOCR#10134
@pytest.mark.parametrize("scale", [1, 2])
def test_quads_are_whole_cells_not_texts(read: Read, scale: int) -> None:
    drawing = draw_table(ROWS, Look(size=14 * scale, gap=8 * scale, leading=6 * scale, thickness=scale))
    [table] = read(drawing.image, drawing.words).tables
    assert table_to_spans(table) == drawing.spans
    for found, true in zip(table.cells, drawing.table.cells, strict=True):
        assert np.abs(np.subtract(found.quad, true.quad)).max() <= 1.5 * scale


# PaddleOCR#6258, RapidTable#29
@pytest.mark.parametrize("rules", ["head", "none"])
def test_quads_hold_their_words_without_rules_too(read: Read, rules: str) -> None:
    drawing = draw_table(FLAT, Look(rules=rules, aligns="lrr", gap=14))
    [table] = read(drawing.image, drawing.words).tables
    middles = {word.text: np.mean(word.quad, axis=0) for word in drawing.words}
    for cell in table.cells:
        if cell.text != "3.40":
            quad = np.array(cell.quad)
            assert (quad.min(axis=0) < middles[cell.text]).all() and (middles[cell.text] < quad.max(axis=0)).all()


@pytest.mark.parametrize("degrees", [90, 180, 270])
def test_quads_are_in_the_picture_as_given(read: Read, degrees: int) -> None:
    flat = draw_table(ROWS)
    seen = turn(flat, degrees)
    [table] = read(seen.image, seen.words).tables
    assert table_to_spans(table) == flat.spans
    first = np.mean(table[0, 0].quad, axis=0)
    [word] = [word for word in seen.words if word.text == "Item"]
    assert np.abs(first - np.mean(word.quad, axis=0)).max() < 12
    height, width = seen.image.shape[:2]
    corners = quads_to_array([cell.quad for cell in table.cells])
    assert (corners >= -1).all() and (corners <= (width + 1, height + 1)).all()


# PaddleOCR#9644, textractor#295
def test_doubtful_word_gives_its_cell_a_low_score(read: Read) -> None:
    drawing = draw_table(ROWS)
    words = [replace(word, score=0.42 if word.text == "12.00" else 0.97) for word in drawing.words]
    [table] = read(drawing.image, words).tables
    scores = {cell.text: cell.ocr_score for cell in table.cells}
    assert scores.pop("12.00") == pytest.approx(0.42)
    assert [*scores.values()] == pytest.approx([0.97] * len(scores))


def test_score_of_a_cell_weighs_its_words_by_length(read: Read) -> None:
    drawing = draw_table([["ab\nabcdef", "1"], ["x", "2"]])
    words = [replace(word, score=0.4 if word.text == "ab" else 0.8) for word in drawing.words]
    [table] = read(drawing.image, words, "table").tables
    assert table[0, 0].ocr_score == pytest.approx((2 * 0.4 + 6 * 0.8) / 8)


def test_empty_cell_has_a_place_and_no_reader_score(read: Read) -> None:
    drawing = draw_table([["a", "b"], ["c", ""]], Look(gap=15))
    [table] = read(drawing.image, drawing.words, "table").tables
    assert table[1, 1].quad is not None
    assert (table[1, 1].text, table[1, 1].ocr_score) == ("", None)


# RapidTable#29, img2table#116
def test_every_word_can_be_traced(read: Read) -> None:
    first, second = draw_table(ROWS), draw_table(FLAT)
    image, words = stack([first, second], 30)
    page = read(image, words)
    data = json.loads(result_to_json(Result("in.png", (page,))))["pages"][0]
    assert data["n_words"] == len(words)
    assert [len(table["cells"]) for table in data["tables"]] == [len(first.spans), len(second.spans)]
    assert data["unplaced"] == [] and data["dropped"] == []
    [above, below] = [np.array(table["quad"])[:, 1] for table in data["tables"]]
    assert above.max() < below.min()


# img2table#55
def test_streaks_of_a_fax_are_no_table(read: Read) -> None:
    image = np.full((400, 500, 3), 255, np.uint8)
    for y, thick in ((60, 1), (133, 2), (290, 1), (371, 1)):
        image[y : y + thick] = 60
    image[:, 411] = 120
    assert read(image, []).tables == ()


def test_same_picture_gives_the_same_numbers(read: Read) -> None:
    drawing = draw_table(FLAT, Look(rules="none", aligns="lrr", gap=14))
    first, second = (tables_to_json(read(drawing.image, drawing.words).tables) for _ in range(2))
    assert first == second
