"""Any words on any grid: each character once, each word in its own cell where that is still determined.

``WORDS_EXAMPLES=10000`` sets the number of cases.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable

import numpy as np
import shapely
from hypothesis import given, settings
from hypothesis import strategies as st

from postprocess.cell import Cell
from postprocess.geometry.boxes import array_to_quad, boxes_to_quads, quads_to_polygons, rotate_points
from postprocess.table import Table
from postprocess.text.assignment import words_to_cells, words_to_table
from postprocess.text.splitting import split_words
from postprocess.word import Word, Words
from tests.helpers.layouts import Layout, box_quad, layouts, turn_word

MANY = settings(max_examples=int(os.environ.get("WORDS_EXAMPLES", "80")), deadline=None)
ANGLES = st.sampled_from([0.0, 90.0, 180.0, -90.0]) | st.floats(-180, 180)
TEXTS = st.sampled_from(["net", "Umsatz", "12.5", "1,234", "(5.2)", "$7", "12%", "表格", "净利润", "kg"])
GRIDS = layouts(widths=(70, 160), heights=(16, 60))


def characters(texts: Iterable[str]) -> Counter[str]:
    return Counter("".join("".join(text.split()) for text in texts))


@st.composite
def one_word_a_cell(draw: st.DrawFn, layout: Layout, share: float) -> list[Word]:
    """A word in the middle of each cell, moved until up to a share of it hangs over one side of the cell."""
    words = []
    for x0, y0, x1, y1 in layout.boxes.tolist():
        text, height = draw(TEXTS), 12.0
        width = height * len(text) * (0.9 if text > "一" else 0.55)
        # Ideographs may be cut between any two, so less of them may hang over.
        over = draw(st.floats(0, share / 2 if text > "一" else share))
        side = draw(st.sampled_from(["none", "left", "right", "top", "bottom"])) if share else "none"
        x, y = (x0 + x1 - width) / 2, (y0 + y1 - height) / 2
        x = {"left": x0 - over * width, "right": x1 - (1 - over) * width}.get(side, x)
        y = {"top": y0 - over * height, "bottom": y1 - (1 - over) * height}.get(side, y)
        words.append(
            Word(text, box_quad(x, y, x + width, y + height), char_spans=Word(text, box_quad(0, 0, 1, 1)).spans())
        )
    return words


@MANY
@given(GRIDS, ANGLES, st.data())
def test_word_that_hangs_over_a_border_up_to_40_percent_is_in_its_own_cell(
    layout: Layout, degrees: float, data: st.DataObject
) -> None:
    words = data.draw(one_word_a_cell(layout, 0.4))
    quads = [array_to_quad(quad) for quad in rotate_points(boxes_to_quads(layout.boxes), degrees)]
    table = Table([Cell(c.row, c.col, c.rowspan, c.colspan, q) for c, q in zip(layout.table.cells, quads, strict=True)])
    filled, unplaced = words_to_table(table, [turn_word(word, degrees) for word in words])
    assert unplaced == []
    assert [cell.text for cell in filled.cells] == [word.text for word in words]


@MANY
@given(GRIDS, ANGLES, st.floats(0, 0.9), st.floats(0, 0.3), st.data())
def test_every_character_is_once_in_a_cell_or_unplaced(
    layout: Layout, degrees: float, share: float, jitter: float, data: st.DataObject
) -> None:
    words = [turn_word(word, degrees) for word in data.draw(one_word_a_cell(layout, share))]
    random = np.random.default_rng(data.draw(st.integers(0, 99)))
    boxes = layout.boxes + jitter * 16 * random.uniform(-1, 1, layout.boxes.shape)
    quads = [array_to_quad(quad) for quad in rotate_points(boxes_to_quads(boxes), degrees)]
    missing = data.draw(st.integers(0, 9))
    cells = [
        Cell(c.row, c.col, c.rowspan, c.colspan, None if index % 10 == missing else quad)
        for index, (c, quad) in enumerate(zip(layout.table.cells, quads, strict=True))
    ]
    filled, unplaced = words_to_table(Table(cells), words)
    written = [cell.text for cell in filled.cells] + [item.word.text for item in unplaced]
    assert characters(written) == characters(word.text for word in words)
    assert all(item.word in words and item.reason for item in unplaced)


@MANY
@given(GRIDS, ANGLES)
def test_two_numbers_read_as_one_word_come_apart_at_the_border_between_them(layout: Layout, degrees: float) -> None:
    turned = [array_to_quad(quad) for quad in rotate_points(boxes_to_quads(layout.boxes), degrees)]
    for left, (_, y0, x1, y1) in enumerate(layout.boxes.tolist()):
        right = [
            i
            for i, box in enumerate(layout.boxes.tolist())
            if box[0] == x1 and box[1] + 3 <= (y0 + y1) / 2 <= box[3] - 3
        ]
        if right:
            word = turn_word(
                Word("1,234 5,678", box_quad(x1 - 33, (y0 + y1) / 2 - 5, x1 + 33, (y0 + y1) / 2 + 5)), degrees
            )
            pieces, unplaced = words_to_cells([word], turned)
            assert unplaced == []
            assert [[part.text for part in pieces[index]] for index in (left, *right)] == [["1,234"], ["5,678"]]


@MANY
@given(GRIDS, ANGLES, st.data())
def test_cells_drawn_too_small_still_get_their_words(layout: Layout, degrees: float, data: st.DataObject) -> None:
    words = data.draw(one_word_a_cell(layout, 0.0))
    shrink = data.draw(st.floats(0, 0.25)) * np.minimum(*(layout.boxes[:, 2:] - layout.boxes[:, :2]).T)[:, None]
    quads = rotate_points(boxes_to_quads(layout.boxes + shrink * np.array([1, 1, -1, -1])), degrees)
    cells = [
        Cell(c.row, c.col, c.rowspan, c.colspan, array_to_quad(q))
        for c, q in zip(layout.table.cells, quads, strict=True)
    ]
    filled, unplaced = words_to_table(Table(cells), [turn_word(word, degrees) for word in words])
    assert unplaced == []
    assert [cell.text for cell in filled.cells] == [word.text for word in words]


@MANY
@given(GRIDS, ANGLES, st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1), TEXTS), max_size=6), st.integers(0, 99))
def test_words_are_split_alike_alone_and_together(
    layout: Layout, degrees: float, places: list[tuple[float, float, str]], seed: int
) -> None:
    areas = quads_to_polygons(rotate_points(boxes_to_quads(layout.boxes), degrees))
    tree = shapely.STRtree(areas)
    start, size = np.array([layout.xs[0], layout.ys[0]]), np.array([np.ptp(layout.xs), np.ptp(layout.ys)])
    corners = [(start + size * (u, v), text) for u, v, text in places]
    words = Words(
        turn_word(Word(f"{text} {text}", box_quad(x - 30, y - 6, x + 30, y + 6)), degrees) for (x, y), text in corners
    )
    random = np.random.default_rng(seed)
    owner = random.integers(0, len(areas), 4)
    whole = shapely.get_coordinates(shapely.centroid(areas[owner])) + random.uniform(-5, 5, (4, 2))
    alone = [split_words(Words([word]), areas, tree, whole, owner)[0] for word in words]
    assert split_words(words, areas, tree, whole, owner) == alone
