"""Merged cells lost, invented, or with the wrong boundary."""

from __future__ import annotations

import numpy as np
import pytest

from postprocess.geometry.boxes import boxes_to_quads
from postprocess.table import Table
from tablerec.detect import Detection
from tests.helpers.drawing import Look, Read, draw_table, fails, table_to_spans

RULED = {
    "one of each": [["a", "b", "<", "c"], ["d", "e", "f", "^"], ["g", "h", "<", "i"], ["j", "^", "<", "k"]],
    "four and two of six": [
        ["Costs", "<", "<", "<", "Sales", "<"],
        ["q1", "q2", "q3", "q4", "h1", "h2"],
        [*"123456"],
        ["first four", "<", "<", "<", "last", "<"],
    ],
    "unit over three columns": [
        ["Name", "mg/l", "<", "<", "pH"],
        ["^", "min", "mean", "max", "^"],
        ["Well", "1.2", "2.3", "3.4", "7.1"],
    ],
    "three levels of rows": [
        ["Land", "Farm", "Wet", "12"],
        ["^", "^", "Dry", "34"],
        ["^", "Forest", "Dense", "56"],
        ["^", "^", "Open", "78"],
        ["Water", "River", "<", "90"],
    ],
    "empty cells between merged columns": [
        ["7", "", "", "", "8"],
        ["^", "", "", "", "^"],
        ["^", "", "", "", "^"],
        ["^", "", "", "", "^"],
        ["a", "b", "c", "d", "e"],
    ],
    "two short rows beside a tall cell": [["East", "Jilin", "1"], ["^", "Hebei", "2"], ["South", "Hainan", "3"]],
    "one cell over six rows": [["All", "1"], ["^", "2"], ["^", "3"], ["^", "4"], ["^", "5"], ["^", "6"]],
    "four tall headers and two split ones": [
        ["a", "b", "c", "d", "left", "<", "right", "<"],
        ["^", "^", "^", "^", "x", "y", "x", "y"],
        [*"12345678"],
    ],
    "timetable": [
        ["", "Mo", "Tu", "We"],
        ["8", "Maths", "Art", "Sport"],
        ["9", "^", "Music", "<"],
        ["10", "Lunch", "<", "<"],
        ["11", "French", "Physics", "Maths"],
    ],
    "pinwheel": [["a", "<", "b"], ["c", "d", "^"], ["^", "e", "<"]],
}


# PaddleOCR#17118, MinerU#2701, docling#207, marker#956, unstructured-inference PR#203
@pytest.mark.parametrize("rows", RULED.values(), ids=RULED)
def test_ruled_spans(read: Read, rows: list[list[str]]) -> None:
    drawing = draw_table(rows)
    [table] = read(drawing.image, drawing.words, "table").tables
    assert table_to_spans(table) == drawing.spans


LINELESS = {
    "groups": [
        ["", "2024", "<", "2025", "<"],
        ["Item", "Plan", "Real", "Plan", "Real"],
        ["Tea", "1.20", "3.40", "5.60", "7.80"],
        ["Coffee", "12.00", "13.40", "14.50", "15.60"],
        ["Cocoa", "2.00", "3.40", "4.50", "5.60"],
    ],
    "four and two of six": [
        ["Costs by quarter", "<", "<", "<", "Sales", "<"],
        ["q1 cost", "q2 cost", "q3 cost", "q4 cost", "h1 sale", "h2 sale"],
        ["1.25", "2.35", "3.45", "4.55", "5.65", "6.75"],
        ["1.26", "2.36", "3.46", "4.56", "5.66", "6.76"],
        ["1.27", "2.37", "3.47", "4.57", "5.67", "6.77"],
    ],
    "tall headers": [
        ["Item", "2024", "<", "Note"],
        ["^", "Plan", "Real", "^"],
        ["Tea", "1.20", "3.40", "cold"],
        ["Coffee", "12.00", "13.40", "hot"],
        ["Cocoa", "2.00", "3.40", "hot"],
    ],
    "tall labels": [
        ["Region", "City", "Men"],
        ["North", "York", "12.5"],
        ["^", "Leeds", "13.5"],
        ["South", "Bath", "14.5"],
        ["^", "Dover", "15.5"],
    ],
}


NONE = "no candidate has the spans"


# PaddleOCR#18128, docling#3698, MinerU#4020
@pytest.mark.parametrize(
    ("name", "rules"),
    [
        ("groups", "head"),
        ("groups", "rows"),
        ("groups", "none"),
        fails("four and two of six", "rows", reason=NONE),
        fails("four and two of six", "head", reason=NONE),
        fails("four and two of six", "none", reason=NONE),
        ("tall headers", "rows"),
        ("tall headers", "head"),
        fails("tall headers", "none", reason=NONE),
        ("tall labels", "rows"),
        ("tall labels", "none"),
    ],
)
def test_spans_without_upright_rules(read: Read, name: str, rules: str) -> None:
    rows = LINELESS[name]
    drawing = draw_table(rows, Look(rules=rules, aligns="l" + "r" * (len(rows[0]) - 1), gap=12))
    [table] = read(drawing.image, drawing.words).tables
    assert table_to_spans(table) == drawing.spans


# docling#2756
def test_rows_of_12_and_80_pixels_with_spans(read: Read) -> None:
    rows = [["Dense", "columns", "<"], ["a", "b", "c"], ["d", "<", "e"], ["tall", "f", "g"], ["^", "h", "i"]]
    drawing = draw_table(rows, Look(size=9, leading=0.5, heights=(12, 12, 80, 12, 12)))
    [table] = read(drawing.image, drawing.words, "table").tables
    assert table_to_spans(table) == drawing.spans


# surya#372
def test_thin_rows_are_not_merged(read: Read) -> None:
    drawing = draw_table([[f"row {i}", str(7 * i), "x"] for i in range(25)], Look(size=9, heights=[12] * 25))
    [table] = read(drawing.image, drawing.words, "table").tables
    assert table_to_spans(table) == drawing.spans


# img2table#202
@pytest.mark.parametrize("share", [0.2, 0.4])
def test_broken_line_invents_no_span(read: Read, share: float) -> None:
    drawing = draw_table([[f"c{r}{c}" for c in range(4)] for r in range(4)], Look(gap=20))
    first = drawing.table[1, 1].quad
    (x0, y0), (x1, y1) = first[1], first[2]
    assert x0 == x1
    middle, half = (y0 + y1) / 2, share * (y1 - y0) / 2
    drawing.image[int(middle - half) : int(middle + half), int(x0) - 1 : int(x0) + 2] = 255
    [table] = read(drawing.image, drawing.words, "table").tables
    assert table_to_spans(table) == drawing.spans


# MinerU#3894
def test_red_marks_over_the_table_are_no_rules(read: Read) -> None:
    drawing = draw_table([["a", "b", "<"], ["c", "d", "e"], ["f", "g", "h"]], Look(gap=24, leading=12))
    x0, x1 = (int(drawing.table[1, col].quad[0][0]) for col in (1, 2))
    y0 = int(drawing.table[1, 1].quad[0][1])
    drawing.image[y0 + 9 : y0 + 11, x0 - 12 : x1 - 10] = (0, 0, 255)
    drawing.image[y0 + 20 : y0 + 60, x0 + 25 : x0 + 27] = (0, 0, 255)
    [table] = read(drawing.image, drawing.words, "table").tables
    assert table_to_spans(table) == drawing.spans


def boxes_to_table(boxes: np.ndarray, scores: np.ndarray) -> tuple[Table, int]:
    candidate = Detection(boxes_to_quads(boxes), scores, "test").to_candidate()
    table, dropped = candidate.to_table(), candidate.dropped
    return table, len(dropped)


# surya#332
@pytest.mark.parametrize("seed", range(5))
def test_overlapping_boxes_give_the_grid_of_the_sure_ones(seed: int) -> None:
    rng = np.random.default_rng(seed)
    sure = np.array([[60 * c, 24 * r, 60 * c + 60, 24 * r + 24] for r in range(5) for c in range(4)], np.float64)
    doubtful = sure[rng.permutation(20)[:12]] + rng.uniform(-10, 10, (12, 4)) * (1, 0.4, 1, 0.4)
    table, n_dropped = boxes_to_table(np.vstack([sure, doubtful]), np.repeat([0.9, 0.4], [20, 12]))
    assert (table.shape, len(table), n_dropped) == ((5, 4), 20, 12)


@pytest.mark.parametrize("seed", range(5))
def test_any_boxes_give_a_table_that_counts_each_of_them(seed: int) -> None:
    rng = np.random.default_rng(seed)
    corner = rng.uniform(0, 200, (40, 2))
    table, n_dropped = boxes_to_table(np.hstack([corner, corner + rng.uniform(1, 120, (40, 2))]), rng.uniform(size=40))
    assert sum(cell.detector_score is not None for cell in table.cells) + n_dropped == 40
