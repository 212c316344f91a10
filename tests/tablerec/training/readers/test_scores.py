"""How well lines are read."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tablerec.training.readers.frames import LineFrame, frame_line
from tablerec.training.readers.scores import distance, draw_lines, kind_of, score_lines
from tests.helpers.training import draw_digits

TEXTS = st.text(alphabet="ab1表 ", max_size=7)


@given(TEXTS, TEXTS)
def test_the_distance_is_the_fewest_changes(a: str, b: str) -> None:
    table = np.zeros((len(a) + 1, len(b) + 1), int)
    table[:, 0], table[0] = range(len(a) + 1), range(len(b) + 1)
    for i, j in np.ndindex(len(a), len(b)):
        step = [table[i, j + 1] + 1, table[i + 1, j] + 1, table[i, j] + (a[i] != b[j])]
        table[i + 1, j + 1] = min(step)
    assert distance(a, b) == distance(b, a) == table[-1, -1]


def test_no_lines() -> None:
    assert score_lines([], []) == {"cer": 0.0, "exact": 0.0}


def test_kinds_are_told_apart() -> None:
    scores = score_lines(["12", "Цeна", ""], ["12", "Цена", "שלום"])
    assert scores["cer_number"] == 0 and scores["cer_cyrillic"] == 0.25 and scores["cer_hebrew"] == 1
    assert scores["cer"] == 0.5 and scores["exact"] == pytest.approx(1 / 3)
    assert kind_of("") == "sign" and kind_of("ア") == "kana" and kind_of("๑ ราคา") == "other"


def test_a_sheet_of_readings(tmp_path: Path) -> None:
    import cv2

    samples = [frame_line(draw_digits(index), LineFrame(256, "0123456789")) for index in range(3)]
    draw_lines(tmp_path / "sheet.jpg", ["1", "表", ""], samples, ["1", "2", "3"])
    assert cv2.imread(str(tmp_path / "sheet.jpg")).shape == (3 * 116, 512, 3)
    draw_lines(tmp_path / "none.jpg", [], [], [])
    assert not (tmp_path / "none.jpg").exists()
