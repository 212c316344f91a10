from __future__ import annotations

import json
import logging
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import PIL.Image
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from postprocess.export import table_to_csv, table_to_html, tables_to_workbook
from postprocess.geometry.boxes import array_to_quad, boxes_to_quads
from postprocess.table import Table
from postprocess.word import UNREAD, Word
from tablerec import Page, PageImage, Recognizer, Settings, recognize
from tablerec.detect import Detection
from tablerec.errors import InputError, SettingsError
from tablerec.ocr import NoOcr
from tablerec.ocr.unread import doubt_of
from tablerec.outputs.files import result_to_json
from tests.helpers.drawing import Drawing, Look, draw_table
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


def test_a_title_in_the_first_row_of_the_cells_is_the_title_of_the_table() -> None:
    texts = [["Table 3: Prices of all drinks", "", ""], ["Item", "2024", "2025"], ["Tea", "1.20", "3.40"]]
    cells = even_layout(plain_table(3, 3), 80, 30, 20, 20)
    corners = {(cell.row, cell.col): box for cell, box in zip(cells.table.cells, cells.boxes.tolist(), strict=True)}
    words = [
        make_word(text, corners[row, col][0] + 5, corners[row, col][1] + 8)
        for row, line in enumerate(texts)
        for col, text in enumerate(line)
        if text
    ]
    found = detection(cells.boxes)
    page = run(words, found)
    [table] = page.tables
    assert table.title is not None and table.title.text == texts[0][0]
    assert table.to_grid() == texts[1:]
    assert {each.reason for each in page.dropped} == {"its row is text beside the table"}
    check_nothing_lost(page, found)


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


HEBREW = [["2018", "2017", "סעיף"], ["-13.1", "12.5", "מכירות"], ["9 %", "8 %", "רווח"], ["22", "20", "סך הכל"]]
ARABIC = [["2018", "2017", "البند"], ["-13.1", "12.5", "المبيعات"], ["9 %", "8 %", "الربح"], ["22", "20", "المجموع"]]


@pytest.mark.parametrize("rows", [HEBREW, ARABIC], ids=["Hebrew", "Arabic"])
@pytest.mark.parametrize("rules", ["all", "none"])
def test_columns_of_a_right_to_left_table_begin_at_the_right(rows: list[list[str]], rules: str) -> None:
    drawn = draw_table(rows, Look(rules=rules, gap=20))
    result = recognize(drawn.image, drawn.words, ocr="none", layout="page", trace=True)
    [table] = result.tables
    assert table.direction == "rtl" and table.to_grid() == [row[::-1] for row in rows]
    assert [cell.header for cell in table.rows()[1]] == ["row", None, None], "names of rows are in the first column"
    assert table[0, 0].quad is not None and table[0, 2].quad is not None and table[0, 0].quad[0] > table[0, 2].quad[0]
    assert '<table dir="rtl">' in table_to_html(table) and table_to_csv(table).split(",")[0] == f'"{rows[0][-1]}"'
    assert tables_to_workbook([table])["Table 1"].sheet_view.rightToLeft
    [page] = result.pages
    assert page.trace is not None and all(len(page.trace.show(stage).image) for stage in ("spans", "roles", "scores"))
    again = recognize(np.rot90(drawn.image).copy(), turn_words(drawn), ocr="none", layout="page", turn=90).tables
    assert [each.to_grid() for each in again] == [table.to_grid()] and again[0].direction == "rtl"


def test_one_hebrew_cell_turns_no_table() -> None:
    rows = [["Item", "2017", "2018"], ["Sales", "12.5", "13.1"], ["שלום", "8", "9"], ["Total", "20", "22"]]
    drawn = draw_table(rows)
    [table] = recognize(drawn.image, drawn.words, ocr="none", layout="page").tables
    assert table.direction == "ltr" and table.to_grid() == rows


def turn_words(drawn: Drawing) -> list[Word]:
    """The words of a drawing that is turned by a quarter to the left."""
    width = drawn.image.shape[1]
    return [replace(word, quad=tuple((y, width - x) for x, y in word.quad)) for word in drawn.words]


@pytest.mark.parametrize("detector", ["auto", "rulings", "words"])
@pytest.mark.parametrize("layout", ["page", "table"])
@pytest.mark.parametrize(
    "place",
    [
        ((0, 0), (1e7, 0), (1e7, 1e7), (0, 1e7)),
        ((0, -1e5), (9, -1e5), (9, 1e5), (0, 1e5)),
        ((50, 50), (50, 50), (50, 50), (50, 50)),
        ((20, 50), (90, 50), (90, 50), (20, 50)),
        ((1e300, 5), (1e300, 5), (1e300, 5), (1e300, 5)),
        ((float("nan"), 5), (9, 5), (9, 9), (5, 9)),
    ],
)
def test_a_word_of_any_size_and_place_is_kept_and_spoils_nothing(detector: str, layout: str, place: object) -> None:
    image = draw_layout(PLAIN)
    words = [Word(f"w{k}", box_quad(*(box + np.array([5, 5, -5, -5])))) for k, box in enumerate(PLAIN.boxes)]
    words.append(Word("odd", place, 0.9))  # type: ignore[arg-type]
    result = recognize(image, words, detector=detector, layout=layout, ocr="none")
    [page] = result.pages
    texts = [cell.text for table in page.tables for cell in table.cells] + [each.word.text for each in page.unplaced]
    assert Counter("".join(texts).replace(" ", "").replace("\n", "")) == Counter("".join(word.text for word in words))
    json.loads(result_to_json(result), parse_constant=pytest.fail)


@pytest.mark.parametrize("shape", [(1201, 1, 3), (1, 100_000, 3), (10_000, 4, 3), (4, 3000, 3), (5000, 2, 3)])
@pytest.mark.parametrize("detector", ["auto", "cellnet", "rulings", "words"])
def test_pictures_a_few_pixels_wide_are_read(shape: tuple[int, ...], detector: str) -> None:
    words = [Word("a", ((0, 0), (shape[1], 0), (shape[1], 1), (0, 1)))]
    [page] = recognize(np.full(shape, 255, np.uint8), words, detector=detector, ocr="none").pages
    assert len(page.words) == 1


def test_words_that_are_no_words_are_refused() -> None:
    with pytest.raises(InputError, match="word 1 has the place"):
        recognize(WHITE, [Word("a", ((0, 0), (1, 1)))], ocr="none")  # type: ignore[arg-type]
