from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import cv2
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from postprocess.cell import Caption, Cell, Quad
from postprocess.geometry.boxes import array_to_quad, boxes_to_quads, quads_to_array
from postprocess.table import Table
from postprocess.word import Unplaced, Word
from tablerec import Page, PageImage, Recognizer, Settings
from tablerec.detect import Detection
from tablerec.inputs.turning import choose_turn, turn_image, turn_page_back, turn_picture, turn_points
from tablerec.outputs.files import result_to_dict
from tablerec.result import Dropped
from tests.helpers.layouts import box_quad, draw_layout, even_layout, make_word, plain_table, turn_word
from tests.helpers.pdf import make_pdf
from tests.helpers.pdf import text as pdf_text

WHITE = np.full((120, 300, 3), 255, np.uint8)
LAYOUT = even_layout(plain_table(3, 4), 170, 50, 20, 20)
TEXTS = [
    "Timber", "Cotton", "Barley", "Copper",
    "Export 2023", "Import 2024", "Quarter", "Remark",
    "4,518", "Total", "7,163", "Index",
]  # fmt: skip


@dataclass
class Reader:
    """Reads upright text surely, any other badly, in a picture whose text stands upright after ``upright_after``."""

    words: Sequence[Word] = ()
    upside_down_score: float = 0.95
    turns_back: bool = False
    seconds: list[np.ndarray] = field(default_factory=list)
    name = "fake"

    def read(self, image: np.ndarray) -> list[Word]:
        return list(self.words)

    def read_quads(self, image: np.ndarray, quads: np.ndarray) -> list[Word]:
        self.seconds.append(quads)
        read = np.roll(quads, 2, axis=1) if self.turns_back else quads
        return [Word("other", array_to_quad(quad), self.upside_down_score) for quad in read]


class Boxes:
    """Finds the same boxes in every picture."""

    name = "fake"

    def __init__(self, boxes: np.ndarray) -> None:
        self.quads = boxes_to_quads(boxes)

    def detect(self, image: np.ndarray, words: Sequence[Word]) -> list[Detection]:
        return [Detection(self.quads, np.ones(len(self.quads)), self.name)]


def lines(count: int, degrees: float = 0, score: float = 1.0) -> list[Word]:
    """Lines of text that run to the right, turned clockwise."""
    words = [turn_word(make_word("some text", 10, 20 * row), degrees) for row in range(count)]
    return [replace(word, score=score) for word in words]


def drawn_table() -> np.ndarray:
    image = np.repeat(draw_layout(LAYOUT)[..., None], 3, axis=2)
    for text, (x0, _, _, y1) in zip(TEXTS, LAYOUT.boxes.astype(int).tolist(), strict=True):
        cv2.putText(image, text, (x0 + 14, y1 - 16), cv2.FONT_HERSHEY_SIMPLEX, 0.75, (0, 0, 0), 2, cv2.LINE_AA)
    return image


# which turn


def test_no_words_no_turn() -> None:
    assert choose_turn(WHITE, [], Reader()) == 0


def test_a_vertical_label_or_two_turn_nothing() -> None:
    assert choose_turn(WHITE, lines(2, degrees=-90), None) == 0


@pytest.mark.parametrize("degrees", [0, 90, 180, 270])
@pytest.mark.parametrize("askew", [-8, 0, 8])
def test_known_words_tell_the_turn(degrees: int, askew: float) -> None:
    assert choose_turn(WHITE, lines(5, degrees + askew), None) == -degrees % 360


def test_headers_turned_to_save_width_do_not_turn_the_table() -> None:
    assert choose_turn(WHITE, lines(7, degrees=-90) + lines(8), None) == 0


def test_more_turned_headers_than_rows_are_no_reason_either_but_it_is_said() -> None:
    assert choose_turn(WHITE, lines(6, degrees=-90) + lines(5), None) is None


def test_narrow_digits_and_stacked_characters_have_no_say() -> None:
    narrow = [Word("1", box_quad(0, y, 4, y + 12)) for y in range(0, 300, 20)]
    stacked = [Word("单位名称", box_quad(30, y, 44, y + 60)) for y in range(0, 600, 70)]
    assert choose_turn(WHITE, [*narrow, *stacked, *lines(3, degrees=-90)], None) == 90


@pytest.mark.parametrize(("score", "other", "expected"), [(0.7, 0.95, 180), (0.7, 0.6, 0), (0.85, 0.87, 0)])
def test_text_is_upside_down_where_it_reads_better_that_way(score: float, other: float, expected: int) -> None:
    reader = Reader(upside_down_score=other)
    assert choose_turn(WHITE, lines(40, score=score), reader) == expected
    assert [len(quads) for quads in reader.seconds] == [16]


def test_an_engine_that_turns_text_back_itself_turns_no_picture() -> None:
    """The corners of its words are those of upright text: that it reads well says nothing for upside down."""
    assert choose_turn(WHITE, lines(40, score=0.7), Reader(turns_back=True)) == 0
    assert choose_turn(WHITE, lines(40, degrees=180), Reader(turns_back=True)) == 180


def test_text_is_read_upside_down_with_ground_around_it() -> None:
    """Without it, digits of tight boxes were taken for rulings at the border of a cell."""
    reader, words = Reader(), lines(3, score=0.7)
    choose_turn(WHITE, words, reader)
    [quads] = reader.seconds
    for quad, word in zip(quads, words, strict=True):
        (x0, y0), _, (x1, y1), _ = word.quad
        np.testing.assert_allclose(quad, np.roll(box_quad(x0 - 2, y0 - 2, x1 + 2, y1 + 2), 2, axis=0))


def test_text_that_reads_well_costs_no_second_reading() -> None:
    reader = Reader()
    assert choose_turn(WHITE, lines(40, score=0.97), reader) == 0
    assert reader.seconds == []


def test_words_without_a_number_for_place_or_score_are_no_evidence() -> None:
    nan = float("nan")
    odd = [Word("some text", ((nan, 0), (9, 0), (9, 2), (0, 2))), Word("some text", box_quad(0, 0, 60, 9), nan)]
    assert choose_turn(WHITE, odd * 3, Reader()) == 0
    assert choose_turn(WHITE, [*odd, *lines(3, degrees=90)], None) == 270


# points and pictures


@pytest.mark.parametrize("turn", [0, 90, 180, 270])
def test_points_go_where_the_picture_goes(turn: int) -> None:
    image = np.zeros((30, 50, 3), np.uint8)
    image[4:7, 10:18] = 255
    turned = turn_image(image, turn)
    corners = turn_points(np.array([[10.0, 4.0], [18.0, 7.0]]), turn, (50, 30))
    (left, top), (right, bottom) = corners.min(axis=0).astype(int), corners.max(axis=0).astype(int)
    assert turned[top:bottom, left:right].min() == 255
    assert turned.sum() == image.sum()


@given(
    st.lists(st.tuples(st.integers(-50, 400), st.integers(-50, 400)), min_size=1),
    st.sampled_from([0, 90, 180, 270]),
    st.integers(1, 300),
    st.integers(1, 300),
)
def test_there_and_back(points: list[tuple[int, int]], turn: int, width: int, height: int) -> None:
    given_points = np.array(points, np.float64)
    there = turn_points(given_points, turn, (width, height))
    size_wh = (height, width) if turn in (90, 270) else (width, height)
    np.testing.assert_array_equal(turn_points(there, -turn, size_wh), given_points)


@pytest.mark.parametrize("words", [None, (), (make_word("a", 20, 5),)])
@pytest.mark.parametrize("turn", [0, 90, 180, 270])
def test_a_picture_and_its_words_come_back(turn: int, words: tuple[Word, ...] | None) -> None:
    picture = PageImage("a.png", 3, WHITE, words)
    upright = turn_picture(picture, turn)
    assert upright.image.shape == (WHITE.shape if turn in (0, 180) else (300, 120, 3))
    found = upright.words or ()
    lost = tuple(Unplaced(word, "why") for word in found)
    page = Page(upright, words=found, unplaced=lost, dropped=(Dropped(box_quad(0, 0, 5, 9), 0.5, "why"),))
    back = turn_page_back(page, picture, turn)
    assert back.picture is picture and back.turn == turn
    assert back.words == (words or ())
    assert [item.word for item in back.unplaced] == list(words or ())
    width, height = (300, 120) if turn in (0, 180) else (120, 300)
    expected = turn_points(np.array(box_quad(0, 0, 5, 9), np.float64), -turn, (width, height))
    assert np.array_equal(quads_to_array([back.dropped[0].quad])[0], expected)


def test_title_and_notes_come_back() -> None:
    picture = PageImage("a.png", 1, WHITE)
    upright = turn_picture(picture, 90)
    table = Table([Cell(0, 0, text="a")], title=Caption("b", box_quad(0, 0, 5, 9)), notes=[Caption("c")])
    [back] = turn_page_back(Page(upright, (table,)), picture, 90).tables
    expected = turn_points(np.array(box_quad(0, 0, 5, 9), np.float64), -90, (120, 300))
    assert back.title is not None and back.title.quad is not None
    assert np.array_equal(quads_to_array([back.title.quad])[0], expected)
    assert back.notes == (Caption("c"),)


# the pipeline


def shrunk(quad: Quad) -> np.ndarray:
    corners = np.array(quad)
    return corners.mean(axis=0) + 0.98 * (corners - corners.mean(axis=0))


@pytest.mark.parametrize("turn", [0, 90, 180, 270])
@pytest.mark.parametrize("setting", ["auto", "same"])
def test_known_words_and_cells_are_where_they_are_in_the_picture_as_given(turn: int, setting: str) -> None:
    image = drawn_table()
    upright_words = [
        make_word(text, x0 + 20, y0 + 20) for text, (x0, y0, _, _) in zip(TEXTS, LAYOUT.boxes, strict=True)
    ]
    upright = PageImage("a.png", 1, image, tuple(upright_words))
    given = turn_picture(upright, -turn % 360)
    settings = Settings(turn=turn if setting == "same" else "auto")
    recognizer = Recognizer(settings, detector=Boxes(LAYOUT.boxes), ocr=Reader())
    [page] = recognizer.recognize(given).pages
    assert page.turn == turn
    np.testing.assert_array_equal(page.picture.image, given.image)
    assert page.tables[0].to_grid() == [TEXTS[0:4], TEXTS[4:8], TEXTS[8:12]]
    assert page.words == given.words
    height, width = image.shape[:2]
    for cell, quad in zip(page.tables[0].cells, boxes_to_quads(LAYOUT.boxes), strict=True):
        # Edges are moved to the middle of the lines that are drawn there.
        np.testing.assert_allclose(cell.quad, turn_points(quad, -turn, (width, height)), atol=1)
    assert page.tables[0].quad is not None


def test_turn_0_leaves_everything_as_it_lies() -> None:
    given = turn_picture(PageImage("a.png", 1, drawn_table(), tuple(lines(5))), 270)
    [page] = Recognizer(Settings(turn=0), detector=Boxes(LAYOUT.boxes), ocr=Reader()).recognize(given).pages
    assert page.turn == 0
    # TL is still TL; other corners are moved to lines that are drawn across these cells.
    np.testing.assert_allclose(page.tables[0].cells[0].quad[0], boxes_to_quads(LAYOUT.boxes)[0, 0], atol=1)


def test_text_in_several_directions_is_said(caplog: pytest.LogCaptureFixture) -> None:
    words = lines(5) + lines(6, degrees=-90)
    recognizer = Recognizer(detector=Boxes(LAYOUT.boxes), ocr=Reader())
    [page] = recognizer.recognize(drawn_table(), words).pages
    assert page.turn == 0
    [message] = caplog.messages
    assert "several directions" in message and "--turn" in message


def test_json_has_the_turn() -> None:
    given = turn_picture(PageImage("a.png", 1, drawn_table(), tuple(lines(5))), 270)
    result = Recognizer(detector=Boxes(LAYOUT.boxes), ocr=Reader()).recognize(given)
    [page] = result_to_dict(result)["pages"]
    assert (page["turn"], page["width"], page["height"]) == (90, given.image.shape[1], given.image.shape[0])


@pytest.mark.parametrize("turn", [90, 180, 270])
def test_a_picture_that_does_not_lie_upright_gives_the_table_of_the_upright_one(turn: int) -> None:
    """The real reader sees which way the text runs, rulings and words give the cells."""
    pytest.importorskip("rapidocr")
    image = drawn_table()
    [page] = Recognizer().recognize(turn_image(image, -turn % 360)).pages
    assert page.turn == turn
    assert page.tables[0].to_grid() == [TEXTS[0:4], TEXTS[4:8], TEXTS[8:12]]
    quads = turn_points(
        quads_to_array([cell.quad for cell in page.tables[0].cells]), turn, page.picture.image.shape[1::-1]
    )
    np.testing.assert_allclose(quads, boxes_to_quads(LAYOUT.boxes), atol=3)


@pytest.mark.parametrize("rotate", [0, 90, 180, 270])
def test_pdf_page_that_is_shown_on_its_side_is_turned_by_its_text_layer(rotate: int) -> None:
    content = ""
    for index, label in enumerate(TEXTS):
        x, y = 20 + 65 * (index % 4), 140 - 30 * (index // 4)
        content += f"{x} {y} 65 30 re S\n" + pdf_text(x + 5, y + 10, label)
    [page] = Recognizer(Settings(ocr="none")).recognize(make_pdf(content, rotate=rotate)).pages
    assert page.turn == -rotate % 360
    assert page.tables[0].to_grid() == [TEXTS[0:4], TEXTS[4:8], TEXTS[8:12]]
