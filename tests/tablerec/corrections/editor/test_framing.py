from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from postprocess.geometry.boxes import quads_to_boxes
from postprocess.word import Word
from tablerec.corrections.editor.framing import crop_picture, frame_to_draft, hide, to_window, turn_window
from tablerec.inputs.turning import turn_page_back, turn_picture
from tablerec.result import PageImage
from tests.helpers.review import make_page, make_table


def word(text: str, x0: float, y0: float) -> Word:
    return Word(text, ((x0, y0), (x0 + 20, y0), (x0 + 20, y0 + 10), (x0, y0 + 10)))


def test_an_empty_frame_is_one_cell() -> None:
    draft = frame_to_draft(make_page(), (5, 6, 345, 166), [], 1)
    assert (draft.table.shape, draft.window, draft.sureness) == ((1, 1), (5, 6, 345, 166), 0.0)
    assert draft.table[0, 0].text == ""


def test_the_largest_table_in_a_frame_counts() -> None:
    small, large = make_table(2, 2, (20, 20, 90, 60)), make_table(3, 3, (120, 20, 320, 140))
    draft = frame_to_draft(make_page(small, large), (100, 200, 440, 360), [], 3)
    assert (draft.name, draft.table.shape, draft.sureness) == ("scan_1_3", (3, 3), 0.5)
    assert np.allclose(quads_to_boxes([draft.table.quad])[0], [120, 20, 320, 140])


def test_even_rows_hold_the_words_where_they_are() -> None:
    odd = replace(word("nowhere", 0, 0), quad=((float("nan"), 0.0),) * 4)
    page = replace(make_page(make_table()), words=(word("a", 5, 5), word("b", 300, 140), odd))
    draft = frame_to_draft(page, (0, 0, 340, 160), [], 1, (2, 2))
    assert draft.table.to_grid() == [["a", ""], ["", "b"]]


def test_even_columns_with_hebrew_begin_at_the_right() -> None:
    words = (word("א", 300, 5), word("ב", 300, 140), word("7", 5, 140))
    draft = frame_to_draft(replace(make_page(make_table()), words=words), (0, 0, 340, 160), [], 1, (2, 2))
    assert draft.table.direction == "rtl" and draft.table.to_grid() == [["א", ""], ["ב", "7"]]
    assert draft.table.quads[0].tolist() == [[170, 0], [340, 0], [340, 80], [170, 80]]


@pytest.mark.parametrize("turn", [90, 180, 270])
def test_what_lies_on_its_side_in_a_frame_is_turned(turn: int) -> None:
    upright = make_page(make_table(box=(20, 20, 300, 100)))
    given = turn_picture(upright.picture, -turn % 360)
    found = turn_page_back(upright, given, turn)
    height, width = given.image.shape[:2]
    page = np.zeros((600, 500, 3), np.uint8)
    page[50 : 50 + height, 30 : 30 + width] = given.image
    turned = turn_picture(PageImage("scan.png", 1, page), turn).image
    frame = turn_window((30, 50, 30 + width, 50 + height), turn, (500, 600))
    draft = frame_to_draft(found, frame, [], 1)
    assert draft.window is not None and draft.turn == turn
    x0, y0, x1, y1 = draft.window
    assert np.array_equal(turned[y0:y1, x0:x1], draft.image)
    assert np.allclose(quads_to_boxes([draft.table.quad])[0], [20, 20, 300, 100])


def test_words_of_a_text_layer_come_with_a_part_of_the_page() -> None:
    page = PageImage("a.pdf", 2, np.zeros((100, 200, 3), np.uint8), (word("in", 60, 30), word("out", 5, 5)))
    part = crop_picture(page, (50, 20, 150, 80))
    assert part.image.shape == (60, 100, 3) and part.words is not None
    assert [(each.text, each.quad[0]) for each in part.words] == [("in", (10.0, 10.0))]
    assert crop_picture(replace(page, words=()), (50, 20, 150, 80)).words == ()
    assert crop_picture(replace(page, words=None), (50, 20, 150, 80)).words is None


def test_a_frame_is_cut_to_the_page() -> None:
    page = PageImage("a.png", 1, np.zeros((100, 200, 3), np.uint8))
    assert to_window([-5, 10.2, 999, 90.5], page) == (0, 10, 200, 91)


def test_a_picture_that_shows_no_others_stays_the_same() -> None:
    image = np.arange(48, dtype=np.uint8).reshape(4, 4, 3)
    own, inside, beside = np.array([0.0, 0, 4, 3]), np.array([1.0, 1, 2, 2]), np.array([0.0, 5, 4, 9])
    assert hide(image, own, []) is image
    assert hide(image, own, [inside, beside]) is image
