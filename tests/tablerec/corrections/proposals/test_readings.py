"""What other readings of a table say."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from postprocess.word import Word
from tablerec.corrections.editor.correction import read_correction
from tablerec.corrections.proposals.readings import find_readings, readings_to_view
from tablerec.corrections.review.desk import Desk
from tablerec.errors import TableError
from tests.helpers.review import make_read_desk, make_read_page, make_word

IMAGE = np.full((160, 340, 3), 255, np.uint8)
SAME = [word for word in make_read_page().words if word.text != "beside"]


def read_as(words: list[Word], texts: dict[str, str]) -> list[Word]:
    """Words of which some are read otherwise."""
    return [Word(texts.get(word.text, word.text), word.quad, 0.9) for word in words]


class Second:
    """Reads the lines of a table otherwise.

    Args:
        lines: What it reads -> what is read of a line that is known.
        found: The words that it finds by itself.
    """

    def __init__(self, lines: dict[str, str], found: list[Word]) -> None:
        self.lines, self.found = lines, found

    def read(self, image: Any) -> list[Word]:
        # Twelve pixels of ground lie around what is read, and the table begins at 20, 20.
        return [Word(w.text, tuple((x - 8, y - 8) for x, y in w.quad), w.score) for w in self.found]  # type: ignore[arg-type]

    def read_quads(self, image: Any, quads: Any) -> list[Word]:
        known = {tuple(map(tuple, word.quad)): word.text for word in SAME}
        texts = [known[tuple(map(tuple, quad.tolist()))] for quad in quads]
        return [
            Word(self.lines.get(text, text), tuple(map(tuple, quad.tolist())), 0.9)  # type: ignore[arg-type]
            for text, quad in zip(texts, quads, strict=True)
        ]


class First(Second):
    """A reader that knows another."""

    def __init__(self, other: Second | None, found: list[Word] | None = None) -> None:
        super().__init__({}, SAME if found is None else found)
        self.other = other


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    made = make_read_desk(tmp_path)
    made.read_all()
    return made


def find(desk: Desk, reader: First) -> dict[tuple[int, int], list[str]]:
    found = find_readings(desk.correction("scan_1_1"), IMAGE, reader)
    return {place: [reading.text for reading in readings] for place, readings in found.items()}


def test_where_all_readings_agree_nothing_is_shown(desk: Desk) -> None:
    assert find(desk, First(Second({}, SAME))) == {}
    assert find(desk, First(None)) == {}


def test_what_another_reader_reads_is_shown_once(desk: Desk) -> None:
    other = Second({"11.5 km": "1l.5 km"}, read_as(SAME, {"11.5 km": "1l.5 km", "20.5 km": "2O.5 km"}))
    assert find(desk, First(other)) == {(1, 1): ["1l.5 km"], (2, 0): ["2O.5 km"]}


def test_white_space_and_the_width_of_signs_are_no_other_reading(desk: Desk) -> None:
    other = Second({"11.5 km": "11.5km", "20.5 km": "20.5 km\uff09"}, read_as(SAME, {"20.5 km": "20.5 km)"}))
    assert find(desk, First(other)) == {(2, 0): ["20.5 km\uff09"]}


def test_a_cell_in_which_nothing_is_read_is_shown_as_empty(desk: Desk) -> None:
    fewer = [word for word in SAME if word.text != "22.5 km"]
    assert find(desk, First(None, fewer)) == {(2, 2): [""]}


def test_what_a_person_typed_or_confirmed_is_left_out(desk: Desk) -> None:
    correction = desk.correction("scan_1_1")
    desk.corrections.do(correction, {"do": "set_text", "row": 1, "col": 1, "text": "mine"})
    desk.corrections.do(correction, {"do": "confirm", "row": 2, "col": 0, "end_row": 3, "end_col": 1, "is_right": True})
    other = Second({"11.5 km": "x", "20.5 km": "y", "00.5 km": "z"}, SAME)
    assert find(desk, First(other)) == {(0, 0): ["z"]}


def test_readings_are_taken_as_one_step_which_confirms_them(desk: Desk) -> None:
    correction = desk.correction("scan_1_1")
    other = Second({"11.5 km": "1l.5 km", "20.5 km": "2O.5 km"}, SAME)
    found = find_readings(correction, IMAGE, First(other))
    view = readings_to_view(correction, found)
    assert [(cell["row"], cell["col"]) for cell in view] == [(1, 1), (2, 0)]
    readings = [cell["readings"][0]["reading"] for cell in view]
    desk.corrections.do(correction, {"do": "set_readings", "readings": readings})
    assert (correction.table[1, 1].text, correction.table[2, 0].text) == ("1l.5 km", "2O.5 km")
    assert correction.table[1, 1].confirmed and not correction.table[1, 1].typed
    again, problem = read_correction(correction.path)
    assert problem is None and again.table == correction.table
    desk.corrections.do(correction, {"do": "undo"})
    assert correction.table[1, 1].text == "11.5 km"


def test_a_text_may_be_typed_in_the_place_of_a_reading(desk: Desk) -> None:
    correction = desk.correction("scan_1_1")
    desk.corrections.do(correction, {"do": "set_readings", "readings": [{"row": 1, "col": 1, "text": "mine"}]})
    assert correction.table[1, 1].text == "mine" and correction.table[1, 1].typed
    assert read_correction(correction.path)[0].table == correction.table


def test_a_reading_of_no_cell_is_refused(desk: Desk) -> None:
    with pytest.raises(TableError):
        desk.corrections.do(
            desk.correction("scan_1_1"), {"do": "set_readings", "readings": [{"row": 9, "col": 0, "words": []}]}
        )


def test_a_reading_empties_a_cell_in_which_there_is_nothing(desk: Desk) -> None:
    correction = desk.correction("scan_1_1")
    desk.corrections.do(correction, {"do": "set_readings", "readings": [{"row": 0, "col": 0, "words": []}]})
    assert correction.table[0, 0].text == "" and make_word("a", 0, 0).text == "a"
