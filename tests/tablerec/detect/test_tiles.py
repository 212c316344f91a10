"""Tiles: no cell is lost or doubled at a seam."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from postprocess.geometry.boxes import boxes_to_quads, merge_doubles, quads_to_boxes
from tablerec.detect.tiles import Tile, detect_in_tiles, inner_cells, plan_tiles

LARGEST, MARGIN = 160, 32


@given(st.integers(1, 700), st.integers(1, 700))
def test_cores_cover_the_picture_once(height: int, width: int) -> None:
    count = np.zeros((height, width), int)
    for tile in plan_tiles((height, width), LARGEST, MARGIN):
        x0, y0, x1, y1 = tile.core_xyxy
        count[y0:y1, x0:x1] += 1
        box = np.array(tile.box_xyxy)
        assert (box[2:] - box[:2] <= LARGEST).all()
        # Around its core, a tile sees the margin, or all there is.
        wanted = np.array([x0 - MARGIN, y0 - MARGIN, x1 + MARGIN, y1 + MARGIN]).clip(0, [width, height] * 2)
        assert (box[:2] <= wanted[:2]).all() and (box[2:] >= wanted[2:]).all()
    assert (count == 1).all()


def look(cells: np.ndarray, wobble: float):
    """A detector that sees the cells whose middle a tile shows, cut off at its sides and a little off."""

    def find(tile: Tile, shrink: float):
        x0, y0, x1, y1 = tile.box_xyxy
        boxes = quads_to_boxes(cells).clip([x0, y0, x0, y0], [x1, y1, x1, y1])
        seen = (boxes[:, 2:] - boxes[:, :2] > 0).all(1)
        middle = cells.mean(1)
        seen &= ((middle >= (x0, y0)) & (middle < (x1, y1))).all(1)
        rng = np.random.default_rng(tile.core_xyxy)
        quads = boxes_to_quads(boxes[seen]) + rng.uniform(-wobble, wobble, (int(seen.sum()), 1, 2))
        return quads, rng.uniform(0.5, 1, len(quads)), np.zeros((4, 4), np.float32)

    return find


@st.composite
def lines(draw: st.DrawFn, length: int, least: int) -> list[int]:
    sizes = draw(st.lists(st.one_of(st.integers(least, 30), st.integers(30, 200)), min_size=1, max_size=25))
    ends = np.cumsum(sizes)
    return [0, *ends[ends <= length - least].tolist(), length]


@given(lines(400, 8), lines(300, 8), st.sampled_from([0.0, 1.5]))
@example([0, 8, 16, 114, 227, 400], [0, 8, 16, 46, 110, 118, 300], 1.5)
@example([0, 8, 16, 400], [0, 8, 99, 215, 300], 1.5)
@example([0, 8, 16, 24, 32, 108, 228, 400], [0, 8, 16, 300], 0.0)  # a tile sees half of a cell, which fits
def test_every_cell_is_found_once(xs: list[int], ys: list[int], wobble: float) -> None:
    boxes = [[x0, y0, x1, y1] for y0, y1 in pairwise(ys) for x0, x1 in pairwise(xs)]
    cells = boxes_to_quads(boxes)
    tiles = plan_tiles((300, 400), LARGEST, MARGIN)
    quads, scores, tables = detect_in_tiles(look(cells, wobble), tiles, LARGEST, MARGIN)
    assert len(quads) == len(scores) == len(cells) and tables.shape == (4, 4)
    off = np.abs(quads[:, None] - cells[None]).max((2, 3))
    assert (off.min(0) <= wobble).all() and (off.min(1) <= wobble).all()


def test_one_tile_is_one_look() -> None:
    cells = boxes_to_quads([[0, 0, 50, 10], [50, 0, 100, 10]])
    quads, scores, _ = detect_in_tiles(look(cells, 0), plan_tiles((80, 120)))
    assert quads.tolist() == cells.tolist() and len(scores) == 2


def test_no_cells() -> None:
    none = np.zeros((0, 4, 2))
    assert len(detect_in_tiles(look(none, 0), plan_tiles((80, 120)))[0]) == 0
    assert len(detect_in_tiles(look(none, 0), plan_tiles((800, 900), LARGEST, MARGIN), LARGEST, MARGIN)[0]) == 0
    assert merge_doubles(none, np.zeros(0)).tolist() == [] and inner_cells(none, (10, 10)).tolist() == []


def test_what_lies_outside_the_picture() -> None:
    quads = boxes_to_quads([[0, 0, 5, 5], [-9, 0, 0.5, 5], [8, 8, 12, 12], [20, 0, 30, 5]])
    assert inner_cells(quads, (10, 10)).tolist() == [True, False, True, False]
