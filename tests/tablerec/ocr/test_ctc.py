"""From classes of positions to lines: runs, blanks, places, order and scores."""

from __future__ import annotations

from itertools import groupby

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tablerec.models.characters import TURNED
from tablerec.ocr.ctc import Reading, chance_of, decode, to_line, to_reading_order
from tablerec.ocr.line import Line

CHARACTERS = ["a", "b", " ", TURNED, "א", "ב", "(", ")", "1", "2"]


def read(*classes: int, score: float = 0.9, length: float | None = None) -> Reading:
    row = np.array([classes], np.int64)
    [reading] = decode(row, np.full(row.shape, score), CHARACTERS, [len(classes) if length is None else length])
    return reading


def test_no_positions_and_no_lines() -> None:
    assert decode(np.zeros((0, 4), np.int64), np.zeros((0, 4)), CHARACTERS, []) == []
    reading = read()
    assert (reading.text, len(reading.centers), reading.is_turned) == ("", 0, False)
    assert to_line(read(0, 0, 0, score=1.0), 20).text == ""


@settings(max_examples=100)
@given(st.lists(st.integers(0, 2), max_size=40))
def test_runs_become_characters(classes: list[int]) -> None:
    expected = "".join(CHARACTERS[number - 1] for number, _ in groupby(classes) if number)
    reading = read(*classes)
    assert reading.text == expected
    assert len(reading.centers) == len(reading.probabilities) == len(expected)
    assert (np.diff(reading.centers) > 0).all() and ((reading.centers >= 0) & (reading.centers <= 1)).all()


def test_blanks_at_the_ends_and_side_by_side_are_dropped() -> None:
    reading = read(3, 0, 3, 1, 3, 0, 3, 2, 3)
    assert reading.text == "a b"
    assert reading.centers.round(3).tolist() == [0.389, 0.5, 0.833]


def test_what_fills_up_the_batch_is_not_read() -> None:
    reading = read(1, 0, 0, 0, 2, 2, length=3.5)
    assert reading.text == "a"
    assert reading.centers.tolist() == [pytest.approx(0.5 / 3.5)]


def test_the_best_position_of_a_run_counts() -> None:
    [reading] = decode(np.array([[1, 1, 0, 2]]), np.array([[0.4, 0.8, 0.7, 0.6]]), CHARACTERS, [4])
    assert reading.probabilities.tolist() == [0.8, 0.6]
    assert reading.empty_probability == 0.7


@pytest.mark.parametrize("classes", [(0, 4, 0), (4, 4, 0, 4), (1, 0, 4)])
def test_a_turned_line_has_no_text_and_no_score(classes: tuple[int, ...]) -> None:
    line = to_line(read(*classes), 20)
    assert (line.text, line.score, line.is_turned) == ("", 0.0, True)


def test_the_sign_for_turned_lines_inside_a_text_is_none() -> None:
    assert read(1, 2, 1, 4, 2).text == "abab"


def test_text_from_right_to_left_is_put_in_order_with_its_places() -> None:
    """Seen from the left: 12, a blank, bet, aleph."""
    line = to_line(read(9, 0, 10, 0, 3, 0, 6, 0, 5, 0), 20)
    assert line.text == "אב 12"
    assert line.char_spans is not None
    starts = [start for start, _ in line.char_spans]
    assert starts[0] > starts[1] > starts[2] > starts[3]
    assert starts[3] < starts[4]


def test_brackets_open_before_they_close() -> None:
    assert to_reading_order(Line("(1) בא", 1.0)).text == "אב (1)"


@settings(max_examples=60)
@given(st.lists(st.integers(1, 10), min_size=1, max_size=12), st.floats(0.05, 1))
def test_places_go_with_their_characters(classes: list[int], score: float) -> None:
    spread = [number for each in classes for number in (each, 0)]
    line = to_line(read(*spread, score=score), 20)
    assert 0 <= line.score <= 1
    assert line.char_spans is None or len(line.char_spans) == len(line.text)


def test_surer_characters_are_surer_lines() -> None:
    lines = [to_line(read(1, 0, 2, 0, score=score), 20) for score in (0.3, 0.6, 0.9, 1.0)]
    assert [line.score for line in lines] == sorted(line.score for line in lines)
    assert chance_of(lines[-1]) == pytest.approx(lines[-1].score ** 2)
    assert chance_of(Line("", 0.4)) == 0.4
