from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from postprocess.geometry.boxes import array_to_quad, quads_to_boxes
from postprocess.table import Table
from postprocess.word import Word
from tablerec.corrections.editor import page_to_drafts
from tablerec.inputs.turning import turn_page_back, turn_picture
from tablerec.result import Page, PageImage
from tests.helpers.review import make_page, make_table


def test_a_page_without_tables_is_one_cell() -> None:
    [draft] = page_to_drafts(make_page())
    assert (draft.number, draft.sureness, draft.table.shape, draft.image.shape) == (0, 0.0, (1, 1), (160, 340, 3))


def test_a_table_without_cells_is_one_cell() -> None:
    quad = ((20.0, 20.0), (320.0, 20.0), (320.0, 140.0), (20.0, 140.0))
    placed, nowhere = page_to_drafts(make_page(Table([], quad), Table([])))
    assert (placed.table.shape, placed.image.shape, placed.number) == ((1, 1), (144, 324, 3), 1)
    assert (nowhere.table.shape, nowhere.image.shape, nowhere.number) == ((1, 1), (160, 340, 3), 2)


def test_tables_are_cut_out_with_a_margin_and_nothing_of_their_neighbours() -> None:
    page = make_page(make_table(box=(20, 20, 320, 60)), make_table(box=(20, 66, 320, 140)))
    first, second = page_to_drafts(page)
    assert (first.name, second.name, first.sureness) == ("scan_1_1", "scan_1_2", 0.5)
    # Twelve pixels are 4 % of the width; above the first there are twenty, between both are six.
    assert first.image.shape[:2] == (66 - 8, 324)
    assert second.image.shape[:2] == (152 - 60, 324)
    for draft, table in zip((first, second), page.tables, strict=True):
        ours, theirs = (quads_to_boxes([each.quad])[0] for each in (draft.table, table))
        assert np.allclose(ours[2:] - ours[:2], theirs[2:] - theirs[:2])
        assert (ours >= 0).all() and ours[3] <= draft.image.shape[0]


def test_a_picture_of_one_table_is_shown_whole() -> None:
    # More than a quarter of the picture: a row may not have been found. Less: the page has other things.
    for box, shape in (((20, 20, 320, 80), (160, 340)), ((20, 20, 220, 60), (40 + 2 * 8, 200 + 2 * 8))):
        [draft] = page_to_drafts(make_page(make_table(box=box)))
        assert draft.image.shape[:2] == shape


def test_neighbours_share_their_border() -> None:
    table = make_table(1, 2)
    left, right = (np.array(cell.quad) for cell in table.cells)
    apart = [replace(cell, quad=array_to_quad(quad)) for cell, quad in zip(table.cells, (left - 4, right), strict=True)]
    [draft] = page_to_drafts(make_page(Table(apart)))
    left, right = quads_to_boxes(draft.table.quads)
    assert left[2] == right[0] == 168


@pytest.mark.parametrize("turn", [90, 180, 270])
def test_a_page_that_lies_on_its_side_is_turned_upright(turn: int) -> None:
    upright = make_page(make_table())
    given = turn_picture(upright.picture, -turn % 360)
    lying = turn_page_back(upright, given, turn)
    [draft], [expected] = page_to_drafts(lying), page_to_drafts(upright)
    assert np.array_equal(draft.image, expected.image)
    quads = [each.table.quads for each in (draft, expected)]
    assert np.allclose(*quads)


def test_the_height_of_text_is_that_of_the_words_inside() -> None:
    inside = Word("a", ((30, 30), (60, 30), (60, 42), (30, 42)))
    outside = Word("b", ((0, 0), (10, 0), (10, 90), (0, 90)))
    page = replace(make_page(make_table()), words=(inside, outside))
    assert page_to_drafts(page)[0].text_height == 12.0
    assert page_to_drafts(make_page(make_table()))[0].text_height is None


@pytest.mark.parametrize("name", ["../../etc/passwd", "a b/c:d*.png", "表格.png", "...", "", "\U00020000" * 90])
def test_names_of_files_are_plain(name: str) -> None:
    [draft] = page_to_drafts(Page(PageImage(name, 1, np.zeros((9, 9, 3), np.uint8))))
    assert draft.name.replace("_", "").replace("-", "").isalnum()
    assert len(f"{draft.name}_12-3.jsonl.broken-1".encode()) < 255
