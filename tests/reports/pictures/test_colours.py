"""Coloured, dark and shaded tables."""

from __future__ import annotations

import numpy as np
import pytest

from tests.helpers.drawing import BLACK, WHITE, Look, Read, draw_table, table_to_spans

ROWS = [["Item", "Plan", "Real", "Note"], *[[f"Item no {r}", f"{r}1.50", f"{r}2.75", "good"] for r in range(1, 7)]]
GREY, PALE, BLUE, NIGHT = (200, 200, 200), (236, 240, 246), (40, 90, 170), (24, 26, 32)
ZEBRA = dict.fromkeys(range(1, 7, 2), PALE)
DARK_ZEBRA = dict.fromkeys(range(1, 7, 2), (44, 48, 58))
LOOKS = {
    "blue header without rules": Look(rules="none", gap=14, fills={0: BLUE}, inks={0: WHITE}),
    "zebra with rules": Look(fills=ZEBRA),
    "zebra without rules": Look(rules="none", gap=14, fills=ZEBRA),
    "strong zebra": Look(rules="none", gap=14, fills=dict.fromkeys(range(1, 7, 2), GREY)),
    "light grey rules on grey": Look(ground=(225, 225, 225), line=(205, 205, 205)),
    "pale rules on white": Look(line=(226, 226, 226)),
    "white rules on grey": Look(ground=(215, 220, 228), line=WHITE, thickness=2),
    "white on black": Look(ground=BLACK, line=WHITE, ink=WHITE),
    "dark theme": Look(ground=NIGHT, line=(70, 74, 84), ink=(220, 222, 228)),
    "dark without rules": Look(rules="none", gap=14, ground=BLACK, ink=WHITE),
    "dark zebra": Look(rules="none", gap=14, ground=NIGHT, ink=WHITE, fills=DARK_ZEBRA),
    "red rules": Look(line=(200, 30, 30)),
    "yellow rules": Look(line=(235, 200, 40)),
    "green rules on green": Look(ground=(225, 242, 225), line=(120, 180, 120)),
    "rules as dark as their ground": Look(ground=(90, 140, 90), line=(150, 60, 60)),
    "white half and black half": Look(
        fills=dict.fromkeys(range(4, 7), BLACK), inks=dict.fromkeys(range(4, 7), WHITE), line=(128, 128, 128)
    ),
}


# camelot#386, camelot#195, atlanhq/camelot#147
@pytest.mark.parametrize("look", LOOKS.values(), ids=LOOKS)
def test_colours(read: Read, look: Look) -> None:
    drawing = draw_table(ROWS, look)
    [table] = read(drawing.image, drawing.words).tables
    assert table_to_spans(table) == drawing.spans


# camelot#314
@pytest.mark.parametrize("layout", ["page", "table"])
@pytest.mark.parametrize(
    "row",
    [0, 3],
)
def test_black_row_that_hides_its_rules(read: Read, row: int, layout: str) -> None:
    drawing = draw_table(ROWS, Look(fills={row: BLACK}, inks={row: WHITE}))
    [table] = read(drawing.image, drawing.words, layout).tables
    assert table_to_spans(table) == drawing.spans


# img2table#163
@pytest.mark.parametrize("look", [Look(), Look(rules="none", gap=14)], ids=["ruled", "lineless"])
def test_negative_gives_the_same_table(read: Read, look: Look) -> None:
    drawing = draw_table(ROWS, look)
    [table] = read(255 - drawing.image, drawing.words).tables
    assert table_to_spans(table) == drawing.spans


@pytest.mark.parametrize("strength", [0.3, 0.6])
def test_shadow_over_half_of_the_table(read: Read, strength: float) -> None:
    drawing = draw_table(ROWS)
    width = drawing.image.shape[1]
    shade = 1 - strength / (1 + np.exp(-(np.arange(width) - width / 2) / 12))
    image = (drawing.image * shade[None, :, None]).astype(np.uint8)
    [table] = read(image, drawing.words).tables
    assert table_to_spans(table) == drawing.spans


@pytest.mark.parametrize("empty", [None, 1, 2])
def test_columns_parted_by_colour_alone(read: Read, empty: int | None) -> None:
    rows = [["" if c == empty else f"{r}{c}5" for c in range(4)] for r in range(6)]
    drawing = draw_table(rows, Look(rules="none", gap=14))
    for col in (1, 3):
        (x0, y0), (x1, bottom) = (map(int, drawing.table[row, col].quad[corner]) for row, corner in ((0, 0), (5, 2)))
        block = drawing.image[y0:bottom, x0:x1]
        block[...] = np.minimum(block, (230, 235, 205))
    [table] = read(drawing.image, drawing.words, "table").tables
    assert table_to_spans(table) == drawing.spans
