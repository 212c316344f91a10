from __future__ import annotations

from dataclasses import replace

import numpy as np

from postprocess.candidates.candidate import quads_to_candidate
from postprocess.candidates.nesting import are_held, find_inner_tables, nest_tables
from postprocess.candidates.scene import Scene, image_to_scene
from postprocess.cell import Cell
from postprocess.geometry.boxes import as_boxes, boxes_to_quads
from postprocess.geometry.rulings import Rulings
from postprocess.table import Table, tables_in
from postprocess.word import Words
from tests.helpers.drawing import Filling, draw_nested
from tests.helpers.layouts import box_quad

INNER = [["x", "y"], ["1", "2"], ["3", "4"]]
DRAWING = draw_nested([["Part", "Details"], ["A-17", ""], ["B-2", "-"]], {(1, 1): Filling([INNER])})


def table_at(x0: float, y0: float, x1: float, y1: float, text: str = "") -> Table:
    """One cell."""
    return Table([Cell(0, 0, text=text, quad=box_quad(x0, y0, x1, y1))])


def test_nothing_is_in_nothing() -> None:
    nothing = Rulings(as_boxes([]), as_boxes([]), 0.0, (0.0, 0.0), 10.0)
    assert find_inner_tables(Scene([], nothing)) == []
    assert are_held([], []).tolist() == []
    assert nest_tables([], []) == []


def test_an_inner_table_is_found_with_its_words_and_what_to_leave_out() -> None:
    [found] = find_inner_tables(image_to_scene(DRAWING.image, Words(DRAWING.words)))
    assert found.candidate.layout.owner.shape == (3, 2)
    assert found.candidate.scene is not None
    assert sorted(word.text for word in found.candidate.scene.words) == ["1", "2", "3", "4", "x", "y"]
    x0, y0, x1, y1 = *found.quad.min(axis=0), *found.quad.max(axis=0)
    left_out = DRAWING.image[round(y0) : round(y1), round(x0) : round(x1)]
    around = DRAWING.image[round(y0) - 3 : round(y1) + 3, round(x0) - 3 : round(x1) + 3]
    assert (left_out == 0).all(axis=2).any() and around[0].min() == 255 == around[-1].min()


def test_what_is_within_an_inner_table_is_held_where_that_one_is() -> None:
    [found] = find_inner_tables(image_to_scene(DRAWING.image, Words(DRAWING.words)))
    deep = replace(found, is_deep=True)
    around = quads_to_candidate(
        boxes_to_quads([[0, 0, 40, 40], [40, 0, 400, 40], [0, 40, 40, 400], [40, 40, 400, 400]])
    )
    assert are_held([found, deep], [around]).tolist() == [True, True]
    assert are_held([found, deep], []).tolist() == are_held([deep, found], []).tolist() == [False, False]


def test_a_grid_without_words_is_no_table() -> None:
    outside = [word for word in DRAWING.words if word.text not in ["x", "y", "1", "2", "3", "4"]]
    assert find_inner_tables(image_to_scene(DRAWING.image, Words(outside))) == []


def test_tables_are_put_into_the_smallest_cell_around_them() -> None:
    large, middle, small = table_at(0, 0, 100, 100), table_at(10, 10, 90, 90), table_at(20, 20, 40, 40, "7")
    for inner in ([middle, small], [small, middle]):
        [outer] = nest_tables([large], inner)
        [within] = tables_in(outer[0, 0])
        assert [each[0, 0].text for each in tables_in(within[0, 0])] == ["7"]


def test_tables_of_one_cell_are_in_the_order_in_which_they_stand() -> None:
    places = [(10, 60, 40, 90), (50, 10, 90, 50), (10, 10, 40, 50)]
    [outer] = nest_tables([table_at(0, 0, 100, 100)], [table_at(*place) for place in places])
    assert [each.quads[0, 0].tolist() for each in tables_in(outer[0, 0])] == [[10, 10], [50, 10], [10, 60]]


def test_a_table_that_no_cell_holds_is_not_lost() -> None:
    apart = table_at(200, 0, 300, 50)
    assert nest_tables([table_at(0, 0, 100, 100)], [apart])[1] == apart
    assert np.array_equal(nest_tables([], [apart])[0].quads, apart.quads)
