"""Pictures with what RapidOCR cannot read, or reads wrongly, in full: words and notes."""

from __future__ import annotations

import importlib.util
import logging
from pathlib import Path

import cv2
import pytest

from postprocess.word import UNREAD
from tablerec import Recognizer, Settings, Table
from tablerec.ocr.rapidocr import RapidOcrEngine
from tablerec.ocr.script import CHINESE, LATIN
from tests.helpers.layouts import needs_opencv_5

pytestmark = [
    pytest.mark.skipif(importlib.util.find_spec("rapidocr") is None, reason="needs rapidocr"),
    needs_opencv_5,
]
PICTURES = Path(__file__).parent / "pictures"


@pytest.fixture(scope="module")
def recognizer() -> Recognizer:
    return Recognizer(Settings(layout="table"), ocr=RapidOcrEngine(threads=1))


def table_of(recognizer: Recognizer, name: str) -> Table:
    [table] = recognizer.recognize(PICTURES / name).tables
    return table


def texts(table: Table) -> list[list[str]]:
    return [[table[row, col].text for col in range(table.n_cols)] for row in range(table.n_rows)]


def test_rapidocr_reads_latin_and_chinese() -> None:
    engine = RapidOcrEngine(threads=1)
    engine.recognize([cv2.imread(str(PICTURES / "raised.png"))[:30]])
    assert engine.reads == {LATIN, CHINESE}


def test_cyrillic_is_said_and_its_numbers_are_kept(recognizer: Recognizer, caplog: pytest.LogCaptureFixture) -> None:
    """Cyrillic words vanished: the table was "12", "1 475,00" and "T", and its score 0.96."""
    with caplog.at_level(logging.WARNING, "tablerec"):
        table = table_of(recognizer, "cyrillic.png")
    rows = texts(table)
    assert [[UNREAD in text for text in row] for row in rows] == [
        [True, True, True],
        [True, False, False],
        [True, False, False],
        [True, False, False],
    ]
    assert [row[1:] for row in rows[1:]] == [["12", "1 475,00"], ["30", "89,00"], ["", "20 370,00"]]
    assert rows[2][0] == f"{UNREAD} 90°"
    assert {cell.doubt for cell in table.cells if UNREAD in cell.text} == {"is Cyrillic, which rapidocr does not read"}
    assert not any(cell.doubt for cell in table.cells if UNREAD not in cell.text)
    [note] = caplog.messages
    assert "page 1 has 6 lines of Cyrillic, which rapidocr does not read" in note
    assert "--ocr paddlex:cyrillic_PP-OCRv5_mobile" in note


def test_hebrew_is_said_and_its_numbers_are_kept(recognizer: Recognizer) -> None:
    """Hebrew came as "a", "T'np" and "11910 Dn7"."""
    rows = texts(table_of(recognizer, "hebrew.png"))
    assert [[UNREAD in text for text in row] for row in rows] == [
        [True, True, True, True],
        [True, False, False, True],
        [True, False, False, True],
        [False, False, False, True],
    ]
    assert [row[1:3] for row in rows[1:]] == [["8.50", "12"], ["14.90", "3"], ["146.70", "15"]]
    assert "ABC 200" in rows[2][0] and "5%" in rows[2][3]


def test_raised_signs(recognizer: Recognizer) -> None:
    """ "7¹,²" was read as "71,2", "10⁻³" as "10-³3"."""
    assert texts(table_of(recognizer, "raised.png")) == [
        ["Sample¹", "Mass (kg)", "Rate", "Price", "Area (m²)"],
        ["A-1", "24.91²", "10⁻³", "1,250³", "37"],
        ["B-2", "30.05", "5.2×10⁴", "980", "41ᵃ"],
        ["C-3", "7¹,²", "12*", "2,400", "18"],
    ]
