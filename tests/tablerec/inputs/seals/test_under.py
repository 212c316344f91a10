"""Print under a seal is read in a second picture, and the marks of its numbers follow the page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import cv2
import numpy as np
import pytest

from postprocess.geometry.boxes import array_to_quad, boxes_to_quads
from postprocess.word import UNREAD, Word
from tablerec.inputs.seals import without_seals
from tablerec.inputs.seals.inks import _channels
from tablerec.inputs.seals.under import Style, choose, read_empty, read_under
from tests.helpers.drawing import Color
from tests.tablerec.inputs.seals.drawing import BLUE, GREEN, PURPLE, RED, draw_numbers, press, ring

WHITE = np.full((20, 120, 3), 255, np.uint8)


@dataclass
class Says:
    """An OCR engine that reads the same everywhere, and keeps what it saw."""

    text: str
    score: float = 0.99
    name: str = "says"
    seen: list[np.ndarray] = field(default_factory=list)

    def read(self, image: np.ndarray) -> list[Word]:
        return []

    def read_quads(self, image: np.ndarray, quads: np.ndarray) -> list[Word]:
        self.seen.append(image)
        return [Word(self.text, array_to_quad(quad), self.score) for quad in quads] if self.text else []


def word(text: str, score: float = 0.9, x: float = 10) -> Word:
    return Word(text, ((x, 2), (x + 100, 2), (x + 100, 18), (x, 18)), score)


def test_nothing_to_read() -> None:
    says = Says("1")
    assert read_under([], WHITE, [], says) == []
    assert read_under([word("5")], WHITE, [], says) == [word("5")]
    assert read_empty(np.zeros((0, 4, 2)), [], WHITE, [], says) == []
    assert says.seen == []


@pytest.mark.parametrize("color", [RED, BLUE, GREEN, PURPLE], ids=["red", "blue", "green", "purple"])
def test_ink_is_white_where_it_is_palest_and_print_is_dark(color: Color) -> None:
    clean = draw_numbers().image
    _, [(_, parted)] = without_seals(press(clean, ring(160), (130, 80), color))
    x0, y0, x1, y1 = parted.box_xyxy
    grey = cv2.cvtColor(clean[y0:y1, x0:x1], cv2.COLOR_BGR2GRAY)
    assert np.quantile(parted.palest[grey < 40], 0.9) < 60
    assert np.quantile(parted.palest[grey > 250], 0.05) > 225


def test_ink_of_which_nothing_is_left_leaves_the_picture_as_it_is() -> None:
    """A field of ink on print of its colour, of which no amount was told from print, divided by nothing."""
    shares, nothing, pure = np.full((9, 9, 3), 1, np.float32), np.zeros((9, 9), np.float32), np.ones((9, 9), bool)
    assert all((grey == 255).all() for grey in _channels(shares, nothing, pure))


def test_red_print_under_a_red_seal_is_darker_in_the_next_channel() -> None:
    """It is as pale as the ink in the first."""
    image = draw_numbers().image
    printed = cv2.cvtColor(image, cv2.COLOR_BGR2GRAY) < 40
    image[printed] = (20, 20, 200)
    _, [(_, parted), *_] = without_seals(press(image, 0.5 * ring(160), (130, 80), RED))
    x0, y0, x1, y1 = parted.box_xyxy
    inside = printed[y0:y1, x0:x1]
    assert np.median(parted.paler[inside]) < np.median(parted.palest[inside]) - 60


def test_words_beside_a_seal_are_not_read_again() -> None:
    drawing = draw_numbers()
    cleaned, seals = without_seals(press(drawing.image, ring(160), (130, 80), RED))
    [(_, parted)] = seals
    says = Says("7")
    read = read_under(list(drawing.words), cleaned, seals, says)
    x0, y0, x1, y1 = parted.box_xyxy
    middles = [np.mean(each.quad, axis=0) for each in drawing.words]
    outside = [not (x0 < x < x1 and y0 < y < y1) for x, y in middles]
    assert [a for a, out in zip(read, outside, strict=True) if out] == [
        a for a, out in zip(drawing.words, outside, strict=True) if out
    ]
    assert 0 < len(says.seen) < len(drawing.words)


@pytest.mark.parametrize(
    ("first", "second", "wanted"),
    [
        ("772.71", "-772.71", "-772.71"),  # a minus that parting has taken away
        ("219,455.8", "219,455.18", "219,455.18"),
        ("27C982", "270982", "270982"),  # a number before what is none
        ("-9.46", "R34", "-9.46"),
        ("12.5", UNREAD, "12.5"),
        (UNREAD, "12.5", "12.5"),
        ("1,844", "1.844", "1,844"),  # the tail of a comma is lost, and never added
    ],
)
def test_the_reading_that_holds_the_other_is_believed(first: str, second: str, wanted: str) -> None:
    assert choose(word(first), word(second, 0.8), WHITE).text == wanted


def test_a_mark_of_the_seal_at_the_end_of_a_number_is_no_digit() -> None:
    image = WHITE.copy()
    image[4:16, 15:80:6] = 0
    assert choose(word("3691"), word("369"), image).text == "369"
    image[4:16, 90:104] = 0
    assert choose(word("3691"), word("369"), image).text == "3691"


def test_numbers_in_the_colour_of_a_seal_are_read_in_cells_that_are_empty_without_it() -> None:
    cleaned, seals = without_seals(press(draw_numbers().image, ring(160), (130, 80), RED))
    quads = boxes_to_quads(np.array([[140.0, 130, 240, 150], [500, 130, 560, 150]]))
    assert [each.text for each in read_empty(quads, [], cleaned, seals, Says("-14.70"))] == ["-14.70"]
    assert read_empty(quads, [Word("5", array_to_quad(quads[0]))], cleaned, seals, Says("-14.70")) == []


@pytest.mark.parametrize("says", [Says("PAID"), Says("12"), Says("-14.70", 0.9), Says("")])
def test_what_a_seal_says_is_not_read_into_an_empty_cell(says: Says) -> None:
    cleaned, seals = without_seals(press(draw_numbers().image, ring(160), (130, 80), RED))
    assert read_empty(boxes_to_quads(np.array([[140.0, 130, 240, 150]])), [], cleaned, seals, says) == []


@pytest.mark.parametrize(
    ("beside", "text", "wanted"),
    [
        (["1,204.50", "348.10"], "2.361.22", "2,361.22"),  # a comma without its tail
        (["1,204.50", "348.10"], "14,035,71", "14,035.71"),
        (["1.204,50", "348,10"], "2,361.22", "2.361,22"),
        (["1,204.50", "348.10"], "53.958", "53,958"),
        (["1,204.50", "0.5", "348.125"], "53.958", "53.958"),  # others have three decimals as well
        (["1,204.50", "348.10"], "27.04.2026", "27.04.2026"),
        (["1,204.50", "348.10"], "Item 1.2", "Item 1.2"),
    ],
)
def test_marks_under_a_seal_follow_the_numbers_of_the_page(beside: Sequence[str], text: str, wanted: str) -> None:
    style = Style.of(beside)
    assert style is not None
    assert style.settle(text) == wanted


@pytest.mark.parametrize("beside", [[], ["348.10"], ["348.10", "348,10"], ["12", "Total"]])
def test_a_page_that_says_too_little_changes_no_mark(beside: Sequence[str]) -> None:
    assert Style.of(beside) is None
