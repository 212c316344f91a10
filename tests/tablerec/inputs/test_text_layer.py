"""The words of a page against its picture, with an engine that reads what it is told to."""

from __future__ import annotations

import io
import logging
from dataclasses import dataclass, field, replace

import numpy as np
import pytest

from postprocess.word import UNREAD, Unplaced, Word
from tablerec import Recognizer, recognize
from tablerec.config import Settings
from tablerec.inputs.images import load_pages
from tablerec.inputs.pdf.words import HIDDEN, WATERMARK
from tablerec.inputs.text_layer import compare_hidden, hidden_words, trust_layer
from tablerec.ocr import NoOcr
from tablerec.result import PageImage, TextLayer
from tests.helpers.layouts import make_word
from tests.helpers.pdf import make_pdf, text


@dataclass
class FakeOcr:
    """Reads known texts: of quads by their left edge, of pictures all of ``words``."""

    quads: dict[int, str] = field(default_factory=dict)
    words: list[Word] = field(default_factory=list)
    n_read: int = 0
    name: str = "fake"

    def read(self, image):
        self.n_read += 1
        return list(self.words)

    def read_quads(self, image, quads):
        found = [(quad, said) for quad in quads for x, said in self.quads.items() if abs(quad[0][0] - x) < 8]
        return [Word(said, tuple(map(tuple, np.asarray(quad, float).tolist())), 0.99) for quad, said in found]


def picture(*words, image=None, **layer):
    known = {"fonts": (0,) * len(words), "doubtful_fonts": {}, "hidden": (), "areas": np.empty((0, 4))}
    rest = np.full((200, 300, 3), 255, np.uint8)
    made = TextLayer(**{**known, "rest": rest, "is_upright": True, **layer})
    return PageImage("a.pdf", 1, np.full((200, 300, 3), 255, np.uint8) if image is None else image, tuple(words), made)


def test_pictures_and_pages_without_words_stay_as_they_are():
    plain = PageImage("a.png", 1, np.zeros((9, 9, 3), np.uint8))
    assert trust_layer(plain, NoOcr()) is plain
    scan = replace(picture(), words=None)
    assert trust_layer(scan, NoOcr()) is scan


def test_nothing_is_read_of_a_page_that_gives_no_reason():
    ocr = FakeOcr()
    page = trust_layer(picture(make_word("12.50", 10, 10)), ocr)
    assert [word.text for word in page.words] == ["12.50"] and ocr.n_read == 0


@pytest.mark.parametrize(("read", "is_used"), [({10: "12.50", 100: "8.00"}, True), ({10: "13.50", 100: "3.00"}, False)])
def test_a_font_whose_characters_are_others_than_those_that_are_drawn_is_not_used(read, is_used, caplog):
    words = [make_word(said, x, 10, height=20) for said, x in (("12.50", 10), ("8.00", 100))]
    if not is_used:
        words = [replace(word, text=said) for word, said in zip(words, ("18.50", "8.00"), strict=True)]
    page = trust_layer(picture(*words, doubtful_fonts={0: "8"}), FakeOcr(read))
    assert (page.words is not None) == is_used
    assert ("it is not used" in caplog.text) != is_used


def test_a_word_with_characters_of_no_meaning_is_read():
    words = [make_word(f"1{UNREAD}.5", 10, 10), make_word(f"{UNREAD}", 100, 10)]
    page = trust_layer(picture(*words), FakeOcr({10: "12.5"}))
    assert page.words[0].text == "12.5" and not page.words[0].doubt
    assert page.words[1].text == UNREAD and page.words[1].doubt


def test_pictures_between_words_are_read_where_they_may_hold_text():
    rest = np.full((200, 300, 3), 255, np.uint8)
    rest[110:190:8, 60:250:4] = 0
    seen = [make_word("scan", 10, 10), make_word("beside", 500, 10)]
    page = picture(make_word("typed", 10, 10), rest=rest, areas=np.array([[50.0, 100, 280, 198]]))
    read = trust_layer(page, FakeOcr(words=seen))
    assert [word.text for word in read.words] == ["typed", "scan"]
    assert read.words[1].quad[0] == (60, 110), "places are those of the page"
    blank = picture(make_word("typed", 10, 10), areas=np.array([[50.0, 100, 280, 198]]))
    assert [word.text for word in trust_layer(blank, FakeOcr(words=seen)).words] == ["typed"]


def test_a_hidden_layer_that_is_not_what_the_picture_shows_is_said(caplog):
    read = [make_word(said, x, 10) for said, x in (("57.00", 10), ("26.70", 100))]
    hidden = [Unplaced(replace(word, text=said), HIDDEN) for word, said in zip(read, ("51.00", "26.10"), strict=True)]
    page = replace(picture(hidden=tuple(hidden)), words=None)
    assert compare_hidden(page, read) == read
    assert "not what the picture shows" in caplog.text


def test_where_a_hidden_layer_agrees_in_general_other_digits_are_a_doubt(caplog):
    texts = [f"{k}.50" for k in range(10, 30)]
    read = [make_word(said, 40 * k, 10) for k, said in enumerate(texts)]
    hidden = [Unplaced(word, HIDDEN) for word in read]
    hidden[3] = replace(hidden[3], word=replace(read[3], text="18.50"))
    words = compare_hidden(replace(picture(hidden=tuple(hidden)), words=None), read)
    assert [word.text for word in words] == texts
    assert [bool(word.doubt) for word in words].index(True) == 3 and "18.50" in words[3].doubt
    assert not words[4].doubt and not caplog.text


def test_hidden_words_are_reported_beside_those_that_are_seen():
    hidden = (Unplaced(make_word("51.00", 10, 10), HIDDEN), Unplaced(make_word("DRAFT", 10, 90), WATERMARK))
    assert hidden_words(picture(make_word("57.00", 10, 10), hidden=hidden)) == list(hidden)
    assert hidden_words(replace(picture(hidden=hidden), words=None)) == [], "of a scan the picture alone counts"


RULED = "".join(f"{x} 40 m {x} 160 l S " for x in (20, 120, 220)) + "".join(
    f"20 {y} m 220 {y} l S " for y in (40, 80, 120, 160)
)
CLIPPED = "q 120 120 100 40 re W n " + text(125, 135, "a very long remark of its own") + " Q "


def test_text_that_is_clipped_stays_in_its_cell_and_the_rest_is_reported():
    content = RULED + text(25, 135, "Item") + text(25, 95, "12.50") + CLIPPED
    result = recognize(make_pdf(content), layout="table")
    [table] = result.tables
    [page] = result.pages
    assert table[0, 1].text.startswith("a very long") and "own" not in table[0, 1].text
    assert [item.reason for item in page.unplaced] == [HIDDEN]
    assert "goes on" in table[0, 1].doubt and table.confidence.table < 0.9
    assert table.confidence.weakest.startswith("check row 1, column 2: its text goes on")


@pytest.mark.parametrize(("text_layer", "expected"), [("auto", "57.00"), ("use", "57.00 51.00"), ("ignore", None)])
def test_what_is_believed_of_a_layer_is_a_choice(text_layer, expected):
    content = RULED + text(25, 135, "57.00") + text(25, 95, "51.00", setup="3 Tr")
    [page] = load_pages(make_pdf(content), Settings(text_layer=text_layer))
    assert (page.words and " ".join(word.text for word in page.words)) == expected


def test_ocr_is_not_loaded_for_a_page_that_gives_no_reason(monkeypatch):
    recognizer = Recognizer(Settings(layout="table", ocr="rapidocr"))
    monkeypatch.setattr(recognizer.ocr, "load", lambda: pytest.fail("the engine is loaded"))
    [page] = recognizer.recognize(io.BytesIO(make_pdf(RULED + text(25, 135, "Item") + text(125, 135, "12")))).pages
    assert page.tables[0][0, 1].text == "12"


def test_a_layer_is_no_word_in_a_message_where_nothing_is_hidden(caplog):
    with caplog.at_level(logging.WARNING):
        recognize(make_pdf(RULED + text(25, 135, "Item") + text(125, 135, "12")))
    assert not caplog.text


def test_what_cannot_be_read_has_the_text_of_the_hidden_layer_and_a_doubt():
    read = [make_word("12", 10, 10), Word(UNREAD, make_word("xxxxx", 100, 10).quad, 0.1)]
    hidden = [Unplaced(replace(word, text=said), HIDDEN) for word, said in zip(read, ("12", "מחיר"), strict=True)]
    words = compare_hidden(replace(picture(hidden=tuple(hidden)), words=None), read)
    assert [word.text for word in words] == ["12", "מחיר"]
    assert not words[0].doubt and "hidden text layer" in words[1].doubt
