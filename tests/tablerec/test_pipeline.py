from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import PIL.Image
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from postprocess.geometry.boxes import array_to_quad, boxes_to_quads
from postprocess.table import Table
from postprocess.word import UNREAD, Word
from tablerec import Page, PageImage, Recognizer, Settings, recognize
from tablerec.detect import Detection
from tablerec.errors import InputError, SettingsError
from tablerec.ocr import NoOcr
from tablerec.ocr.unread import doubt_of
from tests.helpers.layouts import (
    Layout,
    box_quad,
    draw_layout,
    even_layout,
    layouts,
    make_word,
    plain_table,
    write,
)

WHITE = np.full((120, 300, 3), 255, np.uint8)
STAGES = {"load", "read", "detect", "snap", "place", "headers", "captions", "rate"}
PLAIN = even_layout(plain_table(2, 3), 80, 30, 20, 20)


@dataclass
class FakeOcr(NoOcr):
    """Returns what a test wants, and counts its calls."""

    words: Sequence[Word] = ()
    calls: list[tuple[int, ...]] = field(default_factory=list)
    name = "fake"

    def read(self, image: np.ndarray) -> list[Word]:
        self.calls.append(image.shape)
        return list(self.words)


@dataclass
class FakeDetector:
    """Returns what a test wants, and keeps the words that it was given."""

    detections: Sequence[Detection] = ()
    words: list[Word] = field(default_factory=list)
    name: str = "fake"

    def detect(self, image: np.ndarray, words: Sequence[Word]) -> list[Detection]:
        self.words = list(words)
        return list(self.detections)


def detection(boxes: object, scores: object = None, name: str = "fake") -> Detection:
    quads = boxes_to_quads(boxes)
    return Detection(quads, np.ones(len(quads)) if scores is None else np.asarray(scores, np.float64), name)


def run(words: Sequence[Word] = (), *detections: Detection, image: np.ndarray = WHITE, **options: object) -> Page:
    recognizer = Recognizer(Settings(**options), detector=FakeDetector(detections), ocr=FakeOcr(words))
    [page] = recognizer.recognize(image).pages
    return page


def characters(texts: Sequence[str]) -> Counter[str]:
    return Counter("".join("".join(texts).split()))


def check_nothing_lost(page: Page, *detections: Detection) -> None:
    texts = [cell.text for table in page.tables for cell in table.cells]
    texts += [caption.text for table in page.tables for caption in table.captions]
    found = characters([*texts, *(item.word.text for item in page.unplaced)])
    assert found == characters([word.text for word in page.words])
    assert all(item.reason for item in page.unplaced)
    seen = sum(cell.detector_score is not None for table in page.tables for cell in table.cells)
    assert seen + len(page.dropped) == sum(len(one.quads) for one in detections)
    assert all(lost.reason for lost in page.dropped)


def test_no_words_no_cells_no_tables() -> None:
    page = run()
    assert (page.tables, page.words, page.unplaced, page.dropped) == ((), (), (), ())
    assert page.detector == "fake"


@pytest.mark.parametrize("shape", [(1, 1, 3), (2, 2, 3), (1, 300, 3), (40, 40, 3), (40, 40), (40, 40, 4)])
@pytest.mark.parametrize("detector", ["auto", "rulings", "words"])
@pytest.mark.parametrize("layout", ["page", "table"])
def test_blank_pictures_have_no_tables(shape: tuple[int, ...], detector: str, layout: str) -> None:
    image = np.full(shape, 255, np.uint8)
    assert recognize(image, ocr="none", detector=detector, layout=layout).tables == ()
    assert recognize(image, [], detector=detector, layout=layout).tables == ()


@pytest.mark.parametrize("shape", [(0, 0, 3), (0, 5, 3), (5, 0)])
def test_picture_without_pixels_is_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(InputError):
        recognize(np.zeros(shape, np.uint8), ocr="none")


def test_detector_that_finds_a_table_without_cells() -> None:
    words = [make_word("a", 5, 5)]
    page = run(words, detection([]), detection([]))
    assert page.tables == ()
    assert [item.word for item in page.unplaced] == words
    check_nothing_lost(page)


def test_cells_and_words_become_a_table() -> None:
    words = [make_word(f"w{i}", x0 + 5, y0 + 8) for i, (x0, y0, _, _) in enumerate(PLAIN.boxes)]
    page = run(words, detection(PLAIN.boxes, np.linspace(0.5, 1, 6)))
    [table] = page.tables
    assert table.to_grid() == [["w0", "w1", "w2"], ["w3", "w4", "w5"]]
    assert [cell.detector_score for cell in table.cells] == pytest.approx(np.linspace(0.5, 1, 6))
    assert [cell.quad for cell in table.cells] == [array_to_quad(quad) for quad in boxes_to_quads(PLAIN.boxes)]
    assert all(cell.alignment_score == 1 and cell.ocr_score == 1 for cell in table.cells)
    assert table.quad == box_quad(20, 20, 260, 80)


def test_overlapping_and_impossible_cells_are_dropped_with_quad_score_and_reason() -> None:
    boxes = np.vstack([PLAIN.boxes, PLAIN.boxes[:1] + 2, [[np.nan] * 4], [[30, 30, 30, 40]]])
    found = detection(boxes, [0.9] * 6 + [0.4, 0.8, 0.7])
    page = run((), found)
    assert page.tables[0].shape == (2, 3)
    assert [lost.score for lost in page.dropped] == pytest.approx([0.4, 0.8, 0.7])
    assert page.dropped[0].quad == box_quad(22, 22, 102, 52)
    check_nothing_lost(page, found)


def test_missing_cells_are_filled_and_say_that_nobody_saw_them() -> None:
    page = run([make_word("in", 185, 60)], detection(PLAIN.boxes[:5]))
    [table] = page.tables
    assert table[1, 2].text == "in"
    assert (table[1, 2].detector_score, table[1, 2].alignment_score) == (None, None)


@settings(max_examples=40)
@given(
    st.lists(
        arrays(np.float64, st.tuples(st.integers(0, 6), st.just(4), st.just(2)), elements=st.floats(0, 300)), max_size=3
    ),
    st.lists(st.tuples(st.text("ab1 ", max_size=8), *[st.floats(-20, 300)] * 2, st.floats(0, 1)), max_size=8),
)
def test_nothing_is_lost_whatever_detector_and_reader_return(
    quads: list[np.ndarray], places: list[tuple[str, float, float, float]]
) -> None:
    words = [Word(text, box_quad(x, y, x + 6 * len(text), y + 10), score) for text, x, y, score in places]
    detections = [Detection(corners, np.full(len(corners), 0.5), "fake") for corners in quads]
    page = run(words, *detections)
    assert page.words == tuple(words)
    check_nothing_lost(page, *detections)


def test_doubtful_words_are_unplaced_with_the_reason_and_the_detector_does_not_see_them() -> None:
    words = [Word("sure", box_quad(25, 28, 50, 38), 0.9), Word("doubtful", box_quad(105, 28, 150, 38), 0.4)]
    detector = FakeDetector([detection(PLAIN.boxes)])
    recognizer = Recognizer(Settings(min_ocr_score=0.5), detector=detector, ocr=FakeOcr(words))
    [page] = recognizer.recognize(WHITE).pages
    assert detector.words == words[:1]
    assert page.words == tuple(words)
    [item] = page.unplaced
    assert item.word == words[1]
    assert "0.40" in item.reason and "0.50" in item.reason
    assert page.tables[0].to_grid()[0] == ["sure", "", ""]


def test_word_with_a_score_that_is_no_number_is_not_lost() -> None:
    page = run([Word("odd", box_quad(25, 28, 50, 38), float("nan"))], detection(PLAIN.boxes))
    check_nothing_lost(page, detection(PLAIN.boxes))


def test_least_score_0_keeps_every_word() -> None:
    page = run([Word("x", box_quad(25, 28, 50, 38), 0.0)], detection(PLAIN.boxes), min_ocr_score=0)
    assert page.tables[0][0, 0].text == "x"


def test_a_word_that_was_not_read_is_placed_whatever_its_score_and_said(caplog: pytest.LogCaptureFixture) -> None:
    """A cell in a script that the OCR engine does not know must not look empty."""
    doubt = doubt_of("Cyrillic", "fake")
    words = [Word(UNREAD, box_quad(25, 28, 50, 38), 0.0, doubt=doubt), Word("7", box_quad(100, 28, 120, 38))]
    with caplog.at_level(logging.WARNING, "tablerec"):
        page = run(words, detection(PLAIN.boxes), min_ocr_score=0.5)
    [table] = page.tables
    assert [(cell.text, cell.doubt) for cell in table.cells if cell.text] == [(UNREAD, doubt), ("7", "")]
    assert page.unplaced == ()
    assert ["page 1 has 1 line of Cyrillic, which fake does not read" in message for message in caplog.messages] == [
        True
    ]


def test_words_of_the_caller_win_over_the_reader() -> None:
    reader = FakeOcr([make_word("read", 25, 28)])
    recognizer = Recognizer(detector=FakeDetector([detection(PLAIN.boxes)]), ocr=reader)
    result = recognizer.recognize(WHITE, [make_word("given", 25, 28)])
    assert result.tables[0][0, 0].text == "given"
    assert recognizer.recognize(WHITE, []).tables[0][0, 0].text == ""
    assert reader.calls == []
    assert recognizer.recognize(WHITE).tables[0][0, 0].text == "read"
    assert reader.calls == [(120, 300, 3)]


def test_text_layer_of_a_document_wins_over_the_reader() -> None:
    reader = FakeOcr([make_word("read", 25, 28)])
    recognizer = Recognizer(detector=FakeDetector([detection(PLAIN.boxes)]), ocr=reader)
    layer = PageImage("a.pdf", 3, WHITE, (make_word("layer", 25, 28),))
    [page] = recognizer.recognize(layer).pages
    assert (page.tables[0][0, 0].text, page.picture.number, page.picture.source) == ("layer", 3, "a.pdf")
    assert reader.calls == []
    [page] = recognizer.recognize(layer, [make_word("given", 25, 28)]).pages
    assert page.tables[0][0, 0].text == "given"


def test_words_handed_in_do_not_become_those_of_every_page(tmp_path: Path) -> None:
    frames = [PIL.Image.new("L", (300, 120), 255) for _ in range(2)]
    frames[0].save(tmp_path / "two.tif", save_all=True, append_images=frames[1:])
    recognizer = Recognizer(detector=FakeDetector(), ocr=FakeOcr())
    assert len(recognizer.recognize(tmp_path / "two.tif").pages) == 2
    with pytest.raises(SettingsError, match="words"):
        recognizer.recognize(tmp_path / "two.tif", [make_word("a", 0, 0)])


def test_several_tables_and_their_detectors() -> None:
    lower = even_layout(plain_table(1, 2), 60, 20, 20, 95)
    found = [detection(PLAIN.boxes, name="words"), detection(lower.boxes, name="rulings")]
    words = [make_word("up", 25, 30), make_word("low", 85, 100), make_word("out", 280, 2)]
    page = run(words, *found)
    assert [table.shape for table in page.tables] == [(2, 3), (1, 2)]
    assert [table.to_grid()[0] for table in page.tables] == [["up", "", ""], ["", "low"]]
    assert page.detector == "rulings+words"
    assert [item.word.text for item in page.unplaced] == ["out"]
    check_nothing_lost(page, *found)


def test_headers_are_marked() -> None:
    texts = ["Item", "2024", "2025", "Tea", "1.20", "3.40"]
    words = [make_word(text, x0 + 5, y0 + 8) for text, (x0, y0, _, _) in zip(texts, PLAIN.boxes, strict=True)]
    [table] = run(words, detection(PLAIN.boxes)).tables
    assert table.n_header_rows == 1


def test_seconds_of_every_stage() -> None:
    page = run([make_word("a", 25, 30)], detection(PLAIN.boxes))
    assert set(page.seconds) >= STAGES
    assert all(seconds >= 0 for seconds in page.seconds.values())
    assert set(run().seconds) == set(page.seconds)


def test_pages_are_read_one_at_a_time(tmp_path: Path) -> None:
    frames = [PIL.Image.new("L", (300, 120), 255) for _ in range(3)]
    frames[0].save(tmp_path / "three.tif", save_all=True, append_images=frames[1:])
    reader = FakeOcr()
    pages = Recognizer(detector=FakeDetector(), ocr=reader).pages(tmp_path / "three.tif")
    assert reader.calls == []
    assert next(pages).picture.number == 1
    assert len(reader.calls) == 1
    assert [page.picture.number for page in pages] == [2, 3]


def test_result_knows_its_source_and_all_tables(tmp_path: Path) -> None:
    frames = [PIL.Image.new("L", (300, 120), 255) for _ in range(2)]
    frames[0].save(tmp_path / "two.tif", save_all=True, append_images=frames[1:])
    result = Recognizer(detector=FakeDetector([detection(PLAIN.boxes)]), ocr=FakeOcr()).recognize(tmp_path / "two.tif")
    assert result.source == str(tmp_path / "two.tif")
    assert len(result.tables) == 2
    assert [page.picture.source for page in result.pages] == [result.source] * 2


def test_unknown_option_lists_the_options() -> None:
    with pytest.raises(SettingsError, match="unknown") as caught:
        recognize(WHITE, unknown=1)
    assert all(name in str(caught.value) for name in Settings.__dataclass_fields__)


@pytest.mark.parametrize(
    "options", [{"layout": "x"}, {"reader": "tesseract"}, {"pdf_dpi": 0}, {"min_ocr_score": 2}], ids=str
)
def test_wrong_options_are_our_errors(options: dict[str, object]) -> None:
    with pytest.raises(SettingsError):
        recognize(WHITE, **options)


def test_missing_file_is_our_error_and_names_the_file() -> None:
    with pytest.raises(InputError, match=r"nowhere\.png"):
        recognize("nowhere.png", ocr="none")


def detection_without_cells_is_an_empty_table() -> None:
    candidate = detection([]).to_candidate()
    assert (candidate.to_table(), candidate.dropped) == (Table([]), ())


@settings(max_examples=25)
@given(layouts(widths=(40, 120), heights=(26, 50), max_size=3), st.sampled_from(["auto", "rulings"]))
def test_drawn_table_comes_back_with_every_word_in_its_cell(layout: Layout, detector: str) -> None:
    image = draw_layout(layout, 2, margin=40)
    quads = write(image, layout, text="w{}")
    words = [Word(f"w{i}", array_to_quad(quad)) for i, quad in enumerate(quads)]
    result = recognize(image, words, detector=detector)
    [table] = result.tables
    assert [[cell.row, cell.col, cell.end_row, cell.end_col] for cell in table.cells] == layout.spans
    assert [cell.text for cell in table.cells] == [word.text for word in words]
    assert result.pages[0].unplaced == ()
