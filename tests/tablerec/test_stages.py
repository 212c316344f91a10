"""The trace: every stage drawn, nothing kept where nobody asks."""

from __future__ import annotations

import cv2
import numpy as np
import pytest

from postprocess.word import Word, Words
from tablerec import PageImage, Recognizer, Settings
from tablerec.errors import SettingsError
from tablerec.stages import STAGES, Trace


def box(x: float, y: float, width: float, height: float):
    return ((x, y), (x + width, y), (x + width, y + height), (x, y + height))


@pytest.fixture(scope="module")
def page_image() -> PageImage:
    image = np.full((120, 240, 3), 255, np.uint8)
    words = []
    for row in range(3):
        for col in range(3):
            cv2.rectangle(image, (10 + 70 * col, 10 + 30 * row), (80 + 70 * col, 40 + 30 * row), (0, 0, 0), 1)
            words.append(Word("12", box(30 + 70 * col, 18 + 30 * row, 20, 14)))
    return PageImage("drawn", 1, image, tuple(words))


def recognize(picture: PageImage, **options):
    return Recognizer(Settings(detector="rulings", layout="table", **options)).recognize(picture).pages[0]


def test_nothing_is_kept_unless_asked(page_image):
    assert recognize(page_image).trace is None


def test_every_stage_is_drawn(page_image):
    trace = recognize(page_image, trace=True).trace
    assert len(trace.words) == 9 and len(trace.tables) == 1
    plain = Trace(trace.image, Words(), ())
    for stage in STAGES:
        drawn = trace.show(stage)
        assert not np.array_equal(drawn.image, plain.show(stage).image), stage
        assert drawn._repr_png_().startswith(b"\x89PNG")


def test_a_sheet_shows_all_stages(page_image):
    trace = recognize(page_image, trace=True).trace
    single = trace.show("words").image
    sheet = trace.sheet().image
    assert sheet.shape[1] == 3 * single.shape[1] and sheet.shape[0] == 4 * single.shape[0]
    assert trace._repr_png_() == trace.sheet()._repr_png_()


def test_empty_pictures_and_pictures_without_a_table_are_drawn():
    blank = recognize(PageImage("blank", 1, np.full((60, 40, 3), 255, np.uint8), ()), trace=True).trace
    assert blank.tables == () and blank.sheet().image.size


def test_the_trace_is_of_the_upright_picture(page_image):
    page = recognize(page_image, trace=True, turn=90)
    assert page.trace.image.shape == (240, 120, 3)


def test_title_and_notes_are_drawn(page_image):
    image = np.full((160, 240, 3), 255, np.uint8)
    image[20:140] = page_image.image
    words = [Word(word.text, tuple((x, y + 20) for x, y in word.quad)) for word in page_image.words]
    title = Word("Table 1. Sales", box(10, 4, 90, 14))
    trace = recognize(PageImage("drawn", 1, image, (*words, title)), trace=True).trace
    assert trace.tables[0].table.title.text == title.text
    drawn = [trace.show(stage).image for stage in ("roles", "texts")]
    plain = recognize(PageImage("drawn", 1, image, tuple(words)), trace=True).trace
    assert all(
        not np.array_equal(a, plain.show(stage).image) for a, stage in zip(drawn, ("roles", "texts"), strict=True)
    )


def test_a_stage_that_is_none_is_named(page_image):
    with pytest.raises(SettingsError, match="candidates"):
        recognize(page_image, trace=True).trace.show("grid")


def test_tables_are_rated(page_image):
    table = recognize(page_image).tables[0]
    assert 0 <= table.confidence.table <= 1
    assert len(table.confidence.rows) == 3 and len(table.confidence.cols) == 3
    assert all(cell.confidence is not None for cell in table.cells)
