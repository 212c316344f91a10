"""Other grids of a table."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from postprocess.cell import Cell
from postprocess.editing.placing import complete
from postprocess.editing.steps import divide, merge, remove_line
from postprocess.errors import TableError
from postprocess.export.json import table_to_dict
from postprocess.table import Table
from tablerec.corrections.editor import Correction
from tablerec.corrections.editor.correction import read_correction
from tablerec.corrections.proposals.grids import OtherGrid, find_grids
from tablerec.corrections.review.desk import Desk
from tests.helpers.review import find_rivals, make_read_desk, make_table

IMAGE = np.full((160, 340, 3), 255, np.uint8)
JOINED = remove_line(make_table(), "row", 1)
NARROW = merge(make_table(), 0, 0, 1, 2)


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    made = make_read_desk(tmp_path)
    made.read_all()
    return made


def others(desk: Desk, *tables: Table) -> list[OtherGrid]:
    return find_grids(desk.correction("scan_1_1"), IMAGE, find_rivals(*tables))


def do(desk: Desk, step: dict[str, object]) -> Correction:
    correction = desk.correction("scan_1_1")
    desk.corrections.do(correction, step)
    return correction


def test_where_nothing_else_was_found_there_is_no_other_grid(desk: Desk) -> None:
    assert others(desk, make_table()) == []
    assert find_grids(desk.correction("scan_1_1"), IMAGE, lambda picture: []) == []


def test_each_other_grid_is_offered_once_with_the_words_dealt_to_it(desk: Desk) -> None:
    joined, narrow = others(desk, make_table(), JOINED, NARROW, JOINED)
    assert joined.after.shape == (2, 3) and joined.after[0, 0].text == "00.5 km\n10.5 km ab"
    assert narrow.after.shape == (3, 3) and narrow.after[0, 0].text == "00.5 km 01.5 km ab"
    assert (joined.n_changed, narrow.n_changed) == (9, 2)


def test_a_grid_is_taken_as_one_step_and_the_journal_reads_it_back(desk: Desk) -> None:
    [joined] = others(desk, make_table(), JOINED)
    before = desk.correction("scan_1_1").table
    correction = do(desk, joined.step)
    assert correction.table == joined.after
    again, problem = read_correction(correction.path)
    assert problem is None and again.table == correction.table
    assert do(desk, {"do": "undo"}).table == before


def test_what_was_typed_stays_in_another_grid(desk: Desk) -> None:
    do(desk, {"do": "set_text", "row": 1, "col": 0, "text": "mine"})
    do(desk, {"do": "set_text", "row": 2, "col": 2, "text": "ours"})
    [joined] = others(desk, make_table(), JOINED)
    table = do(desk, joined.step).table
    assert "mine" in table[0, 0].text and table[1, 2].text == "ours"
    assert table[0, 0].typed and table[1, 2].typed and not table[0, 1].typed


def test_a_grid_that_a_typed_text_lies_outside_of_is_not_offered(desk: Desk) -> None:
    do(desk, {"do": "set_text", "row": 2, "col": 2, "text": "mine"})
    smaller = make_table(2, 3, (20, 20, 320, 100))
    assert others(desk, make_table(), smaller) == []
    with pytest.raises(TableError, match="outside"):
        do(desk, {"do": "set_grid", "grid": table_to_dict(smaller)})


def test_words_that_were_read_anew_are_looked_at_not_the_former_ones(desk: Desk) -> None:
    word = {"text": "anew", "quad": [[30, 28], [60, 28], [60, 38], [30, 38]]}
    do(desk, {"do": "set_words", "row": 0, "col": 0, "end_row": 1, "end_col": 1, "words": [word]})
    seen = []
    find_grids(desk.correction("scan_1_1"), IMAGE, lambda picture: seen.append(picture) or [])
    texts = [each.text for each in seen[0].words]
    assert "anew" in texts and "00.5 km" not in texts


def test_a_table_beside_the_one_that_is_corrected_is_no_other_grid_of_it(desk: Desk) -> None:
    assert others(desk, make_table(2, 2, (20, 142, 320, 158)), JOINED) == []


def test_texts_of_a_table_without_words_are_dealt_too(tmp_path: Path) -> None:
    from tests.helpers.review import make_desk

    desk = make_desk(tmp_path)
    desk.read_all()
    assert not desk.correction("scan_1_1").state.words
    divided = divide(make_table(), "col", 2, 0.5)
    correction = do(desk, {"do": "set_grid", "grid": table_to_dict(replace(divided, cells=divided.cells))})
    assert correction.table.shape == (3, 4)
    assert sorted("".join("".join(row) for row in correction.table.to_grid())) == sorted(
        "".join("".join(row) for row in make_table().to_grid())
    )
    assert read_correction(correction.path)[0].table == correction.table


def test_a_grid_without_places_is_refused(desk: Desk) -> None:
    from tablerec.errors import InputError

    with pytest.raises(InputError, match="places"):
        do(desk, {"do": "set_grid", "grid": table_to_dict(Table([Cell(0, 0)]))})
    assert complete(Table([Cell(0, 0)]), (9, 9)).shape == (1, 1)
