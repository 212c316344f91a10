from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from postprocess.cell import Caption, Cell
from postprocess.table import Table
from postprocess.word import Unplaced, Word
from tablerec.outputs.overlay import CAPTION, CELL, DROPPED, HEADER, SEAL, SPANNING, UNPLACED, draw_overlay
from tablerec.result import Dropped, Page, PageImage, Seal


def quad(left, top, right, bottom):
    return ((left, top), (right, top), (right, bottom), (left, bottom))


def make_page(height=40, width=100, ground=255, scale=1.0):
    """A header over the whole width, a span, and two plain cells."""

    def cell(row, col, rowspan=1, colspan=1, header=None):
        place = quad(
            *(
                value * scale
                for value in (
                    10 + col * width,
                    10 + row * height,
                    10 + (col + colspan) * width,
                    10 + (row + rowspan) * height,
                )
            )
        )
        return Cell(row, col, rowspan, colspan, quad=place, header=header)

    cells = [cell(0, 0, header="column"), cell(0, 1, header="column"), cell(1, 0, 2, 1), cell(1, 1), cell(2, 1)]
    image = np.full((int((3 * height + 60) * scale), int((2 * width + 20) * scale), 3), ground, np.uint8)
    return Page(PageImage("x", 1, image), (Table(cells),))


def has_color(image, color):
    return (np.abs(image.astype(int) - color).max(axis=-1) < 12).any()


def test_nothing_found_leaves_the_picture_as_it_is():
    image = np.random.default_rng(0).integers(0, 255, (30, 40, 3), np.uint8)
    drawn = draw_overlay(Page(PageImage("x", 1, image)))
    np.testing.assert_array_equal(drawn, image)
    assert drawn is not image


def test_the_input_is_not_drawn_on():
    page = make_page()
    page.picture.image.flags.writeable = False
    draw_overlay(page)
    assert (page.picture.image == 255).all()


def test_title_and_notes_are_framed():
    page = make_page(scale=2)
    [table] = page.tables
    assert not has_color(draw_overlay(page), CAPTION)
    beside = Caption("Table 1", quad(20, 280, 180, 340))
    for change in ({"title": beside}, {"notes": [beside]}):
        assert has_color(draw_overlay(replace(page, tables=(replace(table, **change),))), CAPTION)
    draw_overlay(replace(page, tables=(replace(table, title=Caption("no place")),)))


@pytest.mark.parametrize("ground", [0, 128, 255])
def test_kinds_of_cells_have_their_colors_on_any_ground(ground):
    drawn = draw_overlay(make_page(ground=ground))
    for color in (CELL, HEADER, SPANNING):
        assert has_color(drawn, color)
    assert not has_color(drawn, UNPLACED) and not has_color(drawn, DROPPED)


def test_leftovers_are_marked():
    page = make_page()
    word = Word("lost", quad(20, 140, 80, 160))
    page = Page(
        page.picture, page.tables, (word,), (Unplaced(word, "outside"),), (Dropped(quad(120, 140, 180, 160), 1, "x"),)
    )
    drawn = draw_overlay(page)
    assert has_color(drawn[140:160, 20:80], UNPLACED) and has_color(drawn[140:160, 120:180], DROPPED)


@pytest.mark.parametrize("ground", [0, 255])
def test_labels_stand_in_the_upper_left_corner(ground):
    drawn = draw_overlay(make_page(height=80, width=160, ground=ground)).astype(int)
    corner, middle = drawn[95:125, 175:230], drawn[130:160, 240:320]
    assert corner.std() > 20 and np.ptp(middle, axis=(0, 1)).max() == 0


@pytest.mark.parametrize(("height", "scale"), [(6, 4), (10, 3), (20, 2), (28, 1), (200, 1)])
def test_small_cells_are_enlarged_by_whole_factors(height, scale):
    page = make_page(height=height)
    assert draw_overlay(page).shape[:2] == tuple(scale * side for side in page.picture.image.shape[:2])


def test_a_picture_of_many_pixels_is_not_enlarged():
    page = make_page(height=6)
    page = Page(PageImage("x", 1, np.zeros((5000, 5000, 3), np.uint8)), page.tables)
    assert draw_overlay(page).shape == (5000, 5000, 3)


def test_line_width_follows_the_cells():
    def share(page):
        drawn = draw_overlay(page)
        return (np.abs(drawn.astype(int) - CELL).max(axis=-1) < 12).mean()

    assert share(make_page(height=48, width=120)) == pytest.approx(share(make_page(48, 120, scale=5)), rel=0.5)


def test_cells_over_several_slots_have_the_labels_of_the_others():
    def label(cell):
        picture = PageImage("x", 1, np.full((150, 400, 3), 255, np.uint8))
        drawn = draw_overlay(Page(picture, (Table([cell, Cell(cell.end_row, 0)]),)))
        return (drawn[24:54, 26:200].min(axis=-1) < 80).sum()

    one, three = quad(20, 20, 380, 60), quad(20, 20, 380, 140)
    assert label(Cell(0, 0, quad=one, header="row")) > 0
    assert label(Cell(0, 0, rowspan=3, quad=three, header="row")) == pytest.approx(
        label(Cell(0, 0, quad=one, header="row")), rel=0.2
    )


@pytest.mark.parametrize("wild", [quad(-1e9, -5, 1e9, 1e30), quad(0, 0, 0, 0), quad(float("nan"), 0, 5, float("inf"))])
def test_wild_quads_do_not_stop_the_drawing(wild):
    page = Page(PageImage("x", 1, np.full((50, 50, 3), 255, np.uint8)), (Table([Cell(0, 0, quad=wild)]),))
    assert draw_overlay(page).dtype == np.uint8


def test_cells_that_were_not_seen_are_left_out():
    page = Page(PageImage("x", 1, np.full((50, 50, 3), 255, np.uint8)), (Table([Cell(0, 0)]),))
    assert (draw_overlay(page) == 255).all()


def test_seals_are_outlined():
    page = replace(make_page(), seals=(Seal("PAID", 0.9, quad(20, 20, 80, 80), "#c02020"),))
    drawn = draw_overlay(page)
    assert (drawn == SEAL).all(axis=2).any()
    assert not (draw_overlay(make_page()) == SEAL).all(axis=2).any()
